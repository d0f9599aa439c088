"""Checks the documentation of the library products: every public symbol has some, every example compiles.

Usage: docs.py undocumented SYMBOLS MODULE...
       docs.py examples SYMBOLS EXAMPLES MODULE...
       docs.py types SYMBOLS EXAMPLES MODULE...

SYMBOLS is a folder of symbol graphs, EXAMPLES one for the code blocks of README.md and of the catalogs
Sources/MODULE/MODULE.docc.
Prints what is missing, and exits with status 1 if anything is.
"""

import json
import pathlib
import re
import sys

TYPES = {"swift.class", "swift.struct", "swift.enum", "swift.protocol", "swift.actor", "swift.typealias"}


def symbols(folder, module):
    """The public symbols of a module that stand in its source; the compiler's own have no place in it."""
    for graph in sorted(pathlib.Path(folder).glob(f"{module}*.symbols.json")):
        if graph.name.split(".")[0].split("@")[0] != module:
            continue
        for symbol in json.loads(graph.read_text())["symbols"]:
            if "location" in symbol and symbol["accessLevel"] in ("public", "open"):
                yield symbol


def is_documented(symbol):
    # An extension of another module's type is told of with its members.
    if symbol["kind"]["identifier"] == "swift.extension":
        return True
    return any(line["text"].strip() for line in symbol.get("docComment", {}).get("lines", []))


def undocumented(folder, modules):
    missing = 0
    for module in modules:
        known = list(symbols(folder, module))
        if not known:
            sys.exit(f"docs: there is no symbol graph of {module}")
        for symbol in known:
            if is_documented(symbol):
                continue
            missing += 1
            place = symbol["location"]
            path = place["uri"].removeprefix("file://")
            line = place["position"]["line"] + 1
            print(f"{path}:{line}: {module}.{'.'.join(symbol['pathComponents'])} has no documentation")
    return missing


def pages(module):
    return sorted(pathlib.Path(f"Sources/{module}/{module}.docc").glob("**/*.md"))


def blocks(pages):
    """The Swift code blocks of pages, each with its place; manifests of packages are no examples."""
    for page in pages:
        lines = page.read_text().splitlines()
        start = None
        for number, line in enumerate(lines):
            if start is None and line == "```swift":
                start = number + 1
            elif start is not None and line == "```":
                if not lines[start].startswith("// swift-tools-version"):
                    yield page, start, lines[start:number]
                start = None
        if start is not None:
            sys.exit(f"docs: {page}:{start}: the code block has no end")


def examples(folder, modules):
    """Writes every code block into a file whose lines have the page's numbers in messages."""
    count = 0
    for module, found in [("README", [pathlib.Path("README.md")]), *((module, pages(module)) for module in modules)]:
        for page, start, lines in blocks(found):
            name = f"{module}.{page.stem}.{start + 1}.swift"
            marked = [f'#sourceLocation(file: "{page}", line: {start + 1})'] + lines
            pathlib.Path(folder, name).write_text("\n".join(marked) + "\n")
            count += 1
    if count == 0:
        sys.exit("docs: there are no examples")
    return 0


def types(symbol_folder, example_folder, modules):
    missing = 0
    for module in modules:
        files = pathlib.Path(example_folder).glob(f"{module}.*.swift")
        words = set(re.findall(r"\w+", "\n".join(file.read_text() for file in files)))
        for symbol in symbols(symbol_folder, module):
            path = symbol["pathComponents"]
            if len(path) == 1 and symbol["kind"]["identifier"] in TYPES and path[0] not in words:
                missing += 1
                print(f"docs: no example in {module}.docc uses {path[0]}")
    return missing


def main(arguments):
    match arguments:
        case ["undocumented", folder, *modules] if modules:
            return undocumented(folder, modules)
        case ["examples", _, folder, *modules] if modules:
            return examples(folder, modules)
        case ["types", symbol_folder, example_folder, *modules] if modules:
            return types(symbol_folder, example_folder, modules)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
