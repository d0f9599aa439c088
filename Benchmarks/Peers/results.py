"""Figures as ../RESULTS.md has them, appended to a file while they are measured."""

import contextlib
import json
import os
import signal
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from paced import CALM

# How long a core has to have been calm before somebody is measured who was disturbed, in seconds.
LONG_ENOUGH = 0.3


class CorePace:
    """The core that something is measured on, looked at meanwhile by a program of its own, which takes half a percent.

    A core that a machine shares with others is half as fast now and then. Nothing is known where there is no program.
    """

    def __init__(self, program, core):
        self.process = subprocess.Popen([str(program), "--core", str(core)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def share(self, start, seconds):
        """Which share of its speed the core had in a run, 1 at most; None when that is not known.

        `start` is a moment of the monotonic clock: what `time.perf_counter()` tells, in any process.
        """
        try:
            print(start, start + seconds, file=self.process.stdin, flush=True)
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            return None

    def shares(self, spans):
        """The same of several runs; None when it is not known of each."""
        shares = [self.share(*span) for span in spans]
        return None if None in shares else shares

    def wait_for_calm(self, patience):
        """Waits until nobody shares the core: what reads much memory is slowed less than its pace says.

        Returns how much is left of the seconds that it may take.
        """
        while patience > 0:
            time.sleep(LONG_ENOUGH)
            patience -= LONG_ENOUGH
            share = self.share(time.perf_counter() - LONG_ENOUGH, LONG_ENOUGH)
            if share is None or share >= CALM:
                break
        return patience

    def close(self):
        self.process.communicate()


class Results:
    """A file of lines, and a table on the terminal. Without a file there is only the table."""

    def __init__(self, path):
        self.path = path

    def append(self, line):
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n")

    def figure(self, *, version=None, decodes=None, amount=None, work=None, turn=None, paces=None,
               **members):
        """Appends a figure; what is None is left out."""
        optional = {"version": version or None, "decodes": decodes, "amount": amount, "work": work, "turn": turn,
                    "paces": paces}
        self.append({**members, **{name: value for name, value in optional.items() if value is not None}})

    def own(self, program, arguments, turn, limit):
        """Runs a program of this package, which has written its figures when it ends, and appends them with their turn.

        Status 1 is a bar that is missed: it is held against all turns together, and not here.
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

    def missing(self, subject, why):
        """Names what has no figure, and why."""
        why = " ".join(why.split())[:300]
        self.append({"missing": {"subject": subject, "why": why}})
        print(f"  {subject}: MISSING: {why}", flush=True)


def run_limited(words, limit, **options):
    """A program that has ended, with what it printed. One that takes longer is ended with all that it has started."""
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
    """Told to end, a program ends what it has started."""
    for sign in [signal.SIGTERM, signal.SIGHUP]:
        signal.signal(sign, lambda number, _: sys.exit(128 + number))


def last_line(text):
    """What a program said last: its error."""
    lines = [line for line in (text or "").strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no answer"


def scaled(value):
    """A value with as many digits as say something."""
    if value >= 1e6:
        return f"{value / 1e6:,.2f} M"
    if value >= 1e4:
        return f"{value / 1e3:,.1f} k"
    return f"{value:,.1f}" if value >= 10 else f"{value:.2f}"


def spread(runs):
    """The median, and the range behind it."""
    return f"{scaled(statistics.median(runs)):>10}  ({scaled(min(runs))} to {scaled(max(runs))})"
