"""results.json: made of the programs' figures, saved, loaded and queried."""

from __future__ import annotations

import dataclasses
import json
import pathlib

from . import figures
from .figures import MACHINE, Figure, ResultsError

SCHEMA = 1
# The order of the groups in tables; others follow.
GROUPS = ["typical", "end-to-end", "sending", "parser", "latency", "first-text", "tool-loop", "recovery", "memory",
          "processor"]


@dataclasses.dataclass
class Results:
    """One run of the benchmarks."""

    date: str = ""
    command: str = ""
    seconds: float = 0
    commit: str | None = None
    isModified: bool | None = None
    machine: dict = dataclasses.field(default_factory=dict)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    warnings: list[str] = dataclasses.field(default_factory=list)
    # The reasons of failures, by program.
    failures: dict[str, str] = dataclasses.field(default_factory=dict)
    missing: list[dict] = dataclasses.field(default_factory=list)
    figures: list[Figure] = dataclasses.field(default_factory=list)

    @property
    def missed(self) -> list[Figure]:
        """The figures whose bars are missed."""
        return [figure for figure in self.figures if figure.is_held is False]

    @property
    def unjudged(self) -> list[dict]:
        """The missing subjects because of which a bar has no verdict."""
        return [item for item in self.missing if "bar" in item]

    def take(self, found: list[Figure]) -> None:
        """Adds the figures of the programs, one of each key, and the peers' versions."""
        self.figures = figures.merged(found)
        for figure in self.figures:
            if figure.version:
                self.versions[figure.subject] = figure.version

    def questions(self) -> list[tuple[str, list[tuple[tuple[str, str, str], list[Figure]]]]]:
        """Returns all figures by group and question, in each question in the order of `place`."""
        names = list(dict.fromkeys(figure.group for figure in self.figures))
        order = [name for name in GROUPS if name in names] + [name for name in names if name not in GROUPS]
        found = []
        for group in order:
            by_question: dict[tuple, list[Figure]] = {}
            for figure in self.figures:
                if figure.group == group:
                    by_question.setdefault(figure.question, []).append(figure)
            found.append((group, [(question, sorted(items, key=place)) for question, items in by_question.items()]))
        return found

    def like(self, other: Figure) -> Figure | None:
        """Returns the package's figure to compare another one with: that of the same way, or else the first."""
        own = [figure for figure in self.figures if figure.is_own and figure.question == other.question
               and figure.has_process == other.has_process]
        return next((figure for figure in own if figure.way == other.way), own[0] if own else None)

    def best_beside(self, own: Figure) -> list[Figure]:
        """Returns the figures to name beside the package's: the machine, the best decoding peer, the best other."""
        beside = [figure for figure in self.figures if not figure.is_own and figure.question == own.question
                  and figure.has_process == own.has_process]
        kinds = [[figure for figure in beside if figure.subject == MACHINE][:1]]
        for decodes in (True, False):
            peers = [figure for figure in beside if figure.subject != MACHINE and bool(figure.decodes) == decodes]
            kinds.append(sorted(peers, key=place)[:1])
        return [figure for found in kinds for figure in found]

    def save(self, path: pathlib.Path) -> None:
        """Writes a file with one figure a line, so that two files can be compared line by line."""
        value = {"schema": SCHEMA} | {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        lines = ",\n".join(json.dumps(figure.to_json(), ensure_ascii=False, allow_nan=False)
                           for figure in value.pop("figures"))
        head = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False).removesuffix("\n}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{head},\n "figures": [\n{lines}\n]\n}}\n', encoding="utf-8")

    @staticmethod
    def load(path: pathlib.Path) -> Results:
        """Reads a file; raises ResultsError when it is malformed."""
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(value, dict) or value.get("schema") != SCHEMA:
                raise ValueError(f"not results of schema {SCHEMA}")
            found = [Figure.from_json(figure) for figure in value.get("figures", [])]
        except OSError as error:
            raise ResultsError(f"{path}: {error.strerror}") from error
        except (TypeError, ValueError) as error:
            raise ResultsError(f"{path}: {error}") from error
        known = {field.name for field in dataclasses.fields(Results)} - {"figures"}
        return Results(**{name: item for name, item in value.items() if name in known}, figures=found)


def place(figure: Figure) -> tuple:
    """Returns the sort key of a figure in its question: the package as measured, the machine, the best peer first."""
    if figure.is_own:
        return (0, 0)
    return (1 if figure.subject == MACHINE else 2, -figure.median if figure.better == "higher" else figure.median)
