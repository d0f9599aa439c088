"""Counts instructions and cache misses of an event at many streams, and holds them against Benchmarks/cold-budgets.tsv.

Usage: cold.py PROGRAMS-FOLDER [--accept] [NAME...]

Each row of the file names a workload of connection-cost, in which the streams have their events in turn, one at a time:
the memory of a stream has left the caches when its next event comes, as in programs with many streams. callgrind
simulates the caches. A figure above its budget by more than its allowance fails. --accept writes the new counts into the
file.

An event that comes alone costs what its misses cost rather than what its instructions do, and most of them are misses of
code: the event's path is longer than a core's cache for instructions.
"""

import dataclasses
import pathlib
import sys
import tempfile

import counting

FILE = pathlib.Path(__file__).resolve().parent.parent / "cold-budgets.tsv"
PROGRAM = "connection-cost"
SERVER = "stream-server"
# The share by which a figure may be above its budget. Which lines share a place in the first level is chance, and the
# places of code are the linker's choice: a change of code that no event runs has moved the misses of code by 9 %, at the
# same instructions.
TOLERANCES = {"instructions": 0.03, "code": 0.1, "first_level": 0.15}
# The misses of the last level by which an event may be above its budget: half of those of one more line of each stream.
LINES = 0.5
# How often a row above its budget is counted again: a needless line is there each time. Chance, such as a thread that
# was not asleep yet, only adds to a count.
RECOUNTS = 2
TITLES = {"instructions": "instructions", "code": "misses of code, first level", "first_level": "misses, first level",
          "last_level": "misses, last level"}


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the file."""

    name: str
    workload: str
    before: int
    passes: int
    budget: counting.Cold

    @staticmethod
    def read(line):
        name, workload, before, passes, *counts = line.rstrip("\n").split("\t")
        return Row(name, workload, int(before), int(passes), counting.Cold(*map(float, counts)))

    def count(self, folder):
        counted = counting.count_cold(folder / PROGRAM, self.workload.split(), self.before, self.passes)
        return dataclasses.replace(self, budget=counted)

    def __str__(self):
        instructions, *misses = dataclasses.astuple(self.budget)
        counts = [f"{instructions:.0f}", *(f"{each:.1f}" for each in misses)]
        return "\t".join([self.name, self.workload, str(self.before), str(self.passes), *counts])


def is_row(line):
    return bool(line.strip()) and not line.startswith("#")


def exceeded(budget, counted):
    """Returns the names of the figures above a row's budget."""
    return [figure for figure in TITLES if getattr(counted.budget, figure) > limit(budget, figure)]


def limit(budget, figure):
    """Returns the highest count of a figure that does not fail."""
    accepted = getattr(budget.budget, figure)
    return accepted + LINES if figure == "last_level" else accepted * (1 + TOLERANCES[figure])


def lowest(budget, count):
    """Counts a row, and again while it is above its budget; each figure is the lowest of its counts."""
    counted = count()
    for _ in range(RECOUNTS):
        if not exceeded(budget, counted):
            break
        pairs = zip(dataclasses.astuple(counted.budget), dataclasses.astuple(count().budget))
        counted = dataclasses.replace(counted, budget=counting.Cold(*map(min, pairs)))
    return counted


def compare(budgets, counted):
    """Prints the table; returns a message for each figure above its budget."""
    failures = []
    print(f"{'an event, cold':50} {'previous':>9} {'new':>9}  {'change':>9}")
    for row, new in zip(budgets, counted):
        above = exceeded(row, new)
        for figure in TITLES:
            before, now = getattr(row.budget, figure), getattr(new.budget, figure)
            is_above = figure in above
            print(f"{row.name + ', ' + TITLES[figure]:50} {before:9.1f} {now:9.1f}  {(now - before) / before:+9.1%}"
                  f"{'  ABOVE THE BUDGET' if is_above else ''}")
            if is_above:
                failures.append(f"budgets: {row.name}: {now:.1f} {TITLES[figure]} an event, and {before:.1f} are budgeted")
    return failures


def write(counted):
    by_name = {row.name: row for row in counted}
    lines = FILE.read_text().splitlines()
    FILE.write_text("".join(f"{by_name.get(text.partition(chr(9))[0], text)}\n" for text in lines))


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    programs = pathlib.Path(arguments[0])
    names = [name for name in arguments[1:] if name != "--accept"]
    budgets = [Row.read(text) for text in FILE.read_text().splitlines() if is_row(text)]
    budgets = [row for row in budgets if not names or any(name in row.name for name in names)]
    with tempfile.TemporaryDirectory() as folder:
        counting.strip(programs / PROGRAM, folder)
        (pathlib.Path(folder) / SERVER).symlink_to((programs / SERVER).resolve())
        try:
            counted = [lowest(row, lambda row=row: row.count(pathlib.Path(folder))) for row in budgets]
        except counting.CountingError as error:
            sys.exit(f"budgets: {error}")
    failures = compare(budgets, counted)
    if "--accept" in arguments:
        write(counted)
        print("budgets: accepted")
    elif failures:
        print("", *failures, sep="\n")
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
