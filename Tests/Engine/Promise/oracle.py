"""Judges one run of a streaming client from outside, by the sentences of "What is guaranteed" (Guarantees.md).

The input is the record of a run: for each answer of the server the request and the events that were sent, and the
events that the consumer received. Nothing here knows how the client works. The events are read into the responses
that they can stand for (`readings`), and what the consumer received is held against those.
"""

import collections
import json
import re
import signal

import translation

# The sentences. A failure names one of them.
CRASH = "the process does not crash"
HANG = "every turn ends within its budgets"
SHAPE = "a stream ends with exactly one of completed and error, which is last, and the exit code agrees"
EMPTY = "a delta is never empty"
MIXED = "two answers are never mixed, and agents' texts are never one text"
REPEATED = "no piece of output comes twice"
SKIPPED = "no piece of output is left out"
EXACT = "what ends as completed has exactly the output of one complete response"
CONTRADICTED = "a response that contradicts itself never ends as completed"
TYPED = "a contradiction ends the turn with event.contradictory"
TOOLS = "a tool runs once for each call of a complete response, and for no other"
SAFETY = "replaySafety never claims less than was done"
DELIVERED = "a diverged replay has the text that was delivered"
TOLERANT = "what real servers do is tolerated, and what can be recovered is recovered"
POLICY = "the policy limits the recovery: no second request with never, and no restart that was not asked for"
VOID = "a restart says which text is void, and comes twice in a response at most"

KINDS = {"textDelta": "text", "reasoningDelta": "reasoning", "refusalDelta": "refusal"}
DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
}
CLOSINGS = {
    "response.output_text.done": ("text", "text"),
    "response.refusal.done": ("refusal", "refusal"),
    "response.reasoning_summary_text.done": ("reasoning", "text"),
    "response.reasoning_text.done": ("reasoning", "text"),
}
PARTS = {"output_text": ("text", "text"), "refusal": ("refusal", "refusal"),
         "summary_text": ("reasoning", "text"), "reasoning_text": ("reasoning", "text")}
ENDS = ("response.completed", "response.failed", "response.incomplete")
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
SURROGATE = re.compile("[\ud800-\udfff]")
CITATION = re.compile("【[^】]*†[^】]*】")
# The replacement of a citation: no text, [n], or itself.
MARK = r"(?:\[\d+\]|【[^】]*†[^】]*】)?"
ROOT_AGENTS = (None, "/root")


class Failure:
    def __init__(self, sentence, evidence):
        self.sentence, self.evidence = sentence, evidence

    def __repr__(self):
        return f"{self.sentence}: {self.evidence}"


