"""Tests of docs.py: `python3 -m unittest discover --start-directory Scripts`."""

import contextlib
import io
import unittest
import unittest.mock

import docs


class OutputTests(unittest.TestCase):
    def wrong(self, *lines):
        with (
            unittest.mock.patch.object(docs, "code", lambda: [("page", 0, list(lines))]),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            return docs.output()

    def test_calls_of_file_handles_that_trap_are_wrong(self):
        for call in ("FileHandle.standardOutput.write(Data(text.utf8))", "FileHandle(forWritingAtPath: p)?.write(data)",
                     "handle.write(data)", "standardError.write(data)", "input.availableData", "input.closeFile()"):
            self.assertEqual(self.wrong(call), 1, call)

    def test_calls_that_throw_and_calls_of_others_are_right(self):
        for call in ("try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))", "try data.write(to: file)",
                     "response.write(event)", "try input.close()"):
            self.assertEqual(self.wrong(call), 0, call)

    def test_text_without_a_line_feed_is_flushed_in_the_next_lines(self):
        self.assertEqual(self.wrong('print(text, terminator: "")', "next()"), 1)
        self.assertEqual(self.wrong('print(text, terminator: "")', "fflush(nil)"), 0)
        self.assertEqual(self.wrong('print(text, terminator: "\\n")'), 0)


if __name__ == "__main__":
    unittest.main()
