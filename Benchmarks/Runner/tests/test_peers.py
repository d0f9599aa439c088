"""A peer's answer is compared with the facts of its input, and a peer that hangs does not stop the others."""

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

    def test_a_task_says_whether_its_streams_are_of_chat_completions(self):
        end_to_end, servers = module("end_to_end"), unittest.mock.Mock()
        servers.certificate.return_value = None
        client = next(client for client in end_to_end.CLIENTS if end_to_end.CHAT in client.workloads)
        tasks = [end_to_end.task_for(client, workload, servers) for workload in [end_to_end.CHAT, end_to_end.SSE]]
        self.assertEqual([task["isChat"] for task in tasks], [True, False])
        self.assertEqual([task["isCompressed"] for task in tasks], [False, False])

    def test_an_answer_without_a_checksum_is_wrong(self):
        answer = {"check": {"streams": [{"eventCount": 2}]}, "runs": []}
        self.assertEqual(module("end_to_end").judge(answer, self.TASK, self.FACTS), "nothing was checked")

    def test_a_filter_is_a_part_of_a_name(self):
        self.assertIn("end-to-end/websocket-plain-1 picows, callback", module("end_to_end").names())
        self.assertIn("end-to-end/websocket-plain-1 chappie, WebSocketClient, borrowed", module("end_to_end").names())
        self.assertIn("first-text/warm openai, responses.connect()", module("first_text").names())
        chosen = module("end_to_end").chosen
        self.assertEqual(list(chosen("callback, orjson")),
                         ["websocket-plain-1", "websocket-tls-1", "websocket-plain-100"])
        self.assertEqual([client.subject for client in chosen("sse-tls-1 curl")["sse-tls-1"]], ["curl"])
        self.assertEqual(list(chosen("end-to-end/sse-plain-1")), ["sse-plain-1"])
        self.assertIn("chat.completions.create(stream=True)", [client.way for client in chosen("chat")["chat-plain-1"]])
        self.assertEqual(chosen("first-text"), {})

    def test_the_command_line_is_measured_beside_the_empty_program_of_its_bar(self):
        first_text = module("first_text")
        self.assertEqual(first_text.chosen("cold", "first-text/cold chappie"),
                         [first_text.OWN, first_text.EMPTY, first_text.STREAM])
        self.assertEqual(first_text.chosen("refused-upgrade", "process included")[0], first_text.STREAM)
        self.assertEqual(first_text.chosen("warm", "first-text/cold chappie"), [])

    def test_messages_are_held_against_the_fastest_peer_that_does_not_decode(self):
        end_to_end = module("end_to_end")
        named = {f"{client.subject}, {client.way}": client for client in end_to_end.CLIENTS}

        def written(rounds):
            peers = [argparse.Namespace(client=named[name], rounds=runs) for name, runs in rounds.items()]
            results = unittest.mock.Mock()
            with unittest.mock.patch("builtins.print"):
                end_to_end.write_bar(results, end_to_end.SOCKET, peers)
            return results

        own, best = "chappie, WebSocketClient, for try await", "picows, callback"
        rounds = {own: {1: [6, 6, 9], 2: [5]}, "chappie, WebSocketClient, borrowed": {1: [99], 2: [99]},
                  best: {1: [4], 2: [10], 3: [10]}, "Node, WebSocket": {1: [2]}, "Boost.Beast, simdjson": {1: [99]}}
        figure = written(rounds).figure.call_args.kwargs
        self.assertEqual((figure["runs"], figure["bar"], figure["way"]),
                         ([1.5, 0.5], {"atLeast": 1.0}, "WebSocketClient, for try await"))
        self.assertEqual(written({**rounds, best: {}}).figure.call_args.kwargs["runs"], [3])
        alone = written({own: rounds[own], best: {}})
        alone.figure.assert_not_called()
        self.assertIn("no verdict", alone.missing.call_args.args[1])
        self.assertEqual(written({best: {1: [4]}}).mock_calls, [])


