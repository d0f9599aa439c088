"""What a change did: figures of two results beside each other, the largest changes first.

The medians are compared. A count (instructions, allocations, bytes uploaded) has changed when it differs by more than
3 %; a time has changed when the values of one side are all above those of the other, three of them at least. With a
revision, both sides are measured in turn, and the values are the medians of the rounds. With two files, the last lines
say how far the two runs agree.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import pathlib
import statistics

from . import agreement, measuring, programs, quantities
from .figures import OWN, Figure, ResultsError
from .programs import Outcome
from .results import Results

COUNTS = {"instructions", "allocations", "uploaded"}
TOLERANCE = 0.03
# An allocation less in a thousand events is no change.
LEAST_COUNT = 0.0015
# Fewer values do not tell a change from noise.
LEAST_RUNS = 3
VERDICTS = ["regression", "improvement", "unchanged"]


@dataclasses.dataclass(frozen=True)
class Change:
    """One figure, before and after."""

    base: Figure
    new: Figure

    @property
    def share(self) -> float:
        """The change of the median as a share of what it was; infinite when that was nothing."""
        difference = self.new.median - self.base.median
        if difference == 0:
            return 0.0
        return difference / abs(self.base.median) if self.base.median else math.copysign(math.inf, difference)

    @property
    def is_beyond(self) -> bool:
        """Whether it is more than noise."""
        if self.new.measure in COUNTS:
            return abs(self.share) > TOLERANCE and abs(self.new.median - self.base.median) > LEAST_COUNT
        if min(len(self.base.runs), len(self.new.runs)) < LEAST_RUNS:
            return False
        return self.new.low > self.base.high or self.new.high < self.base.low

    @property
    def verdict(self) -> str:
        if not self.is_beyond:
            return "unchanged"
        if self.new.better is None:
            return "changed"
        is_more = self.share > 0
        return "improvement" if is_more == (self.new.better == "higher") else "regression"


def changes(base: list[Figure], new: list[Figure]) -> list[Change]:
    """The figures that both have, the largest change first."""
    before = {figure.key: figure for figure in base}
    found = [Change(before[figure.key], figure) for figure in new if figure.key in before]
    for change in found:
        if change.base.unit != change.new.unit:
            raise ResultsError(f"{'/'.join(change.new.question)} is in {change.base.unit} before, "
                               f"and in {change.new.unit} after")
    return sorted(found, key=lambda change: -abs(change.share))


def read_alike(sides: list[list[Figure]]) -> list[list[Figure]]:
    """The figures of both sides, read in the same way: where one knows nothing of the core, the other forgets it."""
    unknown = {figure.key for side in sides for figure in side if figure.paces is None}
    return [[dataclasses.replace(figure, paces=None) if figure.key in unknown and figure.paces else figure
             for figure in side] for side in sides]


def pooled(rounds: list[list[Figure]]) -> list[Figure]:
    """One figure of several rounds: its runs are the medians of the rounds, each read by its own paces."""
    runs: dict[tuple, list[float]] = {}
    last: dict[tuple, Figure] = {}
    for figures in rounds:
        for figure in figures:
            runs.setdefault(figure.key, []).append(statistics.median(figure.by_pace))
            last[figure.key] = figure
    return [dataclasses.replace(figure, runs=runs[key], paces=None) for key, figure in last.items()]


def text(base: list[Figure], new: list[Figure]) -> str:
    """The table: regressions, improvements, what is as it was, and whether the machine was the same."""
    base, new = ([dataclasses.replace(figure, runs=figure.by_pace, paces=None) for figure in side]
                 for side in (base, new))
    own = [change for change in changes(base, new) if change.new.subject == OWN]
    lines = []
    for verdict in ["regression", "improvement", "changed", "unchanged"]:
        found = [change for change in own if change.verdict == verdict]
        if found:
            lines += ["", f"{verdict}: {len(found)}", *(row(change) for change in found)]
    lines += ["", *(f"only {side}: {figure.group}/{figure.workload}, {figure.way or figure.measure}, {figure.measure}"
                    for side, figure in only(base, new))]
    machine = [change for change in changes(base, new) if change.new.subject == "machine" and change.is_beyond]
    lines += [f"the machine itself was different: {row(change).strip()}" for change in machine]
    counted = {verdict: sum(change.verdict == verdict for change in own) for verdict in VERDICTS}
    lines.append(", ".join(f"{name}s: {number}" if name != "unchanged" else f"unchanged: {number}"
                           for name, number in counted.items()))
    return "\n".join(lines)


def only(base: list[Figure], new: list[Figure]) -> list[tuple[str, Figure]]:
    """The package's figures that one side has alone."""
    keys = [{figure.key for figure in side} for side in (base, new)]
    return ([("before", figure) for figure in base if figure.is_own and figure.key not in keys[1]]
            + [("after", figure) for figure in new if figure.is_own and figure.key not in keys[0]])


