"""report.html: one page with everything in it, made from results.json alone."""

from __future__ import annotations

import html as escaping
import pathlib
import re

from . import chapters, cost, key_figures, quantities, readme, table, throughput, waiting
from .chapters import Absent, Chapter
from .results import Results

STYLE = pathlib.Path(__file__).with_name("style.css")
ORDER = [throughput.ALL[1], throughput.ALL[2], throughput.ALL[0], throughput.ALL[3], *waiting.ALL, *cost.ALL]
NUMBER = re.compile(r"^[+-]?[\d.,]+( ?(×|%|[kMGKT]i?B?(/s)?|[nµm]?s|events/s|KiB|B|/s).*)?$")

UNIT = re.compile(r"(?<=\d) (?=(×|%|[kMG]?B(/s)?|[kMG]( events/s)?|[nµm]?s(/event)?|KiB(/stream)?|GiB|/s)(\W|$))")


def escape(text: object) -> str:
    """For HTML; a number stays on one line with its unit."""
    return escaping.escape(UNIT.sub("\u00a0", str(text)))


def marked(text: str) -> str:
    """A sentence whose backticks are code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def html(results: Results) -> str:
    """The page."""
    made = [make(results) for make in ORDER]
    drawn = [chapter for chapter in made if isinstance(chapter, Chapter)]
    absent = [chapter for chapter in made if isinstance(chapter, Absent)]
    parts = ["<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
             '<meta name="viewport" content="width=device-width, initial-scale=1">',
             "<title>chappie-transport, measured</title>", f"<style>{STYLE.read_text(encoding='utf-8')}</style>",
             "</head>", "<body>", heading(results), "<main>", tiles(results), pictures(drawn), left_out(absent),
             every_figure(results),
             "</main>", closing(results), "</body>", "</html>"]
    return "\n".join(part for part in parts if part) + "\n"


def heading(results: Results) -> str:
    subjects = {figure.subject for figure in results.figures} - {"chappie", "machine"}
    beside = f", beside {len(subjects)} other programs" if len(subjects) > 1 else ""
    scope = f" This run was only about “{escape(results.filter)}”." if results.filter else ""
    return (f"<header><h1>chappie-transport, measured</h1>"
            f'<p class="lede">{len(results.figures):,} figures of one run{beside}, and of what the machine can do. '
            f"What a value is the median of, its spread and its checks are in the tables below the charts. "
            "× is how many times as good. Where a table says how much of its core a program had, the value is that of "
            "the calmer half of its runs, as they would have been on a core that nobody else uses; the runs by the "
            "clock are in results.json. What has runs of several processes was measured in turn with what stands "
            f"beside it.{scope}</p>"
            f'<p class="where">{escape(readme.where(results))}</p>'
            f'<p class="where"><code>{escape(results.command)}</code>, {results.seconds:,.0f} s; load before: '
            f"{escape(results.machine.get('loadBefore', 'unknown'))}</p>{state(results)}</header>")


def state(results: Results) -> str:
    """Whether all bars are held, and what else a reader must know first."""
    bars = [figure for figure in results.figures if figure.bar]
    lines = []
    if bars:
        lines.append(f"<strong>{len(bars) - len(results.missed)} of {len(bars)} bars are held.</strong>")
    lines += [f"Missed: {escape(figure.group)}/{escape(figure.workload)}, {escape(figure.way or figure.measure)}: "
              f"{escape(quantities.quantity(figure.judged, figure.unit))}, "
              f"the bar is {escape(table.verdict(figure).split('  ')[0])}"
              for figure in results.missed]
    lines += [f"Failed: {escape(program['program'])}: {escape(program['failure'])}" for program in results.failed]
    lines += [f"Doubtful: {escape(warning)}." for warning in results.warnings]
    is_bad = bool(results.missed or results.failed)
    said = "".join(f"<p>{line}</p>" for line in lines)
    return f'<div class="state{" bad" if is_bad else ""}">{said}</div>' if lines else ""


def tiles(results: Results) -> str:
    """The key figures in words."""
    found = key_figures.all_of(results)
    if not found:
        return ""
    cells = "".join(
        f'<div class="tile"><p class="name">{marked(figure.name)}</p>'
        f'<p class="value">{escape(figure.value)}</p><p class="beside">{escape(figure.beside)}</p></div>'
        for figure in found)
    return f'<h2 class="section">Key figures</h2><div class="tiles">{cells}</div>'


def pictures(drawn: list[Chapter]) -> str:
    """The charts, in two columns of about the same height where there is room."""
    if not drawn:
        return ""
    columns: list[list[tuple[int, Chapter]]] = [[], []]
    heights = [0.0, 0.0]
    for number, chapter in enumerate(drawn):
        side = 0 if heights[0] <= heights[1] else 1
        columns[side].append((number, chapter))
        box = re.search(r'class="wide" viewBox="0 0 [\d.]+ (\d+)', chapter.drawing)
        heights[side] += (int(box[1]) if box else 300) + 190
    key = "".join(f'<li><i style="background:var(--{color})"></i>{name}</li>' for color, name in [
        ("ours", "chappie"), ("machine", "the machine’s own limit"), ("peer", "other programs")])
    cells = "".join(f'<div class="column">{"".join(card(*item) for item in column)}</div>' for column in columns)
    return (f'<h2 class="section">Charts</h2><ul class="key">{key}</ul>'
            f'<div class="cards">{cells}</div>')


def card(number: int, chapter: Chapter) -> str:
    """A chart with what it says; its number is its place where there is one column only."""
    note = f'<p class="note">{escape(chapter.note)}</p>' if chapter.note else ""
    return (f'<section class="card" id="{chapter.name}" style="order:{number}"><h3>{escape(chapter.title)}</h3>'
            f'<p class="takeaway">{marked(chapter.takeaway)}</p>{chapter.drawing}{note}'
            f"<details><summary>The numbers</summary>{data(chapter.headings, chapter.rows)}</details></section>")


def data(headings: list[str], rows: list[list[str]]) -> str:
    """A table; columns of numbers stand to the right."""
    are_numbers = [all(NUMBER.match(row[index]) or not row[index] for row in rows) and any(row[index] for row in rows)
                   for index in range(len(headings))]
    classes = [' class="number"' if is_number else "" for is_number in are_numbers]
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(headings, classes))
    body = "".join("<tr>" + "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, classes)) + "</tr>"
                   for row in rows)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def left_out(absent: list[Absent]) -> str:
    if not absent:
        return ""
    items = "".join(f"<li>{escape(chapter.title)}: {escape(chapter.why)}.</li>" for chapter in absent)
    return f'<h2 class="section">Not in this report</h2><ul>{items}</ul>'


def every_figure(results: Results) -> str:
    """All figures, a folded table a group."""
    headings = ["workload", "measure", "subject", "way", "median", "lowest", "highest", "runs", "chappie is", "bar"]
    parts = []
    for group in table.groups_of(results):
        found = table.ordered(results.select(group))
        rows = []
        for figure in found:
            cells = chapters.row(figure, results)
            rows.append([cells[0], figure.measure, *cells[1:], table.verdict(figure)])
        parts.append(f"<details><summary>{escape(group)}: {len(found)}</summary>{data(headings, rows)}</details>")
    return f'<h2 class="section">Every figure</h2>{"".join(parts)}' if parts else ""


def closing(results: Results) -> str:
    versions = quantities.listed([f"{name} {version}" for name, version in sorted(results.versions.items())])
    missing = "".join(f"<li>{escape(item['subject'])}: {escape(item['why'])}</li>" for item in results.missing)
    machine = results.machine
    virtual = machine.get("virtualization", "unknown")
    return (f"<footer>{f'<p>What could not be measured:</p><ul>{missing}</ul>' if missing else ''}"
            f"<p>Versions: {escape(versions or 'unknown')}.</p>"
            f"<p>Kernel {escape(machine.get('kernel', 'unknown'))}; virtualization: {escape(virtual)}. "
            f"Commit <code>{escape(results.commit or 'unknown')}</code>"
            f"{', with changes' if results.isModified else ''}.</p>"
            f"</footer>")
