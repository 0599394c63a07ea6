"""What a spec reads from public files of codes: `categories: {file: codes.csv}`, and by a column of
such a file their groups, `groups: {file: codes.csv, column: sector}`, what codes of the private
table become, `recode: {codes: {file: codes.csv, column: sector}}`, what became of the codes of
earlier periods, and values that are looked up.

The file is CSV in UTF-8 whose first line names a column `code` and, if there are labels, a column
`label`; of other columns, those that the spec names are read. It is read when the spec is loaded,
and the spec then holds what was read itself: its digests are bound to it, and the published spec
needs no other file.

Messages give line numbers and never quote a line: somebody may name the private table by mistake.
"""

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from hallmark.schemas.given_files import bytes_of
from hallmark.schemas.section import Path as Keys
from hallmark.schemas.section import Problem
from hallmark.schemas.yaml_document import LARGEST, MOST_VALUES

FILE, COLUMN = "file", "column"
CATEGORIES, GROUPS, RECODE, CODES, VALUES = "categories", "groups", "recode", "codes", "values"
COLUMNS, LOOKUPS, SERIES = "columns", "lookups", "series"
_PLACES: Mapping[tuple[str, ...], tuple[Keys, ...]] = {
    (COLUMNS,): ((CATEGORIES,), (GROUPS,), (RECODE, CODES)),
    (LOOKUPS,): ((VALUES,),),
    (SERIES, RECODE): ((),),
}
"""By section, where in one of its entries a file may be named."""
_DELIMITERS = ",;\t"


@dataclass(frozen=True)
class CategoryFile:
    """A file of codes that a spec names.

    Attributes:
        path: of what was read from it, in the spec.
        file: as the spec names it.
        listed: what was read.
    """

    path: Keys
    file: str
    sha256: str
    listed: Mapping[str, Any] = field(repr=False)


class Unlisted(ValueError):
    """A file that does not list codes; the message says why, and how to fix it."""


def with_categories(
    content: Mapping[str, Any], folder: Path
) -> tuple[dict[str, Any], tuple[CategoryFile, ...], list[Problem]]:
    """The content of a spec in `folder`, with what it reads from the files of codes that it names.

    Returns:
        The content, the files, and the problems with them.
    """
    filled = dict(content)
    read: list[CategoryFile] = []
    problems: list[Problem] = []
    private = _private(content, folder)
    size = lines = 0  # of all files
    for path, asked in _named(content):
        try:
            raw = _content(folder / asked[FILE], private)
            size, lines = size + len(raw), lines + max(raw.count(b"\n"), raw.count(b"\r"))
            if size > LARGEST or lines > MOST_VALUES:  # the published spec holds all of them
                raise Unlisted(
                    f"is beyond what a spec can hold: its files have more than {LARGEST:,} "
                    f"bytes or {MOST_VALUES:,} lines together; give codebooks, not data"
                )
            found = _reader(path)(raw, asked.get(COLUMN, ""))
        except Unlisted as error:
            problems.append(Problem((*path, FILE), f"{asked[FILE]} {error}"))
            continue
        filled = _put(filled, path, found)
        read.append(CategoryFile(path, asked[FILE], sha256(raw).hexdigest(), found))
    return filled, tuple(read), problems


def _named(content: Mapping[str, Any]) -> Iterator[tuple[Keys, Mapping[str, str]]]:
    """Where a spec names files of codes, and what it says there."""
    for section, places in _PLACES.items():
        listed = _within(content, section)
        for name, entry in listed.items() if isinstance(listed, dict) else ():
            for keys in places:
                asked = _within(entry, keys)
                wanted = {FILE} if keys == (CATEGORIES,) else {FILE, COLUMN}
                if _names_file(asked, wanted):
                    yield (*section, name, *keys), asked
                for level, one in enumerate(asked if isinstance(asked, list) else ()):
                    if keys == (GROUPS,) and _names_file(one, wanted):
                        yield (*section, name, *keys, level), one


