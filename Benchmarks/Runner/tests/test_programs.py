"""Programs are chosen by a filter, run to their end, and failures do not take the others' figures with them."""

import argparse
import itertools
import os
import pathlib
import tempfile
import time
import unittest
from unittest import mock

from Runner import counts, measuring, programs
from Runner.programs import Program

LINE = '{"group":"g","workload":"w","subject":"chappie","measure":"m","unit":"u","better":"higher","runs":[1]%s}'
BAR = ',"bar":{"atLeast":2}'


class Filters(unittest.TestCase):
    def test_everything_without_a_filter(self):
        self.assertEqual([(program.title, told) for program, told in programs.chosen("")], [
            ("sse-throughput", []), ("sse-throughput growth", []), ("event-cost", []), ("connection-cost", []),
            ("recovery-figures", [])])

    def test_workloads_of_the_parser(self):
        self.assertEqual(programs.corpora("parser"), [])
        self.assertEqual(programs.corpora("parser/model-deltas/16384"), ["model-deltas/16384"])
        self.assertEqual(programs.corpora("tiny"), ["tiny-events"])
        self.assertIsNone(programs.corpora("latency"))
        self.assertEqual(programs.corpora("crlf/1460"), ["model-deltas-crlf/1460"])
        self.assertEqual(len(programs.corpora("16384")), len(programs.CORPORA))

    def test_growth_is_measured_as_a_whole(self):
        self.assertEqual((programs.growth("growth/one line"), programs.growth("latency")), ([], None))

    def test_the_peers_have_a_space_behind_the_group(self):
        told = {"end-to-end/sse-plain-1": "end-to-end sse-plain-1", "end/sse": "end sse", "picows": "picows",
                "model-deltas/16384": "model-deltas/16384"}
        self.assertEqual({wanted: measuring.for_peers(wanted) for wanted in told}, told)

    def test_paths_of_an_event(self):
        self.assertEqual(programs.paths("decoder/words"), ["decode", "words"])
        self.assertEqual(programs.paths("verification"), ["replay", *programs.SHAPES])
        self.assertIsNone(programs.paths("memory"))

    def test_workloads_that_are_counted(self):
        self.assertEqual(len(counts.workloads("")), 16)
        self.assertEqual(counts.workloads("end-to-end/sse-plain-1"), ["sse-plain-1"])
        self.assertEqual(counts.workloads("end-to-end/sse-plain"), ["sse-plain-1", "sse-plain-100"])
        self.assertEqual(counts.workloads("latency"), [])


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_script(self, script, told=(), reads_filter=False, **more):
        """Runs a program whose second argument is the file of results."""
        path = self.folder / "program"
        path.write_text(f"#!/bin/sh\n{script}\n")
        os.chmod(path, 0o755)
        program = Program("program", reads_filter=reads_filter)
        return programs.run(program, list(told), self.folder, self.folder / "lines", self.folder / "log", **more)

    def test_figures_are_taken(self):
        outcome = self.run_script(f"echo '{LINE % ''}' >>\"$2\"")
        self.assertEqual((len(outcome.figures), outcome.failure), (1, None))

    def test_a_missed_bar_is_no_failure(self):
        outcome = self.run_script(f"echo '{LINE % BAR}' >>\"$2\"; exit 1")
        self.assertEqual((outcome.figures[0].is_held, outcome.failure), (False, None))

    def test_failures_say_why_and_keep_the_figures(self):
        outcome = self.run_script(f"echo '{LINE % ''}' >>\"$2\"; echo broken >&2; exit 1")
        self.assertEqual((len(outcome.figures), outcome.failure), (1, "broken"))
        outcome = self.run_script(f"echo '{LINE % ''}' >>\"$2\"; echo fine; echo 'x   1.3x  BROKEN'; exit 1")
        self.assertEqual(outcome.failure, "x 1.3x BROKEN")
        self.assertIn("wrote no figures", self.run_script("true").failure)
        self.assertIn("did not end", self.run_script("exec sleep 9", time_limit=0.1).failure)
        self.assertIn("line 3", self.run_script(f"echo '{LINE[:30]}' >>\"$2\"").failure)
        self.assertEqual(programs.line_count(self.folder / "lines"), 2)

    def test_a_broken_line_leaves_the_others(self):
        outcome = self.run_script(f"echo '{LINE % ''}' >>\"$2\"; printf '{LINE[:30]}' >>\"$2\"; exit 7")
        self.assertEqual(len(outcome.figures), 1)
        self.assertRegex(outcome.failure, "status 7.*line 2")
        self.assertEqual(programs.line_count(self.folder / "lines"), 1)

    def test_a_missed_bar_hides_no_failure(self):
        outcome = self.run_script(f"echo '{LINE % BAR}' >>\"$2\"; echo 'program: wrong text' >&2; exit 1")
        self.assertEqual(outcome.failure, "program: wrong text")

    def test_what_a_program_has_started_ends_with_it(self):
        alive = self.folder / "alive"
        outcome = self.run_script(f"(sleep 0.6; touch '{alive}') & wait", time_limit=0.2)
        self.assertIn("did not end", outcome.failure)
        time.sleep(0.8)
        self.assertFalse(alive.exists())

    def test_a_program_may_have_nothing_of_that_name(self):
        self.assertTrue(self.run_script("exit 2", ["x"], reads_filter=True).has_nothing)
        self.assertFalse(self.run_script("exit 2", [], reads_filter=True).has_nothing)

    def test_what_the_peers_measure_in_turn_is_left_out_before(self):
        peers, own = self.folder / "peers", self.folder / "connection-cost"
        peers.write_text("#!/bin/sh\nif [ \"$1\" = --in-turn ]; then echo a; echo b; exit; fi\n"
                         f"echo '{LINE % ''}' >>\"$2\"\n")
        own.write_text(f"#!/bin/sh\necho \"$@\" >'{self.folder}/told'; shift 2; echo '{LINE % ''}' >>\"$2\"\n")
        for path in [peers, own]:
            os.chmod(path, 0o755)
        with mock.patch.object(programs, "ALL", [Program("connection-cost")]), mock.patch("sys.stderr"):
            outcomes = measuring.run_all(self.folder, "", self.folder / "out", peers=peers, has_counts=False)
        self.assertTrue((self.folder / "told").read_text().startswith("--without a,b --results "))
        self.assertEqual([(outcome.title, outcome.failure) for outcome in outcomes],
                         [("connection-cost", None), ("peers", None)])

    def test_one_that_fails_does_not_end_the_run(self):
        bad, good = self.folder / "bad", self.folder / "good"
        bad.write_text("#!/bin/sh\necho broken >&2; exit 3\n")
        good.write_text(f"#!/bin/sh\necho '{LINE % BAR}' >>\"$2\"; exit 1\n")
        for path in [bad, good]:
            os.chmod(path, 0o755)
        given = argparse.Namespace(programs=self.folder, filter="", output=self.folder / "out", peers=None,
                                   no_counts=True, load_before=3.0, said="a test")
        with mock.patch.object(programs, "ALL", [Program("bad"), Program("good")]), mock.patch("sys.stderr"):
            results = measuring.measure(given, self.folder)
        self.assertEqual([item["program"] for item in results.failed], ["bad"])
        self.assertEqual([item.workload for item in results.missed], ["w"])
        self.assertIn("not quiet", results.warnings[0])
        self.assertEqual(results.to_json()["schema"], 1)


