"""A server on loopback that says what a script tells it to, over HTTP event streams and WebSockets.

It is made of raw sockets, with its own framing (RFC 6455), and knows no rule of the protocol: every lie is in the
script. It records what it sent, for each request, which is what the oracle judges by.

A script is an object:
  "answers": [{"for": "create"|"resume", "round"?: n, "after"?: true, "chunk"?: bytes, "steps": [...]}, …]
Each request takes the first answer for its kind and round that was not used yet; the last one is used again.
With "after", events whose number is not above the request's starting_after are left out. Steps:
  {"event": object, "late"?: true, "kept"?: true}
                                     an event; late marks one of an earlier response, for the oracle alone; with kept
                                     it comes only on a WebSocket that has carried a response before
  {"raw": text}                      any data in the place of an event; both with "unfinished" lack their empty line
  {"bytes": text}                    bytes of the HTTP body as they are; nothing on a WebSocket
  {"ping": text}                     a ping, or a comment
  {"wait": seconds}
  {"cut": "end"|"reset"|"close", "code"?: n, "partial"?: event, "share"?: x}   ends the connection, maybe inside an
                                     event, of which that share is sent
  {"status": n, "body": text}        in the place of an answer (HTTP), or of the upgrade ("upgrade": n in the script)
"""

import base64
import hashlib
import json
import socket
import struct
import threading
import time
import urllib.parse

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Closed(Exception):
    pass


class Reader:
    def __init__(self, connection):
        self.connection, self.buffer = connection, b""

    def more(self):
        data = self.connection.recv(65536)
        if not data:
            raise Closed
        self.buffer += data

    def until(self, mark):
        while mark not in self.buffer:
            self.more()
        head, self.buffer = self.buffer.split(mark, 1)
        return head

    def exactly(self, count):
        while len(self.buffer) < count:
            self.more()
        head, self.buffer = self.buffer[:count], self.buffer[count:]
        return head


def text_of(event):
    text = json.dumps(event, ensure_ascii=False)
    try:
        text.encode()
        return text
    except UnicodeEncodeError:   # half of a surrogate pair
        return json.dumps(event)


def stream_event(step):
    """The bytes of an event or of other data in an event stream."""
    text = text_of(step["event"]) if "event" in step else step["raw"]
    name = step["event"].get("type") if "event" in step else None
    lines = ([f"event: {name}"] if name else []) + ["data: " + line for line in text.split("\n")]
    return ("\n".join(lines) + ("" if step.get("unfinished") else "\n\n")).encode()


def beginning(data, step):
    """The part of an event that a cut lets through: never all of it."""
    return data[:min(max(1, int(len(data) * step.get("share", 2 / 3))), len(data) - 1)]


def frame(opcode, payload, final=True):
    head = bytes([(0x80 if final else 0) | opcode])
    if len(payload) < 126:
        return head + bytes([len(payload)]) + payload
    if len(payload) < 65536:
        return head + b"\x7e" + struct.pack(">H", len(payload)) + payload
    return head + b"\x7f" + struct.pack(">Q", len(payload)) + payload


