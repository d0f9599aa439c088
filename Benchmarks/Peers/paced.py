"""Runs of which it is known how fast the core was meanwhile: the same rule as `PacedRuns` of ../Sources/BenchmarkResults.

A machine may share its cores with others, and a core that is shared is half as fast. A pace is the share of its speed
that the core had in a run, 1 at most.
"""

# A run that had so much of its core is a calm one.
CALM = 0.9
# At least so many runs are read.
LEAST = 3


def undisturbed(runs, paces, better):
    """The calmer half of the runs, and three of them at least, as they would have been on a core that nobody shares.

    `better` is `higher` of a speed, which the pace divides, and something else of a cost, which it multiplies. All runs
    as they were when nothing is known of the core.
    """
    if paces is None:
        return list(runs)
    calmest = sorted(range(len(runs)), key=lambda index: (-paces[index], index))[:max(LEAST, (len(runs) + 1) // 2)]
    return [runs[index] / paces[index] if better == "higher" else runs[index] * paces[index] for index in calmest]


def are_enough(paces, count):
    """Whether half of so many runs were calm; true when nothing is known of the core."""
    return paces is None or 2 * sum(pace >= CALM for pace in paces) >= count
