"""Holds a server against the cases by which Open Responses judges servers (openresponses.org, 17 of 2026-04).

Usage: open_responses.py BASE_URL [CASE]...

The requests and rules are written anew from the public OpenAPI document and from the names and subjects of its cases; no
code is shared. Members of objects that the document does not know are allowed. Every event of a stream is held against the
document, and its numbers, positions and texts against each other.
"""

import argparse
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

KEY = "sk-open-responses"
MODEL = "paper-and-ink"
TIMEOUT = 20
# A red square of four pixels.
PICTURE = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg=="
)
TOOL = {
    "type": "function",
    "name": "get_weather",
    "description": "Returns the weather at a place.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
}


class Fault(Exception):
    """A rule that the server breaks."""


# MARK: The document
#
# A rule takes a value and its place, and raises a Fault. An object's rule has its required and its optional members.


def text(value, place):
    """A string."""
    if not isinstance(value, str):
        raise Fault(f"{place} is {shown(value)}, no string")


def whole(value, place):
    """An integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise Fault(f"{place} is {shown(value)}, no integer")


def number(value, place):
    """A number."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise Fault(f"{place} is {shown(value)}, no number")


def flag(value, place):
    """A boolean."""
    if not isinstance(value, bool):
        raise Fault(f"{place} is {shown(value)}, no boolean")


def anything(_value, _place):
    """A value of any type."""


def nullable(rule):
    """The rule's values, or null."""

    def check(value, place):
        if value is not None:
            rule(value, place)

    return check


def among(*values):
    """One of some strings."""

    def check(value, place):
        if value not in values:
            raise Fault(f"{place} is {shown(value)}, none of {', '.join(values)}")

    return check


def several(rule):
    """An array."""

    def check(value, place):
        if not isinstance(value, list):
            raise Fault(f"{place} is {shown(value)}, no array")
        for index, element in enumerate(value):
            rule(element, f"{place}[{index}]")

    return check


def members(required, optional=None):
    """An object."""

    def check(value, place):
        if not isinstance(value, dict):
            raise Fault(f"{place} is {shown(value)}, no object")
        lacking = [name for name in required if name not in value]
        if lacking:
            raise Fault(f"{place} lacks {', '.join(lacking)}")
        for name, rule in {**required, **(optional or {})}.items():
            if name in value:
                rule(value[name], f"{place}.{name}")

    return check


def kinds(rules):
    """An object that says with `type` which of some it is."""

    def check(value, place):
        if not isinstance(value, dict) or value.get("type") not in rules:
            raise Fault(f"{place} has the type {shown(isinstance(value, dict) and value.get('type'))}")
        rules[value["type"]](value, place)

    return check


def shown(value):
    """A value for a person, shortened."""
    return json.dumps(value, ensure_ascii=False)[:60]


status = among("in_progress", "completed", "incomplete")
phase = among("commentary", "final_answer")
part = kinds(
    {
        "input_text": members({"text": text}),
        "output_text": members({"text": text, "annotations": several(anything)}, {"logprobs": several(anything)}),
        "text": members({"text": text}),
        "summary_text": members({"text": text}),
        "reasoning_text": members({"text": text}),
        "refusal": members({"refusal": text}),
        "input_image": members({"image_url": nullable(text), "detail": text}),
        "input_file": members({}),
    }
)
item = kinds(
    {
        "message": members(
            {
                "id": text,
                "status": status,
                "role": among("user", "assistant", "system", "developer"),
                "content": several(part),
            },
            {"phase": phase},
        ),
        "function_call": members({"id": text, "call_id": text, "name": text, "arguments": text, "status": status}),
        "function_call_output": members({"id": text, "call_id": text, "output": anything, "status": status}),
        "reasoning": members(
            {"id": text, "summary": several(part)}, {"content": several(part), "encrypted_content": text}
        ),
        "compaction": members({"id": text, "encrypted_content": text}),
    }
)
usage = members(
    {
        "input_tokens": whole,
        "output_tokens": whole,
        "total_tokens": whole,
        "input_tokens_details": members({"cached_tokens": whole}),
        "output_tokens_details": members({"reasoning_tokens": whole}),
    }
)
response = members(
    {
        "id": text,
        "object": among("response"),
        "created_at": whole,
        "completed_at": nullable(whole),
        "status": text,
        "incomplete_details": nullable(members({"reason": text})),
        "model": text,
        "previous_response_id": nullable(text),
        "instructions": nullable(anything),
        "output": several(item),
        "error": nullable(members({"code": text, "message": text})),
        "tools": several(anything),
        "tool_choice": anything,
        "truncation": among("auto", "disabled"),
        "parallel_tool_calls": flag,
        "text": members({}, {"format": members({"type": text}), "verbosity": among("low", "medium", "high")}),
        "top_p": number,
        "presence_penalty": number,
        "frequency_penalty": number,
        "top_logprobs": whole,
        "temperature": number,
        "reasoning": nullable(members({})),
        "usage": nullable(usage),
        "max_output_tokens": nullable(whole),
        "max_tool_calls": nullable(whole),
        "store": flag,
        "background": flag,
        "service_tier": text,
        "metadata": anything,
        "safety_identifier": nullable(text),
        "prompt_cache_key": nullable(text),
    }
)
compaction = members(
    {"id": text, "object": among("response.compaction"), "output": several(item), "created_at": whole, "usage": usage}
)

