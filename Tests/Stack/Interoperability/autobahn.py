"""Python's part of Scripts/autobahn.sh: a server's specification file, waiting for the server, reading its results.

Usage: autobahn.py specification --selection check|quick|full --part N --of M --scheme ws|wss --output FOLDER
                                             prints the server's URL
       autobahn.py await --url URL --seconds N
       autobahn.py report --output FOLDER    prints a table of all parts; exit 1 when a case failed, or is non-strict
                                             and not in ACCEPTED
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

from free_port import free_port

# Groups 1 to 7 are frames, text and the close; 9 is large and many messages; 10 fragments; 12 and 13 compression.
SMALL_GROUPS = [f"{group}.*" for group in (1, 2, 3, 4, 5, 6, 7, 10)]
LARGE_GROUPS = [f"9.{part}.*" for part in range(1, 9)]
COMPRESSION_GROUPS = [(12, part) for part in range(1, 6)] + [(13, part) for part in range(1, 8)]

# Of the 18 cases in each part of 12 and 13: messages of 16 bytes to 4 KiB, and of 8 KiB in frames of 256 bytes. The
# larger ones take minutes, which the suite's own Python spends.
QUICK_SIZES = (1, 2, 3, 4, 5, 11)
# 16 bytes, 1 KiB, and 8 KiB in frames.
CHECK_SIZES = (1, 4, 11)
# Messages of up to 1 MiB whole and of 4 MiB in fragments and chops; not those of 4 to 16 MiB whole (9.1.4 to 9.2.6),
# nor thousand round trips of each size (9.7, 9.8).
CHECK_LARGE = [f"9.{part}.{case}" for part in (1, 2) for case in (1, 2, 3)] + [f"9.{part}.*" for part in (3, 4, 5, 6)]

# Non-strict cases that are accepted, each with the reason. There are none.
ACCEPTED = {}

# Cases that the suite itself calls informational: no outcome is wrong.
#   7.1.6           a close frame behind 256 KiB: whether the message is echoed first is open
#   7.13.1, 7.13.2  close codes 5000 and 65535, of which RFC 6455 only says that they are not used
RESULTS = ("OK", "NON-STRICT", "INFORMATIONAL", "FAILED")


def patterns(selection):
    """The cases of a selection, as the suite's own patterns; neighbours take about as long as each other."""
    if selection == "full":
        return SMALL_GROUPS + LARGE_GROUPS + [f"{group}.{part}.*" for group, part in COMPRESSION_GROUPS]
    sizes, large = (QUICK_SIZES, LARGE_GROUPS) if selection == "quick" else (CHECK_SIZES, CHECK_LARGE)
    cases = [f"{group}.{part}.{size}" for size in sizes for group, part in COMPRESSION_GROUPS]
    return SMALL_GROUPS + large + cases


def write_specification(arguments):
    """Writes the fuzzing server's configuration for a free port and prints its URL."""
    url = f"{arguments.scheme}://127.0.0.1:{free_port()}"
    specification = {
        "url": url,
        "outdir": str(arguments.output / "reports"),
        "cases": patterns(arguments.selection)[arguments.part :: arguments.of],
        "exclude-cases": [],
        "exclude-agent-cases": {},
    }
    if arguments.scheme == "wss":
        specification["key"] = str(arguments.output.parent / "key.pem")
        specification["cert"] = str(arguments.output.parent / "certificate.pem")
    (arguments.output / "specification.json").write_text(json.dumps(specification, indent=2))
    print(url)
    return 0


def await_server(url, seconds):
    """Waits until a server listens at the URL."""
    address = urllib.parse.urlparse(url)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with socket.create_connection((address.hostname, address.port), timeout=1):
                return 0
        except OSError:
            pass
        time.sleep(0.1)
    print(f"nothing listens at {url} after {seconds} s", file=sys.stderr)
    return 1


def case_order(name):
    """Sorts 2.10 behind 2.9."""
    return [int(part) for part in name.split(".")]


def read_part(part):
    """The results of one server by case, and whether there are as many as it has announced."""
    index = part / "reports" / "index.json"
    agents = json.loads(index.read_text()) if index.exists() else {}
    cases = {name: case for agent in agents.values() for name, case in agent.items()}
    announced = re.search(r"will run (\d+) test cases", (part / "server.log").read_text())
    wanted = int(announced.group(1)) if announced else None
    if not cases or len(cases) != wanted:
        print(f"  part {part.name}: {len(cases)} of {wanted} cases have a result")
        return cases, False
    return cases, True


def verdict(case):
    """Returns the worse of the verdicts on the messages and on the close."""
    found = {case["behavior"], case["behaviorClose"]}
    # UNCLEAN, WRONG CODE and whatever else the suite finds are failures.
    if not found <= set(RESULTS):
        return "FAILED"
    return max(found, key=RESULTS.index)


def print_table(verdicts):
    """A line a group, and the sum."""
    rows = collections.defaultdict(collections.Counter)
    for name, result in verdicts.items():
        rows[name.split(".")[0]][result] += 1
    total = sum(rows.values(), collections.Counter())
    print("  group " + "".join(f"{result:>15}" for result in RESULTS))
    for group in sorted(rows, key=int):
        print(f"  {group:>5} " + "".join(f"{rows[group][result]:>15}" for result in RESULTS))
    print("    all " + "".join(f"{total[result]:>15}" for result in RESULTS))


def report(output):
    """Prints a table and every failed case; returns 1 when there is one, or results are missing."""
    cases = {}
    is_good = True
    for part in sorted(path for path in output.iterdir() if path.is_dir()):
        results, is_whole = read_part(part)
        cases.update(results)
        is_good = is_good and is_whole
    verdicts = {name: verdict(case) for name, case in cases.items()}
    print_table(verdicts)
    for name in sorted(verdicts, key=case_order):
        case, result = cases[name], verdicts[name]
        if result in ("OK", "INFORMATIONAL"):
            continue
        if result == "NON-STRICT" and name in ACCEPTED:
            print(f"  {name}: non-strict, accepted: {ACCEPTED[name]}")
            continue
        is_good = False
        print(
            f"  {name}: behavior {case['behavior']}, close {case['behaviorClose']}"
            f" (code {case['remoteCloseCode']}), {case['reportfile']}"
        )
    return 0 if is_good and cases else 1


def main():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    specification = commands.add_parser("specification")
    specification.add_argument("--selection", choices=["check", "quick", "full"], required=True)
    specification.add_argument("--part", type=int, required=True)
    specification.add_argument("--of", type=int, required=True)
    specification.add_argument("--scheme", choices=["ws", "wss"], required=True)
    specification.add_argument("--output", type=pathlib.Path, required=True)
    waiting = commands.add_parser("await")
    waiting.add_argument("--url", required=True)
    waiting.add_argument("--seconds", type=float, required=True)
    reporting = commands.add_parser("report")
    reporting.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if arguments.command == "specification":
        return write_specification(arguments)
    if arguments.command == "await":
        return await_server(arguments.url, arguments.seconds)
    return report(arguments.output)


if __name__ == "__main__":
    sys.exit(main())
