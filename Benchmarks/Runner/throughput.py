"""The chapters about speed: the parser beside peers, and whole streams end to end."""

from __future__ import annotations

from . import chapters, charts, quantities
from .chapters import Absent, Chapter, kind_of, named, value_of
from .figures import Figure
from .results import Results, best_of

# More are in the table.
MOST_PEERS = 5
CHUNK = "16384"
TRANSPORTS = ["websocket", "websocket-deflate", "sse", "sse-gzip"]


def bar(figure: Figure, own: Figure | None) -> charts.Bar:
    """A bar with its value, and how many times as good the package is."""
    ratio = own.ratio(figure) if own and kind_of(figure) == "peer" else None
    text = value_of(figure).replace(" events/s", "") + (f" · {quantities.times(ratio)}" if ratio else "")
    return charts.Bar(figure.who, figure.median, text, kind_of(figure), f"{named(figure)}: {text}")


def descending(found: list[Figure]) -> list[Figure]:
    return sorted(found, key=lambda figure: -figure.median)


def parser_workloads(results: Results) -> list[str]:
    """A workload of each corpus: with the usual chunk, or the first that there is."""
    corpora: dict[str, list[str]] = {}
    for figure in results.select("parser", "throughput"):
        corpora.setdefault(figure.workload.split("/")[0], []).append(figure.workload)
    return [f"{corpus}/{CHUNK}" if f"{corpus}/{CHUNK}" in found else found[0] for corpus, found in corpora.items()]


def limits(results: Results, workload: str) -> list[Figure]:
    """The machine's figures at a workload of the parser: the copy in pieces and the masks, or what there is."""
    found = results.select("parser", "throughput", workload, "machine")
    return [figure for figure in found if "16 KiB" in figure.way or "mask" in figure.way] or found[:2]


def parser(results: Results) -> Chapter | Absent:
    title = "The event-stream parser, by corpus"
    workloads = parser_workloads(results)
    if not workloads:
        return Absent(title, "this run has no figures of the parser's speed")
    sections, has_hidden, has_peers = [], False, False
    for workload in workloads:
        own = results.best("parser", "throughput", workload, subject="chappie")
        peers = results.peers("parser", "throughput", workload)
        has_hidden, has_peers = has_hidden or len(peers) > MOST_PEERS, has_peers or bool(peers)
        drawn = ([own] if own else []) + limits(results, workload) + peers[:MOST_PEERS]
        corpus, _, chunk = workload.partition("/")
        chunks = f", {int(chunk):,}-byte chunks" if chunk.isdigit() else ""
        sections.append(charts.Section(corpus + chunks, [bar(figure, own) for figure in descending(drawn)]))
    note = "Bars are on a logarithmic scale. × is how many times as fast chappie is."
    note += f" The {MOST_PEERS} fastest peers are drawn; the table has all." if has_hidden else ""
    note += "" if has_peers else " No peer was measured in this run: make bench-peers does that."
    takeaway = parser_takeaway(results, workloads)
    return Chapter("parser", title, takeaway, charts.both(charts.bars(sections, "bytes/s"), "parser", title, takeaway),
                   chapters.HEADINGS, chapters.rows(results.select("parser", "throughput"), results), note)


def parser_takeaway(results: Results, workloads: list[str]) -> str:
    workload = next((name for name in workloads if name.startswith("model-deltas/")), workloads[0])
    own = results.best("parser", "throughput", workload, subject="chappie")
    if own is None:
        return f"The parser itself was not measured with {workload}."
    parts = [f"With {workload.split('/')[0]} the parser reads {value_of(own)}"]
    copy = next((figure for figure in limits(results, workload)
                 if "16 KiB" in figure.way and figure.median > 0), None)
    peer = best_of(results.peers("parser", "throughput", workload))
    ratio = own.ratio(peer) if peer else None
    beside = [f"{quantities.percent(own.ratio(copy))} of what copying out of a core's own cache reaches"] if copy else []
    beside += [f"{quantities.times(ratio)} the fastest peer, {peer.who}"] if peer and ratio else []
    return f"{parts[0]}{': ' if beside else ''}{quantities.listed(beside)}."


def end_to_end_workloads(results: Results) -> list[str]:
    """The workloads of whole streams: one stream before a hundred, plain before TLS, by transport."""
    found = dict.fromkeys(figure.workload for figure in results.select("end-to-end", "throughput"))

    def place(workload: str):
        transport, security, count = (workload.rsplit("-", 2) + ["", ""])[:3]
        number = TRANSPORTS.index(transport) if transport in TRANSPORTS else len(TRANSPORTS)
        return int(count) if count.isdigit() else 0, security != "plain", number

    return sorted(found, key=place)


