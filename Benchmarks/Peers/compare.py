"""Runs this parser and its peers over the same streams on one core, and prints them side by side.

Usage: compare.py --ours SSE-THROUGHPUT --corpora FOLDER [--core N] [--pace MACHINE-PACE] [--json FILE]
           [--results FILE] [--rounds N] [--workloads W,W...] -- PEERS

PEERS is a JSON list of {"peer": name, "command": [program, argument...]}; each command is given the folder, the name
and the workloads. FILE of --results gets the figures, as ../RESULTS.md has them. In each round
every parser is a process of its own, and so is this one. MACHINE-PACE looks how fast the core is meanwhile: what is
printed is the middle of the calmer half of all passes, as on a core that nobody shares, and the best pass where nothing
is known of the core. Who had it for itself in less than half of the passes has up to three more rounds. Ends with
status 1 when this parser is not fast enough beside the fastest peer that is right on model deltas in chunks of 16 KiB,
or when a peer gave no answer.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from paced import Runs
from results import CorePace, Results, end_on_request, last_line, run_limited

WORKLOADS = [
    "model-deltas/16384",
    "tiny-events/16384",
    "long-lines/16384",
    "multi-line-data/16384",
    "model-deltas-crlf/16384",
    "model-deltas/37",
    "model-deltas/1",
    "model-deltas/4194304",
]
# How many times as fast as the fastest peer this parser has to be, and on which workload.
BAR = 2.5
BAR_WORKLOAD = WORKLOADS[0]
# How many more rounds there are at most for those that others disturbed.
MORE_ROUNDS = 3
# How long they all wait for a calm core, in seconds.
PATIENCE = 30
# A peer that takes so many seconds hangs.
TIME_LIMIT = 600
OURS = "ServerSentEvents"
NOTES = {"gin-contrib/sse": "reads the stream to its end before it parses: the size of chunks is nothing to it"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--corpora", type=pathlib.Path, required=True)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--pace")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--results")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--workloads", type=lambda text: text.split(","), default=WORKLOADS)
    parser.add_argument("peers", type=json.loads)
    return parser.parse_args()


def run_ours(options, workloads, written, turn):
    """This parser's results, in the form of a peer's. sse-throughput checks the outcome itself."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "ours.json"
        words = ["--core", str(options.core), "--repetitions", "5", "--json", file, *workloads]
        written.own(options.ours, words, turn, TIME_LIMIT)
        run = json.loads(file.read_text())
    return [
        {"peer": OURS, "version": "this checkout", "workload": item["workload"], "byteCount": item["byteCount"],
         "eventCount": item["eventCount"], "seconds": item["seconds"], "paces": item.get("paces"),
         "speed": item["byteCount"] / item["bestSeconds"], "verdict": "right"}
        for item in run["measurements"]
    ]


def run_peer(options, facts, peer, workloads=None, pace=None):
    """A peer's answers; raises RuntimeError with the reason when it gives none."""
    pinned = ["taskset", "--cpu-list", str(options.core)] if shutil.which("taskset") else []
    try:
        words = [*pinned, *peer["command"], options.corpora, peer["peer"], *(workloads or options.workloads)]
        process = run_limited(words, TIME_LIMIT)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"no answer after {TIME_LIMIT} s") from error
    except OSError as error:
        raise RuntimeError(str(error)) from error
    if process.returncode != 0 or not process.stdout.strip():
        raise RuntimeError(last_line(process.stderr))
    try:
        answers = [judged(json.loads(line), facts) for line in process.stdout.splitlines()]
        for answer in answers:
            answer["paces"] = pace.shares(answer["spans"]) if pace and answer["verdict"] == "right" else None
    except (ValueError, KeyError) as error:
        raise RuntimeError(f"an answer that cannot be read: {error!r}") from error
    for answer in answers:
        speed = f"{answer['speed'] / 1e6:.1f} MB/s" if answer["verdict"] == "right" else answer["verdict"]
        print(f"  {peer['peer']:<28}{answer['workload']:<28}{speed}", flush=True)
    return answers


def judged(result, facts):
    """A result with its speed, and whether it found what is in the stream."""
    if "error" in result:
        return {**result, "verdict": "error", "why": result["error"]}
    prefixes = {prefix["byteCount"]: prefix["facts"] for prefix in facts[result["workload"].split("/")[0]]}
    expected = prefixes[result["byteCount"]]
    result["speed"] = result["byteCount"] / min(result["seconds"])
    for name in ["eventCount", "dataByteCount", "dataChecksum"]:
        if result[name] != expected[name]:
            return {**result, "verdict": "wrong", "why": f"{name} {result[name]}, in the stream {expected[name]}"}
    return {**result, "verdict": "right"}


def append_figures(results, measured, turn):
    """Writes the speed of a peer where it is right."""
    for result in measured:
        if result["verdict"] != "right":
            continue
        work = {"eventCount": result["eventCount"], "byteCount": result["byteCount"],
                "checksum": f"crc32:{result['dataChecksum']:08x}"}
        speeds = [result["byteCount"] / seconds for seconds in result["seconds"]]
        results.figure(group="parser", workload=result["workload"], subject=result["peer"], way="",
                       measure="throughput", unit="bytes/s", better="higher", runs=speeds, work=work,
                       version=result["version"], turn=turn, paces=result["paces"])


