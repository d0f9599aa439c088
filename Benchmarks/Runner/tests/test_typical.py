"""Typical traffic: its table, its bars, and what a client has to have read."""

import json
import pathlib
import tempfile
import unittest
import unittest.mock

from Runner import quantities, readme, table
from Runner.figures import Figure
from Runner.results import Results
from Runner.tests.test_peers import module

WORKLOAD = ("typical", "websocket-plain-100x50")
FLOOD = ("typical", "flood-plain-100")


def made_up():
    """Results of figures that were never measured."""
    found = Results()

    def add(question, subject, way, measure, unit, runs, **more):
        found.figures.append(Figure(*question, subject, measure, unit, runs, way=way, better="lower", **more))

    for subject, way, factor in [("tungstenite", "serde_json", 2), ("chappie", "events()", 4),
                                 ("machine", "epoll", 1)]:
        add(WORKLOAD, subject, way, "processor-time", "µs/event", [factor * run for run in [12, 10.5, 11, 13.5, 13]],
            version=None if subject == "chappie" else "1")
        add(WORKLOAD, subject, way, "switches", "/event", [0.5 * factor])
        add(WORKLOAD, subject, way, "lag-p50", "µs", [300.0 * factor])
        add(WORKLOAD, subject, way, "memory", "bytes", [12_000_000 * factor])
    add(WORKLOAD, "chappie", "events()", "processor-time beside raw epoll", "×", [1.2, 1.5, 1.3, 1.6, 1.7],
        bar={"atMost": 1.4})
    add(FLOOD, "chappie", "events()", "throughput", "events/s", [2e6])
    add(FLOOD, "chappie", "events()", "processor-time", "ns/event", [1_210, 1_190])
    add(FLOOD, "chappie", "events()", "memory", "bytes", [40 << 20, 39 << 20], bar={"atMost": 40 << 20})
    return found


