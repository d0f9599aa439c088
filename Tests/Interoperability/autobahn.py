"""What Scripts/autobahn.sh asks of Python: the suite's specification file, waiting for its server, reading its results.

Usage: autobahn.py specification --selection quick|full --output FOLDER     prints the server's URL
       autobahn.py await --url URL --seconds N
       autobahn.py report --output FOLDER                                  exit 1 when a case failed
"""

import argparse
import collections
import json
import pathlib
import re
import socket
import sys
import time
import urllib.parse

# All there is but compression, which is groups 12 and 13.
FRAMING_GROUPS = [f"{group}.*" for group in (1, 2, 3, 4, 5, 6, 7, 9, 10)]
# Of the 18 cases in each part: messages of 16 bytes to 4 KiB, and of 8 KiB in frames of 256 bytes. The larger ones
# take minutes, which the suite's own Python spends.
COMPRESSION_SIZES = (1, 2, 3, 4, 5, 11)
COMPRESSION_CASES = [
    f"{group}.{part}.{size}"
    for group, parts in ((12, 5), (13, 7))
    for part in range(1, parts + 1)
    for size in COMPRESSION_SIZES
]

ACCEPTABLE = {"OK", "NON-STRICT", "INFORMATIONAL"}


def write_specification(selection, output):
    """Writes the fuzzing server's configuration for a free port and prints its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"ws://127.0.0.1:{probe.getsockname()[1]}"
    cases = ["*"] if selection == "full" else FRAMING_GROUPS + COMPRESSION_CASES
    specification = {
        "url": url,
        "outdir": str(output / "reports"),
        "cases": cases,
        "exclude-cases": [],
        "exclude-agent-cases": {},
    }
    (output / "specification.json").write_text(json.dumps(specification, indent=2))
    print(url)


def await_server(url, seconds):
    """Waits until something listens at the URL."""
    address = urllib.parse.urlparse(url)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection((address.hostname, address.port), timeout=1).close()
            return 0
        except OSError:
            time.sleep(0.1)
    print(f"nothing listens at {url} after {seconds} s", file=sys.stderr)
    return 1


def case_order(name):
    """Sorts 2.10 behind 2.9."""
    return [int(part) for part in name.split(".")]


def report(output):
    """Prints counts and every case that is not acceptable; 1 when one failed or none or not all were run."""
    index = output / "reports" / "index.json"
    if not index.exists():
        print("the suite wrote no results", file=sys.stderr)
        return 1
    agents = json.loads(index.read_text())
    announced = re.search(r"will run (\d+) test cases", (output / "server.log").read_text())
    failed = False
    for agent, cases in agents.items():
        for field in ("behavior", "behaviorClose"):
            counts = collections.Counter(case[field] for case in cases.values())
            print(f"{agent} {field}: " + ", ".join(f"{count} {name}" for name, count in counts.most_common()))
        for name in sorted(cases, key=case_order):
            case = cases[name]
            behaviors = {case["behavior"], case["behaviorClose"]}
            if not behaviors <= ACCEPTABLE:
                print(
                    f"  {name}: behavior {case['behavior']}, close {case['behaviorClose']}"
                    f" (code {case['remoteCloseCode']}), {case['reportfile']}"
                )
            failed = failed or "FAILED" in behaviors
        if announced and len(cases) != int(announced.group(1)):
            print(f"  only {len(cases)} of {announced.group(1)} cases have a result")
            failed = True
    return 1 if failed or not agents else 0


def main():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    specification = commands.add_parser("specification")
    specification.add_argument("--selection", choices=["quick", "full"], required=True)
    specification.add_argument("--output", type=pathlib.Path, required=True)
    waiting = commands.add_parser("await")
    waiting.add_argument("--url", required=True)
    waiting.add_argument("--seconds", type=float, required=True)
    reporting = commands.add_parser("report")
    reporting.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if arguments.command == "specification":
        return write_specification(arguments.selection, arguments.output)
    if arguments.command == "await":
        return await_server(arguments.url, arguments.seconds)
    return report(arguments.output)


if __name__ == "__main__":
    sys.exit(main())
