"""The kinds of chart: bars, marks, curves over an amount, and quantiles. Each is drawn for a wide and a narrow page."""

from __future__ import annotations

import dataclasses
import math

from . import quantities
from .drawing import Canvas, Scale, fitted, text_width

# The widths that are drawn; the page shows the one that fits.
WIDTHS = {"wide": 600, "narrow": 340}
BAR, GAP = 15, 7
LABELS = 270
QUANTILES = [0, 0.5, 0.9, 0.99, 0.999, 0.9999]


@dataclasses.dataclass(frozen=True)
class Bar:
    """A value with its name; `kind` is ours, machine, peer or other."""

    name: str
    value: float
    text: str
    kind: str
    hint: str = ""


@dataclasses.dataclass(frozen=True)
class Section:
    """Bars that belong together."""

    title: str
    bars: list[Bar]


@dataclasses.dataclass(frozen=True)
class Series:
    """Values over an amount."""

    name: str
    points: list[tuple[float, float]]
    # Which of the colours, and which mark.
    number: int
    kind: str = ""

    @property
    def style(self) -> str:
        return self.kind or f"series-{self.number % 4 + 1}"

    @property
    def is_named(self) -> bool:
        """Whether its name stands at it: thin curves are only there for comparison."""
        return self.kind != "thin"


def both(draw, name: str, title: str, description: str) -> str:
    """A chart for a wide page and one for a narrow page."""
    drawn = []
    for kind, width in WIDTHS.items():
        canvas = Canvas(width)
        draw(canvas, kind == "narrow")
        drawn.append(canvas.svg(name, kind, title, description.replace("`", "")))
    return "".join(drawn)


def bars(sections: list[Section], unit: str, is_logarithmic: bool = True):
    """Horizontal bars, with their names before them, or above them on a narrow page."""

    def draw(canvas: Canvas, is_narrow: bool) -> None:
        every = [bar for section in sections for bar in section.bars]
        left = 0 if is_narrow else min(LABELS, max(
            text_width(bar.name, is_strong=bar.kind == "ours") for bar in every) + 14)
        right = canvas.width - max(text_width(bar.text, is_strong=bar.kind == "ours") for bar in every) - 10
        scale = Scale([bar.value for bar in every if bar.value > 0] or [1], left, right, is_logarithmic, True)
        y = 4.0
        body = Canvas(canvas.width)
        for section in sections:
            y += 13
            body.text(0, y, fitted(section.title, canvas.width, 13), "strong", size=13)
            y += 9
            for bar in section.bars:
                y = draw_bar(body, bar, scale, y, is_narrow)
            y += 8
        if not is_narrow:
            draw_grid(canvas, scale, unit, 6, y)
            y += 16
        canvas.parts += body.parts
        canvas.height = y + 4

    return draw


def draw_bar(canvas: Canvas, bar: Bar, scale: Scale, y: float, is_narrow: bool) -> float:
    """A bar at a height; the height below it."""
    kind = "own" if bar.kind == "ours" else ""
    if is_narrow:
        canvas.text(0, y + 10, fitted(bar.name, canvas.width), kind)
        y += 15
    else:
        canvas.text(scale.start - 8, y + 12, fitted(bar.name, scale.start - 8), kind, "end")
    end = scale.place(bar.value) if bar.value > 0 else scale.start
    canvas.box(scale.start, y, end - scale.start, BAR, bar.kind, bar.hint or f"{bar.name}: {bar.text}", 2)
    canvas.text(max(end, scale.start + 1) + 6, y + 12, bar.text, f"value {kind}".strip())
    return y + BAR + GAP


@dataclasses.dataclass(frozen=True)
class Row:
    """Values of several subjects beside each other; None where there is none."""

    name: str
    values: list[float | None]
    text: str


def dots(groups: list[tuple[str, list[Row]]], series: list[Series], unit: str):
    """A row a workload with a mark for each subject, on a logarithmic scale; what is said stands at its end."""

    def draw(canvas: Canvas, is_narrow: bool) -> None:
        rows = [row for _, found in groups for row in found]
        values = [value for row in rows for value in row.values if value]
        left = 8 if is_narrow else max(text_width(row.name) for row in rows) + 14
        end = canvas.width - (14 if is_narrow else max(text_width(row.text, 12) for row in rows) + 20)
        scale = Scale(values, left, end, True, False).widened()
        y = legend(canvas, series) + 4
        body, top = Canvas(canvas.width), y
        for title, found in groups:
            y += 14
            body.text(0, y, title, "strong", size=13)
            y += 12
            for row in found:
                y = draw_row(body, row, series, scale, y, is_narrow)
            y += 6
        draw_grid(canvas, scale, unit, top, y)
        canvas.parts += body.parts
        canvas.height = y + 20

    return draw


