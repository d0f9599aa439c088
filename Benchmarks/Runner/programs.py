"""Runs the programs that measure, one after another, and reads the figures that they write."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from . import figures

# Each is called as `PROGRAM --results FILE [FILTER]`. Status 1: a bar is missed; 2: no figure has FILTER in its name.
ALL = ["sse-throughput", "connection-cost", "recovery-figures", "relay-fan-out"]
# The seconds after which a program counts as hanging.
TIME_LIMIT = 900
PEERS_TIME_LIMIT = 5_400
# The seconds that a program gets to end its own children, after it was told to end.
GRACE = 5


@dataclasses.dataclass
class Outcome:
    """The figures of a program, and the reason of its failure, if it failed."""

    figures: list[figures.Figure]
    missing: list[dict]
    failure: str | None = None
    # Whether no figure of the program has the filter in its name.
    has_nothing: bool = False


def run_all(folder: pathlib.Path, wanted: str, log: pathlib.Path, peers: pathlib.Path | None) -> dict[str, Outcome]:
    """Runs all programs that have figures for a filter; a failure does not end the run."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("", encoding="utf-8")
    commands = [(folder / name, TIME_LIMIT) for name in ALL]
    if peers:
        commands.append((peers.resolve(), PEERS_TIME_LIMIT))
    outcomes = {}
    for program, limit in commands:
        start = time.monotonic()
        outcome = run(program, wanted, log, limit)
        if not outcome.has_nothing:
            outcomes[program.name] = outcome
            said = f"FAILED: {outcome.failure}" if outcome.failure else f"{len(outcome.figures)} figures"
            print(f"{program.name}: {said} in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return outcomes


def run(program: pathlib.Path, wanted: str, log: pathlib.Path, time_limit: float = TIME_LIMIT) -> Outcome:
    """Runs a program to its end, and appends its output to `log`."""
    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder) / "figures.jsonl"
        command = [str(program), "--results", str(lines), *([wanted] if wanted else [])]
        status, errors = execute(command, log, time_limit)
        found = figures.read_lines(lines)
    if status == 2 and wanted and not found.figures:
        return Outcome([], [], has_nothing=True)
    return Outcome(found.figures, found.missing, failure(status, errors, found, program.name))


def failure(status: int, errors: str, found: figures.Lines, name: str) -> str | None:
    """Returns the reason for which a program counts as failed; None when it does not.

    Status 1 means a missed bar when a figure of the program misses one and no line reports an error.
    """
    lines = errors.splitlines()
    complaints = [line for line in lines if re.match(rf"{re.escape(name)}: |Traceback |(\S+: )?error: ", line)]
    complaint = " / ".join(line for line in (complaints or lines)[-3:] if line.strip())
    if found.broken:
        return "; ".join(found.broken[:3])
    if status not in (0, 1):
        return f"it ended with status {status}: {complaint}"
    if status == 1 and (complaints or all(figure.is_held is not False for figure in found.figures)):
        return complaint or "it ended with status 1, and none of its figures says why: see programs.log"
    return None if found.figures or found.missing else "it wrote no figures"


def execute(command: list[str], log: pathlib.Path, time_limit: float) -> tuple[int, str]:
    """Runs a command; returns its status and its standard error.

    The command and its children are ended when it takes too long, or when this program is told to end.
    """
    with open(log, "a", encoding="utf-8") as file:
        print(f"\n$ {' '.join(command)}", file=file, flush=True)
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.PIPE,
                                       text=True, errors="replace", process_group=0)
        except OSError as error:
            return 127, str(error)
        try:
            errors = process.communicate(timeout=time_limit)[1]
        except subprocess.TimeoutExpired:
            end_group(process)
            return 124, f"it did not end in {time_limit:.0f} s"
        except BaseException:
            end_group(process)
            raise
        file.write(errors)
    return process.returncode, errors


def end_group(process: subprocess.Popen) -> None:
    """Asks a process and its children to end, and then kills them."""
    for sign in [signal.SIGTERM, signal.SIGKILL]:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    process.stderr.close()