def joined(text):
    """Returns the text with halves of surrogate pairs that came in two pieces joined."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def readable(text):
    """Returns the text as a consumer gets it: a lone half of a surrogate pair is U+FFFD."""
    return SURROGATE.sub("\ufffd", joined(text))


def closing_suffix(known, closing):
    """Returns the part of a closing text beyond the known text; None when the two contradict each other."""
    if not closing or closing == known:
        return ""
    if closing.startswith(known):
        return closing[len(known):]
    if known.rstrip() == closing.rstrip():
        return ""
    if CITATION.search(known):
        beginning = MARK.join(re.escape(piece) for piece in CITATION.split(known))
        match = re.match(beginning, closing)
        if match:
            return closing[match.end():]
        pieces = [re.escape(piece) for piece in CITATION.split(known.rstrip())]
        if re.fullmatch("(?s:.*?)".join(pieces) + r"\s*", closing):
            return ""
    if CITATION.search(closing) and CITATION.sub("", closing).rstrip() == known.rstrip():
        return ""
    return None


class Item:
    def __init__(self, identifier, index, order):
        self.id, self.index, self.order = identifier, index, order
        self.type = self.agent = None
        self.announced = self.done = False
        self.slots = {}
        self.closed = {}   # what closing texts have added, of which deltas may come too late
        self.in_output = False
        self.call = None

    @property
    def is_root(self):
        return self.agent in ROOT_AGENTS


class Reading:
    """One response, built from a sequence of events."""

    def __init__(self, carried=()):
        self.id = None
        self.items = []
        self.carried = Item(None, None, -1)   # what the request had of an answer before
        self.carried_calls = []
        for value in carried:
            self._carry(value)
        self.pieces = []          # (item, slot key, text, whether a closing event brought it)
        self.contradictions = []
        self.terminal = None
        self.last_item_piece = 0   # behind it are pieces of the response's end
        self.has_output = self.is_renamed = False
        self.is_exact = False     # nothing repeats the output, so that no white space can be trimmed
        self.note = ""

    # Building

    def _carry(self, value):
        for field in ("summary", "content"):
            for part in value.get(field) or []:
                if isinstance(part, dict) and part.get("type") in PARTS:
                    kind, name = PARTS[part["type"]]
                    self.carried.slots[kind] = self.carried.slots.get(kind, "") + str(part.get(name, ""))
        if value.get("type") in CALLS:
            self.carried_calls.append(call_of(value))

    def _item(self, event, create=True):
        identifier, index = event.get("item_id"), event.get("output_index")
        if identifier is not None:
            for item in reversed(self.items):
                if item.id == identifier:
                    return item
        if index is not None:
            for item in reversed(self.items):
                if item.index == index and (identifier is None or not item.done):
                    return item
        if identifier is None and index is None and self.items:
            return next((item for item in reversed(self.items) if not item.done), self.items[-1])
        if not create:
            return None
        return self._new(identifier, index)

    def _new(self, identifier, index):
        item = Item(identifier, index, len(self.items))
        self.items.append(item)
        return item

    def _describe(self, item, value):
        item.type = value.get("type", item.type)
        agent = value.get("agent")
        name = agent.get("agent_name") if isinstance(agent, dict) else None
        if name and item.is_root and name not in ROOT_AGENTS and item.slots:
            self.contradictions.append(f"an item with text is said to be {name!r}'s")
        elif name:
            item.agent = name

    def _add(self, item, key, text, closing):
        if text:
            item.slots[key] = joined(item.slots.get(key, "") + text)
            self.pieces.append((item, key, text, closing))
            self.has_output = True

    def _close(self, item, key, text, place):
        if not isinstance(text, str):
            return
        suffix = closing_suffix(item.slots.get(key, ""), text)
        if suffix is None:
            if item.is_root and key[0] != "reasoning":
                self.contradictions.append(
                    f"{place} says {text!r}, the output so far was {item.slots.get(key, '')!r}")
        else:
            item.closed[key] = item.closed.get(key, "") + suffix
            self._add(item, key, suffix, True)

    def _close_item(self, item, value, place):
        for field in ("content", "summary"):
            for number, part in enumerate(value.get(field) or []):
                if isinstance(part, dict) and part.get("type") in PARTS:
                    kind, name = PARTS[part["type"]]
                    self._close(item, (kind, field, number), part.get(name), place)
        if value.get("type") in CALLS:
            item.call = call_of(value)

    @staticmethod
    def _key(event, kind):
        if "summary_index" in event:
            return (kind, "summary", event["summary_index"])
        return (kind, "content", event.get("content_index", 0))

    def take(self, event):
        if self.terminal:
            return
        kind = event.get("type")
        response = event.get("response") if isinstance(event.get("response"), dict) else {}
        if kind in ENDS and self.id and response.get("id") not in (None, self.id) and not self.is_renamed \
                and any(not item.done for item in self.items):
            return   # another response ends
        if kind in ("response.created", "response.in_progress", "response.queued"):
            identifier = response.get("id")
            if kind != "response.created" and self.id and identifier not in (None, self.id):
                self.is_renamed = True
            if self.id and identifier and identifier != self.id and self.has_output:
                if kind != "response.created":
                    return   # the identifiers of some servers change
                self.contradictions.append(f"response {identifier} begins inside {self.id}")
            elif identifier and (not self.has_output or not self.id):
                self.id = identifier
        elif kind == "response.output_item.added" and isinstance(event.get("item"), dict):
            value = event["item"]
            old = self._item({"item_id": value.get("id")}, create=False) if value.get("id") else None
            item = old if old and not old.done else self._new(value.get("id"), event.get("output_index"))
            item.announced = True
            self._describe(item, value)
        elif kind in DELTAS:
            if not isinstance(event.get("delta"), str) or not event["delta"]:
                return
            item = self._item(event)
            if item.done and not item.announced:   # another item, of a server that announces none
                item = self._new(event.get("item_id"), event.get("output_index"))
            elif item.done:
                self.contradictions.append(f"output {event['delta']!r} of an item that is done")
            key = self._key(event, DELTAS[kind])
            if not item.done and item.closed.get(key, "").startswith(event["delta"]):
                item.closed[key] = item.closed[key][len(event["delta"]):]   # the closing text had it
                return
            self._add(item, key, event["delta"], False)
        elif kind in CLOSINGS:
            slot, field = CLOSINGS[kind]
            self._close(self._item(event), self._key(event, slot), event.get(field), kind)
        elif kind in ("response.content_part.done", "response.reasoning_summary_part.done") and isinstance(event.get("part"), dict):
            part = event["part"]
            if part.get("type") in PARTS:
                slot, field = PARTS[part["type"]]
                self._close(self._item(event), self._key(event, slot), part.get(field), kind)
        elif kind == "response.output_item.done" and isinstance(event.get("item"), dict):
            value = event["item"]
            item = self._item({"item_id": value.get("id"), "output_index": event.get("output_index")})
            if item.done and value.get("type") in CALLS and not value.get("call_id"):
                same = (other for other in self.items if other.done and other.id == value.get("id")
                        and other.index == event.get("output_index") and other.call == call_of(value))
                item = next(same, item)
            has_place = item.id is not None or "output_index" in event
            # A position that is not said is the first one.
            is_call = item.call is not None or value.get("type") in CALLS
            is_elsewhere = not has_place and is_call and item.index not in (None, 0) and not value.get("call_id")
            if item.done and (item.id != value.get("id") or is_elsewhere or is_another_call(item, value, has_place)):
                item = self._new(value.get("id"), event.get("output_index"))
            known = item.call
            self._describe(item, value)
            self._close_item(item, value, kind)
            if item.done and known:
                if value.get("type") in CALLS and item.call != known:
                    self.contradictions.append(f"call {known[2]!r} is finished again, otherwise")
                item.call = known
            item.done = True
        elif kind == "response.completed":
            self._reconcile(response.get("output"))
            self.terminal = "completed"
            self.completed_id = response.get("id")
        elif kind in ("response.failed", "response.incomplete"):
            self.terminal = kind.split(".")[1]
        elif kind == "error":   # an error without a type may be passed over, when the response goes on
            self.terminal = "error"

    def _reconcile(self, output):
        self.last_item_piece = len(self.pieces)
        for position, value in enumerate(output or []):
            if not isinstance(value, dict):
                continue
            item = next((i for i in self.items if i.id is not None and i.id == value.get("id") and not i.in_output),
                        None)
            if item is None and value.get("call_id"):
                item = next((i for i in self.items if i.call and i.call[2] == value["call_id"]), None)
            if item is None:
                same = [i for i in self.items if not i.in_output and i.type in (None, value.get("type"))
                        and i.index in (None, position)]
                item = same[0] if same else self._new(value.get("id"), position)
            item.in_output = True
            self._describe(item, value)
            self._close_item(item, value, "response.completed")

    # The result

    def _sorted(self):
        indices = [item.index for item in self.items]
        distinct = all(isinstance(index, int) for index in indices) and len(set(indices)) == len(indices)
        return sorted(self.items, key=lambda item: item.index if distinct else item.order)

    def ordered(self, kind):
        """The output of one kind in the order of the items."""
        return readable(self.carried.slots.get(kind, "") + "".join(
            item.slots[key] for item in self._sorted() if item.is_root
            for key in sorted(item.slots, key=str) if key[0] == kind))

    def arrived(self, kind, closings=True):
        """The output of one kind in the order in which it came."""
        return readable(self.carried.slots.get(kind, "") + "".join(
            text for item, key, text, closing in self.pieces
            if item.is_root and key[0] == kind and (closings or not closing)))

    def texts(self, kind):
        """The complete outputs that a consumer may have received."""
        result = {self.ordered(kind)}
        places = [(item.order, str(key)) for item, key, _, closing in self.pieces
                  if item.is_root and key[0] == kind and not closing]
        interleaved = any(places[i] != places[i - 1] and places[i] in places[:i - 1] for i in range(1, len(places)))
        if interleaved or self.arrived(kind).startswith(self.arrived(kind, closings=False)) and \
                sorted(places) != places or self._comes_as_it_stands(kind):
            result.add(self.arrived(kind))
        return result

    def _comes_as_it_stands(self, kind):
        """Returns whether additions of closing events are in place before the response's end, in any order of items."""
        pieces = [(item.order, str(key), closing, self.terminal == "completed" and place >= self.last_item_piece)
                  for place, (item, key, _, closing) in enumerate(self.pieces) if item.is_root and key[0] == kind]
        for place, (order, key, closing, is_late) in enumerate(pieces):
            if is_late:
                return False
            earlier = [other[1] for other in pieces[:place] if other[0] == order]
            if closing and earlier and (pieces[place - 1][:2] != (order, key) if key in earlier else key < max(earlier)):
                return False
        return True

    def calls(self):
        return [item.call for item in self._sorted() if item.call and item.is_root]

    def calls_of_all_agents(self):
        """A call whose item ends again, under another identifier, counts once."""
        calls = self.carried_calls + [item.call for item in self._sorted() if item.call]
        return [call for place, call in enumerate(calls) if not call[2] or call not in calls[:place]]


