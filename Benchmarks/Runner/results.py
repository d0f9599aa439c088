"""results.json: made of what the programs wrote, saved, read again, and asked for figures."""

from __future__ import annotations

import dataclasses
import json
import pathlib

from . import figures
from .figures import Figure, ResultsError

SCHEMA = 1


@dataclasses.dataclass
class Results:
    """One run of the benchmarks."""

    date: str = ""
    command: str = ""
    filter: str = ""
    seconds: float = 0
    commit: str | None = None
    isModified: bool | None = None
    machine: dict = dataclasses.field(default_factory=dict)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    warnings: list[str] = dataclasses.field(default_factory=list)
    programs: list[dict] = dataclasses.field(default_factory=list)
    missing: list[dict] = dataclasses.field(default_factory=list)
    figures: list[Figure] = dataclasses.field(default_factory=list)

    @property
    def missed(self) -> list[Figure]:
        """The figures whose bars are missed."""
        return [figure for figure in self.figures if figure.is_held is False]

    @property
    def failed(self) -> list[dict]:
        """The programs that failed."""
        return [program for program in self.programs if "failure" in program]

    def take(self, found: list[Figure]) -> None:
        """Takes the figures of the programs: one of each key, with ratios, and the peers' versions."""
        self.figures, replaced = figures.without_repeats(found)
        if replaced:
            names = [f"{'/'.join(figure.question)} of {figure.who}" for figure in replaced]
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            self.warnings.append(f"{names[0]}{more} measured twice: the last one is here")
        figures.add_ratios(self.figures)
        for figure in self.figures:
            if figure.version:
                self.versions[figure.subject] = figure.version

    def select(self, group: str, measure: str | None = None, workload: str | None = None, subject: str | None = None,
               way: str | None = None) -> list[Figure]:
        """The figures of a group that are asked for, in the order in which they were measured."""
        wanted = {"measure": measure, "workload": workload, "subject": subject, "way": way}
        return [figure for figure in self.figures if figure.group == group and all(
            value is None or getattr(figure, name) == value for name, value in wanted.items())]

    def best(self, group: str, measure: str, workload: str, **wanted) -> Figure | None:
        """The best of the figures that are asked for; None when there are none."""
        return best_of(self.select(group, measure, workload, **wanted))

    def like(self, other: Figure) -> Figure | None:
        """The package's best figure that is comparable with another one: with its process, or without one."""
        own = self.select(other.group, other.measure, other.workload, figures.OWN)
        own = [figure for figure in own if figure.has_process == other.has_process]
        return usual_of([figure for figure in own if figure.decodes is not False]) or usual_of(own)

    def beside(self, own: Figure, found: list[Figure]) -> list[Figure]:
        """Those of other figures at the same question that did the same as one of the package."""
        ways = {figure.way for figure in self.select(own.group, own.measure, own.workload, figures.OWN)}
        return [other for other in found if figures.is_comparable(own, other, ways)]

    def limit(self, own: Figure) -> Figure | None:
        """What the machine does at best with the same bytes."""
        found = self.beside(own, self.select(own.group, own.measure, own.workload, figures.MACHINE))
        return best_of(found)

    def peers(self, group: str, measure: str, workload: str, decodes: bool | None = None) -> list[Figure]:
        """The peers' figures, the best first; those that decode, or those that do not, or all."""
        found = [figure for figure in self.select(group, measure, workload)
                 if figure.subject not in (figures.OWN, figures.MACHINE) and decodes in (None, bool(figure.decodes))]
        return sorted(found, key=goodness, reverse=True)

    def to_json(self) -> dict:
        value = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"schema": SCHEMA} | value | {"figures": [figure.to_json() for figure in self.figures]}

    def save(self, path: pathlib.Path) -> None:
        """Writes a file with a figure a line, so that two of them can be compared line by line."""
        value = self.to_json()
        lines = ",\n".join(json.dumps(figure, ensure_ascii=False, allow_nan=False) for figure in value.pop("figures"))
        head = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False).removesuffix("\n}")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whoever ends the run meanwhile leaves the earlier file whole.
        unfinished = path.with_name(f"{path.name}.unfinished")
        unfinished.write_text(f'{head},\n "figures": [\n{lines}\n]\n}}\n', encoding="utf-8")
        unfinished.replace(path)

    @staticmethod
    def load(path: pathlib.Path) -> Results:
        """Reads a file; ResultsError says what is wrong with it."""
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ResultsError(f"{path}: {error.strerror}") from error
        except ValueError as error:
            raise ResultsError(f"{path} is not JSON: {error}") from error
        if not isinstance(value, dict) or value.get("schema") != SCHEMA:
            raise ResultsError(f"{path} is not results of schema {SCHEMA}")
        try:
            found = [Figure.from_json(figure) for figure in value.get("figures", [])]
        except (TypeError, ValueError) as error:
            raise ResultsError(f"{path}: a figure is broken: {error}") from error
        known = {field.name for field in dataclasses.fields(Results)} - {"figures"}
        return Results(**{name: item for name, item in value.items() if name in known}, figures=found)


def usual_of(found: list[Figure]) -> Figure | None:
    """The way without a name, which is how the package does it by itself; where all have names, the best."""
    return next((figure for figure in found if not figure.way), None) or best_of(found)


def best_of(found: list[Figure]) -> Figure | None:
    """The best of figures that can be compared."""
    if not found:
        return None
    return max(found, key=goodness)


def goodness(figure: Figure) -> float:
    """More is better, by what ratios are made of."""
    return figure.undisturbed if figure.better == "higher" else -figure.undisturbed
