"""What a peer says it has found is held against what there was, and one that hangs does not stop the others."""

import argparse
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

PEERS = pathlib.Path(__file__).resolve().parents[2] / "Peers"


def module(name):
    """A script of the peers, which finds the others beside itself."""
    sys.path.insert(0, str(PEERS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(PEERS))


class Clients(unittest.TestCase):
    FACTS = {"deltaCount": 2, "textCharacterCount": 7, "textChecksum": 99}
    TASK = {"streamCount": 1}

    def judged(self, **members):
        found = {"eventCount": 2, "textCharacterCount": 7}
        answer = {"check": {"streams": [{**found, "textChecksum": 99}]}, "runs": [{"streams": [{**found, **members}]}]}
        return module("end_to_end").judge(answer, self.TASK, self.FACTS)

    def test_every_run_is_held_against_the_response(self):
        self.assertIsNone(self.judged())
        self.assertEqual(self.judged(eventCount=1), "1 events of 2")
        self.assertIn("in the response 7", self.judged(textCharacterCount=6))

    def test_what_nobody_has_checked_is_wrong(self):
        answer = {"check": {"streams": [{"eventCount": 2}]}, "runs": []}
        self.assertEqual(module("end_to_end").judge(answer, self.TASK, self.FACTS), "nothing was checked")

    def test_names_are_what_a_filter_is_a_part_of(self):
        self.assertIn("end-to-end websocket-plain-1 picows, callback", module("end_to_end").names())
        self.assertIn("first-text warm openai, responses.connect()", module("first_text").names())


class Turns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "results"
        self.results = module("results").Results(str(self.file))

    def written(self):
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    def test_everybody_has_a_turn_in_each_round_and_who_fails_has_no_other(self):
        asked = []

        class Subject:
            def __init__(self, name, wants_more=False):
                self.name = name
                self.wants_more = wants_more

            def measure(self, results, turn):
                asked.append((turn, self.name))
                if (turn, self.name) == (2, "fails"):
                    raise RuntimeError("broken")

            def missing(self, results, error):
                results.missing(self.name, str(error))

            def print(self):
                asked.append(("printed", self.name))

        with unittest.mock.patch("builtins.print"):
            module("end_to_end").measure_in_turn(self.results, 3, [Subject("ours"), Subject("fails"), Subject("peer")])
        self.assertEqual(asked, [(1, "ours"), (1, "fails"), (1, "peer"), (2, "peer"), (2, "fails"), (2, "ours"),
                                 (3, "ours"), (3, "peer"), ("printed", "ours"), ("printed", "peer")])
        self.assertEqual(self.written(), [{"missing": {"subject": "fails", "why": "broken"}}])

    def test_who_shared_the_core_has_more_rounds_and_as_many_again_at_most(self):
        asked = []

        class Subject:
            def __init__(self, name, calm_from):
                self.name, self.calm_from, self.turns = name, calm_from, 0

            @property
            def wants_more(self):
                return self.turns < self.calm_from

            def measure(self, results, turn):
                self.turns += 1
                asked.append((turn, self.name))

            def print(self):
                pass

        module("end_to_end").measure_in_turn(self.results, 2, [Subject("calm", 0), Subject("at last", 3),
                                                               Subject("never", 99)])
        self.assertEqual(asked[6:], [(3, "at last"), (3, "never"), (4, "never")])

    def test_fewer_than_half_calm_runs_are_not_enough(self):
        Runs = module("paced").Runs
        calm = Runs("higher", [1] * 4, [0.9, 0.89, 0.9, 0.5])
        self.assertEqual([calm.are_enough(count) for count in [4, 5]], [True, False])
        self.assertTrue(Runs("higher", [1] * 4, None).are_enough(9))
        self.assertFalse(Runs("higher").are_enough(1))

    def test_of_runs_of_the_same_pace_the_first_count(self):
        Runs = module("paced").Runs
        self.assertEqual(Runs("higher", [1, 2, 3, 4, 5, 6, 7, 8], [1] * 8).undisturbed, [1, 2, 3, 4])
        self.assertEqual(Runs("lower", [40, 8, 14, 12, 36], [0.25, 1, 0.5, 0.75, 0.25]).by_pace, [8, 9, 7])
        self.assertEqual(Runs(None, [3, 1], [0.5, 1]).undisturbed, [3, 1])

    def test_nothing_is_better_than_the_best_run(self):
        Runs = module("paced").Runs
        self.assertEqual(Runs("higher", [8, 5, 6], [1, 0.5, 0.5]).undisturbed, [8, 8, 8])
        self.assertEqual(Runs("higher", [2, 8, 6], [1, 0.5, 0.9]).undisturbed, [2, 6 / 0.9, 8])
        self.assertEqual(Runs("lower", [40, 8, 14, 12, 36], [0.25, 1, 0.5, 0.75, 0.25]).undisturbed, [8, 9, 8])
        self.assertEqual(Runs("higher", [3, 4], None).undisturbed, [3, 4])

    def test_a_calm_core_is_waited_for_and_not_for_ever(self):
        results = module("results")
        shares = iter([0.5, 0.9, 0.5, 0.5, 0.5, None])
        pace = unittest.mock.Mock(spec=results.CorePace, share=lambda *_: next(shares))
        with unittest.mock.patch.object(results.time, "sleep"), \
                unittest.mock.patch.object(results, "LONG_ENOUGH", 0.5):
            left = results.CorePace.wait_for_calm(pace, 5 * results.LONG_ENOUGH)
            self.assertEqual(left, 3 * results.LONG_ENOUGH)
            self.assertEqual(results.CorePace.wait_for_calm(pace, left), 0)
            self.assertEqual(results.CorePace.wait_for_calm(pace, 9), 9 - results.LONG_ENOUGH)
            self.assertEqual(results.CorePace.wait_for_calm(pace, 0), 0)

    def test_the_paces_of_one_process_that_are_not_known_make_all_unknown(self):
        runs = module("paced").Runs("higher", [2, 2], [0.5, 1])
        self.assertEqual((runs.by_pace, runs.pace), ([2, 4], 0.75))
        runs.add([3], None)
        self.assertEqual((runs.undisturbed, runs.pace), ([2, 2, 3], None))

    def test_the_pace_of_a_core_is_asked_of_a_program(self):
        folder = self.folder / "pace"
        folder.write_text("#!/bin/sh\nwhile read start end; do echo \"0.$end\"; done\n")
        folder.chmod(0o755)
        pace = module("results").CorePace(folder, 1)
        self.assertEqual(pace.shares([(1, 4), (2, 3)]), [0.5, 0.5])
        pace.close()
        gone = module("results").CorePace("false", 1)
        self.assertIsNone(gone.shares([(1, 4)]))
        gone.close()

    def test_our_own_programs_figures_get_their_turn(self):
        # It is told `-c SCRIPT --results FILE`, and FILE is $1.
        found = self.results.own("sh", ["-c", """echo '{"measure":"m"}' >"$1"; exit 1"""], 2, 5)
        self.assertEqual((found, self.written()), ([{"measure": "m"}], [{"measure": "m", "turn": 2}]))

    def test_our_own_program_that_fails_writes_nothing(self):
        for script in ["echo broken >&2; exit 3", "echo broken >&2; echo '{}' >\"$1\"; exit 1", "echo broken"]:
            with self.assertRaisesRegex(RuntimeError, "broken"):
                self.results.own("sh", ["-c", script], 1, 5)
        self.assertFalse(self.file.exists())

    def test_the_workloads_in_turn_are_those_of_the_clients_that_a_filter_asks_for(self):
        chosen = module("end_to_end").chosen
        self.assertEqual(list(chosen("callback, orjson")),
                         ["websocket-plain-1", "websocket-tls-1", "websocket-plain-100"])
        self.assertEqual([client.subject for client in chosen("sse-tls-1 curl")["sse-tls-1"]], ["curl"])
        self.assertEqual(chosen("first-text"), {})

    def test_the_best_pass_of_all_rounds_counts_and_a_wrong_answer_for_all(self):
        def answer(verdict, speed=None, workload="w"):
            return {"peer": "p", "workload": workload, "verdict": verdict, "speed": speed}

        found = [answer("right", 1), answer("right", 3), answer("right", 2), answer("right", 9, "v"),
                 answer("wrong", None, "v"), answer("right", 10, "v")]
        best = module("compare").best_of_rounds(found)
        self.assertEqual([(item["verdict"], item["speed"]) for item in best], [("right", 3), ("wrong", None)])


class Parsers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_peer(self, script):
        options = argparse.Namespace(core=0, corpora=self.folder, workloads=["model-deltas/16384"])
        facts = {"model-deltas": [{"byteCount": 10, "facts": {"eventCount": 1, "dataByteCount": 2, "dataChecksum": 3}}]}
        peer = {"peer": "peer", "command": ["sh", "-c", script]}
        with unittest.mock.patch("builtins.print"), unittest.mock.patch("shutil.which", return_value=None):
            return module("compare").run_peer(options, facts, peer)

    def test_a_checksum_that_differs_is_wrong(self):
        line = ('{"peer": "peer", "version": "1", "workload": "model-deltas/16384", "byteCount": 10, "seconds": [1],'
                ' "eventCount": 1, "dataByteCount": 2, "dataChecksum": %d}')
        self.assertEqual([self.run_peer(f"echo '{line % number}'")[0]["verdict"] for number in (3, 4)],
                         ["right", "wrong"])

    def test_no_answer_has_a_reason(self):
        wanted = {"echo broken >&2; exit 1": "broken", "true": "no answer", "echo {": "cannot be read"}
        for script, why in wanted.items():
            with self.assertRaisesRegex(RuntimeError, why):
                self.run_peer(script)

    def test_what_hangs_ends_with_what_it_has_started(self):
        alive = self.folder / "alive"
        with self.assertRaises(subprocess.TimeoutExpired):
            module("results").run_limited(["sh", "-c", f"(sleep 0.5; touch '{alive}') & wait"], 0.1)
        time.sleep(0.7)
        self.assertFalse(alive.exists())
