"""Counts instructions and allocations of an event, and holds them against the budgets in Benchmarks/budgets.tsv.

Usage: budgets.py PROGRAMS-FOLDER [--accept] [--without-command] [NAME...]

Each row of the file names a program and a workload; a workload that ends with @ and a pattern is counted inside the
functions of that name alone, with all that they call. Of the command line a whole process is counted. A figure above
its budget fails: for instructions by more than 3 %, for allocations by any amount, in the digits that the file has: with
sockets, fewer digits, as the last are chance. Of a whole process the allocations may be 3 % above it too.
--accept writes the new counts into the file. --without-command leaves the command line out, which takes as long to build as
all other programs. NAME is a part of the names of the rows to count; without one, all are.
"""

import concurrent.futures
import dataclasses
import pathlib
import subprocess
import sys
import tempfile

import counting

FOLDER = pathlib.Path(__file__).resolve().parent.parent
FILE = FOLDER / "budgets.tsv"
TOLERANCE = 0.03
SERVER = "stream-server"
# A program that is run once: the passes after those of the short run are counted between two pauses.
PAUSING = "connection-cost"
# The command line, of which a whole process is counted: it streams this answer of its own server.
COMMAND = "chappie"
ANSWER = FOLDER / "one-delta.jsonl"
# Rows that are printed beside others, with the ratio of instructions that is aimed at.
BESIDE = [
    ("WebSocketClient, borrowed", "below clients, WebSocket", 1.10),
    ("WebSocketClient, borrowed", "below clients, checked text", 1.10),
    ("EventSource, events", "below clients, event stream", 1.05),
    ("event stream of chat, words", "event stream, words", 1.30),
    ("event stream of messages, words", "event stream, words", 1.30),
]
# The programs that run at the same time, one for each core of a small machine.
JOBS = 2


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the file."""

    name: str
    program: str
    workload: str
    short: int
    long: int
    instructions: int
    allocations: str

    @property
    def digits(self):
        """The number of digits of the allocations that are compared."""
        return len(self.allocations.partition(".")[2])

    @staticmethod
    def read(line):
        name, program, workload, short, long, instructions, allocations = line.rstrip("\n").split("\t")
        return Row(name, program, workload, int(short), int(long), int(instructions), allocations)

    def count(self, folder):
        workload, _, inside = self.workload.partition(" @")
        program, arguments = folder / self.program, workload.split()
        if self.program == COMMAND:
            counted = count_command(program, arguments)
        elif self.program == PAUSING:
            counted = counting.count_between_pauses(program, arguments, self.short, self.long - self.short)
        else:
            counted = counting.count(program, arguments, self.short, self.long, inside or None)
        return dataclasses.replace(self, instructions=round(counted.instructions),
                                   allocations=f"{max(counted.allocations, 0):.{self.digits}f}")

    def __str__(self):
        return "\t".join([self.name, self.program, self.workload, str(self.short), str(self.long),
                          str(self.instructions), self.allocations])


def count_command(program, arguments):
    """Returns the cost of a process of the command line, whose server is another process, which is not counted."""
    serve = [program, "serve", "--recording", ANSWER]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().removeprefix("listening on ").strip()
            # A slow upgrade, as under callgrind, would be joined by a second connection.
            words = [*arguments, "--hedge-delay", "0", "--base-url", url, "--api-key", "sk-fake", "--model", "paper-and-ink", "Hello"]
            return counting.count_process(program, words)
        finally:
            server.terminate()


def is_row(line):
    return bool(line.strip()) and not line.startswith("#")


def line(name, what, before, now, limit, digits):
    """Prints a row of the table; returns a message when it is above its budget."""
    change = f"{(now - before) / before * 100:+.1f} %" if before > 0 else "more" if now > 0 else "same"
    is_above = now > limit
    print(f"{name + ', ' + what:42} {before:9.{digits}f} {now:9.{digits}f}  {change:>9}"
          f"{'  ABOVE THE BUDGET' if is_above else ''}")
    above = f"budgets: {name}: {now:.{digits}f} {what}, and {before:.{digits}f} are budgeted"
    return [above] if is_above else []


def compare(budgets, counted):
    """Prints the table; returns a message for each figure above its budget."""
    print(f"{'an event':42} {'previous':>9} {'new':>9}  {'change':>9}")
    failures = []
    for row, new in zip(budgets, counted):
        failures += line(row.name, "instructions", row.instructions, new.instructions,
                         row.instructions * (1 + TOLERANCE), 0)
        # Some allocations of a process depend on which of its threads is first.
        allowed = 1 + TOLERANCE if row.program == COMMAND else 1
        failures += line(row.name, "allocations", float(row.allocations), float(new.allocations),
                         float(row.allocations) * allowed, row.digits)
    return failures


def print_ratios(counted):
    """Prints the ratios of rows that were counted both; the budgets alone decide about success."""
    by_name = {row.name: row.instructions for row in counted}
    for name, other, aim in BESIDE:
        if name in by_name and by_name.get(other, 0) > 0:
            ratio = by_name[name] / by_name[other]
            print(f"{name} beside {other}: {ratio:.2f}, at most {aim:.2f}{'' if ratio <= aim else '  MISSED'}")


def write(counted):
    by_name = {row.name: row for row in counted}
    lines = FILE.read_text().splitlines()
    names = [text.split("\t")[0] for text in lines]
    FILE.write_text("".join(
        f"{by_name.get(name, text) if is_row(text) else text}\n" for name, text in zip(names, lines)))


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    programs = pathlib.Path(arguments[0])
    accepts = "--accept" in arguments
    names = [name for name in arguments[1:] if not name.startswith("--")]
    budgets = [Row.read(text) for text in FILE.read_text().splitlines() if is_row(text)]
    if "--without-command" in arguments:
        budgets = [row for row in budgets if row.program != COMMAND]
    budgets = [row for row in budgets if not names or any(name in row.name for name in names)]
    if not budgets:
        sys.exit(f"budgets: no row has {' or '.join(names)} in its name")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(JOBS) as jobs:
        for program in sorted({row.program for row in budgets}):
            counting.strip(programs / program, folder)
        # Programs start the server from their own folder, as a process that is not counted.
        (pathlib.Path(folder) / SERVER).symlink_to((programs / SERVER).resolve())
        try:
            counted = list(jobs.map(lambda row: row.count(pathlib.Path(folder)), budgets))
        except counting.CountingError as error:
            sys.exit(f"budgets: {error}")
    failures = compare(budgets, counted)
    print_ratios(counted)
    if accepts:
        write(counted)
        print("budgets: accepted")
    elif failures:
        advice = "budgets: to accept these counts: make budgets-accept, and commit the file"
        print("", *failures, advice, sep="\n")
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
