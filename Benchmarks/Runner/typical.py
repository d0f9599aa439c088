"""The table of typical traffic, 80 columns wide: a row for each program at a workload, and the bars' verdicts."""

from __future__ import annotations

from . import quantities
from .figures import Figure

GROUP = "typical"
NAME, VALUE, QUARTILES = 27, 9, 13
# The columns behind the processor time and its quartiles: their headings, the measures, and the widths.
PACED = [("switch", "switches", 7), ("p50", "lag-p50", 8), ("p99", "lag-p99", 8), ("memory", "memory", 8)]
FLOOD = [("events/s", "throughput", 22), ("memory", "memory", 8)]
FIRST = "processor-time"


def lines(questions: list[tuple[tuple[str, str, str], list[Figure]]], verdict) -> list[str]:
    """Returns the rows of the questions of the group; `verdict` formats the bar of a figure."""
    found: dict[str, dict[str, list[Figure]]] = {}
    for (_, workload, measure), figures in questions:
        found.setdefault(workload, {})[measure] = figures
    written, barred = [], []
    for workload, by_measure in found.items():
        columns = FLOOD if "throughput" in by_measure else PACED
        headings = "".join(f"{heading:>{width}}" for heading, _, width in columns)
        written.append(f"  {workload:<{NAME - 2}}{'processor':>{VALUE}}{'quartiles':>{QUARTILES}}{headings}")
        for figure in by_measure.get(FIRST, []):
            same = [next((other for other in by_measure.get(measure, []) if other.who == figure.who), None)
                    for _, measure, _ in columns]
            cells = "".join(f"{cell(other):>{width}}" for other, (_, _, width) in zip(same, columns))
            written += named(f"    {figure.who}", f"{cell(figure):>{VALUE}}{quartiles(figure):>{QUARTILES}}{cells}")
            unsteady = [other.measure for other in [figure, *same] if other is not None and other.is_unsteady]
            if unsteady:
                written.append(f"      unsteady: {', '.join(unsteady)}")
        barred += [figure for figures in by_measure.values() for figure in figures if figure.bar]
    return written + bars(barred, verdict)


def bars(barred: list[Figure], verdict) -> list[str]:
    """Returns the bars: the median of all rounds, its quartiles, the limit, and whether it is held."""
    if not barred:
        return []
    written = [f"  {'bars, ratios of neighbouring runs':<{NAME + VALUE - 2}}{'quartiles':>{QUARTILES}}"]
    for figure in barred:
        value = quantities.quantity(figure.median, figure.unit.removesuffix("/event"))
        written += [f"    {figure.workload}, {figure.way}: {figure.measure}",
                    f"{value:>{NAME + VALUE}}{quartiles(figure):>{QUARTILES}}  {verdict(figure)}"]
    return written


def named(name: str, cells: str) -> list[str]:
    """Returns a row; a long name has a line of its own."""
    if len(name) <= NAME:
        return [f"{name:<{NAME}}{cells}".rstrip()]
    return [name, f"{'':<{NAME}}{cells}".rstrip()]


def cell(figure: Figure | None) -> str:
    """Formats a median, without `/event` and `events/s`, which the heading says."""
    if figure is None:
        return ""
    text = quantities.quantity(figure.median, figure.unit.removesuffix("/event"))
    return text.removesuffix(" events/s") if figure.measure == "throughput" else text


def quartiles(figure: Figure) -> str:
    """Formats the quartiles in the unit of the median; empty for a single run."""
    if len(figure.runs) < 2:
        return ""
    scale = quantities.scale(figure.median, figure.unit.removesuffix("/event"))
    return "-".join(quantities.number(value / scale) for value in figure.quartiles)
