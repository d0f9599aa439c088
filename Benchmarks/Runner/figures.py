"""Figures as the programs write them (see RESULTS.md): read, checked, summarised and set beside one another."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import statistics

from Peers import paced

OWN = "chappie"
MACHINE = "machine"
# A way of the machine that says what the server can send, and not what a reader could do with it.
CEILING = "server's ceiling"
# Who does nothing but read waits: for the server, whose speed it has, or for a core to wake up. What it takes of a core is
# its own; what a consumer adds to its latency is a figure by itself.
READ = "read"
WAITS = {"throughput", "latency", "latency-p50"}
TEXTS = ["group", "workload", "subject", "measure", "unit"]
# In a way's name: a program was started for it, and that took its time too.
PROCESS = "process included"
# The last messages of a hundred are late by what else the machine does, whoever reads them: they have no ratio to it.
TAILS = {"latency-p99", "latency-p99.9"}
# Which part of the runs ratios are made of: the best ones.
QUARTER = 0.25
# A run that had so much of its core is read by the clock, where so many of the runs had it: by less than that a loop on
# a core that is shared says nothing of another program on it.
NEARLY_WHOLE = 0.75
MOST = 0.75
# Paces say nothing of a program when its runs lie so many times as far apart by them as by the clock.
MISFIT = 2


def apart(values: list[float], rest: float) -> float:
    """How far values are apart without a part of them at either end: the highest above the lowest, as a share of it."""
    ordered = sorted(values)
    low, high = (ordered[int((len(ordered) - 1) * place)] for place in (rest, 1 - rest)) if ordered else (1, 1)
    return high / low - 1 if low > 0 else math.inf


class ResultsError(Exception):
    """A file of results is not what it should be; the text names the file and the line."""


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
    work: dict | None = None
    decodes: bool | None = None
    amount: float | None = None
    distribution: list | None = None
    version: str | None = None
    rounds: int | None = None
    # The round in which it was measured in turn with others; how many such processes it was put together from.
    turn: int | None = None
    processes: int | None = None
    # Which share of its speed the core had in each run; what the values below are made of had the one in the middle.
    paces: list[float] | None = None
    pace: float | None = None
    median: float = math.nan
    low: float = math.nan
    high: float = math.nan
    ratios: dict[str, float] | None = None

    def __post_init__(self):
        self.pace = paced.Runs(self.better, self.runs, self.paces).pace
        self.median = statistics.median(self.values)
        self.low, self.high = min(self.values), max(self.values)

    @property
    def values(self) -> list[float]:
        """The runs; where it is known how fast the core was, the calmer half of them, each by its pace, and none better
        than the best run.
        """
        return paced.Runs(self.better, self.runs, self.paces).undisturbed

    @property
    def by_pace(self) -> list[float]:
        """The same, each by its pace alone: what is compared, as a side whose core was shared all the time would be
        taken for slow.
        """
        return paced.Runs(self.better, self.runs, self.paces).by_pace

    @property
    def question(self) -> tuple[str, str, str]:
        """What figures have in common that can be compared."""
        return self.group, self.workload, self.measure

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What only this figure has."""
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
        """Whether the start of a program is a part of it."""
        return PROCESS in self.way

    @property
    def spread(self) -> float:
        """How far the runs are apart, as a share of the median."""
        return (self.high - self.low) / abs(self.median) if self.median else 0.0

    @property
    def is_held(self) -> bool | None:
        """Whether the median, or the run that the bar names, is within it; None when there is none."""
        if not self.bar:
            return None
        least, most = self.bar.get("atLeast"), self.bar.get("atMost")
        return (least is None or self.judged >= least) and (most is None or self.judged <= most)

    @property
    def judged(self) -> float:
        """What the bar is about: the median, or the run that the bar names."""
        quantile = (self.bar or {}).get("quantile")
        return self.median if quantile is None else self.value_at(quantile)

    def value_at(self, quantile: float) -> float:
        """The run below which such a part of them lies."""
        return sorted(self.values)[min(len(self.values) - 1, int(len(self.values) * quantile))]

    @property
    def undisturbed(self) -> float:
        """What ratios are made of: the run at the end of the best quarter, as what else a machine does makes a program
        slow, and never fast.

        The median by paces where others had a large part of the core in too many runs for that, and paces fit the
        runs; and the median where neither way is better.
        """
        if self.better not in ("higher", "lower"):
            return self.median
        paces = self.paces or [1] * len(self.runs)
        by_clock = [run for run, pace in zip(self.runs, paces) if pace >= NEARLY_WHOLE]
        if len(by_clock) < MOST * len(self.runs):
            if self.paces_fit:
                return statistics.median(self.by_pace)
            by_clock = self.runs
        best_first = sorted(by_clock, reverse=self.better == "higher")
        return best_first[int((len(best_first) - 1) * QUARTER)]

    @property
    def paces_fit(self) -> bool:
        """Whether the paces may be what made some runs slower than others."""
        by_pace = [run / pace if self.better == "higher" else run * pace
                   for run, pace in zip(self.runs, self.paces or [])]
        return apart(by_pace, 0.1) <= MISFIT * apart(self.runs, 0.1)

    @property
    def middle_half(self) -> float:
        """How far the runs in the middle are apart, half of all."""
        return apart(self.runs, QUARTER)

    def ratio(self, other: Figure) -> float | None:
        """How many times as good it is as another figure when nothing disturbs both; None where it means nothing."""
        own, others = self.undisturbed, other.undisturbed
        if self.better not in ("higher", "lower") or self.measure in TAILS or own <= 0 or others <= 0:
            return None
        if other.subject == MACHINE and other.way == READ and self.measure in WAITS:
            return None
        return own / others if self.better == "higher" else others / own

    def to_json(self) -> dict:
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}

    @staticmethod
    def from_json(value: object) -> Figure:
        """A figure from a line of a program or from results.json; members of later schemas are passed over."""
        if not isinstance(value, dict):
            raise ValueError("it is no object")
        for name in TEXTS:
            if not isinstance(value.get(name), str) or not value[name] and name != "unit":
                raise ValueError(f"'{name}' is not a text")
        if not are_numbers(value.get("runs")) or not value["runs"]:
            raise ValueError("'runs' is not a list of numbers, or is empty")
        check_optional(value)
        if value.get("better") not in (None, "higher", "lower"):
            raise ValueError("'better' is neither higher nor lower")
        known = {field.name for field in dataclasses.fields(Figure)} - {"median", "low", "high", "pace"}
        return Figure(**{name: item for name, item in value.items() if name in known and item is not None})


