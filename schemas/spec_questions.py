"""What is still missing or wrong in a spec, as questions to whoever writes it, each with its input.

They are the problems that `loading.load_spec` finds, so a spec without a question is complete.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hallmark.schemas.mechanism_answers import answers_about_mechanism, mechanism_of
from hallmark.schemas.section import Path, Problem
from hallmark.schemas.spec_answers import Answer, Input, answers_about, answers_about_release, at
from hallmark.schemas.yaml_document import FILL_IN


@dataclass(frozen=True)
class Question:
    """Something to be answered, and in which input; none where only the text can say it.

    Attributes:
        what: is wrong or missing; empty where the input is simply not answered yet.
    """

    what: str
    input: Input | None = None


@dataclass(frozen=True)
class Questions:
    """What is left to be answered about the release, its table, its mechanism and each column of
    the spec."""

    release: tuple[Question, ...]
    table: tuple[Question, ...]
    mechanism: tuple[Question, ...]
    columns: Mapping[str, tuple[Question, ...]]
    rules: Mapping[int, list[str]]
    """by the rule's place in the list, what is wrong with it; asked about the release, too"""

    @property
    def number(self) -> int:
        """How many questions are left."""
        columns = sum(len(several) for several in self.columns.values())
        return len(self.release) + len(self.table) + len(self.mechanism) + columns

    @property
    def complete(self) -> int:
        """How many columns are complete."""
        return sum(1 for several in self.columns.values() if not several)

    def after(self, name: str | None) -> str | None:
        """The next column that is not complete, from the first again after the last; None if all
        others are."""
        names = list(self.columns)
        start = names.index(name) + 1 if name in names else 0
        order = [*names[start:], *names[:start]]
        return next((one for one in order if one != name and self.columns[one]), None)


def questions_about(content: Mapping[str, Any], problems: Iterable[Problem]) -> Questions:
    """What the problems of a spec ask, by what they are about.

    Args:
        content: the spec as its text was read.
    """
    columns = content.get("columns")
    named = columns if isinstance(columns, dict) else {}
    about: dict[str, list[Question]] = {name: [] for name in named}
    release: list[Question] = []
    table: list[Question] = []
    mechanism: list[Question] = []
    rules: dict[int, list[str]] = defaultdict(list)
    every = [answer for several in answers_about_release().values() for answer in several]
    for path, what in problems:
        if path[:1] == ("columns",) and len(path) > 1 and path[1] in named:
            asked = answers_about(column_type(named[str(path[1])]))
            about[str(path[1])].append(_question(asked, path[2:], what))
        elif path[:1] in (("columns",), ("data",)):
            table.append(_question(every, path, what))
        elif path[:1] == ("mechanism",):
            asked = answers_about_mechanism(mechanism_of(content))
            mechanism.append(_question(asked, path, what))
        else:
            release.append(_question(every, path, what))
            if path[:1] == ("constraints",) and len(path) > 1:
                rules[int(path[1])].append(what)
    found = {name: tuple(several) for name, several in about.items()}
    return Questions(tuple(release), tuple(table), tuple(mechanism), found, rules)


def column_type(column: Any) -> str:
    """The type of a column as its text says it; empty where it says none."""
    said = at(column, ("type",)) if isinstance(column, dict) else None
    return said if isinstance(said, str) else ""


def _question(answers: Sequence[Answer], path: Path, what: str) -> Question:
    asked = _input(answers, path)
    if asked is None:
        where = ".".join(map(str, path))
        return Question(f"{where}: {what}" if where else what)
    is_open = FILL_IN in what or what.startswith("is missing")
    return Question("" if is_open and asked.help else what, asked)


def _input(answers: Sequence[Answer], path: Path) -> Input | None:
    """The input that says what stands at a path, or the first of several that do."""
    for answer in answers:
        if any(path[: len(keys)] == keys for keys in answer.keys):
            name = ".".join(map(str, path))
            return next((one for one in answer.inputs if one.name == name), answer.inputs[0])
    if path and (inner := [a for a in answers if any(k[: len(path)] == path for k in a.keys)]):
        return inner[0].inputs[0]  # a whole section is missing
    return None
