"""The table, the page and the tables of figures show the measured values."""

import contextlib
import html.parser
import io
import pathlib
import tempfile
import unittest
import unittest.mock

from Runner import page, quantities, readme, table
from Runner.figures import Figure, ResultsError
from Runner.results import Results

EVENTS = ("end-to-end", "websocket-plain-1")
UNCLOSED = {"meta"}
CHOSEN = ["end-to-end/websocket-plain-1, for try await, throughput", "latency/websocket-1000, for try await, latency-p99"]


def made_up():
    """Results of figures that were never measured."""
    found = Results(
        date="2026-01-31T12:00:00Z", command="make bench-peers", seconds=512, commit="0123456789abcdef",
        isModified=False, machine={"processor": "A processor", "cores": 2, "memoryBytes": 24 << 30},
        versions={"swift": "6.3"}, missing=[{"subject": "curl", "why": "not there " * 20}])
    found.take([
        Figure(*EVENTS, "chappie", "throughput", "events/s", [1.5e6, 1.6e6, 1.8e6], way="for try await",
               better="higher", bar={"atLeast": 1.5e6}, decodes=True),
        Figure(*EVENTS, "chappie", "throughput", "events/s", [3e6], way="batches()", better="higher",
               bar={"atLeast": 3.5e6}, decodes=True),
        Figure(*EVENTS, "picows", "throughput", "events/s", [3.2e6, 3.2e6], way="callback", better="higher",
               decodes=False, version="2.3"),
        Figure(*EVENTS, "Node", "throughput", "events/s", [8e5], way="fetch, eventsource-parser, JSON.parse",
               better="higher", decodes=True, version="24"),
        Figure("latency", "websocket-1000", "chappie", "latency-p99", "µs", [101, 90, 250], way="for try await",
               better="lower"),
        Figure("first-text", "refused-upgrade", "chappie", "time", "ms", [0.4, 0.5], better="lower",
               bar={"atMost": 50.9, "quantile": 0.99}),
    ])
    return found