def _within(content: Any, keys: Keys) -> Any:
    """What stands at a path of a spec that may be anything; None if nothing does."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def _reader(path: Keys) -> Callable[[bytes, str], Any]:
    """What reads the file that is named at a path, by the last key of it that is none of a list."""
    if path[:2] == (SERIES, RECODE):
        return _values
    return _READERS[next(key for key in reversed(path) if isinstance(key, str))]


def _put(content: Any, path: Keys, value: Any) -> Any:
    """A copy of the content with a value at a path."""
    if not path:
        return value
    key, *rest = path
    if isinstance(key, int):
        return [*content[:key], _put(content[key], tuple(rest), value), *content[key + 1 :]]
    return content | {key: _put(content[key], tuple(rest), value)}


def _names_file(asked: Any, keys: set[str]) -> bool:
    return (
        isinstance(asked, dict)
        and set(asked) == keys
        and all(isinstance(value, str) for value in asked.values())
    )


def inlined(text: str, read: Iterable[CategoryFile]) -> str:
    """The text of a sound spec, with what it reads from files in place of their names."""
    root = YAML(typ="safe", pure=True).compose(text)
    places = {_place(text, _at(root, file.path)): file.listed for file in read}
    for (start, stop), found in sorted(places.items(), key=lambda one: one[0], reverse=True):
        column = start - text.rfind("\n", 0, start) - 1  # of the text, within its line
        indent = "\n" + " " * (column + 1)
        entries = (f"{_quoted(name)}: {_quoted(value)}" for name, value in found.items())
        text = f"{text[:start]}{{{f',{indent}'.join(entries)}}}{text[stop:]}"
    return text


def _quoted(value: str | Sequence[str]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _at(node: Node, path: Keys) -> Node:
    """What stands at a path of a sound spec."""
    for key in path:
        if isinstance(key, int):
            assert isinstance(node, SequenceNode), "the spec is sound"
            node = node.value[key]
        else:
            assert isinstance(node, MappingNode), "the spec is sound"
            node = next(value for name, value in node.value if str(name.value) == key)
    return node


def _place(text: str, node: Node) -> tuple[int, int]:
    """Start and end of a mapping such as `file: codes.csv` in the text."""
    assert isinstance(node, MappingNode), "it names a file"
    (key, _), (_, value) = node.value[0], node.value[-1]
    if not node.flow_style:  # its end mark comes after the empty lines that follow
        return key.start_mark.index, value.end_mark.index
    start = text.rindex("{", 0, key.start_mark.index)  # its own start mark comes before an anchor
    return start, node.end_mark.index


def _private(content: Mapping[str, Any], folder: Path) -> Path | None:
    data = content.get("data")
    source = data.get("source") if isinstance(data, dict) else None
    if not isinstance(source, str) or "://" in source:
        return None
    return Path(os.path.realpath(folder / source))


def _content(path: Path, private: Path | None) -> bytes:
    real = Path(os.path.realpath(path))
    if private is not None and (real == private or private in real.parents):
        raise Unlisted("is the private table of this release; give a public file")
    if not path.name.lower().endswith(".csv"):
        raise Unlisted("is not named like a CSV file; give one that ends in .csv")
    try:
        return bytes_of(path, LARGEST)
    except FileNotFoundError:
        raise Unlisted("does not exist; check the path, which is relative to the spec") from None
    except OSError as error:
        raise Unlisted(
            f"cannot be read ({error.strerror}); give the codebook, not the data"
        ) from None


def _categories(raw: bytes, _: str) -> dict[str, str]:
    """Labels by code, in the order of the file."""
    return {cells["code"]: cells.get("label") or cells["code"] for _, cells in _table(raw)}


def _values(raw: bytes, column: str) -> dict[str, str]:
    """What a column of the file says of every code, in the order of the file."""
    values: dict[str, str] = {}
    for line, cells in _table(raw):
        if column not in cells:
            raise Unlisted(f"has no column {column}; its first line must name it")
        if not cells[column]:
            raise Unlisted(f"has no {column} on line {line}; give every code one")
        values[cells["code"]] = cells[column]
    return values


def _groups(raw: bytes, column: str) -> dict[str, list[str]]:
    """Codes by group, groups in the order in which they begin in the file."""
    groups: dict[str, list[str]] = {}
    for code, group in _values(raw, column).items():
        groups.setdefault(group, []).append(code)
    return groups


_READERS: Mapping[str, Callable[[bytes, str], Any]] = {
    CATEGORIES: _categories,
    GROUPS: _groups,
    CODES: _values,
    VALUES: _values,
}


def _table(raw: bytes) -> list[tuple[int, dict[str, str]]]:
    """The lines of a list of codes, each with its number, by the names on the first line."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unlisted("is not UTF-8 text; save it as UTF-8") from None
    first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        names = [name.strip() for name in next(rows, [])]
        if names.count("code") != 1 or names.count("label") > 1:
            raise Unlisted(
                "does not name the column code once; make its first line code, or code,label"
            )
        return list(_lines(rows, names))
    except csv.Error:
        raise Unlisted("is not CSV; check its quotes") from None


def _lines(rows: Any, names: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    lines: dict[str, int] = {}
    for row in rows:
        if not any(row):
            continue
        line = rows.line_num
        if len(row) != len(names):
            raise Unlisted(
                f"has {len(row)} fields on line {line}, but {len(names)} on the first; put texts "
                "with a delimiter in quotes"
            )
        cells = {name: cell.strip() for name, cell in zip(names, row, strict=True)}
        code = cells["code"]
        if not all(text.isprintable() for text in cells.values()):
            raise Unlisted(f"has an unprintable character on line {line}; remove it")
        if not code:
            raise Unlisted(
                f"has no code on line {line}; remove the line, and for missing values write "
                "nulls: true"
            )
        if code in lines:
            raise Unlisted(f"repeats the code of line {lines[code]} on line {line}; keep one")
        lines[code] = line
        yield line, cells
    if not lines:
        raise Unlisted("lists no codes; write one per line")
