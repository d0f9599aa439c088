"""Reads whole responses of stream-server with this package and with other people's clients, in rounds on one core.

Usage: end_to_end.py --bin FOLDER --native FOLDER --python FILE --node FILE [--foundation-version TEXT]
                     [--results FILE] [--filter TEXT]
       end_to_end.py --names

The folders have the programs of the benchmarks, and those of native. In each round every client is a process of its own, and so is this package. A
client reads the largest response that it can read in the time of a run, the same in all rounds. Its counts are compared
with those of stream-facts: with a checksum in a first pass, events and bytes or characters alone in each timed pass. A
client that fails or differs is named.

The messages of WebSocketClient are read without JSON. A bar applies to the ratio of their throughput to that of the
fastest peer which does not decode either, in the same round, in the median of all rounds.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from results import (
    CLIENT_CORE, SERVER_CORE, Results, end_on_request, environment, in_rounds, last_line, report, run_limited)

FOLDER = pathlib.Path(__file__).resolve().parent
SIZES = {1: [1024, 4096, 16384, 65536, 262144, 1048576, 4194304], 100: [64, 128, 256, 512, 1024, 2048, 4096, 8192]}
ROUNDS = 5
# The number of timed runs of a process.
RUN_COUNT = 4
# The longest time of a run, in seconds.
SECONDS = 0.2
# The subjects of this package, and of a figure that is a bound for all programs, as in ../Runner/figures.py.
OWN, MACHINE = "chappie", "machine"
# A run is this many times as long for a client with a just-in-time compiler and a garbage collector.
LONG = 3
# The seconds after which a client counts as hanging, for all its runs.
PATIENCE = 60


@dataclasses.dataclass(frozen=True)
class Client:
    """A client with one of its interfaces: its program, and the workloads that it can read."""

    subject: str
    way: str
    decodes: bool
    program: str
    name: str
    workloads: tuple


SOCKET, DEFLATE, SOCKET_TLS, SOCKETS = (
    "websocket-plain-1", "websocket-deflate-plain-1", "websocket-tls-1", "websocket-plain-100")
SSE, GZIP, SSE_TLS, SSES = "sse-plain-1", "sse-gzip-plain-1", "sse-tls-1", "sse-plain-100"
# An event stream of Chat Completions; the others are of the Responses API.
CHAT = "chat-plain-1"
MESSAGES = Client(OWN, "WebSocketClient, for try await", False, "own", "messages", (SOCKET,))
CLIENTS = [
    MESSAGES,
    Client(OWN, "WebSocketClient, borrowed", False, "own", "borrowed-messages", (SOCKET,)),
    Client("picows", "callback", False, "python", "picows-bare", (SOCKET, DEFLATE, SOCKET_TLS, SOCKETS)),
    Client("picows", "callback, json.loads", True, "python", "picows-json", (SOCKET, SOCKETS)),
    Client("picows", "callback, orjson", True, "python", "picows-orjson", (SOCKET, SOCKET_TLS, SOCKETS)),
    Client("aiohttp", "WebSocket, json.loads", True, "python", "aiohttp-json", (SOCKET, DEFLATE, SOCKET_TLS, SOCKETS)),
    Client("websockets", "json.loads", True, "python", "websockets-json",
           (SOCKET, DEFLATE, SOCKET_TLS, SOCKETS)),
    Client("openai", "responses.connect()", True, "python", "openai-websocket", (SOCKET, DEFLATE, SOCKET_TLS)),
    Client("Node", "WebSocket", False, "node", "websocket-bare", (SOCKET, SOCKETS)),
    Client("Node", "WebSocket, JSON.parse", True, "node", "websocket-json", (SOCKET, DEFLATE, SOCKET_TLS, SOCKETS)),
    Client("curl", "to /dev/null", False, "curl", "", (SSE, GZIP, SSE_TLS)),
    Client("URLSession", "delegate", False, "urlsession", "", (SSE, GZIP, SSE_TLS, SSES)),
    Client("aiohttp", "lines, json.loads", True, "python", "aiohttp-lines-json", (SSE, GZIP, SSES)),
    Client("httpx-sse", "json.loads", True, "python", "httpx-sse", (SSE, GZIP, SSE_TLS)),
    Client("openai", "responses.create(stream=True)", True, "python", "openai-sse", (SSE, GZIP, SSE_TLS)),
    Client("openai", "chat.completions.create(stream=True)", True, "python", "openai-chat", (CHAT,)),
    Client("Node", "fetch", False, "node", "fetch-body", (SSE, GZIP, SSES)),
    Client("Node", "fetch, eventsource-parser, JSON.parse", True, "node", "fetch-parser",
           (SSE, GZIP, SSE_TLS, SSES, CHAT)),
    Client("Node", "EventSource, JSON.parse", True, "node", "eventsource", (SSE, GZIP, SSES)),
    # The floor is a bound of the machine: the same work without a library for WebSockets.
    Client(MACHINE, "epoll", True, "native", "epoll", (SOCKET, SOCKET_TLS, SOCKETS)),
    Client("Boost.Beast", "simdjson", True, "native", "beast", (SOCKET, SOCKET_TLS, SOCKETS)),
    Client("tungstenite", "serde_json", True, "native", "tungstenite", (SOCKET, SOCKET_TLS, SOCKETS)),
    Client("Go", "gorilla", True, "native", "go-peers gorilla", (SOCKET, SOCKET_TLS, SOCKETS)),
    Client("Go", "gobwas", True, "native", "go-peers gobwas", (SOCKET, SOCKET_TLS, SOCKETS)),
    Client("Go", "net/http", True, "native", "go-peers http", (SSE, GZIP, SSE_TLS, SSES, CHAT)),
    Client("libcurl", "simdjson", True, "native", "curl", (SSE, GZIP, SSE_TLS, SSES, CHAT)),
    Client("Rust", "TcpStream, serde_json", True, "native", "tungstenite", (CHAT,)),
]
# The least throughput of MESSAGES as a multiple of that of the fastest peer which does not decode.
LEAST_RATIO = 1.0


class Servers:
    """Servers of one response each, started when they are first used."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.processes = {}

    def port(self, delta_count, is_secure, is_compressed):
        key = (delta_count, is_secure, is_compressed)
        if key not in self.processes:
            words = [self.program, "flood", "--messages", str(delta_count), "--core", str(SERVER_CORE)]
            words += ["--deflate", "--gzip"] if is_compressed else []
            words += ["--tls", self.certificate(*key)] if is_secure else []
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.processes[key] = (process, process.stdout.readline().strip())
            if not self.processes[key][1]:
                raise RuntimeError(f"stream-server did not start with {delta_count} messages")
        return self.processes[key][1]

    def certificate(self, delta_count, is_secure, is_compressed):
        """The file of a server's certificate; None without TLS."""
        kind = "compressed" if is_compressed else "plain"
        return str(self.folder / f"{delta_count}-{kind}.pem") if is_secure else None

    def close(self):
        for process, _ in self.processes.values():
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def task_for(client, workload, servers):
    """The task of a client, in the form that stream_peers.py describes."""
    transport, *compression, security, stream_count = workload.split("-")
    is_secure, sizes = security == "tls", SIZES[int(stream_count)]
    speaks_ws = transport == "websocket" and not client.name.startswith("openai")
    scheme = ("ws" if speaks_ws else "http") + ("s" if is_secure else "")
    # Clients are slow with compressed responses, and the server takes long to compress the largest ones.
    sizes = sizes[:5] if compression else sizes
    described = []
    for size in sizes:
        key = (size, is_secure, bool(compression))
        described.append([size, f"{scheme}://127.0.0.1:{servers.port(*key)}", servers.certificate(*key)])
    return {"sizes": described, "streamCount": int(stream_count), "isCompressed": bool(compression),
            "isChat": workload == CHAT, "seconds": SECONDS * (LONG if client.program == "node" else 1),
            "runCount": RUN_COUNT}


