"""Reads an event stream as curl shows it from standard input, and prints the text of its deltas.

Usage: event_stream_text.py END

END is `response.completed`, or in Chat Completions the reason that the end has to have, such as `stop`. It shares no
code with the package. Exit 1 when the stream ends otherwise.
"""

import json
import sys


def read_responses(events):
    """Returns the deltas of the text, and the type of the last event."""
    deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    return deltas, events[-1]["type"]


def read_chat_completions(chunks):
    """Returns the deltas of the text, and the reason of the end."""
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    reasons = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    return [choice["delta"].get("content") or "" for choice in choices], (reasons or [None])[-1]


def main():
    """Reads lines, since the server writes each event as one line of data."""
    lines = sys.stdin.buffer.read().decode("utf-8").split("\n")
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: ") and line != "data: [DONE]"]
    if not events:
        sys.exit("there is no event")
    deltas, end = (read_chat_completions if "choices" in events[0] else read_responses)(events)
    sys.stdout.buffer.write("".join(deltas).encode("utf-8"))
    if end != sys.argv[1]:
        sys.exit(f"the end is {end}, not {sys.argv[1]}")


if __name__ == "__main__":
    main()