class Tables(unittest.TestCase):
    def test_a_program_has_one_row_with_the_quartiles_of_its_processor_time(self):
        lines = table.text(made_up()).splitlines()
        start = lines.index("  websocket-plain-100x50   processor    quartiles switch     p50     p99  memory")
        self.assertEqual(lines[start + 1:start + 4], [
            "    chappie, events()        48.0 µs    44.0-52.0   2.00 1.20 ms         48.0 MB",
            "    machine, epoll           12.0 µs    11.0-13.0  0.500  300 µs         12.0 MB",
            "    tungstenite, serde_json  24.0 µs    22.0-26.0   1.00  600 µs         24.0 MB"])

    def test_a_measure_whose_spread_is_above_30_percent_is_named_below_the_row(self):
        results = made_up()
        results.figures[0].runs = [24, 20, 28]
        lines = table.text(results).splitlines()
        row = next(index for index, line in enumerate(lines) if line.startswith("    tungstenite"))
        self.assertEqual(lines[row + 1], "      unsteady: processor-time")
        self.assertEqual(sum("unsteady" in line for line in lines), 1)

    def test_a_long_name_has_a_line_of_its_own(self):
        results = made_up()
        results.figures[0].way = "serde_json and more"
        lines = table.text(results).splitlines()
        self.assertIn("24.0 µs", lines[lines.index("    tungstenite, serde_json and more") + 1])

    def test_the_table_fits_80_columns(self):
        self.assertLessEqual(max(len(line) for line in table.text(made_up()).splitlines()), 80)

    def test_a_flood_has_its_own_columns_in_the_unit_of_the_median(self):
        [row] = [line for line in table.text(made_up()).splitlines() if "2.00 M" in line]
        self.assertIn("1.20 µs    1.20-1.21", row)
        self.assertTrue(row.endswith("41.4 MB"))

    def test_each_bar_has_its_verdict_and_a_missed_one_fails_the_run(self):
        results = made_up()
        lines = table.text(results).splitlines()
        row = lines.index("    websocket-plain-100x50, events(): processor-time beside raw epoll") + 1
        self.assertEqual(lines[row].split(), ["1.50", "×", "1.30-1.60", "<=", "1.40", "×", "MISSED"])
        row = lines.index("    flood-plain-100, events(): memory") + 1
        self.assertTrue(lines[row].endswith("<= 41.9 MB ok"))
        self.assertEqual([figure.measure for figure in results.missed], ["processor-time beside raw epoll"])

    def test_typical_traffic_is_the_first_group(self):
        results = made_up()
        results.figures.insert(0, Figure("end-to-end", "w", "chappie", "throughput", "events/s", [1]))
        self.assertEqual([group for group, _ in results.questions()], ["typical", "end-to-end"])

    def test_quartiles_are_interpolated_and_those_of_one_run_are_the_run(self):
        figure = Figure(*WORKLOAD, "chappie", "m", "", [4, 1, 3, 2])
        self.assertEqual(figure.quartiles, (1.75, 3.25))
        figure.runs = [7]
        self.assertEqual(figure.quartiles, (7, 7))

    def test_the_scale_is_that_of_the_text(self):
        for value, unit, scale in [(1_500, "ns", 1e3), (999, "ns", 1), (2e6, "events/s", 1e6), (5e12, "ns", 1e9),
                                   (1_500, "ns/event", 1), (3, "×", 1)]:
            self.assertEqual(quantities.scale(value, unit), scale)

    def test_the_readme_shows_typical_traffic_first_when_there_is_some(self):
        rows = [f"| {start} | 1 | `make bench` |" for start in [*readme.CHOSEN, *readme.TYPICAL]]
        found = readme.chosen(rows, "a run")
        self.assertEqual(found[:len(readme.TYPICAL)], rows[len(readme.CHOSEN):])
        self.assertEqual(len(readme.chosen(rows[:len(readme.CHOSEN)], "a run")), len(readme.CHOSEN))

    def test_a_row_of_typical_traffic_names_the_floor_and_the_command_with_peers(self):
        [row] = [row for row in readme.rows_of(readme.document(made_up())) if row.startswith(f"| {readme.TYPICAL[0]} |")]
        self.assertIn("machine, epoll: 12.0 µs/event, 0.25 ×", row)
        self.assertIn("tungstenite, serde_json", row)
        self.assertTrue(row.endswith("`make bench-peers FILTER=typical/websocket-plain-100x50` |"))


