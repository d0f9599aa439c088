"""Lines are read and checked; medians, ratios and bars come out as they should."""

import pathlib
import tempfile
import unittest

from Runner import figures
from Runner.figures import Figure, ResultsError
from Runner.results import Results


def figure(runs, subject="chappie", way="", better="higher", measure="throughput", **more):
    return Figure("end-to-end", "websocket-plain-1", subject, measure, "events/s", runs, way=way, better=better, **more)


class Summaries(unittest.TestCase):
    def test_the_median_and_the_spread_are_of_all_runs(self):
        self.assertEqual(figure([3, 1, 2]).median, 2)
        self.assertEqual(figure([4, 1, 2, 3]).median, 2.5)
        self.assertEqual(figure([2, 4, 3]).spread, 2 / 3)

    def test_a_bar_is_held_at_its_limit_and_missed_beyond(self):
        self.assertIsNone(figure([1]).is_held)
        self.assertTrue(figure([10], bar={"atLeast": 10}).is_held)
        self.assertFalse(figure([9.9], bar={"atLeast": 10}).is_held)
        self.assertTrue(figure([10], bar={"atMost": 10}).is_held)
        self.assertFalse(figure([10.1], bar={"atMost": 10}).is_held)

    def test_a_bar_may_apply_to_another_run_than_the_median(self):
        late = figure([1, 1, 1, 9], bar={"atMost": 5, "quantile": 0.99})
        self.assertEqual((late.is_held, late.judged, late.median), (False, 9, 1))

    def test_a_ratio_says_how_many_times_as_good_the_median_is(self):
        self.assertEqual(figure([6]).ratio(figure([2])), 3)
        self.assertEqual(figure([2], better="lower").ratio(figure([6], better="lower")), 3)
        self.assertIsNone(figure([6], better=None).ratio(figure([2])))
        self.assertIsNone(figure([0], better="lower").ratio(figure([2])))

    def test_the_rounds_of_a_figure_are_one_figure_and_replace_it_measured_alone(self):
        results = Results()
        results.take([figure([100]), figure([1, 2], turn=1, bar={"atLeast": 5}), figure([9], "picows", turn=1),
                      figure([3], turn=2, bar={"atLeast": 3}), figure([4], turn=3, bar={"atLeast": 4})])
        own, peer = results.figures
        self.assertEqual((own.runs, own.bar, own.turn, peer.runs), ([1, 2, 3, 4], {"atLeast": 4}, None, [9]))

    def test_of_two_figures_that_were_measured_alone_the_last_counts(self):
        self.assertEqual([item.median for item in figures.merged([figure([1]), figure([2])])], [2])

    def test_what_includes_a_process_is_compared_with_what_does_too(self):
        own, started = figure([9]), figure([3], way="a command, process included")
        results = Results(figures=[own, started])
        self.assertIs(results.like(figure([1], "codex", "exec, process included")), started)
        self.assertIs(results.like(figure([1], "openai", "create()")), own)

    def test_beside_a_figure_stand_the_machine_and_the_best_peer_of_each_kind(self):
        own, machine = figure([6], way="batches()"), figure([12], "machine", "read")
        peers = [figure([speed], name, decodes=decodes) for name, speed, decodes in [
            ("slow", 1, True), ("fast", 2, True), ("bare", 3, False)]]
        found = Results(figures=[own, *peers, machine]).best_beside(own)
        self.assertEqual([item.subject for item in found], ["machine", "fast", "bare"])

    def test_our_own_figures_come_first_and_then_the_machine_and_the_best_peer(self):
        found = [figure([1], "a"), figure([2], "b"), figure([9], "machine"), figure([3])]
        [(_, [(_, items)])] = Results(figures=found).questions()
        self.assertEqual([item.subject for item in items], ["chappie", "machine", "b", "a"])


class Lines(unittest.TestCase):
    GOOD = '{"group":"g","workload":"w","subject":"s","measure":"m","unit":"u","runs":[1,2],"other":3}\n'

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "lines"

    def test_figures_and_what_is_missing(self):
        self.path.write_text(self.GOOD + '\n{"missing":{"subject":"x","why":"y"}}\n')
        lines = figures.read_lines(self.path)
        self.assertEqual(lines.figures[0].runs, [1, 2])
        self.assertEqual(lines.missing, [{"subject": "x", "why": "y"}])

    def test_a_bar_without_a_verdict_is_told_from_other_missing_figures(self):
        self.path.write_text('{"missing":{"subject":"x","why":"y","bar":"b"}}\n{"missing":{"subject":"z","why":"y"}}\n')
        results = Results(missing=figures.read_lines(self.path).missing)
        self.assertEqual(results.unjudged, [{"subject": "x", "why": "y", "bar": "b"}])

    def test_a_broken_line_is_named_and_the_others_are_read(self):
        broken = {
            "cut": self.GOOD[:40], "no object": "[]\n", "no runs": self.GOOD.replace("[1,2]", "[]"),
            "no numbers": self.GOOD.replace("[1,2]", '["1"]'), "infinite": self.GOOD.replace("[1,2]", "[1e999]"),
            "no group": self.GOOD.replace('"group":"g",', ""),
            "no bar": self.GOOD.replace('"other":3', '"bar":{"atLeast":"1"}'),
            "no way": self.GOOD.replace('"other":3', '"way":1'),
            "no direction": self.GOOD.replace('"other":3', '"better":"more"'),
            "nothing missing": '{"missing":{"subject":"x"}}\n'}
        for name, text in broken.items():
            with self.subTest(name):
                self.path.write_text(self.GOOD + text)
                lines = figures.read_lines(self.path)
                self.assertEqual(len(lines.figures), 1)
                self.assertRegex(" ".join(lines.broken), "line 2")

    def test_results_are_read_as_they_were_written(self):
        results = Results(date="2026-01-31", machine={"cores": 2}, failures={"p": "why"})
        results.take([figure([1, 2, 3], bar={"atLeast": 1}), figure([1], "picows", version="2")])
        results.save(self.path)
        self.assertEqual(Results.load(self.path), results)
        self.assertEqual(results.versions, {"picows": "2"})

    def test_a_file_that_has_no_results_is_refused(self):
        for text in ["", "{", "[]", '{"schema": 2}', '{"schema": 1, "figures": [{}]}', '{"schema": 1, "figures": 1}']:
            self.path.write_text(text)
            with self.assertRaises(ResultsError):
                Results.load(self.path)
