"""The table on the terminal: group by group, the package's own figures between the machine's and the peers'."""

from __future__ import annotations

from . import quantities
from .figures import Figure
from .results import Results

# The order of the groups; others follow.
GROUPS = ["end-to-end", "latency", "first-text", "tool-loop", "memory", "processor", "connections", "recovery",
          "parser", "growth", "decoder", "engine", "verification", "machine"]
HEADINGS = ["workload", "measure", "subject, way", "median", "spread", "of its core", "to the limit", "bar"]
WIDTHS = [30, 14, 42, 18, 8, 11, 16]


def groups_of(results: Results) -> list[str]:
    """The groups that have figures, in the order of reading."""
    found = dict.fromkeys(figure.group for figure in results.figures)
    return [name for name in GROUPS if name in found] + [name for name in found if name not in GROUPS]


def text(results: Results) -> str:
    """The whole table, and what is to be said below it."""
    lines = []
    for group in groups_of(results):
        lines += ["", group, row(HEADINGS)]
        before = None
        for figure in ordered(results.select(group)):
            question = (figure.workload, figure.measure)
            lines.append(row(cells(figure, results, repeats=question == before)))
            before = question
    return "\n".join(lines + ["", *closing(results)])


def ordered(found: list[Figure]) -> list[Figure]:
    """Workloads and measures in the order in which they came; in each our own first, then machine and peers."""
    places: dict[tuple, int] = {}
    for figure in found:
        places.setdefault(figure.question, len(places))
    return sorted(found, key=lambda figure: (places[figure.question], not figure.is_own, figure.subject != "machine"))


def cells(figure: Figure, results: Results, repeats: bool) -> list[str]:
    names = ["", ""] if repeats else [figure.workload, figure.measure]
    best = results.limit(figure) if figure.is_own else None
    ratio = figure.ratio(best) if best else None
    limit = quantities.times(ratio) if ratio else ""
    spread = f"{figure.spread * 100:.0f} %" if len(figure.runs) > 1 else ""
    who = f"  {figure.who}" if not figure.is_own else figure.who
    return [*names, who, quantities.quantity(figure.median, figure.unit), spread, quantities.core(figure.pace), limit, verdict(figure)]


def verdict(figure: Figure) -> str:
    """The bar, and whether it is held."""
    if figure.is_held is None:
        return ""
    limits = [f"{sign} {quantities.quantity(figure.bar[name], figure.unit)}"
              for name, sign in [("atLeast", ">="), ("atMost", "<=")] if figure.bar.get(name) is not None]
    quantile = figure.bar.get("quantile")
    which = "" if quantile is None else f" at {quantile * 100:g} %"
    rounds = f", measured {figure.rounds} times" if figure.rounds else ""
    return f"{' and '.join(limits)}{which}  {'ok' if figure.is_held else 'MISSED'}{rounds}"


def row(columns: list[str]) -> str:
    """Columns side by side; a long one pushes the others to the right."""
    line = "  "
    for index, column in enumerate(columns):
        width = WIDTHS[index] if index < len(WIDTHS) else 0
        line += (column.rjust(width) if 3 <= index <= 6 else column.ljust(width)) + "  "
    return line.rstrip()


def closing(results: Results) -> list[str]:
    """What was missed, what is missing, what failed, and what makes the figures doubtful."""
    lines = [f"missing: {item['subject']}: {item['why']}" for item in results.missing]
    lines += [f"warning: {warning}" for warning in results.warnings]
    lines += [f"FAILED: {program['program']}: {program['failure']}" for program in results.failed]
    lines += [f"MISSED: {figure.group}/{figure.workload}, {figure.who}, {figure.measure}: "
              f"{quantities.quantity(figure.judged, figure.unit)}, the bar is {verdict(figure).split('  ')[0]}"
              for figure in results.missed]
    bars = [figure for figure in results.figures if figure.bar]
    held = len(bars) - len(results.missed)
    machine = results.machine
    said = [f"{name}: {machine.get(key, 'unknown')}" for name, key in [
        ("cores", "cores"), ("virtualization", "virtualization"), ("load before", "loadBefore")]]
    count = f"{len(results.figures)} figures in {results.seconds:.0f} s; bars held: {held} of {len(bars)}"
    return lines + [", ".join([machine.get("processor", "an unknown processor"), *said]), count]
