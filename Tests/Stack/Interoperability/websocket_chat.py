"""The conversations of `chappie ws` with the servers *_chat: the lines to send, and the judgement about both ends.

Usage: websocket_chat.py input KIND                       prints the lines for the client
       websocket_chat.py check KIND CLIENT_JSON SERVER_OUTPUT

Kinds: `full` has compression, a subprotocol, fragments and pings from both ends, and the server closes; `plain` has no
compression, `binary` has lines of bytes, and in both the client closes. Servers return each message, except for the
commands /fragments TEXT (sends it in several frames), /ping (sends a ping, and a message when its pong has come),
/pings N (sends a message when N pings have come) and /close CODE REASON.
"""

import base64
import hashlib
import json
import pathlib
import random
import sys

LARGE = 1 << 20
FRAGMENTED = "Grøn glas, 🍾 og en seddel: skriv snart igjen."
CLOSE_CODE = 4001
CLOSE_REASON = "flasken er tom 🍾"


def large_text():
    """A text of 1 MiB that compresses well but not to nothing, with scalars of several bytes."""
    words = ["flaske", "grøn", "sjø", "brev", "🍾", "vindu", "solskin", "hav"]
    source = random.Random(25)
    text = bytearray()
    while len(text) < LARGE:
        text += source.choice(words).encode() + b" "
    text = text[:LARGE].decode(errors="ignore")
    return text + "." * (LARGE - len(text.encode()))


def large_bytes():
    """1 MiB of every byte except for the line feed."""
    return random.Random(25).randbytes(LARGE).replace(b"\n", b"\r")


TEXTS = ["Tell me about the bottle.", "", "Blåbær, 日本語, 🍾 \u0000\u007f", large_text()]
BYTES = [b"\x00\xff\xfe\x80", b"", b"/close 4001 no command", large_bytes()]
COMMANDS = [f"/fragments {FRAGMENTED}", "/ping", "/pings 3", f"/close {CLOSE_CODE} {CLOSE_REASON}"]
CONVERSATIONS = {
    # Kind: what is sent, what comes back.
    "full": (TEXTS + COMMANDS, TEXTS + [FRAGMENTED, "pong received", "pings received"]),
    "plain": (TEXTS, TEXTS),
    "binary": (BYTES, BYTES),
}


def content(message):
    """The bytes of a message."""
    return message.encode() if isinstance(message, str) else message


def expect(name, actual, wanted):
    """Ends the program when two values differ; large ones are shortened."""
    if actual != wanted:
        sys.exit(f"{name}: {repr(actual)[:200]}, wanted: {repr(wanted)[:200]}")


def check_client(kind, lines):
    """Judges the output of the client."""
    received = CONVERSATIONS[kind][1]
    by_type = {}
    for line in lines:
        by_type.setdefault(line["type"], []).append(line)
    opened = by_type["open"][0]
    expect("compressed", opened["compressed"], kind != "plain")
    expect("subprotocol", opened.get("subprotocol"), "bottle.v2" if kind == "full" else None)
    if kind == "binary":
        expect("received", [base64.b64decode(line["base64"]) for line in by_type["binary"]], received)
        expect("texts", by_type.get("text"), None)
    else:
        expect("received", [line["text"] for line in by_type["text"]], received)
        expect("binaries", by_type.get("binary"), None)
    close = [{name: line.get(name) for name in ("code", "reason", "initiator")} for line in by_type["close"]]
    if kind == "full":
        expect("close", close, [{"code": CLOSE_CODE, "reason": CLOSE_REASON, "initiator": "server"}])
    else:
        expect("close", close, [{"code": 1000, "reason": None, "initiator": "client"}])
    errors = [(line["tag"], line["retryable"]) for line in by_type.get("error", [])]
    expect("errors", errors, [(f"ws.close.{CLOSE_CODE}", True)] if kind == "full" else [])
    pongs = [line["duration"] for line in by_type.get("pong", [])]
    if kind == "full" and not (len(pongs) >= 2 and all(0 < pong < 10 for pong in pongs)):
        sys.exit(f"pongs: {pongs}")


def check_server(kind, facts):
    """Judges the facts that the server has printed."""
    sent = [content(message) for message in CONVERSATIONS[kind][0]]
    name = "binary" if kind == "binary" else "text"
    wanted = [[name, len(data), hashlib.sha256(data).hexdigest()] for data in sent]
    expect("messages at the server", facts["messages"], wanted)
    expect("subprotocol at the server", facts["subprotocol"], "bottle.v2" if kind == "full" else None)
    expect("extension", "permessage-deflate" in (facts["extensions"] or ""), kind != "plain")
    expect("close at the server", facts["close"], CLOSE_CODE if kind == "full" else 1000)
    expect("pings at the server", facts["pings"] >= 3, kind == "full")
    wire = facts.get("wireByteCount")
    size = sum(len(data) for data in sent)
    if wire is not None and kind != "binary":
        expect("messages compressed on the wire", wire < size / 2, kind != "plain")


def main():
    """Prints lines, or judges."""
    action, kind = sys.argv[1:3]
    if action == "input":
        for message in CONVERSATIONS[kind][0]:
            sys.stdout.buffer.write(content(message) + b"\n")
        return
    lines = [json.loads(line) for line in pathlib.Path(sys.argv[3]).read_text(encoding="utf-8").splitlines()]
    facts = json.loads(pathlib.Path(sys.argv[4]).read_text(encoding="utf-8").splitlines()[-1])
    check_client(kind, lines)
    check_server(kind, facts)
    sizes = [message[1] for message in facts["messages"]]
    told = f"{len(sizes)} messages, {sum(sizes)} bytes, {facts['pings']} pings, closed {facts['close']}"
    print(f"{facts['server']}: {told}")


main()
