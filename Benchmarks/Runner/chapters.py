"""What the report is made of: chapters with a chart each, or the reason why there is none."""

from __future__ import annotations

import dataclasses

from . import quantities
from .figures import Figure
from .results import Results


@dataclasses.dataclass(frozen=True)
class Chapter:
    """A chart, what it says in a sentence, and its numbers."""

    name: str
    title: str
    takeaway: str
    drawing: str
    headings: list[str]
    rows: list[list[str]]
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Absent:
    """A chart that cannot be drawn."""

    title: str
    why: str


HEADINGS = ["workload", "subject", "way", "median", "lowest", "highest", "runs", "of its core", "chappie is"]


def rows(found: list[Figure], results: Results) -> list[list[str]]:
    """The table of figures; the last column is how many times as good the package's best way is."""
    return [row(figure, results) for figure in found]


def row(figure: Figure, results: Results) -> list[str]:
    own = results.like(figure)
    ratio = own.ratio(figure) if own and not figure.is_own else None
    values = [quantities.quantity(value, figure.unit) for value in (figure.median, figure.low, figure.high)]
    version = f" {figure.version}" if figure.version else ""
    runs = f"{len(figure.runs)} in {figure.processes} processes" if figure.processes else str(len(figure.runs))
    return [figure.workload, figure.subject + version, figure.way, *values, runs, quantities.core(figure.pace),
            quantities.times(ratio) if ratio else ""]


def kind_of(figure: Figure) -> str:
    """The class that a figure is drawn with."""
    return "ours" if figure.is_own else "machine" if figure.subject == "machine" else "peer"


def named(figure: Figure) -> str:
    """A figure's name on a chart, with the peer's version."""
    version = f" {figure.version}" if figure.version else ""
    return ", ".join(part for part in [figure.subject + version, figure.way] if part)


def against(own: Figure | None, other: Figure | None) -> str:
    """`9.4 × X`: how many times as good one is as the other; empty where that cannot be said."""
    ratio = own.ratio(other) if own and other else None
    return f"{quantities.times(ratio)} {other.who}" if ratio else ""


def spoken_way(figure: Figure) -> str:
    """A way in a sentence, between backticks, which the page makes code of."""
    return f"`{figure.way}`" if figure.way else "its one way"


def value_of(figure: Figure) -> str:
    return quantities.quantity(figure.median, figure.unit)


def spoken_workload(workload: str) -> str:
    """A workload of the group end-to-end in words: `WebSocket with deflate, TLS, 100 streams`."""
    transport, security, count = (workload.rsplit("-", 2) + ["", ""])[:3]
    names = {"websocket": "WebSocket", "websocket-deflate": "WebSocket + deflate", "sse": "SSE",
             "sse-gzip": "SSE + gzip"}
    if transport not in names or not count.isdigit():
        return workload
    streams = "one stream" if count == "1" else f"{int(count):,} streams"
    return f"{names[transport]}, {'TLS' if security == 'tls' else security}, {streams}"
