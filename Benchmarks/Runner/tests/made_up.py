"""A whole result of figures that nobody measured, to see that the runner makes of them what it should."""

import math
import random

from Runner.figures import Figure
from Runner.results import Results

PEERS = [("openai-python", "responses.connect()", True, 0.032, "3.52.0"),
         ("websockets", "recv + json.loads", True, 0.11, "17.4"),
         ("aiohttp", "receive_json", True, 0.21, "3.14.1"), ("undici", "onmessage + JSON.parse", True, 0.27, "8.1.0"),
         ("picows", "callback", False, 1.9, "1.9.0"), ("websockets", "recv", False, 0.31, "17.4"),
         ("curl", "to a pipe", False, 1.1, "7.88.1")]
PARSERS = [("eventsource-parser", 0.11, "3.1.0"), ("gin-contrib/sse", 0.05, "1.1.0"),
           ("donovanhide/eventsource", 0.032, ""),
           ("launchdarkly-eventsource", 0.015, "1.2.3"), ("undici", 0.0147, "8.1.0"), ("httpx-sse", 0.011, "0.4.3"),
           ("openai", 0.004, "3.52.0")]
CORPORA = {"model-deltas": 16e9, "model-deltas-crlf": 14.4e9, "model-deltas-cr": 16.7e9, "tiny-events": 1.7e9,
           "long-lines": 19.3e9, "multi-line-data": 3.9e9}


class Maker:
    """Figures around values, with the same noise every time."""

    def __init__(self):
        self.random = random.Random(7)
        self.figures = []

    def add(self, group, workload, measure, unit, value, subject="chappie", count=5, noise=0.03, **more):
        runs = [value * (1 + self.random.uniform(-noise, noise)) for _ in range(count)]
        better = more.pop("better", "lower")
        self.figures.append(Figure(group, workload, subject, measure, unit, runs, better=better, **more))

    def end_to_end(self):
        factors = {"websocket": 1, "websocket-deflate": 0.45, "sse": 0.9, "sse-gzip": 0.5}
        for transport, factor in factors.items():
            for security, share in [("plain", 1), ("tls", 0.7)]:
                for streams in [1, 100]:
                    name = f"{transport}-{security}-{streams}"
                    speed = factor * share * (1 if streams == 1 else 0.8) * 1e6
                    bars = ({"atLeast": 1.5e6}, {"atLeast": 3.5e6}) if name == "websocket-plain-1" else (None, None)
                    self.speed(name, 1.62 * speed, "chappie", way="for try await", bar=bars[0], decodes=True)
                    self.speed(name, 3.9 * speed, "chappie", way="batches()", bar=bars[1], decodes=True)
                    self.speed(name, 13 * speed, "machine", way="read")
                    if streams == 1:
                        self.counts(name, 1430 / share)
                    if security == "plain" and streams == 1:
                        for peer, way, decodes, ratio, version in PEERS:
                            self.speed(name, ratio * speed, peer, way=way, decodes=decodes, version=version)

    def speed(self, name, value, subject, **more):
        self.add("end-to-end", name, "throughput", "events/s", value, subject, better="higher", **more)

    def counts(self, name, value):
        for way, factor in [("for try await", 1), ("batches()", 0.6)]:
            self.add("end-to-end", name, "instructions", "/event", value * factor, count=1, noise=0, way=way)
            self.add("end-to-end", name, "allocations", "/event", 0.0012, count=1, noise=0, way=way)

    def parser(self):
        for corpus, speed in CORPORA.items():
            for chunk, factor in [(16384, 1), (37, 0.07)]:
                name = f"{corpus}/{chunk}"
                self.add("parser", name, "throughput", "bytes/s", speed * factor, better="higher")
                for way, limit in [("memcpy, 16 KiB at a time", 30e9), ("masks of CR and LF", 30.5e9)]:
                    self.add("parser", name, "throughput", "bytes/s", limit, "machine", better="higher", way=way)
                for peer, ratio, version in PARSERS:
                    self.add("parser", name, "throughput", "bytes/s", speed * ratio * factor, peer, better="higher",
                             version=version or None)

    def latency(self):
        for rate in [100, 1_000, 10_000]:
            for subject, way, base in [("chappie", "for try await", 31), ("machine", "read", 12)]:
                points = [[q, base * (1 + 0.9 * abs(math.log10(1 - q)) ** 1.6)]
                          for q in [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999]]
                name = f"websocket-{rate}"
                self.add("latency", name, "latency", "µs", base, subject, way=way, distribution=points)
                self.add("latency", name, "latency-p50", "µs", base * 1.2, subject, way=way)
                self.add("latency", name, "latency-p99", "µs", base * 3.7, subject, way=way)

    def waiting(self):
        for name, own, codex in [("cold", 3.1, 212), ("warm", 0.31, 94), ("refused-upgrade", 4.4, 409),
                                 ("black-holed-upgrade", 212, 15_700)]:
            self.add("first-text", name, "time", "ms", own, decodes=True)
            self.add("first-text", name, "time", "ms", codex, "codex", decodes=True, version="0.163.0")
        self.add("first-text", "cold", "time", "ms", 41, "openai-python", decodes=True, version="3.52.0")

    def amounts(self):
        for security, base in [("plain", 14), ("tls", 41)]:
            for streams in [1, 100, 1_000, 10_000]:
                self.add("memory", f"{security}-{streams}", "memory", "KiB/stream", base + 900 / streams,
                         amount=streams)
        for streams, cost in [(100, 19.5), (1_000, 16.2)]:
            self.add("processor", f"streams-{streams}", "processor-time", "µs/event", cost, amount=streams)
        for calls in [10, 25, 50]:
            for transport, sent in [("websocket", 1_340 * calls), ("http", 700 * calls * calls + 1_000 * calls)]:
                self.add("tool-loop", f"{transport}-{calls}", "uploaded", "bytes", sent, count=1, noise=0, amount=calls)
                self.add("tool-loop", f"{transport}-{calls}", "time", "ms", 0.4 * calls + sent / 5e5, amount=calls)
        for number, shape in enumerate(["one line, 37-byte chunks", "model deltas, one chunk, LF", "CRs, one chunk",
                                        "one event type, 1460-byte chunks", "empty comments, 16 KiB chunks"]):
            for power in range(18, 23):
                self.add("growth", f"{shape}/{2 ** power}", "time", "µs", 2 ** power * (0.08 + 0.2 * number) / 1e3,
                         amount=2 ** power)
        self.add("connections", "connect-and-cancel", "rate", "/s", 12_300, better="higher", bar={"atLeast": 20_000})
        for name, speed in [("memory-copy", 31e9), ("line-scan", 30e9), ("loopback-read", 4.1e9), ("inflate", 0.6e9)]:
            self.add("machine", name, "throughput", "bytes/s", speed, "machine", better="higher")


def results():
    """The whole of it."""
    maker = Maker()
    for make in [maker.end_to_end, maker.parser, maker.latency, maker.waiting, maker.amounts]:
        make()
    found = Results(
        date="2026-01-31T12:00:00Z", command="make bench-peers", seconds=512, commit="0123456789abcdef",
        isModified=False,
        machine={"processor": "A processor of nobody's", "cores": 2, "memoryBytes": 24 << 30, "system": "Debian 12",
                 "kernel": "6.1", "virtualization": "none", "loadBefore": 0.1},
        versions={"swift": "6.3", "zlib": "1.2.13"},
        missing=[{"subject": "gin-contrib/sse", "why": "there is no apt-get"}])
    found.take(maker.figures)
    return found
