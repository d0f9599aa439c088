"""Counts the instructions and the calls of the allocator that an event costs, by callgrind.

A program is run twice, with few and with many passes over its workload; the work that both runs do once cancels out. A
program that can pause is run once: between its two pauses it only makes passes, and no data is in flight at either.
Counts depend on no clock and hardly on the machine: callgrind shows programs a processor of its own choice, without
AVX-512, so that libraries choose the same code on any that has AVX2. Another compiler or library gives other counts.

The cost of an allocation depends on the neighbours of the block, which any change elsewhere moves. A large cache for
each thread keeps freed blocks, so that an allocation costs the same regardless of its neighbours.
"""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

# The last one is internal to the C library: its aligning functions call it.
ALLOCATING = {"malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "_mid_memalign"}
# The function that a program calls in a pause, while no data is in flight.
PAUSE = "cmachine_note_pause"
# The variables that a counted program sees: any other would be a part of its cost, and another user's differ.
KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH")
ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=4096", "SWIFT_DETERMINISTIC_HASHING": "1"}
# The caches that are simulated: those of a core, and a share of the last level that is smaller than many streams.
CACHES = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
# The seconds after which a run counts as hanging.
TIME_LIMIT = 300


class CountingError(Exception):
    """A program could not be counted; the text has its name and the reason."""


@dataclasses.dataclass(frozen=True)
class Counted:
    """The cost of an event."""

    instructions: float
    allocations: float


@dataclasses.dataclass(frozen=True)
class Profile:
    """The totals of one run."""

    instructions: int
    allocations: int


@dataclasses.dataclass(frozen=True)
class Cold:
    """The cost of an event whose stream has left the caches, or of all events of a run."""

    instructions: float
    # Misses of a core's cache for instructions: code that does not fit beside the rest of an event's code.
    code: float
    # Misses of a core's cache for data, and those of them that the last level misses as well.
    first_level: float
    last_level: float


def strip(program, folder):
    """Copies a program without its debug information: valgrind cannot read that of Swift."""
    target = pathlib.Path(folder) / pathlib.Path(program).name
    subprocess.run(["strip", "--strip-debug", "-o", target, program], check=True)
    return target


def read_profile(lines):
    """Reads the totals of callgrind's file.

    Allocations are calls of the allocator's functions from other functions: the functions that count allocations call
    those of the C library. The file has a function's name only where its number first appears.
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


def read_misses(lines):
    """Reads the totals of callgrind's file of a run with simulated caches."""
    names = []
    for line in lines:
        if line.startswith("events:"):
            names = line.split()[1:]
        elif line.startswith(("summary:", "totals:")):
            total = dict(zip(names, map(int, line.split()[1:])))
            return Cold(total["Ir"], total["I1mr"], total["D1mr"] + total["D1mw"], total["DLmr"] + total["DLmw"])
    raise CountingError("callgrind has written no totals")


def is_allocating(name):
    """Returns whether a function is one of the allocator's, without the suffixes for variants and for recursion."""
    return re.sub(r"(\.constprop\.\d+)?('\d+)?$", "", name) in ALLOCATING


def profile(program, arguments, passes, options=(), part="", read=read_profile):
    """Runs passes of a program once; returns the totals of a part of the run, and its number of events."""
    totals, output = run(program, ["--iterations", str(passes), *arguments], options, part, read)
    return totals, events_of(output, program, arguments)


def run(program, arguments, options=(), part="", read=read_profile, preloaded=None):
    """Runs a program once, with a library `preloaded`; returns the totals of a part of the run, and its output."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "profile"
        # A fair scheduler switches between threads in the same way in each run.
        command = ["valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={file}", *options,
                   program, *arguments]
        try:
            environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
            # An empty home: no configuration of the user's plays a part.
            environment |= ENVIRONMENT | {"HOME": folder} | ({"LD_PRELOAD": str(preloaded)} if preloaded else {})
            ended = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                                   capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired as error:
            raise CountingError(f"{described(program, arguments)} did not end in {TIME_LIMIT} s") from error
        if ended.returncode != 0:
            raise CountingError(f"{described(program, arguments)} failed:\n{ended.stdout}{ended.stderr}")
        try:
            lines = open(f"{file}{part}", errors="replace")
        except FileNotFoundError as error:
            raise CountingError(f"{described(program, arguments)} did not pause") from error
        with lines:
            return read(lines), ended.stdout


def events_of(output, program, arguments):
    """Returns the number of events of a run, from the line that the program prints."""
    for line in output.splitlines():
        if '"eventsPerPass"' in line:
            printed = json.loads(line)
            return printed["passes"] * printed["eventsPerPass"]
    raise CountingError(f"{described(program, arguments)} did not print its passes and the events of a pass")


def described(program, arguments):
    return " ".join([pathlib.Path(program).name, *arguments])


def count(program, arguments, short, long, inside=None):
    """Returns the cost of an event: the difference between a run of `long` passes and one of `short` passes.

    With `inside`, a pattern, only functions with such names are counted, with all that they call. The program must be
    without debug information (`strip`).
    """
    require_valgrind()
    only = [f"--toggle-collect={inside}"] if inside else []
    few, few_events = profile(program, arguments, short, only)
    many, many_events = profile(program, arguments, long, only)
    events = many_events - few_events
    if events <= 0:
        raise CountingError(f"{described(program, arguments)}: the long run has no more events than the short one")
    return Counted((many.instructions - few.instructions) / events, (many.allocations - few.allocations) / events)


def count_process(program, arguments):
    """Returns the cost of a whole process, which may have an asynchronous main function."""
    require_valgrind()
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "sigsuspend.so"
        source = pathlib.Path(__file__).with_name("sigsuspend.c")
        try:
            subprocess.run(["clang", "-shared", "-fPIC", "-o", library, source], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise CountingError(f"{source.name} cannot be compiled: {error}") from error
        counted, _ = run(program, arguments, preloaded=library)
    return Counted(counted.instructions, counted.allocations)


def count_between_pauses(program, arguments, before, passes):
    """Returns the cost of an event in `passes` passes between two pauses, after `before` passes."""
    require_valgrind()
    # The second part ends at the second pause.
    counted, events = profile(program, arguments, f"{before}+{passes}", [f"--dump-before={PAUSE}"], part=".2")
    if events <= 0:
        raise CountingError(f"{described(program, arguments)}: there are no events between the pauses")
    return Counted(counted.instructions / events, counted.allocations / events)


def count_cold(program, arguments, before, passes):
    """Returns the cost of an event between two pauses, with the misses of simulated caches."""
    require_valgrind()
    # The program begins the simulation once its streams are open: cmachine_begin_simulation.
    options = ["--instr-atstart=no", f"--dump-before={PAUSE}", *CACHES]
    total, events = profile(program, arguments, f"{before}+{passes}", options, part=".2", read=read_misses)
    if events <= 0:
        raise CountingError(f"{described(program, arguments)}: there are no events between the pauses")
    return Cold(*(count / events for count in dataclasses.astuple(total)))


def require_valgrind():
    if shutil.which("valgrind") is None:
        raise CountingError("valgrind is not installed: Scripts/install.sh budgets")
