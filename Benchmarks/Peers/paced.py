"""What runs would have been on a core that nobody shares, by how fast the core was meanwhile (see ../RESULTS.md)."""

import statistics

# A run that had so much of its core is a calm one.
CALM_SHARE = 0.9
LEAST_COUNT = 3


class Runs:
    """Runs of the same thing, and which share of its speed the core had in each."""

    def __init__(self, better, runs=(), paces=None):
        self.better = better
        self.runs = []
        self.paces = []
        self.add(runs, list(paces) if paces is not None else None)

    def add(self, runs, paces):
        """Adds some; when the paces of one are not known, none count."""
        self.runs += runs
        known = self.paces is not None and (paces is not None or not runs)
        self.paces = self.paces + (paces or []) if known else None

    @property
    def calmest(self):
        """The places of the calmer half of the runs, three at least."""
        count = max(LEAST_COUNT, (len(self.paces) + 1) // 2)
        return sorted(range(len(self.paces)), key=lambda index: -self.paces[index])[:count]

    @property
    def undisturbed(self):
        """The calmer half of the runs, each by its pace; all as they were when the paces are not known."""
        if self.paces is None or self.better not in ("higher", "lower"):
            return self.runs
        return [self.runs[index] / self.paces[index] if self.better == "higher" else
                self.runs[index] * self.paces[index] for index in self.calmest]

    @property
    def pace(self):
        """The pace in the middle of the calmer half; None when it is not known."""
        return statistics.median(self.paces[index] for index in self.calmest) if self.paces else None


def needs_more(measured):
    """Whether fewer than half of some runs were calm; False when the paces are not known."""
    paces = measured.paces
    return bool(paces) and 2 * sum(pace >= CALM_SHARE for pace in paces) < len(paces)
