#!/usr/bin/env python3
"""Runs a client against the lying server, and holds what it delivered against the promise.

    run.py --client BIN                       the scripts in found/, and 200 seeds
    run.py --client BIN --seeds A..B          those seeds
    run.py --client BIN --found               the scripts in found/
    run.py --client BIN --scenarios           the built-in scenarios of `chappie serve`, behind a relay that records
    run.py --client BIN --one SEED            one seed, with everything that was sent and received
    run.py --client BIN --one SEED --minimise --write FILE
    run.py --client BIN --script FILE         one script, likewise
    run.py --records FILE                     runs that another program has recorded; --only NAME for one, with everything

Exit code: 0 when every sentence held, 1 when one was broken, 2 when the program could not run.
"""

import argparse
import collections
import concurrent.futures
import copy
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

import dialects
import oracle
import records
import relay
import server

HERE = pathlib.Path(__file__).resolve().parent
FOUND = HERE / "found"
TIMEOUT = 6
GRACE = 14
RUNS = "runs"   # the file in which a tool notes its arguments, a line for each run


def command(binary, script, url, folder):
    client = script.get("client", {})
    result = [binary, "stream", "--json", "--base-url", url, "--max-reconnects", str(client.get("reconnects", 2)),
              "--hedge-delay", "0", "--connect-timeout", "4", "--first-event-timeout", "3", "--idle-timeout", "1.5",
              "--progress-timeout", "3", "--timeout", str(TIMEOUT), "--retry-429", "0",
              "--report", os.path.join(folder, "report.json")]
    if client.get("http"):
        result.append("--http-only")
    for option, name in (("--recovery", "recovery"), ("--on-divergence", "divergence"), ("--dialect", "dialect")):
        if client.get(name):
            result += [option, client[name]]
    if client.get("raw"):
        result += ["--raw", client["raw"]]
    if client.get("tools"):
        note = shlex.quote(os.path.join(folder, RUNS))
        noting = f"arguments=$(cat); printf '%s\\n' \"$arguments\" >> {note}"   # at once, as tools run side by side
        result += ["--tool", f"now={noting}; echo noon", "--approve", "always"]
    if client.get("kept"):
        path = os.path.join(folder, "request.json")
        with open(path, "w") as file:
            json.dump({"model": "m", "input": "Hello", "background": True, "store": True, "stream": True}, file)
        return result + ["--request", path]
    return result + ["Hello"]


def play(binary, script):
    """Runs one script; returns the record, the outcome and the failures."""
    if "scenario" in script:
        return play_scenario(binary, script)
    liar = server.LyingServer(script)
    outcome = run_client(binary, script, liar.url)
    liar.stop()
    return judged(liar.exchanges, outcome, script)


def play_scenario(binary, script):
    """Runs a scenario of the package's own server, whose words are read on the way to the client."""
    served = subprocess.Popen([binary, "serve", "--scenario", script["scenario"]], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment())
    try:
        url = served.stdout.readline().decode().split()[-1]
        if not url.startswith("http://"):
            return [], {"events": [], "exit": None, "seconds": 0}, []   # what is in TLS cannot be read
        between = relay.Relay(url)
        outcome = run_client(binary, script, between.url)
        between.stop()
    finally:
        served.kill()
        served.communicate()
    return judged(between.exchanges, outcome, script)


def environment():
    kept = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")
    result = {name: os.environ[name] for name in kept if name in os.environ}
    result.update(OPENAI_API_KEY="sk-test", NO_PROXY="*", SWIFT_BACKTRACE="enable=no")
    return result


