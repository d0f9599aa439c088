"""The programs that measure, and which of them a filter asks for."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable
from typing import TextIO

from . import figures

# A program that takes this long hangs.
TIME_LIMIT = 900
# How long one has to end what it has started, once it is told to end.
GRACE = 5
CORPORA = ["model-deltas", "model-deltas-crlf", "model-deltas-cr", "tiny-events", "long-lines", "multi-line-data"]
CHUNKS = [16384, 1460, 37, 1]
# What programs print beside a figure of theirs that is past its limit.
VERDICTS = ["MISSED", "BROKEN", "ABOVE", "NOT HELD"]
# What event-cost calls its paths, and the groups that they belong to.
PATHS = {"decode": "decoder", "replay": "verification", "websocket": "engine", "steps": "engine",
         "event-stream": "engine", "async-stream": "engine", "loop": "engine"}
SHAPES = ["words", "few", "sentences", "escapes"]


def everything(wanted: str) -> list[str] | None:
    """For a program that reads a filter itself: it is passed down."""
    return [wanted] if wanted else []


def corpora(wanted: str) -> list[str] | None:
    """The workloads of the parser that a filter asks for; None when there are none."""
    if any(wanted in name for name in ["", "parser", "sse-throughput"]):
        return []
    workload = wanted.removeprefix("parser/")
    corpus, _, size = workload.partition("/")
    if corpus in CORPORA and (not size or size.isdigit()):
        return [workload.rstrip("/")]
    sized = [f"{name}/{size}" for name in CORPORA for size in CHUNKS]
    return [name for name in CORPORA if wanted in f"parser/{name}"] or [
        name for name in sized if wanted in f"parser/{name}"] or None


def growth(wanted: str) -> list[str] | None:
    """Nothing more to say to `growth`, whose shapes are measured together, or None."""
    is_about = wanted.startswith("growth/") or any(wanted in name for name in ["growth", "sse-throughput growth"])
    return [] if is_about else None


def paths(wanted: str) -> list[str] | None:
    """The paths and shapes of event-cost that a filter asks for; None when there are none."""
    if wanted in "event-cost":
        return []
    found = [(path, shape) for path, group in PATHS.items() for shape in SHAPES
             if wanted in f"{group}/{shape}" or wanted in path]
    return list(dict.fromkeys([path for path, _ in found] + [shape for _, shape in found])) or None


@dataclasses.dataclass(frozen=True)
class Program:
    """A program, what it is always told, and what it is told for a filter."""

    name: str
    arguments: tuple[str, ...] = ()
    told: Callable[[str], list[str] | None] = everything
    # Whether it says by status 2 that nothing is called like the filter.
    reads_filter: bool = False
    # What it is told besides, and its title does not name.
    besides: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return " ".join([pathlib.Path(self.name).name, *(word for word in self.arguments if not word.startswith("-"))])


@dataclasses.dataclass
class Outcome:
    """What became of a program."""

    title: str
    seconds: float
    figures: list[figures.Figure]
    missing: list[dict]
    # Why it counts as failed; None when it does not.
    failure: str | None = None
    # Whether nothing in it is called like the filter.
    has_nothing: bool = False

    def to_json(self) -> dict:
        value = {"program": self.title, "seconds": round(self.seconds, 1), "figureCount": len(self.figures)}
        return value | ({"failure": self.failure} if self.failure else {})


ALL = [
    Program("sse-throughput", ("--bars",), corpora),
    Program("sse-throughput", ("growth",), growth),
    Program("event-cost", (), paths),
    Program("connection-cost", (), everything, reads_filter=True),
    Program("recovery-figures", (), everything, reads_filter=True),
]


def chosen(wanted: str) -> list[tuple[Program, list[str]]]:
    """The programs that a filter asks for, with what they are told."""
    found = [(program, program.told(wanted)) for program in ALL]
    return [(program, told) for program, told in found if told is not None]


def in_turn(peers: pathlib.Path, wanted: str) -> list[str]:
    """The workloads of whole streams that the script of the peers measures itself, in turn with the peers."""
    found = subprocess.run([str(peers.resolve()), "--in-turn", wanted], capture_output=True, text=True)
    if found.returncode != 0:
        raise figures.ResultsError(f"{peers}: {found.stderr.strip() or found.returncode}")
    return found.stdout.split()


def run(program: Program, told: list[str], folder: pathlib.Path, lines: pathlib.Path, log: pathlib.Path,
        time_limit: float = TIME_LIMIT) -> Outcome:
    """Runs a program to its end; its figures are added to `lines`, what it prints to `log`.

    One that has nothing called like `group/workload` is asked for the workload alone.
    """
    outcome = run_once(program, told, folder, lines, log, time_limit)
    group, slash, workload = told[0].partition("/") if told else ("", "", "")
    if outcome.has_nothing and slash and workload:
        outcome = run_once(program, [workload], folder, lines, log, time_limit)
        outcome.figures = [figure for figure in outcome.figures if figure.group.endswith(group)]
    return outcome


def run_once(program: Program, told: list[str], folder: pathlib.Path, lines: pathlib.Path, log: pathlib.Path,
             time_limit: float) -> Outcome:
    before = line_count(lines)
    command = [str(folder / program.name), *program.arguments, *program.besides, "--results", str(lines), *told]
    start = time.monotonic()
    status, complaint = execute(command, log, time_limit)
    seconds = time.monotonic() - start
    added = figures.read_lines(lines, before)
    outcome = Outcome(program.title, seconds, added.figures, added.missing)
    said = f"{pathlib.Path(program.name).name}: "
    if added.broken:
        drop_broken_lines(lines)
        ended = [failure(status, complaint, added, said)] if status not in (0, 1) else []
        outcome.failure = "; ".join([*ended, *added.broken[:3]])
    elif status == 2 and told and program.reads_filter and not added.figures:
        outcome.has_nothing = True
    else:
        outcome.failure = failure(status, complaint, added, said)
    return outcome


def failure(status: int, complaint: str, added: figures.Lines, said: str) -> str | None:
    """Why a program counts as failed; None when it does not.

    Status 1 with a missed bar is what that bar says, unless the program complains besides: `said` begins what it says.
    """
    if status not in (0, 1):
        return f"it ended with status {status}: {complaint}"
    if status == 1 and not any(figure.is_held is False for figure in added.figures):
        return complaint or "it ended with status 1, and none of its figures says why: see programs.log"
    if status == 1 and said in complaint:
        return complaint[complaint.index(said):]
    return None if added.figures or added.missing else "it wrote no figures"


def execute(command: list[str], log: pathlib.Path, time_limit: float) -> tuple[int, str]:
    """A command's status, and the end of what it complained of."""
    with open(log, "a+", encoding="utf-8", errors="replace") as file:
        file.write(f"\n$ {' '.join(command)}\n")
        file.flush()
        start = file.tell()
        try:
            status, errors = run_group(command, file, time_limit)
        except OSError as error:
            return 127, str(error)
        except subprocess.TimeoutExpired:
            return 124, f"it did not end in {time_limit:.0f} s"
        file.seek(start)
        printed = file.read()
        file.write(errors)
    complaints = [line for line in errors.splitlines() if line.strip()][-3:]
    verdicts = [" ".join(line.split()) for line in printed.splitlines() if any(word in line for word in VERDICTS)]
    return status, " / ".join(verdicts[:3] + complaints)


def run_group(command: list[str], output: TextIO, time_limit: float) -> tuple[int, str]:
    """A command's status and its standard error. What it has started ends with it when it takes too long, or when this
    program is told to end.
    """
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True,
                               errors="replace", process_group=0)
    try:
        errors = process.communicate(timeout=time_limit)[1]
    except BaseException:
        end_group(process)
        raise
    return process.returncode, errors


def end_group(process: subprocess.Popen) -> None:
    """Asks a process and what it has started to end, and then ends them."""
    for sign in [signal.SIGTERM, signal.SIGKILL]:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    process.stderr.close()


def line_count(path: pathlib.Path) -> int:
    return len(figures.lines_of(path)) if path.exists() else 0


def drop_broken_lines(path: pathlib.Path) -> None:
    """Takes the lines away that are not whole, so that the next program begins on a line of its own."""
    lines = [line for line in figures.lines_of(path) if is_whole(line)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def is_whole(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
