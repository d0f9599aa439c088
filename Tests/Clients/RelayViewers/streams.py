"""Measures `chappie relay` with many running streams, each with a viewer.

Usage: streams.py CHAPPIE [STREAMS] [memory|sqlite|redis] [--rate R] [--seconds S]

A server of models (Chat Completions, in this program) sends R texts a second on each stream. Every viewer has to get every
text once and in order, and the end. Printed are the relay's processor time for each text, its memory for each stream, and
how long texts took from the server of models to the viewer, in which this program's own work is as well.
"""

import argparse
import asyncio
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import time

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
WORDS = " scatters blue light more than red light. "


class Upstream:
    """A server of models: all streams begin together, a moment after the last request."""

    def __init__(self, streams, texts, interval):
        self.streams, self.texts, self.interval = streams, texts, interval
        self.came, self.begins = 0, asyncio.Event()

    async def serve(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        await reader.readexactly(int(fields.get(b"content-length", 0)))
        writer.write(HEAD)
        number, self.came = self.came, self.came + 1
        if self.came == self.streams:
            self.begins.set()
        await self.begins.wait()
        # The streams are spread over the interval.
        await asyncio.sleep(2 + self.interval * number / self.streams)
        for _ in range(self.texts):
            choice = {"index": 0, "delta": {"content": f"@{time.monotonic_ns():016d}{WORDS}"}}
            writer.write(b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n")
            await asyncio.sleep(self.interval)
        writer.write(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
        await writer.drain()
        writer.close()


async def request(port, method, path, body=b""):
    """Sends a request; returns the reader behind the head."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
                 .encode() + body)
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 20" not in head.split(b"\r\n", 1)[0]:
        raise RuntimeError(f"{method} {path}: {head.decode()}")
    return reader, writer


async def start(port):
    """Starts a stream; returns its path."""
    reader, writer = await request(port, "POST", "/streams", b'{"input":"Why?","model":"m"}')
    answer = await reader.read()
    writer.close()
    return "/streams/" + json.loads(answer[answer.index(b"{"):answer.rindex(b"}") + 1])["id"]


async def view(port, path, texts, latencies):
    """Reads a stream to its end."""
    reader, writer = await request(port, "GET", path)
    last, count, ended = 0, 0, False
    while line := await reader.readline():
        if line.startswith(b"id: "):
            position = int(line[4:])
            assert position > last, f"{path}: {position} behind {last}"
            last = position
        elif line.startswith(b'data: "@'):
            latencies.append(time.monotonic_ns() - int(line[8:24]))
            count += 1
        ended = ended or line.startswith(b"event: completed")
    writer.close()
    assert count == texts and ended, f"{path}: {count} of {texts} texts, ended: {ended}"


def used(process):
    """The seconds of processor time and the KiB of memory of a process."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), memory


async def measure(options, folder):
    """Runs one relay with all streams."""
    texts, interval = max(1, int(options.rate * options.seconds)), 1 / options.rate
    upstream = Upstream(options.streams, texts, interval)
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0, backlog=4096)
    model = server.sockets[0].getsockname()[1]
    redis, place = None, {"memory": "memory", "sqlite": f"{folder}/streams.sqlite"}.get(options.journal)
    if place is None:
        listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        listener.close()
        program = shutil.which("redis-server") or "/usr/bin/redis-check-rdb"
        redis = subprocess.Popen(
            ["redis-server", "--port", str(port), "--save", "", "--dir", folder], executable=program,
            stdout=subprocess.DEVNULL)
        place = f"redis://127.0.0.1:{port}"
    arguments = [options.chappie, "relay", "--base-url", f"http://127.0.0.1:{model}/v1", "--dialect", "chat",
                 "--port", "0", "--journal", place, "--streams", str(options.streams)]
    environment = {**os.environ, "OPENAI_API_KEY": "key"}
    relay = subprocess.Popen(arguments, stdout=subprocess.PIPE, env=environment, text=True)
    try:
        port = int(relay.stdout.readline().rsplit(":", 1)[1].split("/")[0])
        _, empty = used(relay.pid)
        latencies, viewers = [], []
        for _ in range(options.streams):
            viewers.append(asyncio.create_task(view(port, await start(port), texts, latencies)))
        await upstream.begins.wait()
        await asyncio.sleep(1)
        before, full = used(relay.pid)
        store_before = used(redis.pid)[0] if redis else 0
        began = time.monotonic()
        results = await asyncio.gather(*viewers, return_exceptions=True)
        took = time.monotonic() - began
        after, most = used(relay.pid)
        store = f" (Redis: {(used(redis.pid)[0] - store_before) / options.streams / texts * 1e6:.1f})" if redis else ""
        failures = [result for result in results if result is not None]
        latencies.sort()
        count = options.streams * texts
        print(f"{options.streams} streams, {options.journal}: {len(latencies)} of {count} texts, {len(failures)} failures, "
              f"{count / took:.0f} texts/s; {(after - before) / count * 1e6:.1f} µs of processor time a text{store}; "
              f"{(full - empty) / options.streams:.1f} KiB a stream ({(most - empty) / options.streams:.1f} at the end); "
              f"p50 {latencies[len(latencies) // 2] / 1e6:.1f} ms, p99 {latencies[len(latencies) * 99 // 100] / 1e6:.1f} ms")
        for failure in failures[:5]:
            print(f"  {failure!r}")
        return 1 if failures else 0
    finally:
        for process in (relay, redis):
            if process:
                process.kill()
                process.wait()


def main():
    """Reads the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("chappie")
    parser.add_argument("streams", type=int, nargs="?", default=2000)
    parser.add_argument("journal", nargs="?", default="sqlite", choices=["memory", "sqlite", "redis"])
    parser.add_argument("--rate", type=float, default=2)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        raise SystemExit(asyncio.run(measure(options, folder)))


main()
