"""The chapters about cost against work: streams, tool calls, sizes, and what one event takes."""

from __future__ import annotations

import math
import re

from . import chapters, charts, quantities
from .chapters import Absent, Chapter
from .figures import Figure
from .results import Results

# What families of workloads are called at their curves.
CURVES = {"plain": "plain", "tls": "with TLS", "websocket": "WebSocket", "http": "HTTP", "streams": "a stream"}


def amount(figure: Figure) -> float | None:
    """How much work it was about: as it says, or the number at the end of the workload's name."""
    if figure.amount is not None:
        return figure.amount
    number = re.search(r"[-/](\d+)$", figure.workload)
    return float(number[1]) if number else None


def family(figure: Figure) -> str:
    """The workload without its amount."""
    return re.sub(r"[-/]\d+$", "", figure.workload)


def families(found: list[Figure]) -> dict[str, list[Figure]]:
    """Figures by family, in the order of their amounts."""
    grouped: dict[str, list[Figure]] = {}
    for figure in found:
        if amount(figure) is not None:
            name = ", ".join(part for part in [CURVES.get(family(figure), family(figure)), figure.way] if part)
            grouped.setdefault(name if figure.is_own else f"{figure.subject}, {name}", []).append(figure)
    return {name: sorted(items, key=amount) for name, items in grouped.items()}


def over_amount(results: Results, group: str, measure: str, unit_part: str, name: str, title: str, x_name: str,
                takeaway, note: str = "", is_logarithmic: bool = True) -> Chapter | Absent:
    """A chart of cost against work; `takeaway` makes its sentence of the families."""
    found = [figure for figure in results.select(group, measure)
             if unit_part in figure.unit and figure.median > 0 and (amount(figure) or 0) > 0]
    grouped = families(found)
    if not grouped:
        return Absent(title, f"this run has no such figures (group {group}, measure {measure})")
    unit = found[0].unit
    series = [charts.Series(label, [(amount(figure), figure.median) for figure in items], number)
              for number, (label, items) in enumerate(grouped.items())]
    sentence = takeaway(grouped)
    drawing = charts.both(charts.curves(series, x_name, unit, is_logarithmic), name, title, sentence)
    return Chapter(name, title, sentence, drawing, chapters.HEADINGS, chapters.rows(found, results), note)


def ends(items: list[Figure]) -> tuple[Figure, Figure]:
    return items[0], items[-1]


def memory(results: Results) -> Chapter | Absent:
    def takeaway(grouped: dict[str, list[Figure]]) -> str:
        parts = [f"{chapters.value_of(items[-1]).replace('/stream', '')} {label} (of {amount(items[-1]):,.0f} streams)"
                 for label, items in grouped.items()]
        return f"An open stream takes {quantities.listed(parts)}."

    return over_amount(results, "memory", "memory", "", "memory", "Memory of a stream, by number of streams",
                       "streams at once", takeaway,
                       "Resident memory of the process, divided by the streams. Both scales are logarithmic.")


def processor_time(figure: Figure) -> str:
    return chapters.value_of(figure).removesuffix("/event")


def processor(results: Results) -> Chapter | Absent:
    def takeaway(grouped: dict[str, list[Figure]]) -> str:
        first, last = ends(next(iter(grouped.values())))
        if first is last:
            return f"With {amount(first):,.0f} streams at once an event takes {processor_time(first)} of a core."
        return (f"An event takes {processor_time(first)} of a core with {amount(first):,.0f} streams at once, and "
                f"{processor_time(last)} with {amount(last):,.0f}: {quantities.times(last.median / first.median)}.")

    return over_amount(results, "processor", "processor-time", "event", "processor",
                       "Processor time of an event, by number of streams", "streams at once, 100 events a second each",
                       takeaway, "The whole process: system calls, TLS where there is any, and decoding.", False)


def tool_loop(results: Results, measure: str) -> Chapter | Absent:
    what = {"uploaded": "Bytes uploaded", "time": "Time"}[measure]

    def takeaway(grouped: dict[str, list[Figure]]) -> str:
        last = {label: items[-1] for label, items in grouped.items()}
        parts = [f"{chapters.value_of(figure)} over {label}" for label, figure in last.items()]
        values = [figure.median for figure in last.values()]
        ratio = f": {quantities.times(max(values) / min(values))}" if len(values) == 2 else ""
        verb = "uploads" if measure == "uploaded" else "takes"
        return f"A loop of {amount(next(iter(last.values()))):,.0f} calls {verb} {quantities.listed(parts)}{ratio}."

    return over_amount(results, "tool-loop", measure, "", f"tool-loop-{measure}",
                       f"{what} of a tool loop, by calls and transport", "calls in the loop", takeaway)


def per_byte(figure: Figure) -> float:
    """Nanoseconds a byte."""
    if "/byte" in figure.unit:
        return figure.median
    factor = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[figure.unit]
    return figure.median * factor / amount(figure)


