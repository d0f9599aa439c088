"""A change is told from noise."""

import dataclasses
import unittest

from Runner import compare
from Runner.compare import Change
from Runner.figures import Figure, ResultsError
from Runner.programs import Outcome


def time(*runs, better="lower", unit="ms", workload="w"):
    return Figure("g", workload, "chappie", "time", unit, list(runs), better=better)


def count(value):
    return Figure("g", "w", "chappie", "instructions", "/event", [value], better="lower")


class Verdicts(unittest.TestCase):
    def test_counts_are_judged_at_three_per_cent(self):
        self.assertEqual(Change(count(1000), count(1030)).verdict, "unchanged")
        self.assertEqual(Change(count(1000), count(1031)).verdict, "regression")
        self.assertEqual(Change(count(1000), count(960)).verdict, "improvement")
        self.assertEqual(Change(count(0), count(1)).verdict, "regression")
        self.assertEqual(Change(count(0), count(0.001)).verdict, "unchanged")
        self.assertEqual(Change(count(0), count(0)).share, 0)

    def test_times_are_judged_by_their_spread(self):
        self.assertEqual(Change(time(10, 11, 12), time(12, 13, 14)).verdict, "unchanged")
        self.assertEqual(Change(time(10, 11, 12), time(12.1, 13, 14)).verdict, "regression")
        self.assertEqual(Change(time(10, 11, 12), time(8, 9, 9.9)).verdict, "improvement")

    def test_more_may_be_better(self):
        before, after = [1, 1, 1], [2, 2, 2]
        self.assertEqual(Change(time(*before, better="higher"), time(*after, better="higher")).verdict, "improvement")
        self.assertEqual(Change(time(*before, better=None), time(*after, better=None)).verdict, "changed")

    def test_one_value_does_not_tell_a_change(self):
        self.assertEqual(Change(time(1), time(2)).verdict, "unchanged")

    def test_what_failed_ends_a_comparison_only_without_figures(self):
        missed = Outcome("parser", 1, [time(1)], [], "MISSED")
        self.assertEqual(len(compare.figures_of([missed], "after")), 1)
        with self.assertRaisesRegex(ResultsError, "after: parser: it ended"):
            compare.figures_of([missed, Outcome("parser", 1, [], [], "it ended with status 3")], "after")

    def test_rounds_are_pooled_by_their_medians(self):
        self.assertEqual(compare.pooled([[time(1, 2, 9)], [time(3)], [time(4)]])[0].runs, [2, 3, 4])

    def test_rounds_are_read_by_their_paces_once(self):
        rounds = [[Figure("g", "w", "chappie", "time", "ms", runs, better="lower", paces=[0.5] * 3)]
                  for runs in [[8, 10, 8], [8, 8, 8], [12, 12, 8]]]
        pooled, = compare.pooled(compare.read_alike(rounds))
        # 4 and 6 are better than any run was: claimed they would not be.
        self.assertEqual((pooled.runs, pooled.paces, pooled.median), ([4, 4, 6], None, 4))
        self.assertEqual([figure.median for figure, in rounds], [8, 8, 8])

    def test_what_one_side_does_not_know_the_other_forgets(self):
        def paced(workload):
            return Figure("g", workload, "chappie", "time", "ms", [8], better="lower", paces=[0.5])

        before, after = compare.read_alike([[time(8, workload="a"), paced("b")], [paced("a"), paced("b")]])
        self.assertEqual([figure.by_pace for figure in before], [[8], [4]])
        self.assertEqual([figure.by_pace for figure in after], [[8], [4]])

    def test_a_side_whose_core_was_shared_all_the_time_is_not_taken_for_slow(self):
        before, after = ([Figure("g", "w", "chappie", "rate", "/s", runs, better="higher", paces=[pace] * 4)]
                         for runs, pace in [([8, 8, 9, 9], 1), ([4, 4.25, 4.25, 4.5], 0.5)])
        self.assertIn("unchanged: 1", compare.text(before, after))
        self.assertIn("regressions: 1", compare.text(before, [dataclasses.replace(after[0], paces=None)]))

    def test_the_largest_change_comes_first_and_sides_that_lack_a_figure_are_named(self):
        base = [time(10, 10, 10, workload="a"), time(10, 10, 10, workload="b"), time(1, workload="gone")]
        new = [time(11, 11, 11, workload="a"), time(5, 5, 5, workload="b"), time(1, workload="added")]
        self.assertEqual([change.new.workload for change in compare.changes(base, new)], ["b", "a"])
        text = compare.text(base, new)
        self.assertIn("only before: g/gone", text)
        self.assertIn("only after: g/added", text)
        self.assertIn("regressions: 1, improvements: 1, unchanged: 0", text)

    def test_units_must_be_the_same(self):
        with self.assertRaises(ResultsError):
            compare.changes([time(1)], [time(1, unit="µs")])
