"""Scripts in Chat Completions and Anthropic's Messages: honest answers, and lies told about them, as in `lies.py`.

`make` is the script of a seed; a seed draws its dialect and the policy of the client. A step of these answers has a
"part": what it says of the answer, by which a lie finds it. The forms are those of recorded servers.
"""

import copy
import random

import lies


class Told(lies.Telling):
    """One answer; `append` adds a step, and `parts` finds steps by what they say."""

    def __init__(self, name, rng, round_number=0):
        super().__init__(name, round_number)
        self.rng, self.numbered = rng, False
        self.salt = rng.randrange(1000)   # no two answers have the same identifiers

    def call_id(self, number):
        return f"call_{self.round}_{self.name}{number}_{self.salt}"

    def append(self, part, event=None, **fields):
        self.steps.append({"part": part, **({} if event is None else {"event": event}), **fields})

    def parts(self, *parts):
        return [step for step in self.steps if step.get("part") in parts and "event" in step]

    def put(self, position, event, part="added"):
        self.steps.insert(position, {"part": part, "event": event})

    def inside(self):
        """A place behind the beginning and before the end."""
        end = self.position(self.parts("finish")[0]) if self.parts("finish") else len(self.steps)
        return self.rng.randint(1, max(1, end))


class Chat(Told):
    api = "chat"

    def chunk(self, part, delta=None, finish=None, **members):
        choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
        self.append(part, {"id": f"chatcmpl-{self.salt}", "object": "chat.completion.chunk", "created": 1771438842,
                           "model": "m", "choices": [choice], **members})

    def tell(self, blocks, reasoning=(), refusal=False, calls=0):
        rng, text = self.rng, [word for block in blocks for word in block]
        self.form = rng.choice(["reasoning_content", "reasoning", "details", "parts", "both"])
        self.chunk("begin", {"role": "assistant", "content": rng.choice(["", None])})
        for word in reasoning:
            self.chunk("reasoning", {
                "reasoning_content": {"content": None, "reasoning_content": word}, "reasoning": {"reasoning": word},
                "details": {"reasoning_details": [{"type": "reasoning.text", "text": word, "index": 0}]},
                "parts": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": word}]}]},
                "both": {"content": "", "reasoning_content": word, "reasoning": word}}[self.form])
        for word in text:
            content = [{"type": "text", "text": word}] if self.form == "parts" else word
            self.chunk("text", {"refusal": word} if refusal else {"content": content})
        self.text = "" if refusal else "".join(text)
        self._calls(calls)
        usage = {"usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}}
        where = rng.choice(["behind", "finish", "none"])
        self.chunk("finish", finish="tool_calls" if calls else "stop", **(usage if where == "finish" else {}))
        if where == "behind":
            self.append("usage", {"id": f"chatcmpl-{self.salt}", "object": "chat.completion.chunk", "choices": [],
                                  **usage})
        self.append("stop", raw="[DONE]")
        return self

    def _calls(self, count):
        rng = self.rng
        form = rng.choice(["pieces", "pieces", "turns", "one", "object", "bare", "same-index", "no-id", "one-chunk"])
        heads, pieces = [], []
        for number in range(count):
            arguments = '{"zone": "%s%d"}' % (self.name, number)
            head = {"index": 0 if form == "same-index" else number, "type": "function",
                    "id": self.call_id(number), "function": {"name": "now", "arguments": arguments}}
            if form in ("pieces", "turns"):
                head["function"]["arguments"] = ""
                third = len(arguments) // 3
                pieces.append([{"index": number, "function": {"arguments": piece}} for piece in (
                    arguments[:third], arguments[third:2 * third], arguments[2 * third:])])
            elif form == "object":
                head["function"]["arguments"] = {"zone": f"{self.name}{number}"}
            elif form == "bare":
                head.pop("index")
            elif form == "no-id":
                head.pop("id")
            heads.append(head)
        if form == "one-chunk" and heads:
            return self.chunk("call", {"tool_calls": heads})
        for head in heads:
            self.chunk("call", {"tool_calls": [head]})
            if form == "pieces":
                for piece in pieces[heads.index(head)]:
                    self.chunk("arguments", {"tool_calls": [piece]})
        for turn in zip(*pieces) if form == "turns" else ():
            for piece in turn:
                self.chunk("arguments", {"tool_calls": [piece]})
        return None

    # The members that lies change

    def first(self, step):
        return next(choice for choice in step["event"]["choices"] if choice["index"] == 0)

    def set_text(self, step, text):
        delta = self.first(step)["delta"]
        name = "refusal" if "refusal" in delta else "content"
        delta[name] = [{"type": "text", "text": text}] if isinstance(delta[name], list) else text

    def set_index(self, step, index):
        self.first(step)["delta"]["tool_calls"][0]["index"] = index

    def set_reason(self, step, reason):
        self.first(step)["finish_reason"] = reason

    REASONS = ("length", "content_filter", "abort")

    def error(self):
        error = self.rng.choice([
            {"message": "no", "type": "server_error", "code": "server_error"}, {"message": "no", "code": 502},
            {"message": "no", "type": "invalid_request_error", "code": "tool_use_failed"}])
        return {"error": error, **self.rng.choice([{}, {"type": "error"}, {"choices": []}])}


class Messages(Told):
    api = "messages"

    def tell(self, blocks, reasoning=(), refusal=False, calls=0):
        rng, self.text, self.blocks = self.rng, "".join(word for block in blocks for word in block), 0
        usage = {"input_tokens": 9, "output_tokens": 1}
        self.append("begin", {"type": "message_start", "message": {
            "id": f"msg_{self.salt}", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": usage}})
        if reasoning:
            if len(blocks) > 1:
                self.block({"type": "redacted_thinking", "data": "Zm9v"}, ())
            self.block({"type": "thinking", "thinking": "", "signature": ""}, [
                *(("reasoning", {"type": "thinking_delta", "thinking": word}) for word in reasoning),
                ("signature", {"type": "signature_delta", "signature": "c2ln"})])
        for words in filter(None, blocks):
            begin = words[0] if rng.random() < 0.15 else ""
            self.block({"type": "text", "text": begin}, [
                ("text", {"type": "text_delta", "text": word}) for word in words[bool(begin):]])
        for number in range(calls):
            arguments = '{"zone": "%s%d"}' % (self.name, number)
            third, form = len(arguments) // 3, rng.choice(["pieces", "pieces", "one", "start"])
            pieces = {"pieces": ("", arguments[:third], arguments[third:2 * third], arguments[2 * third:]),
                      "one": (arguments,), "start": ()}[form]
            self.block({"type": "tool_use", "id": self.call_id(number), "name": "now",
                        "input": {"zone": f"{self.name}{number}"} if form == "start" else {}},
                       [("arguments", {"type": "input_json_delta", "partial_json": piece}) for piece in pieces])
        self.append("finish", {"type": "message_delta", "delta": {
            "stop_reason": "tool_use" if calls else rng.choice(["end_turn", "stop_sequence"]), "stop_sequence": None},
            "usage": {"output_tokens": 5}})
        self.append("stop", {"type": "message_stop"})
        return self

    def block(self, start, deltas):
        index, self.blocks = self.blocks, self.blocks + 1
        self.append("call" if start["type"] == "tool_use" else "block", {
            "type": "content_block_start", "index": index, "content_block": start})
        for part, delta in deltas:
            self.append(part, {"type": "content_block_delta", "index": index, "delta": delta})
        self.append("block-end", {"type": "content_block_stop", "index": index})

    # The members that lies change

    def set_text(self, step, text):
        step["event"]["delta"]["text"] = text

    def set_index(self, step, index):
        step["event"]["index"] = index

    def set_reason(self, step, reason):
        step["event"]["delta"]["stop_reason"] = reason

    REASONS = ("max_tokens", "refusal", "novel")

    def error(self):
        kind = self.rng.choice(["overloaded_error", "api_error", "invalid_request_error"])
        return {"type": "error", "error": {"type": kind, "message": "no"}}


TELLINGS = {"chat": Chat, "messages": Messages}
APIS = ("responses", *TELLINGS)


def told_in(api, rng, name):
    """An honest answer in any of the APIs."""
    if api == "responses":
        return lies.tell(rng, name, name)
    return TELLINGS[api](name, rng).tell([lies.words(rng, name, 3)])


# Oddities of real servers


def pings(rng, t):
    """Comments, and the events of that name."""
    for _ in range(rng.randint(1, 3)):
        t.steps.insert(rng.randrange(len(t.steps)), {"ping": "p"})
        if isinstance(t, Messages):
            t.put(t.inside(), {"type": "ping"})


def empty_pieces(rng, t):
    step = lies.some(rng, t.parts("text"))
    if step:
        empty = copy.deepcopy(step)
        t.set_text(empty, "")
        t.steps.insert(t.position(step), empty)


def unknown_event(rng, t):
    t.put(t.inside(), {"object": "moderation", "choices": [], "moderation": {}} if isinstance(t, Chat)
          else {"type": "novel_event", "x": 1})


def unknown_members(rng, t):
    for step in t.parts("begin", "text", "call", "finish"):
        step["event"].update(obfuscation="abc", error=None, x=[{}])


def begun_twice(rng, t):
    """Behind output, a message that begins again is another answer."""
    place = rng.randint(1, 2)
    t.steps.insert(place if isinstance(t, Chat) else 1, copy.deepcopy(t.parts("begin")[0]))


def end_mark(rng, t):
    """No `[DONE]` behind a chat completion, and one behind a message."""
    if isinstance(t, Chat):
        t.steps = [step for step in t.steps if step["part"] != "stop"]
    else:
        t.append("mark", raw="[DONE]")


def unfinished_end(rng, t):
    """The last event has no empty line, and the body ends in order."""
    if t.steps[-1].get("part") in ("stop", "finish"):
        t.steps[-1]["unfinished"] = True


def other_identifiers(rng, t):
    """An identifier that changes from chunk to chunk, or none."""
    if isinstance(t, Chat):
        for number, step in enumerate(t.steps):
            if "event" in step:
                step["event"]["id"] = rng.choice([f"chatcmpl-{t.name}-{number}", "", None])
    else:
        for step in t.parts("begin"):
            step["event"]["message"].pop("id")


def second_choice(rng, t):
    """Another choice, in chunks of its own or in those of the first."""
    if not isinstance(t, Chat):
        return
    for step in t.parts("begin", "text", "finish"):
        other = copy.deepcopy(t.first(step))
        other.update(index=1, delta={"content": "choice "} if step["part"] == "text" else {})
        if rng.random() < 0.5:
            step["event"]["choices"].insert(rng.randint(0, 1), other)
        else:
            t.put(t.position(step), dict(step["event"], choices=[other]))


def usage_in_every_chunk(rng, t):
    for number, step in enumerate(t.parts("text", "finish")):
        step["event"]["usage"] = {"prompt_tokens": 9, "completion_tokens": number, "output_tokens": number}


def odd_extras(rng, t):
    """Members of no consequence with values of another type."""
    step = lies.some(rng, t.parts("begin", "text", "finish"))
    for name in rng.sample(["usage", "model", "created", "service_tier", "system_fingerprint"], 2):
        step["event"][name] = rng.choice([None, 7, [], {}, "", True, [[[]]], 1e300])


def block_indices(rng, t):
    """Indices that begin with another number, or no ends of blocks."""
    if isinstance(t, Messages):
        for step in t.steps:
            if "index" in step.get("event", {}):
                step["event"]["index"] += 3
        t.steps = [step for step in t.steps if step["part"] != "block-end" or rng.random() < 0.5]


TOLERATED = [pings, empty_pieces, unknown_event, unknown_members, begun_twice, end_mark, unfinished_end,
             other_identifiers, second_choice, usage_in_every_chunk, odd_extras, block_indices]


# Lies


def lose_piece(rng, t):
    t.steps.remove(lies.some(rng, t.parts("text", "arguments", "call", "begin")))


def repeat_piece(rng, t):
    step = lies.some(rng, t.parts("text", "arguments", "finish"))
    t.steps.insert(t.position(step), copy.deepcopy(step))


def swap_pieces(rng, t):
    pieces = t.parts("text", "arguments", "finish")
    first = rng.randrange(len(pieces) - 1)
    a, b = t.position(pieces[first]), t.position(pieces[first + 1])
    t.steps[a], t.steps[b] = t.steps[b], t.steps[a]


def add_piece(rng, t):
    """A foreign piece, inside the answer, behind its finish or behind its end."""
    step = copy.deepcopy(lies.some(rng, t.parts("text")))
    t.set_text(step, "foreign ")
    places = [t.inside(), len(t.steps)] + [t.position(one) + 1 for one in t.parts("finish")]
    t.steps.insert(rng.choice(places), step)


def error_inside(rng, t):
    """An error, behind which the answer ends or goes on."""
    place = t.inside()
    t.put(place, t.error())
    if rng.random() < 0.6:
        del t.steps[place + 1:]


def early_end(rng, t):
    """The body ends in order, before the answer does."""
    del t.steps[rng.randrange(1, len(t.steps)):]


def no_finish(rng, t):
    t.steps.remove(t.parts("finish")[0])


def no_stop(rng, t):
    t.steps = [step for step in t.steps if step.get("part") != "stop"]


def other_reason(rng, t):
    t.set_reason(t.parts("finish")[0], rng.choice(t.REASONS))


def limit_of_the_model(rng, t):
    """A gateway says that an answer is whole whose model says that it was cut."""
    if isinstance(t, Chat):
        t.first(t.parts("finish")[0])["native_finish_reason"] = "length"


def wrong_index(rng, t):
    for step in rng.sample(t.parts("arguments"), rng.randint(1, 2)):
        t.set_index(step, rng.choice([0, 1, 2, 7]))


def cut_arguments(rng, t):
    """The arguments of a call are cut, and the reason says that the answer is whole."""
    t.steps.remove(t.parts("arguments")[-1])


def other_begins(rng, t):
    """Another answer begins inside this one."""
    other = copy.deepcopy(t.parts("begin")[0])
    holder = other["event"].get("message", other["event"])
    holder["id"] = "other"
    t.steps.insert(t.inside(), other)


def truncated_json(rng, t):
    t.steps.insert(t.inside(), {"raw": '{"type":"content_block_delta","choices":[{"delta":{"content":"bro'})


def other_api(rng, t):
    """From some event on the stream of another API."""
    t.steps[t.inside():] = told_in(rng.choice([api for api in APIS if api != t.api]), rng, "o").steps


LIES = [lose_piece, repeat_piece, swap_pieces, add_piece, error_inside, early_end, no_finish, no_stop, other_reason,
        limit_of_the_model, wrong_index, cut_arguments, other_begins, truncated_json, other_api]


def bent(rng, t, those, notes):
    for lie in those:
        before = copy.deepcopy(t.steps)
        try:
            lie(rng, t)
        except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError):
            t.steps = before   # there is nothing that this lie could be told about
        if t.steps != before:
            notes.append(f"{t.name}:{lie.__name__}")
    for step in t.steps[:-1]:
        step.pop("unfinished", None)
    return t


def cut(rng, t):
    """Ends the connection before any step, or at any byte of its event."""
    ends = [place for place, step in enumerate(t.steps) if step.get("part") == "stop"]
    place = rng.randint(0, min([*ends, len(t.steps) - 1]))
    step = {"cut": rng.choice(["end", "end", "reset"])}
    if "event" in t.steps[place] and rng.random() < 0.5:
        step.update(partial=t.steps[place]["event"], share=rng.random())
    t.steps[place:] = [step]


def divided(rng, words):
    """The same text in these pieces, or in others."""
    text = "".join(words)
    if rng.random() < 0.7:
        return words
    places = sorted({0, len(text), *(rng.randrange(len(text) + 1) for _ in words)})
    return [text[first:last] for first, last in zip(places, places[1:])]


def made_in(dialect, rng, script):
    """Adds answers in a dialect to the script of a client with a policy."""
    kind = rng.choice(["plain", "plain", "retry", "retry", "retry", "tools", "tools"])
    client, notes = script["client"], []
    script.update(kind=f"{dialect}-{kind}", notes=notes)
    client.update(dialect=dialect, tools=kind == "tools")
    tolerated = rng.sample(TOLERATED, rng.choice([0, 0, 1, 1, 2, 3]))
    told_lies = rng.sample(LIES, rng.choice([0, 0, 0, 1, 1, 2]))
    if kind == "tools" and rng.random() < 0.3:
        told_lies = [rng.choice([wrong_index, cut_arguments, lose_piece, repeat_piece])]
    first_block = rng.choice([None, None, 1])
    shape = {"reasoning": lies.words(rng, "ra", 3) if rng.random() < 0.4 else (),
             "refusal": dialect == "chat" and kind != "tools" and rng.random() < 0.1}
    rounds = 1 if kind != "tools" else rng.choice([2, 2, 3])
    must = not told_lies
    for number, name in enumerate("abc"[:rounds]):
        calls = rng.randint(1, 3) if number < rounds - 1 else 0
        count = rng.randint(2, 6) if not calls else rng.randint(0, 2)

        def told(letter, more):
            text = lies.words(rng, name + letter, max(0, count + more))
            blocks = [text] if first_block is None else [text[:first_block], text[first_block:]]
            blocks = [divided(rng, block) for block in blocks]
            return TELLINGS[dialect](letter, rng, number).tell(blocks, calls=calls, **shape)

        for _ in range(0 if kind == "plain" else rng.choice([0, 1, 1, 2] if kind == "tools" else [1, 1, 2])):
            again = rng.choice(["same", "same", "other", "longer", "shorter", "status"])
            notes.append(f"{name}:{again}")
            if again == "status":
                first = Told(name, rng, number)
                first.steps = [{"status": rng.choice([500, 502, 503, 529]), "body": "{}"}]
            else:
                first = told("x" if again == "other" else name, {"longer": -1, "shorter": 2}.get(again, 0))
                cut(rng, bent(rng, first, tolerated, notes))
            # Delivered text is not taken back, but for a restart.
            must = must and (again not in ("other", "shorter") or client.get("divergence") == "restart") \
                and "recovery" not in client
            script["answers"].append(lies.answer(rng, first))
        last = bent(rng, told(name, 0), tolerated + told_lies, notes)
        script["answers"].append(lies.answer(rng, last))
    if must:
        script["permitted"] = {"must": "complete", "texts": [last.text]}


def make(seed):
    """Returns the script of a seed."""
    rng = random.Random(f"dialect-{seed}")
    dialect = rng.choice(["responses", "responses", "chat", "messages"])
    policy = rng.choice([{}, {}, {}, {"divergence": "restart"}, {"divergence": "restart"}, {"recovery": "never"},
                         {"recovery": "resumeOnly"}])
    script = {"name": f"seed-{seed}", "client": dict(policy), "answers": []}
    if rng.random() < 0.02:
        t = told_in(rng.choice([api for api in APIS if api != dialect]), rng, "a")
        script.update(kind=f"{dialect}-other-api", notes=[], permitted={"must": "fail", "tag": "event.other-api"})
        script["client"]["dialect"] = dialect
        script["answers"].append(lies.answer(rng, t))
    elif dialect == "responses":
        script = lies.make(seed)
        script["client"].update(policy)
        if "recovery" in policy and script["kind"] in ("retry", "kept"):
            script.get("permitted", {}).pop("must", None)   # less is recovered
    else:
        made_in(dialect, rng, script)
    return script