in_item = {"item_id": text, "output_index": whole}
in_content = {**in_item, "content_index": whole}
in_summary = {**in_item, "summary_index": whole}
event = kinds(
    {
        name: members({"sequence_number": whole, **rules})
        for name, rules in {
            **{
                f"response.{moment}": {"response": response}
                for moment in ("created", "queued", "in_progress", "completed", "failed", "incomplete")
            },
            "response.output_item.added": {"output_index": whole, "item": nullable(item)},
            "response.output_item.done": {"output_index": whole, "item": nullable(item)},
            "response.content_part.added": {**in_content, "part": part},
            "response.content_part.done": {**in_content, "part": part},
            "response.output_text.delta": {**in_content, "delta": text},
            "response.output_text.done": {**in_content, "text": text},
            "response.output_text.annotation.added": {**in_content, "annotation_index": whole},
            "response.refusal.delta": {**in_content, "delta": text},
            "response.refusal.done": {**in_content, "refusal": text},
            "response.reasoning.delta": {**in_content, "delta": text},
            "response.reasoning.done": {**in_content, "text": text},
            "response.reasoning_summary_part.added": {**in_summary, "part": part},
            "response.reasoning_summary_part.done": {**in_summary, "part": part},
            "response.reasoning_summary_text.delta": {**in_summary, "delta": text},
            "response.reasoning_summary_text.done": {**in_summary, "text": text},
            "response.function_call_arguments.delta": {**in_item, "delta": text},
            "response.function_call_arguments.done": {**in_item, "arguments": text},
        }.items()
    }
)
LAST = ("response.completed", "response.failed", "response.incomplete")


# MARK: The server


