"""Servers and middle boxes that misbehave in one way each, for the cases that no program of others plants."""

import base64
import hashlib
import queue
import socket
import struct
import threading
import time

LIMIT = 30  # seconds after which a connection is given up
HEAD_LIMIT = 64 << 10


def read_head(connection):
    """Returns the head of a message and the bytes after it; (b"", b"") when the connection ends first."""
    data = b""
    while b"\r\n\r\n" not in data and len(data) < HEAD_LIMIT:
        part = connection.recv(65536)
        if not part:
            return b"", b""
        data += part
    head, _, rest = data.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def field(head, name):
    """Returns the value of a field; "" without it."""
    for line in head.decode("latin-1").split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name.lower():
            return value.strip()
    return ""


def without(head, *names):
    """Returns the head without some fields."""
    lines = head.split(b"\r\n")
    kept = [line for line in lines if line.partition(b":")[0].lower() not in {name.encode() for name in names}]
    return b"\r\n".join(kept)


def is_upgrade(head):
    return field(head, "upgrade").lower() == "websocket"


def answer(status, body, kind="application/json", fields=()):
    """Returns a complete HTTP answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def established(head, *fields):
    """Returns the answer 101 to an opening handshake (RFC 6455 section 4.2.2)."""
    key = field(head, "sec-websocket-key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
             f"Sec-WebSocket-Accept: {accept}", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Listener:
    """Serves each connection in a thread of its own, until it is closed."""

    def __init__(self, serve, address="127.0.0.1", port=0):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((address, port))
        self.socket.listen(64)
        self.port = self.socket.getsockname()[1]
        self.serve = serve
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            connection.settimeout(LIMIT)
            threading.Thread(target=self.handle, args=(connection,), daemon=True).start()

    def handle(self, connection):
        try:
            with connection:
                self.serve(connection)
        except OSError:
            pass

    def close(self):
        self.socket.close()


class BlackHole:
    """A port whose queue of connections is full, so that the system drops every further one without an answer."""

    def __init__(self, address="127.0.0.1", port=0):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.bind((address, port))
        self.socket.listen(0)
        self.port = self.socket.getsockname()[1]
        self.waiting = []
        for _ in range(64):
            probe = socket.socket(family, socket.SOCK_STREAM)
            probe.settimeout(0.3)
            self.waiting.append(probe)
            try:
                probe.connect((address, self.port))
            except TimeoutError:
                return
        raise OSError("the queue of connections was never full")

    def close(self):
        for one in [self.socket, *self.waiting]:
            one.close()


# MARK: Servers

def silent(connection):
    """Reads, and never answers."""
    while connection.recv(65536):
        pass


def banner(connection):
    """Speaks another protocol, whatever it is asked."""
    connection.recv(65536)
    connection.sendall(b"220 mail.test ESMTP ready\r\n" * 8)


def greeting(connection):
    """Speaks first, and then waits."""
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    silent(connection)


def alerting(code):
    """Returns a server that answers everything with a fatal alert of TLS (RFC 8446 section 6)."""
    def serve(connection):
        connection.recv(65536)
        connection.sendall(bytes([0x15, 3, 3, 0, 2, 2, code]))
        silent(connection)
    return serve


def static(text):
    """Returns a server that gives the same answer to every request."""
    def serve(connection):
        while read_head(connection)[0]:
            connection.sendall(text)
    return serve


def api(upgrade=None, date=None, kind="application/json"):
    """Returns an API with a list of models; `upgrade` takes the connection and the head of an upgrade."""
    fields = [f"Date: {time.strftime('%a, %d %b %Y %H:%M:%S GMT', time.gmtime(time.time() + date))}"] if date else []

    def serve(connection):
        while head := read_head(connection)[0]:
            if upgrade and is_upgrade(head):
                upgrade(connection, head)
                return
            connection.sendall(answer("200 OK", '{"object":"list","data":[]}', kind, fields))
    return serve


def holding(connection):
    """Answers the head of every request, and holds the body back."""
    while read_head(connection)[0]:
        connection.sendall(answer("200 OK", '{"object":"list","data":[]}')[:-10])


def close_frame(code):
    return b"\x88\x02" + struct.pack("!H", code)


def refused(status, body="{}", kind="application/json", fields=()):
    """Returns an upgrade that is refused."""
    return lambda connection, head: connection.sendall(answer(status, body, kind, fields))


def closed_early(code):
    """Returns an upgrade after which the WebSocket is closed at once."""
    def upgrade(connection, head):
        connection.sendall(established(head) + close_frame(code))
        silent(connection)
    return upgrade


def closed_late(code, seconds):
    """Returns an upgrade after which the WebSocket answers nothing, and is closed after so many seconds."""
    def upgrade(connection, head):
        connection.sendall(established(head))
        time.sleep(seconds)
        connection.sendall(close_frame(code))
        silent(connection)
    return upgrade


def deaf(connection, head):
    """Establishes the WebSocket, and answers nothing on it."""
    connection.sendall(established(head))
    silent(connection)


def ponging(connection):
    """Answers the pings of a client, which are masked and short (RFC 6455 sections 5.3 and 5.5)."""
    data = b""
    while part := connection.recv(65536):
        data += part
        while len(data) >= 6 and len(data) >= 6 + (data[1] & 0x7F):
            length = data[1] & 0x7F
            payload = bytes(byte ^ data[2 + index % 4] for index, byte in enumerate(data[6:6 + length]))
            if data[0] & 0x0F == 9:
                connection.sendall(bytes([0x8A, length]) + payload)
            data = data[6 + length:]


def answering(connection, head):
    """Establishes a WebSocket that answers pings."""
    connection.sendall(established(head))
    ponging(connection)


def altered(connection, head):
    """Answers 101 with the value of another key."""
    other = head.replace(field(head, "sec-websocket-key").encode(), b"AAAAAAAAAAAAAAAAAAAAAA==")
    connection.sendall(established(other))
    silent(connection)


def unanswered(connection, head):
    silent(connection)


def cut(connection, head):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


# MARK: Middle boxes

def pump(source, target, change):
    """Passes bytes on until their end; `change` returns what is sent in place of them, or None for a cut."""
    try:
        while data := source.recv(65536):
            data = change(data)
            if data is None:
                break
            target.sendall(data)
        else:
            target.shutdown(socket.SHUT_WR)
            return
    except OSError:
        pass
    for one in (source, target):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def same(data):
    return data


def middle(port, request=same, response=same, filters=lambda request, response: (same, same), refusal=None,
           address="127.0.0.1"):
    """Returns a middle box in front of a server without TLS.

    `request` and `response` change heads; `filters` returns what changes the bytes after them, to the server and to
    the client. `refusal` returns an answer in the server's place, or None.
    """
    def serve(connection):
        head, rest = read_head(connection)
        if not head:
            return
        text = refusal(head) if refusal else None
        if text:
            connection.sendall(text)
            return
        with socket.create_connection((address, port), LIMIT) as onward:
            onward.sendall(request(head) + rest)
            reply, after = read_head(onward)
            to_server, to_client = filters(head, reply)
            first = to_client(after) if after else b""
            connection.sendall(response(reply) + (first or b""))
            thread = threading.Thread(target=pump, args=(connection, onward, to_server), daemon=True)
            thread.start()
            pump(onward, connection, to_client if first is not None else lambda data: None)
            thread.join(LIMIT)
    return serve


def is_compressed(reply):
    return "permessage-deflate" in field(reply, "sec-websocket-extensions")


def cut_compressed(request, reply):
    """Cuts a WebSocket as soon as a message to the client is marked as compressed (RFC 7692 section 6)."""
    if not is_compressed(reply):
        return same, same
    return same, lambda data: None if data[0] & 0x40 else data


def clear_compressed(request, reply):
    """Clears that mark."""
    if not is_compressed(reply):
        return same, same
    return same, lambda data: bytes([data[0] & ~0x40]) + data[1:]


def without_extension(head):
    """Returns the answer without the agreement on compression, which the server keeps to."""
    return without(head, "sec-websocket-extensions")


def past_events(after, change):
    """Returns filters that pass so many bytes of an event stream on, and what `change` makes of the others."""
    def filters(request, reply):
        if "event-stream" not in field(reply, "content-type"):
            return same, same
        count = 0

        def counted(data):
            nonlocal count
            count += len(data)
            return change(data) if count > after else data
        return same, counted
    return filters


def cut_events(after):
    """Returns filters that cut an event stream after so many bytes."""
    return past_events(after, lambda data: None)


def stall_events(after):
    """Returns filters that pass so many bytes of an event stream on, and no more, without an end."""
    def stall(data):
        time.sleep(LIMIT)
        return data
    return past_events(after, stall)



def flooding(port):
    """Returns a middle box that answers the request for an event stream with one that has no end."""
    onward = middle(port)

    def serve(connection):
        if b"/probe/events" not in connection.recv(4096, socket.MSG_PEEK).split(b"\r\n")[0]:
            return onward(connection)
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while True:
            connection.sendall(b"data: x\n\n" * 1_000)
    return serve


def delayed(port, seconds, stall=None, address="127.0.0.1"):
    """Returns a path that takes so many seconds in each direction.

    With `stall`, a pair of a count and seconds, every so many pieces to the client wait for so much longer, and all
    behind them with them. That is all that a program sees of lost packets: TCP sends them again, in their order.
    """
    def carry(source, target, stall=None):
        line = queue.Queue()

        def read():
            try:
                while data := source.recv(65536):
                    line.put((time.monotonic() + seconds, data))
            except OSError:
                pass
            line.put((time.monotonic() + seconds, b""))
        threading.Thread(target=read, daemon=True).start()
        count = 0
        try:
            while True:
                due, data = line.get()
                # What has waited behind a piece comes with it.
                if due > time.monotonic():
                    count += 1
                    if stall and count % stall[0] == 0:
                        due += stall[1]
                time.sleep(max(0, due - time.monotonic()))
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
        except OSError:
            pass

    def serve(connection):
        with socket.create_connection((address, port), LIMIT) as onward:
            thread = threading.Thread(target=carry, args=(connection, onward), daemon=True)
            thread.start()
            carry(onward, connection, stall)
            thread.join(LIMIT)
    return serve


# MARK: The resolver

A, AAAA = 1, 28


class Resolver:
    """A name server (RFC 1035) with one zone, whose names say what becomes of a question."""

    ADDRESSES = {
        "both": ("127.0.0.1", "::1"), "only4": ("127.0.0.1", None), "only6": (None, "::1"),
        "mute6": ("127.0.0.1", "mute"), "mute4": ("mute", "::1"), "mute": ("mute", "mute"),
        "fails6": ("127.0.0.1", "fails"), "fails": ("fails", "fails"), "blocked": ("0.0.0.0", "::"),
        "no-route": ("203.0.113.7", None),
    }
    ZONE = "doctor.test"

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                question, client = self.socket.recvfrom(4096)
                text = self.reply(question)
                if text:
                    self.socket.sendto(text, client)
            except (OSError, IndexError, struct.error):
                if self.socket.fileno() < 0:
                    return

    def reply(self, question):
        labels, at = [], 12
        while length := question[at]:
            labels.append(question[at + 1:at + 1 + length].decode("latin-1").lower())
            at += 1 + length
        kind = struct.unpack("!H", question[at + 1:at + 3])[0]
        section = question[12:at + 5]
        known = self.ADDRESSES.get(labels[0]) if ".".join(labels[1:]) == self.ZONE else None
        value = (known[0] if kind == A else known[1] if kind == AAAA else None) if known else None
        if value == "mute":
            return None
        code = 3 if known is None else 2 if value == "fails" else 0
        records = b""
        if value and code == 0:
            data = socket.inet_pton(socket.AF_INET if kind == A else socket.AF_INET6, value)
            records = b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(data)) + data
        return question[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, 1 if records else 0, 0, 0) + section + records

    def close(self):
        self.socket.close()
