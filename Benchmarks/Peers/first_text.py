"""Times the first text of a response: codex, openai, this package, and its command line, process included.

Usage: first_text.py --chappie FILE --bin FOLDER --python FILE --codex FILE [--results FILE] [--filter TEXT]
       first_text.py --names

`chappie serve` answers with a short text in one delta. `cold`: a connection of its own; `warm`: a connection that has
had a response; `refused-upgrade`: each upgrade is answered 426; `black-holed-upgrade`: each is accepted by TCP and
never answered. All are measured in rounds; FOLDER has recovery-figures, which measures this package, and empty-program,
beside which the command line has a bar in each round. codex prints whole items, so its time is that of the answer,
which has one delta. With `black-holed-upgrade` it waits for minutes, and is not measured.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from results import (
    CLIENT_CORE, SERVER_CORE, Results, end_on_request, environment, in_rounds, last_line, report, run_limited)

FOLDER = pathlib.Path(__file__).resolve().parent
INTEROPERABILITY = FOLDER.parents[1] / "Tests/Stack/Interoperability"
# An answer with one delta, and its text.
ANSWER = FOLDER.parent / "one-delta.jsonl"
TEXT = "There is a ship in it."
ROUNDS = 9
# The rounds of black-holed-upgrade, where each run waits for a timeout.
WAITING_ROUNDS = 5
# The seconds after which a program counts as hanging.
LIMIT = 60
# The runs of this package in a round, by its own program and against its own server.
OWN_RUN_COUNT = 10
SCENARIOS = {"cold": [], "warm": [], "refused-upgrade": ["--scenario", "hs-426"],
             "black-holed-upgrade": ["--scenario", "hs-hang"]}


@dataclasses.dataclass(frozen=True)
class Subject:
    """A program whose first text is timed, with one of its interfaces."""

    name: str
    way: str
    kind: str
    workloads: tuple


OWN = Subject("chappie", "", "own", ("cold", "warm"))
STREAM = Subject("chappie", "chappie stream, process included", "chappie",
                 ("cold", "refused-upgrade", "black-holed-upgrade"))
EMPTY = Subject("machine", "empty program with Foundation, linked dynamically", "empty", ("cold",))
# The largest ratio of the two, and its name: `chappie` is measured as it is installed, with Swift's libraries in it.
START_LIMIT = 1.5
START_RATIO = "time beside an empty program that is linked dynamically"
SUBJECTS = [
    OWN, EMPTY, STREAM,
    Subject("codex", "exec --json, whole answer, process included", "codex", ("cold", "refused-upgrade")),
    Subject("openai", "responses.connect()", "openai-websocket", tuple(SCENARIOS)),
    Subject("openai", "responses.create(stream=True)", "openai-sse", ("cold", "warm")),
    Subject("openai", "responses.connect(), whole answer, process included", "openai-websocket-process", ("cold",)),
    Subject("openai", "responses.create(stream=True), whole answer, process included", "openai-sse-process", ("cold",)),
]


class Server:
    """`chappie serve` on the server's core."""

    def __init__(self, options, workload):
        words = ["taskset", "--cpu-list", str(SERVER_CORE), options.chappie, "serve", "--recording", ANSWER]
        self.process = subprocess.Popen([*words, *SCENARIOS[workload]], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().removeprefix("listening on ").strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def timed(words, found, **environment_members):
    """Returns the milliseconds from the start of a process until `found` accepts its output."""
    start = time.perf_counter()
    words = ["timeout", "--foreground", "--kill-after", "5", str(LIMIT),
             "taskset", "--cpu-list", str(CLIENT_CORE), *words]
    moment, output = None, b""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                   env=environment(**environment_members))
        while piece := os.read(process.stdout.fileno(), 65536):
            output += piece
            if moment is None and found(output.decode(errors="replace")):
                moment = time.perf_counter()
        status = process.wait()
        log.seek(0)
        errors = log.read().decode(errors="replace")
    if status in (124, -signal.SIGKILL, 128 + signal.SIGKILL):
        raise RuntimeError(f"no text after {LIMIT} s")
    if moment is None:
        raise RuntimeError(last_line(errors or output.decode(errors="replace")))
    return (moment - start) * 1000


def time_chappie(options, url, folder):
    words = [options.chappie, "stream", "--base-url", url, "--api-key", "sk-fake", "--model", "paper-and-ink", "Hello"]
    return timed(words, lambda output: TEXT in output)


def time_empty(options, url, folder):
    return timed([options.bin / "empty-program"], bool)


def says_text(output):
    """Returns whether the output of codex has a whole line with its message."""
    for line in output.split("\n")[:-1]:
        item = json.loads(line).get("item", {}) if line.startswith("{") else {}
        if item.get("type") == "agent_message" and item.get("text") == TEXT:
            return True
    return False


def time_codex(options, url, folder):
    home = folder / "codex"
    (home / "project").mkdir(parents=True, exist_ok=True)
    port = url.rsplit(":", 1)[1].split("/")[0]
    configuration = (INTEROPERABILITY / "codex.toml").read_text()
    (home / "config.toml").write_text(configuration.replace("@PORT@", port).replace("@WEBSOCKETS@", "true"))
    words = [options.codex, "exec", "--skip-git-repo-check", "--sandbox", "read-only", "--json", "--disable", "plugins",
             "--cd", home / "project", "Hello"]
    return timed(words, says_text, CODEX_HOME=str(home), LOOPBACK_KEY="sk-fake")