class LyingServer:
    """One script, one port. `exchanges` is the record for the oracle."""

    def __init__(self, script):
        self.script = script
        self.exchanges = []
        self.used = set()
        self.lock = threading.Lock()
        self.connections = 0
        self.open = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        with self.lock:
            connections = list(self.open)
        for connection in [self.listener, *connections]:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(30)
            with self.lock:
                self.connections += 1
                number = self.connections
                self.open.append(connection)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection, number):
        reader = Reader(connection)
        try:
            while True:
                head = reader.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
                method, target, _ = head[0].split(" ", 2)
                fields = {}
                for line in head[1:]:
                    name, _, value = line.partition(":")
                    fields[name.strip().lower()] = value.strip()
                if fields.get("upgrade", "").lower() == "websocket":
                    self._serve_websocket(connection, number, reader, fields)
                    return
                body = reader.exactly(int(fields.get("content-length", 0)))
                self._answer_http(connection, number, method, target, body)
        except (Closed, OSError, ValueError):
            pass
        finally:
            connection.close()

    # Which answer

    def _request(self, body):
        try:
            value = json.loads(body or b"{}")
        except ValueError:
            value = {}
        if "messages" in value:   # in the other dialects
            return {"kind": "create"}, sum(self._has_calls(message) for message in value["messages"])
        rounds = [0]
        for item in value.get("input", []) if isinstance(value.get("input"), list) else []:
            if isinstance(item, dict) and item.get("type") == "function_call_output":
                call = str(item.get("call_id", ""))
                rounds.append(int(call.split("_")[1]) + 1 if call.count("_") >= 2 else 1)
        return {"kind": "create"}, max(rounds)

    @staticmethod
    def _has_calls(message):
        content = message.get("content") if isinstance(message.get("content"), list) else []
        return bool(message.get("tool_calls")) or any(part.get("type") == "tool_use" for part in content)

    def _take(self, request, round_number, connection):
        with self.lock:
            fitting = [(i, a) for i, a in enumerate(self.script["answers"])
                       if a["for"] == request["kind"] and a.get("round", 0) in (round_number, "any")]
            unused = [(i, a) for i, a in fitting if i not in self.used]
            index, answer = (unused or fitting[-1:] or [(None, None)])[0]
            self.used.add(index)
            exchange = {"number": len(self.exchanges), "connection": connection, "round": round_number,
                        "request": request, "answer": index, "sent": []}
            self.exchanges.append(exchange)
            return answer, exchange

    @staticmethod
    def _steps(answer, request):
        for step in answer["steps"]:
            event = step.get("event")
            if answer.get("after") and isinstance(event, dict) and isinstance(event.get("sequence_number"), int) \
                    and event["sequence_number"] <= request.get("starting_after", -1):
                continue
            yield step

    # HTTP

    def _answer_http(self, connection, number, method, target, body):
        parts = urllib.parse.urlsplit(target)
        if method == "GET":
            query = urllib.parse.parse_qs(parts.query)
            request = {"kind": "resume", "id": urllib.parse.unquote(parts.path.rsplit("/", 1)[-1])}
            if "starting_after" in query:
                request["starting_after"] = int(query["starting_after"][0])
            round_number = 0
        else:
            request, round_number = self._request(body)
        answer, exchange = self._take(request, round_number, number)
        exchange["transport"] = "http"
        if self.script["client"].get("dialect", "responses") != "responses":
            exchange["dialect"] = self.script["client"]["dialect"]
        if answer is None:
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}")
            return
        size = answer.get("chunk", 0)

        def send(data):
            pieces = [data[i:i + size] for i in range(0, len(data), size)] if size else [data]
            for piece in pieces:
                connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))

        begun = False
        for step in self._steps(answer, request):
            if step.get("kept"):
                continue
            if "status" in step and not begun:
                text = step.get("body", "{}").encode()
                exchange["status"] = step["status"]
                connection.sendall(b"HTTP/1.1 %d Error\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                                   % (step["status"], len(text)) + text)
                return
            if not begun:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                   b"Transfer-Encoding: chunked\r\n\r\n")
                begun = True
            if "event" in step or "raw" in step:
                exchange["sent"].append({k: step[k] for k in ("event", "raw", "late") if k in step})
                send(stream_event(step))
            elif "bytes" in step:
                send(step["bytes"].encode())
            elif "ping" in step:
                send(b": ping\n\n")
            elif "wait" in step:
                time.sleep(step["wait"])
            elif "cut" in step:
                if "partial" in step:
                    send(beginning(stream_event({"event": step["partial"]}), step))
                self._cut(connection, step["cut"])
        exchange["whole"] = True
        connection.sendall(b"0\r\n\r\n")

    @staticmethod
    def _cut(connection, how):
        if how == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            connection.shutdown(socket.SHUT_WR)
            time.sleep(0.02)
        raise Closed

    # WebSocket

    def _serve_websocket(self, connection, number, reader, fields):
        refused = self.script.get("upgrade")
        if refused:
            connection.sendall(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % refused)
            return
        accept = base64.b64encode(hashlib.sha1(fields["sec-websocket-key"].encode() + GUID).digest())
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        earlier = set()
        message = b""
        while True:
            first, second = reader.exactly(2)
            length = second & 0x7F
            if length == 126:
                length = struct.unpack(">H", reader.exactly(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", reader.exactly(8))[0]
            mask = reader.exactly(4) if second & 0x80 else bytes(4)
            data = reader.exactly(length)
            payload = (int.from_bytes(data, "little")
                       ^ int.from_bytes((mask * (length // 4 + 1))[:length], "little")).to_bytes(length, "little")
            opcode = first & 0x0F
            if opcode == 8:
                connection.sendall(frame(8, payload[:2]))
                raise Closed
            if opcode == 9:
                connection.sendall(frame(10, payload))
            if opcode in (0, 1, 2):
                message += payload
                if first & 0x80:
                    self._answer_message(connection, number, message, earlier)
                    message = b""

    def _answer_message(self, connection, number, message, earlier):
        request, round_number = self._request(message)
        answer, exchange = self._take(request, round_number, number)
        exchange["transport"] = "websocket"
        exchange["earlier"] = sorted(earlier)
        if answer is None:
            raise Closed
        size = answer.get("chunk", 0)
        for step in self._steps(answer, request):
            if step.get("kept") and not exchange["earlier"]:
                continue
            if "event" in step or "raw" in step:
                text = text_of(step["event"]) if "event" in step else step["raw"]
                exchange["sent"].append({k: step[k] for k in ("event", "raw", "late") if k in step})
                if "event" in step and not step.get("late"):
                    earlier.update(self._identifiers(step["event"]))
                data = text.encode()
                pieces = [data[i:i + size] for i in range(0, len(data), size)] if size else [data]
                for index, piece in enumerate(pieces or [b""]):
                    connection.sendall(frame(1 if index == 0 else 0, piece, index == len(pieces) - 1))
            elif "ping" in step:
                connection.sendall(frame(9, step["ping"].encode()[:125]))
            elif "wait" in step:
                time.sleep(step["wait"])
            elif "status" in step:
                error = {"type": "error", "status": step["status"], "error": {"code": "server_error", "message": "no"}}
                exchange["sent"].append({"event": error})
                connection.sendall(frame(1, json.dumps(error).encode()))
                return
            elif "cut" in step:
                if "partial" in step:
                    connection.sendall(beginning(frame(1, json.dumps(step["partial"]).encode()), step))
                if step["cut"] == "close":
                    connection.sendall(frame(8, struct.pack(">H", step.get("code", 1011))))
                self._cut(connection, step["cut"])

    @staticmethod
    def _identifiers(event):
        found = {event[name] for name in ("response_id", "item_id") if isinstance(event.get(name), str)}
        for name in ("response", "item"):
            if isinstance(event.get(name), dict) and isinstance(event[name].get("id"), str):
                found.add(event[name]["id"])
        return found
