"""The table on the terminal, 80 columns wide: by question, the package before the machine and the peers."""

from __future__ import annotations

import textwrap

from . import quantities, typical
from .figures import Figure
from .results import Results

WIDTH = 80
NAME, VALUE, SPREAD = 30, 16, 7


def text(results: Results) -> str:
    """Returns the whole table, and the lines below it."""
    lines = []
    for group, questions in results.questions():
        if group == typical.GROUP:
            lines += ["", f"{group}:", *typical.lines(questions, verdict)]
            continue
        lines += ["", f"{group + ':':<{NAME + 4}}{'median':>{VALUE}}{'spread':>{SPREAD}}"]
        for (_, workload, measure), found in questions:
            lines.append(f"  {workload}, {measure}")
            for figure in found:
                lines += rows(figure, results)
    return "\n".join([*lines, "", *closing(results)])


def rows(figure: Figure, results: Results) -> list[str]:
    """Returns a figure's line; a long name has a line of its own."""
    value = quantities.quantity(figure.median, figure.unit)
    spread = quantities.spread(figure.spread, len(figure.runs))
    values = f"{value:>{VALUE}}{spread:>{SPREAD}}  {verdict(figure) if figure.is_own else comparison(figure, results)}"
    if len(figure.who) <= NAME:
        written = [f"    {figure.who:<{NAME}}{values}".rstrip()]
    else:
        written = [f"    {figure.who}"[:WIDTH], f"    {'':<{NAME}}{values}".rstrip()]
    if figure.is_unsteady:
        # Where the row has no room for it, below.
        marked = f"{written[-1]}  unsteady"
        written[-1:] = [marked] if len(marked) <= WIDTH else [written[-1], f"{'unsteady':>{NAME + VALUE + SPREAD + 4}}"]
    return written


def comparison(figure: Figure, results: Results) -> str:
    """Formats how many times as good the package is as the machine or a peer."""
    own = results.like(figure)
    ratio = own.ratio(figure) if own else None
    return f"chappie {quantities.times(ratio)}" if ratio else ""


def verdict(figure: Figure) -> str:
    """Formats the bar, without its `/s`, `/event` or `/stream`, and whether it is held: `p99 <= 51.2 ms ok`."""
    if figure.is_held is None:
        return ""
    unit = next((end for end in [" events/s", "/event", "/stream"] if limits(figure).endswith(end)), "")
    return f"{limits(figure).removesuffix(unit)} {'ok' if figure.is_held else 'MISSED'}"


def limits(figure: Figure) -> str:
    bar = figure.bar or {}
    found = [f"{sign} {quantities.quantity(bar[name], figure.unit)}"
             for name, sign in [("atLeast", ">="), ("atMost", "<=")] if bar.get(name) is not None]
    quantile = bar.get("quantile")
    return " and ".join(found) if quantile is None else f"p{quantile * 100:g} {' and '.join(found)}"


def closing(results: Results) -> list[str]:
    """Returns the lines below the table: missing figures, warnings, failures, missed bars, and the machine."""
    lines = [f"missing: {item['subject']}: {item['why']}" for item in results.missing]
    lines += [f"warning: {warning}" for warning in results.warnings]
    lines += [f"FAILED: {program}: {why}" for program, why in results.failures.items()]
    lines += [f"MISSED: {figure.group}/{figure.workload}, {figure.who}, {figure.measure}: "
              f"{quantities.quantity(figure.judged, figure.unit)}, the bar is {limits(figure)}"
              for figure in results.missed]
    machine = results.machine
    lines.append(f"{machine.get('processor', 'an unknown processor')}, cores: {machine.get('cores', 'unknown')}, "
                 f"virtualization: {machine.get('virtualization', 'unknown')}, "
                 f"load before: {machine.get('loadBefore', 'unknown')}")
    bars = [figure for figure in results.figures if figure.bar]
    lines.append(f"{len(results.figures)} figures in {results.seconds:.0f} s; "
                 f"bars held: {len(bars) - len(results.missed)} of {len(bars)}")
    return [textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in lines]