def call_of(item):
    return (item.get("name"), canonical_arguments(item.get(CALLS[item["type"]])), item.get("call_id") or None,
            item.get("status") == "incomplete")


def is_another_call(item, value, has_place):
    """Returns whether a finished call has a `call_id` of its own; one without a place may have another one's, and one
    without any identifier is known by its content."""
    if item.call is None or value.get("type") not in CALLS:
        return False
    call_id = value.get("call_id") or None
    is_known_by_content = not has_place or call_id is None and item.id is None
    return item.call[2] != call_id or is_known_by_content and item.call != call_of(value)


def canonical_arguments(text):
    try:
        return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError):
        return text


# From the record of a run to readings


def plain(value, names):
    """The object with members that can be compared: a member of another JSON type is taken as its text."""
    result = dict(value)
    for name in names:
        types = (int,) if name.endswith("_index") else (str, int)
        if name in result and (not isinstance(result[name], types) or isinstance(result[name], bool)):
            if result[name] is None or name.endswith("_index"):
                del result[name]   # as if the position were not said
            else:
                result[name] = "odd " + repr(result[name])
    return result


def plain_item(item):
    item = plain(item, ("id", "type", "call_id", "name"))
    for name in ("content", "summary"):
        if name in item:
            parts = item[name] if isinstance(item[name], list) else []
            item[name] = [plain(part, ("type",)) for part in parts if isinstance(part, dict)]
    return item


