"""The budgets of an event at many streams."""

import contextlib
import io
import pathlib
import sys
import unittest

# The scripts import each other from their own folder.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cold  # noqa: E402


class ColdBudgets(unittest.TestCase):
    line = "many streams\tcold-400 sequence\t2\t6\t20000\t600.0\t200.0\t100.0"

    def compared(self, *counts):
        budget = cold.Row.read(self.line)
        new = cold.Row(budget.name, budget.workload, budget.before, budget.passes, cold.counting.Cold(*counts))
        with contextlib.redirect_stdout(io.StringIO()) as output:
            failures = cold.compare([budget], [new])
        return failures, output.getvalue()

    def test_a_row_is_written_as_it_is_read(self):
        self.assertEqual(str(cold.Row.read(self.line)), self.line)

    def test_less_and_a_little_more_are_no_failure(self):
        self.assertEqual(self.compared(19_000, 500, 150, 90)[0], [])
        self.assertEqual(self.compared(20_000 * (1 + cold.TOLERANCES["instructions"]), 600, 200, 100)[0], [])

    def test_one_more_line_of_each_stream_fails_and_less_than_half_of_one_does_not(self):
        self.assertEqual(self.compared(20_000, 600, 200, 100.5)[0], [])
        failures, _ = self.compared(20_000, 600, 200, 100.6)
        self.assertEqual(failures, ["budgets: many streams: 100.6 misses, last level an event, and 100.0 are budgeted"])

    def test_each_figure_above_its_tolerance_fails(self):
        failures, output = self.compared(30_000, 800, 300, 150)
        self.assertEqual(len(failures), 4)
        self.assertIn("800.0 misses of code, first level an event, and 600.0 are budgeted", failures[1])
        self.assertIn("300.0 misses, first level an event, and 200.0 are budgeted", failures[2])
        self.assertEqual(output.count("ABOVE THE BUDGET"), 4)

    def test_a_row_above_its_budget_is_counted_again(self):
        budget = cold.Row.read(self.line)

        def counted(*counts):
            rows = [cold.dataclasses.replace(budget, budget=cold.counting.Cold(*each)) for each in counts]
            return cold.lowest(budget, iter(rows).__next__).budget, len(rows)

        once, twice, thrice = (20_000, 600, 200, 100), (20_000, 590, 190, 120), (21_000, 700, 200, 110)
        self.assertEqual(counted(once)[0], cold.counting.Cold(*once))
        self.assertEqual(counted(twice, once)[0], cold.counting.Cold(20_000, 590, 190, 100))
        result, _ = counted(twice, thrice, twice)
        self.assertEqual(result, cold.counting.Cold(20_000, 590, 190, 110))
        self.assertEqual(len(self.compared(20_000, 590, 190, 110)[0]), 1)