def is_built(options, client):
    """Whether a client's program is there; one that cannot be built has been named."""
    return client.program != "native" or (options.native / client.name.split()[0]).exists()


def command(options, client, task):
    if client.program == "own":
        # Its threads go to the client's core by themselves, with the width that they have on the whole machine.
        return [options.bin / "connection-cost", "--peer", client.name, json.dumps(task)]
    program, *words = client.name.split() or [""]
    programs = {
        "python": [options.python, FOLDER / "stream_peers.py", client.name],
        "node": [options.node, "--experimental-eventsource", "--no-warnings", FOLDER / "stream_peers.cjs", client.name],
        "curl": [options.python, FOLDER / "curl_peer.py"],
        "urlsession": [options.bin / "urlsession-peer"],
        "native": [options.native / program, *words],
    }
    return ["taskset", "--cpu-list", str(CLIENT_CORE), *programs[client.program], json.dumps(task)]


def mistake(found, facts):
    """Returns the first difference between a stream and the response; None when there is none."""
    if found["eventCount"] != facts["deltaCount"]:
        return f"{found['eventCount']} events of {facts['deltaCount']}"
    for name, value in found.items():
        if name != "eventCount" and value != facts[name]:
            return f"{name} {value}, in the response {facts[name]}"
    return None


def judge(answer, task, facts):
    """Returns the first mistake in an answer; None when there is none."""
    if not any(name.endswith("Checksum") for name in answer["check"]["streams"][0]):
        return "nothing was checked"
    for run in [answer["check"], *answer["runs"]]:
        if len(run["streams"]) != task["streamCount"]:
            return f"{len(run['streams'])} streams of {task['streamCount']}"
        for found in run["streams"]:
            if wrong := mistake(found, facts):
                return wrong
    return None


