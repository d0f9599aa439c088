"""Checks the documentation of the library products: every public symbol has some, every example compiles.

Usage: docs.py undocumented SYMBOLS MODULE...
       docs.py curated SITE
       docs.py examples EXAMPLES
       docs.py output
       docs.py tables PAGE
       docs.py types SYMBOLS EXAMPLES MODULE...

SYMBOLS is a folder of symbol graphs, SITE one of the merged archives, EXAMPLES one for the code blocks of README.md, of
Documentation, and of the catalogs Sources/ROOM/MODULE/MODULE.docc. PAGE is a page whose tables have names of its examples.
`output` finds examples whose output traps in a pipe or is not seen when it is written.
Prints what is missing, and exits with status 1 if anything is.
"""

import json
import pathlib
import re
import sys

LANGUAGES = {"swift", "sh"}
# FileHandle's calls that trap, such as in a pipe whose reader has gone, each of which has a throwing one beside it.
TRAPS = re.compile(
    r"(?:standard(?:Output|Error)|\w*[hH]andle|FileHandle\([^)]*\)\??)\.write\((?!contentsOf:)"
    r"|\.(?:readDataToEndOfFile|readData\(ofLength|availableData|seekToEndOfFile|synchronizeFile|closeFile)\b")
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


def grouped_symbols():
    """The symbols with an extension in a catalog, which groups their members, as paths: module/type."""
    for page in pathlib.Path("Sources").glob("*/*/*.docc/*.md"):
        title = re.match(r"# ``/?(\w+/\w+)``\n", page.read_text())
        if title:
            yield title[1].lower()


def curated(site):
    """Counts what no catalog has put under a heading: docc groups it by kind, in sections that it marks."""
    missing = 0
    folder = pathlib.Path(site, "data/documentation")
    modules = sorted(folder.glob("*.json"))
    if not modules:
        sys.exit(f"docs: {site} has no pages")
    for page in [*modules, *(folder / f"{symbol}.json" for symbol in grouped_symbols())]:
        for section in json.loads(page.read_text()).get("topicSections", []):
            for identifier in section["identifiers"] if section.get("generated") else []:
                missing += 1
                print(f"docs: {identifier.split('/documentation/')[-1]} is under no heading of its catalog")
    return missing


def pages():
    """The pages with examples, and the name of the catalog or folder of each."""
    for page in [*pathlib.Path().glob("README.md"), *sorted(pathlib.Path("Documentation").glob("*.md"))]:
        yield page.parent.name or "README", page
    for page in sorted(pathlib.Path().glob("*/**/*.docc/**/*.md")):
        if page.parts[0] in ("Documentation", "Sources"):
            yield next(part for part in page.parts if part.endswith(".docc")).removesuffix(".docc"), page


def blocks(page):
    """The code blocks of a page, each with its language, its place and its lines."""
    start = None
    for number, line in enumerate(lines := page.read_text().splitlines()):
        if start is None and line.startswith("```"):
            language, start = line.removeprefix("```"), number + 1
            if language not in LANGUAGES:
                sys.exit(f"docs: {page}:{start}: there is no check for a code block in '{language}'")
        elif start is not None and line == "```":
            yield language, start, lines[start:number]
            start = None
    if start is not None:
        sys.exit(f"docs: {page}:{start}: the code block has no end")


def examples(folder):
    """Writes every code block into a file; those of Swift have the page's line numbers in messages."""
    count = 0
    for name, page in pages():
        for language, start, lines in blocks(page):
            path = pathlib.Path(folder, f"{name}.{page.stem}.{start + 1}.{language}")
            if lines[0].startswith("// swift-tools-version"):
                path = path.parent / "manifests" / path.name
            elif language == "swift":
                lines = [f'#sourceLocation(file: "{page}", line: {start + 1})'] + lines
            path.write_text("\n".join(lines) + "\n")
            count += language == "swift"
    if count == 0:
        sys.exit("docs: there are no examples")
    return 0


def code():
    """All code that readers copy: a name and lines, of blocks in pages, of doc comments, and of the examples."""
    for _, page in pages():
        for language, start, lines in blocks(page):
            if language == "swift":
                yield f"{page}", start, lines
    for file in sorted(pathlib.Path("Sources").glob("**/*.swift")):
        lines = [line.strip() for line in file.read_text().splitlines()]
        yield f"{file}", 0, [line if line.startswith("///") else "" for line in lines]
    for file in sorted(pathlib.Path("Examples").glob("**/*.swift")):
        yield f"{file}", 0, file.read_text().splitlines()


def output():
    """Counts output that traps, and output without a line feed that no `fflush` in the next lines makes visible."""
    wrong = 0
    for name, start, lines in code():
        for number, line in enumerate(lines):
            if TRAPS.search(line):
                print(f"docs: {name}:{start + number + 1}: traps when it fails: use a throwing call, write(contentsOf:)")
            elif re.search(r'terminator: (?!"\\n")', line) and "fflush" not in "".join(lines[number:number + 3]):
                print(f"docs: {name}:{start + number + 1}: not seen before a buffer is full: fflush(nil)")
            else:
                continue
            wrong += 1
    return wrong


def tables(page):
    """Counts the names in the tables of a page that none of its code blocks has."""
    page = pathlib.Path(page)
    code = "\n".join("\n".join(lines) for _, _, lines in blocks(page))
    words = set(re.findall(r"\w+", code))
    missing = 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        for name in re.findall(r"`([^`]+)`", line) if line.startswith("|") else []:
            if any(word not in words for word in re.findall(r"[A-Za-z]\w*", name)):
                missing += 1
                print(f"docs: {page}:{number}: no code block has '{name}'")
    return missing


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
        case ["curated", site]:
            return curated(site)
        case ["examples", folder]:
            return examples(folder)
        case ["output"]:
            return output()
        case ["tables", page]:
            return tables(page)
        case ["types", symbol_folder, example_folder, *modules] if modules:
            return types(symbol_folder, example_folder, modules)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
