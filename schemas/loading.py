"""Read a release spec, a profile or a calendar from YAML, or report all problems at once.

Each problem is one line, `file:line: path.to.key: what is wrong; how to fix it`, in plain words.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path as FilePath
from typing import Any, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from hallmark.mechanisms.catalogue import CATALOGUE
from hallmark.schemas.calendar import Calendar
from hallmark.schemas.columns.category_files import with_categories
from hallmark.schemas.columns.columns import COLUMN_TYPES, Column
from hallmark.schemas.exact import shown
from hallmark.schemas.lookups import Lookup
from hallmark.schemas.nearest import did_you_mean
from hallmark.schemas.profile import Profile
from hallmark.schemas.public_totals import PublicTotal
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.section import Path, Problem, Section, Supported
from hallmark.schemas.spec_checks import SoundSections, problems_between
from hallmark.schemas.spec_sections import Constraint, PersonUnit
from hallmark.schemas.yaml_document import Document, Unreadable, read_document

M = TypeVar("M", bound=Section)
_Validated = tuple[M | None, list[Problem]]


class SpecError(Exception):
    """An invalid spec, profile or calendar. `problems` holds one complete line per problem, and
    `found` what they are about, unless the file cannot be read."""

    def __init__(self, problems: list[str], found: Sequence[Problem] = ()) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
        self.found = tuple(found)


def load_spec(
    path: FilePath | str, folder: FilePath | None = None, *, is_published: bool = False
) -> ReleaseSpec:
    """The release spec in a YAML file, with categories read from the files that it names.

    Args:
        folder: where relative paths of these files start; defaults to the spec's folder.
        is_published: whether it is that of a release, which another version may have made: its
            mechanism may have had parameters that this version does not know.
    Raises:
        SpecError: with every problem of the file, in the order of its lines.
    """
    where = FilePath(path).parent if folder is None else folder

    def validated(content: dict[str, Any]) -> _Validated[ReleaseSpec]:
        spec, found = _validated_spec(content, where)
        odd = [] if is_published else list(_wrong_parameters(content))
        return spec, [*found, *odd]

    return _load(path, validated)


def load_profile(path: FilePath | str) -> Profile:
    """The profile of an installation in a YAML file.

    Raises:
        SpecError: with every problem of the file, in the order of its lines.
    """
    return _load(path, lambda content: _validated(Profile, content))


def load_calendar(path: FilePath | str) -> Calendar:
    """The release calendar in a YAML file.

    Raises:
        SpecError: with every problem of the file, in the order of its lines.
    """
    return _load(path, lambda content: _validated(Calendar, content))


def located(path: FilePath | str, problem: str) -> str:
    """The problem `path.to.key: what is wrong` of a loaded spec, as one line of `SpecError`.

    The line number is the key's, or that of the nearest enclosing section in the file.

    Raises:
        SpecError: the file can no longer be read.
    """
    document = _document(path)
    keys = _KEYS.match(problem)
    steps = _KEY.findall(keys.group()) if keys else []
    place = tuple(int(index) if index else name for name, index in steps)
    return f"{path}:{document.line(document.origin(place))}: {problem}"


_KEY = re.compile(r"([^.:,[\]]+)|\[(\d+)\]")
_KEYS = re.compile(r"\w+(\.[^.:,[\]]+|\[\d+\])*(?=[:,])")


def _document(path: FilePath | str) -> Document:
    try:
        return read_document(FilePath(path))
    except Unreadable as error:
        where = f"{path}:{error.line}" if error.line is not None else f"{path}"
        raise SpecError([f"{where}: {error.what}"]) from None


def _load(path: FilePath | str, validated: Callable[[dict[str, Any]], _Validated[M]]) -> M:
    document = _document(path)
    model, found = validated(document.content)
    found = [Problem(document.origin(path), what) for path, what in found]
    problems = list(dict.fromkeys([*document.problems, *_unmarked(found, document)]))
    if model is not None and not problems:
        return model
    lines = {p: document.problem_lines.get(p) or document.line(p.path) for p in problems}
    ordered = sorted(lines, key=lambda problem: lines[problem])
    told = [f"{path}:{lines[p]}: {_dotted(p.path)}{p.what}" for p in ordered]
    raise SpecError(told, ordered)


def _validated(model: type[M], content: dict[str, Any]) -> _Validated[M]:
    try:
        return model.model_validate(content), []
    except ValidationError as error:
        return None, [
            _problem(details, model)
            for details in error.errors(include_url=False)
            if _is_own(details)
        ]


def _validated_spec(content: dict[str, Any], folder: FilePath) -> _Validated[ReleaseSpec]:
    content, files, unlisted = with_categories(content, folder)
    spec, found = _validated(ReleaseSpec, content)
    if spec is not None and not unlisted:
        return spec.with_category_files(files), []
    told = {problem.path[:2] for problem in unlisted}
    found = [*unlisted, *(problem for problem in found if problem.path[:2] not in told)]
    broken = {problem.path[:2] for problem in found}
    return None, [*found, *problems_between(_sound_sections(content, broken))]


def _wrong_parameters(content: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the parameters of the mechanism, as far as the catalogue says."""
    section = content.get("mechanism")
    name = section.get("name") if isinstance(section, dict) else None
    if isinstance(section, dict) and isinstance(name, str) and name in CATALOGUE:
        given = {key: one for key, one in section.items() if key not in ("name", "queries")}
        for path, what in CATALOGUE[name].wrong(given):
            yield Problem(("mechanism", *path), what)


