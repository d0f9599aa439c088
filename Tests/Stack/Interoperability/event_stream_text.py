"""Reads an event stream as curl shows it from standard input, and prints the text of its deltas.

It shares no code with the package. Exit 1 when the last event is not `response.completed`.
"""

import json
import sys


def main():
    """Reads lines, since the server writes each event as one line of data."""
    lines = sys.stdin.buffer.read().decode("utf-8").split("\n")
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: ") and line != "data: [DONE]"]
    deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    sys.stdout.buffer.write("".join(deltas).encode("utf-8"))
    if not events or events[-1]["type"] != "response.completed":
        sys.exit(f"the last event is {[event['type'] for event in events[-1:]]}, not response.completed")


if __name__ == "__main__":
    main()