class Rounds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "results"
        self.results = module("results").Results(str(self.file))

    def written(self):
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    def test_each_has_a_turn_in_each_round_and_one_that_fails_has_no_other(self):
        asked, failed = [], []

        def measure(name, turn):
            asked.append((turn, name))
            if (turn, name) == (2, "fails"):
                raise RuntimeError("broken")

        left = module("results").in_rounds(3, ["ours", "fails", "peer"], measure,
                                           lambda name, error: failed.append((name, str(error))))
        self.assertEqual(asked, [(1, "ours"), (1, "fails"), (1, "peer"), (2, "peer"), (2, "fails"), (2, "ours"),
                                 (3, "ours"), (3, "peer")])
        self.assertEqual((left, failed), (["ours", "peer"], [("fails", "broken")]))

    def test_our_own_programs_figures_get_their_turn(self):
        # It is told `-c SCRIPT --results FILE`, and FILE is $1.
        found = self.results.own("sh", ["-c", """echo '{"measure":"m"}' >"$1"; exit 1"""], 2, 5)
        self.assertEqual((found, self.written()), ([{"measure": "m"}], [{"measure": "m", "turn": 2}]))

    def test_our_own_program_that_fails_writes_nothing(self):
        for script in ["echo broken >&2; exit 3", "echo broken >&2; echo '{}' >\"$1\"; exit 1", "echo broken"]:
            with self.assertRaisesRegex(RuntimeError, "broken"):
                self.results.own("sh", ["-c", script], 1, 5)
        self.assertFalse(self.file.exists())

    def test_what_hangs_ends_with_what_it_has_started(self):
        alive = self.folder / "alive"
        with self.assertRaises(subprocess.TimeoutExpired):
            module("results").run_limited(["sh", "-c", f"(sleep 0.5; touch '{alive}') & wait"], 0.1)
        time.sleep(0.7)
        self.assertFalse(alive.exists())


class Parsers(unittest.TestCase):
    FACTS = {"model-deltas": [{"byteCount": 10, "facts": {"eventCount": 1, "dataByteCount": 2, "dataChecksum": 3}}]}
    ANSWER = {"peer": "peer", "version": "1", "workload": "model-deltas/16384", "byteCount": 10, "seconds": [1, 2],
              "eventCount": 1, "dataByteCount": 2, "dataChecksum": 3}

    def test_a_checksum_that_differs_is_wrong(self):
        mistake = module("compare").mistake
        self.assertIsNone(mistake(self.ANSWER, self.FACTS))
        self.assertEqual(mistake({**self.ANSWER, "dataChecksum": 4}, self.FACTS), "dataChecksum 4, in the stream 3")
        self.assertEqual(mistake({"error": "broken"}, self.FACTS), "broken")

    def test_no_answer_has_a_reason(self):
        options = argparse.Namespace(corpora=PEERS, workloads=["model-deltas/16384"])
        wanted = {"echo broken >&2; exit 1": "broken", "true": "no answer", "echo {": "cannot be read"}
        for script, why in wanted.items():
            with self.assertRaisesRegex(RuntimeError, why), unittest.mock.patch("shutil.which", return_value=None):
                module("compare").ask(options, {"peer": "peer", "command": ["sh", "-c", script]})

    def test_the_bar_is_held_against_the_fastest_peers_median(self):
        keeps_bar, workload = module("compare").keeps_bar, module("compare").BAR_WORKLOAD
        speeds = {("chappie", workload): [25, 25, 9], ("a", workload): [10, 99, 1], ("b", workload): [2]}
        with unittest.mock.patch("builtins.print"):
            self.assertTrue(keeps_bar(speeds))
            self.assertFalse(keeps_bar({**speeds, ("a", workload): [11]}))
            self.assertTrue(keeps_bar({("chappie", "other"): [1]}))