def _unmarked(found: list[Problem], document: Document) -> Iterator[Problem]:
    """Problems except those that follow from one already reported at the same place."""
    told = {problem.path for problem in document.problems}
    for problem in found:
        if not any(problem.path[:length] in told for length in range(1, len(problem.path) + 1)):
            yield problem


_NAMED = {"columns", "unsound_columns", "lookups", "unsound_lookups"}
_WITH_ENTRIES = _NAMED | {"constraints", "public_totals"}


def _sound_sections(content: dict[str, Any], broken: set[Path]) -> SoundSections:
    """The sections without problems."""
    tops = {path[0] for path in broken if path}
    sound: dict[str, Any] = {}
    for key in {field.name for field in fields(SoundSections)} - _WITH_ENTRIES:
        model = _model_of(ReleaseSpec, key)
        if model is not None and key in content and key not in tops:
            sound[key] = model.model_validate(content[key])
    if ("columns",) in broken:
        return SoundSections(**{key: sound[key] for key in ("data", "mechanism") if key in sound})

    def named(key: str, adapter: TypeAdapter[Any]) -> dict[str, Any]:
        given = content.get(key) if (key,) not in broken else None
        entries = given if isinstance(given, dict) else {}
        unsound = frozenset(name for name in entries if (key, name) in broken)
        return {
            key: {n: adapter.validate_python(e) for n, e in entries.items() if n not in unsound},
            f"unsound_{key}": unsound,
        }

    def entries(key: str, model: type[M]) -> dict[int, M]:
        given = content.get(key)
        return {
            i: model.model_validate(entry)
            for i, entry in enumerate(given if isinstance(given, list) else ())
            if (key, i) not in broken
        }

    return SoundSections(
        **sound,
        **named("columns", TypeAdapter[Column](Column)),
        **named("lookups", TypeAdapter(Lookup)),
        constraints=entries("constraints", Constraint),
        public_totals=entries("public_totals", PublicTotal),
    )


def _is_own(details: ErrorDetails) -> bool:
    """Whether the error is in the file itself, not an echo of an error in a list entry."""
    return details["type"] != "too_short" or not details["input"]


def _problem(details: ErrorDetails, root: type[Section]) -> Problem:
    model, path = _place(details["loc"], root)
    if details["type"] == "union_tag_invalid" and path[:1] == ("columns",):
        path = (*path, "type")
    return Problem(path, _message(details, model, path))


