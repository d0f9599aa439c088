"""Counts are held against their budgets."""

import contextlib
import io
import pathlib
import sys
import unittest

# The scripts import each other from their own folder.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import budgets  # noqa: E402


class Comparing(unittest.TestCase):
    def failures(self, program, instructions, allocations):
        """Returns the messages about a row of 1,000 instructions and 100 allocations that is counted with others."""
        budget = budgets.Row("r", program, "w", 2, 6, 1000, "100")
        counted = budgets.Row("r", program, "w", 2, 6, instructions, allocations)
        with contextlib.redirect_stdout(io.StringIO()):
            return budgets.compare([budget], [counted])

    def test_instructions_may_be_three_percent_above(self):
        self.assertEqual(self.failures("event-cost", 1030, "100"), [])
        self.assertEqual(self.failures("event-cost", 1031, "100"),
                         ["budgets: r: 1031 instructions, and 1000 are budgeted"])

    def test_allocations_may_not_be_above(self):
        self.assertEqual(self.failures("event-cost", 1000, "101"),
                         ["budgets: r: 101 allocations, and 100 are budgeted"])

    def test_allocations_of_a_process_may_be_three_percent_above(self):
        self.assertEqual(self.failures("chappie", 1000, "103"), [])
        self.assertEqual(self.failures("chappie", 1000, "104"),
                         ["budgets: r: 104 allocations, and 100 are budgeted"])
