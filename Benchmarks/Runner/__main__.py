"""The command: `python3 -m Runner run | report | compare | readme`."""

from __future__ import annotations

import argparse
import pathlib
import signal
import sys

from . import compare, measuring, page, readme, table
from .figures import ResultsError
from .results import Results

BENCHMARKS = pathlib.Path(__file__).resolve().parent.parent
REPOSITORY = BENCHMARKS.parent
OUTPUT = BENCHMARKS / ".build" / "results"


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Runner", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)

    run = commands.add_parser("run", help="measure, and write results.json and report.html")
    add_measuring(run)
    run.add_argument("--output", type=pathlib.Path, default=OUTPUT, help="the folder of results.json and report.html")
    run.add_argument("--peers", type=pathlib.Path, help="the script that measures the peers")
    run.add_argument("--said", default="", help="the command that results.json names")

    report = commands.add_parser("report", help="make report.html again from results.json")
    report.add_argument("results", type=pathlib.Path, nargs="?", default=OUTPUT / "results.json")
    report.add_argument("--output", type=pathlib.Path, help="the file (report.html beside the results)")

    comparison = commands.add_parser("compare", help="say what a change did")
    add_measuring(comparison)
    comparison.add_argument("base", help="a results.json, or the programs' folder of another revision")
    comparison.add_argument("--results", type=pathlib.Path, default=OUTPUT / "results.json",
                            help="what is compared with a results.json")
    comparison.add_argument("--rounds", type=int, default=3, help="how often both are measured in turn, 3 or more")
    comparison.add_argument("--output", type=pathlib.Path, default=BENCHMARKS / ".build" / "compare")

    tables = commands.add_parser("readme", help="write the tables of figures into the READMEs")
    tables.add_argument("--check", action="store_true", help="write nothing; status 1 when they differ")
    tables.add_argument("--results", type=pathlib.Path, default=BENCHMARKS / "Results" / "results.json")
    return parser.parse_args(arguments)


def add_measuring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--programs", type=pathlib.Path, help="the folder of the programs, built for release")
    parser.add_argument("--filter", default="", help="part of a group, of a workload or of a figure's name")
    parser.add_argument("--load-before", type=float, help="the load before the programs were built")
    parser.add_argument("--no-counts", action="store_true", help="do not count instructions under callgrind")


def run(given: argparse.Namespace) -> int:
    if given.programs is None:
        raise ResultsError("run needs --programs")
    results = measuring.measure(given, REPOSITORY)
    given.output.mkdir(parents=True, exist_ok=True)
    results.save(given.output / "results.json")
    print(table.text(results))
    print(f"written: {given.output / 'results.json'}", flush=True)
    (given.output / "report.html").write_text(page.html(results), encoding="utf-8")
    print(f"written: {given.output / 'report.html'}")
    return 1 if results.missed or results.failed else 0


def report(given: argparse.Namespace) -> int:
    target = given.output or given.results.with_name("report.html")
    text = page.html(Results.load(given.results))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    print(f"written: {target}")
    return 0


def main(arguments: list[str]) -> int:
    given = options(arguments)
    commands = {"run": run, "report": report, "compare": compare.command,
                "readme": lambda given: readme.command(given, REPOSITORY)}
    # Told to end, it ends what it has started.
    for sign in [signal.SIGTERM, signal.SIGHUP]:
        signal.signal(sign, lambda number, _: sys.exit(128 + number))
    try:
        return commands[given.command](given)
    except ResultsError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
