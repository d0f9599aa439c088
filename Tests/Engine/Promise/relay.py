"""Stands between a client and any server, passes every byte on, and records the events for the oracle.

It reads what goes by without TLS: requests and event streams of HTTP/1.1, and the messages of WebSockets, compressed or
not. What it cannot read is passed on all the same and is no event.
"""

import json
import re
import socket
import struct
import threading
import urllib.parse
import zlib


STREAM = "text/event-stream"
BOM = b"\xef\xbb\xbf"
DIALECTS = {"/responses": "responses", "/chat/completions": "chat", "/messages": "messages"}


class EventStream:
    """The data of events, from the body of an answer (WHATWG HTML section 9.2)."""

    def __init__(self, take, coding=None):
        self.take, self.pending, self.data, self.skips, self.beginning = take, b"", [], False, b""
        self.inflate = zlib.decompressobj(47) if coding in ("gzip", "deflate") else None

    def feed(self, body):
        if self.inflate:
            body = self.inflate.decompress(body)
        if self.beginning is not None:   # a byte order mark there is none of the first line
            self.beginning += body
            if len(self.beginning) < len(BOM) and BOM.startswith(self.beginning):
                return
            body, self.beginning = self.beginning.removeprefix(BOM), None
        if self.skips and body:
            body, self.skips = body.removeprefix(b"\n"), False
        self.skips = self.skips or body.endswith(b"\r")   # a line feed may belong to it
        text = (self.pending + body).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, self.pending = text.split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self.data.append(line[5:].removeprefix(b" "))
            elif line == b"data":
                self.data.append(b"")
            elif not line and self.data:
                self.take(b"\n".join(self.data))
                self.data = []


class Messages:
    """The text messages of one direction of a WebSocket (RFC 6455 section 5.2)."""

    def __init__(self, take, extensions=""):
        self.take, self.pending, self.message, self.is_compressed = take, b"", b"", False
        self.begins_anew = "server_no_context_takeover" in extensions
        self.inflate = zlib.decompressobj(-15) if "permessage-deflate" in extensions else None

    def feed(self, data):
        self.pending += data
        while len(self.pending) >= 2:
            first, second = self.pending[:2]
            length, start = second & 0x7F, 2
            if length > 125:
                size = 2 if length == 126 else 8
                if len(self.pending) < 2 + size:
                    return
                length, start = int.from_bytes(self.pending[2:2 + size], "big"), 2 + size
            mask = b""
            if second & 0x80:
                mask, start = self.pending[start:start + 4], start + 4
            if len(self.pending) < start + length:
                return
            payload, self.pending = self.pending[start:start + length], self.pending[start + length:]
            if mask:
                payload = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
            if first & 0x0F in (0, 1):
                if first & 0x0F == 1:
                    self.is_compressed = bool(first & 0x40)
                self.message += payload
                if first & 0x80:
                    self.take(self._whole(self.message))
                    self.message = b""

    def _whole(self, message):
        if not self.is_compressed or not self.inflate:
            return message
        text = self.inflate.decompress(message + b"\x00\x00\xff\xff")   # RFC 7692 section 7.2.2
        if self.begins_anew:
            self.inflate = zlib.decompressobj(-15)
        return text


class Requests:
    """The requests of one connection: heads, and contents of a known length."""

    def __init__(self, take):
        self.take, self.pending = take, b""

    def feed(self, data):
        self.pending += data
        while b"\r\n\r\n" in self.pending:
            head, rest = self.pending.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            length = int(fields_of(lines).get("content-length", 0))
            if len(rest) < length:
                return
            self.pending = rest[length:]
            self.take(lines[0], rest[:length])