def time_openai_process(transport):
    def run(options, url, folder):
        words = [options.python, INTEROPERABILITY / "openai_client.py", transport, url]
        return timed(words, lambda output: TEXT in output)
    return run


TIMERS = {"chappie": time_chappie, "empty": time_empty, "codex": time_codex,
          "openai-websocket-process": time_openai_process("websocket"),
          "openai-sse-process": time_openai_process("sse")}


def time_in_process(options, subject, workload, url):
    """Returns the runs of a client that stays in one process."""
    words = [options.python, FOLDER / "first_text_openai.py", subject.kind.removeprefix("openai-"), workload, url, TEXT]
    process = run_limited(["taskset", "--cpu-list", str(CLIENT_CORE), *words], LIMIT, env=environment())
    if process.returncode != 0:
        raise RuntimeError(last_line(process.stderr))
    return json.loads(process.stdout)


def runs_of(options, results, subject, workload, folder, turn):
    """Returns the runs of a round: several of a client that stays in one process."""
    if subject == OWN:
        words = ["--runs", str(OWN_RUN_COUNT), f"first-text/{workload}"]
        figure, = results.own(options.bin / "recovery-figures", words, turn, LIMIT)
        return figure["runs"]
    with Server(options, workload) as server:
        if subject.kind not in TIMERS:
            return time_in_process(options, subject, workload, server.url)
        timer = TIMERS[subject.kind]
        home = folder / f"{subject.kind}-{workload}"
        # A run before the first one creates the files of a new home and loads the program's pages.
        if turn == 1 and workload != "black-holed-upgrade":
            timer(options, server.url, home)
        return [timer(options, server.url, home)]


def version_of(options, subject):
    if subject.name == "openai":
        code = "import importlib.metadata; print(importlib.metadata.version('openai'))"
        return subprocess.run([options.python, "-c", code], capture_output=True, text=True).stdout.strip()
    if subject.name == "codex":
        return subprocess.run([options.codex, "--version"], capture_output=True, text=True).stdout.split()[-1]
    return None


def measure(options, results, subjects, workload, folder):
    """Measures subjects in rounds; a subject that fails is named, and left out of later rounds."""
    runs = {subject: [] for subject in subjects}

    def take(subject, turn):
        runs[subject] += runs_of(options, results, subject, workload, folder, turn)

    def fail(subject, error):
        results.missing(subject.name, f"first-text {workload}, {subject.way}: {error}")

    rounds = WAITING_ROUNDS if workload == "black-holed-upgrade" else ROUNDS
    for subject in in_rounds(rounds, subjects, take, fail):
        if subject != OWN:
            record(options, results, subject, workload, runs[subject])
        report(", ".join(part for part in [subject.name, subject.way] if part), runs[subject], "ms")
    ratios = [own / empty for own, empty in zip(runs.get(STREAM, []), runs.get(EMPTY, []))]
    if ratios:
        results.figure(group="first-text", workload=workload, subject=STREAM.name, way=STREAM.way,
                       measure=START_RATIO, unit="×", better="lower", runs=ratios,
                       bar={"atMost": START_LIMIT})
    elif STREAM in subjects and workload in EMPTY.workloads:
        results.missing(EMPTY.name, f"first-text {workload}: no verdict: {START_RATIO}", bar=START_RATIO)


def record(options, results, subject, workload, runs):
    """Appends a figure."""
    try:
        version = version_of(options, subject)
    except (OSError, IndexError) as error:
        results.missing(subject.name, f"first-text {workload}, {subject.way}: no version: {error}")
        return
    results.figure(group="first-text", workload=workload, subject=subject.name, way=subject.way, measure="time",
                   unit="ms", better="lower", runs=runs, version=version, decodes=None if subject == EMPTY else True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chappie", required=True)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--codex", required=True)
    parser.add_argument("--results")
    parser.add_argument("--filter", default="")
    return parser.parse_args()


def names():
    """The names that a filter is compared with."""
    return [name_of(subject, workload) for subject in SUBJECTS for workload in subject.workloads]


def name_of(subject, workload):
    return f"first-text/{workload} {subject.name}, {subject.way}"


def chosen(workload, wanted):
    """Returns the subjects that a filter selects, with those that are measured in the same rounds."""
    found = [subject for subject in SUBJECTS if workload in subject.workloads and wanted in name_of(subject, workload)]
    # This package has its turn beside its peers, and the empty program beside the command line, for its bar.
    beside = ([OWN] if found else []) + ([EMPTY] if STREAM in found else [])
    return [subject for subject in SUBJECTS
            if subject in found or subject in beside and workload in subject.workloads]


def main():
    if sys.argv[1:] == ["--names"]:
        print(*names(), sep="\n")
        return
    options = arguments()
    end_on_request()
    results = Results(options.results)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for workload in SCENARIOS:
            if subjects := chosen(workload, options.filter):
                print(f"first-text {workload}", flush=True)
                measure(options, results, subjects, workload, folder)


if __name__ == "__main__":
    sys.exit(main())