def ask(options, client, task):
    """Returns a client's answer; raises RuntimeError with its last line of output."""
    try:
        process = run_limited(command(options, client, task), PATIENCE, env=environment())
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"no answer after {PATIENCE} s") from error
    if process.returncode != 0:
        raise RuntimeError(last_line(process.stderr))
    return json.loads(last_line(process.stdout))


def record(results, client, workload, answer, task, version, turn):
    """Appends two figures, and returns the runs of the first."""
    count = answer["deltaCount"] * task["streamCount"]
    rates = [count / run["seconds"] for run in answer["runs"]]
    costs = [run["processorSeconds"] * 1e9 / count for run in answer["runs"]]
    common = {"group": "end-to-end", "workload": workload, "subject": client.subject, "way": client.way,
              "decodes": client.decodes, "version": version or None, "turn": turn}
    results.figure(measure="throughput", unit="events/s", better="higher", runs=rates, **common)
    results.figure(measure="processor-time", unit="ns/event", better="lower", runs=costs, **common)
    return rates


class Ours:
    """This package at a workload."""

    name = "chappie"

    def __init__(self, options, workload):
        self.options = options
        self.workload = workload
        self.rates = {}

    def measure(self, results, turn):
        words = ["--repetitions", str(RUN_COUNT), f"end-to-end/{self.workload}"]
        for figure in results.own(self.options.bin / "connection-cost", words, turn, PATIENCE):
            if figure["measure"] == "throughput":
                self.rates.setdefault(f"chappie, {figure['way']}", []).extend(figure["runs"])


class Peer:
    """A client at a workload."""

    def __init__(self, options, facts, servers, client, workload):
        self.options = options
        self.facts = facts
        self.client = client
        self.workload = workload
        self.servers = servers
        self.task = None
        self.name = client.subject
        self.rates = {f"{client.subject}, {client.way}": []}
        # The runs of each round.
        self.rounds = {}

    def measure(self, results, turn):
        self.task = self.task or task_for(self.client, self.workload, self.servers)
        answer = ask(self.options, self.client, self.task)
        expected = self.facts[answer["deltaCount"]]
        # This package's program compares every byte itself.
        if self.client.subject != OWN and (wrong := judge(answer, self.task, expected)):
            raise RuntimeError(f"wrong: {wrong}")
        # Later rounds keep the size that the first one chose.
        self.task["sizes"] = [size for size in self.task["sizes"] if size[0] == answer["deltaCount"]]
        version = answer["version"] or (self.options.foundation_version if self.client.subject != OWN else "")
        rates = record(results, self.client, self.workload, answer, self.task, version, turn)
        self.rates[f"{self.client.subject}, {self.client.way}"] += rates
        self.rounds[turn] = rates


