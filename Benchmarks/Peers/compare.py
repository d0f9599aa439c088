"""Runs this parser and its peers over the same streams on one core, in rounds.

Usage: compare.py --ours SSE-THROUGHPUT --corpora FOLDER [--results FILE] WORKLOADS PEERS

WORKLOADS are names with commas between them, PEERS a JSON list of {"peer": name, "command": [program, argument...]};
each command is given the folder, the name and the workloads. In each round every parser is a process of its own, and so
is this one. Ends with status 1 when this parser is not BAR times as fast as the fastest peer on model deltas, by the
medians, or when a peer gave no answer.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

from results import CLIENT_CORE, Results, end_on_request, in_rounds, last_line, report, run_limited

# This parser has to be at least this many times as fast as the fastest peer, on this workload.
BAR = 2.5
BAR_WORKLOAD = "model-deltas/16384"
# The seconds after which a parser counts as hanging.
TIME_LIMIT = 600
OURS = {"peer": "chappie"}
ROUNDS = 5


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--corpora", type=pathlib.Path, required=True)
    parser.add_argument("--results")
    parser.add_argument("workloads", type=lambda text: text.split(","))
    parser.add_argument("peers", type=json.loads)
    return parser.parse_args()


def ask(options, peer):
    """Returns a peer's answers; raises RuntimeError with the reason when there are none."""
    pinned = ["taskset", "--cpu-list", str(CLIENT_CORE)] if shutil.which("taskset") else []
    try:
        process = run_limited([*pinned, *peer["command"], options.corpora, peer["peer"], *options.workloads],
                              TIME_LIMIT)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"no answer after {TIME_LIMIT} s") from error
    if process.returncode != 0 or not process.stdout.strip():
        raise RuntimeError(last_line(process.stderr))
    try:
        return [json.loads(line) for line in process.stdout.splitlines()]
    except ValueError as error:
        raise RuntimeError(f"an answer that cannot be read: {error}") from error


def mistake(answer, facts):
    """Returns how an answer differs from the facts of its stream; None when it is right."""
    if "error" in answer:
        return answer["error"]
    prefixes = {prefix["byteCount"]: prefix["facts"] for prefix in facts[answer["workload"].split("/")[0]]}
    expected = prefixes[answer["byteCount"]]
    for name in ["eventCount", "dataByteCount", "dataChecksum"]:
        if answer[name] != expected[name]:
            return f"{name} {answer[name]}, in the stream {expected[name]}"
    return None


def take(results, answer, turn):
    """Appends the speed of a peer whose answer is right, and returns its runs."""
    speeds = [answer["byteCount"] / seconds for seconds in answer["seconds"]]
    results.figure(group="parser", workload=answer["workload"], subject=answer["peer"], way="", measure="throughput",
                   unit="bytes/s", better="higher", runs=speeds, version=answer["version"], turn=turn)
    return speeds


def keeps_bar(speeds):
    """Returns whether this parser holds the bar; `speeds` has the runs by peer and workload."""
    medians = {peer: statistics.median(runs) for (peer, workload), runs in speeds.items() if workload == BAR_WORKLOAD}
    ours = medians.pop(OURS["peer"], None)
    if ours is None or not medians:
        return True
    fastest = max(medians, key=medians.get)
    factor = ours / medians[fastest]
    print(f"{BAR_WORKLOAD}: {factor:.2f} times as fast as {fastest}; the bar is {BAR}: "
          f"{'ok' if factor >= BAR else 'MISSED'}", flush=True)
    if factor < BAR:
        # No figure has this bar: the runner reads the miss from this line.
        print(f"bench-peers.sh: parser/{BAR_WORKLOAD}: {factor:.2f} times as fast as {fastest}, the bar is {BAR}",
              file=sys.stderr, flush=True)
    return factor >= BAR


def main():
    options = arguments()
    end_on_request()
    facts = {item["corpus"]: item["prefixes"] for item in json.loads((options.corpora / "facts.json").read_text())}
    results, speeds, failed = Results(options.results), {}, set()

    def fail(peer, error):
        failed.add(peer["peer"])
        results.missing(peer["peer"], f"parser: {error}")

    def measure(peer, turn):
        if peer is OURS:
            words = ["--core", str(CLIENT_CORE), "--repetitions", "5", *options.workloads]
            for figure in results.own(options.ours, words, turn, TIME_LIMIT):
                if (figure["subject"], figure["measure"]) == (OURS["peer"], "throughput"):
                    speeds.setdefault((OURS["peer"], figure["workload"]), []).extend(figure["runs"])
            return
        for answer in ask(options, peer):
            key = answer["peer"], answer["workload"]
            if wrong := mistake(answer, facts):
                if key not in failed:
                    results.missing(answer["peer"], f"parser, {answer['workload']}: wrong: {wrong}")
                failed.add(key)
                speeds.pop(key, None)
            elif key not in failed:
                speeds.setdefault(key, []).extend(take(results, answer, turn))

    in_rounds(ROUNDS, [OURS, *options.peers], measure, fail)
    for (peer, workload), runs in speeds.items():
        report(f"{peer}, {workload}", [run / 1e6 for run in runs], "MB/s")
    is_held = keeps_bar(speeds)
    sys.exit(0 if is_held and not any(isinstance(name, str) for name in failed) else 1)


if __name__ == "__main__":
    main()
