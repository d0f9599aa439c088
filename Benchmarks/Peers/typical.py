"""Reads paced responses of stream-server with this package and with other people's clients, in rounds on one core.

Usage: typical.py --bin FOLDER --native FOLDER [--results FILE] [--filter TEXT]
       typical.py --names

The folders have the programs of the benchmarks, and those of native. A workload such as `websocket-plain-100x50` has
100 streams of 50 events a second each, at moments that vary; each event has its moment in its text. The server begins
when all responses are requested. A client measures from a fifth of the events on to nine tenths of them. At the end it
names the number of all events and the sum of all moments, which must be those of the server.

The floods are those of end_to_end.py in a process for each interface, for the bars that are about them.

A bar applies to the ratio or the difference of two clients in the same round, in the median of all rounds. Status 1:
this package has failed.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import end_to_end
from end_to_end import OWN, Client
from results import (
    CLIENT_CORE, SERVER_CORE, Results, end_on_request, environment, in_rounds, last_line, report, run_limited)

ROUNDS = 5
# The seconds after which a client counts as hanging.
PATIENCE = 120
# A flood of one stream is this many blocks of the server: in one response, or, for this package, in a response each,
# because numbers of events do not repeat in a response.
BLOCK_COUNT = 8
MEBIBYTE = 1 << 20
# The share of late events from which a server is named: it sends what it has missed at once, which is other work.
LATE_SHARE = 0.02

EVENTS, BATCHES, EXECUTOR, MAIN_ACTOR = (
    Client(OWN, way, True, "own", kind, ()) for way, kind in [
        ("events()", "sequence"), ("batches()", "batches"), ("events(), executor", "sequence-executor"),
        ("events(), main actor", "sequence-main-actor")])
PEERS = {client.name: client for client in end_to_end.CLIENTS if client.program == "native"}
FLOOR, BEAST = PEERS["epoll"], PEERS["beast"]
# Those that are compared by a bar have their turns next to each other.
SOCKETS = (EXECUTOR, FLOOR, EVENTS, BEAST, BATCHES, PEERS["tungstenite"], PEERS["go-peers gorilla"],
           PEERS["go-peers gobwas"])
STREAMS = (EVENTS, PEERS["curl"], BATCHES, PEERS["go-peers http"])


@dataclasses.dataclass(frozen=True)
class Workload:
    """Streams over a transport: `rate` events a second on each, or as fast as they are read when it is 0."""

    transport: str
    stream_count: int
    rate: int
    delta_count: int
    clients: tuple

    @property
    def name(self):
        return f"{self.transport}-{self.stream_count}" + (f"x{self.rate}" if self.rate else "")

    def response(self, client):
        """Returns the number of the deltas in a response."""
        is_long = not self.rate and self.stream_count == 1 and client.subject != OWN
        return self.delta_count * (BLOCK_COUNT if is_long else 1)

    @property
    def is_secure(self):
        return self.transport.endswith("tls")


ONE, MANY, CROWD = (1, 50, 200), (100, 50, 150), (5_000, 10, 40)
WORKLOADS = [
    *(Workload(f"websocket-{security}", *numbers, SOCKETS) for numbers in (ONE, MANY, CROWD)
      for security in ("plain", "tls")),
    Workload("sse-plain", *MANY, STREAMS),
    Workload("websocket-plain", 1, 1_000, 2_000, (EXECUTOR, FLOOR, EVENTS, BEAST)),
    Workload("websocket-plain", 10_000, 10, 40, (FLOOR, EVENTS, EXECUTOR, PEERS["go-peers gorilla"])),
    Workload("flood-plain", 1, 0, 65_536, (MAIN_ACTOR, EVENTS, BATCHES, FLOOR)),
    Workload("flood-tls", 1, 0, 65_536, (BATCHES, BEAST)),
    Workload("flood-plain", 100, 0, 4_096, (EVENTS, BATCHES, BEAST, PEERS["tungstenite"], PEERS["go-peers gorilla"])),
]


@dataclasses.dataclass(frozen=True)
class Bar:
    """A limit for a measure of a client, or for its ratio to or its difference from the same measure of another."""

    workload: str
    measure: str
    client: Client
    limit: dict
    other: Client = None
    # The words between the measure and the other client; a difference is `added to`.
    relation: str = "beside"

    @property
    def name(self):
        if not self.other:
            return self.measure
        other = {FLOOR: "raw epoll", BEAST: "Beast"}.get(self.other, self.other.way)
        return f"{self.measure} {self.relation} {other}"

    def value(self, own, other):
        return own - other if self.relation == "added to" else own / other


# The other programs read on the thread that has the sockets, as the executor does.
BARS = [
    *(Bar(f"websocket-plain-{name}", "processor-time", client, {"atMost": limit}, FLOOR)
      for name, limit in (("100x50", 1.4), ("1x50", 1.6), ("5000x10", 1.5)) for client in (EVENTS, EXECUTOR)),
    Bar("websocket-tls-100x50", "processor-time", EVENTS, {"atMost": 1.0}, BEAST),
    Bar("flood-tls-1", "processor-time", BATCHES, {"atMost": 1.0}, BEAST),
    Bar("flood-plain-1", "throughput", EVENTS, {"atLeast": 0.85}, BATCHES),
    Bar("flood-plain-1", "processor-time", BATCHES, {"atMost": 1.2}, FLOOR),
    Bar("flood-plain-1", "processor-time", MAIN_ACTOR, {"atMost": 100}, EVENTS, "added to"),
    Bar("websocket-plain-1x1000", "lag-p50", EVENTS, {"atMost": 25}, FLOOR, "added to"),
    Bar("websocket-plain-1x1000", "lag-p50", EXECUTOR, {"atMost": 8}, FLOOR, "added to"),
    Bar("flood-plain-100", "memory", EVENTS, {"atMost": 40 * MEBIBYTE}),
    Bar("websocket-plain-10000x10", "arrived", EVENTS, {"atLeast": 0.99}),
    Bar("websocket-plain-10000x10", "core", EVENTS, {"atMost": 0.7}),
]
# The unit of each measure, and its better direction.
UNITS = {
    "throughput": ("events/s", "higher"), "switches": ("/event", "lower"), "lag-p50": ("µs", "lower"),
    "lag-p99": ("µs", "lower"), "memory": ("bytes", "lower"), "arrived": ("", "higher"), "core": ("", "lower"),
}


def who(client):
    return f"{client.subject}, {client.way}"


def unit(workload, measure):
    """Returns the unit and the better direction of a measure."""
    return UNITS.get(measure) or ("µs/event" if workload.rate else "ns/event", "lower")


class Server:
    """A server of one workload, for one client."""

    def __init__(self, program, workload, client, folder):
        words = [program, "pace" if workload.rate else "flood", "--messages", workload.response(client), "--core",
                 SERVER_CORE]
        if workload.rate:
            words += ["--rate", workload.rate, "--jitter", "--held", workload.stream_count]
        self.certificate = str(folder / "certificate.pem") if workload.is_secure else None
        words += ["--tls", self.certificate] if workload.is_secure else []
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.port = self.process.stdout.readline().strip()
        if not self.port:
            raise RuntimeError("stream-server did not start")

    def end(self):
        """Ends the server; returns the number of the paced events, the sum of their moments, and the number of those
        that were late, as texts."""
        try:
            return self.process.communicate(timeout=10)[0].split()
        finally:
            self.process.kill()


def task_for(workload, client, server):
    """The task of a client, in the form of stream_peers.py, and of native/peer.hpp when it is paced."""
    scheme = ("ws" if workload.transport.startswith("websocket") or not workload.rate else "http") + (
        "s" if workload.is_secure else "")
    task = {"sizes": [[workload.response(client), f"{scheme}://127.0.0.1:{server.port}", server.certificate]],
            "streamCount": workload.stream_count, "isCompressed": False, "seconds": 0, "runCount": end_to_end.RUN_COUNT}
    count = workload.stream_count * workload.delta_count
    return task | ({"first": count // 5, "last": count * 9 // 10} if workload.rate else {})


def command(options, client, task):
    if client.program == "own":
        # Its threads go to the client's core by themselves, with the width that they have on the whole machine.
        responses = BLOCK_COUNT if task["streamCount"] == 1 else 1
        return [options.bin / "connection-cost", "--peer", client.name, json.dumps(task | {"responseCount": responses})]
    program, *words = client.name.split()
    return ["taskset", "--cpu-list", str(CLIENT_CORE), options.native / program, *words, json.dumps(task)]


def mistake(workload, client, answer, task, sent, facts):
    """Returns the first difference between an answer and what the server has sent; None when there is none."""
    if workload.rate:
        found = [str(answer["eventCount"]), str(answer["momentSum"])]
        same = found == sent[:2]
        return None if same else f"{found[0]} events with the sum {found[1]}, sent {' with '.join(sent[:2])}"
    # This package's program compares every byte itself.
    return None if client.subject == OWN else end_to_end.judge(answer, task, facts)


def values(workload, answer, task):
    """Returns the runs of each measure of an answer."""
    memory = {"memory": [answer["memoryBytes"]]}
    if not workload.rate:
        count = answer["deltaCount"] * workload.stream_count
        return {"throughput": [count / run["seconds"] for run in answer["runs"]],
                "processor-time": [run["processorSeconds"] * 1e9 / count for run in answer["runs"]], **memory}
    count, seconds = task["last"] - task["first"], answer["seconds"]
    return {"processor-time": [answer["processorSeconds"] * 1e6 / count],
            "switches": [answer["switchCount"] / count],
            "lag-p50": [answer["lags"][0] / 1e3], "lag-p99": [answer["lags"][1] / 1e3], **memory,
            "core": [answer["processorSeconds"] / seconds],
            "arrived": [count / seconds / (workload.stream_count * workload.rate)]}


class Measurement:
    """The runs of a workload by client, measure and round; `clients` are those that a filter selects."""

    def __init__(self, workload, clients=None):
        self.workload = workload
        self.clients = workload.clients if clients is None else clients
        self.runs = {}
        self.versions = {}
        self.late = []

    def take(self, client, turn, found, version, late=0.0):
        self.versions[client] = version
        self.late.append(late)
        for measure, runs in found.items():
            self.runs.setdefault((client, measure), {})[turn] = runs

    def write(self, results):
        """Appends a figure of each client and measure, and one of each bar that compares two clients."""
        bars = [bar for bar in BARS if bar.workload == self.workload.name]
        own_limits = {(bar.client, bar.measure): bar.limit for bar in bars if not bar.other}
        for (client, measure), rounds in self.runs.items():
            # A share of a core or of the events has a meaning where there is a bar for it.
            if measure in ("core", "arrived") and not any(measure == name for _, name in own_limits):
                continue
            self.figure(results, client, measure, [run for runs in rounds.values() for run in runs],
                        *unit(self.workload, measure), own_limits.get((client, measure)))
        late = statistics.mean(self.late or [0])
        if late > LATE_SHARE:
            results.missing("stream-server", f"typical/{self.workload.name}: {late:.0%} of the events were late, the "
                            "figures are doubtful")
        for bar in bars:
            compared = self.compared(bar) if bar.other else []
            if not compared and (bar.other or (bar.client, bar.measure) not in self.runs):
                # A filter that leaves the other program out does not ask for the verdict.
                is_asked = bar.other is None or bar.other in self.clients
                results.missing(who(bar.other or bar.client), f"typical/{self.workload.name}: no verdict: {bar.name}",
                                bar=bar.name if is_asked else None)
            elif compared:
                name, better = unit(self.workload, bar.measure)
                name = name if bar.relation == "added to" else "×"
                self.figure(results, bar.client, bar.name, compared, name, better, bar.limit)

    def compared(self, bar):
        """Returns the value of a bar in each round in which both clients have one."""
        own, other = (self.runs.get((client, bar.measure), {}) for client in (bar.client, bar.other))
        middle = statistics.median
        return [bar.value(middle(own[turn]), middle(other[turn])) for turn in own if turn in other]

    def figure(self, results, client, measure, runs, name, better, bar):
        version = self.versions.get(client)
        results.figure(group="typical", workload=self.workload.name, subject=client.subject, way=client.way,
                       measure=measure, unit=name, better=better, runs=runs, bar=bar, version=version or None,
                       decodes=None if client.subject == OWN else client.decodes)


def measure(options, facts, workload, client, turn, measurement):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(options.bin / "stream-server", workload, client, pathlib.Path(folder))
        sent = []
        try:
            task = task_for(workload, client, server)
            process = run_limited(command(options, client, task), PATIENCE, env=environment())
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"no answer after {PATIENCE} s") from error
        finally:
            sent = server.end()
    if process.returncode != 0:
        raise RuntimeError(last_line(process.stderr))
    answer = json.loads(last_line(process.stdout))
    if wrong := mistake(workload, client, answer, task, sent, facts.get(workload.response(client))):
        raise RuntimeError(f"wrong: {wrong}")
    late = int(sent[2]) / max(1, int(sent[0])) if workload.rate else 0.0
    measurement.take(client, turn, values(workload, answer, task), answer["version"], late)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--native", type=pathlib.Path, required=True)
    parser.add_argument("--results")
    parser.add_argument("--filter", default="")
    return parser.parse_args()


def name_of(workload, client):
    return f"typical/{workload.name} {who(client)}"


def names():
    """The names that a filter is compared with."""
    return [name_of(workload, client) for workload in WORKLOADS for client in workload.clients]


def chosen(wanted):
    """Returns the workloads that a filter selects with their clients; this package is always one of them."""
    # A workload's whole name selects it alone, though it may be a part of a longer name.
    exact = [workload for workload in WORKLOADS if wanted in (workload.name, f"typical/{workload.name}")]
    found = [(workload, [client for client in workload.clients if wanted in name_of(workload, client)])
             for workload in exact or WORKLOADS]
    return [(workload, [client for client in workload.clients if client in clients or client.subject == OWN])
            for workload, clients in found if clients]


def main():
    if sys.argv[1:] == ["--names"]:
        print(*names(), sep="\n")
        return 0
    options = arguments()
    end_on_request()
    results = Results(options.results)
    sizes = sorted({workload.response(client) for workload in WORKLOADS if not workload.rate
                    for client in workload.clients})
    lines = subprocess.run([options.bin / "stream-facts", *map(str, sizes)], check=True, capture_output=True, text=True)
    facts = {item["deltaCount"]: item for item in map(json.loads, lines.stdout.splitlines())}
    status = 0
    for workload, clients in chosen(options.filter):
        print(f"typical {workload.name}", flush=True)
        measurement = Measurement(workload, clients)

        def fail(client, error):
            nonlocal status
            results.missing(who(client), f"typical/{workload.name}: {error}")
            if client.subject == OWN:
                print(f"bench-peers.sh: typical/{workload.name}: {error}", file=sys.stderr, flush=True)
                status = 1

        in_rounds(ROUNDS, [client for client in clients if end_to_end.is_built(options, client)],
                  lambda client, turn: measure(options, facts, workload, client, turn, measurement), fail)
        measurement.write(results)
        for (client, name), rounds in measurement.runs.items():
            if name == "processor-time":
                report(who(client), [run for runs in rounds.values() for run in runs], unit(workload, name)[0])
    return status


if __name__ == "__main__":
    sys.exit(main())
