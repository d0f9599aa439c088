"""Checks the oracle's reading of the bytes that were sent on a connection."""

import base64
import contextlib
import json
import os
import struct
import tempfile
import unittest
import zlib

import oracle
import records

EVENTS = [
    {"type": "response.created", "response": {"id": "r"}},
    {"type": "response.output_text.delta", "delta": "one ", "output_index": 0},
    {"type": "response.output_text.delta", "delta": "two\u00e9", "output_index": 0},
    {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
]
TEXTS = [json.dumps(event, ensure_ascii=False).encode() for event in EVENTS]


def base(data):
    return base64.b64encode(data).decode()


def stream(end=b"\n"):
    return b"".join(b"data: " + text + end + end for text in TEXTS)


def http(coding=None):
    content = stream()
    fields = b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    if coding:
        packer = zlib.compressobj(wbits=31)
        content = packer.compress(content) + packer.flush(zlib.Z_SYNC_FLUSH) + packer.flush()
        fields += b"content-encoding: gzip\r\n"
    chunks = [content[place:place + 50] for place in range(0, len(content), 50)] + [b""]
    return b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n" \
        + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)


def frame(payload, first=0x81):
    length = bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + struct.pack(">H", len(payload))
    return bytes([first]) + length + payload


def websocket(deflate=False):
    head = b"HTTP/1.1 101 Switching Protocols\r\n"
    if not deflate:
        return head + b"\r\n" + b"".join(frame(text) for text in TEXTS)
    packer = zlib.compressobj(wbits=-15)
    messages = [(packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4] for text in TEXTS]
    return head + b"sec-websocket-extensions: permessage-deflate\r\n\r\n" \
        + b"".join(frame(message, 0xC1) for message in messages)


def record(received, transport="http", turns=1, **sent):
    exchange = {"connection": 1, "transport": transport, "request": {"kind": "create"}, **sent}
    return {"name": "n", "calls": False, "turns": [{"exchanges": [exchange], "received": received}] * turns}


DONE = [{"type": "textDelta", "text": "one "}, {"type": "textDelta", "text": "two\u00e9"}, {"type": "completed"}]


class RecordTests(unittest.TestCase):
    def sentences(self, value):
        return [failure.sentence for _, _, failures in records.judged(value) for failure in failures]

    def test_every_beginning_of_a_connection(self):
        for data, is_websocket in ((http(), False), (http("gzip"), False), (websocket(), True), (websocket(True), True)):
            counts = []
            for end in range(len(data) + 1):
                sent, is_readable = records.sent_on(data[:end], is_websocket)
                self.assertTrue(is_readable)
                self.assertEqual([one["event"] for one in sent], EVENTS[:len(sent)])
                counts.append(len(sent))
            self.assertEqual(counts, sorted(counts))
            self.assertEqual(counts[-1], len(EVENTS))

    def test_cut_before_the_end(self):
        whole = websocket()
        self.assertEqual(self.sentences(record(DONE, "websocket", bytes=base(whole))), [])
        self.assertEqual(self.sentences(record(DONE, "websocket", bytes=base(whole[:-1]))), [oracle.EXACT])
        cut = DONE[:2] + [{"type": "error", "tag": "network"}]
        self.assertEqual(self.sentences(record(cut, "websocket", bytes=base(whole[:-1]))), [])

    def test_content_and_messages(self):
        for end in (b"\n", b"\r", b"\r\n"):
            self.assertEqual(self.sentences(record(DONE, stream=base(b"\xef\xbb\xbf" + stream(end)))), [])
        messages = [base(text) for text in TEXTS]
        self.assertEqual(self.sentences(record(DONE, "websocket", messages=messages)), [])
        self.assertEqual(self.sentences(record(DONE, "websocket", messages=messages[:2] + messages[3:])), [oracle.MIXED])

    def test_answer_of_another_transport(self):
        self.assertEqual(self.sentences(record(DONE, "websocket", bytes=base(http()))), [oracle.EXACT])
        self.assertEqual(self.sentences(record(DONE, "http", bytes=base(websocket()))), [oracle.EXACT])

    def test_turns_on_a_kept_connection(self):
        again = [base(text.replace(b'"r"', b'"r2"')) for text in TEXTS]
        value = record(DONE, "websocket", messages=[base(text) for text in TEXTS])
        late = [base(b'{"type":"response.completed","response":{"id":"r"}}')]
        second = record(DONE, "websocket", messages=late + again)
        value["turns"] += second["turns"]
        self.assertEqual(self.sentences(value), [])
        self.assertEqual(self.sentences(second), [oracle.MIXED])

    def test_connection_that_is_broken_is_left_out(self):
        for broken in (http().replace(b" 200 ", b" OK "), b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"):
            with self.assertRaises(records.LeftOut):
                records.judged(record(DONE, bytes=base(broken)))
            self.assertEqual(self.sentences(record([{"type": "error", "tag": "http"}], bytes=base(broken))), [])

    def test_answer_without_a_content_type(self):
        head = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
        self.assertEqual(self.sentences(record(DONE, bytes=base(head + b"\r\n" + stream()))), [])
        other = head + b"content-type: text/plain\r\n\r\n"
        self.assertEqual(self.sentences(record(DONE, bytes=base(other + stream()))), [oracle.EXACT])

    def test_carried_items_that_came_interleaved_are_left_out(self):
        text = "response.output_text.delta"
        first = [{"type": text, "output_index": 1, "delta": "one "}, {"type": text, "output_index": 0, "delta": "two "}]
        item = {"type": "message", "content": [{"type": "output_text", "text": "two "}]}
        value = record(DONE, "websocket", messages=[base(json.dumps(event).encode()) for event in first])
        request = {"kind": "create", "content": base(json.dumps({"input": [item]}).encode())}
        value["turns"][0]["exchanges"].append({"connection": 2, "transport": "websocket", "request": request,
                                               "messages": []})
        with self.assertRaises(records.LeftOut):
            records.judged(value)
        value["turns"][0]["exchanges"][1]["request"] = {"kind": "create"}
        self.assertEqual(self.sentences(value), [oracle.EXACT])

    def test_ends(self):
        sent = {"stream": base(stream())}
        self.assertEqual(self.sentences(record(DONE[:2], **sent)), [oracle.SHAPE])
        self.assertEqual(self.sentences(record(DONE + [{"type": "error", "tag": "x"}], **sent)), [oracle.SHAPE])
        gone = record(DONE[:2], **sent)
        gone["turns"][0]["abandoned"] = True
        self.assertEqual(self.sentences(gone), [])
        gone["turns"][0]["received"] = DONE[1:2]
        self.assertEqual(self.sentences(gone), [oracle.SKIPPED])

    def test_message_that_is_not_utf_8(self):
        messages = [base(TEXTS[0]), base(b'{"delta":"\xff"}'), *map(base, TEXTS[1:])]
        self.assertEqual(self.sentences(record(DONE, "websocket", messages=messages)), [oracle.EXACT])

    def test_member_that_comes_twice_is_left_out(self):
        twice = TEXTS[1].replace(b"{", b'{"delta":"three",', 1)
        with self.assertRaises(records.LeftOut):
            records.judged(record(DONE, "websocket", messages=[base(twice)]))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "records")

            def judged(*values):
                with open(path, "w") as file:
                    file.writelines(json.dumps(value) + "\n" for value in values)
                with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
                    return records.main([path], 1, 0)

            whole = record(DONE, stream=base(stream()))
            self.assertEqual(judged(whole, record(DONE, "websocket", messages=[base(twice)])), 0)
            self.assertEqual(judged(whole, record(DONE, stream="")), 1)
            self.assertEqual(judged(record(DONE, "websocket", messages=[base(twice)])), 2)


if __name__ == "__main__":
    unittest.main()