def plain_event(event):
    """An event whose members have the types that the protocol gives them, or are odd text."""
    event = plain(event, ("type", "item_id", "response_id", "output_index", "content_index", "summary_index"))
    if isinstance(event.get("item"), dict):
        event["item"] = plain_item(event["item"])
    if isinstance(event.get("part"), dict):
        event["part"] = plain(event["part"], ("type",))
    if isinstance(event.get("response"), dict):
        response = event["response"] = plain(event["response"], ("id",))
        output = response.get("output") if isinstance(response.get("output"), list) else []
        response["output"] = [plain_item(item) for item in output if isinstance(item, dict)]
    return event


def events_of(exchange):
    """Returns the events of an answer as (event, annotations of the script); only JSON objects are events."""
    # The events of other lanes are dropped, over HTTP too.
    events = [(sent["event"], sent) for sent in exchange["sent"] if isinstance(sent.get("event"), dict)
              and sent["event"].get("stream_id", "") in ("", exchange["request"].get("stream_id"))]
    # On a kept WebSocket what comes before the response is created may be an earlier one's, and so may an event without a
    # number where the response is created under one, or output without an identifier where items are announced with one.
    created, is_numbered, is_named = 0, False, False
    if exchange.get("earlier") and events:
        created = next((place for place, (event, _) in enumerate(events) if event.get("type") == "response.created"), 0)
        is_numbered = "sequence_number" in events[created][0]
    for place, (event, sent) in enumerate(events):
        is_unnamed = event.get("type") in (*DELTAS, *CLOSINGS) and not event.get("item_id")
        if place < created or is_numbered and "sequence_number" not in event or is_named and is_unnamed:
            sent = dict(sent, late=True)
        if exchange.get("earlier") and event.get("type") == "response.output_item.added":
            is_named = is_named or isinstance(event.get("item"), dict) and bool(event["item"].get("id"))
        yield plain_event(event), sent


def identifiers(event):
    found = set()
    for name in ("response_id", "item_id"):
        if isinstance(event.get(name), str):
            found.add(event[name])
    for name in ("response", "item"):
        if isinstance(event.get(name), dict) and isinstance(event[name].get("id"), str):
            found.add(event[name]["id"])
    return found