@dataclasses.dataclass
class Lines:
    """What programs have appended to a file."""

    figures: list[Figure] = dataclasses.field(default_factory=list)
    missing: list[dict] = dataclasses.field(default_factory=list)
    # What is wrong with lines that are broken.
    broken: list[str] = dataclasses.field(default_factory=list)


def check_optional(value: dict) -> None:
    """Raises ValueError when a member that may be absent is not what it should be."""
    bar = value.get("bar")
    if bar is not None and not (isinstance(bar, dict) and all(
            bar.get(name) is None or is_number(bar[name]) for name in ["atLeast", "atMost", "quantile"])):
        raise ValueError("'bar' is not an object of numbers")
    points = value.get("distribution")
    if points is not None and not (isinstance(points, list) and all(
            are_numbers(point) and len(point) == 2 for point in points)):
        raise ValueError("'distribution' is not a list of pairs of numbers")
    if value.get("amount") is not None and not is_number(value["amount"]):
        raise ValueError("'amount' is not a number")
    paces = value.get("paces")
    if paces is not None and not (are_numbers(paces) and len(paces) == len(value["runs"]) and all(
            0 < pace <= 1 for pace in paces)):
        raise ValueError("'paces' is not a share of a core for each run")
    if not all(isinstance(value.get(name), (str, type(None))) for name in ["way", "version"]):
        raise ValueError("'way' or 'version' is not a text")


