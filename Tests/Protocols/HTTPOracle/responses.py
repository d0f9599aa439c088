"""Responses to read: a corpus, and random ones from a grammar with mistakes in it."""

import collections

Exchange = collections.namedtuple("Exchange", "method upgrade data")

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

_TEXTS = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: x\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello", b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 05\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\nhello", b"HTTP/1.1 200 OK\r\nContent-Length:\r\n 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999999999999\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"HTTP/1.0 200 OK\nA: b\n\nuntil the end", b"HTTP/1.1 200\r\n\r\n",
    b"HTTP/1.1 200 \r\n\r\n", b"HTTP/1.1 200 \xc5\xbe\xff\r\n\r\n", b"HTTP/1.1 200 a\x01b\r\n\r\n",
    b"HTTP/1.1 099 x\r\n\r\n", b"HTTP/1.1 1000 x\r\n\r\n", b"HTTP/1.1 999 x\r\n\r\n", b"HTTP/1.1 20 x\r\n\r\n",
    b"HTTP/2.0 200 OK\r\n\r\n", b"HTTP/0.9 200 OK\r\n\r\n", b"HTTP/1.9 200 OK\r\n\r\n", b"HTTP/1.1  200 OK\r\n\r\n",
    b"http/1.1 200 OK\r\n\r\n", b"SSH-2.0-OpenSSH_9.6\r\n", b"\x15\x03\x01\x00\x02\x02\x28", b"<!doctype html>\n\n", b"",
    b"\r\nHTTP/1.1 200 OK\r\n\r\n", b"\r\n\r\n\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 100 x\r\n\r\nHTTP/1.1 102 x\r\n\r\nHTTP/1.1 103 x\r\nLink: a\r\n\r\nHTTP/1.1 204 x\r\n\r\nrest",
    b"HTTP/1.1 100 x\r\nContent-Length: x\r\n\r\nHTTP/1.1 204 x\r\n\r\n", b"HTTP/1.1 101 x\r\nA: b\r\n\r\n\x81\x00",
    b"HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\nhello", b"HTTP/1.1 304 x\r\nTransfer-Encoding: chunked\r\n\r\nhello",
    b"HTTP/1.1 204 x\r\nContent-Length: x\r\n\r\n", b"HTTP/1.1 304 x\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"HTTP/1.1 200 x\r\nContent-Length: 5\r\n\r\n\x16\x03\x01", b"HTTP/1.1 200 x\r\nContent-Length: x\r\n\r\n\x16\x03",
    b"HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno", b"HTTP/1.1 304 x\r\nX: a\r\n \r\n\tb \r\n\r\nrest",
    b"HTTP/1.1 304 x\r\nX: a \t\r\n b\r\n\r\n", b"HTTP/1.1 304 x\r\n X: a\r\n\r\n", b"HTTP/1.1 304 x\r\nA : b\r\n\r\n",
    b"HTTP/1.1 304 x\r\n: b\r\n\r\n", b"HTTP/1.1 304 x\r\nno field\r\n\r\n", b"HTTP/1.1 304 x\r\nA: b\rc\r\n\r\n",
    b"HTTP/1.1 304 x\r\nA: b\x00c\r\n\r\n", b"HTTP/1.1 304 x\r\nA: b\x1bc\r\n\r\n", b"HTTP/1.1 304 x\r\nA: \xff\xfe\r\n\r\n",
    b"HTTP/1.1 304 x\r\nA:b\nB:\tc\t\n\n", b"HTTP/1.1 304 x\r\nA: b\r\r\n\r\n",
    b"HTTP/1.1 200 x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.1 200 x\r\nContent-Length: 5, 6\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.0 200 x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.1 200 x\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.1 200 x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.1 200 x\r\nTransfer-Encoding: identity\r\n\r\nok", b"HTTP/1.1 200 x\r\nTransfer-Encoding:\r\n\r\nok",
    b"HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 x\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
] + [CHUNKED + body for body in [
    b"5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n", b"0\r\n\r\n", b"1A\r\nabcdefghijklmnopqrstuvwxyz\r\n000\r\n\r\nrest",
    b"5;a=b\r\nhello\r\n0;c=\"d\"\r\n\r\n", b"5 ;a\r\nhello\r\n0\r\n\r\n", b"5  \r\nhello\r\n0 \r\n\r\n",
    b"5;a\x01\r\nhello\r\n0\r\n\r\n", b"5;a=\"\r\nhello\r\n0\r\n\r\n", b"5\nhello\r\n0\r\n\r\n", b"5\r\nhello\n0\r\n\r\n",
    b"5\r\nhelloXX0\r\n\r\n", b"5\r\nhello", b"5\r\nhello\r\n", b"5\r\nhello\r\n0\r\n", b"xyz\r\n", b"\r\n", b" 5\r\nhello\r\n",
    b"100000005\r\nhello", b"7fffffffffffffff\r\nhello", b"8000000000000000\r\nhello", b"FFFFFFFFFFFFFFFFF\r\nhello",
    b"00000000000000000000\r\n\r\n", b"000000000000000000005\r\nhello\r\n0\r\n\r\n", b"-5\r\nhello\r\n0\r\n\r\n",
    b"5\r\nhello\r\n0\r\nA: b\r\n\r\n", b"2\r\nok\r\n0\r\nA: b\r\n c\n\r\nrest", b"2\r\nok\r\n0\r\nno field\r\n\r\n",
    b"2\r\nok\r\n0\r\n\n", b"2\r\nok\r\n0\r\nContent-Length: x\r\n\r\n", b"2\r\nok\r\n0\r\n A: b\r\n\r\n",
]]


