"""The event streams of the servers *_events, and the judgement about both ends.

Usage: event_streams.py check KIND CLIENT_OUTPUT SERVER_OUTPUT

The stream of a GET has four parts, one a connection, whichever the server: the first ends in order, the second inside of
an event, the third behind its last event, and the answer to the fourth is 204. Kinds: `get`, the same in gzip (`gzip`),
`post`, whose stream repeats the request, and `busy`, a server that first answers 503.
"""

import json
import pathlib
import sys

RETRY = 40
POSTED = '{"input": "Tell me about the bottle 🍾"}'
# One list a connection: type, data, ID (None: no field).
PARTS = [
    [("message", "grøn", "1"), ("bottle", "two\nlines\n", "2"), ("message", " 🍾 behind a space", "nummer tre")],
    [("message", "without an ID", None), ("message", "last of the second", "5")],
    [("message", "x" * 100_000, "6"), ("message", "", "")],
]
CUT = "id: 5b\ndata: this event is never complete\n"


def fields(kind, data, identifier, index):
    """The fields of an event, as servers take them; the first event of a stream sets the reconnection time."""
    values = {"data": data}
    if kind != "message":
        values["event"] = kind
    if identifier is not None:
        values["id"] = identifier
    if index == 0:
        values["retry"] = RETRY
    return values


def expect(name, actual, wanted):
    """Ends the program when two values differ; large ones are shortened."""
    if actual != wanted:
        sys.exit(f"{name}: {repr(actual)[:300]}, wanted: {repr(wanted)[:300]}")


def wanted_events(kind):
    """What the client has to print: an event without an ID has the last one, and an empty ID resets it."""
    if kind == "post":
        return [{"event": "message", "data": POSTED, "id": "p1"}, {"event": "done", "data": "POST", "id": "p1"}]
    events, last = [], ""
    for name, data, identifier in (event for part in PARTS for event in part):
        last = last if identifier is None else identifier
        events.append({"event": name, "data": data} | ({"id": last} if last else {}))
    return events


def wanted_requests(kind):
    """What the server has to see: method, Last-Event-ID, status."""
    if kind == "post":
        return [["POST", None, 200]]
    requests = [["GET", None, 200], ["GET", "nummer tre", 200], ["GET", "5", 200], ["GET", None, 204]]
    return [["GET", None, 503]] + requests if kind == "busy" else requests


def main():
    """Judges both ends."""
    kind, client, server = sys.argv[2:5]
    lines = [json.loads(line) for line in pathlib.Path(client).read_text(encoding="utf-8").splitlines()]
    expect("events", lines, wanted_events(kind))
    _, *log = pathlib.Path(server).read_text(encoding="utf-8").splitlines()
    requests = [json.loads(line) for line in log]
    expect("requests", [request["request"] for request in requests], wanted_requests(kind))
    for request in requests:
        expect("Accept", request["accept"], "text/event-stream")
        expect("gzip", request["gzip"], kind != "post" and kind != "plain" and request["request"][2] == 200 and request["packs"])
    comments = sum(request["comments"] for request in requests)
    if kind != "post" and comments < 3:
        sys.exit(f"only {comments} comments were sent")
    print(f"{requests[0]['server']}: {len(requests)} requests, {len(lines)} events, {comments} comments")


if __name__ == "__main__":
    main()