def append_missing(results, measured):
    """Says where a peer is not right."""
    for result in measured:
        if result["verdict"] != "right":
            why = f"parser, {result['workload']}: {result['verdict']}: {result['why']}"
            results.append({"missing": {"subject": result["peer"], "why": why}})


def best_of_rounds(results):
    """The best answer of each parser at each workload; one that is not right stands for all."""
    best = {}
    for result in results:
        key = result["peer"], result["workload"]
        if key not in best or (best[key]["verdict"] == "right" and (
                result["verdict"] != "right" or result["speed"] > best[key]["speed"])):
            best[key] = result
    return list(best.values())


def passes_of(results, peer, workload):
    """The speeds of all passes, with the paces of their core."""
    passes = Runs("higher")
    for item in results:
        if (item["peer"], item["workload"], item["verdict"]) == (peer, workload, "right"):
            passes.add([item["byteCount"] / seconds for seconds in item["seconds"]], item["paces"])
    return passes


def with_undisturbed_speeds(best, results):
    """The best answers, with the speed in the middle of the calmer passes; that of the best where no pace is known."""
    for result in best:
        passes = passes_of(results, result["peer"], result["workload"])
        if result["verdict"] == "right" and passes.paces:
            result["speed"] = statistics.median(passes.by_pace)
    return best


def cell(result, ours):
    if result is None:
        return "-"
    if result["verdict"] != "right":
        return result["verdict"]
    speed = result["speed"] / 1e6
    text = f"{speed:.0f}" if speed >= 100 else f"{speed:.1f}"
    return text if result is ours else f"{text} ({ours['speed'] / result['speed']:.1f}x)"


def print_table(options, results):
    """One row a parser, one column a workload: MB/s, and how many times as fast this parser is."""
    by_name = {}
    for result in results:
        by_name.setdefault(result["peer"], {})[result["workload"]] = result
    ours = by_name[OURS]
    first = options.workloads[0]
    order = sorted(by_name, key=lambda name: -by_name[name].get(first, {}).get("speed", 0))
    rows = [["MB/s (ours is x times as fast)", *options.workloads]]
    for name in order:
        version = next(iter(by_name[name].values()))["version"]
        rows.append([f"{name} {version}", *(cell(by_name[name].get(item), ours[item]) for item in options.workloads)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) if column == 0 else text.rjust(width)
                        for column, (text, width) in enumerate(zip(row, widths))).rstrip())
    print()
    for name in order:
        if name in NOTES:
            print(f"{name} {NOTES[name]}.")
    for result in results:
        if result["verdict"] != "right":
            print(f"{result['peer']}, {result['workload']}: {result['verdict']}: {result['why']}")


def keeps_bar(options, results):
    if BAR_WORKLOAD not in options.workloads:
        return True
    right = [result for result in results if result["verdict"] == "right"]
    first = [result for result in right if result["workload"] == BAR_WORKLOAD]
    ours = next(result for result in first if result["peer"] == OURS)
    peers = [result for result in first if result["peer"] != OURS]
    if not peers:
        print("No peer is right: nothing to compare with.")
        return False
    fastest = max(peers, key=lambda result: result["speed"])
    factor = ours["speed"] / fastest["speed"]
    print(f"On {BAR_WORKLOAD}: {factor:.2f} times as fast as the fastest peer, {fastest['peer']} "
          f"{fastest['version']}; must be {BAR}: {'ok' if factor >= BAR else 'MISSED'}")
    return factor >= BAR


def disturbed(options, results, name):
    """The workloads at which somebody had the core for itself in less than half of the passes that it needs."""
    found = []
    for workload in options.workloads:
        passes = passes_of(results, name, workload)
        rounds = sum((item["peer"], item["workload"]) == (name, workload) for item in results)
        if passes.runs and not passes.are_enough(len(passes.runs) * options.rounds // rounds):
            found.append(workload)
    return found


def measure(options, facts, written, pace):
    """All answers, and the names of those that gave none."""
    results, silent, patience = [], [], PATIENCE
    for turn in range(1, options.rounds + MORE_ROUNDS + 1):
        for peer in [{"peer": OURS}, *options.peers]:
            name = peer["peer"]
            workloads = options.workloads if turn <= options.rounds else disturbed(options, results, name)
            if name in silent or not workloads:
                continue
            if turn > options.rounds and pace:
                patience = pace.wait_for_calm(patience)
            if name == OURS:
                results += run_ours(options, workloads, written, turn)
                continue
            try:
                answers = run_peer(options, facts, peer, workloads, pace)
            except RuntimeError as error:
                written.missing(name, f"parser: {error}")
                silent.append(name)
                continue
            append_figures(written, answers, turn)
            results += answers
    return results, silent


def main():
    options = arguments()
    facts = {item["corpus"]: item["prefixes"] for item in json.loads((options.corpora / "facts.json").read_text())}
    end_on_request()
    written = Results(options.results)
    pace = CorePace(options.pace, options.core) if options.pace else None
    results, silent = measure(options, facts, written, pace)
    if pace:
        pace.close()
    results = with_undisturbed_speeds(best_of_rounds(results), results)
    append_missing(written, results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    print_table(options, results)
    is_reached = keeps_bar(options, results)
    if silent:
        print(f"No answer: {', '.join(silent)}")
    sys.exit(0 if is_reached and not silent else 1)


if __name__ == "__main__":
    main()
