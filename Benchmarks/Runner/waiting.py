"""The chapters about waiting: how late an event is, and how soon the first text comes."""

from __future__ import annotations

from . import chapters, charts, quantities
from .chapters import Absent, Chapter, kind_of, named, value_of
from .figures import Figure
from .results import Results, usual_of

FIRST_TEXT = {"warm": "with a connection that is open", "cold": "cold", "refused-upgrade": "with a refused upgrade",
              "black-holed-upgrade": "with a black-holed upgrade"}


def rate(workload: str) -> str:
    number = workload.rsplit("-", 1)[-1]
    return f"{int(number):,} events a second" if number.isdigit() else workload


def latency(results: Results) -> Chapter | Absent:
    title = "Latency, from the server's write to the consumer"
    found = [figure for figure in results.select("latency") if usable(figure)]
    if not found:
        return Absent(title, "this run has no distribution of latencies")
    workloads = sorted(dict.fromkeys(figure.workload for figure in found),
                       key=lambda name: int("".join(filter(str.isdigit, name)) or 0))
    panels = []
    for workload in workloads:
        here = [figure for figure in found if figure.workload == workload]
        panels.append(charts.Panel(rate(workload), [
            charts.Series(figure.who, curve(figure), number_of(figure, found), "") for figure in here]))
    takeaway = latency_takeaway(found, workloads)
    note = ("Each step to the right is one nine more. Both scales are logarithmic. The machine is a thread that waits "
            "in read for the same messages.")
    drawing = charts.both(charts.distributions(panels, found[0].unit), "latency", title, takeaway)
    return Chapter("latency", title, takeaway, drawing, ["workload", "subject", "way", "quantile", "latency"],
                   [[figure.workload, figure.subject, figure.way, f"{quantile * 100:g} %",
                     quantities.quantity(value, figure.unit)]
                    for figure in found for quantile, value in curve(figure)], note)


def usable(figure: Figure) -> bool:
    return figure.measure == "latency" and len(curve(figure)) > 1


def curve(figure: Figure) -> list[tuple[float, float]]:
    """The points that a scale of nines can show."""
    return [(quantile, value) for quantile, value in figure.distribution or [] if quantile < 1 and value > 0]


def number_of(figure: Figure, found: list[Figure]) -> int:
    """The package has the first colour, whoever is measured before it."""
    names = sorted(dict.fromkeys(other.who for other in found), key=lambda who: not who.startswith("chappie"))
    return names.index(figure.who)


def at(figure: Figure, quantile: float) -> str:
    """The value at a quantile, or at the nearest one that there is, which is named then."""
    nearest, value = min(curve(figure), key=lambda point: abs(point[0] - quantile))
    text = quantities.quantity(value, figure.unit)
    return text if abs(nearest - quantile) < 1e-9 else f"{text} (the value at {nearest * 100:g} %)"


def latency_takeaway(found: list[Figure], workloads: list[str]) -> str:
    workload = "websocket-1000" if "websocket-1000" in workloads else workloads[0]
    here = [figure for figure in found if figure.workload == workload]
    own = next((figure for figure in here if figure.is_own), None)
    machine = next((figure for figure in here if figure.subject == "machine"), None)
    if own is None:
        return f"The package's own latency at {rate(workload)} was not measured."
    text = f"At {rate(workload)}, half of the events arrive within {at(own, 0.5)} and 99 % within {at(own, 0.99)}"
    return text + (f"; in a thread that only reads, {at(machine, 0.5)} and {at(machine, 0.99)}." if machine else ".")


def first_text(results: Results) -> Chapter | Absent:
    title = "Time to the first text"
    found = results.select("first-text", "time")
    if not found:
        return Absent(title, "this run has no times to the first text")
    workloads = [name for name in FIRST_TEXT if any(figure.workload == name for figure in found)]
    workloads += list(dict.fromkeys(figure.workload for figure in found if figure.workload not in FIRST_TEXT))
    sections = []
    for workload in workloads:
        here = sorted((figure for figure in found if figure.workload == workload), key=lambda figure: figure.median)
        title_here = FIRST_TEXT.get(workload, workload).capitalize()
        sections.append(charts.Section(title_here, [bar(figure, results.like(figure)) for figure in here]))
    takeaway = first_text_takeaway(results, workloads)
    note = ("From the request to the first piece of text, on loopback; a logarithmic scale, and shorter is better. "
            "What starts a process for it is compared with what does too.")
    return Chapter("first-text", title, takeaway,
                   charts.both(charts.bars(sections, "ms"), "first-text", title, takeaway),
                   chapters.HEADINGS, chapters.rows(found, results), note)


def bar(figure: Figure, own: Figure | None) -> charts.Bar:
    ratio = own.ratio(figure) if own and kind_of(figure) == "peer" else None
    text = value_of(figure) + (f" · {quantities.times(ratio)}" if ratio else "")
    return charts.Bar(figure.who, figure.median, text, kind_of(figure), f"{named(figure)}: {text}")


def first_text_takeaway(results: Results, workloads: list[str]) -> str:
    parts = []
    for workload in [name for name in ["cold", "refused-upgrade", "black-holed-upgrade"] if name in workloads]:
        codex = results.best("first-text", "time", workload, subject="codex")
        own = results.like(codex) if codex else usual_of(results.select("first-text", "time", workload, "chappie"))
        if own:
            ratio = own.ratio(codex) if codex else None
            beside = f" (codex: {value_of(codex)}, {quantities.times(ratio)})" if codex and ratio else ""
            parts.append(f"{FIRST_TEXT[workload]} after {value_of(own)}{beside}")
    return f"The first text comes {quantities.listed(parts)}." if parts else "The package itself was not measured here."


ALL = [latency, first_text]