def run_client(binary, script, url):
    """Lets the client read one turn from a server; returns the outcome."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        hung = False
        process = subprocess.Popen(command(binary, script, url, folder), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=folder)
        try:
            output, errors = process.communicate(timeout=TIMEOUT + GRACE)
        except subprocess.TimeoutExpired:
            hung = True
            process.kill()
            output, errors = process.communicate()
        seconds = time.monotonic() - started
        noted = pathlib.Path(folder, RUNS)
        ran = noted.read_text(errors="replace").splitlines() if noted.exists() else []
    events = []
    for line in output.decode("utf-8", "replace").splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            events.append({"type": "not JSON", "text": line})
    client = script.get("client", {})
    return {"events": events, "exit": process.returncode, "seconds": seconds, "budget": TIMEOUT, "hung": hung,
            "tools": bool(client.get("tools")), "ran": ran, "stderr": errors.decode("utf-8", "replace"),
            "policy": {name: client[name] for name in ("recovery", "divergence") if client.get(name)}}


def judged(exchanges, outcome, script):
    exchanges = json.loads(json.dumps(exchanges))
    try:
        failures = oracle.judge(exchanges, outcome, script.get("permitted"))
    except Exception as error:
        failures = [oracle.Failure("the oracle can judge every run", f"{type(error).__name__}: {error}")]
    return exchanges, outcome, failures


def scenarios(binary):
    """Each scenario over both transports, with a response that is kept, and in the other dialects."""
    listed = subprocess.run([binary, "serve", "--list-scenarios"], capture_output=True, text=True, check=True).stdout
    # A scenario begins its line with two blanks and its name; headings have none, and continued lines have more.
    for name in re.findall(r"^  (\S+)", listed, re.MULTILINE):
        for kind, client in (("websocket", {}), ("http", {"http": True}), ("kept", {"kept": True}),
                             ("chat", {"dialect": "chat"}), ("messages", {"dialect": "messages"})):
            yield {"name": f"{name}/{kind}", "kind": "scenario", "scenario": name, "client": client}


def minimised(binary, script, sentence):
    """Returns the script without the steps and settings that its failure does not need."""
    def fails(candidate):
        return any(failure.sentence == sentence for failure in play(binary, candidate)[2])

    def attempt(change):
        nonlocal script
        candidate = copy.deepcopy(script)
        change(candidate)
        if candidate != script and fails(candidate):
            script = candidate

    attempt(lambda s: s.pop("permitted", None))
    attempt(lambda s: s.pop("upgrade", None))
    attempt(lambda s: [a.pop("chunk", None) for a in s["answers"]])
    for index in reversed(range(len(script["answers"]))):
        if len(script["answers"]) > 1:
            attempt(lambda s: s["answers"].pop(index))
    size = 8
    while size:
        for answer in range(len(script["answers"])):
            for place in reversed(range(0, len(script["answers"][answer]["steps"]), size)):
                attempt(lambda s: s["answers"][answer]["steps"].__delitem__(slice(place, place + size)))
        size //= 2
    return script


def load(path):
    return json.loads(pathlib.Path(path).read_text())


def show(script, exchanges, outcome, failures):
    print(json.dumps({k: v for k, v in script.items() if k != "answers"}, ensure_ascii=False))
    for exchange in exchanges:
        print(f"answer {exchange.get('answer', exchange['number'])} on connection {exchange['connection']} ({exchange['transport']}), "
              f"round {exchange['round']}, {json.dumps(exchange['request'])}")
        for sent in exchange["sent"]:
            print("   ", "LATE" if sent.get("late") else "", json.dumps(sent.get("event", sent.get("raw")),
                                                                        ensure_ascii=False)[:300])
    print(f"received, exit code {outcome['exit']} after {outcome['seconds']:.2f} s:")
    for event in outcome["events"]:
        print("   ", json.dumps(event, ensure_ascii=False)[:400])
    for failure in failures:
        print("BROKEN:", failure)


def show_records(paths, name):
    status = 2
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for record in map(json.loads, file):
                if record["name"] != name:
                    continue
                for exchanges, outcome, failures in records.judged(record):
                    show({"name": name}, exchanges, outcome, failures)
                    status = max(status % 2, bool(failures))
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", help="the program chappie")
    parser.add_argument("--records", action="append", default=[], help="a file of records, may be given several times")
    parser.add_argument("--only", help="with --records: the record of this name, with all that was sent and received")
    parser.add_argument("--script", action="append", default=[], help="a script, may be given several times")
    parser.add_argument("--one", help="one seed")
    parser.add_argument("--seeds", help="A..B")
    parser.add_argument("--minimise", action="store_true", help="with --one: leave out what the failure does not need")
    parser.add_argument("--found", action="store_true", help="the scripts in found/")
    parser.add_argument("--scenarios", action="store_true", help="the scenarios of chappie serve")
    parser.add_argument("--scenario", help="one of them, with everything that was sent and received")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0, help="begin no run after this time; 0 for no limit")
    parser.add_argument("--write", help="with --one: write the script into this file")
    options = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")
    if options.records:
        if options.only:
            return show_records(options.records, options.only)
        return records.main(options.records, options.jobs, records.SHOWN)
    if not options.client:
        parser.error("--client or --records is needed")
    binary = os.path.abspath(options.client)
    if not os.access(binary, os.X_OK):
        print(f"run.py: {binary} cannot be run", file=sys.stderr)
        return 2
    scripts = [load(path) for path in options.script]
    if options.one is not None:
        scripts.append(dialects.make(options.one))
        if options.minimise:
            failures = play(binary, scripts[-1])[2]
            if failures:
                scripts[-1] = minimised(binary, scripts[-1], failures[0].sentence)
        if options.write:
            pathlib.Path(options.write).write_text(json.dumps(scripts[-1], ensure_ascii=False, indent=1) + "\n")
    if options.scenario:
        scripts += [script for script in scenarios(binary) if script["name"] == options.scenario]
    if len(scripts) == 1 and not options.seeds and not options.found and not options.scenarios:
        exchanges, outcome, failures = play(binary, scripts[0])
        show(scripts[0], exchanges, outcome, failures)
        return 1 if failures else 0
    seeds = options.seeds
    if options.scenarios:
        scripts += scenarios(binary)
    if options.found or not scripts and not seeds:
        scripts += [load(path) for path in sorted(FOUND.glob("*.json"))]
        seeds = seeds or ("1..200" if not options.found else None)
    first, last = (int(part) for part in seeds.split("..")) if seeds else (1, 0)
    jobs = [lambda s=s: s for s in scripts] + [lambda n=n: dialects.make(n) for n in range(first, last + 1)]
    started, broken, runs, completed, failed = time.monotonic(), collections.Counter(), 0, 0, 0

    def one(job):
        if options.seconds and time.monotonic() - started > options.seconds:
            return None
        script = job()
        return script, *play(binary, script)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(one, jobs):
            if result is None:
                continue
            script, _, outcome, failures = result
            runs += 1
            completed += outcome["exit"] == 0
            failed += bool(failures)
            for failure in failures:
                broken[failure.sentence] += 1
                print(f"{script['name']} [{script.get('kind', '')} {' '.join(script.get('notes', []))}] "
                      f"{str(failure)[:600]}", flush=True)
    print(f"{runs} runs in {time.monotonic() - started:.0f} s, {completed} completed, {failed} broke a sentence")
    for sentence, count in broken.most_common():
        print(f"  {count:5} {sentence}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