class Counting:
    """Stands for the module that runs callgrind."""

    def strip(self, program, folder):
        return program

    def count_between_pauses(self, program, arguments, before, passes):
        if arguments[0] == "sse-tls-1":
            raise RuntimeError("it cannot be counted")
        return argparse.Namespace(instructions=1430.04, allocations=-0.00001, events=10)


class Counts(unittest.TestCase):
    def test_both_ways_of_a_workload(self):
        outcome = counts.counted(pathlib.Path("."), "end-to-end/websocket-plain-1", Counting())
        self.assertEqual([(item.way, item.measure, item.median) for item in outcome.figures], [
            ("for try await", "instructions", 1430.0), ("for try await", "allocations", 0),
            ("batches()", "instructions", 1430.0), ("batches()", "allocations", 0)])

    def test_one_stream_is_counted_five_times_and_a_hundred_three_times(self):
        outcome = counts.counted(pathlib.Path("."), "end-to-end/sse-plain", Counting())
        self.assertEqual({item.workload: item.work["eventCount"] for item in outcome.figures},
                         {"sse-plain-1": 50, "sse-plain-100": 30})

    def test_it_is_counted_until_the_mean_is_known_and_not_for_ever(self):
        def counted(values, is_thorough=True):
            later = itertools.cycle(values)
            with mock.patch.object(Counting, "count_between_pauses", lambda *_: argparse.Namespace(
                    instructions=1, allocations=next(later), events=1)):
                found, = counts.figures_of(Counting(), pathlib.Path("."), "sse-plain-1", "batches()",
                                            is_thorough)[1:]
            return found.work["eventCount"], found.median

        self.assertEqual(counted([4, 4, 4, 4, 4.2]), (5, 4.04))
        # 0.0125 of 0.5, and the deviation is 0.025 or a little more: 18 and not 16, where it is 0.0258.
        self.assertEqual(counted([0.475, 0.525]), (18, 0.5))
        self.assertEqual(counted([1, 3]), (24, 2))
        self.assertEqual(counted([0]), (5, 0))
        self.assertEqual(counted([1, 3], is_thorough=False), (5, 1.8))

    def test_what_cannot_be_counted_is_a_failure(self):
        self.assertEqual(counts.counted(pathlib.Path("."), "sse-tls-1", Counting()).failure, "it cannot be counted")

    def test_what_cannot_be_counted_leaves_the_others(self):
        outcome = counts.counted(pathlib.Path("."), "end-to-end/sse", Counting())
        self.assertEqual((len(outcome.figures), outcome.failure), (28, "it cannot be counted"))