def growth(results: Results) -> Chapter | Absent:
    """Time a byte of every shape; the shapes that grow most and that cost most have names."""
    title = "Time of a byte, by size of the input"
    found = [figure for figure in results.select("growth", "time", subject="chappie")
             if figure.median > 0 and (amount(figure) or 0) > 0
             and (figure.unit in ("ns", "µs", "ms", "s") or "/byte" in figure.unit)]
    grouped = {name: items for name, items in families(found).items() if len(items) > 1}
    if not grouped:
        return Absent(title, "this run has no times of inputs that grow")
    grown = {name: doubling(items) for name, items in grouped.items()}
    most = max(grown, key=grown.get)
    dearest = max(grouped, key=lambda name: per_byte(grouped[name][-1]))
    order = [name for name in grouped if name not in (most, dearest)] + list(dict.fromkeys([dearest, most]))
    series = [charts.Series(spoken_shape(name), [(amount(figure), per_byte(figure)) for figure in grouped[name]],
                            1 if name == most else 2, "" if name in (most, dearest) else "thin") for name in order]
    takeaway = (f"An input twice as long takes at most {grown[most]:.2f} times as long, as a mean over the sizes "
                f"(“{spoken_shape(most)}”); 2 is linear.")
    note = (f"{len(grouped)} shapes of input that make parsers quadratic; a quadratic one would rise. Named are the "
            "one that grows most and the one that costs most.")
    drawing = charts.both(charts.curves(series, "bytes of input", "ns/byte"), "growth", title, takeaway)
    rows = [[name, quantities.quantity(amount(items[0]), "bytes"), f"{per_byte(items[0]):.3f}",
             quantities.quantity(amount(items[-1]), "bytes"), f"{per_byte(items[-1]):.3f}", f"{grown[name]:.2f}"]
            for name, items in grouped.items()]
    return Chapter("growth", title, takeaway, drawing,
                   ["shape", "smallest", "ns a byte", "largest", "ns a byte", "a doubling"], rows, note)


def spoken_shape(name: str) -> str:
    """A shape without the size of its chunks."""
    return name.split(",")[0]


def doubling(items: list[Figure]) -> float:
    """What twice the input multiplies the time with, as a mean over all sizes."""
    first, last = ends(items)
    steps = amount(last) / amount(first)
    total = per_byte(last) / per_byte(first) * steps
    return 2 ** (math.log2(total) / math.log2(steps)) if steps > 1 else 2.0


def instructions(results: Results) -> Chapter | Absent:
    title = "Instructions and allocations of an event"
    found = [figure for figure in results.figures if figure.measure == "instructions" and figure.is_own]
    if not found:
        return Absent(title, "instructions were not counted in this run (callgrind)")
    sections: dict[str, list[charts.Bar]] = {}
    for figure in found:
        allocations = results.best(figure.group, "allocations", figure.workload, subject="chappie", way=figure.way)
        count = f" · {quantities.number(allocations.median)} alloc." if allocations else ""
        is_stream = figure.group == "end-to-end"
        workload = chapters.spoken_workload(figure.workload) if is_stream else f"{figure.group}, {figure.workload}"
        sections.setdefault(workload, []).append(
            charts.Bar(figure.way or "the only way", figure.median, chapters.value_of(figure) + count, "ours"))
    takeaway = instructions_takeaway(results)
    allocations = [figure for figure in results.figures if figure.measure == "allocations" and figure.is_own]
    note = "Counted by callgrind, so the same on every machine with the same compiler and libraries."
    drawing = charts.both(charts.bars([charts.Section(*item) for item in sections.items()], "/event", False),
                          "instructions", title, takeaway)
    rows = [[figure.group, figure.workload, figure.way, figure.measure, chapters.value_of(figure)]
            for figure in found + allocations]
    headings = ["group", "workload", "way", "measure", "an event"]
    return Chapter("instructions", title, takeaway, drawing, headings, rows, note)


def instructions_takeaway(results: Results) -> str:
    parts = []
    for figure in results.select("end-to-end", "instructions", "websocket-plain-1", "chappie"):
        allocations = results.best("end-to-end", "allocations", figure.workload, subject="chappie", way=figure.way)
        beside = f" and {quantities.number(allocations.median)} allocations" if allocations else ""
        parts.append(f"{chapters.value_of(figure)} instructions{beside} by {chapters.spoken_way(figure)}")
    if parts:
        return f"From the socket to the consumer, an event over a plain WebSocket takes {quantities.listed(parts)}."
    fewest = min((figure for figure in results.figures if figure.measure == "instructions" and figure.is_own),
                 key=lambda figure: figure.median)
    return f"The least is {chapters.value_of(fewest)} instructions an event: {fewest.group}, {fewest.workload}."


ALL = [memory, processor, lambda results: tool_loop(results, "uploaded"), lambda results: tool_loop(results, "time"),
       growth, instructions]
