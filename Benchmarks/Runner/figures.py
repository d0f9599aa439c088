"""Figures in the form that the programs write: read, checked and summarised.

Each program is called as `PROGRAM --results FILE [FILTER]`, and appends each figure to FILE as one line of JSON:

    {"group": "parser", "workload": "tiny-events/16384", "subject": "chappie", "way": "", "measure": "throughput",
     "unit": "bytes/s", "better": "higher", "runs": [1.8e9, 1.7e9], "bar": {"atLeast": 5.4e8}}

`subject` is `chappie`, `machine` or a peer, and `way` is the interface of the subject that was used. `bar` has
`atLeast` or `atMost`, and `quantile` where it applies to a run other than the median. `decodes` (whether the JSON of
each event is decoded) and `version` are those of a peer. `turn` is the number of the round, in a figure that is
measured in rounds with others. A line {"missing": {"subject": "…", "why": "…"}} names a subject without a figure, and
the reason; with "bar" it names a bar that has no verdict because of it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import statistics

OWN = "chappie"
# The spread above which a figure says so in its row.
UNSTEADY = 0.3
MACHINE = "machine"
TEXTS = ["group", "workload", "subject", "measure", "unit"]
# The words in a way's name when the start of a program is part of the time.
PROCESS = "process included"


class ResultsError(Exception):
    """A file of results is malformed; the text names the file and the mistake."""


@dataclasses.dataclass
class Figure:
    """A value that was measured several times, of one subject at one workload."""

    group: str
    workload: str
    subject: str
    measure: str
    unit: str
    runs: list[float]
    way: str = ""
    better: str | None = None
    bar: dict | None = None
    decodes: bool | None = None
    version: str | None = None
    turn: int | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.runs)

    @property
    def low(self) -> float:
        return min(self.runs)

    @property
    def high(self) -> float:
        return max(self.runs)

    @property
    def spread(self) -> float:
        """The distance of the lowest and the highest run, as a share of the median."""
        return (self.high - self.low) / abs(self.median) if self.median else 0.0

    @property
    def is_unsteady(self) -> bool:
        """Whether the runs differ so much that the median is only roughly known."""
        return self.spread > UNSTEADY

    @property
    def quartiles(self) -> tuple[float, float]:
        """The run below which a quarter of the runs lies, and that above which a quarter lies, both interpolated."""
        if len(self.runs) < 2:
            return self.median, self.median
        low, _, high = statistics.quantiles(self.runs, n=4, method="inclusive")
        return low, high

    @property
    def question(self) -> tuple[str, str, str]:
        """The part of the key that all comparable figures share."""
        return self.group, self.workload, self.measure

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """The key of a figure, which is unique."""
        return *self.question, self.subject, self.way

    @property
    def who(self) -> str:
        """The subject and its way: `picows, callback`."""
        return ", ".join(part for part in [self.subject, self.way] if part)

    @property
    def is_own(self) -> bool:
        return self.subject == OWN

    @property
    def has_process(self) -> bool:
        """Whether the start of a program is part of the time."""
        return PROCESS in self.way

    @property
    def judged(self) -> float:
        """The value that the bar applies to: the median, or the run below which `quantile` of the runs lie."""
        quantile = (self.bar or {}).get("quantile")
        if quantile is None:
            return self.median
        return sorted(self.runs)[min(len(self.runs) - 1, int(len(self.runs) * quantile))]

    @property
    def is_held(self) -> bool | None:
        """Whether the bar is held; None when there is none."""
        if not self.bar:
            return None
        least, most = self.bar.get("atLeast"), self.bar.get("atMost")
        return (least is None or self.judged >= least) and (most is None or self.judged <= most)

    def ratio(self, other: Figure) -> float | None:
        """Returns how many times as good its median is as another's; None where neither direction is better."""
        if self.better not in ("higher", "lower") or self.median <= 0 or other.median <= 0:
            return None
        return self.median / other.median if self.better == "higher" else other.median / self.median

    def to_json(self) -> dict:
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}

    @staticmethod
    def from_json(value: object) -> Figure:
        """Makes a figure of a line or of an object in results.json; ignores unknown members."""
        if not isinstance(value, dict):
            raise ValueError("not an object")
        for name in TEXTS:
            if not isinstance(value.get(name), str) or not value[name] and name != "unit":
                raise ValueError(f"'{name}' is not a text")
        runs, bar = value.get("runs"), value.get("bar")
        if not isinstance(runs, list) or not runs or not all(is_number(run) for run in runs):
            raise ValueError("'runs' is not a list of numbers, or is empty")
        if value.get("better") not in (None, "higher", "lower"):
            raise ValueError("'better' is neither higher nor lower")
        if bar is not None and not (isinstance(bar, dict) and all(
                bar.get(name) is None or is_number(bar[name]) for name in ["atLeast", "atMost", "quantile"])):
            raise ValueError("'bar' is not an object of numbers")
        if not all(isinstance(value.get(name), (str, type(None))) for name in ["way", "version"]):
            raise ValueError("'way' or 'version' is not a text")
        known = {field.name for field in dataclasses.fields(Figure)}
        return Figure(**{name: item for name, item in value.items() if name in known and item is not None})


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


@dataclasses.dataclass
class Lines:
    """The lines that a program has written; `broken` has a message for each malformed one."""

    figures: list[Figure] = dataclasses.field(default_factory=list)
    missing: list[dict] = dataclasses.field(default_factory=list)
    broken: list[str] = dataclasses.field(default_factory=list)


def read_lines(path: pathlib.Path) -> Lines:
    """Reads a program's file of lines."""
    lines = Lines()
    if not path.exists():
        return lines
    # Only a line feed ends a line, because text in JSON may have other line separators.
    for number, text in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        if not text.strip():
            continue
        try:
            value = json.loads(text)
            if isinstance(value, dict) and "missing" in value:
                lines.missing.append(read_missing(value["missing"]))
            else:
                lines.figures.append(Figure.from_json(value))
        except ValueError as error:
            lines.broken.append(f"line {number}: {error}: {text[:80]}")
    return lines


def read_missing(value: object) -> dict:
    if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in ["subject", "why"]):
        raise ValueError("'missing' needs 'subject' and 'why'")
    return {name: value[name] for name in ["subject", "why", "bar"] if isinstance(value.get(name), str)}


def merged(figures: list[Figure]) -> list[Figure]:
    """Returns one figure of each key, in the order in which keys first appear.

    The rounds of a figure that was measured in turn with peers are one figure with all their runs, and replace the same
    figure measured alone. Of two figures that were measured alone the last counts.
    """
    by_key: dict[tuple, list[Figure]] = {}
    for figure in figures:
        by_key.setdefault(figure.key, []).append(figure)
    found = []
    for same in by_key.values():
        rounds = [figure for figure in same if figure.turn is not None]
        if rounds:
            runs = [run for figure in rounds for run in figure.runs]
            found.append(dataclasses.replace(rounds[0], runs=runs, bar=middle_bar(rounds), turn=None))
        else:
            found.append(same[-1])
    return found


def middle_bar(rounds: list[Figure]) -> dict | None:
    """Returns the bar of several rounds: the median of each limit, which may depend on other figures of its round."""
    limits: dict[str, list[float]] = {}
    for figure in rounds:
        for name, limit in (figure.bar or {}).items():
            limits.setdefault(name, []).append(limit)
    return {name: statistics.median(found) for name, found in limits.items()} or None
