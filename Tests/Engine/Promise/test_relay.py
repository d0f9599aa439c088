"""Checks the relay's reading, whole and byte by byte."""

import gzip
import unittest
import zlib

import relay
import server


class RelayTests(unittest.TestCase):
    def read(self, make, data, expected):
        for size in (1, 7, len(data)):
            found = []
            reader = make(found.append)
            for start in range(0, len(data), size):
                reader.feed(data[start:start + size])
            self.assertEqual(found, expected)

    def test_lines_end_in_three_ways(self):
        for end in (b"\n", b"\r\n", b"\r"):
            data = end.join([b": note", b"data: one", b"data:two", b"", b"event: x", b"data: three", b"", b""])
            self.read(relay.EventStream, data, [b"one\ntwo", b"three"])

    def test_contents_of_answers(self):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        body = b"data: one\n\ndata: two\n\n"
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:5], body[5:])) + b"0\r\n\r\n"
        packed = gzip.compress(body)
        for answer in (
            head + b"Content-Length: %d\r\n\r\n" % len(body) + body,
            head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks,
            head + b"\r\n" + body,
            head.replace(b"\r\n", b"\n") + b"\n" + body,
            head + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed,
        ):
            self.read(lambda take: relay.Answers(take, None), answer, [b"one", b"two"])

    def test_answers_follow_each_other(self):
        answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 10\r\n\r\ndata: 12\n\n"
        refusal = b"HTTP/1.1 503 No\r\nContent-Length: 10\r\n\r\ndata: 12\n\n"
        self.read(lambda take: relay.Answers(take, None), answer + refusal + answer, [b"12", b"12"])

    def test_messages(self):
        plain = b"".join([server.frame(1, b"on", False), server.frame(9, b"ping"), server.frame(0, b"e"),
                          server.frame(1, b"x" * 300)])
        self.read(relay.Messages, plain, [b"one", b"x" * 300])

    def test_compressed_messages(self):
        deflate = zlib.compressobj(wbits=-15)
        data = b""
        for text in (b"one one one", b"one one two"):
            payload = (deflate.compress(text) + deflate.flush(zlib.Z_SYNC_FLUSH)).removesuffix(b"\x00\x00\xff\xff")
            data += bytes([0xC1]) + server.frame(1, payload)[1:]
        self.read(lambda take: relay.Messages(take, "permessage-deflate"), data, [b"one one one", b"one one two"])


if __name__ == "__main__":
    unittest.main()
