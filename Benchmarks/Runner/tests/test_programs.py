"""Programs run to their end, and a failure leaves the figures of other programs."""

import contextlib
import io
import os
import pathlib
import tempfile
import time
import unittest
from unittest import mock

from Runner import __main__ as command
from Runner import programs
from Runner.results import Results

LINE = '{"group":"g","workload":"w","subject":"chappie","measure":"m","unit":"u","better":"higher","runs":[1]%s}'
BAR = ',"bar":{"atLeast":2}'


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, name, script):
        """A program whose second argument is the file of results."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        os.chmod(path, 0o755)
        return path

    def run_script(self, script, wanted="", **more):
        return programs.run(self.program("program", script), wanted, self.folder / "log", **more)

    def test_figures_are_taken(self):
        outcome = self.run_script(f"echo '{LINE % ''}' >>\"$2\"")
        self.assertEqual((len(outcome.figures), outcome.failure), (1, None))

    def test_a_missed_bar_is_no_failure_and_hides_none(self):
        outcome = self.run_script(f"echo '{LINE % BAR}' >>\"$2\"; exit 1")
        self.assertEqual((outcome.figures[0].is_held, outcome.failure), (False, None))
        outcome = self.run_script(f"echo '{LINE % BAR}' >>\"$2\"; echo 'program: wrong text' >&2; exit 1")
        self.assertEqual(outcome.failure, "program: wrong text")
        for line in ["error: no product named 'chappie'", "Traceback (most recent call last):"]:
            outcome = self.run_script(f"echo '{LINE % BAR}' >>\"$2\"; echo \"{line}\" >&2; echo done >&2; exit 1")
            self.assertEqual(outcome.failure, line)

    def test_failures_say_why_and_keep_the_figures(self):
        outcome = self.run_script(f"echo '{LINE % ''}' >>\"$2\"; echo broken >&2; exit 1")
        self.assertEqual((len(outcome.figures), outcome.failure), (1, "broken"))
        outcome = self.run_script(f"echo '{LINE % ''}' >>\"$2\"; printf '{LINE[:30]}' >>\"$2\"")
        self.assertEqual(len(outcome.figures), 1)
        self.assertIn("line 2", outcome.failure)
        self.assertIn("wrote no figures", self.run_script("true").failure)
        self.assertIn("status 7: broken", self.run_script("echo broken >&2; exit 7").failure)

    def test_what_a_program_has_started_ends_with_it(self):
        alive = self.folder / "alive"
        outcome = self.run_script(f"(sleep 0.6; touch '{alive}') & wait", time_limit=0.2)
        self.assertIn("did not end", outcome.failure)
        time.sleep(0.8)
        self.assertFalse(alive.exists())

    def test_a_program_may_have_nothing_with_the_filter_in_its_name(self):
        self.assertTrue(self.run_script("exit 2", "x").has_nothing)
        self.assertFalse(self.run_script("exit 2").has_nothing)

    def test_one_that_fails_does_not_end_the_run(self):
        self.program("bad", "echo broken >&2; exit 3")
        self.program("good", f"echo '{LINE % BAR}' >>\"$2\"; exit 1")
        output = self.folder / "out"
        words = ["run", "--programs", str(self.folder), "--output", str(output), "--load-before", "3"]
        with mock.patch.object(programs, "ALL", ["bad", "good"]), contextlib.redirect_stderr(io.StringIO()), \
                contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(command.main(words), 1)
        results = Results.load(output / "results.json")
        self.assertEqual(list(results.failures), ["bad"])
        self.assertEqual([item.workload for item in results.missed], ["w"])
        self.assertIn("not quiet", results.warnings[0])
        self.assertTrue((output / "report.html").exists())

    def test_a_bar_without_a_verdict_fails_the_run_and_a_missing_peer_alone_does_not(self):
        words = ["run", "--programs", str(self.folder), "--output", str(self.folder / "out"), "--load-before", "0"]
        for bar, status in [(',"bar":"b"', 1), ("", 0)]:
            missing = f'{{"missing":{{"subject":"x","why":"y"{bar}}}}}'
            self.program("one", f"echo '{LINE % ''}' >>\"$2\"; echo '{missing}' >>\"$2\"")
            with mock.patch.object(programs, "ALL", ["one"]), contextlib.redirect_stderr(io.StringIO()), \
                    contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(command.main(words), status)

    def test_a_filter_that_no_figure_has_in_its_name_is_an_error(self):
        self.program("none", "exit 2")
        words = ["run", "--programs", str(self.folder), "--output", str(self.folder / "out"), "--filter", "x",
                 "--load-before", "0"]
        with mock.patch.object(programs, "ALL", ["none"]), contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(command.main(words), 2)
