"""Scripts for the lying server, made from a seed: an honest answer, and lies told about it.

A lie is a function of a `Telling`. Those in TOLERATED must not keep a turn from completing: real servers do them.
Those in LIES may end the turn with an error. A script says what is permitted only as far as its lies allow to know it;
the oracle reads the rest from what was sent.
"""

import copy
import random


class Telling:
    """One answer as steps, and the response that it truly is."""

    def __init__(self, name, round_number=0):
        self.id = f"resp_{name}"
        self.name, self.round = name, round_number
        self.steps = []
        self.numbered = True
        self.text = ""

    def events(self, *types):
        return [step for step in self.steps
                if "event" in step and (not types or step["event"].get("type") in types)]

    def position(self, step):
        return next(i for i, other in enumerate(self.steps) if other is step)

    def renumber(self, start=0):
        for number, step in enumerate(self.events(), start):
            if self.numbered:
                step["event"]["sequence_number"] = number

    def insert(self, position, *events, **notes):
        self.steps[position:position] = [{"event": event, **notes} for event in events]


def words(rng, letter, count):
    return [f"{letter}{number} " for number in range(count)]


def tell(rng, name, letter, round_number=0, tool_calls=0, messages=1, count=None, reasoning=False, agents=False,
         refusal=False):
    """An honest answer: created, items in order, closing texts in every closing event, completed."""
    telling = Telling(name, round_number)
    out, output = telling.steps, []

    def say(kind, **fields):
        out.append({"event": {"type": kind, **fields}})

    def response(status, items):
        return {"id": telling.id, "object": "response", "status": status, "model": "m", "output": items}

    say("response.created", response=response("in_progress", []))
    say("response.in_progress", response=response("in_progress", []))
    if reasoning:
        identifier, index = f"rs_{name}", len(output)
        item = {"id": identifier, "type": "reasoning", "summary": []}
        say("response.output_item.added", output_index=index, item=copy.deepcopy(item))
        place = {"item_id": identifier, "output_index": index, "summary_index": 0}
        say("response.reasoning_summary_part.added", **place, part={"type": "summary_text", "text": ""})
        text = words(rng, "r" + letter, 3)
        for word in text:
            say("response.reasoning_summary_text.delta", **place, delta=word)
        say("response.reasoning_summary_text.done", **place, text="".join(text))
        say("response.reasoning_summary_part.done", **place, part={"type": "summary_text", "text": "".join(text)})
        item["summary"] = [{"type": "summary_text", "text": "".join(text)}]
        say("response.output_item.done", output_index=index, item=copy.deepcopy(item))
        output.append(item)
    for number in range(messages):
        identifier, index = f"msg_{name}_{number}", len(output)
        kind, field = ("refusal", "refusal") if refusal else ("output_text", "text")
        item = {"id": identifier, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        if agents:
            item["agent"] = {"agent_name": "/root"}
        say("response.output_item.added", output_index=index, item=copy.deepcopy(item))
        place = {"item_id": identifier, "output_index": index, "content_index": 0}
        say("response.content_part.added", **place, part={"type": kind, field: ""})
        text = words(rng, letter + "xyz"[number], count or rng.randint(2, 6))
        for word in text:
            say(f"response.{kind}.delta", **place, delta=word)
        say(f"response.{kind}.done", **place, **{field: "".join(text)})
        part = {"type": kind, field: "".join(text)}
        say("response.content_part.done", **place, part=part)
        item = dict(item, status="completed", content=[part])
        say("response.output_item.done", output_index=index, item=copy.deepcopy(item))
        output.append(item)
        telling.text += "" if refusal else "".join(text)
    for number in range(tool_calls):
        identifier, index = f"fc_{name}_{number}", len(output)
        item = {"id": identifier, "type": "function_call", "call_id": f"call_{round_number}_{name}{number}",
                "name": "now", "arguments": "", "status": "in_progress"}
        arguments = '{"zone": "%s%d"}' % (letter, number)
        say("response.output_item.added", output_index=index, item=copy.deepcopy(item))
        say("response.function_call_arguments.delta", item_id=identifier, output_index=index, delta=arguments)
        say("response.function_call_arguments.done", item_id=identifier, output_index=index, arguments=arguments)
        item = dict(item, arguments=arguments, status="completed")
        say("response.output_item.done", output_index=index, item=copy.deepcopy(item))
        output.append(item)
    say("response.completed", response=response("completed", copy.deepcopy(output)))
    telling.renumber()
    return telling


TEXT = "response.output_text.delta"
CLOSING = ("response.output_text.done", "response.content_part.done", "response.output_item.done",
           "response.completed")


def some(rng, steps):
    return rng.choice(steps) if steps else None


def texts_in(event):
    """The objects of a closing event that hold a text, with the name of its member."""
    kind = event.get("type")
    if kind == "response.output_text.done":
        return [(event, "text")]
    if kind == "response.content_part.done":
        return [(event["part"], "text")] if event["part"].get("type") == "output_text" else []
    items = [event["item"]] if kind == "response.output_item.done" else \
        (event["response"].get("output") or []) if kind == "response.completed" else []
    return [(part, "text") for item in items if item.get("type") == "message" for part in item.get("content", [])
            if part.get("type") == "output_text"]


# What real servers do


def repeat_exactly(rng, t):
    if t.numbered:
        step = some(rng, t.events()[:-1])
        t.steps.insert(t.position(step) + 1 + rng.choice([0, 0, 1]), copy.deepcopy(step))


def keepalive_numbered(rng, t):
    t.insert(rng.randrange(1, len(t.steps)), {"type": "keepalive"})
    t.renumber()


def keepalive_unnumbered(rng, t):
    t.insert(rng.randrange(1, len(t.steps)), {"type": "keepalive"})


def pings(rng, t):
    for _ in range(rng.randint(1, 3)):
        t.steps.insert(rng.randrange(len(t.steps)), {"ping": "p"})


def unknown_event(rng, t):
    t.insert(rng.randrange(1, len(t.steps)), {"type": rng.choice(["response.novel.thing", "gateway.note"]), "x": 1})
    t.renumber()


def no_type(rng, t):
    t.steps.insert(rng.randrange(1, len(t.steps)), {"event": {"obfuscation": "abc"}})


def rate_limits(rng, t):
    t.insert(rng.randrange(len(t.steps)), {"type": "codex.rate_limits", "plan_type": "plus", "rate_limits": {
        "primary": {"used_percent": 4, "window_minutes": 300, "reset_at": 1795260000}}})


def unnumbered(rng, t):
    t.numbered = False
    for step in t.events():
        step["event"].pop("sequence_number", None)


def done_marker(rng, t):
    t.steps.append({"raw": "[DONE]"})


def no_created(rng, t):
    t.steps = [s for s in t.steps if s.get("event", {}).get("type")
               not in ("response.created", "response.in_progress")]


def created_twice(rng, t):
    t.steps.insert(rng.randint(1, 2), copy.deepcopy(t.events("response.created")[0]))
    t.renumber()


def no_parts(rng, t):
    t.steps = [s for s in t.steps if s.get("event", {}).get("type")
               not in ("response.content_part.added", "response.content_part.done")]
    t.renumber()


def no_closing_texts(rng, t):
    for step in t.events("response.output_text.done"):
        t.steps.remove(step)
    for step in t.events("response.content_part.done"):
        t.steps.remove(step)
    for step in t.events("response.output_item.done"):
        if step["event"]["item"]["type"] == "message":
            step["event"]["item"]["content"] = []
    for step in t.events("response.completed"):
        step["event"]["response"]["output"] = []
    t.renumber()


def empty_output(rng, t):
    for step in t.events("response.completed"):
        step["event"]["response"]["output"] = []


def text_in_closing(rng, t):
    """The end of one message, or all of it, is only in closing events."""
    message = some(rng, t.events("response.output_text.done"))
    if message:
        deltas = [s for s in t.events(TEXT) if s["event"]["item_id"] == message["event"]["item_id"]]
        for step in deltas[rng.choice([0, 0, len(deltas) // 2, len(deltas) - 1]):]:
            t.steps.remove(step)
        t.renumber()


def text_in_later_closing(rng, t):
    """The end of the last message is only in closing events from the second, third or fourth kind on."""
    last = t.events("response.output_text.done")
    if not last:
        return
    identifier = last[-1]["event"]["item_id"]
    text_in_closing_of(rng, t, identifier)
    level = rng.randint(1, 3)
    for step in t.events("response.output_text.done", "response.content_part.done"):
        kind = step["event"]["type"]
        if step["event"].get("item_id") == identifier and CLOSING.index(kind) < level:
            t.steps.remove(step)
    if level == 3:
        for step in t.events("response.output_item.done"):
            if step["event"]["item"]["id"] == identifier:
                step["event"]["item"]["content"] = []
    t.renumber()


def text_in_closing_of(rng, t, identifier):
    deltas = [s for s in t.events(TEXT) if s["event"]["item_id"] == identifier]
    for step in deltas[rng.choice([0, len(deltas) // 2, len(deltas) - 1]):]:
        t.steps.remove(step)


def only_completed(rng, t):
    """All output is in response.completed only."""
    t.steps = t.events("response.created", "response.in_progress", "response.completed")
    t.renumber()


def trimmed(rng, t):
    for step in t.events(*CLOSING):
        for holder, name in texts_in(step["event"]):
            holder[name] = holder[name].rstrip()


def citations(rng, t):
    step = some(rng, t.events(TEXT))
    if not step or not t.events("response.output_text.done"):
        return
    mark = "【1†source】"
    step["event"]["delta"] = step["event"]["delta"].rstrip() + mark + " "
    word = step["event"]["delta"].replace(mark, "")
    form = rng.choice(["", "[1]", mark])
    for closing in t.events(*CLOSING):
        for holder, name in texts_in(closing["event"]):
            holder[name] = holder[name].replace(word, word.rstrip() + form + " ")
    t.text = t.text.replace(word, word.rstrip() + mark + " ")


def other_agents(rng, t):
    """Another agent's message, announced, between the root's deltas."""
    delta = some(rng, t.events(TEXT))
    if not delta:
        return
    index = 20 + rng.randrange(3)
    item = {"id": f"msg_{t.name}_agent", "type": "message", "role": "assistant", "content": [],
            "agent": {"agent_name": "/root/helper"}}
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    first = t.position(delta)
    t.insert(first, {"type": "response.output_item.added", "output_index": index, "item": copy.deepcopy(item)})
    later = sorted(rng.randint(first + 1, len(t.steps) - 1) for _ in range(3))
    item["content"] = [{"type": "output_text", "text": "agent0 agent1 "}]
    for offset, event in enumerate((
            {"type": TEXT, **place, "delta": "agent0 "}, {"type": TEXT, **place, "delta": "agent1 "},
            {"type": "response.output_item.done", "output_index": index, "item": item})):
        t.insert(later[offset] + offset, event)
    completed = t.events("response.completed")[-1]["event"]["response"]
    if completed["output"]:
        completed["output"].append(item)
    t.renumber()


def calls_only_in_completed(rng, t):
    """One call, or all of them, is only in response.completed."""
    calls = {s["event"]["item"]["id"] for s in t.events("response.output_item.done")
             if s["event"]["item"]["type"] == "function_call"}
    if calls:
        gone = calls if rng.random() < 0.4 else {rng.choice(sorted(calls))}
        t.steps = [s for s in t.steps if s.get("event", {}).get("item_id") not in gone
                   and s.get("event", {}).get("item", {}).get("id") not in gone]
        t.renumber()


def shared_index(rng, t):
    for step in t.events():
        if "output_index" in step["event"]:
            step["event"]["output_index"] = 0


def no_item_ids(rng, t):
    for step in t.events():
        step["event"].pop("item_id", None)


def number_gap(rng, t):
    """Numbers that unsent events used up; no event is missing."""
    start = rng.randrange(1, len(t.steps))
    for step in t.steps[start:]:
        if isinstance(step.get("event", {}).get("sequence_number"), int):
            step["event"]["sequence_number"] += 2


def empty_deltas(rng, t):
    step = some(rng, t.events(TEXT))
    if step:
        t.insert(t.position(step), dict(step["event"], delta=""))
        t.renumber()


TOLERATED = [repeat_exactly, keepalive_numbered, keepalive_unnumbered, pings, unknown_event, no_type, rate_limits,
             unnumbered, done_marker, no_created, created_twice, no_parts, no_closing_texts, empty_output,
             text_in_closing, text_in_later_closing, only_completed, trimmed, citations, other_agents,
             calls_only_in_completed, shared_index, no_item_ids, number_gap, empty_deltas]


# Lies


def lose_delta(rng, t):
    step = some(rng, t.events(TEXT))
    if step:
        t.steps.remove(step)


def lose_delta_and_renumber(rng, t):
    lose_delta(rng, t)
    t.renumber()


def add_delta(rng, t):
    step = some(rng, t.events(TEXT))
    if step:
        t.insert(t.position(step), dict(step["event"], delta="foreign "))
        t.renumber()


def other_closing(rng, t):
    """One closing event, or all, has another text."""
    closings = [s for s in t.events(*CLOSING) if texts_in(s["event"])]
    if not closings:
        return
    chosen = closings if rng.random() < 0.5 else closings[-1:] if rng.random() < 0.5 else rng.sample(closings, 1)
    how = rng.choice(["middle", "first", "other", "shorter"])
    for step in chosen:
        for holder, name in texts_in(step["event"])[:1]:
            pieces = holder[name].split(" ")
            if how == "middle":
                pieces[len(pieces) // 2:len(pieces) // 2] = ["inserted"]
            elif how == "first":
                del pieces[0]
            elif how == "shorter":
                del pieces[-2:]
            else:
                pieces = ["something", "else", ""]
            holder[name] = " ".join(pieces)


def same_number_other_event(rng, t):
    step = some(rng, t.events(TEXT))
    if step and t.numbered:
        t.insert(t.position(step) + 1, dict(step["event"], delta="other "))


def restart_numbers(rng, t):
    start = rng.randrange(1, len(t.steps))
    for number, step in enumerate(t.steps[start:]):
        if "event" in step and t.numbered:
            step["event"]["sequence_number"] = number


def swap_deltas(rng, t):
    deltas = t.events(TEXT)
    if len(deltas) > 1:
        first = rng.randrange(len(deltas) - 1)
        a, b = t.position(deltas[first]), t.position(deltas[first + 1])
        t.steps[a], t.steps[b] = t.steps[b], t.steps[a]
        if rng.random() < 0.5:
            t.renumber()


def other_created(rng, t):
    t.insert(rng.randrange(2, len(t.steps)), {"type": rng.choice(["response.created", "response.in_progress"]),
                                              "response": {"id": f"resp_{t.name}_other", "output": []}})
    t.renumber()


def completed_by_another(rng, t):
    for step in t.events("response.completed"):
        step["event"]["response"]["id"] = f"resp_{t.name}_other"
        if rng.random() < 0.5:
            for holder, name in texts_in(step["event"])[:1]:
                holder[name] = "quite another text "


def delta_after_done(rng, t):
    done = [s for s in t.events("response.output_item.done") if s["event"]["item"]["type"] == "message"]
    deltas = t.events(TEXT)
    if done and deltas:
        t.insert(t.position(done[-1]) + 1, dict(deltas[-1]["event"], delta="afterwards "))
        t.renumber()


def no_completed(rng, t):
    t.steps = [s for s in t.steps if s.get("event", {}).get("type") != "response.completed"]


def untyped_error(rng, t):
    t.insert(rng.randrange(1, len(t.steps)), rng.choice([
        {"error": {"message": "no", "type": "server_error", "code": "server_error"}},
        {"type": "error", "error": {"message": "no"}}, {"type": "error", "message": "no", "code": None}]))


def failed(rng, t):
    kind = rng.choice(["failed", "incomplete"])
    t.steps[rng.randrange(2, len(t.steps)):] = [{"event": {"type": f"response.{kind}", "response": {
        "id": t.id, "status": kind, "output": [], "error": {"code": "server_error", "message": "no"},
        "incomplete_details": {"reason": "max_output_tokens"}}}}]


def truncated_json(rng, t):
    t.steps.insert(rng.randrange(1, len(t.steps)), {"raw": '{"type":"response.output_text.delta","delta":"bro'})


def interleave_items(rng, t):
    """Two of the root's messages open at once."""
    deltas = t.events(TEXT)
    if len({s["event"]["item_id"] for s in deltas if "item_id" in s["event"]}) > 1:
        moved = deltas[-1]
        t.steps.remove(moved)
        t.steps.insert(t.position(deltas[0]), moved)
        t.renumber()


def odd_index(rng, t):
    step = some(rng, [s for s in t.events() if "output_index" in s["event"]])
    if step:
        step["event"][rng.choice(["output_index", "content_index", "output_index"])] = \
            rng.choice([-1, 10 ** 12, 2 ** 63, 1.5, "0", None])


def odd_types(rng, t):
    step = some(rng, t.events())
    name = rng.choice(sorted(step["event"]))
    step["event"][name] = rng.choice([None, 7, [], {}, "", True, [[[]]], 1e300])


LIES = [lose_delta, lose_delta_and_renumber, add_delta, other_closing, same_number_other_event, restart_numbers,
        swap_deltas, other_created, completed_by_another, delta_after_done, no_completed, untyped_error, failed,
        truncated_json, interleave_items, odd_index, odd_types]


def cut(rng, t, earliest=0):
    """Ends the connection before any step, maybe in the middle of its event."""
    place = rng.randrange(earliest, len(t.steps))
    partial = t.steps[place].get("event") if rng.random() < 0.3 else None
    step = {"cut": rng.choice(["end", "reset", "close"]), "code": rng.choice([1000, 1001, 1011, 1012, 4000])}
    if partial:
        step["partial"] = partial
    t.steps[place:] = [step]
    return place


def answer(rng, t, kind="create", **fields):
    result = {"for": kind, "round": t.round, **fields, "steps": t.steps}
    if rng.random() < 0.25:
        result["chunk"] = rng.choice([1, 7, 50])
    return result


def late_events(rng, first, second):
    """Events of the first response that come in the second, with their identifiers or without."""
    source = [s["event"] for s in first.events(TEXT, "response.completed", "response.output_text.done",
                                               "response.output_item.done")]
    bare = rng.random() < 0.5
    for _ in range(rng.randint(1, 2)):
        event = copy.deepcopy(rng.choice(source))
        if event["type"] == TEXT:
            event["delta"] = f"late{rng.randrange(9)} "
        if bare:
            event.pop("item_id", None)
            if rng.random() < 0.5:
                event.pop("sequence_number", None)
            if event["type"] == "response.completed":
                event["response"].pop("id", None)
            if "item" in event:
                event["item"].pop("id", None)
        elif rng.random() < 0.4:
            event["response_id"] = first.id
        if not bare and event["type"] in (TEXT, "response.output_text.done") and rng.random() < 0.3:
            event.pop("sequence_number", None)
        second.insert(rng.randint(0, len(second.steps) - 1), event, late=True, kept=True)
    return bare


def make(seed):
    """Returns the script of a seed."""
    rng = random.Random(f"promise-{seed}")
    kind = rng.choice(["plain", "plain", "plain", "retry", "retry", "kept", "kept", "tools", "tools"])
    script = {"name": f"seed-{seed}", "kind": kind, "client": {}, "answers": []}
    script["client"]["http"] = rng.random() < 0.5
    tolerated = rng.sample(TOLERATED, rng.choice([0, 1, 1, 2, 3]))
    lies = rng.sample(LIES, rng.choice([0, 0, 1, 1, 2]))
    notes = []
    shape = dict(messages=rng.choice([1, 1, 2]), reasoning=rng.random() < 0.2, refusal=rng.random() < 0.08,
                 agents=rng.random() < 0.2)

    def bend(t, those):
        for lie in those:
            if t.steps and t.events("response.completed") or lie in (done_marker, pings):
                before = copy.deepcopy(t.steps)
                try:
                    lie(rng, t)
                except (AttributeError, IndexError, KeyError, TypeError, ValueError):
                    t.steps = before   # an earlier lie left nothing that this one could be told about
                if t.steps != before:
                    notes.append(f"{t.name}:{lie.__name__}")

    def permit(sound, text=None):
        if sound and not lies:
            script["permitted"] = {"must": "complete"}
            if text is not None:
                script["permitted"]["texts"] = [text, text.rstrip()]

    if kind == "plain":
        t = tell(rng, "a", "a", **shape)
        bend(t, tolerated + lies)
        script["answers"].append(answer(rng, t))
        permit(not set(tolerated) & HARD_TOGETHER or len(tolerated) == 1, t.text)
    elif kind == "retry":
        count = rng.randint(3, 6)
        t = tell(rng, "a", "a", count=count, **shape)
        bend(t, [lie for lie in tolerated if lie is not done_marker])
        cut(rng, t)
        again = rng.choice(["same", "same", "other", "longer", "shorter"])
        second = tell(rng, "b", "b" if again == "other" else "a",
                      count=count + {"longer": 2, "shorter": -2}.get(again, 0), **shape)
        bend(second, rng.sample(TOLERATED, rng.choice([0, 1])) + lies)
        notes.append(f"b:{again}")
        script["answers"] += [answer(rng, t), answer(rng, second)]
        permit(again == "same" and not tolerated and len(notes) == 1, second.text)
    elif kind == "kept":
        script["client"]["kept"] = True
        count = rng.randint(3, 6)
        t = tell(rng, "a", "a", count=count, **shape)
        bend(t, [lie for lie in tolerated if lie not in (no_created, only_completed)])
        whole = copy.deepcopy(t)
        place = cut(rng, t, earliest=min(2, len(t.steps) - 1))
        script["answers"].append(answer(rng, t))
        rest = copy.deepcopy(whole)
        how = rng.choice(["honest", "honest", "other-identity", "other-place", "renumbered", "gap", "twice", "lies",
                          "bare-other", "404"])
        notes.append(f"resume:{how}")
        fields = {"after": True}
        if how in ("other-identity", "bare-other"):
            other = tell(rng, "o", "o", count=count, **shape)
            if how == "bare-other":
                for step in other.events():
                    step["event"].pop("item_id", None)
                    if isinstance(step["event"].get("response"), dict):
                        step["event"]["response"].pop("id", None)
            rest = other
        elif how == "other-place":
            fields = {}
            rest.steps = rest.steps[max(0, place + rng.choice([-3, -1, 1, 2])):]
        elif how == "renumbered":
            fields = {}
            rest.steps = rest.steps[place:]
            rest.renumber(rng.choice([0, place + 1, place + 5]))
        elif how == "gap":
            lost = some(rng, rest.events(TEXT))
            broken = copy.deepcopy(rest)
            if lost:
                at = rest.position(lost)
                broken.steps[at] = {"event": {"type": "keepalive"}} if rng.random() < 0.7 else {"ping": ""}
            script["answers"].append(answer(rng, broken, "resume", after=True))
        elif how == "twice":
            broken = copy.deepcopy(rest)
            cut(rng, broken, earliest=min(len(broken.steps) - 1, place))
            script["answers"].append(answer(rng, broken, "resume", after=True))
        elif how == "lies":
            bend(rest, lies or [rng.choice(LIES)])
        if how == "404":
            rest.steps = [{"status": 404, "body": '{"error":{"message":"gone","code":"not_found"}}'}]
            script["answers"].append(answer(rng, whole))
        script["answers"].append(answer(rng, rest, "resume", **fields))
        if not lies and not tolerated and how in ("honest", "gap", "twice"):
            permit(True, whole.text)
        script["permitted"] = dict(script.get("permitted", {}))
        if how in ("honest", "gap", "twice") and not lies and not {no_closing_texts, trimmed} & set(tolerated):
            script["permitted"].setdefault("texts", [whole.text, whole.text.rstrip()])
    else:
        script["client"]["tools"] = True
        first = tell(rng, "a", "a", tool_calls=rng.randint(1, 2), **dict(shape, refusal=False))
        original = copy.deepcopy(first)
        second = tell(rng, "b", "b", round_number=1, **dict(shape, refusal=False))
        bend(first, [lie for lie in tolerated if lie is not empty_output])
        bend(second, lies)
        late = rng.choice(["late", "late", "none", "behind"])
        if late == "late":
            script["client"]["http"] = False   # they are late on a connection that both responses share
        bare = False
        if late == "late" and second.steps:
            bare = late_events(rng, original, second)
            notes.append("late bare" if bare else "late")
        elif late == "behind":
            for _ in range(rng.randint(1, 2)):
                event = copy.deepcopy(rng.choice(original.events(TEXT, "response.completed"))["event"])
                if event["type"] == TEXT:
                    event["delta"] = "behind "
                first.steps.append({"event": event, "late": True})
            notes.append("behind")
        script["answers"] += [answer(rng, first), answer(rng, second)]
        # With one index for all, the items of the first response are not known by their identifiers.
        permit(not bare and len(tolerated) <= 1 and not (late == "late" and shared_index in tolerated), second.text)
    script["notes"] = notes
    is_late = any(note.startswith("late") for note in notes)
    if script["client"].get("http") is False and rng.random() < 0.06 and not is_late:
        script["upgrade"] = rng.choice([404, 426, 500])
    return script


# Together these say too little to tell one item from another.
HARD_TOGETHER = {shared_index, no_item_ids, other_agents, no_created, text_in_closing, text_in_later_closing,
                 only_completed, no_closing_texts, empty_output, unnumbered, repeat_exactly, number_gap,
                 keepalive_unnumbered, citations, trimmed}