def draw_row(canvas: Canvas, row: Row, series: list[Series], scale: Scale, y: float, is_narrow: bool) -> float:
    """A row's name, its marks and its text; the height below it."""
    if is_narrow:
        canvas.text(0, y + 8, row.name)
        canvas.text(canvas.width, y + 8, row.text, "value", "end", 12)
        y += 16
    else:
        canvas.text(0, y + 9, fitted(row.name, scale.start - 12))
        canvas.text(scale.end + 16, y + 9, row.text, "value", size=12)
    canvas.line(scale.start, y + 5, scale.end, y + 5, "grid")
    for one, value in zip(series, row.values):
        if value:
            canvas.mark(scale.place(value), y + 5, one.style, one.number, f"{row.name}, {one.name}: {value:,.0f}")
    return y + (19 if is_narrow else 21)


def draw_grid(canvas: Canvas, scale: Scale, unit: str, top: float, bottom: float) -> None:
    """Vertical lines at round numbers, with the numbers below."""
    # Where the number before ends.
    end = -1e9
    for tick in scale.ticks(5):
        x = scale.place(tick)
        text = quantities.short(tick, unit)
        is_first = x <= scale.start + 1
        left = x if is_first else x - text_width(text, 11) / 2
        if left < end + 14:
            continue
        canvas.line(x, top, x, bottom, "grid")
        canvas.text(x, bottom + 13, text, "soft", "start" if is_first else "middle", 11)
        end = left + text_width(text, 11)


def curves(series: list[Series], x_name: str, unit: str, is_logarithmic: bool = True):
    """Values over an amount, both by powers of ten or the values from nothing; names at the end of the curves."""
    named = [one for one in series if one.is_named]
    values = {one.name: quantities.quantity(one.points[-1][1], unit) for one in named}

    def draw(canvas: Canvas, is_narrow: bool) -> None:
        xs = sorted({x for one in series for x, _ in one.points})
        y = legend(canvas, named) if is_narrow else 4.0
        if unit != "bytes":
            canvas.text(0, y + 10, f"{unit}", "soft", size=11)
            y += 14
        room = max([text_width(text, 12) for text in values.values()]
                   + ([] if is_narrow else [text_width(name, 12, is_strong=True) for name in values]))
        top, bottom = y + 12, y + 12 + (190 if is_narrow else 230)
        vertical = Scale([y for one in series for _, y in one.points], bottom, top, is_logarithmic).widened()
        ticks = vertical.ticks(5)
        left = max(text_width(quantities.short(tick, unit), 11) for tick in ticks) + 10
        end = canvas.width - room - 14
        across = Scale(xs, left + 10, end, len(xs) > 1 and xs[0] > 0)
        for tick in ticks:
            canvas.line(left, vertical.place(tick), across.end + 6, vertical.place(tick), "grid")
            canvas.text(left - 6, vertical.place(tick) + 4, quantities.short(tick, unit), "soft", "end", 11)
        draw_amounts(canvas, across, xs, bottom)
        canvas.text((left + across.end) / 2, bottom + 36, x_name, "soft", "middle", 11.5)
        for one in sorted(series, key=lambda one: one.is_named):
            draw_curve(canvas, one, across, vertical, unit)
        draw_ends(canvas, named, across, vertical, values, is_narrow)
        canvas.height = bottom + 44

    return draw


def draw_curve(canvas: Canvas, one: Series, across: Scale, vertical: Scale, unit: str) -> None:
    points = [(across.place(x), vertical.place(value)) for x, value in one.points]
    canvas.curve(points, one.style)
    if one.is_named:
        for (x, value), place in zip(one.points, points):
            canvas.mark(*place, one.style, one.number, f"{one.name}, {x:,.0f}: {quantities.quantity(value, unit)}")


def draw_amounts(canvas: Canvas, across: Scale, xs: list[float], bottom: float) -> None:
    """The amounts below the curves, as many as have room."""
    before = -1e9
    for x in xs:
        place, text = across.place(x), amount(x)
        if place - before >= text_width(text, 11) + 6:
            canvas.text(place, bottom + 17, text, "soft", "middle", 11)
            before = place


def amount(value: float) -> str:
    """An amount on an axis: 10,000, or 4 Mi."""
    for power, prefix in [(20, "Mi"), (10, "Ki")]:
        if value >= 2 ** 16 and value % 2 ** power == 0:
            return f"{value / 2 ** power:,.0f} {prefix}"
    return f"{value:,.0f}"


