"""Ends processes and connections behind `chappie relay` at chosen moments of a stream, and judges what readers were given.

Usage: run.py --client CHAPPIE [--runs N] [--seed S] [--jobs N] [--journal sqlite|redis] [--blow BLOW]... [--only RUN]

Each run has a server of models (`chappie serve`), two or three relays at one journal, and readers at them, one of which
comes late. When a reader has had a number of bytes, one of these happens:

- relay: a relay is killed (SIGKILL), told to end (SIGTERM), or stopped for longer than its lease (SIGSTOP);
- commit: a relay is stopped while it has the lock of the SQLite file, and goes on after a while;
- redis-none, redis-everysec, redis-always: Redis, with these settings of its append-only file, is killed and starts again;
- redis-machine: the same with `everysec`, and the newest bytes of the file are gone, as with the machine;
- journal-cut: the path between one relay and Redis is silent for longer than the lease, and then goes on;
- reader-cut: the path between a reader and its relay is silent for a while, and then goes on.

Now and then the upstream's first connection is cut as well. The judge knows what the server of models says, and shares no
code with the package: every reader has the whole text once, with positions that grow; readers agree about every position;
none waits for longer than 10 seconds behind the blow. Where Redis loses what it had (redis-none, redis-machine), a stream
may also end in an error that its readers are told; a reader that is told that it is complete has the whole text.

redis needs /usr/bin/redis-server, or the program of redis-tools, which is the same.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import sqlite3
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
BLOWS = {
    "sqlite": ["relay", "relay", "relay", "commit", "reader-cut"],
    "redis": [
        "relay", "relay", "relay", "redis-none", "redis-everysec", "redis-always", "redis-machine", "journal-cut",
        "journal-cut", "reader-cut",
    ],
}
# The blows behind which the journal may have lost records that readers have.
LOSES = {"redis-none", "redis-machine"}
# The settings of Redis by blow; those of the server that all other runs share are the first.
SETTINGS = {
    "redis-none": ["--appendonly", "no"],
    "redis-everysec": ["--appendonly", "yes", "--appendfsync", "everysec"],
    "redis-machine": ["--appendonly", "yes", "--appendfsync", "everysec"],
    "redis-always": ["--appendonly", "yes", "--appendfsync", "always"],
}


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

    def __init__(self, addresses, name, deadline, may_lose=False):
        super().__init__(daemon=True)
        self.addresses, self.name_of_stream, self.deadline = addresses, name, deadline
        # Whether an answer that the stream is unknown is an end, as it is for an EventSource.
        self.may_lose = may_lose
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
            except urllib.error.HTTPError as refusal:
                refusal.close()
                if refusal.code == 404 and self.may_lose:
                    self.end = "unknown"
            except (OSError, http.client.HTTPException, ValueError):
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
        # An error about records that are lost has no position of its own.
        if self.events and position < self.events[-1][0] + (0 if kind == "failed" and self.may_lose else 1):
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


class Path:
    """A path to a server, which can fall silent: nothing is lost, and nothing is delivered until it goes on."""

    def __init__(self, host, port):
        self.target = (host, port)
        self.open = threading.Event()
        self.open.set()
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:{}".format(self.listener.getsockname()[1])
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                self.open.wait()
                far = socket.create_connection(self.target)
            except OSError:
                return
            self.sockets += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    def pump(self, source, sink):
        try:
            while data := source.recv(65536):
                self.open.wait()
                sink.sendall(data)
            self.open.wait()
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (source, sink):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        self.open.set()
        for end in [self.listener, *self.sockets]:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()


def judge(readers, expected, may_lose=False):
    """What is wrong, in words; an empty list where nothing is."""
    faults = []
    known = {}
    for number, reader in enumerate(readers):
        if reader.fault:
            faults.append(f"reader {number}: {reader.fault}")
        if reader.end in ("failed", "unknown"):
            if not may_lose:
                faults.append(f"reader {number}: {reader.events[-1][2] if reader.events else reader.end}")
            elif not expected.startswith(reader.text):
                faults.append(f"reader {number}: another text than the server's, before it failed")
        elif reader.end == "nothing" and may_lose:
            # The stream has ended at a position that the reader has: it is not told how.
            if not expected.startswith(reader.text):
                faults.append(f"reader {number}: another text than the server's, and then nothing")
        elif reader.end is not None and reader.text != expected:
            faults.append(f"reader {number}: {len(reader.text)} of {len(expected)} characters, or others")
        if may_lose:
            # Positions of lost records are given again.
            continue
        for position, kind, data in reader.events:
            if known.setdefault(position, (kind, data)) != (kind, data):
                faults.append(f"reader {number}: position {position} is something else")
    return faults


class Redis:
    """A Redis server."""

    def __init__(self, settings):
        program = next(
            (path for path in ("/usr/bin/redis-server", "/usr/bin/redis-check-rdb") if os.path.exists(path)), None
        )
        if program is None:
            sys.exit("relay-torture: there is no Redis: Scripts/install.sh test")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="relay-torture-redis-"))
        # The program of redis-tools is a server by this name.
        self.program = self.folder / "redis-server"
        self.program.symlink_to(program)
        self.settings = settings
        for _ in range(20):
            # Below the ports that the system gives to connections: none of them has it while the server starts again.
            self.port = random.randrange(20_000, 32_768)
            if self.start():
                return
        raise RuntimeError("Redis finds no port")

    def start(self):
        """Starts the server; returns whether it has its port."""
        self.process = subprocess.Popen(
            [
                self.program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder,
                *self.settings,
            ],
            stdout=subprocess.DEVNULL,
        )
        for _ in range(200):
            if self.process.poll() is not None:
                return False
            if self.answers():
                return True
            time.sleep(0.02)
        raise RuntimeError("Redis did not start")

    def answers(self):
        """Returns whether this server, and no other at its port, takes commands.

        It accepts connections before it has read its file, and refuses commands until then.
        """
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\nINFO server\r\n")
                lines = connection.makefile("rb")
                if not lines.readline().startswith(b"+PONG"):
                    return False
                known = next((line for line in lines if line.startswith(b"process_id:")), b"")
                return known.strip() == b"process_id:%d" % self.process.pid
        except OSError:
            return False

    @property
    def log(self):
        """The newest file of the append-only log."""
        return max(self.folder.glob("appendonlydir/*.incr.aof"))

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def is_locked(journal):
    """Returns whether a process has the write lock of an SQLite file, as SQLite reports it."""
    connection = sqlite3.connect(journal, timeout=0, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
        return False
    except sqlite3.OperationalError as failure:
        if "locked" not in str(failure):
            raise
        return True
    finally:
        connection.close()


def stays_locked(path, count):
    """Returns whether a file is locked at so many looks, between which another process's commit ends."""
    for look in range(count):
        if look > 0:
            time.sleep(0.02)
        if not is_locked(path):
            return False
    return True


