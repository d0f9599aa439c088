"""The requests of the Model Context Protocol's cases, and the judgement about both ends.

Usage: mcp_requests.py request NAME            prints the content of a request
       mcp_requests.py session SERVER_OUTPUT   prints the session of the first answer
       mcp_requests.py check FOLDER SERVER_OUTPUT

FOLDER has what the client printed for each request: initialize.json, initialized.json, pour.json, replay.json,
listen.json and announce.json. The server is mcp_server.py.
"""

import json
import pathlib
import sys

VERSION = "2025-11-25"
ACCEPT = "application/json, text/event-stream"
REQUESTS = {
    "initialize": {
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "chappie", "version": "1"}},
    },
    "initialized": {"method": "notifications/initialized"},
    "pour": {
        "id": 1,
        "method": "tools/call",
        "params": {"name": "pour", "arguments": {"bottle": "sølv 🍾"}, "_meta": {"progressToken": "glasses"}},
    },
    "announce": {"id": 2, "method": "tools/call", "params": {"name": "announce", "arguments": {"text": "corked"}}},
}
# The progress at which the server closes the stream.
CLOSED_BEHIND = 2
GLASSES = 5


def expect(name, actual, wanted):
    """Ends the program when two values differ."""
    if actual != wanted:
        sys.exit(f"{name}: {repr(actual)[:300]}, wanted: {repr(wanted)[:300]}")


class Answer:
    """The client's output for one request."""

    def __init__(self, folder, name):
        text = (pathlib.Path(folder) / f"{name}.json").read_text(encoding="utf-8")
        self.lines = [json.loads(line) for line in text.splitlines()]
        self.events = [line for line in self.lines if "event" in line]
        self.messages = [json.loads(event["data"]) for event in self.events if event["data"]]
        self.ids = [event.get("id") for event in self.events]

    @property
    def progress(self):
        """The numbers of the notifications about progress."""
        return [message["params"]["progress"] for message in self.messages if "id" not in message]


def check_pour(answer, replay):
    """Judges a call that was answered by two streams; returns the ID at which the first one ended."""
    expect("first event", answer.events[0]["data"], "")
    expect("progress", answer.progress, list(range(1, GLASSES + 1)))
    expect("result", answer.messages[-1]["id"], 1)
    text = answer.messages[-1]["result"]["content"][0]["text"]
    expect("text", text, f"{GLASSES} glasses of sølv 🍾")
    expect("different IDs", len(set(answer.ids)), len(answer.ids))
    # The same events again, from another run of the client.
    expect("replay", replay.events, answer.events[1:])
    return answer.ids[CLOSED_BEHIND]


def main():
    """Prints a request or a session, or judges."""
    action, name = sys.argv[1:3]
    if action == "request":
        print(json.dumps({"jsonrpc": "2.0"} | REQUESTS[name], ensure_ascii=False))
        return
    if action == "session":
        print(json.loads(pathlib.Path(name).read_text().splitlines()[1])["opened"])
        return
    initialize, initialized, pour, replay, listen, announce = (
        Answer(name, kind) for kind in ("initialize", "initialized", "pour", "replay", "listen", "announce")
    )
    expect("version", initialize.messages[0]["result"]["protocolVersion"], VERSION)
    expect("notification", [line.get("statusCode") for line in initialized.lines], [202])
    resumed_behind = check_pour(pour, replay)
    expect("listened", listen.messages[0]["params"], {"uri": "bottle://corked"})
    expect("announced", announce.messages[-1]["result"]["content"][0]["text"], "announced")
    log = [json.loads(line) for line in pathlib.Path(sys.argv[3]).read_text().splitlines()[1:]]
    session = log[0]["opened"]
    wanted = [
        ["POST", None, 200],
        ["POST", None, 202],
        ["POST", None, 200],
        ["GET", resumed_behind, 200],
        ["GET", pour.ids[0], 200],
        ["GET", None, 200],
        ["POST", None, 200],
    ]
    expect("requests", [request["request"] for request in log], wanted)
    expect("Accept", {request["accept"] for request in log}, {ACCEPT})
    expect("sessions", [request["session"] for request in log], [None] + [session] * (len(log) - 1))
    print(f"mcp: {len(log)} requests of one session, resumed behind {resumed_behind}, {len(pour.messages)} messages")


main()
