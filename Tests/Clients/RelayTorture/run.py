"""Ends processes of `chappie relay` at chosen moments of a stream, and judges what its readers were given.

Usage: run.py --client CHAPPIE [--runs N] [--seed S] [--jobs N] [--journal sqlite|redis] [--only RUN]

Each run has a server of models (`chappie serve`), two or three relays at one journal, and readers at them, one of which
comes late. A relay is killed (SIGKILL), told to end (SIGTERM), or stopped for longer than its lease (SIGSTOP), when a
reader has had a number of bytes; now and then the upstream's first connection is cut as well. The judge knows what the server of models says, and shares no code with the package: every
reader has the whole text once, with positions that grow; readers agree about every position; none waits for longer than
10 seconds behind the end of the process.

redis needs /usr/bin/redis-server, or the program of redis-tools, which is the same.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

LEASE = 0.6
# The longest time from the end of a process to the end of the stream: the lease, a look at the journal and the stream
# itself, and what a busy machine adds.
LIMIT = 10
EVENTS_PER_SECOND = 400
TEXT = "Air scatters blue light more than red. Größe: 🌤️. " * 6


class Process:
    """A program that says on which address it listens."""

    def __init__(self, arguments):
        environment = {**os.environ, "OPENAI_API_KEY": "key"}
        self.process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise RuntimeError(f"{arguments[1]} did not start: {line!r}")
        self.address = line.split()[2].removesuffix("/v1")

    def end(self, how):
        self.process.send_signal(how)
        if how != signal.SIGSTOP:
            self.process.wait()

    def close(self):
        self.process.kill()
        self.process.wait()


class Reader(threading.Thread):
    """Reads a stream as a browser's EventSource does: it reconnects, and names the last position that it has."""

    def __init__(self, addresses, name, deadline):
        super().__init__(daemon=True)
        self.addresses, self.name_of_stream, self.deadline = addresses, name, deadline
        self.events, self.byte_count, self.end, self.fault = [], 0, None, None
        self.received = threading.Condition()

    def run(self):
        turn = 0
        while self.end is None and self.fault is None:
            if time.monotonic() > self.deadline:
                self.fault = "it waits"
                break
            try:
                self.read(self.addresses[turn % len(self.addresses)])
            except (OSError, urllib.error.HTTPError, ValueError):
                pass
            turn += 1
            time.sleep(0.02)
        with self.received:
            self.received.notify_all()

    def read(self, address):
        last = self.events[-1][0] if self.events else 0
        request = urllib.request.Request(
            f"{address}/streams/{self.name_of_stream}", headers={"Last-Event-ID": str(last)}
        )
        with urllib.request.urlopen(request, timeout=2) as answer:
            if answer.status == 204:
                self.end = "nothing"
                return
            position = kind = None
            for line in answer:
                line = line.decode()
                if line.startswith("id: "):
                    position = int(line[4:])
                elif line.startswith("event: "):
                    kind = line[7:].strip()
                elif line.startswith("data: "):
                    self.take(position, kind, line[6:].rstrip("\n"))
                    if self.end is not None:
                        return

    def take(self, position, kind, data):
        if self.events and position <= self.events[-1][0]:
            self.fault = f"position {position} behind {self.events[-1][0]}"
        with self.received:
            self.events.append((position, kind, data))
            self.byte_count += len(data.encode())
            if kind in ("completed", "failed"):
                self.end = kind
            self.received.notify_all()

    def wait_for(self, byte_count):
        with self.received:
            self.received.wait_for(
                lambda: self.byte_count >= byte_count or self.end or self.fault, timeout=LIMIT
            )

    @property
    def text(self):
        text = ""
        for _, kind, data in self.events:
            if kind == "text":
                text += json.loads(data)
            elif kind == "restarted":
                text = ""
        return text


def judge(readers, expected):
    """What is wrong, in words; an empty list where nothing is."""
    faults = []
    known = {}
    for number, reader in enumerate(readers):
        if reader.fault:
            faults.append(f"reader {number}: {reader.fault}")
        if reader.end == "failed":
            faults.append(f"reader {number}: {reader.events[-1][2]}")
        elif reader.end is not None and reader.text != expected:
            faults.append(f"reader {number}: {len(reader.text)} of {len(expected)} characters, or others")
        for position, kind, data in reader.events:
            if known.setdefault(position, (kind, data)) != (kind, data):
                faults.append(f"reader {number}: position {position} is something else")
    return faults