def claimed_identity(exchange):
    """Returns the response identifiers in an answer."""
    return {event["response"]["id"] for event, sent in events_of(exchange)
            if str(event.get("type", "")).startswith("response.") and isinstance(event.get("response"), dict)
            and event["response"].get("id") and not sent.get("late")}


def same_event(first, second):
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def filtered(events, numbers, late):
    """Leaves out repetitions. `numbers`: exact (same number and same event), counted (the same, once there
    were two numbers), seen (same number), rising, none."""
    seen, highest, result = {}, -1, []
    for event, sent in events:
        if late and sent.get("late"):
            continue
        number = event.get("sequence_number")
        if numbers == "none":
            result.append(event)
            continue
        # A value that cannot be the number of an event is ignored.
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 63:
            is_trusted = numbers != "counted" or len(seen) > 1
            if number in seen and is_trusted and (numbers not in ("exact", "counted")
                                                  or any(same_event(event, old) for old in seen[number])):
                continue
            if numbers == "rising" and number <= highest:
                continue
            seen.setdefault(number, []).append(event)
            highest = max(highest, number)
        result.append(event)
    return result


def carried_items(request):
    """Returns the items of a broken answer that a request carries, derived from the model's output for its input."""
    made = []
    for item in request.get("input") or []:
        if not isinstance(item, dict):
            continue
        is_message = item.get("type") == "message" and item.get("role") not in ("user", "system", "developer")
        if is_message or item.get("type") in ("reasoning", *CALLS):
            made.append(plain_item(item))
    return made


def shares_numbers(events):
    """Returns whether the server repeats numbers for different events, so that a repetition may be another event."""
    seen = {}
    return any(not same_event(event, seen.setdefault(event["sequence_number"], event)) for event, _ in events
               if isinstance(event.get("sequence_number"), int))


def readings_of(events, note, carried=()):
    result = []
    ways = ("exact", "counted", "seen", "rising") + (("none",) if shares_numbers(events) else ())
    for numbers in ways:
        for late in (False, True):
            reading = Reading(carried)
            for event in filtered(events, numbers, late):
                reading.take(event)
            reading.note = f"{note}, numbers {numbers}" + (", late events dropped" if late else "")
            result.append(reading)
    return result


def readings(exchanges):
    """Returns every response that the answers of one round can represent."""
    result, earlier = [], {}
    creates = [e for e in exchanges if e["request"]["kind"] == "create" and "dialect" not in e]
    for exchange in exchanges:
        result += translated_readings(exchange) if "dialect" in exchange else []
    resumes = [e for e in exchanges if e["request"]["kind"] == "resume"]
    for exchange in creates:
        connection = exchange["connection"]
        announced = set().union(*(identifiers(event) for event, sent in events_of(exchange) if not sent.get("late")
                                  and event.get("type") in ("response.created", "response.output_item.added")))
        foreign = (set(exchange.get("earlier", ())) | earlier.get(connection, set())) - announced
        own = [(event, sent) for event, sent in events_of(exchange) if not identifiers(event) & foreign]
        earlier.setdefault(connection, set()).update(*(identifiers(event) for event, _ in own))
        result += readings_of(own, f"answer {exchange['number']}", carried_items(exchange["request"]))
        identity = claimed_identity(exchange)
        chain = []
        for resume in resumes:
            if resume["number"] < exchange["number"] or resume["request"].get("id") not in identity:
                continue
            chain.append(resume)
        if chain:
            result += chain_readings(own, chain, identity, f"answer {exchange['number']} and its resumptions",
                                     carried_items(exchange["request"]))
    return result


def translated_readings(exchange):
    """Returns the responses that an answer in another dialect says."""
    result = []
    for events in translation.translations(exchange):
        reading = Reading()
        for event in events:
            reading.take(event)
        reading.is_exact, reading.note = True, f"answer {exchange['number']}"
        result.append(reading)
    return result


