"""Writes the tables of figures into the READMEs, between markers, from the committed results."""

from __future__ import annotations

import argparse
import pathlib
import sys

from . import key_figures, quantities, table
from .figures import Figure, ResultsError
from .results import Results, best_of

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
# In the long table there is a row a shape and size of these, which the report draws.
LEFT_OUT = {"growth"}
# What the names of the rows of the README at the top begin with.
AT_THE_TOP = ("WebSocket, plain, one stream, `for", "SSE, plain, one stream, `for", "event-stream parser", "latency",
              "first text, cold", "memory of a stream")


def command(given: argparse.Namespace, repository: pathlib.Path) -> int:
    """Writes both tables, or only says whether they are as the results say."""
    if given.check and not given.results.exists():
        print(f"readme: there is no {given.results} to hold the tables against")
        return 0
    results = Results.load(given.results)
    files = {"README.md": short_table(results), "Benchmarks/README.md": long_tables(results)}
    status = 0
    for name, content in files.items():
        path = repository / name
        before = path.read_text(encoding="utf-8")
        after = replaced(before, content, name)
        if before == after:
            continue
        if given.check:
            print(f"readme: the figures in {name} are not those of the committed results: make bench-readme",
                  file=sys.stderr)
            status = 1
        else:
            path.write_text(after, encoding="utf-8")
            print(f"written: {path}")
    return status


def replaced(text: str, content: str, name: str) -> str:
    """The text with other content between the markers."""
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin or text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ResultsError(f"{name} has no such pair of lines: {BEGIN} and {END}")
    return f"{text[:begin]}{BEGIN}\n{content.strip()}\n{text[end:]}"


def markdown(headings: list[str], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def where(results: Results) -> str:
    """The machine and the revision, in a sentence."""
    machine = results.machine
    memory = machine.get("memoryBytes")
    parts = [machine.get("processor", "an unknown processor"), f"{machine.get('cores', '?')} cores"]
    parts += [f"{memory / 2 ** 30:.0f} GiB"] if memory else []
    parts += [machine.get("system", "")] + ([f"virtualization {machine['virtualization']}"]
                                           if machine.get("virtualization", "none") != "none" else [])
    commit = f", commit {results.commit[:12]}{' with changes' if results.isModified else ''}" if results.commit else ""
    swift = f", Swift {results.versions['swift']}" if "swift" in results.versions else ""
    return f"{', '.join(part for part in parts if part)}{swift}; {results.date[:10]}{commit}"


def short_table(results: Results) -> str:
    """The table of the README at the top: a row for each of a few key figures."""
    rows = [[row.name, row.value, row.beside, f"`{row.command}`"] for row in key_figures.all_of(results)
            if row.name.startswith(AT_THE_TOP)]
    return f"{where(results)}. Medians, of a core that nobody else uses where that is known; × is how many times as good.\n\n" + markdown(
        ["figure", "value", "beside", "command"], rows)


def long_tables(results: Results) -> str:
    """The tables of the benchmarks' README: a table a group, with every figure of the package."""
    parts = [f"`{results.command}` on {where(results)}. × is how many times as good this package is as the machine's "
             "limit, and as the best peer (RESULTS.md says by what)."]
    for group in table.groups_of(results):
        own = [figure for figure in results.select(group) if figure.is_own or group == "machine"]
        if own and group not in LEFT_OUT:
            rows = [long_row(figure, results) for figure in table.ordered(own)]
            parts.append(f"**{group}** (`make bench FILTER={group}`)\n\n" + markdown(
                ["workload", "way", "measure", "median", "spread", "of its core", "the machine's", "best peer"], rows))
    return "\n\n".join(parts)


def long_row(figure: Figure, results: Results) -> list[str]:
    limit = results.limit(figure)
    peer = best_of(results.beside(figure, results.peers(figure.group, figure.measure, figure.workload)))
    spread = f"{figure.spread * 100:.0f} %" if len(figure.runs) > 1 else ""
    beside = ["", ""]
    for index, other in enumerate([limit, peer]):
        ratio = figure.ratio(other) if other and figure.is_own else None
        name = f" {other.subject}" if other and index == 1 else ""
        beside[index] = f"{quantities.times(ratio)}{name}" if ratio else ""
    value = quantities.quantity(figure.median, figure.unit)
    return [f"`{figure.workload}`", figure.way, figure.measure, value, spread, quantities.core(figure.pace), *beside]
