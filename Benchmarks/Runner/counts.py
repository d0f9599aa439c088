"""Instructions and allocations of an event end to end, counted by callgrind."""

from __future__ import annotations

import concurrent.futures
import importlib
import math
import pathlib
import shutil
import statistics
import tempfile
import time

from .figures import Figure
from .programs import Outcome

TRANSPORTS = ["websocket", "websocket-deflate", "sse", "sse-gzip"]
SECURITIES = ["plain", "tls"]
STREAMS = [1, 100]
# A way of results.json, and what connection-cost calls it.
WAYS = {"for try await": "events", "batches()": "batches"}
# Passes before those that are counted, and these.
PASSES = 2, 4
# How often a workload of so many streams is counted at least. How much lies there when one stream is read, and with it
# how often its consumer waits, is a matter of how threads meet; of a hundred it evens out sooner.
LEAST = {1: 5, 100: 3}
# Where there is time for it, it is counted again until the standard error of the mean of allocations is such a share of
# it, and so often at most.
ERROR, MOST = 0.0125, 24
# More at a time would take turns on the cores of a small machine.
JOBS = 2
PROGRAM, SERVER = "connection-cost", "stream-server"
TITLE = "instructions and allocations, end to end"


def workloads(wanted: str) -> list[str]:
    """The workloads that a filter asks for."""
    names = [f"{transport}-{security}-{streams}"
             for streams in STREAMS for transport in TRANSPORTS for security in SECURITIES]
    # A name is part of a longer one, and means itself.
    if named := [name for name in names if wanted in (name, f"end-to-end/{name}")]:
        return named
    return [name for name in names
            if any(wanted in f"end-to-end/{name}{end}" for end in ["", "/instructions", "/allocations"])]


def counted(folder: pathlib.Path, wanted: str, counting=None, is_thorough: bool = True) -> Outcome | None:
    """Counts every workload in both ways; None when the filter asks for none.

    `counting` is the module that counts; `is_thorough` says that there is time to count again.
    """
    questions = [(workload, way) for workload in workloads(wanted) for way in WAYS]
    if not questions:
        return None
    start = time.monotonic()
    outcome = Outcome(TITLE, 0, [], [])
    if counting is None and shutil.which("valgrind") is None:
        outcome.missing = [{"subject": TITLE, "why": "valgrind is not there (Scripts/install.sh bench)"}]
        return outcome
    try:
        counting = counting or importlib.import_module(".counting", __package__)
        with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(JOBS) as jobs:
            program = counting.strip(folder / PROGRAM, work)
            # Each program looks for the server beside itself; the server is a process that nobody counts.
            (pathlib.Path(work) / SERVER).symlink_to((folder / SERVER).resolve())
            found = list(jobs.map(
                lambda question: figures_or_error(counting, program, *question, is_thorough), questions))
        outcome.figures = [figure for pair in found if isinstance(pair, list) for figure in pair]
        outcome.failure = next((said(error) for error in found if isinstance(error, Exception)), None)
    except Exception as error:  # Whatever it was: the figures that were measured are not lost for it.
        outcome.failure = said(error)
    outcome.seconds = time.monotonic() - start
    return outcome


def said(error: Exception) -> str:
    """What an error says, without what valgrind says."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("==")]
    return " / ".join(lines[:3]) or repr(error)


def figures_or_error(counting, program: pathlib.Path, workload: str, way: str,
                     is_thorough: bool) -> list[Figure] | Exception:
    """The figures of a workload in a way, or why there are none: the others have theirs."""
    try:
        return figures_of(counting, program, workload, way, is_thorough)
    except Exception as error:
        return error


def figures_of(counting, program: pathlib.Path, workload: str, way: str, is_thorough: bool) -> list[Figure]:
    found = []
    while len(found) < LEAST[int(workload.rpartition("-")[2])] or (
            is_thorough and len(found) < MOST and not are_enough([count.allocations for count in found])):
        found.append(counting.count_between_pauses(program, [workload, WAYS[way]], *PASSES))
    instructions, allocations = (statistics.mean(getattr(count, name) for count in found)
                                 for name in ["instructions", "allocations"])
    values = {"instructions": round(instructions, 1), "allocations": round(max(allocations, 0), 6)}
    return [Figure("end-to-end", workload, "chappie", measure, "/event", [value], way=way, better="lower",
                   work={"eventCount": sum(count.events for count in found)}, decodes=True)
            for measure, value in values.items()]


def are_enough(values: list[float]) -> bool:
    """Whether their mean is known well enough."""
    return statistics.stdev(values) <= ERROR * abs(statistics.mean(values)) * math.sqrt(len(values))