def chain_readings(first, chain, identity, note, carried):
    """A kept response over all connections that it was fetched by."""
    result = []
    # A failed response that is fetched again has not failed for good.
    first = [(event, sent) for event, sent in first if event.get("type") not in ("response.failed", "error")]
    truncated, appended = list(first), list(first)
    for resume in chain:
        after = resume["request"].get("starting_after")
        more = []
        for event, sent in events_of(resume):
            claim = event["response"].get("id") if isinstance(event.get("response"), dict) else None
            if claim and identity and claim not in identity:
                break   # from here on it is known to be another response, and refused
            more.append((event, sent))
        if isinstance(after, int):
            truncated = [(event, sent) for event, sent in truncated
                         if not isinstance(event.get("sequence_number"), int) or event["sequence_number"] <= after]
        else:
            truncated = []   # asked for from the beginning
        truncated = truncated + more
        appended = appended + more
        # A kept response can be read up to each of its resumptions: later ones need not have been used.
        numbered = sorted((pair for pair in appended if isinstance(pair[0].get("sequence_number"), int)),
                          key=lambda pair: pair[0]["sequence_number"])
        for events, how in ((truncated, "as asked"), (appended, "as come"), (numbered, "by number")):
            result += readings_of(events, f"{note}, {how}", carried)
    return result


# Judging


def new_round():
    return {"text": "", "reasoning": "", "refusal": "", "calls": [], "void": []}


def rounds_of(received):
    """Returns the consumer's output, divided at the calls of tools; output before a restart is void."""
    rounds = [new_round()]
    after_call = False
    for event in received:
        kind = event.get("type")
        if kind == "restarted":
            void = {name: rounds[-1][name] for name in KINDS.values()}
            rounds[-1]["void"].append(dict(void, named=event.get("deliveredText")))
            rounds[-1].update(dict.fromkeys(void, ""))
        if kind == "toolCallRequested":
            rounds[-1]["calls"].append((event.get("name"), canonical_arguments(event.get("arguments")),
                                        event.get("callID")))
        elif kind == "toolCallCompleted":
            after_call = True
        elif after_call and kind == "diagnostic" and event.get("kind") in ("connected", "reconnecting"):
            rounds.append(new_round())   # the next request, whose answer may have calls alone
            after_call = False
        elif kind in KINDS:
            if after_call:
                rounds.append(new_round())
                after_call = False
            rounds[-1][KINDS[kind]] += event.get("text", "")
    if after_call:
        rounds.append(new_round())
    return rounds


def handed_over(events):
    """The finished calls that were delivered as raw events."""
    handed = collections.Counter()
    for event in events:
        if event.get("type") == "raw" and event.get("eventType") == "response.output_item.done":
            item = json.loads(event["payload"]).get("item")
            if isinstance(item, dict) and item.get("type") in CALLS:
                handed[call_of(item)[:2]] += 1
    return handed


def has_calls(reading, handed, completed):
    """Returns whether the delivered calls are those of the response: each once, and all of one that is complete."""
    calls = collections.Counter(call[:2] for call in reading.calls_of_all_agents())
    return handed == calls if completed else handed <= calls


def matches(reading, received):
    return all(received[kind] in reading.texts(kind)
               or not reading.is_exact and received[kind].rstrip() in {text.rstrip() for text in reading.texts(kind)}
               for kind in ("text", "refusal")) and \
        received["reasoning"] in reading.texts("reasoning") | {reading.arrived("reasoning", closings=False)}


def is_prefix(reading, received, contradictory):
    for kind in ("text", "reasoning", "refusal"):
        whole = reading.texts(kind)
        if not reading.contradictions or contradictory:
            whole = whole | {reading.arrived(kind), reading.arrived(kind, closings=False)}
        if not any(text.startswith(received[kind]) for text in whole):
            return False
    return True


def repeated_calls(received):
    """Returns calls that were requested more than once."""
    seen, result = set(), []
    for event in received:
        if event.get("type") == "toolCallRequested":
            if event.get("callID") in seen:
                result.append(event.get("callID"))
            seen.add(event.get("callID"))
    return result


def blame(received, candidates):
    """Returns the sentence that describes a wrong text best."""
    text = received["text"]
    for reading in candidates:
        whole = reading.ordered("text")
        if whole != text and whole.startswith(text):
            return SKIPPED
    words = text.split()
    if len(words) != len(set(words)):
        return REPEATED
    for reading in candidates:
        rest = iter(reading.ordered("text").split())
        if all(word in rest for word in words):
            return SKIPPED
    return MIXED


