"""Reads answers in Chat Completions and Messages as the responses that say the same (ReadingResponses.md, "Other dialects").

Each answer becomes events of the Responses API, which `oracle.py` reads. Where the wire leaves a choice, such as the
call that a piece under a foreign index belongs to, each choice is a translation. Nothing here knows how the client
works.
"""

import itertools
import json

COMPLETE = {"chat": ("stop", "tool_calls", "function_call"),
            "messages": ("end_turn", "stop_sequence", "tool_use", None)}
REASONING_TEXTS = ("reasoning_content", "reasoning", "reasoning_text")
LIMITS = ("length", "max_tokens", "max_output_tokens")


class Call:
    def __init__(self, identifier, name, key, begin=""):
        self.id, self.name, self.key, self.begin, self.pieces = identifier, name, key, begin, []

    @property
    def arguments(self):
        return "".join(self.pieces) or self.begin or "{}"


def fault(arguments):
    """Returns "cut" for arguments that end inside their JSON, "malformed" for others that are no JSON, and None."""
    try:
        json.loads(arguments)
        return None
    except json.JSONDecodeError as error:
        is_cut = error.msg.startswith("Unterminated") or error.pos >= len(arguments.rstrip())
        return "cut" if is_cut else "malformed"


def text_of(value):
    return value if isinstance(value, str) else ""


