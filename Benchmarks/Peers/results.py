"""Figures as lines of ../Runner/figures.py, appended to a file while they are measured."""

import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

# The first core is the server's, the last one the client's: neighbours may be halves of one core.
CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}
SERVER_CORE, CLIENT_CORE = min(CORES), max(CORES)


class Results:
    """A file of lines. Without one, figures are only printed."""

    def __init__(self, path):
        self.path = path

    def append(self, line):
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n")

    def figure(self, **members):
        """Appends a figure, without the members that are None."""
        self.append({name: value for name, value in members.items() if value is not None})

    def own(self, program, arguments, turn, limit):
        """Runs a program of this package, appends the figures that it has written with their turn, and returns them.

        Status 1 is a missed bar, which is judged later, over all turns.
        """
        with tempfile.TemporaryDirectory() as folder:
            lines = pathlib.Path(folder) / "figures.jsonl"
            words = [program, *arguments, "--results", lines]
            try:
                process = run_limited(words, limit)
            except subprocess.TimeoutExpired as error:
                raise RuntimeError(f"no answer after {limit} s") from error
            if process.returncode not in (0, 1) or process.stderr.strip() or not lines.exists():
                raise RuntimeError(last_line(process.stderr or process.stdout))
            found = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
        for figure in found:
            self.append({**figure, "turn": turn})
        return found

    def missing(self, subject, why, bar=None):
        """Names a subject without a figure, and the reason; `bar` is the bar that has no verdict because of it."""
        why = " ".join(str(why).split())[:300]
        self.append({"missing": {"subject": subject, "why": why} | ({"bar": bar} if bar else {})})
        print(f"  {subject}: MISSING: {why}", flush=True)


def in_rounds(count, subjects, measure, fail):
    """Measures each subject once a round, every second round in reverse order; returns those that never failed.

    A subject that fails is passed to `fail`, and left out of later rounds.
    """
    subjects = list(subjects)
    for turn in range(1, count + 1):
        for subject in subjects[:] if turn % 2 else subjects[::-1]:
            try:
                measure(subject, turn)
            except (RuntimeError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
                fail(subject, error)
                subjects.remove(subject)
    return subjects


def run_limited(words, limit, **options):
    """Runs a program to its end, and returns its output. After `limit` seconds it is killed with its whole group."""
    process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True, **options)
    try:
        output, errors = process.communicate(timeout=limit)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return subprocess.CompletedProcess(words, process.returncode, output, errors)


def end_on_request():
    """Turns a request to end into an exit, so that the programs that were started are ended too."""
    for sign in [signal.SIGTERM, signal.SIGHUP]:
        signal.signal(sign, lambda number, _: sys.exit(128 + number))


def environment(**more):
    """Returns this environment without proxies and without the user's accounts."""
    kept = {name: value for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith("OPENAI_")}
    return {**kept, **more}


def last_line(text):
    """Returns the last line of a program's output, which names its error."""
    lines = [line for line in (text or "").strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no answer"


def report(name, runs, unit):
    """Prints the median of some runs, and their range."""
    if runs:
        print(f"  {name}: {statistics.median(runs):.4g} {unit} ({min(runs):.4g} to {max(runs):.4g})", flush=True)
