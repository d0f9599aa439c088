"""Callgrind's files become counts of an event."""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

from Runner import counting

# Stands for valgrind: it writes a profile of each part, and prints the line that the program would print.
VALGRIND = r"""#!/usr/bin/env python3
import os, pathlib, sys
options = [argument for argument in sys.argv[1:] if argument.startswith("--") and "=" in argument]
[file] = [option.partition("=")[2] for option in options if option.startswith("--callgrind-out-file=")]
passes, workload = sys.argv[sys.argv.index("--iterations") + 1:][:2] if "--iterations" in sys.argv else ("", "")
def write(end, instructions, allocations):
    pathlib.Path(file + end).write_text(
        f"fn=(1) one\ncfn=(2) malloc\ncalls={allocations} 0\nsummary: {instructions}\ntotals: {instructions}\n")
if not passes:
    assert pathlib.Path(os.environ["LD_PRELOAD"]).name == "sigsuspend.so"
    assert "VARIABLE_OF_A_USER" not in os.environ and not os.listdir(os.environ["HOME"])
    write("", 700000, 50)
    sys.exit()
if "--dump-before=cmachine_note_pause" in options and workload != "hurried":
    before, passes = passes.split("+")
    write(".1", 1000000 + 1000 * int(before), 5000)
    write(".2", 1000 * int(passes), 30)
    write("", 70000, 900)
else:
    passes = passes.rpartition("+")[2]
    write("", 500000 + 2000 * int(passes), 100 + 10 * int(passes))
print('{"workload": "w", "passes": %s, "eventsPerPass": %d}' % (passes, 0 if workload == "empty" else 10))
"""


class Counting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        valgrind = pathlib.Path(folder.name) / "valgrind"
        valgrind.write_text(VALGRIND)
        valgrind.chmod(0o755)
        environment = mock.patch.dict(os.environ, {
            "PATH": f"{folder.name}:{os.environ['PATH']}", "VARIABLE_OF_A_USER": "1"})
        environment.start()
        self.addCleanup(environment.stop)

    def test_two_runs_differ_by_their_passes(self):
        self.assertEqual(counting.count("program", ["w"], 2, 6), counting.Counted(200.0, 1.0))

    def test_between_two_pauses_nothing_else_is_counted(self):
        self.assertEqual(counting.count_between_pauses("program", ["w"], 2, 4), counting.Counted(100.0, 0.75))

    def test_a_program_that_does_not_pause_is_not_counted(self):
        with self.assertRaisesRegex(counting.CountingError, r"program .* hurried did not pause"):
            counting.count_between_pauses("program", ["hurried"], 2, 4)

    def test_a_whole_process_is_counted_in_a_constant_environment(self):
        self.assertEqual(counting.count_process("program", ["w"]), counting.Counted(700000, 50))

    def test_without_events_there_is_no_count(self):
        with self.assertRaisesRegex(counting.CountingError, "no events"):
            counting.count_between_pauses("program", ["empty"], 2, 4)


class Profiles(unittest.TestCase):
    def test_what_the_allocator_calls_of_itself_is_one_allocation(self):
        lines = ["fn=(1) one", "cfn=(2) posix_memalign", "calls=3 0",
                 "fn=(2)", "cfn=(3) _mid_memalign.constprop.0", "calls=3 0",
                 "fn=(3)", "cfn=(4) malloc", "calls=3 0",
                 "fn=(1)", "cfn=(5) malloc'2", "calls=4 0", "summary: 80"]
        self.assertEqual(counting.read_profile(lines), counting.Profile(80, 7))

    def test_misses_are_those_of_code_in_the_first_level_and_of_data_in_each(self):
        lines = ["events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw", "fn=(1) one", "totals: 900 80 70 60 5 4 30 2 1"]
        self.assertEqual(counting.read_misses(lines), counting.Cold(900, 60, 9, 3))
        with self.assertRaisesRegex(counting.CountingError, "no totals"):
            counting.read_misses(lines[:2])
