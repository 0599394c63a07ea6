"""What people answer about a release and its columns in forms, beside what the spec says of it.

A form shows what the text of the spec says, and changes the keys alone whose answer is another than
was shown. What the inputs mean is said by the models' own descriptions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol

from hallmark.schemas.about import About, Tuning
from hallmark.schemas.code_lines import (
    Unclear,
    categories_as_lines,
    categories_in,
    groups_as_lines,
    groups_in,
    texts_as_lines,
    texts_in,
)
from hallmark.schemas.columns.category_files import (
    CATEGORIES,
    CODES,
    COLUMN,
    FILE,
    GROUPS,
    RECODE,
)
from hallmark.schemas.columns.columns import COLUMN_TYPES, BoundSource
from hallmark.schemas.columns.recoding import Recode
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.section import Section
from hallmark.schemas.spec_sections import PersonUnit, Population, Privacy, Replicates
from hallmark.schemas.table_sections import DataSource
from hallmark.schemas.text_edits import Keys, Value
from hallmark.schemas.visible import visible
from hallmark.schemas.yaml_document import FILL_IN

MOST_LINE = 2_000  # characters of an answer in one line

Choices = Sequence[tuple[str, str]]
"""Values with the words for them; the empty one is no answer."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """One input of a form.

    Attributes:
        name: as the form sends it, and the key that a problem with it names.
        lines: of a text; 0 for what stands in one line.
        suggests: what is proposed: columns, accounts, tables or files; empty for nothing.
        more: whether most leave it as it is.
    """

    name: str
    label: str
    help: str = ""
    choices: Choices = ()
    lines: int = 0
    suggests: str = ""
    more: bool = False


class Answer(Protocol):
    """Inputs that say together what stands at some keys of a section."""

    @property
    def inputs(self) -> tuple[Input, ...]: ...

    @property
    def keys(self) -> tuple[Keys, ...]:
        """Where in the section the answer is, in the order in which it is written."""
        ...

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        """What the inputs show, by their names; None for what only the text can say."""
        ...

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        """What stands at the keys if this is typed.

        Raises:
            Unclear: it does not say.
        """
        ...


def at(section: Mapping[str, Any], keys: Keys) -> Any:
    """What stands at the keys; None if there is nothing, or a marker to be filled in."""
    found: Any = section
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return None if found == FILL_IN else found


@dataclass(frozen=True)
class Text:
    """A text, a number or a choice as it stands in the spec."""

    path: Keys
    input: Input

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (self.input,)

    @property
    def keys(self) -> tuple[Keys, ...]:
        return (self.path,)

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        found = at(section, self.path) or ""
        is_shown = isinstance(found, str) and (self.input.lines > 0 or "\n" not in found)
        return {self.input.name: found} if is_shown else None

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        return {self.path: typed[self.input.name] or None}


@dataclass(frozen=True)
class Code(Text):
    """A code of a category, in quotes where it needs them."""

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        found = at(section, self.path)
        if not isinstance(found, str | None):
            return None
        return {self.input.name: "" if found is None else texts_as_lines([found])}

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        return {self.path: next(iter(texts_in(typed[self.input.name])), None)}


@dataclass(frozen=True)
class Texts(Text):
    """A list of texts, one a line."""

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        found = at(section, self.path)
        if not _are_texts(found or []):
            return None
        return {self.input.name: texts_as_lines(found or [])}

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        return {self.path: texts_in(typed[self.input.name]) or None}


@dataclass(frozen=True)
class Division:
    """How an interval is divided into cells: by one key of several."""

    ways: Choices  # the keys with their words
    list_of: str = ""  # the one whose value is a list

    by: ClassVar[str] = "cells"
    amount: ClassVar[str] = "cells.value"

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (
            Input(name=self.by, label="The interval is divided by", choices=self.ways),
            Input(
                name=self.amount,
                label="How many, how wide, or where",
                help="some 20 to 60 cells, in which the column is measured with others",
            ),
        )

    @property
    def keys(self) -> tuple[Keys, ...]:
        return tuple((key,) for key, _ in self.ways)

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        said = [key for key, _ in self.ways if section.get(key) not in (None, FILL_IN)]
        way = said[0] if said else self.ways[0][0]
        found = at(section, (way,)) or ""
        if way == self.list_of and _are_texts(found):
            found = ", ".join(found)
        is_plain = isinstance(found, str) and len(said) < 2
        return {self.by: way, self.amount: found} if is_plain else None

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        found: dict[Keys, Value | None] = dict.fromkeys(self.keys)
        amount: Value = typed[self.amount]
        if typed[self.by] == self.list_of:
            amount = typed[self.amount].replace(",", " ").replace(";", " ").split()
        return found | {(typed[self.by],): amount or None}


@dataclass(frozen=True)
class Categories:
    """Codes with labels, typed or from a public file."""

    help: str

    keys: ClassVar[tuple[Keys, ...]] = ((CATEGORIES,),)
    typed_in: ClassVar[str] = CATEGORIES
    file: ClassVar[str] = f"{CATEGORIES}.{FILE}"

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (
            Input(
                name=self.typed_in,
                label="Categories, one a line: code = label",
                help=self.help,
                lines=8,
            ),
            Input(
                name=self.file,
                label="or a public file that lists them",
                help="it was uploaded as public, and its first line names code and label",
                suggests="files",
            ),
        )

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        found = at(section, (CATEGORIES,)) or {}
        if isinstance(found, dict) and set(found) == {FILE} and isinstance(found[FILE], str):
            return {self.typed_in: "", self.file: found[FILE]}
        if _are_texts(found):
            found = {code: code for code in found}
        if not isinstance(found, dict) or not _are_texts(list(found.values())):
            return None
        return {self.typed_in: categories_as_lines(found), self.file: ""}

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        if typed[self.file]:
            return {(CATEGORIES,): {FILE: typed[self.file]}}
        found: Value = categories_in(typed[self.typed_in])
        if isinstance(found, Mapping) and all(code == label for code, label in found.items()):
            found = list(found)
        return {(CATEGORIES,): found or None}


@dataclass(frozen=True)
class Groups:
    """Groups of categories, typed or from a public file."""

    help: str

    keys: ClassVar[tuple[Keys, ...]] = ((GROUPS,),)
    typed_in: ClassVar[str] = GROUPS
    file: ClassVar[str] = f"{GROUPS}.{FILE}"
    column: ClassVar[str] = f"{GROUPS}.{COLUMN}"

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (
            Input(
                name=self.typed_in,
                label="Groups of the categories, one a line: group = code, code",
                help=self.help,
                lines=4,
                more=True,
            ),
            Input(
                name=self.file,
                label="or a public file that has the groups",
                suggests="files",
                more=True,
            ),
            Input(name=self.column, label="and its column with the groups", more=True),
        )

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        found = at(section, (GROUPS,)) or []
        if (
            isinstance(found, dict)
            and set(found) == {FILE, COLUMN}
            and all(isinstance(value, str) for value in found.values())
        ):
            return {self.typed_in: "", self.file: found[FILE], self.column: found[COLUMN]}
        levels = [found] if isinstance(found, dict) else found
        if not isinstance(levels, list) or not all(
            isinstance(level, dict) and all(map(_are_texts, level.values())) for level in levels
        ):
            return None
        return {self.typed_in: groups_as_lines(levels), self.file: "", self.column: ""}

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        if typed[self.file]:
            named = {FILE: typed[self.file], COLUMN: typed[self.column]}
            return {(GROUPS,): {key: value for key, value in named.items() if value}}
        levels = groups_in(typed[self.typed_in])
        found: Value = levels[0] if len(levels) == 1 else levels
        return {(GROUPS,): found or None}


@dataclass(frozen=True)
class Recoding:
    """How codes of the file become the categories: their first characters, or a map, typed or from
    a public file."""

    help: str
    first: str  # what the number of characters means
    of: str  # what the length of a code means

    keys: ClassVar[tuple[Keys, ...]] = ((RECODE,),)
    characters: ClassVar[tuple[str, str]] = ("first", "of")
    typed_in: ClassVar[str] = f"{RECODE}.{CODES}"
    file: ClassVar[str] = f"{RECODE}.{CODES}.{FILE}"
    column: ClassVar[str] = f"{RECODE}.{CODES}.{COLUMN}"

    @property
    def inputs(self) -> tuple[Input, ...]:
        first, of = (f"{RECODE}.{key}" for key in self.characters)
        return (
            Input(
                name=first,
                label="Recode to the first characters: how many",
                help=self.first,
                more=True,
            ),
            Input(name=of, label="of codes of so many characters", help=self.of, more=True),
            Input(
                name=self.typed_in,
                label="or to others, one a line: code in the file = category",
                help=self.help,
                lines=4,
                more=True,
            ),
            Input(
                name=self.file,
                label="or by a public file that has the category of every code",
                suggests="files",
                more=True,
            ),
            Input(name=self.column, label="and its column with the categories", more=True),
        )

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        found = at(section, (RECODE,)) or {}
        if not isinstance(found, dict) or not {*found} <= {*self.characters, CODES}:
            return None
        said = {f"{RECODE}.{key}": at(found, (key,)) or "" for key in self.characters}
        codes = at(found, (CODES,)) or {}
        if not isinstance(codes, dict) or not _are_texts([*said.values(), *codes.values()]):
            return None
        if set(codes) == {FILE, COLUMN}:
            column = at(codes, (COLUMN,)) or ""
            return said | {self.typed_in: "", self.file: codes[FILE], self.column: column}
        return said | {self.typed_in: categories_as_lines(codes), self.file: "", self.column: ""}

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        said: dict[str, Value] = {key: typed[f"{RECODE}.{key}"] for key in self.characters}
        if typed[self.file]:
            said[CODES] = {FILE: typed[self.file], COLUMN: typed[self.column] or FILL_IN}
        else:
            said[CODES] = categories_in(typed[self.typed_in])
        return {(RECODE,): {key: value for key, value in said.items() if value} or None}


@dataclass(frozen=True)
class Coordinates:
    """Where every category is."""

    help: str

    keys: ClassVar[tuple[Keys, ...]] = (("coordinates",),)
    typed_in: ClassVar[str] = "coordinates"

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (
            Input(
                name=self.typed_in,
                label="Where each is, one a line: code = latitude, longitude",
                help=self.help,
                lines=6,
            ),
        )

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        found = at(section, ("coordinates",)) or {}
        if not isinstance(found, dict) or not all(
            _are_texts(place) and len(place) == 2 for place in found.values()
        ):
            return None
        said = {code: f"{latitude}, {longitude}" for code, (latitude, longitude) in found.items()}
        return {self.typed_in: categories_as_lines(said)}

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        found: dict[str, Value] = {}
        for code, place in categories_in(typed[self.typed_in]).items():
            numbers = [one.strip() for one in place.split(",")]
            if len(numbers) != 2:
                raise Unclear(
                    f"{visible(code)!r} has no latitude and longitude; write code = 51.34, 12.37"
                )
            found[code] = numbers
        return {("coordinates",): found or None}


@dataclass(frozen=True)
class Distances:
    """How far apart the categories are, as a square matrix."""

    help: str

    keys: ClassVar[tuple[Keys, ...]] = (("distances",),)
    typed_in: ClassVar[str] = "distances"

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (
            Input(
                name=self.typed_in,
                label="or how far apart they are: a line for each category, a number for each",
                help=self.help,
                lines=4,
            ),
        )

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        found = at(section, ("distances",)) or []
        if not isinstance(found, list) or not all(map(_are_texts, found)):
            return None
        return {self.typed_in: "\n".join(" ".join(row) for row in found)}

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        lines = typed[self.typed_in].replace(",", " ").replace(";", " ").splitlines()
        return {("distances",): [line.split() for line in lines if line.strip()] or None}


@dataclass(frozen=True)
class Truths:
    """The texts that mean true, and those that mean false."""

    help: str

    keys: ClassVar[tuple[Keys, ...]] = (("values",),)
    truths: ClassVar[Mapping[str, str]] = {"values": "true", "values.false": "false"}

    @property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(
            Input(
                name=name,
                label=f"Texts that mean {truth}, one a line",
                help=self.help,
                lines=2,
            )
            for name, truth in self.truths.items()
        )

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        found = at(section, ("values",)) or {}
        if not isinstance(found, dict) or not set(found.values()) <= set(self.truths.values()):
            return None
        return {
            name: texts_as_lines(text for text, said in found.items() if said == truth)
            for name, truth in self.truths.items()
        }

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        found = {
            text: truth for name, truth in self.truths.items() for text in texts_in(typed[name])
        }
        return {("values",): found or None}


@dataclass(frozen=True)
class Unit:
    """Whom the guarantee protects: a record, or all records of a person."""

    help: str
    person: str  # what the column of a person means
    most: str  # what the number of records means

    keys: ClassVar[tuple[Keys, ...]] = (("privacy", "unit"),)
    unit: ClassVar[str] = "privacy.unit"
    who: ClassVar[str] = "privacy.unit.person"
    number: ClassVar[str] = "privacy.unit.max_records"

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (
            Input(
                name=self.unit,
                label="Whom it protects",
                help=self.help,
                choices=(
                    ("", "choose"),
                    ("record", "each record"),
                    ("person", "all records of a person"),
                ),
            ),
            Input(
                name=self.who,
                label="of a person: the column that tells who it is",
                help=self.person,
                suggests="columns",
            ),
            Input(name=self.number, label="and the most records of one", help=self.most),
        )

    def shown(self, section: Mapping[str, Any]) -> dict[str, str] | None:
        match at(section, ("privacy", "unit")):
            case None:
                return {self.unit: "", self.who: "", self.number: ""}
            case "record":
                return {self.unit: "record", self.who: "", self.number: ""}
            case dict(found) if set(found) <= {"person", "max_records"}:
                who, number = (at(found, (key,)) or "" for key in ("person", "max_records"))
                return {self.unit: "person", self.who: who, self.number: number}
        return None

    def read(self, typed: Mapping[str, str]) -> dict[Keys, Value | None]:
        if typed[self.unit] != "person":
            return {self.keys[0]: typed[self.unit] or None}
        said = {"person": typed[self.who], "max_records": typed[self.number]}
        return {self.keys[0]: {key: value or FILL_IN for key, value in said.items()}}


def _are_texts(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


_YES: Choices = (("", "not said, which means no"), ("true", "yes"), ("false", "no"))
_TYPES: Choices = (
    ("", "choose"),
    ("numeric", "numeric: numbers in an interval"),
    ("date", "date: days in an interval"),
    ("nominal", "nominal: categories without an order"),
    ("ordinal", "ordinal: categories in their order"),
    ("boolean", "boolean: yes or no"),
    ("places", "places: categories with distances between them"),
)
_LISTED = ("nominal", "ordinal", "places")  # types of categories
_FORMS = tuple(type_ for type_, _ in _TYPES if type_)
_REFUSE = (("", "choose"), ("refuse", "refuse: the run stops"))
_CLAMP = (*_REFUSE, ("clamp", "clamp: it moves to the nearer bound"))
_CATCH_ALL = (*_REFUSE, ("catch_all", "catch_all: it counts as another"))
_KINDS: Choices = (("", "choose"), ("public", "a public source"), ("law", "a law"))
_SCHEDULES: Choices = (("", "choose"), ("one-shot", "one-shot"), ("periodic", "in every period"))
_GROWTH: Choices = (("", "choose"), ("static", "static"), ("growing", "growing over time"))
_TUNED: Choices = (
    ("", "choose"),
    ("nothing", "nothing"),
    ("public", "public data"),
    ("synthetic", "synthetic data"),
    ("private", "private data"),
)
_REPLICATES: Keys = ("output", "replicates", "number")
STATEMENTS = "What only people can state"
"""The heading of what an audit report prints as stated by people."""
_NEIGHBOURS: Choices = (
    ("", "choose"),
    ("replace_one", "replace_one: one is replaced by another"),
    ("add_remove", "add_remove: one is added or removed"),
)


def meaning(model: type[Section], key: str) -> str:
    """What a key of a section means, on one line."""
    return " ".join(model.meanings().get(key, "").split())


def _text(model: type[Section], path: Keys, label: str, **more: Any) -> Text:
    means = meaning(model, path[-1])
    return Text(path, Input(name=".".join(path), label=label, help=means, **more))


def _texts(model: type[Section], path: Keys, label: str, **more: Any) -> Texts:
    said = _text(model, path, f'{label}, one a line; "" is an empty one', lines=3, **more)
    return Texts(said.path, said.input)


def _column(type_: str) -> Iterator[Answer]:
    """What is answered about a column of a type, in the order in which it is written."""
    model = COLUMN_TYPES[type_]
    yield _text(model, ("description",), "Description", lines=2, more=True)
    if type_ == "numeric":
        yield _text(model, ("unit",), "Unit", more=True)
        yield _text(model, ("integer",), "Whole numbers", choices=_YES)
        yield _text(model, ("step",), "Step", more=True)
    if type_ in ("numeric", "date"):
        yield _text(model, ("minimum",), "Minimum")
        yield _text(model, ("maximum",), "Maximum")
    if type_ == "numeric":
        number, width, edges = "a number of equal cells", "the width of a cell", "edges"
        ways = (("cells", number), ("cell_width", width), ("edges", edges))
        yield Division(ways, list_of="edges")
    if type_ == "date":
        yield Division((("cells", "a number of cells"), ("cell_days", "the days of a cell")))
        yield _text(model, ("format",), "Days are written as")
    if type_ in ("numeric", "date"):
        yield _text(model, ("detail",), "Detail", more=True)
    if type_ in _LISTED:
        yield Recoding(*(meaning(Recode, key) for key in (CODES, "first", "of")))
        yield Categories(meaning(model, CATEGORIES))
    if type_ == "nominal":
        yield Groups(meaning(model, GROUPS))
    if type_ == "places":
        yield Coordinates(meaning(model, "coordinates"))
        yield Distances(meaning(model, "distances"))
        yield _text(model, ("unit",), "Unit of the distances")
    if type_ == "boolean":
        yield Truths(meaning(model, "values"))
    outside = _CLAMP if type_ in ("numeric", "date") else _CATCH_ALL
    yield _text(model, ("outside",), "What lies outside", choices=outside)
    if type_ in _LISTED:
        other = _text(model, ("other",), "The category for what lies outside")
        yield Code(other.path, other.input)
    if type_ == "boolean":
        truths = (("", "none"), ("true", "true"), ("false", "false"))
        yield _text(model, ("other",), "The value for what lies outside", choices=truths)
    if type_ != "boolean":
        kind, reference = ("bound_source", "kind"), ("bound_source", "reference")
        what = "categories" if type_ in _LISTED else "bounds"
        yield _text(BoundSource, kind, f"The {what} come from", choices=_KINDS)
        yield _text(BoundSource, reference, "Reference")
    yield _text(model, ("nulls",), "Values may be missing", choices=_YES)
    yield _texts(model, ("null_markers",), "Missing values of this column", more=True)


@cache
def answers_about(type_: str) -> tuple[Answer, ...]:
    """What is answered about a column of a type, which may be none or one that has no form."""
    asked = _text(COLUMN_TYPES["numeric"], ("type",), "Type", choices=_TYPES)
    return (asked, *_column(type_)) if type_ in _FORMS else (asked,)


@cache
def answers_about_release() -> Mapping[str, tuple[Answer, ...]]:
    """What is answered about the release itself, by headings."""
    return {
        "The release": (
            _text(ReleaseSpec, ("release",), "Name", more=True),
            _text(ReleaseSpec, ("title",), "Title"),
            _text(ReleaseSpec, ("description",), "Description", lines=2, more=True),
            _text(Replicates, _REPLICATES, "Replicate weights; empty: none", more=True),
        ),
        "The people": (
            _text(Population, ("population", "account"), "Account", suggests="accounts"),
            _text(Population, ("population", "description"), "Who they are", lines=2),
        ),
        "The table": (
            _text(DataSource, ("data", "source"), "File", suggests="tables", more=True),
            _texts(DataSource, ("data", "null_markers"), "Missing values", more=True),
            _text(DataSource, ("data", "expected_rows"), "Number of rows, about"),
            _text(DataSource, ("data", "record"), "What a row stands for"),
        ),
        "Privacy": (
            _text(Privacy, ("privacy", "neighbours"), "Neighbours", choices=_NEIGHBOURS),
            Unit(
                meaning(Privacy, "unit"),
                meaning(PersonUnit, "person"),
                meaning(PersonUnit, "max_records"),
            ),
            _text(Privacy, ("privacy", "epsilon"), "Epsilon (ε)"),
            _text(Privacy, ("privacy", "delta"), "Delta (δ)"),
        ),
        STATEMENTS: tuple(_statements()),
    }


def _statements() -> Iterator[Answer]:
    """What people state about a release, those first without which a gate stays closed."""
    yield _statement("intended_use", "What it is meant for", lines=2)
    yield _statement("supported_uses", "What it is fit for", lines=2)
    yield _statement("unsupported_uses", "What it is not fit for", lines=2)
    yield _statement("schedule", "How often", choices=_SCHEDULES)
    yield _statement("data_source", "The data are", choices=_GROWTH)
    yield _statement("legal_basis", "Legal basis")
    yield _statement("clearance", "Disclosure clearance")
    yield _statement("snapshot", "As of when the table is")
    yield _statement("collection", "How the data were collected", lines=2)
    on, details = ("about", "tuning", "on"), ("about", "tuning", "details")
    yield _text(Tuning, on, "Parameters were tuned on", choices=_TUNED)
    yield _text(Tuning, details, "Which data, and which parameters", more=True)
    yield _statement("known_biases", "Known biases", lines=2, more=True)
    yield _statement("period", "How often, and how the budget is shared", more=True)
    yield _statement("authorised_by", "Authorised by", more=True)
    yield _statement("supersedes", "Replaces", more=True)
    yield _statement("asset", "Entry in the data catalogue", more=True)
    yield _statement("justification", "Why this unit, budget and mechanism", lines=2, more=True)


def _statement(key: str, label: str, **more: Any) -> Text:
    return _text(About, ("about", key), label, **more)


def shown_in(answers: Sequence[Answer], section: Mapping[str, Any]) -> dict[str, str]:
    """What all inputs show, by their names, but for those that the text alone can say."""
    every = [answer.shown(section) or {} for answer in answers]
    return {name: text for one in every for name, text in one.items()}


def has_form(type_: str) -> bool:
    """Whether a column of this type, or of none yet, is described by a form."""
    return type_ in ("", *_FORMS)


def edits(
    answers: Sequence[Answer], section: Mapping[str, Any], typed: Mapping[str, str]
) -> dict[Keys, Value | None]:
    """What is to be written at which keys of a section, whose answers are now these.

    Answers that are as they were shown keep what is written, however it is written.

    Args:
        typed: by the inputs' names; what is missing stays as it is.
    Raises:
        Unclear: an answer does not say.
    """
    found: dict[Keys, Value | None] = {}
    for answer in answers:
        shown = answer.shown(section) or {}
        said = {name: typed.get(name, text).strip() for name, text in shown.items()}
        if said == {name: text.strip() for name, text in shown.items()}:
            kept = {keys: _raw(section, keys) for keys in answer.keys}
            found |= {keys: value for keys, value in kept.items() if value is not None}
        else:
            found |= answer.read(said)
    return found


def misfits(type_: str, section: Mapping[str, Any]) -> dict[Keys, None]:
    """The keys that a column of this type cannot have, to be taken out."""
    known = {info.alias or name for name, info in COLUMN_TYPES[type_].model_fields.items()}
    return {(key,): None for key in section if key not in known}


def _raw(section: Mapping[str, Any], keys: Keys) -> Value | None:
    found: Any = section
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found
