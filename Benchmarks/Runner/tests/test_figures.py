"""Lines are read and checked; medians, ratios and bars come out as they should."""

import math
import pathlib
import tempfile
import unittest

from Runner import figures
from Runner.figures import Figure, ResultsError
from Runner.results import Results


def figure(runs, subject="chappie", way="", better="higher", measure="throughput", **more):
    return Figure("end-to-end", "websocket-plain-1", subject, measure, "events/s", runs, way=way, better=better, **more)


class Summaries(unittest.TestCase):
    def test_the_median_of_odd_and_even_numbers_of_runs(self):
        self.assertEqual(figure([3, 1, 2]).median, 2)
        self.assertEqual(figure([4, 1, 2, 3]).median, 2.5)
        self.assertEqual((figure([3, 1, 2]).low, figure([3, 1, 2]).high), (1, 3))
        self.assertEqual(figure([2, 4, 3]).spread, 2 / 3)

    def test_a_bar_is_held_at_its_limit_and_missed_beyond(self):
        self.assertIsNone(figure([1]).is_held)
        self.assertTrue(figure([10], bar={"atLeast": 10}).is_held)
        self.assertFalse(figure([9.9], bar={"atLeast": 10}).is_held)
        self.assertTrue(figure([10], bar={"atMost": 10}).is_held)
        self.assertFalse(figure([10.1], bar={"atMost": 10}).is_held)
        self.assertFalse(figure([1], bar={"atLeast": 2, "atMost": 3}).is_held)

    def test_a_ratio_says_how_many_times_as_good(self):
        self.assertEqual(figure([6]).ratio(figure([2])), 3)
        self.assertEqual(figure([2], better="lower").ratio(figure([6], better="lower")), 3)
        self.assertIsNone(figure([6], better=None).ratio(figure([2])))
        self.assertIsNone(figure([0], better="lower").ratio(figure([2])))
        late = figure([0.2], better="lower", measure="latency-p99")
        self.assertIsNone(late.ratio(late))

    def test_a_ratio_is_made_of_the_best_quarter_of_both(self):
        disturbed = figure([10, 9, 9, 9, 2, 2, 2, 2, 2])
        self.assertEqual((disturbed.undisturbed, disturbed.median), (9, 2))
        self.assertEqual(disturbed.ratio(figure([3, 1, 1])), 3)
        costs = figure([5, 1, 5, 2, 5], better="lower")
        self.assertEqual(costs.undisturbed, 2)
        self.assertEqual(costs.ratio(figure([8], better="lower")), 4)
        self.assertEqual(figure([4, 1, 2], better=None).undisturbed, 2)

    def test_a_core_of_which_little_was_missing_is_read_by_the_clock(self):
        nearly = figure([9, 10, 8, 6, 2], paces=[0.82, 0.75, 1, 0.9, 0.5])
        # Of four runs, as the fifth had half of its core: 10, 9, 8, 6.
        self.assertEqual(nearly.undisturbed, 10)
        self.assertEqual(figure([9, 10, 8, 6, 7], paces=[1] * 5).undisturbed, 9)
        costs = figure([9, 10, 8, 6, 7], better="lower", paces=[0.8] * 5)
        self.assertEqual(costs.undisturbed, 7)
        shared = figure([9, 10, 8, 3], paces=[0.8, 0.8, 0.5, 0.5])
        # 11.25, 12.5 and 16 by their paces; of the value nothing is better than the best run.
        self.assertEqual((shared.undisturbed, shared.median), (12.5, 10))

    def test_paces_that_do_not_fit_the_runs_are_passed_over(self):
        paces = [0.4, 0.5, 0.6, 0.7, 0.9, 1, 0.5, 0.6]
        steady = figure([80, 81, 82, 83, 84, 85, 86, 87], paces=paces)
        self.assertFalse(steady.paces_fit)
        self.assertEqual(steady.undisturbed, 86)
        follows = figure([run * pace for run, pace in zip(steady.runs, paces)], paces=paces)
        self.assertTrue(follows.paces_fit)
        self.assertEqual(follows.undisturbed, follows.median)
        costs = figure([80, 81, 82, 83, 84, 85, 86, 87], better="lower", paces=paces)
        self.assertEqual((costs.paces_fit, costs.undisturbed), (False, 81))

    def test_the_middle_half_of_the_runs(self):
        self.assertEqual(figure([1, 10, 12, 15, 90]).middle_half, 0.5)
        self.assertEqual(figure([7]).middle_half, 0)
        self.assertEqual(figure([0, 0, 1]).middle_half, math.inf)

    def test_where_the_pace_of_the_core_is_known_the_calmer_half_counts_and_each_run_by_its_pace(self):
        shared = figure([100, 54, 60, 97, 30, 76], paces=[1, 0.6, 0.5, 0.97, 0.5, 0.8])
        self.assertEqual(shared.values, [100, 100, 95])
        self.assertEqual((shared.median, shared.low, shared.high, shared.pace), (100, 95, 100, 0.97))
        cost = figure([10, 20, 16, 40], better="lower", paces=[1, 0.5, 0.75, 0.25])
        self.assertEqual((cost.values, cost.pace), ([10, 12, 10], 0.75))
        self.assertEqual(figure([1, 8], paces=[0.5, 0.5]).values, [2, 8])
        self.assertEqual(figure([1, 8], paces=[0.5, 0.5]).by_pace, [2, 16])
        self.assertEqual(figure([1, 8]).values, [1, 8])

    def test_bars_and_ratios_are_about_the_core_that_nobody_shares(self):
        shared = figure([100, 50, 10], paces=[1, 0.5, 0.1], bar={"atLeast": 100})
        self.assertTrue(shared.is_held)
        self.assertEqual(shared.ratio(figure([5, 25, 25], paces=[0.1, 0.5, 0.5])), 2)
        self.assertEqual(shared.ratio(figure([25, 50, 10, 5])), 2)

    def test_paces_go_with_their_runs(self):
        results = Results()
        results.take([figure([10], turn=1, paces=[0.5]), figure([3, 6], turn=2, paces=[1, 1]),
                      figure([9], "picows", turn=1, paces=[0.3]), figure([9], "picows", turn=2)])
        own, peer = results.figures
        self.assertEqual((own.runs, own.paces, own.median), ([10, 3, 6], [0.5, 1, 1], 6))
        self.assertEqual((peer.paces, peer.median), (None, 9))
        again = Figure.from_json(own.to_json())
        self.assertEqual((again.median, again.pace), (6, 1))

    def test_ratios_are_given_to_our_own_figures_at_the_same_question(self):
        found = [figure([6], way="batches()"), figure([2], "picows", "callback"), figure([12], "machine", "inflate"),
                 figure([1], "picows", "callback", measure="processor-time", better="lower")]
        figures.add_ratios(found)
        self.assertEqual(found[0].ratios, {"picows, callback": 3, "machine, inflate": 0.5})
        self.assertIsNone(found[1].ratios)

    def test_ratios_are_given_only_for_the_same_work(self):
        found = [figure([6], way="one after another"), figure([60], way="100 at once"),
                 figure([3], way="a command, process included"), figure([12], "machine", "one after another"),
                 figure([1], "codex", "exec, process included")]
        figures.add_ratios(found)
        self.assertEqual([item.ratios for item in found[:3]], [
            {"machine, one after another": 0.5}, None, {"codex, exec, process included": 3}])

    def test_a_part_of_the_work_has_no_ratio_to_peers(self):
        whole, part = figure([6], way="batches()", decodes=True), figure([60], way="to the arena", decodes=False)
        peer = figure([1], "picows", "callback")
        found = [whole, part, peer, figure([120], "machine", "inflate")]
        figures.add_ratios(found)
        self.assertEqual(part.ratios, {"machine, inflate": 0.5})
        self.assertIs(Results(figures=found).like(peer), whole)

    def test_the_limit_is_what_a_reader_can_do(self):
        own = figure([6], way="batches()")
        read = figure([12], "machine", "read")
        results = Results(figures=[own, read, figure([100], "machine", "server's ceiling")])
        self.assertIs(results.limit(own), read)

    def test_who_does_nothing_but_read_has_no_speed_of_its_own(self):
        found = [figure([6]), figure([12], "machine", "read"), figure([3], "curl", "read"),
                 figure([6], measure="processor-time", better="lower"),
                 figure([3], "machine", "read", measure="processor-time", better="lower")]
        figures.add_ratios(found)
        self.assertEqual(found[0].ratios, {"curl, read": 2})
        self.assertEqual(found[3].ratios, {"machine, read": 0.5})

    def test_what_is_added_to_a_latency_is_no_ratio(self):
        for measure in ["latency", "latency-p50"]:
            found = [figure([6], measure=measure, better="lower"),
                     figure([3], "machine", "read", measure=measure, better="lower"),
                     figure([12], "curl", measure=measure, better="lower")]
            figures.add_ratios(found)
            self.assertEqual(found[0].ratios, {"curl": 2})

    def test_a_bar_may_be_about_another_run_than_the_median(self):
        late = figure([1, 1, 1, 9], bar={"atMost": 5, "quantile": 0.99})
        self.assertEqual((late.is_held, late.judged, late.median), (False, 9, 1))
        self.assertTrue(figure([1, 1, 9], bar={"atLeast": 5, "quantile": 1}).is_held)

    def test_the_last_of_two_equal_figures_counts_and_is_named(self):
        results = Results()
        results.take([figure([1]), figure([2])])
        self.assertEqual([item.median for item in results.figures], [2])
        self.assertIn("measured twice", results.warnings[0])

    def test_the_turns_of_several_processes_are_one_figure(self):
        results = Results()
        results.take([figure([1, 2], turn=1), figure([9], "picows", turn=1), figure([3], turn=2)])
        own = results.figures[0]
        self.assertEqual((own.runs, own.median, own.processes, own.turn), ([1, 2, 3], 2, 2, None))
        self.assertEqual(results.warnings, [])
        self.assertEqual(Figure.from_json(own.to_json()).processes, 2)

    def test_what_was_measured_in_turn_stands_in_the_place_of_what_was_measured_alone(self):
        results = Results()
        results.take([figure([100]), figure([1], turn=1), figure([3], turn=2)])
        self.assertEqual([item.runs for item in results.figures], [[1, 3]])
        self.assertEqual(results.warnings, [])

    def test_a_turn_that_comes_twice_is_named(self):
        results = Results()
        results.take([figure([1], turn=1), figure([2], turn=1), figure([3], turn=2)])
        self.assertEqual(results.figures[0].runs, [2, 3])
        self.assertIn("measured twice", results.warnings[0])

    def test_a_bar_is_held_against_the_runs_of_all_turns(self):
        results = Results()
        results.take([figure([1], turn=1, bar={"atLeast": 5}), figure([6], turn=2, bar={"atLeast": 3}),
                      figure([8], turn=3, bar={"atLeast": 4})])
        self.assertEqual((results.figures[0].bar, results.figures[0].is_held), ({"atLeast": 4}, True))

    def test_programs_are_compared_with_programs(self):
        own, started = figure([9]), figure([3], way="a command, process included")
        results = Results(figures=[own, started])
        self.assertIs(results.like(figure([1], "codex", "exec, process included")), started)
        self.assertIs(results.like(figure([1], "openai", "create()")), own)

    def test_the_way_without_a_name_is_the_usual_one(self):
        usual, quick = figure([2]), figure([9], way="with another setting")
        self.assertIs(Results(figures=[quick, usual]).like(figure([1], "openai", "create()")), usual)


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

    def test_only_what_was_added(self):
        self.path.write_text(self.GOOD * 3)
        self.assertEqual(len(figures.read_lines(self.path, 2).figures), 1)

    def test_a_broken_line_is_named(self):
        broken = {
            "cut": self.GOOD[:40], "no object": "[]\n", "no runs": self.GOOD.replace("[1,2]", "[]"),
            "no numbers": self.GOOD.replace("[1,2]", '["1"]'), "infinite": self.GOOD.replace("[1,2]", "[1e999]"),
            "no group": self.GOOD.replace('"group":"g",', ""),
            "no bar": self.GOOD.replace('"other":3', '"bar":{"atLeast":"1"}'),
            "no points": self.GOOD.replace('"other":3', '"distribution":[[0.5]]'),
            "no amount": self.GOOD.replace('"other":3', '"amount":"1"'),
            "no way": self.GOOD.replace('"other":3', '"way":1'),
            "no paces": self.GOOD.replace('"other":3', '"paces":[1]'),
            "no shares": self.GOOD.replace('"other":3', '"paces":[0.5,0]'),
            "no direction": self.GOOD.replace('"other":3', '"better":"more"'),
            "nothing missing": '{"missing":{"subject":"x"}}\n'}
        for name, text in broken.items():
            with self.subTest(name):
                self.path.write_text(self.GOOD + text)
                lines = figures.read_lines(self.path)
                self.assertEqual(len(lines.figures), 1)
                self.assertRegex(" ".join(lines.broken), "line 2")

    def test_results_are_read_as_they_were_written(self):
        results = Results(date="2026-01-31", machine={"cores": 2})
        own = figure([1, 2, 3], bar={"atLeast": 1}, distribution=[[0.5, 1]])
        results.take([own, figure([1], "picows", version="2")])
        results.save(self.path)
        self.assertEqual(Results.load(self.path), results)
        self.assertEqual(results.versions, {"picows": "2"})

    def test_what_is_no_result_says_so(self):
        for text in ["", "{", "[]", '{"schema": 2}', '{"schema": 1, "figures": [{}]}', '{"schema": 1, "figures": 1}']:
            self.path.write_text(text)
            with self.assertRaises(ResultsError):
                Results.load(self.path)