def are_numbers(value: object) -> bool:
    return isinstance(value, list) and all(is_number(item) for item in value)


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def read_lines(path: pathlib.Path, first_line: int = 0) -> Lines:
    """Reads the lines of a file from one on; those that are broken are named with their numbers."""
    lines = Lines()
    if not path.exists():
        return lines
    for number, text in enumerate(lines_of(path), 1):
        if number <= first_line or not text.strip():
            continue
        try:
            value = json.loads(text)
            if isinstance(value, dict) and "missing" in value:
                lines.missing.append(read_missing(value["missing"]))
            else:
                lines.figures.append(Figure.from_json(value))
        except ValueError as error:
            lines.broken.append(f"{path}, line {number}: {error}: {text[:80]}")
    return lines


def lines_of(path: pathlib.Path) -> list[str]:
    """The lines of a file; only a line feed ends one, as JSON may have other separators in its texts."""
    found = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return found if found[-1] else found[:-1]


def read_missing(value: object) -> dict:
    """What could not be measured: `{"subject": …, "why": …}`."""
    if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in ["subject", "why"]):
        raise ValueError("'missing' needs 'subject' and 'why'")
    return {"subject": value["subject"], "why": value["why"]}


def without_repeats(figures: list[Figure]) -> tuple[list[Figure], list[Figure]]:
    """A figure of each key, in the order of the first, and those that were replaced.

    What was measured in turn with others stands in the place of what was measured alone, and its turns are one figure.
    Of what was measured twice otherwise the last counts.
    """
    by_key: dict[tuple, dict[int | None, Figure]] = {}
    replaced = []
    for figure in figures:
        turns = by_key.setdefault(figure.key, {})
        if figure.turn in turns:
            replaced.append(turns[figure.turn])
        turns[figure.turn] = figure
    return [merged(turns) for turns in by_key.values()], replaced


def merged(turns: dict[int | None, Figure]) -> Figure:
    """One figure of the processes that measured it in turn with others: the runs of all."""
    found = [figure for turn, figure in turns.items() if turn is not None]
    if not found:
        return turns[None]
    known = all(figure.paces for figure in found)
    return dataclasses.replace(found[0], runs=[run for figure in found for run in figure.runs],
                               paces=[pace for figure in found for pace in figure.paces] if known else None,
                               bar=middle_bar([figure.bar for figure in found if figure.bar]), turn=None,
                               processes=len(found))


def middle_bar(bars: list[dict]) -> dict | None:
    """The bar of several processes; where it depends on what each has measured, the middle one of each limit."""
    limits: dict[str, list[float]] = {}
    for bar in bars:
        for name, limit in bar.items():
            limits.setdefault(name, []).append(limit)
    return {name: statistics.median(found) for name, found in limits.items()} or None


def add_ratios(figures: list[Figure]) -> None:
    """Gives each of the package's own figures its ratios to the machine and to the peers at the same workload."""
    by_question: dict[tuple, list[Figure]] = {}
    for figure in figures:
        by_question.setdefault(figure.question, []).append(figure)
    for figure in figures:
        if figure.is_own:
            own_ways = {other.way for other in by_question[figure.question] if other.is_own}
            others = [other for other in by_question[figure.question]
                      if not other.is_own and is_comparable(figure, other, own_ways)]
            ratios = {other.who: figure.ratio(other) for other in others}
            figure.ratios = {who: significant(ratio) for who, ratio in ratios.items() if ratio is not None} or None


def is_comparable(own: Figure, other: Figure, own_ways: set[str]) -> bool:
    """Whether both did the same.

    Both are with the start of a process, or neither; what was done in a way of the package is beside that way alone; a
    way that does not decode is a part of the package's work, which no peer does alone; and no reader is a server.
    """
    if own.decodes is False and other.subject != MACHINE or other.way == CEILING:
        return False
    return own.has_process == other.has_process and (other.way == own.way or other.way not in own_ways or not other.way)


def significant(value: float, digits: int = 4) -> float:
    """A number with so many digits that say something."""
    return float(f"{value:.{digits}g}")
