"""Shapes and scales of the charts, as SVG text. Colours are classes: the page has them for light and for dark."""

from __future__ import annotations

import html
import math

# The width of a letter as a share of the size of the type: more than most fonts have.
LETTER = 0.58
SIZE = 12.5


def text_width(text: str, size: float = SIZE, is_strong: bool = False) -> float:
    return len(text) * size * LETTER * (1.14 if is_strong else 1)


def fitted(text: str, width: float, size: float = SIZE) -> str:
    """The text, or its beginning where it is too wide."""
    if text_width(text, size) <= width:
        return text
    return text[:max(1, int(width / (size * LETTER)) - 1)].rstrip(" ,(") + "…"


class Canvas:
    """A drawing that grows downwards."""

    def __init__(self, width: float):
        self.width = width
        self.height = 0.0
        self.parts: list[str] = []

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start", size: float = SIZE) -> None:
        classes = f' class="{kind}"' if kind else ""
        where = f' text-anchor="{anchor}"' if anchor != "start" else ""
        sized = f' font-size="{size:g}"' if size != SIZE else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{classes}{where}{sized}>{html.escape(text)}</text>')

    def box(self, x: float, y: float, width: float, height: float, kind: str, hint: str = "",
            radius: float = 0) -> None:
        inside = f"<title>{html.escape(hint)}</title>" if hint else ""
        self.parts.append(rectangle(x, y, max(width, 1), height, kind, inside, radius))

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def curve(self, points: list[tuple[float, float]], kind: str) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" class="curve {kind}"/>')

    def mark(self, x: float, y: float, kind: str, shape: int = 0, hint: str = "") -> None:
        """A point: a disc, a square, a triangle or a diamond, so that colour is not all that tells series apart."""
        inside = f"<title>{html.escape(hint)}</title>" if hint else ""
        radius = 4.0
        if shape % 4 == 0:
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="mark {kind}">{inside}</circle>')
            return
        corners = {1: [(-1, -1), (1, -1), (1, 1), (-1, 1)], 2: [(0, -1.2), (1.2, 1), (-1.2, 1)],
                   3: [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)]}[shape % 4]
        path = " ".join(f"{x + radius * right:.1f},{y + radius * down:.1f}" for right, down in corners)
        self.parts.append(f'<polygon points="{path}" class="mark {kind}">{inside}</polygon>')

    def svg(self, name: str, kind: str, title: str, description: str) -> str:
        """The drawing with a name and a description for those who do not see it."""
        key = f"{name}-{kind}"
        return (f'<svg class="{kind}" viewBox="0 0 {self.width:g} {math.ceil(self.height)}" role="img" '
                f'aria-labelledby="{key}-title {key}-description" font-size="{SIZE:g}">'
                f'<title id="{key}-title">{html.escape(title)}</title>'
                f'<desc id="{key}-description">{html.escape(description)}</desc>{"".join(self.parts)}</svg>')


class Scale:
    """From values to places; logarithmic or linear."""

    def __init__(self, values: list[float], start: float, end: float, is_logarithmic: bool, from_decade: bool = False):
        self.start, self.end, self.is_logarithmic = start, end, is_logarithmic
        low, high = min(values), max(values)
        if is_logarithmic:
            self.low = 10 ** math.floor(math.log10(low * 0.8)) if from_decade else low
            self.high = high if high > self.low else self.low * 10
        else:
            self.low, self.high = 0.0, high or 1.0

    def widened(self) -> Scale:
        """With room at both ends, to the next round numbers."""
        if self.is_logarithmic:
            self.low, self.high = round_down(self.low), round_up(self.high)
        else:
            self.high = round_up(self.high)
        return self

    def place(self, value: float) -> float:
        if self.is_logarithmic:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers within the scale, not too many."""
        if not self.is_logarithmic:
            step = round_up(self.high / most)
            return [step * index for index in range(int(self.high / step + 1e-9) + 1)]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in [(1, 2, 5), (1, 3), (1,)]:
            found = [factor * 10.0 ** decade for decade in decades for factor in factors]
            found = [tick for tick in found if self.low * 0.999 <= tick <= self.high * 1.001]
            if len(found) <= most:
                return found
        return found[::math.ceil(len(found) / most)]


def rectangle(x: float, y: float, width: float, height: float, kind: str, inside: str, radius: float) -> str:
    rounded = f' rx="{radius:g}"' if radius else ""
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{rounded} class="{kind}">'
            f"{inside}</rect>")


def round_down(value: float) -> float:
    """1, 2 or 5 times a power of ten, not above the value."""
    power = 10.0 ** math.floor(math.log10(value))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= value * 1.0001)


def round_up(value: float) -> float:
    """1, 2 or 5 times a power of ten, not below the value."""
    power = 10.0 ** math.floor(math.log10(value))
    return min(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.9999)
