"""Checks that codex has run its tool as it was asked to, and that the server got each output.

Usage: codex_tools.py ROUNDS CODEX_JSON SERVER_LOG

Exit 1 when a command was not run, run twice, said something else, or its output did not come to the server.
"""

import json
import pathlib
import sys


def lines_of(path):
    """The JSON objects of a file, one a line."""
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line.startswith("{")]


def main():
    """Compares both ends."""
    rounds = int(sys.argv[1])
    wanted = [f"the bottle is empty, {number}" for number in range(1, rounds + 1)]
    items = [line["item"] for line in lines_of(sys.argv[2]) if line.get("type") == "item.completed"]
    commands = [item for item in items if item.get("type") == "command_execution"]
    # A login shell may have printed text before.
    said = [item.get("aggregated_output", "").strip().splitlines()[-1:] for item in commands]
    if said != [[text] for text in wanted] or any(item.get("exit_code") != 0 for item in commands):
        sys.exit(f"codex ran {commands}")
    # Over HTTP each request has all outputs so far; on a WebSocket it has the new one.
    outputs = [line["toolOutputs"] for line in lines_of(sys.argv[3]) if line.get("toolOutputs")]
    if outputs not in ([1] * rounds, list(range(1, rounds + 1))):
        sys.exit(f"outputs that came to the server: {outputs}")


main()