class Server:
    """A server of the Responses API."""

    def __init__(self, base_url):
        self.base_url = base_url.rstrip("/")

    def post(self, path, body):
        """Sends a request; returns the status, the content type and the body."""
        request = urllib.request.Request(
            self.base_url + path,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return answer.status, answer.headers.get_content_type(), answer.read()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.headers.get_content_type(), refusal.read()

    def respond(self, body):
        """Returns the response to a request that does not stream."""
        code, kind, content = self.post("/responses", {"model": MODEL, **body})
        if code != 200 or kind != "application/json":
            raise Fault(f"the answer is {code}, {kind}: {content[:200].decode(errors='replace')}")
        answer = json.loads(content)
        response(answer, "response")
        return answer

    def stream(self, body):
        """Returns the response that the events of a request end with, and the events."""
        code, kind, content = self.post("/responses", {"model": MODEL, "stream": True, **body})
        if code != 200 or kind != "text/event-stream":
            raise Fault(f"the answer is {code}, {kind}: {content[:200].decode(errors='replace')}")
        events = []
        for block in content.decode().replace("\r\n", "\n").split("\n\n"):
            fields = [line.split(":", 1) for line in block.split("\n") if line and not line.startswith(":")]
            data = "\n".join(value.removeprefix(" ") for name, value in fields if name == "data")
            if not data or data == "[DONE]":
                continue
            events.append(json.loads(data))
            names = [value.strip() for name, value in fields if name == "event"]
            if names != [events[-1].get("type")]:
                raise Fault(f"an event is named {names} and has the type {events[-1].get('type')}")
        return end_of(events), events

    def socket(self):
        """Opens a WebSocket."""
        url = urllib.parse.urlsplit(self.base_url + "/responses")
        address = url._replace(scheme={"http": "ws", "https": "wss"}[url.scheme]).geturl()
        return connect(
            address, additional_headers={"Authorization": f"Bearer {KEY}"}, open_timeout=TIMEOUT, max_size=None,
            proxy=None,
        )


def turn(socket, body):
    """Asks for a response over a WebSocket; returns it, and the code of the error that came in its place."""
    socket.send(json.dumps({"type": "response.create", "model": MODEL, "store": False, **body}))
    events = []
    while True:
        try:
            message = json.loads(socket.recv(timeout=TIMEOUT))
        except (TimeoutError, ConnectionClosed) as failure:
            raise Fault(f"no end behind {len(events)} events: {type(failure).__name__}") from failure
        if message.get("type") == "error" or "error" in message:
            return None, (message.get("error") or {}).get("code")
        events.append(message)
        if message.get("type") in LAST:
            last = end_of(events)
            return last, (last["error"] or {}).get("code")


def end_of(events):
    """Holds events against the document and each other; returns the response that they end with."""
    if not events:
        raise Fault("there are no events")
    deltas, contents = {}, {}
    for place, one in enumerate(events):
        event(one, f"event {place} ({one.get('type')})")
        if one["sequence_number"] != place:
            raise Fault(f"event {place} has the number {one['sequence_number']}")
        where = (one.get("item_id"), one.get("content_index", one.get("summary_index")), one["type"].rsplit(".", 1)[0])
        if one["type"].endswith(".delta"):
            deltas[where] = deltas.get(where, "") + one["delta"]
        elif one["type"].endswith(".done"):
            # The ends of parts and items have an object in their place.
            contents.update((where, one[name]) for name in ("text", "arguments", "refusal") if name in one)
    if deltas != contents:
        raise Fault("deltas say something else than what they end with")
    if events[0]["type"] != "response.created" or events[-1]["type"] not in LAST:
        raise Fault(f"the events begin with {events[0]['type']} and end with {events[-1]['type']}")
    last = events[-1]["response"]
    done = [one["item"] for one in events if one["type"] == "response.output_item.done"]
    if last["status"] == "completed" and done != last["output"]:
        raise Fault("the items of the complete response are other ones than those of its events")
    return last


# MARK: The cases


def message(role, content, **others):
    """An item of an input."""
    return {"type": "message", "role": role, "content": content, **others}


def expect_complete(answer):
    """Fails unless a response is complete and has output."""
    if answer is None or answer["status"] != "completed" or not answer["output"]:
        raise Fault(f"the response is {answer and answer['status']}, with {answer and len(answer['output'])} items")
    return answer


def expect_code(result, wanted):
    """Fails unless a turn ended with an error of this code."""
    if result[1] != wanted:
        raise Fault(f"the error is {result[1]}, not {wanted}")


def basic_response(server):
    expect_complete(server.respond({"input": [message("user", "Greet me in three words.")]}))


def assistant_phase(server):
    history = [
        message("assistant", "I look the number up.", phase="commentary"),
        message("assistant", "It is seven.", phase="final_answer"),
        message("user", "Say it again."),
    ]
    expect_complete(server.respond({"input": history}))


def response_output_phase_schema(server):
    """A message of the server is one of the document with each phase, and with no other word."""
    answer = expect_complete(server.respond({"input": [message("user", "Which number is it?")]}))
    own = next((one for one in answer["output"] if one["type"] == "message"), None)
    if own is None:
        raise Fault("the response has no message")
    for word, is_known in (("commentary", True), ("final_answer", True), ("epilogue", False)):
        try:
            item({**own, "phase": word}, "item")
        except Fault:
            if is_known:
                raise
        else:
            if not is_known:
                raise Fault(f"the phase {word} passes")


def streaming_response(server):
    expect_complete(server.stream({"input": [message("user", "Count to five.")]})[0])


def system_prompt(server):
    expect_complete(server.respond({"input": [message("system", "Answer as a sailor."), message("user", "Hello.")]}))


def tool_calling(server):
    body = {"input": [message("user", "What is the weather in Bergen?")], "tools": [TOOL]}
    answer = server.respond(body)
    calls = [one for one in answer["output"] if one["type"] == "function_call"]
    if not calls or calls[0]["name"] != TOOL["name"]:
        raise Fault("the response calls no tool")
    json.loads(calls[0]["arguments"])
    if not any(one["type"] == "function_call" for one in server.stream(body)[0]["output"]):
        raise Fault("the streamed response calls no tool")


def image_input(server):
    content = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": PICTURE}]
    expect_complete(server.respond({"input": [message("user", content)]}))


def multi_turn(server):
    history = [message("user", "I am Ada."), message("assistant", "Hello, Ada."), message("user", "Who am I?")]
    expect_complete(server.respond({"input": history}))


def compact(server):
    """Returns the items of a compacted conversation."""
    history = [message("user", "We meet on Friday."), message("assistant", "On Friday, then.")]
    code, _, content = server.post("/responses/compact", {"model": MODEL, "input": history})
    if code != 200:
        raise Fault(f"the answer is {code}: {content[:120].decode(errors='replace')}")
    answer = json.loads(content)
    compaction(answer, "compaction")
    if not any(one["type"] == "compaction" for one in answer["output"]):
        raise Fault("the output has no compaction")
    return answer["output"]


def compact_response(server):
    compact(server)


def compact_missing_model(server):
    code, _, _ = server.post("/responses/compact", {"input": [message("user", "Compact this.")]})
    if code not in (400, 422):
        raise Fault(f"the answer is {code}, not 400 or 422")


def websocket_response(server):
    with server.socket() as socket:
        expect_complete(turn(socket, {"store": True, "input": [message("user", "Count to three.")]})[0])


def websocket_sequential_responses(server):
    with server.socket() as socket:
        first = expect_complete(turn(socket, {"input": "Say: one"})[0])
        second = expect_complete(turn(socket, {"input": "Say: two"})[0])
    if first["id"] == second["id"]:
        raise Fault("two responses have one identifier")


def websocket_continuation(server):
    with server.socket() as socket:
        first = expect_complete(turn(socket, {"input": "Remember the word anchor."})[0])
        second = expect_complete(turn(socket, {"previous_response_id": first["id"], "input": "Which word?"})[0])
    if second["previous_response_id"] != first["id"]:
        raise Fault(f"the response continues {second['previous_response_id']}, by its own word")


def websocket_reconnect_store_false_recovery(server):
    with server.socket() as socket:
        first = expect_complete(turn(socket, {"input": "Remember the word rope."})[0])
    with server.socket() as socket:
        expect_code(
            turn(socket, {"previous_response_id": first["id"], "input": "Which word?"}), "previous_response_not_found"
        )
        expect_complete(turn(socket, {"input": [message("user", "Begin anew.")]})[0])


def websocket_previous_response_not_found(server):
    with server.socket() as socket:
        expect_code(
            turn(socket, {"previous_response_id": "resp_0123456789abcdef", "input": "Go on."}),
            "previous_response_not_found",
        )


def websocket_failed_continuation_evicts_cache(server):
    with server.socket() as socket:
        first = expect_complete(turn(socket, {"input": "Remember the word keel."})[0])
        output = {"type": "function_call_output", "call_id": "call_of_nothing", "output": "{}"}
        answer, _ = turn(socket, {"previous_response_id": first["id"], "input": [output]})
        if answer is not None and answer["status"] != "failed":
            raise Fault("the output of a call that was not made is taken")
        expect_code(
            turn(socket, {"previous_response_id": first["id"], "input": "Which word?"}), "previous_response_not_found"
        )


def websocket_compact_new_chain(server):
    window = compact(server)
    with server.socket() as socket:
        expect_complete(turn(socket, {"input": [*window, message("user", "Go on from here.")], "tools": []})[0])


CASES = {
    case.__name__.replace("_", "-"): case
    for case in (
        basic_response,
        assistant_phase,
        response_output_phase_schema,
        streaming_response,
        websocket_response,
        websocket_sequential_responses,
        websocket_continuation,
        websocket_reconnect_store_false_recovery,
        websocket_previous_response_not_found,
        websocket_failed_continuation_evicts_cache,
        websocket_compact_new_chain,
        system_prompt,
        tool_calling,
        image_input,
        multi_turn,
        compact_response,
        compact_missing_model,
    )
}


def main():
    """Reads the command line, runs the cases, and prints the number of those that passed on the last line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("base_url")
    parser.add_argument("case", nargs="*", choices=[[], *CASES])
    options = parser.parse_args()
    server = Server(options.base_url)
    failed = []
    for name in options.case or CASES:
        try:
            CASES[name](server)
        except (Fault, OSError, ConnectionClosed, ValueError) as failure:
            failed.append(name)
            print(f"{name}: {failure}" if isinstance(failure, Fault) else f"{name}: {type(failure).__name__}: {failure}")
    count = len(options.case or CASES)
    print(f"{count - len(failed)} of {count} cases")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