class Answers:
    """The answers of one connection; `take` gets the data of events, `upgraded` what follows a 101.

    `ended` is called at the end of a body that has its last chunk or its length.
    """

    def __init__(self, take, upgraded, ended=lambda: None):
        self.take, self.upgraded, self.ended = take, upgraded, ended
        self.pending, self.body, self.rest = b"", None, None

    def feed(self, data):
        self.pending += data
        while self.pending:
            if self.body is None and not self._head() or self.body is not None and not self._content():
                return

    def _head(self):
        end = re.search(rb"\r?\n\r?\n", self.pending)   # a line feed alone ends a line too (RFC 9112 section 2.2)
        if not end:
            return False
        head, self.pending = self.pending[:end.start()], self.pending[end.end():]
        lines = re.split(r"\r?\n", head.decode("latin-1"))
        status, fields = int(lines[0].split(" ")[1]), fields_of(lines)
        if status == 101:
            rest, self.pending = self.pending, b""
            self.upgraded(rest, fields.get("sec-websocket-extensions", ""))
            return False
        if status < 200 or status in (204, 304):
            return True
        is_stream = status == 200 and fields.get("content-type", STREAM).startswith(STREAM)
        self.body = EventStream(self.take, fields.get("content-encoding")) if is_stream else Silence()
        chunked = "chunked" in fields.get("transfer-encoding", "").lower()
        self.rest = "chunks" if chunked else int(fields["content-length"]) if "content-length" in fields else "end"
        return True

    def _content(self):
        if self.rest == "chunks":
            if b"\r\n" not in self.pending:
                return False
            line, rest = self.pending.split(b"\r\n", 1)
            try:
                size = int(line.split(b";")[0] or b"x", 16)
            except ValueError:
                size = -1
            if size < 0:
                self.rest = "end"   # no chunk: the oracle knows what came before
                return False
            if len(rest) < size + 2:
                self._part(rest, size)
                return False
            self.body.feed(self._new(rest[:size]))
            self.pending, self.given = rest[size + 2:], 0
            if size == 0:
                self.body = None
                self.ended()
            return True
        if self.rest == "end":
            self.body.feed(self.pending)
            self.pending = b""
            return False
        part, self.pending = self.pending[:self.rest], self.pending[self.rest:]
        self.body.feed(part)
        self.rest -= len(part)
        if self.rest == 0:
            self.body = None
            self.ended()
        return bool(self.pending)

    # A chunk may be larger than what comes at once: its events are there before its end is.

    given = 0

    def _new(self, chunk):
        return chunk[self.given:]

    def _part(self, rest, size):
        self.body.feed(self._new(rest[:size]))
        self.given = max(self.given, min(size, len(rest)))


def fields_of(lines):
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields[name.strip().lower()] = value.strip()
    return fields


class Relay:
    """Listens in front of the server at a URL. `exchanges` is the record for the oracle."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.target = (parts.hostname, parts.port)
        self.exchanges, self.open = [], []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}{parts.path}"
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        with self.lock:
            sockets = [self.listener, *self.open]
        for one in sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def _accept(self):
        number = 0
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target)
            except OSError:
                return
            number += 1
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.open += [client, server]
            Connection(self, client, server, number).start()


class Connection:
    def __init__(self, relay, client, server, number):
        self.relay, self.client, self.server, self.number = relay, client, server, number
        self.earlier, self.exchange = set(), None
        self.upward = Requests(self._requested)
        self.downward = Answers(self._sent, self._upgraded, self._ended)

    def start(self):
        threading.Thread(target=self._pump, args=(self.client, self.server, "upward"), daemon=True).start()
        threading.Thread(target=self._pump, args=(self.server, self.client, "downward"), daemon=True).start()

    def _pump(self, source, target, direction):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                with self.relay.lock:
                    try:
                        getattr(self, direction).feed(data)
                    except (ValueError, IndexError, zlib.error):
                        setattr(self, direction, Silence())   # not what this reads: no events from here on
                target.sendall(data)
        except OSError:
            # A reset is passed on as one.
            try:
                target.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                target.close()
            except OSError:
                pass

    # What goes by

    def _begin(self, request, transport):
        exchanges = self.relay.exchanges
        self.exchange = {"number": len(exchanges), "connection": self.number, "round": 0, "request": request,
                         "transport": transport, "answer": None, "earlier": sorted(self.earlier), "sent": []}
        exchanges.append(self.exchange)

    def _requested(self, line, body):
        method, target, _ = line.split(" ", 2)
        parts = urllib.parse.urlsplit(target)
        dialect = next((name for path, name in DIALECTS.items() if parts.path.endswith(path)), None)
        if method == "POST" and dialect:
            self._begin({"kind": "create"}, "http")
            if dialect != "responses":
                self.exchange["dialect"] = dialect
        elif method == "GET" and "/responses/" in parts.path:
            request = {"kind": "resume", "id": urllib.parse.unquote(parts.path.rsplit("/", 1)[-1])}
            query = urllib.parse.parse_qs(parts.query)
            if "starting_after" in query:
                request["starting_after"] = int(query["starting_after"][0])
            self._begin(request, "http")

    def _upgraded(self, rest, extensions):
        self.upward = Messages(lambda message: self._begin({"kind": "create"}, "websocket"))
        self.downward = Messages(self._sent, extensions)
        self.downward.feed(rest)

    def _ended(self):
        if self.exchange:
            self.exchange["whole"] = True

    def _sent(self, data):
        if self.exchange is None:
            return
        text = data.decode("utf-8", "replace")
        try:
            event = json.loads(text)
        except ValueError:
            event = None
        self.exchange["sent"].append({"event": event} if isinstance(event, dict) else {"raw": text})
        if isinstance(event, dict) and self.exchange["transport"] == "websocket":
            self.earlier |= identifiers(event)


class Silence:
    def feed(self, data):
        pass


def identifiers(event):
    found = {event[name] for name in ("response_id", "item_id") if isinstance(event.get(name), str)}
    for name in ("response", "item"):
        if isinstance(event.get(name), dict) and isinstance(event[name].get("id"), str):
            found.add(event[name]["id"])
    return found
