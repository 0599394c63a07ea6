"""What people answer about the mechanism of a release in a form: which one, and its parameters.

What they are for, and what they may be, is said by the catalogue.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from hallmark.mechanisms.catalogue import CATALOGUE
from hallmark.mechanisms.parameters import Kind, Parameter
from hallmark.schemas.code_lines import Unclear
from hallmark.schemas.spec_answers import Answer, Choices, Input, Text, at, edits
from hallmark.schemas.text_edits import Keys, Value

_SECTION = "mechanism"
_NAME: Keys = (_SECTION, "name")
_QUERIES: Keys = (_SECTION, "queries")
_HALVES = ("selection", "generator")  # sections that may be their method alone
_PLAIN = re.compile(r"true|false|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Setting(Text):
    """A parameter as its spec writes it: a number, a truth or a word."""

    kind: Kind

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        found = at(section, self.path)
        if found is None:
            return {self.input.name: ""}
        if self.kind is Kind.OTHER or not isinstance(found, str | int | float):
            return None
        return {self.input.name: found if isinstance(found, str) else json.dumps(found)}

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        said: Value = typed[self.input.name]
        if self.kind is not Kind.COLUMN and _PLAIN.fullmatch(typed[self.input.name]):
            said = json.loads(typed[self.input.name])
        return {self.path: None if said == "" else said}


@dataclass(frozen=True)
class Queries:
    """What a mechanism that answers queries is to answer: marginals, and conditions."""

    keys: ClassVar[tuple[Keys, ...]] = (_QUERIES,)
    ways: ClassVar[str] = "mechanism.queries"
    where: ClassVar[str] = "mechanism.queries.where"

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (
            Input(
                name=self.ways,
                label="Every cell of all tables of so many columns",
                help="a number, or several with commas between them, such as 1, 2",
            ),
            Input(
                name=self.where,
                label="and conditions, one a line",
                help="how many records obey each, such as AGE >= 18 and SEX = '2'",
                lines=3,
            ),
        )

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        ways, conditions = [], []
        for one in at(section, _QUERIES) or []:
            match one:
                case {"marginals": {"ways": int(number), **more}, **others} if not more | others:
                    ways.append(str(number))
                case {"where": str(condition), **others} if not others and "\n" not in condition:
                    conditions.append(condition)
                case _:
                    return None
        return {self.ways: ", ".join(ways), self.where: "\n".join(conditions)}

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        found: list[Value] = []
        for number in typed[self.ways].replace(",", " ").split():
            if not number.isdecimal():
                raise Unclear(f"{number!r} is no number of columns; write 2, or 1, 2")
            found.append({"marginals": {"ways": int(number)}})
        found += [{"where": one.strip()} for one in typed[self.where].splitlines() if one.strip()]
        return {_QUERIES: found or None}


def choices() -> Choices:
    """The mechanisms that make records, each with what it is for."""
    return [(one.name, one.sentence) for one in CATALOGUE.values() if one.makes_records]


@cache
def answers_about_mechanism(name: str) -> tuple[Answer, ...]:
    """What is answered about a mechanism; of one that there is not, its name alone."""
    entry = CATALOGUE.get(name)
    named = Text(_NAME, Input(name=".".join(_NAME), label="Mechanism", choices=choices()))
    if entry is None:
        return (named,)
    queries = (Queries(),) if entry.answers_queries else ()
    return (named, *queries, *(_setting(one) for one in entry.parameters))


def mechanism_of(content: Mapping[str, Any]) -> str:
    """The name of a spec's mechanism; empty where it says none."""
    said = at(content, _NAME)
    return said if isinstance(said, str) else ""


def with_methods(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of a spec, whose selection and generator are sections also if they are written as
    their method alone."""
    section = content.get(_SECTION)
    if not isinstance(section, dict):
        return content
    whole = {key: {"method": section[key]} for key in _HALVES if isinstance(section.get(key), str)}
    return {**content, _SECTION: {**section, **whole}}


def mechanism_edits(
    name: str, content: Mapping[str, Any], typed: Mapping[str, str]
) -> dict[Keys, Value | None]:
    """What is to be written where a mechanism and its parameters are now answered so.

    Parameters that another mechanism had, and this one has not, are taken out.

    Args:
        content: of the spec, as its text was read.
    Raises:
        Unclear: an answer does not say.
    """
    answers = answers_about_mechanism(name)
    found = edits(answers, with_methods(content), {**typed, ".".join(_NAME): name})
    section = content.get(_SECTION)
    written = section if isinstance(section, dict) else {}
    known = {"name", *(keys[1] for answer in answers for keys in answer.keys)}
    found |= {(_SECTION, key): None for key in written if key not in known}
    for half in _HALVES:
        own = {keys: value for keys, value in found.items() if keys[:2] == (_SECTION, half)}
        said = {keys[-1]: value for keys, value in own.items() if value is not None}
        if isinstance(written.get(half), str) and (not said or said == {"method": written[half]}):
            found = {keys: value for keys, value in found.items() if keys not in own}
            found[_SECTION, half] = written[half] if said else None
    return found


def _setting(parameter: Parameter) -> Setting:
    """A parameter with its input; those that most leave as they are are folded away."""
    words = parameter.words if parameter.kind is Kind.WORD else ()
    if parameter.kind is Kind.FLAG:
        words = ("true", "false")
    default = ("", f"by default: {parameter.default}")
    said = "" if words else f"{_capital(parameter.kind.value)}. By default: {parameter.default}."
    path = (_SECTION, *parameter.keys)
    return Setting(
        path,
        Input(
            name=".".join(path),
            label=_label(parameter),
            help=f"{_capital(parameter.sentence)}. {said}".strip(),
            choices=(default, *((word, word) for word in words)) if words else (),
            suggests="columns" if parameter.kind is Kind.COLUMN else "",
            more=parameter.keys[0] in _HALVES and parameter.keys[1:] != ("method",),
        ),
        parameter.kind,
    )


def _label(parameter: Parameter) -> str:
    section, *rest = parameter.keys
    if not rest:
        return _capital(section.replace("_", " "))
    if rest == ["method"]:
        return _capital(section)
    return f"{_capital(section)}: {rest[0].replace('_', ' ')}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