def judge_round(exchanges, received, completed, tag, handed=None):
    candidates = readings(exchanges)
    if not completed:
        contradictory = tag == "event.contradictory"
        if not (received["text"] or received["reasoning"] or received["refusal"] or handed):
            return []
        fitting = [reading for reading in candidates if is_prefix(reading, received, contradictory)]
        if not fitting:
            return [Failure(blame(received, candidates), evidence(received, candidates, f"error {tag}"))]
        return judge_handed(fitting, handed, False)
    whole = [r for r in candidates if r.terminal == "completed"]
    sound = [r for r in whole if not r.contradictions]
    if not whole:
        return [Failure(EXACT, "completed, but no answer had response.completed: "
                        + evidence(received, candidates, "completed"))]
    if not sound:
        return [Failure(CONTRADICTED, evidence(received, whole, "completed") + f"; {whole[0].contradictions[0]}")]
    fitting = [r for r in sound if matches(r, received)]
    if not fitting:
        return [Failure(blame(received, sound), evidence(received, sound, "completed"))]
    return judge_handed(fitting, handed, True)


def judge_restarts(exchanges, received, policy):
    """The output that a restart voids was the beginning of one response, and the restart names its text."""
    failures = []
    if received["void"] and policy.get("divergence") != "restart":
        failures.append(Failure(POLICY, "a restart without the policy for it"))
    if len(received["void"]) > policy.get("restarts", 2):
        failures.append(Failure(VOID, f"{len(received['void'])} restarts"))
    for void in received["void"]:
        failures += judge_round(exchanges, void, False, None)
        if void["named"] != void["text"]:
            failures.append(Failure(VOID, f"restarted, and says {void['named']!r} of {void['text']!r}"))
    return failures


def judge_policy(exchanges, policy, tag):
    """With never a request is not repeated; where no answer can be continued, resumeOnly compares none."""
    if policy.get("recovery") == "never":
        asked = collections.Counter(one.get("round", 0) for one in exchanges
                                    if one["request"]["kind"] == "create" and "status" not in one)
        if any(count > 1 for count in asked.values()):
            return [Failure(POLICY, f"never, and the requests of each round were {dict(asked)}")]
    can_continue = any(one["request"]["kind"] == "resume" for one in exchanges)
    if policy.get("recovery") in ("never", "resumeOnly") and tag == "replay.diverged" and not can_continue:
        return [Failure(POLICY, f"{policy['recovery']}, and an answer was compared with another one")]
    return []


def judge_runs(rounds, ran, completed):
    """Checks the arguments with which tools were run, as the tools have noted them, against the requested calls."""
    requested = collections.Counter(call[1] for one in rounds for call in one["calls"])
    ran = collections.Counter(canonical_arguments(arguments) for arguments in ran)
    # No tool need run with arguments that are no JSON.
    required = collections.Counter(call[1] for one in rounds for call in one["calls"] if not translation.fault(call[1]))
    if ran <= requested and (required <= ran or not completed):
        return []
    return [Failure(TOOLS, f"ran with {sorted(ran.elements())}, requested with {sorted(requested.elements())}")]


def judge_handed(fitting, handed, completed):
    """Checks calls that a stream has delivered against the responses that its text fits."""
    if handed is None or any(has_calls(reading, handed, completed) for reading in fitting):
        return []
    expected = sorted({str([call[:2] for call in reading.calls_of_all_agents()]) for reading in fitting})
    return [Failure(TOOLS, f"handed over {sorted(handed.elements(), key=str)}, the responses have {' or '.join(expected)}")]


def judge_calls(exchanges, received, ended):
    """Checks calls of a round against its complete responses; `ended` when the turn ended there without running any."""
    if not received["calls"] and not ended:
        return []
    sound = [r for r in readings(exchanges) if r.terminal == "completed" and not r.contradictions
             and matches(r, received)]
    requested = [call[:2] for call in received["calls"]]
    if any(requested == [call[:2] for call in r.calls()] for r in sound):
        return []
    expected = sorted({str([call[:2] for call in r.calls()]) for r in sound})
    return [Failure(TOOLS, f"requested {requested}, the complete responses have {' or '.join(expected) or 'none'}")]


def evidence(received, candidates, end):
    delivered = {kind: received[kind] for kind in ("text", "reasoning", "refusal") if received[kind]}
    expected = []
    for reading in candidates:
        value = {kind: reading.ordered(kind) for kind in ("text", "reasoning", "refusal") if reading.ordered(kind)}
        if value not in expected:
            expected.append(value)
    return f"{end} with {json.dumps(delivered, ensure_ascii=False)}; the server's: " \
           + " | ".join(json.dumps(value, ensure_ascii=False) for value in expected[:4])