class Balance(html.parser.HTMLParser):
    """Every element that is opened is closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in UNCLOSED:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


class Tables(unittest.TestCase):
    def test_the_table_fits_80_columns(self):
        self.assertLessEqual(max(len(line) for line in table.text(made_up()).splitlines()), 80)

    def test_a_row_has_median_spread_and_bar(self):
        lines = table.text(made_up()).splitlines()
        self.assertIn("    chappie, for try await         1.60 M events/s   19 %  >= 1.50 M ok", lines)
        self.assertIn("    chappie, batches()             3.00 M events/s         >= 3.50 M MISSED", lines)
        self.assertIn("    picows, callback               3.20 M events/s    0 %  chappie 0.50 ×", lines)
        self.assertIn("    chappie                               0.450 ms   22 %  p99 <= 50.9 ms ok", lines)

    def test_a_spread_above_30_percent_is_said_in_the_row(self):
        lines = table.text(made_up()).splitlines()
        self.assertIn("    chappie, for try await                  101 µs  158 %  unsteady", lines)
        wide = Figure("latency", "websocket-1000", "chappie", "latency-p99", "µs", [100, 131, 100],
                      bar={"atLeast": 10.5, "atMost": 102_000, "quantile": 0.99}, better="lower")
        self.assertEqual(table.rows(wide, Results())[1].split(), ["unsteady"])
        wide.runs = [100, 130, 100]
        self.assertEqual(len(table.rows(wide, Results())), 1)
        self.assertIn('<td class="bad">158 %</td>', page.html(made_up()))

    def test_what_was_missed_and_what_is_missing_is_said(self):
        text = table.text(made_up())
        self.assertIn("MISSED: end-to-end/websocket-plain-1, chappie, batches(), throughput", text)
        self.assertIn("missing: curl: not there", text)
        self.assertIn("bars held: 2 of 3", text)

    def test_the_page_has_the_same_figures_and_is_whole(self):
        text = page.html(made_up())
        for wanted in ["1.60 M events/s", "19 %", "chappie 0.50 ×", "picows, callback (2.3)"]:
            self.assertIn(wanted, text)
        balance = Balance()
        balance.feed(text)
        self.assertEqual(balance.open, [])

    def test_names_are_no_markup(self):
        results = made_up()
        for figure in results.figures:
            figure.workload = figure.way = figure.group = figure.version = "<b>"
        results.command = results.commit = results.date = "<b>"
        results.machine = {"processor": "<b>"}
        results.failures = results.versions = {"<b>": "<b>"}
        self.assertNotIn("<b>", page.html(results))

    def test_a_page_without_figures_is_whole(self):
        balance = Balance()
        balance.feed(page.html(Results()))
        self.assertEqual(balance.open, [])


class Readmes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "Benchmarks").mkdir()
        rows = unittest.mock.patch.object(readme, "CHOSEN", CHOSEN)
        rows.start()
        self.addCleanup(rows.stop)
        self.readme = self.folder / "README.md"
        self.readme.write_text(f"before\n{readme.BEGIN}\n| stale | 1 | `make bench` |\n{readme.END}\nafter\n")

    def quietly(self, action, *arguments):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return action(*arguments)

    def test_the_rows_of_the_readme_are_rows_of_the_results(self):
        self.quietly(readme.write, made_up(), self.folder)
        self.assertEqual(self.quietly(readme.check, self.folder), 0)
        text = self.readme.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
        self.assertNotIn("stale", text)
        self.assertIn("| 1.60 M events/s | 19 % | Node, fetch, eventsource-parser, JSON.parse (decodes): 800 k events/s, "
                      "2.00 ×; picows, callback (does not decode): 3.20 M events/s, 0.50 × | "
                      "`make bench-peers FILTER=end-to-end/websocket-plain-1` |", text)

    def test_a_figure_that_differs_is_found(self):
        self.quietly(readme.write, made_up(), self.folder)
        self.readme.write_text(self.readme.read_text().replace("1.60 M", "1.61 M"))
        self.assertEqual(self.quietly(readme.check, self.folder), 1)

    def test_a_readme_without_figures_is_found(self):
        self.quietly(readme.write, made_up(), self.folder)
        text = self.readme.read_text()
        self.readme.write_text("\n".join(line for line in text.splitlines() if not line.startswith(f"| {CHOSEN[1]}")))
        with self.assertRaisesRegex(ResultsError, CHOSEN[1]):
            readme.check(self.folder)

    def test_a_run_of_some_figures_changes_no_file(self):
        before = self.readme.read_text()
        results = made_up()
        results.figures = results.figures[:2]
        with self.assertRaisesRegex(ResultsError, CHOSEN[1]):
            readme.write(results, self.folder)
        self.assertEqual(self.readme.read_text(), before)
        self.assertFalse((self.folder / "Benchmarks" / "RESULTS.md").exists())


class Quantities(unittest.TestCase):
    def test_values_are_written_as_people_read_them(self):
        wanted = {(16_029e6, "bytes/s"): "16.0 GB/s", (3.52e6, "events/s"): "3.52 M events/s",
                  (812, "ns/event"): "812 ns/event", (15_900, "ms"): "15.9 s", (67_000, "bytes"): "67.0 kB",
                  (0.0012, "/event"): "0.001", (0, "/event"): "0", (800, "events/s"): "800 events/s",
                  (412_345, "messages/s"): "412 k messages/s", (2_300, "ns/message"): "2,300 ns/message",
                  (12_300, "/s"): "12,300 /s", (9.8, "KiB/stream"): "9.80 KiB/stream", (2, ""): "2.00"}
        for (value, unit), text in wanted.items():
            self.assertEqual(quantities.quantity(value, unit), text)
        wanted = {0.314: "0.31 ×", 0.0581: "0.058 ×", 0.0042: "0.0042 ×", 9.4: "9.40 ×"}
        self.assertEqual([quantities.times(ratio) for ratio in wanted], list(wanted.values()))