def corpus():
    """Every text as the answer to every kind of request."""
    kinds = [("GET", False), ("GET", True), ("POST", False), ("CONNECT", False)]
    return [Exchange(method, upgrade, text) for text in _TEXTS for method, upgrade in kinds]


def pick(random, usual, odd, chance=0.04):
    return random.choice(odd) if random.random() < chance else random.choice(usual)


def line_end(random):
    return pick(random, [b"\r\n"], [b"\n", b"\r\r\n", b"\n\r\n", b""], 0.03)


def field(random):
    framing = [b"Content-Length: 5", b"Transfer-Encoding: chunked", b"Content-Length: 5, 5", b"Content-Length: 6",
               b"transfer-encoding: CHUNKED", b"Transfer-Encoding: gzip, chunked", b"Content-Length: 00", b"Content-Length: "]
    plain = [b"A: b", b"Server:  x y \t", b"X-Y:\tz", b"Empty:", b"U: \xc5\xbelu\xff", b"Set-Cookie: a=b; c", b"X: a, b"]
    odd = [b"A : b", b": c", b"D", b"E: \x00", b"F: \x01g", b"H: i\rj", b" K: l", b"M\xff: n", b"\tO", b"(P): q", b"R: s\x7f"]
    line = pick(random, plain, framing, 0.2) if random.random() > 0.03 else random.choice(odd)
    while random.random() < 0.06:
        line += random.choice([b"\r\n ", b"\n\t", b" \r\n  ", b"\r\n\t\r\n "]) + random.choice([b"", b"c", b"d: e", b"5"])
    return line + line_end(random)


def head(random, status):
    version = pick(random, [b"HTTP/1.1"] * 5 + [b"HTTP/1.0"], [b"HTTP/1.2", b"HTTP/2.0", b"HTTP/1.x", b"HTTP/11", b"HTP/1.1"], 0.02)
    reason = pick(random, [b" OK", b"", b" ", b" No\tSuch \xe9"], [b"\tOK", b" \x02", b"OK", b" a\rb"], 0.02)
    return version + b" " + status + reason + line_end(random)


def chunk(random):
    size = random.choice([1, 2, 5, 9, 15, 16, 17, 26, 255, 256, 300])
    data = bytes(random.choice(b"ab\r\n\x000;") for _ in range(size))
    digits = (b"%x" if random.random() < 0.5 else b"%X") % size
    digits = random.choice([b"", b"", b"0", b"000"]) + digits
    line = digits + pick(random, [b""] * 6 + [b";a=b", b" ;a", b";a=\"b;c\"", b" "],
                         [b";\x01", b";a=\"", b"g", b" 1", b"\x00", b"00000000000000000000000"], 0.03)
    return line + pick(random, [b"\r\n"], [b"\n", b"\r", b""], 0.02) + data + pick(random, [b"\r\n"], [b"\n", b"XX", b""], 0.02)


def body(random):
    kind = random.random()
    if kind < 0.3:
        return random.choice([b"", b"hello", b"hell", b"helloHTTP/1.1 200 OK\r\n\r\n", b"\r\n\r\n"])
    text = b"".join(chunk(random) for _ in range(random.randrange(5)))
    if random.random() < 0.85:
        text += pick(random, [b"0", b"000", b"0;a"], [b"0000000000000000000000", b"-0", b""], 0.03) + b"\r\n"
        while random.random() < 0.3:
            text += random.choice([b"A: b\r\n", b"T: u\n", b" c\r\n", b"no\r\n", b"\x00\r\n"])
        text += pick(random, [b"\r\n"], [b"\n", b"", b"\r"], 0.05)
    return text + random.choice([b"", b"", b"rest"])


def response(random):
    """A random exchange."""
    data = random.choice([b"", b"", b"", b"", b"", b"\r\n"]) if random.random() < 0.2 else b""
    while random.random() < 0.1:
        data += head(random, random.choice([b"100", b"102", b"103", b"199"]))
        data += b"".join(field(random) for _ in range(random.randrange(2))) + line_end(random)
    data += head(random, pick(random, [b"200"] * 6 + [b"204", b"304", b"404", b"101"], [b"099", b"20", b"2000", b"+20"], 0.02))
    lines = [field(random) for _ in range(random.randrange(4))]
    if random.random() < 0.5:
        lines.insert(random.randrange(len(lines) + 1), random.choice([b"Transfer-Encoding: chunked\r\n"] * 3 + [b"Content-Length: 5\r\n"]))
    data += b"".join(lines) + line_end(random) + body(random)
    if random.random() < 0.2 and data:
        changed = bytearray(data)
        for _ in range(random.randrange(1, 4)):
            place = random.randrange(len(changed) + 1)
            changed[place:place + random.randrange(2)] = random.choice(
                [b"", b"\r\n", b"\n", b" ", b"\t", b"0", bytes([random.randrange(256)])])
        data = bytes(changed)
    if random.random() < 0.1:
        data = data[:random.randrange(len(data) + 1)]
    method, upgrade = random.choice([("GET", False), ("GET", True), ("POST", False), ("CONNECT", False)])
    return Exchange(method, upgrade, data)