def judge(exchanges, outcome, permitted=None):
    """The failures of one run.

    exchanges: [{"number", "connection", "round", "request": {"kind": "create"|"resume", "id"?, "starting_after"?},
                 "sent": [{"event": object}|{"raw": text}, "late"?: true], "earlier"?: [identifiers],
                 "dialect"?: "chat"|"messages", "whole"?: whether the body was sent to its end,
                 "seen"?: whether the server knows that the request has come}]
    outcome: {"events": [lines of --json], "exit": code, "seconds": s, "budget": s, "report"?: object,
              "tools"?: whether the client runs calls, "calls"?: whether the stream hands finished calls over as raw,
              "ran"?: [the arguments of each run of a tool],
              "policy"?: {"recovery"?, "divergence"?, "restarts"?: how many are allowed}}
    permitted: {"must"?: "complete"|"fail", "tag"?: text, "texts"?: [complete texts, of the last round]}
    """
    permitted = permitted or {}
    events, code = outcome["events"], outcome["exit"]
    if outcome.get("hung"):
        return [Failure(HANG, f"still running after {outcome['seconds']:.1f} s, the budget was {outcome['budget']} s")]
    if code < 0 or code in (70, 132, 133, 134, 135, 136, 139):
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return [Failure(CRASH, f"{name}: {outcome.get('stderr', '')[-300:]}")]
    failures = []
    ends = [event["type"] for event in events if event.get("type") in ("completed", "error")]
    if len(ends) != 1 or events[-1].get("type") != ends[0] or (ends[0] == "completed") != (code == 0):
        return [Failure(SHAPE, f"ends {ends}, exit code {code}, last line {events[-1] if events else None}")]
    if any(event.get("text") == "" for event in events if event.get("type") in KINDS):
        failures.append(Failure(EMPTY, "an empty delta"))
    if repeated_calls(events):
        return [Failure(TOOLS, f"requested again: {repeated_calls(events)[:3]}, "
                               f"{len(repeated_calls(events))} times in all")]
    policy = outcome.get("policy", {})
    completed = ends[0] == "completed"
    error = {} if completed else events[-1]
    tag = error.get("tag")
    if tag == "tool.loop-limit":
        return [Failure(TOOLS, f"{len(exchanges)} requests, the last of them for calls that were answered")]
    rounds = rounds_of(events)
    last = len(rounds) - 1
    for number, received in enumerate(rounds):
        mine = [e for e in exchanges if e.get("round", 0) == number]
        is_complete = completed or number < last or bool(received["calls"])
        wrong = judge_round(mine, received, is_complete, tag, handed_over(events) if outcome.get("calls") else None)
        failures += wrong or judge_calls(mine, received, number < last or completed and outcome.get("tools"))
        failures += judge_restarts(mine, received, policy)
    failures += judge_policy(exchanges, policy, tag)
    if "ran" in outcome:
        failures += judge_runs(rounds, outcome["ran"], completed)
    text = "".join(received["text"] for received in rounds)
    if completed and permitted.get("texts") is not None and not failures:
        if rounds[-1]["text"] not in permitted["texts"]:
            failures.append(Failure(blame(rounds[-1], []) if not permitted["texts"] else SKIPPED,
                                    f"completed with {rounds[-1]['text']!r}, permitted {permitted['texts']}"))
    if permitted.get("must") == "complete" and not completed:
        failures.append(Failure(TOLERANT, f"error {tag}, exit code {code}, after {text!r}"))
    if permitted.get("must") == "fail" and completed and not failures:
        failures.append(Failure(CONTRADICTED, f"completed with {text!r}"))
    if permitted.get("tag") and not completed and tag != permitted["tag"]:
        failures.append(Failure(TYPED, f"error {tag}, exit code {code}, after {text!r}"))
    if error:
        safety = error.get("replaySafety")
        seen = [exchange for exchange in exchanges if exchange.get("seen", True)]
        weak = ("notSent", "sentNoOutput") if text else (("notSent",) if seen else ())
        if safety in weak:
            failures.append(Failure(SAFETY, f"{safety}, after {len(exchanges)} requests and {text!r}"))
        if "deliveredText" in error and last == 0 and error["deliveredText"] != text:
            failures.append(Failure(DELIVERED, f"deliveredText {error['deliveredText']!r}, delivered {text!r}"))
    return failures
