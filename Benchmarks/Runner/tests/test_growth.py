"""Walks that cost more than twice as much with twice the input are found."""

import contextlib
import io
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from Runner import growth

# Stands for valgrind: a walk that is linear, and one that is quadratic.
VALGRIND = r"""#!/usr/bin/env python3
import pathlib, sys
[file] = [option.partition("=")[2] for option in sys.argv if option.startswith("--callgrind-out-file=")]
for number, instructions in enumerate([9, 100, 200, 7, 100, 400], 1):
    pathlib.Path(f"{file}.{number}").write_text(f"summary: {instructions}\n")
print('{"walk":"one","count":10,"result":1}')
print('{"walk":"other","count":10,"result":1}')
"""


class Walks(unittest.TestCase):
    def test_a_walk_is_counted_with_both_sizes(self):
        with tempfile.TemporaryDirectory() as folder:
            valgrind = pathlib.Path(folder) / "valgrind"
            valgrind.write_text(VALGRIND)
            valgrind.chmod(0o755)
            with mock.patch.dict(os.environ, {"PATH": f"{folder}:{os.environ['PATH']}"}):
                counted = growth.count("walk-growth")
        self.assertEqual(counted, [growth.Growth("one", 10, 100, 200), growth.Growth("other", 10, 100, 400)])

    def test_a_quadratic_walk_fails(self):
        with contextlib.redirect_stdout(io.StringIO()):
            failures = growth.report([growth.Growth("one", 10, 100, 220), growth.Growth("other", 10, 100, 221)])
        self.assertEqual(len(failures), 1)
        self.assertIn("other: twice the input costs 2.21 times", failures[0])
