"""The command `python3 -m Runner run | report | readme`, which Scripts/bench.sh calls."""

from __future__ import annotations

import argparse
import datetime
import pathlib
import signal
import sys
import time

from . import machine, page, programs, readme, table
from .figures import ResultsError
from .results import Results

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Runner", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)

    run = commands.add_parser("run", help="measure; write results.json and report.html; print the table")
    run.add_argument("--programs", type=pathlib.Path, required=True, help="the folder of the programs")
    run.add_argument("--filter", default="", help="part of a group and a workload, such as parser/tiny")
    run.add_argument("--output", type=pathlib.Path, required=True, help="the folder of results.json")
    run.add_argument("--peers", type=pathlib.Path, help="the script that measures the peers")
    run.add_argument("--said", default="", help="the command that results.json names")
    run.add_argument("--load-before", type=float, required=True, help="the load before the programs were built")

    report = commands.add_parser("report", help="make report.html again from results.json")
    report.add_argument("results", type=pathlib.Path)

    tables = commands.add_parser("readme", help="write RESULTS.md and the README's table")
    task = tables.add_mutually_exclusive_group(required=True)
    task.add_argument("--check", action="store_true", help="write nothing; status 1 when they differ")
    task.add_argument("--results", type=pathlib.Path, help="the results.json to read")
    return parser.parse_args(arguments)


def run(given: argparse.Namespace) -> int:
    start = time.monotonic()
    results = Results(
        date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), command=given.said,
        machine=machine.describe(given.load_before), versions=machine.versions(), **machine.commit(REPOSITORY))
    results.warnings = machine.warnings(results.machine)
    outcomes = programs.run_all(given.programs, given.filter, given.output / "programs.log", given.peers)
    results.failures = {name: outcome.failure for name, outcome in outcomes.items() if outcome.failure}
    results.missing = [item for outcome in outcomes.values() for item in outcome.missing]
    results.take([figure for outcome in outcomes.values() for figure in outcome.figures])
    results.seconds = round(time.monotonic() - start, 1)
    if not outcomes:
        raise ResultsError(f"no figure has '{given.filter}' in its name")
    results.save(given.output / "results.json")
    print(table.text(results))
    write_report(results, given.output / "report.html")
    return 1 if results.missed or results.unjudged or results.failures else 0


def write_report(results: Results, path: pathlib.Path) -> None:
    path.write_text(page.html(results), encoding="utf-8")
    print(f"written: {path}")


def main(arguments: list[str]) -> int:
    given = options(arguments)
    # An exit ends the programs that were started.
    for sign in [signal.SIGTERM, signal.SIGHUP]:
        signal.signal(sign, lambda number, _: sys.exit(128 + number))
    try:
        if given.command == "run":
            return run(given)
        if given.command == "report":
            write_report(Results.load(given.results), given.results.with_name("report.html"))
        elif given.check:
            return readme.check(REPOSITORY)
        else:
            readme.write(Results.load(given.results), REPOSITORY)
        return 0
    except ResultsError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
