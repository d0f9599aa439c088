"""results.json: made of what the programs wrote, saved, read again, and asked for figures."""

from __future__ import annotations

import dataclasses
import json
import pathlib

from . import figures
from .figures import MACHINE, Figure, ResultsError

SCHEMA = 1
# The order of the groups in tables; others follow.
GROUPS = ["end-to-end", "parser", "latency", "first-text", "tool-loop", "recovery", "memory", "processor"]


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
    # Why programs failed, by program.
    failures: dict[str, str] = dataclasses.field(default_factory=dict)
    missing: list[dict] = dataclasses.field(default_factory=list)
    figures: list[Figure] = dataclasses.field(default_factory=list)

    @property
    def missed(self) -> list[Figure]:
        """The figures whose bars are missed."""
        return [figure for figure in self.figures if figure.is_held is False]

    def take(self, found: list[Figure]) -> None:
        """Takes the figures of the programs: one of each key, and the peers' versions."""
        self.figures = figures.merged(found)
        for figure in self.figures:
            if figure.version:
                self.versions[figure.subject] = figure.version

    def questions(self) -> list[tuple[str, list[tuple[tuple[str, str, str], list[Figure]]]]]:
        """Every figure, by group and by question; of a question our own first, then the machine, then the best peer."""
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
        """The package's figure that another one is compared with: of the same way, or of the first that did the same."""
        own = [figure for figure in self.figures if figure.is_own and figure.question == other.question
               and figure.has_process == other.has_process]
        return next((figure for figure in own if figure.way == other.way), own[0] if own else None)

    def best_beside(self, own: Figure) -> list[Figure]:
        """The figures to name beside one of the package: the machine's, and the best peers that decode and that do not."""
        beside = [figure for figure in self.figures if not figure.is_own and figure.question == own.question
                  and figure.has_process == own.has_process]
        kinds = [[figure for figure in beside if figure.subject == MACHINE][:1]]
        for decodes in (True, False):
            peers = [figure for figure in beside if figure.subject != MACHINE and bool(figure.decodes) == decodes]
            kinds.append(sorted(peers, key=place)[:1])
        return [figure for found in kinds for figure in found]

    def save(self, path: pathlib.Path) -> None:
        """Writes a file with a figure a line, so that two of them can be compared line by line."""
        value = {"schema": SCHEMA} | {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        lines = ",\n".join(json.dumps(figure.to_json(), ensure_ascii=False, allow_nan=False)
                           for figure in value.pop("figures"))
        head = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False).removesuffix("\n}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{head},\n "figures": [\n{lines}\n]\n}}\n', encoding="utf-8")

    @staticmethod
    def load(path: pathlib.Path) -> Results:
        """Reads a file; ResultsError says what is wrong with it."""
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
    """The place of a figure among those of its question: our own in the order of measuring, the others the best first."""
    if figure.is_own:
        return (0, 0)
    return (1 if figure.subject == MACHINE else 2, -figure.median if figure.better == "higher" else figure.median)