def stop_in_commit(relay, journal, readers):
    """Stops a process while it has the lock of the SQLite file; returns whether it was found with it.

    What other processes commit at the same time is over when it is looked for a third time.
    """
    while all(reader.end is None and reader.fault is None for reader in readers):
        relay.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, relay.process.pid, os.WSTOPPED | os.WNOWAIT)
        if stays_locked(journal, 3):
            return True
        relay.process.send_signal(signal.SIGCONT)
        time.sleep(0.001)
    return False


class Run:
    """A run: its programs, and what is done to them."""

    def __init__(self, client, kind, blow, shared, number, seed):
        self.client, self.kind, self.blow, self.number = client, kind, blow, number
        self.chance = random.Random(seed * 1_000_003 + number)
        # Apart from the one above, so that what is drawn for a blow leaves the rest of the run as it is.
        self.fate = random.Random(f"{seed} {number}")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="relay-torture-"))
        self.open = []
        self.redis = None
        if kind == "redis":
            self.redis = self.opened(Redis(SETTINGS[blow])) if blow in SETTINGS else shared
        self.relays, self.addresses, self.readers = [], [], []

    def opened(self, program):
        self.open.append(program)
        return program

    def journal(self, path=None):
        if self.kind == "sqlite":
            return str(self.folder / "journal")
        return f"redis://{path.address if path else f'127.0.0.1:{self.redis.port}'}/{self.number % 16}"

    def reader(self, addresses, deadline):
        reader = Reader(addresses, self.name, deadline, self.blow in LOSES)
        self.readers.append(reader)
        reader.start()
        return reader

    def make(self):
        """Makes the run; returns what is wrong, what was done, and the time from the blow to the last event."""
        chance = self.chance
        (self.folder / "text").write_text(TEXT)
        serve = [self.client, "serve", "--text", str(self.folder / "text"), "--rate", str(EVENTS_PER_SECOND)]
        if chance.random() < 0.25:
            serve += ["--fault", f"cut@{chance.randrange(1, 6000)}#1"]
        upstream = self.opened(Process(serve))
        options = ["--base-url", upstream.address + "/v1", "--port", "0", "--lease", str(LEASE), "--model", "m"]
        if chance.random() < 0.5:
            options.append("--http-only")
        if self.blow == "commit":
            # A commit that waits for the disk has the lock for a seventh of the time, and for a 250th without.
            options += ["--synchronous", "full"]
        count = chance.choice([2, 2, 3])
        # The relay that is behind the silent path: the one that makes the stream, or another one.
        behind = self.fate.randrange(count)
        path = self.opened(Path("127.0.0.1", self.redis.port)) if self.blow == "journal-cut" else None
        for index in range(count):
            journal = self.journal(path if index == behind else None)
            relay = Process([self.client, "relay", "--journal", journal, *options])
            self.relays.append(self.opened(relay))
        self.addresses = [relay.address for relay in self.relays]
        request = urllib.request.Request(
            f"{self.addresses[0]}/streams", data=b'{"input":"Why?"}', headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            self.name = json.load(answer)["id"]
        log_size = self.redis.log.stat().st_size if self.blow == "redis-machine" else 0
        deadline = time.monotonic() + 2 * LIMIT
        addresses = self.addresses
        if self.blow == "reader-cut":
            host, port = addresses[0].removeprefix("http://").split(":")
            path = self.opened(Path(host, int(port)))
            addresses = [f"http://{path.address}", *addresses[1:]]
        for index in range(count):
            self.reader(addresses[index:] + addresses[:index], deadline)
        byte_count = chance.randrange(0, len(TEXT.encode()))
        # It takes several commits to stop the process inside of one, so this begins early.
        self.readers[chance.randrange(count)].wait_for(byte_count // 8 if self.blow == "commit" else byte_count)
        how = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
        began = time.monotonic()
        said = self.strike(how, path, log_size)
        self.reader(self.addresses[1:], deadline)
        if self.blow == "commit":
            time.sleep(self.fate.uniform(2 * LEASE, 3))
            self.relays[0].process.send_signal(signal.SIGCONT)
            began = time.monotonic()
        elif self.blow == "relay" and how == signal.SIGSTOP and self.kind == "sqlite" and self.keeps_lock():
            # No process can take the stream until this one continues (Journals.md).
            said += " in a commit"
            time.sleep(2 * LEASE)
            self.relays[0].process.send_signal(signal.SIGCONT)
            began = time.monotonic()
        for reader in self.readers:
            reader.join()
        took = time.monotonic() - began
        if said == "SIGSTOP":
            # What was stopped goes on, and may change nothing.
            self.relays[0].process.send_signal(signal.SIGCONT)
            time.sleep(0.1)
            self.reader(self.addresses[1:], deadline).join()
        faults = judge(self.readers, TEXT, self.blow in LOSES)
        if took > LIMIT:
            faults.append(f"it took {took:.1f} s")
        ends = sorted({str(reader.end) for reader in self.readers})
        return faults, f"{said} {'+'.join(ends)}" if self.blow in LOSES else said, took

    def keeps_lock(self):
        return stays_locked(self.folder / "journal", 5)

    def strike(self, how, path, log_size):
        """Does the blow; returns its name."""
        if self.blow == "relay":
            self.relays[0].end(how)
            return signal.Signals(how).name
        if self.blow == "commit":
            found = stop_in_commit(self.relays[0], self.folder / "journal", self.readers)
            return "commit" if found else "commit missed"
        if self.blow in SETTINGS:
            self.redis.process.kill()
            self.redis.process.wait()
            if self.blow == "redis-machine":
                os.truncate(self.redis.log, self.fate.randint(log_size, self.redis.log.stat().st_size))
            time.sleep(self.fate.choice([0, 0.1, 2 * LEASE]))
            if not self.redis.start():
                raise RuntimeError("Redis does not start again")
            return self.blow
        path.open.clear()
        time.sleep(self.fate.uniform(LEASE, 4 * LEASE))
        path.open.set()
        return self.blow

    def close(self):
        for program in self.open:
            program.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def run(*arguments):
    """Makes one run; returns what `Run.make` does."""
    one = Run(*arguments)
    try:
        return one.make()
    finally:
        one.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", required=True)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--journal", choices=["sqlite", "redis"], action="append")
    parser.add_argument("--blow", choices=sorted({*BLOWS["sqlite"], *BLOWS["redis"]}), action="append")
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    kinds = [kind for kind in options.journal or BLOWS if set(BLOWS[kind]) & set(options.blow or BLOWS[kind])]
    if not kinds:
        parser.error("no such blow at that journal")
    shared = Redis(SETTINGS["redis-none"]) if "redis" in kinds else None
    broken = count = 0
    longest = 0.0
    ways = {}
    try:
        numbers = [options.only] if options.only is not None else range(options.runs)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            runs = {}
            for n in numbers:
                kind = kinds[n % len(kinds)]
                blows = [blow for blow in BLOWS[kind] if blow in (options.blow or BLOWS[kind])]
                blow = random.Random(f"{options.seed} {n} blow").choice(blows)
                arguments = (options.client, kind, blow, shared, n, options.seed)
                runs[pool.submit(run, *arguments)] = n
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
        if shared:
            shared.close()
    said = ", ".join(f"{number} {how}" for how, number in sorted(ways.items()))
    print(f"{count} runs ({said}), {broken} broke a promise; the longest wait was {longest:.1f} s")
    stopped, missed = ways.get("commit", 0), ways.get("commit missed", 0)
    if missed:
        print(f"{missed} of {stopped + missed} relays were to be stopped inside of a commit and were not")
    # A few are missed: the stream may end before a look finds the lock.
    sys.exit(1 if broken or missed > stopped else 0)


if __name__ == "__main__":
    main()
