"""Two runs agree as far as their ratios and counts do."""

import unittest

from Runner import agreement
from Runner.figures import Figure


def throughput(value, subject="chappie", group="end-to-end", better="higher", pace=None):
    return Figure(group, "w", subject, "throughput", "events/s", [value], better=better,
                  paces=None if pace is None else [pace])


def counted(measure, value, way=""):
    return Figure("end-to-end", "w", "chappie", measure, "/event", [value], way=way, better="lower")


class Agreement(unittest.TestCase):
    def test_ratios_and_not_values_are_compared(self):
        slow = [throughput(10), throughput(5, "picows")]
        fast = [throughput(20), throughput(10, "picows")]
        self.assertIn("ratios within 15 %: 1 of 1\n", agreement.text(slow, fast))
        self.assertIn("\n  end-to-end: 1 of 1", agreement.text(slow, fast))

    def test_ratios_that_are_apart_are_named_with_the_largest_first(self):
        before = [throughput(10), throughput(5, "near"), throughput(5, "far"), throughput(5, "farthest"),
                  throughput(8, group="parser"), throughput(1, "near", "parser")]
        after = [throughput(10), throughput(5.7, "near"), throughput(4, "far"), throughput(10, "farthest"),
                 throughput(8, group="parser"), throughput(1, "near", "parser")]
        self.assertEqual(agreement.text(before, after).splitlines(), [
            "ratios within 15 %: 2 of 4", "  where the middle half of each side's runs was within that: 2 of 4",
            "  end-to-end: 1 of 3", "  parser: 1 of 1",
            "         100 %  end-to-end/w, throughput, beside farthest: 2.00 × -> 1.00 ×",
            "          25 %  end-to-end/w, throughput, beside far: 2.00 × -> 2.50 ×"])

    def test_a_ratio_that_one_run_has_alone_is_not_counted(self):
        before = [throughput(10), throughput(5, "picows"), throughput(5, "gone")]
        after = [throughput(10), throughput(5, "picows"), throughput(5, "new")]
        self.assertEqual([pair.name for pair in agreement.ratios(before, after)],
                         ["end-to-end/w, throughput, beside picows"])

    def test_ratios_of_runs_that_lie_together_are_counted_by_themselves(self):
        def runs(*values, subject="chappie"):
            return Figure("end-to-end", "w", subject, "throughput", "events/s", list(values), better="higher")
        before = [runs(10), runs(5, 5.5, 5.7, 9, 4, subject="together"), runs(5, 5, 6, 8, 8, subject="apart")]
        after = [runs(10), runs(5, subject="together"), runs(5, subject="apart")]
        found = {pair.name.split()[-1]: pair.is_steady for pair in agreement.ratios(before, after)}
        self.assertEqual(found, {"together": True, "apart": False})

    def test_ratios_of_an_idle_machine_are_counted_by_themselves(self):
        before = [throughput(10, pace=1), throughput(5, "calm", pace=0.9), throughput(4.5, "shared", pace=0.89),
                  throughput(5, "later", pace=1), throughput(5, "unknown")]
        after = [throughput(10, pace=1), throughput(5, "calm", pace=1), throughput(5, "shared", pace=1),
                 throughput(2, "later", pace=0.5), throughput(5, "unknown", pace=1)]
        found = {pair.name.split()[-1]: pair.is_calm for pair in agreement.ratios(before, after)}
        self.assertEqual(found, {"calm": True, "shared": False, "later": False, "unknown": False})
        self.assertIn("\n  on a core that nobody shared in either run: 1 of 1\n", agreement.text(before, after))
        disturbed = [throughput(5, pace=0.8), throughput(5, "calm", pace=1)]
        self.assertNotIn("nobody", agreement.text(disturbed, after))

    def test_instructions_agree_by_their_share(self):
        before = [counted("instructions", 1000, "a"), counted("instructions", 1000, "b")]
        after = [counted("instructions", 1049, "a"), counted("instructions", 1051, "b")]
        text = agreement.text(before, after)
        self.assertIn("instructions within 5 %: 1 of 2", text)
        self.assertIn("end-to-end/w, b, instructions", text)

    def test_few_allocations_agree_absolutely(self):
        values = {"few": (0.004, 0.0049), "less few": (0.01, 0.0112), "close": (0.1, 0.104), "one": (1, 1.2),
                  "none": (0, 0)}
        text = agreement.text(*([counted("allocations", pair[side], way) for way, pair in values.items()]
                                for side in (0, 1)))
        self.assertIn("allocations within 5 %: 2 of 5; or 0.001 an event: 3 of 5", text)
        self.assertIn("w, one, allocations", text)
        self.assertIn("w, less few, allocations", text)
        self.assertNotIn("w, few", text)

    def test_runs_with_nothing_in_common_say_nothing(self):
        self.assertEqual(agreement.text([throughput(1)], [throughput(1)]), "")
