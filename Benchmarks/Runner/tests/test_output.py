"""The table, the report and the READMEs are made of what there is, and of no more."""

import argparse
import contextlib
import io
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree
from html.parser import HTMLParser

from Runner import charts, drawing, page, quantities, readme, table
from Runner.figures import Figure, ResultsError
from Runner.results import Results
from Runner.tests import made_up

VOID = {"meta"}


class Balance(HTMLParser):
    """Fails when an element is closed that is not the one that is open."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()


class Reports(unittest.TestCase):
    def test_a_whole_report(self):
        text = page.html(made_up.results())
        Balance().feed(text)
        self.assertEqual(text.count('<section class="card"'), 12)
        self.assertNotIn("Not in this report", text)
        self.assertNotIn("http://", text)
        self.assertNotIn("https://", text)
        self.assertNotIn("nan", text)
        for drawing in text.split("<svg")[1:]:
            parsed = xml.etree.ElementTree.fromstring("<svg" + drawing.split("</svg>")[0] + "</svg>")
            self.assertEqual(parsed.get("role"), "img")
            self.assertEqual([child.tag for child in parsed][:2], ["title", "desc"])
            self.assertTrue(parsed[1].text)

    def test_takeaways_come_from_the_figures(self):
        results = made_up.results()
        before = page.html(results)
        for figure in results.figures:
            figure.median *= 2 if figure.is_own else 1
        self.assertIn("15.9\u00a0GB/s", before)
        self.assertIn("31.8\u00a0GB/s", page.html(results))

    def test_every_figure_alone_makes_a_report(self):
        seen = set()
        for figure in made_up.results().figures:
            kind = (figure.group, figure.measure, figure.subject)
            if kind not in seen:
                seen.add(kind)
                with self.subTest(kind):
                    results = Results(figures=[figure])
                    Balance().feed(page.html(results))
                    self.assertIn(figure.workload, table.text(results))
                    readme.short_table(results)
                    readme.long_tables(results)

    def test_what_is_missing_is_said_and_not_drawn(self):
        text = page.html(Results(figures=[Figure("connections", "connect-and-cancel", "chappie", "rate", "/s", [5.0])]))
        self.assertIn("Not in this report", text)
        self.assertNotIn("<svg", text)
        Balance().feed(page.html(Results()))

    def test_values_of_zero_have_a_place(self):
        results = made_up.results()
        for figure in results.figures:
            if not figure.workload.endswith("-1"):
                figure.median = 0.0
        Balance().feed(page.html(results))
        for figure in results.figures:
            figure.median = 0.0
        Balance().feed(page.html(results))

    def test_amounts_of_zero_and_negative_values_are_left_out(self):
        results = made_up.results()
        for figure in results.figures:
            if figure.workload.endswith(("-10", "262144")):
                figure.amount = 0
            elif figure.group == "processor":
                figure.median = -figure.median
        Balance().feed(page.html(results))

    def test_numbers_below_a_chart_do_not_overlap(self):
        for width in range(150, 800, 10):
            canvas = drawing.Canvas(width)
            charts.draw_grid(canvas, drawing.Scale([1e7, 1.3e11], 0, width, True), "bytes/s", 0, 10)
            end = -10
            for number in xml.etree.ElementTree.fromstring(f"<g>{''.join(canvas.parts)}</g>").iter("text"):
                size = drawing.text_width(number.text, 11)
                left = float(number.get("x")) - (size / 2 if number.get("text-anchor") == "middle" else 0)
                self.assertGreaterEqual(left, end + 10, f"{number.text} at a width of {width}")
                end = left + size

    def test_names_are_no_markup(self):
        results = made_up.results()
        for figure in results.figures:
            figure.workload += "<b>" if figure.group in ("parser", "memory") else ""
            figure.way = f"<b>{figure.way}\""
            figure.subject = figure.subject if figure.subject in ("chappie", "machine") else f"<b>{figure.subject}\""
        results.warnings = results.missing = [{"subject": "<b>", "why": "<b>"}]
        results.programs = [{"program": "<b>", "failure": "<b>"}]
        results.filter = results.command = results.commit = results.date = "<b>"
        results.machine = {name: "<b>" for name in ["processor", "cores", "system", "kernel", "virtualization"]}
        results.versions = {"<b>": "<b>"}
        text = page.html(results)
        self.assertNotIn("<b>", text)
        Balance().feed(text)

    def test_the_table_says_what_was_missed(self):
        text = table.text(made_up.results())
        self.assertIn("MISSED: connections/connect-and-cancel", text)
        self.assertIn("missing: gin-contrib/sse: there is no apt-get", text)
        self.assertIn("bars held: 2 of 3", text)


class Readmes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "Benchmarks").mkdir()
        for name in ["README.md", "Benchmarks/README.md"]:
            (self.folder / name).write_text(f"before\n{readme.BEGIN}\nstale\n{readme.END}\nafter\n")
        self.results = self.folder / "results.json"

    def call(self, check):
        given = argparse.Namespace(check=check, results=self.results)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return readme.command(given, self.folder)

    def test_tables_are_written_between_the_markers_and_checked(self):
        made_up.results().save(self.results)
        self.assertEqual(self.call(check=True), 1)
        self.assertEqual(self.call(check=False), 0)
        self.assertEqual(self.call(check=True), 0)
        text = (self.folder / "README.md").read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
        self.assertIn("`make bench-peers FILTER=end-to-end/websocket-plain-1`", text)
        self.assertNotIn("stale", text)
        self.assertTrue(4 <= text.count("| `make") <= 6)

    def test_without_committed_results_there_is_nothing_to_check(self):
        self.assertEqual(self.call(check=True), 0)
        with self.assertRaises(ResultsError):
            self.call(check=False)

    def test_a_file_without_markers_is_an_error(self):
        with self.assertRaises(ResultsError):
            readme.replaced("nothing here", "table", "README.md")


class Quantities(unittest.TestCase):
    def test_values_are_written_as_people_read_them(self):
        wanted = {(16_029e6, "bytes/s"): "16.0 GB/s", (3.52e6, "events/s"): "3.52 M events/s",
                  (812, "ns/event"): "812 ns/event", (15_900, "ms"): "15.9 s", (67_000, "bytes"): "67.0 kB",
                  (0.0012, "/event"): "0.001", (0, "/event"): "0",
                  (12_300, "/s"): "12,300 /s", (9.8, "KiB/stream"): "9.80 KiB/stream"}
        for (value, unit), text in wanted.items():
            self.assertEqual(quantities.quantity(value, unit), text)
        wanted = {0.314: "0.31 ×", 0.0581: "0.058 ×", 0.0042: "0.0042 ×"}
        self.assertEqual([quantities.times(ratio) for ratio in wanted], list(wanted.values()))
        self.assertEqual(quantities.quantity(2, ""), "2.00")
        self.assertEqual(quantities.listed(["a", "b", "c"]), "a, b and c")
