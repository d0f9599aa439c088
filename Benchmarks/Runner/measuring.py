"""Runs the programs one after another, and makes one result of what they say."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import pathlib
import sys
import time

from . import counts, machine, programs, table
from .figures import ResultsError
from .programs import Outcome, Program
from .results import Results


def say(text: str) -> None:
    """What is going on, for whoever waits."""
    print(text, file=sys.stderr, flush=True)


def measure(given: argparse.Namespace, repository: pathlib.Path) -> Results:
    """A whole run: everything that the filter asks for, with where and when it was."""
    start = time.monotonic()
    results = Results(
        date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        command=given.said or " ".join(sys.argv), filter=given.filter, machine=machine.describe(given.load_before),
        versions=machine.versions(), **machine.commit(repository))
    results.warnings = machine.warnings(results.machine)
    for warning in results.warnings:
        say(f"warning: {warning}")
    outcomes = run_all(given.programs, given.filter, given.output, peers=given.peers, has_counts=not given.no_counts)
    results.programs = [outcome.to_json() for outcome in outcomes]
    results.missing = [item for outcome in outcomes for item in outcome.missing]
    results.take([figure for outcome in outcomes for figure in outcome.figures])
    results.seconds = round(time.monotonic() - start, 1)
    if given.filter and not (results.figures or results.failed or results.missing):
        raise ResultsError(f"no figure is called like '{given.filter}'")
    return results


def run_all(folder: pathlib.Path, wanted: str, output: pathlib.Path, peers: pathlib.Path | None = None,
            has_counts: bool = True, left_out: frozenset[str] = frozenset()) -> list[Outcome]:
    """Runs what a filter asks for; a program that fails does not end the run. `left_out` are names of programs."""
    output.mkdir(parents=True, exist_ok=True)
    lines, log = output / "figures.jsonl", output / "programs.log"
    for file in [lines, log]:
        file.write_text("", encoding="utf-8")
    outcomes = []
    in_turn = programs.in_turn(peers, for_peers(wanted)) if peers else []
    for program, told in programs.chosen(wanted):
        if program.name in left_out:
            continue
        if in_turn and program.name == "connection-cost":
            program = dataclasses.replace(program, besides=("--without", ",".join(in_turn)))
        outcomes.append(one(program.title, lambda: programs.run(program, told, folder, lines, log)))
    if has_counts and counts.workloads(wanted):
        outcomes.append(one(counts.TITLE, lambda: counts.counted(folder, wanted, is_thorough=bool(peers or wanted))))
    if peers:
        program = Program(str(peers.resolve()), reads_filter=True)
        told = ["--filter", for_peers(wanted)] if wanted else []
        outcomes.append(one(program.title, lambda: programs.run(program, told, folder, lines, log, 1_800)))
    found = [outcome for outcome in outcomes if not outcome.has_nothing]
    if any(outcome.failure for outcome in found):
        say(f"what the programs printed is in {log}")
    return found


def for_peers(wanted: str) -> str:
    """A filter as the script of the peers reads it: a space between group and workload."""
    group, slash, workload = wanted.partition("/")
    return f"{group} {workload}" if slash and any(name.endswith(group) for name in table.GROUPS) else wanted


def one(title: str, measure) -> Outcome:
    """Runs one program, and says so."""
    say(f"{title} …")
    outcome = measure()
    say(f"{title}: {summary(outcome)}")
    return outcome


def summary(outcome: Outcome) -> str:
    if outcome.failure:
        return f"FAILED: {outcome.failure}"
    if outcome.has_nothing:
        return "nothing in it is called like that"
    return f"{len(outcome.figures)} figures in {outcome.seconds:.0f} s"
