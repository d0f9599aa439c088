"""Reads a program's output from standard input, takes the answer's text out of it, and compares it byte for byte.

Usage: text_of.py KIND EXPECTED_FILE

    plain                      the output is the text
    chappie-stream-completed   the lines of `chappie stream --json`; the last must say that the response completed
    chappie-stream-incomplete  the same of a response that the server has cut off, which the last line must say
    chappie-sse                the lines of `chappie sse`, which carry Responses events
    codex                      the lines of `codex exec --json`; the last message counts

Prints what was compared. Exit 1 when the texts differ or the response ended otherwise.
"""

import json
import pathlib
import sys


class Mismatch(Exception):
    """The output is wrong."""


def text_of_plain(output):
    """The output itself."""
    return output, ""


def text_of_chappie_stream(output, end):
    """Returns all text deltas in order, and their transport. The end is the type of the last line, or its error."""
    lines = [json.loads(line) for line in output.splitlines()]
    if not lines or end not in (lines[-1]["type"], lines[-1].get("tag")):
        raise Mismatch(f"the last line is not {end!r} but {lines[-1:]}")
    transports = [line["transport"] for line in lines if line.get("kind") == "connected" and "transport" in line]
    detours = [line["kind"] for line in lines if line.get("kind") in ("reconnecting", "fellBack", "sequenceGap")]
    detail = ", ".join(transports + detours)
    return "".join(line["text"] for line in lines if line["type"] == "textDelta"), detail


def text_of_chappie_sse(output):
    """All text deltas in order."""
    events = [json.loads(line) for line in output.splitlines()]
    payloads = [json.loads(event["data"]) for event in events if event.get("data", "[DONE]") != "[DONE]"]
    if not payloads or payloads[-1]["type"] != "response.completed":
        raise Mismatch(f"the last event is not response.completed but {[payload['type'] for payload in payloads[-1:]]}")
    text = "".join(payload["delta"] for payload in payloads if payload["type"] == "response.output_text.delta")
    return text, f"{len(payloads)} events"


def text_of_codex(output):
    """The last message of the agent."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    items = [line["item"] for line in lines if line.get("type") == "item.completed"]
    messages = [item["text"] for item in items if item.get("type") == "agent_message"]
    if not messages or lines[-1]["type"] != "turn.completed":
        raise Mismatch(f"no turn was completed: {[line.get('type') for line in lines]}")
    errors = [line for line in lines if "error" in line.get("type", "")]
    return messages[-1], f"{len(errors)} errors on the way" if errors else ""


KINDS = {
    "plain": text_of_plain,
    "chappie-stream-completed": lambda output: text_of_chappie_stream(output, "completed"),
    "chappie-stream-incomplete": lambda output: text_of_chappie_stream(output, "response.incomplete"),
    "chappie-sse": text_of_chappie_sse,
    "codex": text_of_codex,
}


def compare(actual, expected):
    """Raises at the first difference of the texts."""
    if actual == expected:
        return
    pairs = enumerate(zip(actual, expected))
    same = next((index for index, (got, wanted) in pairs if got != wanted), min(len(actual), len(expected)))
    raise Mismatch(
        f"text differs at {same} of {len(expected)} scalars: got {actual[same : same + 30]!r}"
        f" ({len(actual)} scalars), wanted {expected[same : same + 30]!r}"
    )


def main():
    """Reads the command line."""
    kind, expected_file = sys.argv[1:]
    output = sys.stdin.buffer.read().decode("utf-8")
    expected = pathlib.Path(expected_file).read_text(encoding="utf-8")
    try:
        text, detail = KINDS[kind](output)
        compare(text, expected)
    except (Mismatch, json.JSONDecodeError, KeyError) as problem:
        print(f"{type(problem).__name__}: {problem}")
        return 1
    print(f"{len(expected.encode())} bytes equal" + (f", {detail}" if detail else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
