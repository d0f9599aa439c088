"""Writes the names of the built-in scenarios as Swift, from the files that have them.

Usage: scenarios.py write   writes the file
       scenarios.py check   fails unless the file is what would be written

Each scenario in Sources/Tools/ChappieTestServer/Scenarios is a static property of `ChappieTestServer.Scenario`, so that its
name is found by completion: `replay-same` is `.replaySame`, and its summary is the documentation. The order is that of
the files in Scenario+BuiltIn.swift.
"""

import json
import pathlib
import re
import sys

SOURCES = pathlib.Path("Sources/Tools/ChappieTestServer")
FILES = SOURCES / "Faults/Scenario+BuiltIn.swift"
NAMES = SOURCES / "Faults/Scenario+Names.swift"

HEAD = """\
// The built-in scenarios by name: Scripts/scenarios.py writes this file from those in `Scenarios`.
//
// Constants without an owner.

extension ChappieTestServer.Scenario {
    private static func builtIn(_ name: String) -> Self {
        guard let scenario = ChappieTestServer.builtInScenario(named: name) else {
            preconditionFailure("there is no built-in scenario \\(name)")
        }
        return scenario
    }
"""


def swift_name(name):
    first, *others = name.split("-")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def text():
    parts = [HEAD]
    for resource in re.findall(r"PackageResources\.(\w+)_json", FILES.read_text()):
        family = json.loads((SOURCES / "Scenarios" / f"{resource.replace('_', '-')}.json").read_text())
        parts.append(f"\n    // MARK: {family['title']}\n\n")
        for scenario in family["scenarios"]:
            name = scenario["name"]
            parts.append(f"    /// {scenario['summary']}\n")
            parts.append(f'    public static var {swift_name(name)}: Self {{ .builtIn("{name}") }}\n')
    return "".join(parts) + "}\n"


def main(arguments):
    match arguments:
        case ["write"]:
            NAMES.write_text(text())
        case ["check"]:
            if not NAMES.exists() or NAMES.read_text() != text():
                sys.exit(f"scenarios: {NAMES} is old: python3 Scripts/scenarios.py write")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
