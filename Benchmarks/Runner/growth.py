"""Counts the instructions of walks over n and over 2n elements of a server's data, and demands linear growth.

Usage: growth.py PROGRAMS-FOLDER [NAME...]

`walk-growth` pauses before each walk, after n and after 2n elements; callgrind writes the counts between the pauses.
More than LIMIT times as many instructions fail: a quadratic walk has four times as many, a walk that sorts a little
more than twice as many. NAME is a part of the names of the walks to count; without one, all are.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

if __package__:
    from . import counting
else:
    import counting

PROGRAM = "walk-growth"
LIMIT = 2.2
# The pauses of a walk: before it, after n, after 2n.
PAUSES = 3
TIME_LIMIT = 300


@dataclasses.dataclass(frozen=True)
class Growth:
    """The instructions of a walk with n elements and with 2n."""

    name: str
    count: int
    few: int
    many: int

    @property
    def ratio(self):
        return self.many / self.few

    @property
    def is_linear(self):
        return self.ratio <= LIMIT


def count(program, names=()):
    """Runs every walk under callgrind, in one process."""
    counting.require_valgrind()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "profile"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}", f"--dump-before={counting.PAUSE}",
                   str(program), *names]
        try:
            run = subprocess.run(command, env={**os.environ, **counting.ENVIRONMENT}, stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired as error:
            raise counting.CountingError(f"{PROGRAM} did not end in {TIME_LIMIT} s: a walk is not linear") from error
        if run.returncode != 0:
            raise counting.CountingError(f"{PROGRAM} failed:\n{run.stdout}{run.stderr}")
        walks = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
        return [Growth(walk["walk"], walk["count"], part(file, PAUSES * index + 2), part(file, PAUSES * index + 3))
                for index, walk in enumerate(walks)]


def part(file, number):
    """Returns the instructions between a pause and the one before it."""
    with open(f"{file}.{number}", errors="replace") as lines:
        return counting.read_profile(lines).instructions


def report(growths):
    """Prints the table; returns a message for each walk that is not linear."""
    print(f"{'a walk':52} {'n':>6} {'a piece':>8} {'2n to n':>8}")
    for growth in growths:
        print(f"{growth.name:52} {growth.count:6} {growth.few / growth.count:8.0f} {growth.ratio:8.2f}"
              f"{'' if growth.is_linear else '  NOT LINEAR'}")
    return [f"growth: {growth.name}: twice the input costs {growth.ratio:.2f} times as much, and {LIMIT} are allowed"
            for growth in growths if not growth.is_linear]


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        program = counting.strip(pathlib.Path(arguments[0]) / PROGRAM, folder)
        try:
            growths = count(program, arguments[1:])
        except counting.CountingError as error:
            sys.exit(f"growth: {error}")
    failures = report(growths)
    if failures:
        print("", *failures, sep="\n")
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