def beside(results: Results, decodes: bool) -> Chapter | Absent:
    """Whole streams beside the peers that decode, or beside those that do not."""
    what = "that decode" if decodes else "that do not decode"
    title = f"End to end, beside clients {what}"
    sections, shown, has_hidden = [], [], False
    for workload in end_to_end_workloads(results):
        peers = results.peers("end-to-end", "throughput", workload, decodes)
        if not peers:
            continue
        own = [figure for figure in results.select("end-to-end", "throughput", workload, "chappie")
               if figure.decodes is not False]
        best = best_of(own)
        drawn = own + results.select("end-to-end", "throughput", workload, "machine") + peers[:MOST_PEERS]
        shown += own + peers
        has_hidden = has_hidden or len(peers) > MOST_PEERS
        bars = [bar(figure, best) for figure in descending(drawn)]
        sections.append(charts.Section(chapters.spoken_workload(workload), bars))
    if not sections:
        return Absent(title, f"no peer {what} was measured end to end in this run (make bench-peers)")
    takeaway = beside_takeaway(results, decodes)
    name = "decoding" if decodes else "not-decoding"
    work = ("Each of these has the text of every event in its hand." if decodes else
            "These hand out the bytes of a message, and leave the JSON to the program; chappie decodes all of it.")
    note = f"Events of 250 bytes a second, on a logarithmic scale; × is against chappie's best way. {work}"
    note += f" The {MOST_PEERS} fastest are drawn; the table has all." if has_hidden else ""
    return Chapter(name, title, takeaway, charts.both(charts.bars(sections, "events/s"), name, title, takeaway),
                   chapters.HEADINGS, chapters.rows(shown, results), note)


def beside_takeaway(results: Results, decodes: bool) -> str:
    """How many times as fast each way is as the fastest of those peers, over both plain transports."""
    parts = []
    for transport, spoken in [("websocket", "a plain WebSocket"), ("sse", "plain SSE")]:
        peer = best_of(results.peers("end-to-end", "throughput", f"{transport}-plain-1", decodes))
        own = results.select("end-to-end", "throughput", f"{transport}-plain-1", "chappie") if peer else []
        ways = [f"{quantities.times(ratio)} by {chapters.spoken_way(figure)}" for figure in own
                if (ratio := figure.ratio(peer))]
        if ways:
            parts.append(f"over {spoken} chappie is {quantities.listed(ways)} ({peer.subject})")
    if not parts:
        return "The plain transports with one stream were not measured beside these."
    return f"Against the fastest client that {'decodes' if decodes else 'does not decode'}, {'; '.join(parts)}."


# The marks of the chart of transports; what has no way of these is in the table.
WAYS = [("chappie", "for try await"), ("chappie", "batches()"), ("machine", "read")]


def transports(results: Results) -> Chapter | Absent:
    title = "End to end, by transport"
    groups: dict[str, list[charts.Row]] = {}
    shown = []
    for workload in end_to_end_workloads(results):
        found = [results.best("end-to-end", "throughput", workload, subject=subject, way=way) for subject, way in WAYS]
        found = [figure if figure and figure.median > 0 else None for figure in found]
        if any(found[:2]):
            name, _, streams = chapters.spoken_workload(workload).rpartition(", ")
            text = " · ".join(value_of(figure).replace(" events/s", "") for figure in found if figure)
            groups.setdefault(streams.capitalize(), []).append(
                charts.Row(name or workload, [figure.median if figure else None for figure in found], text))
            shown += [figure for figure in found if figure]
    if not shown:
        return Absent(title, "this run has no figures of whole streams")
    takeaway = transports_takeaway(results)
    names = {"machine": "the machine, read and not decoded"}
    series = [charts.Series(names.get(subject, f"{subject}, {way}"), [], number)
              for number, (subject, way) in enumerate(WAYS)]
    note = "Events of 250 bytes a second, on a logarithmic scale."
    return Chapter("transports", title, takeaway,
                   charts.both(charts.dots(list(groups.items()), series, "events/s"), "transports", title, takeaway),
                   chapters.HEADINGS, chapters.rows(shown, results), note)


def transports_takeaway(results: Results) -> str:
    """What security, compression and many streams take, against one plain WebSocket."""
    for way in ["for try await", "batches()", None]:
        plain = results.best("end-to-end", "throughput", "websocket-plain-1", subject="chappie", way=way)
        if plain is None or plain.median <= 0:
            continue
        parts = []
        for workload, spoken in [("sse-plain-1", "SSE"), ("websocket-tls-1", "TLS"),
                                 ("websocket-deflate-plain-1", "deflate"),
                                 ("websocket-plain-100", "a hundred streams")]:
            other = results.best("end-to-end", "throughput", workload, subject="chappie", way=plain.way)
            if other:
                parts.append(f"{quantities.percent(other.median / plain.median)} with {spoken}")
        rest = f"; of that it keeps {quantities.listed(parts)}" if parts else ""
        return f"One plain WebSocket gives {value_of(plain)} by {chapters.spoken_way(plain)}{rest}."
    return "One plain WebSocket was not measured in this run."


ALL = [parser, lambda results: beside(results, True), lambda results: beside(results, False), transports]
