"""Checks what a release states: its version, in every place that repeats it, and the public API.

Usage: release.py version                      prints the version
       release.py readme-version               prints the version that README's manifest asks for
       release.py check                        the places that repeat the version agree with it
       release.py released                     README's version has a tag, or is this commit
       release.py date [YYYY-MM-DD]            makes this commit the version's: the changelog and the manual page
       release.py api SYMBOLS MODULE...        no public declaration has changed unannounced
       release.py accept-api SYMBOLS MODULE... writes the baseline

The version is `ChappieTransportVersion.current`. One without a tag is this commit as long as CHANGELOG.md has nothing
under [Unreleased]; `date` moves that into the version's section, and dates it. SYMBOLS is a folder of symbol graphs (Scripts/docs.sh). The baseline,
Documentation/PublicAPI.txt, holds the public API of the version in its first line. A line of it that is gone, or an
addition that breaks existing programs (a case of an enumeration, a requirement of a protocol), is a break. A break has
to be named under `### Breaking` in CHANGELOG.md, in the section of the current version or above it: in backticks, as
`Type`, `Type.member` or `Type.member(label:)`. A break of a whole type covers its members. A patch release has none.
Prints what is wrong, and exits with status 1 if anything is.
"""

import datetime
import json
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path("Sources/Engine/TransportSurface/ChappieTransportVersion.swift")
MANUAL_DATE = pathlib.Path("Sources/Tools/ChappieCommand/PackageVersion.swift")
CHANGELOG = pathlib.Path("CHANGELOG.md")
BASELINE = pathlib.Path("Documentation/PublicAPI.txt")
# The compiler adds these to nearly every type, and not the same ones in each of its versions.
IMPLIED = {"Copyable", "Escapable", "SendableMetatype", "BitwiseCopyable"}


def found(pattern, path):
    match = re.search(pattern, path.read_text())
    if not match:
        sys.exit(f"release: {path} has no match of {pattern}")
    return match[1]


def current_version():
    return found(r'public static let current = "(\d+\.\d+\.\d+)"', SOURCE)


# MARK: The version