class Measurements(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "results"
        self.typical = module("typical")

    def workload(self, name):
        return next(workload for workload in self.typical.WORKLOADS if workload.name == name)

    def written(self, name, *rounds):
        """The figures of rounds, each the processor time of the floor and of `events()`."""
        measurement = self.typical.Measurement(self.workload(name))
        for turn, values in enumerate(rounds, 1):
            for client, value in zip([self.typical.FLOOR, self.typical.EVENTS], values):
                if value:
                    measurement.take(client, turn, {"processor-time": [value]}, "1")
        with unittest.mock.patch("builtins.print"):
            measurement.write(module("results").Results(str(self.file)))
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    def test_a_bar_is_about_the_ratios_of_the_same_round(self):
        lines = self.written("websocket-plain-100x50", (10, 12), (20, 30), (None, 99), (10, 14))
        [bar] = [line for line in lines if line.get("bar")]
        self.assertEqual((bar["measure"], bar["unit"]), ("processor-time beside raw epoll", "×"))
        self.assertEqual((bar["runs"], bar["bar"]), ([1.2, 1.5, 1.4], {"atMost": 1.4}))
        self.assertEqual(Figure.from_json(bar).is_held, True)

    def test_a_bar_without_the_program_beside_it_is_named(self):
        lines = self.written("websocket-plain-100x50", (None, 12))
        missing = [line["missing"] for line in lines if "missing" in line]
        bars = [bar for bar in self.typical.BARS if bar.workload == "websocket-plain-100x50"]
        self.assertEqual([line["subject"] for line in missing], ["machine, epoll"] * len(bars))
        self.assertEqual([line["bar"] for line in missing], ["processor-time beside raw epoll"] * len(bars))

    def test_a_filter_that_leaves_a_program_out_does_not_ask_for_a_verdict(self):
        measurement = self.typical.Measurement(self.workload("websocket-plain-100x50"), [self.typical.EVENTS])
        measurement.take(self.typical.EVENTS, 1, {"processor-time": [12]}, "1")
        with unittest.mock.patch("builtins.print"):
            measurement.write(module("results").Results(str(self.file)))
        lines = [json.loads(line) for line in self.file.read_text().splitlines()]
        missing = [line["missing"] for line in lines if "missing" in line]
        self.assertNotEqual(missing, [])
        self.assertEqual([line for line in missing if "bar" in line], [])

    def test_batches_have_a_bar_beside_raw_epoll_in_a_flood(self):
        measurement = self.typical.Measurement(self.workload("flood-plain-1"))
        measurement.take(self.typical.FLOOR, 1, {"processor-time": [100]}, "1")
        measurement.take(self.typical.BATCHES, 1, {"processor-time": [130]}, "")
        with unittest.mock.patch("builtins.print"):
            measurement.write(module("results").Results(str(self.file)))
        lines = [json.loads(line) for line in self.file.read_text().splitlines()]
        [bar] = [line for line in lines if line.get("bar")]
        self.assertEqual((bar["way"], bar["measure"], bar["runs"], bar["bar"]),
                         ("batches()", "processor-time beside raw epoll", [1.3], {"atMost": 1.2}))

    def test_a_server_that_is_late_is_named(self):
        measurement = self.typical.Measurement(self.workload("sse-plain-100x50"))
        for turn, late in enumerate([0.0, 0.06], 1):
            measurement.take(self.typical.EVENTS, turn, {"processor-time": [1]}, "", late)
        with unittest.mock.patch("builtins.print"):
            measurement.write(module("results").Results(str(self.file)))
        lines = [json.loads(line) for line in self.file.read_text().splitlines()]
        self.assertEqual(lines[1]["missing"]["subject"], "stream-server")
        self.assertIn("3% of the events", lines[1]["missing"]["why"])

    def test_every_bar_is_about_clients_of_its_workload(self):
        for bar in self.typical.BARS:
            clients = self.workload(bar.workload).clients
            self.assertIn(bar.client, clients)
            self.assertIn(bar.other, (None, *clients))

    def test_each_event_that_was_sent_has_to_be_read(self):
        workload, client = self.workload("websocket-plain-1x50"), self.typical.BEAST
        answer = {"eventCount": 200, "momentSum": "77"}
        self.assertIsNone(self.typical.mistake(workload, client, answer, {}, ["200", "77", "3"], None))
        for sent in (["201", "77"], ["200", "78"], []):
            self.assertIn("200 events", self.typical.mistake(workload, client, answer, {}, sent, None))
            self.assertIn("200 events", self.typical.mistake(workload, self.typical.EVENTS, answer, {}, sent, None))

    def test_a_share_of_the_events_arrives(self):
        workload = self.workload("websocket-plain-10000x10")
        answer = {"memoryBytes": 1, "processorSeconds": 1.5, "seconds": 3.0, "switchCount": 5, "lags": [1_000, 2_000]}
        found = self.typical.values(workload, answer, {"first": 0, "last": 240_000})
        self.assertEqual((found["arrived"], found["core"], found["processor-time"], found["lag-p99"]),
                         ([0.8], [0.5], [6.25], [2.0]))

    def test_a_filter_selects_peers_and_always_this_package(self):
        self.assertEqual({workload.name for workload, _ in self.typical.chosen("typical/websocket-plain-1x50")},
                         {"websocket-plain-1x50"})
        [(_, clients)] = self.typical.chosen("flood-tls-1 Boost")
        self.assertEqual([client.subject for client in clients], ["chappie", "Boost.Beast"])
        self.assertEqual(self.typical.chosen("end-to-end"), [])
        self.assertEqual(len(self.typical.chosen("typical")), len(self.typical.WORKLOADS))
