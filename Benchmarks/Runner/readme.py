"""RESULTS.md, the table of one run, and the README's table, whose rows are rows of RESULTS.md."""

from __future__ import annotations

import pathlib
import sys

from . import machine, quantities, typical
from .figures import Figure, ResultsError
from .results import Results

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
HEADINGS = ["figure", "median", "spread", "beside", "command"]
# The rows of the README, by the beginning of their first cell. Those of typical traffic, if any, are the first.
TYPICAL = [
    "typical/websocket-plain-100x50, events(), processor-time",
    "typical/websocket-plain-1x50, events(), processor-time",
    "typical/websocket-plain-5000x10, events(), processor-time",
]
CHOSEN = [
    "end-to-end/websocket-plain-1, events(), throughput",
    "parser/model-deltas/16384, throughput",
    "latency/websocket-1000, for try await, latency-p50",
]


def write(results: Results, repository: pathlib.Path) -> None:
    """Writes a run's figures into RESULTS.md, and some of its rows into the README."""
    target = repository / "Benchmarks" / "RESULTS.md"
    top = repository / "README.md"
    before, _, behind = parts(top.read_text(encoding="utf-8"))
    written = document(results)
    rows = chosen(rows_of(written), "this run")
    content = [f"On {machine.sentence(results)}.", "", *heading_rows(), *rows]
    target.write_text(written, encoding="utf-8")
    top.write_text("\n".join([f"{before}{BEGIN}", *content, END]) + behind, encoding="utf-8")
    print(f"written: {target}\nwritten: {top}")


def check(repository: pathlib.Path) -> int:
    """Returns status 1 when the README has a figure that RESULTS.md does not have."""
    known = set(rows_of((repository / "Benchmarks" / "RESULTS.md").read_text(encoding="utf-8")))
    rows = rows_of(parts((repository / "README.md").read_text(encoding="utf-8"))[1])
    chosen(rows, "README.md")
    strangers = [row for row in rows if row not in known]
    for row in strangers:
        print(f"readme: not in Benchmarks/RESULTS.md: {row}", file=sys.stderr)
    return 1 if strangers else 0


def parts(text: str) -> tuple[str, str, str]:
    """Splits a README into the texts before its table, in it, and after it."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ResultsError(f"README.md has no pair of lines {BEGIN} and {END}")
    before, rest = text.split(BEGIN)
    inside, behind = rest.split(END)
    return before, inside, behind


def chosen(rows: list[str], place: str) -> list[str]:
    """Returns the rows of the README among those of RESULTS.md; each of CHOSEN has to be there."""
    found = {start: [row for row in rows if row.startswith(f"| {start} |")] for start in TYPICAL + CHOSEN}
    absent = [start for start, same in found.items() if not same and start in CHOSEN]
    if absent:
        raise ResultsError(f"{place} has no row {'; '.join(absent)}")
    return [row for same in found.values() for row in same]


def rows_of(text: str) -> list[str]:
    """Returns the rows of the tables of figures in a text, without their headings."""
    return [line for line in text.splitlines() if line.startswith("| ") and line.endswith("` |")]


def heading_rows() -> list[str]:
    return [f"| {' | '.join(HEADINGS)} |", f"|{' --- |' * len(HEADINGS)}"]


def document(results: Results) -> str:
    """Returns the text of RESULTS.md: a table for each group, a row for each figure of the package."""
    lines = ["# Results of one run", "",
             f"`{results.command}` on {machine.sentence(results)}. `make bench-readme` writes this file from a whole run of `make bench-peers`.",
             "The spread is the distance of the lowest and the highest run, as a share of the median.",
             "× is how many times as good this package's median is."]
    for group, questions in results.questions():
        lines += ["", f"## {group}", "", *heading_rows()]
        for _, found in questions:
            lines += [row(figure, results) for figure in found if figure.is_own]
    return "\n".join(lines) + "\n"


def row(figure: Figure, results: Results) -> str:
    beside = results.best_beside(figure)
    # Only bench-peers measures peers, typical traffic, and figures that include the start of a process.
    has_peers = figure.group == typical.GROUP or figure.has_process or any(other.version for other in beside)
    name = f"{figure.group}/{figure.workload}"
    command = f"make {'bench-peers' if has_peers else 'bench'} FILTER={name}"
    cells = [", ".join(part for part in [name, figure.way, figure.measure] if part),
             quantities.quantity(figure.median, figure.unit),
             quantities.spread(figure.spread, len(figure.runs)),
             "; ".join(compared(figure, other) for other in beside), f"`{command}`"]
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def compared(figure: Figure, other: Figure) -> str:
    """Formats another program's median, and how many times as good the package's is."""
    ratio = figure.ratio(other)
    decodes = "" if other.decodes is None or not other.version else " (decodes)" if other.decodes else " (does not decode)"
    times = f", {quantities.times(ratio)}" if ratio else ""
    return f"{other.who}{decodes}: {quantities.quantity(other.median, other.unit)}{times}"