def run(client, kind, redis, number, seed):
    """Makes one run; returns what is wrong, what was done, and the time from the end of the process to the last event."""
    chance = random.Random(seed * 1_000_003 + number)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="relay-torture-"))
    processes = []
    try:
        (folder / "text").write_text(TEXT)
        serve = [client, "serve", "--text", str(folder / "text"), "--rate", str(EVENTS_PER_SECOND)]
        if chance.random() < 0.25:
            serve += ["--fault", f"cut@{chance.randrange(1, 6000)}#1"]
        upstream = Process(serve)
        processes.append(upstream)
        journal = str(folder / "journal") if kind == "sqlite" else f"{redis}/{number % 16}"
        options = [
            client, "relay", "--base-url", upstream.address + "/v1", "--port", "0", "--journal", journal,
            "--lease", str(LEASE), "--model", "m",
        ]
        if chance.random() < 0.5:
            options.append("--http-only")
        relays = [Process(options) for _ in range(chance.choice([2, 2, 3]))]
        processes += relays
        request = urllib.request.Request(
            f"{relays[0].address}/streams", data=b'{"input":"Why?"}', headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            name = json.load(answer)["id"]
        deadline = time.monotonic() + 2 * LIMIT
        addresses = [relay.address for relay in relays]
        readers = [Reader(addresses[index:] + addresses[:index], name, deadline) for index in range(len(relays))]
        for reader in readers:
            reader.start()
        readers[chance.randrange(len(readers))].wait_for(chance.randrange(0, len(TEXT.encode())))
        how = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
        relays[0].end(how)
        began = time.monotonic()
        late = Reader(addresses[1:], name, deadline)
        late.start()
        readers.append(late)
        for reader in readers:
            reader.join()
        took = time.monotonic() - began
        if how == signal.SIGSTOP:
            # What was stopped goes on, and may change nothing.
            relays[0].process.send_signal(signal.SIGCONT)
            time.sleep(0.1)
            again = Reader(addresses[1:], name, deadline)
            again.start()
            again.join()
            readers.append(again)
        faults = judge(readers, TEXT)
        if took > LIMIT:
            faults.append(f"it took {took:.1f} s")
        return faults, signal.Signals(how).name, took
    finally:
        for process in processes:
            process.close()
        shutil.rmtree(folder, ignore_errors=True)


def start_redis(folder):
    program = next(
        (path for path in ("/usr/bin/redis-server", "/usr/bin/redis-check-rdb") if os.path.exists(path)), None
    )
    if program is None:
        sys.exit("relay-torture: there is no Redis: Scripts/install.sh test")
    # The program of redis-tools is a server by this name.
    link = folder / "redis-server"
    link.symlink_to(program)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [link, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder],
        stdout=subprocess.DEVNULL,
    )
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.05)
    return server, f"redis://127.0.0.1:{port}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", required=True)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--journal", choices=["sqlite", "redis"], action="append")
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    kinds = options.journal or ["sqlite", "redis"]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="relay-torture-redis-"))
    server, redis = start_redis(folder) if "redis" in kinds else (None, None)
    broken = count = 0
    longest = 0.0
    ways = {}
    try:
        numbers = [options.only] if options.only is not None else range(options.runs)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            runs = {
                pool.submit(run, options.client, kinds[n % len(kinds)], redis, n, options.seed): n for n in numbers
            }
            for done in concurrent.futures.as_completed(runs):
                faults, how, took = done.result()
                count += 1
                longest = max(longest, took)
                ways[how] = ways.get(how, 0) + 1
                if faults:
                    broken += 1
                    print(f"run {runs[done]} of seed {options.seed} ({how}): " + "; ".join(faults), flush=True)
                if count % 200 == 0:
                    print(f"{count} runs, {broken} broke a promise", flush=True)
    finally:
        if server:
            server.kill()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)
    said = ", ".join(f"{number} {how}" for how, number in sorted(ways.items()))
    print(f"{count} runs ({said}), {broken} broke a promise; the longest wait was {longest:.1f} s")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