class Translation:
    """One answer that is being read.

    Two choices: a piece of a call belongs to the call with its index, or to the newest one (`owner`); arguments that
    are no JSON are cut, or the tool judges them (`is_strict`).
    """

    def __init__(self, owner, is_strict):
        self.owner, self.is_strict = owner, is_strict
        self.events, self.calls, self.reason, self.is_over = [], [], None, False

    def say(self, kind, text, place):
        if isinstance(text, str) and text:
            self.events.append({"type": f"response.{kind}.delta", "output_index": place, "delta": text})

    def begin(self, identifier):
        self.events.append({"type": "response.created", "response": {"id": identifier} if identifier else {}})

    def fail(self):
        self.events.append({"type": "error"})
        self.is_over = True

    def end(self, is_complete):
        """All items end with the answer; calls are finished in a complete one with whole arguments alone."""
        self.is_over = True
        calls = [call for call in self.calls if call.name]
        faults = {fault(call.arguments) for call in self.calls}
        if not is_complete or "cut" in faults or self.is_strict and "malformed" in faults:
            self.events.append({"type": "response.incomplete", "response": {}})
            return
        for place, call in enumerate(calls):
            self.events.append({"type": "response.output_item.done", "output_index": 1000 + place, "item": {
                "type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}})
        self.events.append({"type": "response.completed", "response": {}})

    def call_at(self, key):
        """Returns the newest call under a key: the place that the server gives it."""
        if self.owner == "newest":
            return self.calls[-1] if self.calls else None
        return next((call for call in reversed(self.calls) if call.key == key), None)


# Chat Completions: the text, the reasoning and the calls have a place each.


class Chat(Translation):
    def take(self, value):
        if value.get("error"):
            return self.fail()
        choices = value.get("choices")
        if not isinstance(choices, list):
            return self.fail() if str(value.get("type", "")).startswith(("response.", "message_")) else None
        for choice in choices:
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                self._choice(choice)

    def _choice(self, choice):
        delta = choice.get("delta") if isinstance(choice.get("delta"), dict) else {}
        plain = next((delta[name] for name in REASONING_TEXTS if text_of(delta.get(name))), "")
        self.say("reasoning_text", plain, 0)
        if not plain:
            for detail in delta.get("reasoning_details") or []:
                self.say("reasoning_text", detail.get("text") or detail.get("summary"), 0)
        if isinstance(delta.get("content"), list):
            for part in delta["content"]:
                self._part(part)
        else:
            self.say("output_text", delta.get("content"), 1)
        self.say("refusal", delta.get("refusal"), 1)
        for piece in delta.get("tool_calls") or []:
            self._piece(piece)
        if text_of(choice.get("finish_reason")):
            self.reason = choice["finish_reason"]
            if str(choice.get("native_finish_reason")).lower() in LIMITS:
                self.reason = "length"

    def _part(self, part):
        if part.get("type") == "text":
            self.say("output_text", part.get("text"), 1)
        elif part.get("type") == "thinking":
            thought = part.get("thinking")
            for piece in thought if isinstance(thought, list) else [{"text": thought}]:
                self.say("reasoning_text", piece.get("text"), 0)

    def _piece(self, piece):
        function = piece.get("function") or {}
        name, identifier, arguments = function.get("name"), piece.get("id"), function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        key = piece.get("index", identifier)
        call = self.call_at(key) if key is not None else self.calls[-1] if self.calls else None
        if name and call:
            is_other = identifier and call.id and identifier != call.id
            is_next = not identifier and arguments and call.pieces and not fault(call.arguments)
            call = None if is_other or is_next or self.owner == "newest" and key != call.key else call
        if call is None:
            call = Call(identifier, name, key)
            self.calls.append(call)
        call.id, call.name = call.id or identifier, call.name or name
        if arguments:
            call.pieces.append(arguments)

    def end_mark(self):
        if self.reason is not None:   # without one, `[DONE]` proves no end, and nor does the end of the body
            self.end(self.reason in COMPLETE["chat"])

    def end_of_body(self):
        self.end_mark()


# Messages: each block of content is an item, in the order in which they begin.


class Messages(Translation):
    def __init__(self, owner, is_strict):
        super().__init__(owner, is_strict)
        self.blocks, self.newest, self.id = {}, None, None
        self.places = itertools.count()

    def take(self, value):
        kind, index = value.get("type"), value.get("index")
        if kind == "message_start":
            message = value.get("message") or {}
            if self.id is None or message.get("id") not in (None, self.id):
                self.begin(message.get("id"))
            self.id = message.get("id") or self.id
        elif kind == "content_block_start":
            self._start(value.get("content_block") or {}, index)
        elif kind == "content_block_delta":
            self._delta(value.get("delta") or {}, index)
        elif kind == "message_delta":
            self.reason = (value.get("delta") or {}).get("stop_reason") or self.reason
        elif kind == "message_stop":
            self.end(self.reason in COMPLETE["messages"])
        elif kind == "error" or value.get("error") or "choices" in value or str(kind).startswith("response."):
            self.fail()

    def _block(self, kind, index):
        block = (kind, next(self.places))
        self.blocks[index], self.newest = block, block
        return block

    def _start(self, content, index):
        kind, place = self._block(content.get("type"), index)
        self.say("output_text", content.get("text"), place)
        self.say("reasoning_text", content.get("thinking"), place)
        if kind == "tool_use":
            begin = json.dumps(content["input"]) if content.get("input") else ""
            self.calls.append(Call(content.get("id"), content.get("name"), index, begin))

    def _delta(self, delta, index):
        kinds = {"text_delta": ("text", "text", "output_text"),
                 "thinking_delta": ("thinking", "thinking", "reasoning_text")}
        if delta.get("type") in kinds:
            kind, member, output = kinds[delta["type"]]
            block = self.blocks.get(index, self.newest if index is None else None)
            if block is None or block[0] != kind:
                block = self._block(kind, index)   # a delta of another kind begins a block
            self.say(output, delta.get(member), block[1])
        elif delta.get("type") == "input_json_delta" and self.calls:
            call = self.call_at(index)
            if self.blocks.get(index, ("tool_use",))[0] != "tool_use":
                call = None
            (call or self.calls[-1]).pieces.append(text_of(delta.get("partial_json")))

    def end_mark(self):
        pass   # gateways send it behind `message_stop`

    def end_of_body(self):
        pass   # only `message_stop` proves the end


READERS = {"chat": Chat, "messages": Messages}


def translations(exchange):
    """Returns the answer of an exchange as lists of events, one for each way to read it."""
    result = []
    for owner, is_strict in itertools.product(("index", "newest"), (False, True)):
        reader = READERS[exchange["dialect"]](owner, is_strict)
        for sent in exchange["sent"]:
            if reader.is_over:
                break
            if isinstance(sent.get("event"), dict):
                reader.take(sent["event"])
            elif sent.get("raw") == "[DONE]":
                reader.end_mark()
        if not reader.is_over and exchange.get("whole"):
            reader.end_of_body()
        if reader.events not in result:
            result.append(reader.events)
    return result
