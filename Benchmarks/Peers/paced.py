"""Runs of which it is known how fast the core was: the same rule as `PacedRuns` of ../Sources/BenchmarkResults.

A machine may share its cores with others, and a core that is shared is half as fast (see ../RESULTS.md). A pace is the
share of its speed that the core had in a run, 1 at most.
"""

import statistics

# A run that had so much of its core is a calm one.
CALM = 0.9
# At least so many runs are read.
LEAST = 3


class Runs:
    """Runs of the same thing: speeds when `better` is `higher`, costs when it is `lower`, and their paces."""

    def __init__(self, better, runs=(), paces=()):
        self.better = better
        self.runs = []
        # None when they are not known of all.
        self.paces = []
        self.add(runs, paces)

    def add(self, runs, paces):
        """Adds some; `paces` is None when nothing is known of them."""
        self.runs += runs
        self.paces = None if self.paces is None or paces is None else [*self.paces, *paces]

    @property
    def calmest(self):
        """The places of the calmer half of the runs, three of them at least, and of equals those that came first."""
        order = sorted(range(len(self.paces)), key=lambda index: (-self.paces[index], index))
        return order[:max(LEAST, (len(self.paces) + 1) // 2)]

    @property
    def by_pace(self):
        """The calmer half of the runs, as they would have been on a core that nobody shares: what is compared.

        All as they were when nothing is known of the core, or when neither way is better.
        """
        if not self.paces or self.better not in ("higher", "lower"):
            return list(self.runs)
        return [self.runs[index] / self.paces[index] if self.better == "higher" else
                self.runs[index] * self.paces[index] for index in self.calmest]

    @property
    def undisturbed(self):
        """The same, and none better than the best of all runs: nothing is claimed that no run has reached."""
        if self.better == "higher":
            return [min(value, max(self.runs)) for value in self.by_pace]
        return [max(value, min(self.runs)) for value in self.by_pace] if self.better == "lower" else self.by_pace

    @property
    def pace(self):
        """The pace in the middle of that half; None when nothing is known of the core."""
        return statistics.median(self.paces[index] for index in self.calmest) if self.paces else None

    def are_enough(self, count):
        """Whether half of so many runs were calm; true when nothing is known of the core."""
        return self.paces is None or 2 * sum(pace >= CALM for pace in self.paces) >= count