def draw_ends(canvas: Canvas, series: list[Series], across: Scale, vertical: Scale, names: dict[str, str],
              is_narrow: bool) -> None:
    """What the curves are called and where they end, moved apart where they are too close."""
    step = 15 if is_narrow else 31
    wanted = sorted(series, key=lambda one: vertical.place(one.points[-1][1]))
    places = [vertical.place(one.points[-1][1]) for one in wanted]
    for index in range(1, len(places)):
        places[index] = max(places[index], places[index - 1] + step)
    excess = places[-1] - (vertical.start - (0 if is_narrow else 12))
    for index in reversed(range(len(places))):
        if excess > 0:
            places[index] -= excess
            if index and places[index] - places[index - 1] < step:
                excess = step - (places[index] - places[index - 1])
            else:
                break
    for one, y in zip(wanted, places):
        x = across.end + 12
        if is_narrow:
            canvas.text(x, y + 4, names[one.name], "value", size=12)
        else:
            canvas.text(x, y - 1, one.name, "strong", size=12)
            canvas.text(x, y + 13, names[one.name], "value", size=12)


def legend(canvas: Canvas, series: list[Series], y: float = 4.0) -> float:
    """The names beside their marks, in as many lines as it takes; the height below them."""
    x = 0.0
    for one in series:
        width = text_width(one.name, 12) + 30
        if x > 0 and x + width > canvas.width:
            x, y = 0.0, y + 18
        canvas.line(x, y + 8, x + 16, y + 8, f"curve {one.style}")
        canvas.mark(x + 8, y + 8, one.style, one.number)
        canvas.text(x + 21, y + 12, fitted(one.name, canvas.width - 24, 12), size=12)
        x += width
    return y + 18


@dataclasses.dataclass(frozen=True)
class Panel:
    """The distributions that are compared with one another."""

    title: str
    series: list[Series]


def nines(quantile: float) -> float:
    """A quantile's place: each nine more is one step."""
    return -math.log10(max(1 - quantile, 1e-9))


def distributions(panels: list[Panel], unit: str):
    """Panels beside or below each other on one scale of values: quantiles from the left, each nine a step."""

    def draw(canvas: Canvas, is_narrow: bool) -> None:
        every = [one for panel in panels for one in panel.series]
        named = {one.name: one for one in every}
        y = legend(canvas, list(named.values()))
        columns = 1 if is_narrow else len(panels)
        gap = 30
        vertical = Scale([value for one in every for _, value in one.points], 0, 0, True).widened()
        left = max(text_width(quantities.short(tick, unit), 11) for tick in vertical.ticks(6)) + 8
        width = (canvas.width - left - gap * (columns - 1) - 14) / columns
        for index, panel in enumerate(panels):
            x = left + (index % columns) * (width + gap)
            top = y + 30
            vertical.start, vertical.end = top + 150, top
            has_ticks = index % columns == 0
            draw_panel(canvas, panel, vertical, x, width, unit, has_ticks)
            if index % columns == columns - 1:
                y = top + 150 + 26
        canvas.text(left + (canvas.width - left) / 2, y + 14, "% of the events that came within this time", "soft",
                    "middle", 11.5)
        canvas.height = y + 22

    return draw


def draw_panel(canvas: Canvas, panel: Panel, vertical: Scale, left: float, width: float, unit: str,
               has_ticks: bool) -> None:
    canvas.text(left, vertical.end - 10, panel.title, "strong", size=12)
    last = max(nines(quantile) for one in panel.series for quantile, _ in one.points)
    across = Scale([1, 2], left, left + width, False)
    across.high = max(last, 2)
    for tick in vertical.ticks(6):
        canvas.line(left, vertical.place(tick), left + width, vertical.place(tick), "grid")
        if has_ticks:
            canvas.text(left - 5, vertical.place(tick) + 4, quantities.short(tick, unit), "soft", "end", 11)
    before = -1e9
    for quantile in QUANTILES:
        place = across.place(nines(quantile))
        text = f"{quantile * 100:g}"
        if nines(quantile) <= across.high + 0.01 and place - before > text_width(text, 10.5) + 4:
            is_last = place > left + width - 4
            anchor = "end" if is_last else "middle"
            canvas.text(place + (4 if is_last else 0), vertical.start + 16, text, "soft", anchor, 10.5)
            before = place
    for one in panel.series:
        points = [(across.place(nines(quantile)), vertical.place(value)) for quantile, value in one.points]
        canvas.curve(points, one.style)
        for (quantile, value), place in zip(one.points, points):
            if any(abs(quantile - known) < 1e-9 for known in QUANTILES[1:]):
                canvas.mark(*place, one.style, one.number,
                            f"{one.name}, {quantile * 100:g} %: {quantities.quantity(value, unit)}")