def row(change: Change) -> str:
    name = f"{change.new.group}/{change.new.workload}"
    what = ", ".join(part for part in [change.new.way, change.new.measure] if part)
    before, after = (quantities.quantity(figure.median, figure.unit) for figure in (change.base, change.new))
    share = f"{change.share * 100:+.1f} %" if math.isfinite(change.share) else "from nothing"
    if change.new.measure in COUNTS:
        noise = ""
    else:
        noise = f"  spread {change.base.spread * 100:.0f} % and {change.new.spread * 100:.0f} %"
    return f"  {share:>12}  {name:46} {what:36} {before:>18} -> {after}{noise}"


def in_turn(given: argparse.Namespace, base: pathlib.Path) -> tuple[list[Figure], list[Figure]]:
    """Measures both programs' folders in turn."""
    if given.programs is None:
        raise ResultsError("a comparison with another revision needs --programs")
    lacking = frozenset(program.name for program in programs.ALL if not (base / program.name).exists())
    for name in sorted(lacking):
        measuring.say(f"the other revision has no {name}: it is left out")
    rounds: dict[str, list[list[Figure]]] = {"before": [], "after": []}
    for number in range(1, max(given.rounds, 3) + 1):
        order = [("after", given.programs), ("before", base)]
        # What changes with time falls on both sides alike.
        for side, folder in order if number % 2 else reversed(order):
            measuring.say(f"round {number}, {side}")
            outcomes = measuring.run_all(folder, given.filter, given.output / side, has_counts=not given.no_counts,
                                         left_out=lacking)
            rounds[side].append(figures_of(outcomes, side))
    alike = read_alike(rounds["before"] + rounds["after"])
    count = len(rounds["before"])
    return pooled(alike[:count]), pooled(alike[count:])


def figures_of(outcomes: list[Outcome], side: str) -> list[Figure]:
    """The figures of a round. A program that failed and has figures is compared all the same: it has been named. One of
    this checkout that has none ends the comparison; in the other revision the rest is compared.
    """
    failed = [f"{outcome.title}: {outcome.failure}" for outcome in outcomes if outcome.failure and not outcome.figures]
    found = [figure for outcome in outcomes for figure in outcome.figures]
    if failed and (side == "after" or not found):
        known = " (do its programs know --results?)" if side == "before" else ""
        raise ResultsError(f"{side}: {'; '.join(failed)}{known}")
    return found


def command(given: argparse.Namespace) -> int:
    base = pathlib.Path(given.base)
    if base.is_dir():
        before, after = in_turn(given, base)
    else:
        before, after = read_alike([asked_for(Results.load(path).figures, given.filter)
                                    for path in (base, given.results)])
    if not any(figure.is_own for figure in after):
        raise ResultsError("there is nothing to compare")
    print(text(before, after))
    if not base.is_dir() and (agreed := agreement.text(before, after)):
        print(f"\n{agreed}")
    return 0


def asked_for(found: list[Figure], wanted: str) -> list[Figure]:
    return [figure for figure in found if wanted in "/".join([figure.group, figure.workload, figure.measure])]
