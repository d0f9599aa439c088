#!/usr/bin/env python3
"""Plants faults on paths, and expects `chappie doctor` to name each one, and none on a healthy path.

    run.py --chappie BIN                   every case that needs no netem
    run.py --chappie BIN --netem           the cases that need it, one after another
    run.py --chappie BIN --only WORDS      the cases whose names contain the words, with what was printed
    run.py --list                          the table of the cases

--namespace says that the network, the resolver and the users are the run's own (Scripts/doctor-faults.sh), and
--mitmdump names that program. Exit code: 0 when every case is as expected, else 1.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import bench as benches
import boxes
import cases
import healthy_paths  # noqa: F401 (its cases enter the list)

LIMIT = 60  # seconds for an examination, which takes 20 s at most and the silences
EXIT = {"works": 0, "degraded": 75, "fails": 69}


def examine(chappie, path):
    """Runs the command; returns its exit code, its report, and what is wrong with the run itself."""
    command = [*path.prefix, chappie, "doctor", "--json", "--full", *path.options, path.url]
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                                env=benches.environment(**path.environment))
    except subprocess.TimeoutExpired:
        return None, {}, f"did not end in {LIMIT} s"
    try:
        return result.returncode, json.loads(result.stdout), ""
    except ValueError:
        return result.returncode, {}, f"exit {result.returncode}, no report: {(result.stdout + result.stderr)[:200]}"


def judged(case, code, report):
    """Returns what is not as expected, in words; "" for nothing."""
    found = [cause["name"] for cause in report["causes"]]
    expected, verdict = case.causes, case.verdict
    if case.is_chance and not found:
        expected, verdict = [], "works"
    if found != expected:
        return f"causes {found}, not {expected}: {report['sentence']}"
    if report["verdict"] != verdict or code != EXIT[verdict]:
        return f"verdict {report['verdict']} with exit code {code}, not {verdict}"
    for cause in report["causes"]:
        if cause["step"] != cases.STEPS[cause["name"].split(".")[0]]:
            return f"the cause {cause['name']} is of the step {cause['step']}"
    outcomes = {step["step"]: step["outcome"] for step in report["steps"]}
    # Where everything works, what was found is a remark.
    if (verdict != "works") != bool({"failed", "degraded"} & set(outcomes.values())):
        return f"steps {outcomes}"
    return ""


def run(case, arguments):
    """Runs a case; returns its result, seconds, words, and the report."""
    if case.place == cases.NAMESPACE and not arguments.namespace:
        return "skipped", 0, "no network and mount namespaces here", {}
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="doctor-faults-", ignore_cleanup_errors=True))
        try:
            path = case.plant(benches.Bench(arguments.chappie, arguments.mitmdump, folder, stack))
        except benches.Missing as missing:
            return "skipped", 0, str(missing), {}
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            return "FAILED", time.monotonic() - started, f"cannot be planted: {error}", {}
        started = time.monotonic()
        code, report, trouble = examine(arguments.chappie, path)
        seconds = time.monotonic() - started
    words = trouble or judged(case, code, report)
    return ("FAILED" if words else "ok"), seconds, words or ", ".join(case.causes) or "no cause", report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chappie")
    parser.add_argument("--mitmdump", default=shutil.which("mitmdump"))
    parser.add_argument("--namespace", action="store_true")
    parser.add_argument("--netem", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        for case in cases.CASES:
            print(f"{case.verdict:9} {case.name:55} {', '.join(case.causes)}")
        return 0
    chosen = [case for case in cases.CASES
              if (case.place == cases.NETEM) == arguments.netem and arguments.only in case.name]
    resolver = boxes.Resolver() if arguments.namespace else None
    counts = {"ok": 0, "skipped": 0, "FAILED": 0}
    # Examinations wait most of the time. More of them at once would be late on two cores.
    with concurrent.futures.ThreadPoolExecutor(1 if arguments.netem else 6) as pool:
        results = [(case, pool.submit(run, case, arguments)) for case in chosen]
        for case, future in results:
            result, seconds, words, report = future.result()
            if result == "FAILED":
                # Once more without the others, which may have taken the time; what fails twice is no matter of load.
                concurrent.futures.wait([other for _, other in results])
                print(f"{'again':18}{case.name}: {words}", flush=True)
                result, seconds, words, report = run(case, arguments)
            counts[result] += 1
            print(f"{result:8} {seconds:5.1f} s  {case.name}: {words}", flush=True)
            if report and (result == "FAILED" or arguments.only):
                for step in report["steps"]:
                    print(f"{'':18} {step['step']:12} {step['outcome']:9} {step['words']}")
    if resolver:
        resolver.close()
    if not chosen:
        return 0
    done = [case for case in chosen if not case.causes]
    print(f"{len(chosen) - len(done)} planted faults and {len(done)} healthy paths: {counts['ok']} as expected, "
          f"{counts['FAILED']} not, {counts['skipped']} skipped")
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