def write_bar(results, workload, peers):
    """Appends the ratios of MESSAGES to the fastest peer that does not decode, a round each, with their bar."""
    own = next((peer for peer in peers if peer.client == MESSAGES and peer.rounds), None)
    asked = [peer for peer in peers if peer.client.subject != OWN and not peer.client.decodes]
    others = [peer for peer in asked if peer.rounds]
    measure = "throughput beside the fastest peer without JSON"
    if not own:
        return
    if not others:
        results.missing(f"{OWN}, {MESSAGES.way}", f"{workload}: no verdict: no peer that does not decode",
                        bar=measure if asked else None)
        return
    middle = statistics.median
    best = max(others, key=lambda peer: middle(run for runs in peer.rounds.values() for run in runs))
    ratios = [middle(runs) / middle(best.rounds[turn]) for turn, runs in own.rounds.items() if turn in best.rounds]
    if not ratios:
        results.missing(f"{OWN}, {MESSAGES.way}", f"{workload}: no verdict: no round in common", bar=measure)
        return
    results.figure(group="end-to-end", workload=workload, subject=OWN, way=MESSAGES.way,
                   measure=measure, unit="×", better="higher", runs=ratios,
                   bar={"atLeast": LEAST_RATIO})
    report(f"{OWN}, {MESSAGES.way}, beside {best.client.subject}, {best.client.way}", ratios, "×")
    verdict = "ok" if middle(ratios) >= LEAST_RATIO else "MISSED"
    print(f"  the bar is {LEAST_RATIO:g} × or more: {verdict}", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--native", type=pathlib.Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--node", required=True)
    parser.add_argument("--results")
    parser.add_argument("--filter", default="")
    parser.add_argument("--foundation-version", default="")
    return parser.parse_args()


def names():
    """The names that a filter is compared with."""
    return [name_of(client, workload) for client in CLIENTS for workload in client.workloads]


def name_of(client, workload):
    return f"end-to-end/{workload} {client.subject}, {client.way}"


def chosen(wanted):
    """Returns the clients that a filter selects, by workload, in the order of measuring."""
    order = [SOCKET, DEFLATE, SOCKET_TLS, SOCKETS, SSE, GZIP, SSE_TLS, SSES, CHAT]
    # A workload's whole name selects it alone, though it may be a part of a longer name.
    order = [workload for workload in order if wanted in (workload, f"end-to-end/{workload}")] or order
    found = {workload: [client for client in CLIENTS if workload in client.workloads
                        and wanted in name_of(client, workload)] for workload in order}
    return {workload: clients for workload, clients in found.items() if clients}


def main():
    if sys.argv[1:] == ["--names"]:
        print(*names(), sep="\n")
        return
    options = arguments()
    end_on_request()
    results = Results(options.results)
    sizes = sorted({size for sizes in SIZES.values() for size in sizes})
    lines = subprocess.run([options.bin / "stream-facts", *map(str, sizes)], check=True, capture_output=True, text=True)
    facts = {item["deltaCount"]: item for item in map(json.loads, lines.stdout.splitlines())}
    with tempfile.TemporaryDirectory() as folder:
        servers = Servers(options.bin / "stream-server", pathlib.Path(folder))
        try:
            for workload, clients in chosen(options.filter).items():
                print(f"end-to-end {workload}", flush=True)
                peers = [Peer(options, facts, servers, client, workload) for client in clients
                         if is_built(options, client)]
                subjects = [Ours(options, workload), *peers]
                in_rounds(ROUNDS, subjects, lambda subject, turn: subject.measure(results, turn),
                          lambda subject, error: results.missing(subject.name, f"{workload}: {error}"))
                for subject in subjects:
                    for name, rates in subject.rates.items():
                        report(name, rates, "events/s")
                write_bar(results, workload, peers)
        finally:
            servers.close()


if __name__ == "__main__":
    sys.exit(main())