def _place(loc: Path, root: type[Section]) -> tuple[type[Section] | None, Path]:
    """Model that should hold the last key, and the path without pydantic's union tags."""
    model: type[Section] | None = root
    path: list[str | int] = []
    rest = list(loc)
    if len(loc) > 2 and loc[0] == "columns" and loc[2] in COLUMN_TYPES:
        model, path, rest = COLUMN_TYPES[str(loc[2])], list(loc[:2]), list(loc[3:])
    elif len(loc) > 2 and loc[:2] == ("privacy", "unit") and loc[2] == "person":
        model, path, rest = PersonUnit, list(loc[:2]), list(loc[3:])
    elif len(loc) > 2 and loc[0] == "lookups":
        model, path, rest = Lookup, list(loc[:2]), list(loc[2:])
    for i, key in enumerate(rest):
        path.append(key)
        if i < len(rest) - 1 and isinstance(key, str):
            model = _model_of(model, key)
    # pydantic marks a bad key of a mapping by an extra step, which is not a key of the file
    return model, tuple(path[:-1] if path and path[-1] == "[key]" else path)


def _model_of(model: type[Section] | None, key: str) -> type[Section] | None:
    if model is None or key not in _fields(model):
        return None
    annotation = _fields(model)[key].annotation
    kinds = [annotation, *get_args(annotation)]
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, Section)), None)


def _fields(model: type[Section]) -> dict[str, FieldInfo]:
    return {info.alias or name: info for name, info in model.model_fields.items()}


def _message(details: ErrorDetails, model: type[Section] | None, path: Path) -> str:
    key, value, context = str(path[-1] if path else ""), details["input"], details.get("ctx", {})
    keys = {} if model is None else _fields(model)
    field = keys.get(key)
    meanings = {} if model is None else model.meanings()
    hint = " ".join(meanings.get(key, "one").split())
    found = shown(value)
    match details["type"]:
        case "value_error":
            return str(context["error"])
        case "spec_problem":
            return str(context["what"])
        case "missing":
            return f"is missing; add {hint}"
        case "extra_forbidden":
            mend = did_you_mean(key, keys) or f"the keys here are {', '.join(keys)}"
            return f"is not a key of the spec; {mend}"
        case "union_tag_not_found":
            return f"has no type; add type: and one of {', '.join(COLUMN_TYPES)}"
        case "union_tag_invalid":
            tag = value.get("type") if isinstance(value, Mapping) else value
            mend = did_you_mean(str(tag), COLUMN_TYPES) or f"give one of {', '.join(COLUMN_TYPES)}"
            return f"has the unknown type {tag!r}; {mend}"
        case _ if value is None:
            return f"has no value; add {hint}"
        case "literal_error":
            choices = str(context["expected"])
            mend = did_you_mean(
                str(value), choices.replace("'", "").replace(" or ", ", ").split(", ")
            )
            return f"must be {choices.replace(chr(39), '')}, not {found}" + (mend and f"; {mend}")
        case "int_parsing" | "int_type" | "int_from_float" | "int_parsing_size":
            return f"must be a whole number, such as 10, not {found}"
        case "bool_parsing" | "bool_type":
            return f"must be true or false, not {found}"
        case "string_type":
            return f"must be text, not {found}"
        case "string_too_short":
            return "is empty; write something"
        case "string_too_long":
            return f"must be a single character, not {found}"
        case "string_pattern_mismatch":
            return (
                f"is {found}; use at most 64 lowercase letters, digits and dashes, "
                "such as rand-hie-2026"
            )
        case "greater_than_equal":
            return f"is {value}; give at least {context['ge']}"
        case "less_than_equal" if field and any(isinstance(m, Supported) for m in field.metadata):
            return f"is {value}, but this version supports at most {context['le']}"
        case "less_than_equal":
            return f"is {found}; give at most {context['le']}"
        case "tuple_type" | "list_type":
            return f"must be a list, such as [a, b], not {found}"
        case "too_short":
            return "is empty; list at least one"
        case "dict_type" | "model_type" | "model_attributes_type":
            return f"must be a mapping of keys to values, not {found}"
    return f"is not acceptable ({details['msg']})"


def _dotted(path: Path) -> str:
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return f"{text.removeprefix('.')}: " if text else ""
