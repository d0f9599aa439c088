"""How far two runs of the same benchmarks agree: their ratios, and what they counted."""

from __future__ import annotations

import dataclasses
import math

from Peers import paced

from . import figures, quantities
from .figures import OWN, Figure

# Two ratios agree when the larger one is at most so much above the smaller one.
RATIOS = 0.15
COUNTS = 0.05
# So much of an allocation an event is nothing, whatever share of few it is: one in a thousand events.
LEAST_ALLOCATIONS = 0.001
MOST_NAMED = 10


@dataclasses.dataclass(frozen=True)
class Pair:
    """A value that both runs have."""

    group: str
    name: str
    before: float
    after: float
    unit: str
    # Whether all that it is made of had a core that nobody shared; what has no paces is not known to.
    is_calm: bool = False
    # Whether the middle half of the runs of each side was within so much that ratios can agree.
    is_steady: bool = False

    @property
    def distance(self) -> float:
        """How far the larger one is above the smaller one, as a share of it; infinite when that is nothing."""
        low, high = sorted([self.before, self.after])
        if low == high:
            return 0.0
        return high / low - 1 if low > 0 else math.inf

    @property
    def line(self) -> str:
        share = f"{self.distance * 100:.0f} %" if math.isfinite(self.distance) else "from nothing"
        before, after = (quantities.times(value) if self.unit == "×" else quantities.quantity(value, self.unit)
                         for value in (self.before, self.after))
        return f"  {share:>12}  {self.name}: {before} -> {after}"


def ratios(base: list[Figure], new: list[Figure]) -> list[Pair]:
    """The ratios that both runs have, each made of its own runs by the rule of today."""
    found = []
    for side in (base, new):
        figures.add_ratios(side)
    before = {figure.key: figure for figure in base}
    beside = [{(figure.question, figure.who): figure for figure in side} for side in (base, new)]
    for figure in new:
        other = before.get(figure.key)
        for who in (figure.ratios or {}) if other else {}:
            if who in (other.ratios or {}):
                parts = [figure, other, *(side[figure.question, who] for side in beside)]
                found.append(Pair(figure.group, f"{described(figure)}, beside {who}", other.ratios[who],
                                  figure.ratios[who], "×", all(was_calm(part) for part in parts),
                                  all(part.middle_half <= RATIOS for part in parts)))
    return found


def was_calm(figure: Figure) -> bool:
    """Whether the runs that are read had a core that nobody shared."""
    return figure.pace is not None and figure.pace >= paced.CALM


def counts(base: list[Figure], new: list[Figure], measure: str) -> list[Pair]:
    """What both runs have counted of the package."""
    before = {figure.key: figure for figure in base}
    return [Pair(figure.group, described(figure), before[figure.key].median, figure.median, figure.unit)
            for figure in new if figure.subject == OWN and figure.measure == measure and figure.key in before]


def described(figure: Figure) -> str:
    parts = [f"{figure.group}/{figure.workload}", figure.way, figure.measure]
    return ", ".join(part for part in parts if part)


def within(pairs: list[Pair], share: float) -> str:
    """`12 of 15`."""
    return f"{sum(pair.distance <= share for pair in pairs)} of {len(pairs)}"


def text(base: list[Figure], new: list[Figure]) -> str:
    """How many ratios and counts agree, by group, and those that agree least; empty when there is nothing to say."""
    lines = []
    if found := ratios(base, new):
        lines.append(f"ratios within {RATIOS * 100:.0f} %: {within(found, RATIOS)}")
        if calm := [pair for pair in found if pair.is_calm]:
            lines.append(f"  on a core that nobody shared in either run: {within(calm, RATIOS)}")
        if steady := [pair for pair in found if pair.is_steady]:
            lines.append(f"  where the middle half of each side's runs was within that: {within(steady, RATIOS)}")
        groups = dict.fromkeys(pair.group for pair in found)
        lines += [f"  {group}: {within([pair for pair in found if pair.group == group], RATIOS)}" for group in groups]
        lines += worst(found, RATIOS)
    if found := counts(base, new, "instructions"):
        lines.append(f"instructions within {COUNTS * 100:.0f} %: {within(found, COUNTS)}")
        lines += worst(found, COUNTS)
    if found := counts(base, new, "allocations"):
        near = [pair for pair in found
                if pair.distance <= COUNTS or abs(pair.after - pair.before) <= LEAST_ALLOCATIONS]
        lines.append(f"allocations within {COUNTS * 100:.0f} %: {within(found, COUNTS)}; "
                     f"or {LEAST_ALLOCATIONS} an event: {len(near)} of {len(found)}")
        lines += worst([pair for pair in found if pair not in near], COUNTS)
    return "\n".join(lines)


def worst(pairs: list[Pair], share: float) -> list[str]:
    """Lines that name those that are farthest apart."""
    apart = sorted((pair for pair in pairs if pair.distance > share), key=lambda pair: -pair.distance)
    return [pair.line for pair in apart[:MOST_NAMED]]
