"""Counts what a program does for an event: instructions and calls of the allocator, by callgrind.

A program is run twice, with few and with many passes over its workload; what both runs do once cancels out. One that
can pause is run once: between its two pauses there is nothing but passes, and nothing is on its way at either. Counts
depend on no clock and hardly on the machine: callgrind shows programs a processor of its own choice, without AVX-512,
so that libraries choose the same code on any that has AVX2. Another compiler or another library counts anew.

What the allocator does for a block depends on the block's neighbours, which any change elsewhere moves: while it is
counted, freed blocks stay in the thread's cache, and an allocation costs the same whatever lies around it.
"""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

# The last one is the C library's own, behind those that align.
ALLOCATING = {"malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "_mid_memalign"}
# What a program calls in a pause, while nothing is on its way.
PAUSE = "cmachine_note_pause"
ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=4096", "SWIFT_DETERMINISTIC_HASHING": "1"}
# A run takes seconds; one that takes this long hangs.
TIME_LIMIT = 300


class CountingError(Exception):
    """A program could not be counted; the text says which and why."""


@dataclasses.dataclass(frozen=True)
class Counted:
    """What an event costs."""

    instructions: float
    allocations: float


@dataclasses.dataclass(frozen=True)
class Profile:
    """The totals of one run."""

    instructions: int
    allocations: int


def strip(program, folder):
    """A copy of a program without the debug information that valgrind cannot read, which Swift writes."""
    target = pathlib.Path(folder) / pathlib.Path(program).name
    subprocess.run(["strip", "--strip-debug", "-o", target, program], check=True)
    return target


def read_profile(lines):
    """The totals of callgrind's file.

    Allocations are calls of the allocator's functions, apart from those of one another: the counter that the programs
    link stands before those of the C library. The file gives a function's name where its number comes first.
    """
    names = {}
    instructions = allocations = 0
    caller = callee = ""
    for line in lines:
        if line.startswith(("fn=", "cfn=")):
            number, _, name = line.strip().partition(" ")
            key = number.partition("=")[2]
            if name:
                names[key] = name
            if line[0] == "c":
                callee = names[key]
            else:
                caller = names[key]
        elif line.startswith("calls="):
            if is_allocating(callee) and not is_allocating(caller):
                allocations += int(line[len("calls="):].split()[0])
        elif line.startswith(("summary:", "totals:")):
            instructions = int(line.split()[1])
    return Profile(instructions, allocations)


def is_allocating(name):
    """Whether a function is one of the allocator's; compilers name their variants, and callgrind those that recurse."""
    return re.sub(r"(\.constprop\.\d+)?('\d+)?$", "", name) in ALLOCATING


def profile(program, arguments, passes, options=(), part=""):
    """Runs a program once; the totals of a part of it, and how many events went through."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "profile"
        # Threads that take turns in order meet in the same way each time.
        command = ["valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={file}", *options,
                   program, "--iterations", str(passes), *arguments]
        try:
            run = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired as error:
            raise CountingError(f"{described(program, arguments)} did not end in {TIME_LIMIT} s") from error
        if run.returncode != 0:
            raise CountingError(f"{described(program, arguments)} failed:\n{run.stdout}{run.stderr}")
        try:
            lines = open(f"{file}{part}", errors="replace")
        except FileNotFoundError as error:
            raise CountingError(f"{described(program, arguments)} did not pause") from error
        with lines:
            return read_profile(lines), events_of(run.stdout, program, arguments)


def events_of(output, program, arguments):
    """How many events a run was about: the program prints what a pass consists of."""
    for line in output.splitlines():
        if '"eventsPerPass"' in line:
            printed = json.loads(line)
            return printed["passes"] * printed["eventsPerPass"]
    raise CountingError(f"{described(program, arguments)} did not print what a pass consists of")


def described(program, arguments):
    return " ".join([pathlib.Path(program).name, *arguments])


def count(program, arguments, short, long, inside=None):
    """What an event costs: the difference of a run of `long` passes and one of `short`.

    `inside` is a pattern of the functions alone that are counted, with all that they call. The program must be without
    debug information (`strip`).
    """
    require_valgrind()
    only = [f"--toggle-collect={inside}"] if inside else []
    few, few_events = profile(program, arguments, short, only)
    many, many_events = profile(program, arguments, long, only)
    events = many_events - few_events
    if events <= 0:
        raise CountingError(f"{described(program, arguments)}: the long run has no more events than the short one")
    return Counted((many.instructions - few.instructions) / events, (many.allocations - few.allocations) / events)


def count_between_pauses(program, arguments, before, passes):
    """What an event costs of `passes` that a program makes between two pauses, behind `before` others."""
    require_valgrind()
    # The part that ends where the program says for the second time that it pauses.
    counted, events = profile(program, arguments, f"{before}+{passes}", [f"--dump-before={PAUSE}"], part=".2")
    if events <= 0:
        raise CountingError(f"{described(program, arguments)}: there are no events between the pauses")
    return Counted(counted.instructions / events, counted.allocations / events)


def require_valgrind():
    if shutil.which("valgrind") is None:
        raise CountingError("valgrind is not there: Scripts/install.sh budgets")
