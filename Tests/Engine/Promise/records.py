"""Reads records of runs that other programs have made (README.md has the format), and judges them.

The bytes that a server has sent are read here by the reader of `relay.py`, which shares nothing with the client's.
"""

import base64
import collections
import concurrent.futures
import itertools
import json
import zlib

import oracle
import relay

SHOWN = 20
BATCH = 1024   # how many lines are held at once


class LeftOut(Exception):
    """The run is ambiguous, or the oracle cannot read it."""


def event_of(data):
    """Returns an event, or a text that is not one; None for bytes that are not UTF-8, which end an answer."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    try:
        value = json.loads(text, object_pairs_hook=members, parse_constant=no_number)
    except (ValueError, RecursionError):
        value = None
    return {"event": value} if isinstance(value, dict) else {"raw": text}


def members(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        raise LeftOut("a member comes twice (RFC 8259 section 4 leaves open which counts)")
    return result


def no_number(text):
    raise ValueError(f"{text} is no JSON")


def sent_on(connection, is_websocket, ended=lambda: None):
    """Returns the events among all bytes of a connection, and whether all bytes could be read."""
    sent = []
    take = (lambda data: None) if is_websocket else (lambda data: sent.append(event_of(data)))

    def upgraded(rest, extensions):
        if is_websocket:
            relay.Messages(lambda data: sent.append(event_of(data)), extensions).feed(rest)

    try:
        relay.Answers(take, upgraded, ended).feed(connection)
    except (ValueError, IndexError, zlib.error):
        return sent, False   # a client need not agree about what follows
    return sent, True


def sent_in_stream(content):
    sent = []
    relay.EventStream(lambda data: sent.append(event_of(data))).feed(content)
    return sent


def exchange_of(record, number, earlier):
    """Returns the record of an answer for the oracle. `earlier`: the identifiers of each connection, which grow."""
    is_websocket = record["transport"] == "websocket"
    is_readable, ends = True, []
    if "bytes" in record:
        sent, is_readable = sent_on(base64.b64decode(record["bytes"]), is_websocket, lambda: ends.append(True))
    elif "stream" in record:
        sent = sent_in_stream(base64.b64decode(record["stream"]))
    else:
        sent = [event_of(base64.b64decode(message)) for message in record["messages"]]
    if None in sent:
        sent = sent[:sent.index(None)]
    request = dict(record["request"])
    if "content" in request:
        content = json.loads(base64.b64decode(request.pop("content")))
        request["input"] = content.get("input", [])
    result = {"number": number, "connection": record["connection"], "round": 0, "request": request,
              "transport": record["transport"], "earlier": [], "sent": sent, "readable": is_readable,
              "seen": record.get("seen", True)}
    if record.get("dialect", "responses") != "responses":
        result.update(dialect=record["dialect"], whole=bool(ends))
    if is_websocket:
        known = earlier.setdefault(record["connection"], set())
        result["earlier"] = sorted(known)
        known.update(*(relay.identifiers(one["event"]) for one in sent if "event" in one))
    return result


def outcome_of(turn, hands_over_calls):
    events = list(turn["received"])
    ended = bool(events) and events[-1].get("type") in ("completed", "error")
    if turn.get("abandoned") and not ended:
        events.append({"type": "error", "tag": "abandoned"})   # the consumer has gone, and needs no end
    code = 0 if events and events[-1].get("type") == "completed" else 1
    policy = {"divergence": "restart", "restarts": turn["restarts"]} if turn.get("restarts") else {}
    return {"events": events, "exit": code, "seconds": 0, "budget": 0, "calls": hands_over_calls, "policy": policy}


def carries_interleaved(exchanges):
    """Whether a request carries items of an answer whose items did not come one after another.

    What the consumer received of them stands in another order than the request's items.
    """
    if not any(oracle.carried_items(one["request"]) for one in exchanges):
        return False
    readings = [reading for one in exchanges for reading in oracle.readings_of(list(oracle.events_of(one)), "")]
    return any(reading.ordered(kind) != reading.arrived(kind) for reading in readings
               for kind in ("text", "reasoning", "refusal"))


def judged(record):
    """Returns the failures of the turns of one record, each with the turn's exchanges and outcome."""
    earlier, result = {}, []
    for turn in record["turns"]:
        exchanges = [exchange_of(one, number, earlier) for number, one in enumerate(turn["exchanges"])]
        outcome = outcome_of(turn, record["calls"])
        if not all(one["readable"] for one in exchanges) and any(e["type"] != "error" for e in outcome["events"]):
            raise LeftOut("something was delivered of HTTP, or of compressed data, that is broken")
        if carries_interleaved(exchanges):
            raise LeftOut("a request carries items that did not come one after another")
        result.append((exchanges, outcome, oracle.judge(exchanges, outcome)))
    return result


def judged_line(line):
    """The result of a line: its name, the number of turns, failures, and the reason for leaving it out."""
    record = json.loads(line)
    try:
        turns = judged(record)
    except LeftOut as reason:
        return record["name"], 0, [], str(reason)
    except Exception as error:
        return record["name"], 0, [oracle.Failure("the oracle can judge every run",
                                                  f"{type(error).__name__}: {error}")], None
    return record["name"], len(turns), [failure for _, _, failures in turns for failure in failures], None


def results(path, pool):
    with open(path, encoding="utf-8") as file:
        lines = (line for line in file if line.endswith("\n"))   # a run that is being written is none
        while batch := list(itertools.islice(lines, BATCH)):
            yield from pool.map(judged_line, batch, chunksize=32)


def main(paths, jobs, limit):
    """Judges files of records, and prints the results; returns the exit code."""
    runs, turns, failed = 0, 0, 0
    broken, left_out = collections.Counter(), collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for path in paths:
            for name, count, failures, reason in results(path, pool):
                runs += 1
                turns += count
                if reason:
                    left_out[reason] += 1
                failed += bool(failures)
                for failure in failures:
                    broken[failure.sentence] += 1
                    if failed <= limit:
                        print(f"{name} {str(failure)[:600]}", flush=True)
    print(f"{runs} records, {turns} turns judged, {failed} broke a sentence, {sum(left_out.values())} left out")
    for reason, count in left_out.most_common():
        print(f"  {count:5} left out: {reason}")
    for sentence, count in broken.most_common():
        print(f"  {count:5} {sentence}")
    if not turns:
        print("no record was there to be judged")
        return 2
    return 1 if failed else 0
