"""report.html: one page with a chart of bars for each question, made from results.json alone."""

from __future__ import annotations

import html as escaping
import pathlib

from . import machine, quantities, table
from .figures import MACHINE, Figure
from .results import Results

STYLE = pathlib.Path(__file__).with_name("style.css")


def escape(text: object) -> str:
    return escaping.escape(str(text))


def html(results: Results) -> str:
    """Returns the page, which loads no other file."""
    parts = ['<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
             '<meta name="viewport" content="width=device-width, initial-scale=1">',
             "<title>chappie-transport, measured</title>", f"<style>{STYLE.read_text(encoding='utf-8')}</style>",
             "</head>\n<body>", heading(results)]
    for group, questions in results.questions():
        parts.append(f"<h2>{escape(group)}</h2>")
        parts += [chart(workload, measure, found, results) for (_, workload, measure), found in questions]
    return "\n".join([*parts, closing(results), "</body>\n</html>\n"])


def heading(results: Results) -> str:
    key = "".join(f'<span class="{kind}"></span>{name}' for kind, name in [
        ("ours", "chappie"), ("machine", "the machine"), ("peer", "other programs")])
    return (f"<header><h1>chappie-transport, measured</h1><p><code>{escape(results.command)}</code> on "
            f"{escape(machine.sentence(results))}.</p><p>A bar is the median of the runs, the line on it reaches from "
            "the lowest run to the highest, and the percentage is that distance as a share of the median. × is how "
            f"many times as good chappie’s median is.</p>{state(results)}<p class=\"key\">{key}</p></header>")


def state(results: Results) -> str:
    """Returns the lines below the table on the terminal, as a list."""
    lines = [" ".join(line.split()) for line in table.closing(results)]
    kind = ' class="bad"' if results.missed or results.failures else ""
    return f"<ul{kind}>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def chart(workload: str, measure: str, found: list[Figure], results: Results) -> str:
    """Returns the bars of one question, on one linear scale from zero."""
    end = max([figure.high for figure in found] + [0])
    rows = "".join(row(figure, end, results) for figure in found)
    return f"<section><h3>{escape(workload)}, {escape(measure)}</h3><table>{rows}</table></section>"


def row(figure: Figure, end: float, results: Results) -> str:
    kind = "ours" if figure.is_own else "machine" if figure.subject == MACHINE else "peer"
    said = table.verdict(figure) if figure.is_own else table.comparison(figure, results)
    spread = quantities.spread(figure.spread, len(figure.runs))
    name = figure.who + (f" ({figure.version})" if figure.version else "")
    low, median, high = (max(0.0, 100 * value / end) if end > 0 else 0.0
                         for value in (figure.low, figure.median, figure.high))
    reach = f'<i class="range" style="left:{low:.1f}%;width:{high - low:.1f}%"></i>' if len(figure.runs) > 1 else ""
    bad = ' class="bad"' if figure.is_held is False else ""
    unsteady = ' class="bad"' if figure.is_unsteady else ""
    return (f"<tr><th scope=\"row\">{escape(name)}</th>"
            f'<td class="bars"><i class="{kind}" style="width:{median:.1f}%"></i>{reach}</td>'
            f"<td>{escape(quantities.quantity(figure.median, figure.unit))}</td><td{unsteady}>{spread}</td>"
            f"<td>{len(figure.runs)} run{'s' if len(figure.runs) > 1 else ''}</td><td{bad}>{escape(said)}</td></tr>")


def closing(results: Results) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in sorted(results.versions.items()))
    return f"<footer>Versions: {escape(versions or 'unknown')}.</footer>"
