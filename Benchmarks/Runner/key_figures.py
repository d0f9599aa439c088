"""The few figures that say most, in words: for the README and for the top of the report."""

from __future__ import annotations

import dataclasses

from . import quantities
from .chapters import against, value_of
from .figures import PROCESS, Figure
from .results import Results, best_of, usual_of


@dataclasses.dataclass(frozen=True)
class KeyFigure:
    """A row: what it is, the value, what it stands beside, and the command that measures it."""

    name: str
    value: str
    beside: str
    command: str


def command(group: str, workload: str, has_peers: bool = False) -> str:
    return f"make {'bench-peers' if has_peers else 'bench'} FILTER={group}/{workload}"


def end_to_end(results: Results) -> list[KeyFigure]:
    found = []
    for transport, spoken in [("websocket", "WebSocket"), ("sse", "SSE")]:
        workload = f"{transport}-plain-1"
        fastest = [(best_of(results.peers("end-to-end", "throughput", workload, decodes)), what)
                   for decodes, what in [(True, "decodes"), (False, "does not decode")]]
        for way in ["for try await", "batches()"]:
            own = results.best("end-to-end", "throughput", workload, subject="chappie", way=way)
            if own:
                beside = [f"{text} ({what})" for peer, what in fastest if (text := against(own, peer))]
                found.append(KeyFigure(f"{spoken}, plain, one stream, `{way}`", value_of(own), "; ".join(beside),
                                       command("end-to-end", workload, bool(beside))))
    return found


def parser(results: Results) -> list[KeyFigure]:
    workload = "model-deltas/16384"
    own = results.best("parser", "throughput", workload, subject="chappie")
    if own is None:
        return []
    peer = best_of(results.peers("parser", "throughput", workload))
    copies = [figure for figure in results.select("parser", "throughput", workload, "machine")
              if "memcpy" in figure.way and figure.median > 0]
    beside = [against(own, peer)] if peer else []
    beside += [f"{quantities.percent(own.ratio(copies[0]))} of memcpy"] if copies else []
    return [KeyFigure("event-stream parser, model deltas in 16 KiB chunks", value_of(own), "; ".join(beside),
                      command("parser", workload, bool(peer)))]


def latency(results: Results) -> list[KeyFigure]:
    workload = "websocket-1000"
    values = {}
    for subject in ["chappie", "machine"]:
        found = [results.best("latency", measure, workload, subject=subject)
                 for measure in ["latency-p50", "latency-p99"]]
        values[subject] = " / ".join(value_of(figure) for figure in found) if all(found) else ""
    if not values["chappie"]:
        return []
    beside = f"a thread in read: {values['machine']}" if values["machine"] else ""
    name = "latency at 1,000 events a second, p50 / p99"
    return [KeyFigure(name, values["chappie"], beside, command("latency", workload))]


def first_text(results: Results) -> list[KeyFigure]:
    found = []
    for workload, spoken in [("cold", "cold"), ("refused-upgrade", "with a refused upgrade"),
                             ("black-holed-upgrade", "with a black-holed upgrade")]:
        codex = results.best("first-text", "time", workload, subject="codex")
        own = results.like(codex) if codex else usual_of(results.select("first-text", "time", workload, "chappie"))
        if own:
            spoken += f", {PROCESS}" if own.has_process else ""
            ratio = own.ratio(codex) if codex else None
            beside = f"codex: {value_of(codex)}, {quantities.times(ratio)}" if codex and ratio else ""
            found.append(KeyFigure(f"first text, {spoken}", value_of(own), beside,
                                   command("first-text", workload, bool(beside))))
    return found


def plain(results: Results, group: str, measure: str, workload: str, name: str, beside: str = "") -> list[KeyFigure]:
    """A row for one figure of the package."""
    own = results.best(group, measure, workload, subject="chappie")
    if own is None:
        return []
    return [KeyFigure(f"{name}, {own.way}" if own.way else name, value_of(own), beside, command(group, workload))]


def memory(results: Results) -> list[KeyFigure]:
    secure = results.best("memory", "memory", "tls-1000", subject="chappie")
    return plain(results, "memory", "memory", "plain-1000", "memory of a stream, 1,000 open",
                 f"with TLS: {value_of(secure)}" if secure else "")


def tool_loop(results: Results) -> list[KeyFigure]:
    own = results.best("tool-loop", "uploaded", "websocket-50", subject="chappie")
    http = results.best("tool-loop", "uploaded", "http-50", subject="chappie")
    beside = f"over HTTP: {value_of(http)}" if own and http else ""
    return plain(results, "tool-loop", "uploaded", "websocket-50", "uploaded by a loop of 50 tool calls", beside)


def instructions(results: Results) -> list[KeyFigure]:
    found = []
    for way in ["for try await", "batches()"]:
        def count(measure: str) -> Figure | None:
            return results.best("end-to-end", measure, "websocket-plain-1", subject="chappie", way=way)
        own, allocations = count("instructions"), count("allocations")
        if own:
            beside = f"allocations: {quantities.number(allocations.median)}" if allocations else ""
            found.append(KeyFigure(f"instructions of an event, WebSocket, `{way}`", value_of(own), beside,
                                   command("end-to-end", "websocket-plain-1")))
    return found


def all_of(results: Results) -> list[KeyFigure]:
    """The rows that this run has figures for."""
    connections = plain(results, "connections", "rate", "connect-and-cancel", "connections opened and cancelled")
    return [*end_to_end(results), *parser(results), *latency(results), *first_text(results), *memory(results),
            *tool_loop(results), *instructions(results), *connections]