def sections(changelog):
    """The sections of the changelog by their headings, in order."""
    parts = re.split(r"^## (.*)$", changelog, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def version_problems(version, changelog, manual_date, documents):
    """What disagrees with the version: the changelog, the manual page's date, the versions in the documents."""
    headings = [heading for heading, _ in sections(changelog)]
    if headings[:1] != ["[Unreleased]"]:
        yield "CHANGELOG.md does not begin with a section [Unreleased]"
    dated = re.fullmatch(r"\[(\S+)\] - (\d{4}-\d{2}-\d{2})", headings[1]) if len(headings) > 1 else None
    if not dated:
        yield "CHANGELOG.md has no section '[VERSION] - YYYY-MM-DD' behind [Unreleased]"
    elif dated[1] != version:
        yield f"the newest section of CHANGELOG.md is of {dated[1]}, and the version is {version}"
    else:
        day = datetime.date.fromisoformat(dated[2])
        if manual_date != f"{day:%B} {day.day}, {day.year}":
            yield f"the manual page is of {manual_date}, and CHANGELOG.md says {dated[2]}"
    for name, text in documents.items():
        for stated in re.findall(r'(?:\bfrom: "|\bThis is version |\bchappie_)(\d+\.\d+\.\d+)', text):
            if stated != version:
                yield f"{name} says {stated}, and the version is {version}"


def readme_version():
    return found(r'\.package\(url: "[^"]*", from: "(\d+\.\d+\.\d+)"', pathlib.Path("README.md"))


def release_problems(wanted, version, tags, changelog):
    """Why the version that README asks for cannot be had: no tag has it, and this commit is not it."""
    if wanted in tags:
        return
    if wanted != version:
        yield f"README asks for {wanted}, which has no tag, and the version is {version}"
        return
    unreleased = dict(sections(changelog)).get("[Unreleased]", "").strip()
    if unreleased:
        yield (f"README asks for {wanted}, which has no tag, and CHANGELOG.md has {len(unreleased.splitlines())} lines "
               "behind it: make release-date, or let README name the version before it (git fetch --tags)")


def released():
    tags = subprocess.run(["git", "tag"], capture_output=True, check=True, text=True).stdout.split()
    return list(release_problems(readme_version(), current_version(), tags, CHANGELOG.read_text()))


def entries(text):
    """The entries of a section by their headings, in order; what precedes the first heading has none."""
    parts = re.split(r"^(### .*)$", text, flags=re.MULTILINE)
    return list(zip(["", *parts[1::2]], (part.strip("\n") for part in parts[::2])))


def dated(changelog, version, day):
    """The changelog with what is under [Unreleased] in the section of the version, which has the day's date."""
    parts = re.split(r"^(## .*)$", changelog, flags=re.MULTILINE)
    head, titles, texts = parts[0], parts[1::2], parts[2::2]
    unreleased = titles.index("## [Unreleased]")
    old = next((index for index, title in enumerate(titles) if title.startswith(f"## [{version}]")), None)
    merged = {}
    # A heading may be there twice, where changes of two people were put together.
    for title, text in entries(texts[unreleased]) + (entries(texts[old]) if old is not None else []):
        merged[title] = "\n".join(part for part in (merged.get(title), text) if part)
    section = "\n\n".join("\n\n".join(part for part in pair if part) for pair in merged.items() if any(pair))
    result = [head.rstrip("\n"), "## [Unreleased]", f"## [{version}] - {day}", section]
    for index, (title, text) in enumerate(zip(titles, texts)):
        if index not in (unreleased, old):
            result += [title, text.strip("\n")]
    return "\n\n".join(part for part in result if part) + "\n"


def date_version(day):
    version = current_version()
    if is_tagged(version):
        return [f"{version} is released: change {SOURCE} first"]
    CHANGELOG.write_text(dated(CHANGELOG.read_text(), version, day))
    source = MANUAL_DATE.read_text()
    words = f"{day:%B} {day.day}, {day.year}"
    MANUAL_DATE.write_text(re.sub(r'(static let date = ")[^"]*', rf"\g<1>{words}", source))
    print(f"release: {version} is of {day}")
    return []


def check_version():
    folders = ((".", "README.md"), ("Documentation", "*.md"), ("Documentation", "*.docc/*.md"),
               ("Sources", "*/*/*.docc/*.md"))
    pages = [page for folder, pattern in folders for page in pathlib.Path(folder).glob(pattern)]
    version = current_version()
    date = found(r'static let date = "(.*)"', MANUAL_DATE)
    texts = {str(page): page.read_text() for page in pages}
    problems = list(version_problems(version, CHANGELOG.read_text(), date, texts))
    if baseline_version() != version:
        problems.append(f"{BASELINE} is of {baseline_version()}, and the version is {version}: make api-accept")
    return problems


# MARK: The API


def declarations(folder, module):
    """The public declarations of a module, as lines: module, name, declaration."""
    return graph_lines(
        module,
        [
            json.loads(graph.read_text())
            for graph in sorted(pathlib.Path(folder).glob(f"{module}*.symbols.json"))
            if graph.name.split(".")[0].split("@")[0] == module
        ])


def graph_lines(module, graphs):
    lines = set()
    names = {}
    edges = [edge for graph in graphs for edge in graph["relationships"]]
    requirements = {edge["source"] for edge in edges if edge["kind"] == "requirementOf"}
    for symbol in (symbol for graph in graphs for symbol in graph["symbols"]):
        # What the compiler adds has no place in the source. The type of raw values stands nowhere else.
        if "location" not in symbol and symbol["pathComponents"][-1] != "init(rawValue:)":
            continue
        name, identifier = ".".join(symbol["pathComponents"]), symbol["identifier"]["precise"]
        names[identifier] = name
        if symbol["kind"]["identifier"] != "swift.extension":
            text = " ".join("".join(fragment["spelling"] for fragment in symbol["declarationFragments"]).split())
            lines.add(f"{module} | {name} | {'requirement ' if identifier in requirements else ''}{text}")
    for edge in edges:
        protocol = (names.get(edge["target"]) or edge.get("targetFallback", "")).rsplit(".", 1)[-1]
        if edge["kind"] == "conformsTo" and edge["source"] in names and protocol not in IMPLIED:
            lines.add(f"{module} | {names[edge['source']]} | conforms to {protocol}")
    return lines


def is_breaking_addition(line, baseline):
    """Whether a new line breaks programs: a case of an enumeration, or a requirement of a protocol, that was there."""
    module, name, text = line.split(" | ", 2)
    container = f"{module} | {name.rpartition('.')[0]} | "
    if not re.match(r"(indirect )?case |requirement ", text):
        return False
    return any(known.startswith(container) for known in baseline)


def breaks(baseline, present):
    """The lines that are gone, and those that must not simply be added."""
    gone = [f"- {line}" for line in baseline - present]
    return sorted(gone + [f"+ {line}" for line in present - baseline if is_breaking_addition(line, baseline)])


def without_labels(name):
    return name.partition("(")[0]


def announced_names(changelog, version):
    """The names in backticks under `### Breaking`, above the sections of earlier versions."""
    names = set()
    for heading, text in sections(changelog):
        if heading != "[Unreleased]" and not heading.startswith(f"[{version}]"):
            break
        for title, entries in re.findall(r"^### (.*)\n((?:(?!### ).*\n?)*)", text, flags=re.MULTILINE):
            if title == "Breaking":
                names.update(without_labels(name) for name in re.findall(r"`([^`]+)`", entries))
    return names


def unannounced(changes, present, announced):
    """The breaks that the changelog does not name; a type that is gone covers its members."""
    there = {line.split(" | ", 2)[1] for line in present}
    for change in changes:
        name = change.split(" | ", 2)[1]
        parts = name.split(".")
        parents = (".".join(parts[:count]) for count in range(1, len(parts)))
        accepted = {without_labels(name)} | {parent for parent in parents if parent not in there}
        if not accepted & announced:
            yield change


def is_patch_release(earlier, later):
    return earlier != later and earlier.split(".")[:2] == later.split(".")[:2]


def baseline_version():
    return found(r"^# The public API of version ([0-9.]*[0-9])", BASELINE) if BASELINE.exists() else current_version()


def api(folder, modules, accepts):
    present = set().union(*(declarations(folder, module) for module in modules))
    missing = [module for module in modules if not any(line.startswith(f"{module} | ") for line in present)]
    if missing:
        return [f"there is no symbol graph of {' or '.join(missing)}"]
    version, earlier = current_version(), baseline_version()
    baseline = {line for line in read_baseline() if not line.startswith("#")}
    changes = breaks(baseline, present)
    problems = list(unannounced(changes, present, announced_names(CHANGELOG.read_text(), version)))
    if problems:
        problems.append(f"name what breaks in CHANGELOG.md, under '### Breaking' (since {earlier})")
    if changes and is_patch_release(earlier, version):
        problems.append(f"{version} is a patch of {earlier}, and its API has breaks: {len(changes)}")
    if not accepts:
        if not baseline:
            problems.append(f"{BASELINE} is not there: make api-accept")
        return problems
    # A version without a tag promises nothing yet; that of a tag stays as it was released.
    if is_tagged(earlier):
        if version == earlier and present != baseline:
            problems.append(f"{earlier} is released: its baseline changes with the version alone")
        if problems:
            return problems
    title = f"# The public API of version {version}, which `make docs` compares: product, name, declaration\n"
    BASELINE.write_text(title + "".join(f"{line}\n" for line in sorted(present)))
    print(f"{BASELINE}: {len(present)} lines, {len(present - baseline)} new, {len(baseline - present)} gone")
    return []


def read_baseline():
    return BASELINE.read_text().splitlines() if BASELINE.exists() else []


def is_tagged(version):
    command = ["git", "rev-parse", "--quiet", "--verify", f"refs/tags/{version}"]
    return subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0


def main(arguments):
    match arguments:
        case ["version"]:
            print(current_version())
            return []
        case ["readme-version"]:
            print(readme_version())
            return []
        case ["released"]:
            return released()
        case ["date", *day] if len(day) < 2:
            return date_version(datetime.date.fromisoformat(day[0]) if day else datetime.date.today())
        case ["check"]:
            return check_version()
        case ["api" | "accept-api" as command, folder, *modules] if modules:
            return api(folder, modules, accepts=command == "accept-api")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    found_problems = main(sys.argv[1:])
    for problem in found_problems:
        print(f"release: {problem}")
    sys.exit(1 if found_problems else 0)
