"""The event streams of the servers *_events, and the judgement about both ends.

Usage: event_streams.py KIND CLIENT_OUTPUT SERVER_OUTPUT

The stream of a GET has three parts, one a connection: the first ends in order, the second inside of an event, the third
has a large event and resets the ID. The answer to the fourth request is 204. Kinds: `get`; `gzip`, where the server
compresses; `busy`, where it first answers 503; and `post`, whose stream repeats the content of the request.
"""

import json
import pathlib
import sys

# In milliseconds.
RETRY = 40
POSTED = '{"input": "Tell me about the bottle 🍾"}'
# Type, data and ID of each event; None for an event without the field.
PARTS = [
    [("message", "grøn", "1"), ("bottle", "two\nlines\n", "2"), ("message", " 🍾 behind a space", "nummer tre")],
    [("message", "without an ID", None), ("message", "last of the second", "5")],
    [("message", "x" * 100_000, "6"), ("message", "the end", "")],
]
CUT_OFF = "id: 5b\ndata: this event is never complete\n"


def fields(position, event):
    """The fields of an event; the first one of a stream sets the reconnection time."""
    kind, data, identifier = event
    values = {"data": data, "event": None if kind == "message" else kind, "id": identifier}
    if position == 0:
        values["retry"] = RETRY
    return {name: value for name, value in values.items() if value is not None}


def expect(name, actual, wanted):
    """Ends the program when two values differ; large ones are shortened."""
    if actual != wanted:
        sys.exit(f"{name}: {repr(actual)[:300]}, wanted: {repr(wanted)[:300]}")


def wanted_events(kind):
    """The events at the client: one without an ID has the last one, and an empty ID resets it."""
    if kind == "post":
        return [{"event": "message", "data": POSTED, "id": "p1"}, {"event": "done", "data": "POST", "id": "p1"}]
    events, last = [], ""
    for name, data, identifier in (event for part in PARTS for event in part):
        last = last if identifier is None else identifier
        events.append({"event": name, "data": data} | ({"id": last} if last else {}))
    return events


def wanted_requests(kind):
    """The requests at the server: method, Last-Event-ID and status code."""
    if kind == "post":
        return [["POST", None, 200]]
    requests = [["GET", None, 200], ["GET", "nummer tre", 200], ["GET", "5", 200], ["GET", None, 204]]
    return [["GET", None, 503]] + requests if kind == "busy" else requests


def main():
    """Judges both ends."""
    kind, client, server = sys.argv[1:4]
    lines = [json.loads(line) for line in pathlib.Path(client).read_text(encoding="utf-8").splitlines()]
    events = [line for line in lines if "event" in line]
    # Behind the port.
    log = [json.loads(line) for line in pathlib.Path(server).read_text(encoding="utf-8").splitlines()[1:]]
    wanted = wanted_events(kind)
    for position, (event, wanted_event) in enumerate(zip(events, wanted)):
        expect(f"event {position}", event, wanted_event)
    expect("number of events", len(events), len(wanted))
    expect("requests", [request["request"] for request in log], wanted_requests(kind))
    expect("Accept", {request["accept"] for request in log}, {"text/event-stream"})
    codings = {request["coding"] for request in log if request["request"][2] == 200}
    expect("codings", codings, {"gzip" if kind == "gzip" else None})
    comments = sum(request["comments"] for request in log)
    if comments < 3:
        sys.exit(f"only {comments} comments were sent")
    coding = ", gzip" if kind == "gzip" else ""
    print(f"{log[0]['server']}: {len(log)} requests, {len(events)} events, {comments} comments{coding}")


if __name__ == "__main__":
    main()
