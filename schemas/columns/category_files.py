"""Categories that a spec reads from a file: `categories: {file: codes.csv}`, their groups:
`groups: {file: codes.csv, column: sector}`, and the values that are looked up from them, likewise.

The file is CSV in UTF-8 whose first line names a column `code` and, if there are labels, a column
`label`; of other columns, those that groups and lookups name are read. It is read when the spec is
loaded, and the spec then holds what was read itself: its digests are bound to it, and the published
spec needs no other file.

Messages give line numbers and never quote a line: somebody may name the private table by mistake.
"""

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from hallmark.schemas.given_files import bytes_of
from hallmark.schemas.section import Problem
from hallmark.schemas.yaml_document import LARGEST, MOST_VALUES

FILE, COLUMN = "file", "column"
CATEGORIES, GROUPS, VALUES = "categories", "groups", "values"
COLUMNS, LOOKUPS = "columns", "lookups"
_LARGEST = 4 * 2**20  # bytes; a column has 4096 categories at most
_DELIMITERS = ",;\t"


@dataclass(frozen=True)
class CategoryFile:
    """A file that categories, their groups, or values that are looked up were read from."""

    section: str  # `columns` or `lookups`
    name: str  # of the column
    key: str  # `categories`, `groups` or `values`
    file: str  # as the spec names it
    sha256: str


class Unlisted(ValueError):
    """A file that does not list categories; the message says why, and how to fix it."""


def with_categories(
    content: Mapping[str, Any], folder: Path
) -> tuple[dict[str, Any], tuple[CategoryFile, ...], list[Problem]]:
    """The content of a spec in `folder`, with categories read from the files that it names.

    Returns:
        The content, the files, and the problems with them.
    """
    sections: dict[str, dict[str, Any]] = {}
    read: list[CategoryFile] = []
    problems: list[Problem] = []
    private = _private(content, folder)
    size = lines = 0  # of all files
    for section, name, key, level, asked in _named(content):
        try:
            raw = _content(folder / asked[FILE], private)
            size, lines = size + len(raw), lines + max(raw.count(b"\n"), raw.count(b"\r"))
            if size > LARGEST or lines > MOST_VALUES:  # the published spec holds all of them
                raise Unlisted(
                    f"is beyond what a spec can hold: its files have more than {LARGEST:,} "
                    f"bytes or {MOST_VALUES:,} lines together; give codebooks, not data"
                )
            found = _READERS[key](raw, asked.get(COLUMN, ""))
        except Unlisted as error:
            place = (section, name, key, *(() if level is None else (level,)), FILE)
            problems.append(Problem(place, f"{asked[FILE]} {error}"))
            continue
        own = sections.setdefault(section, dict(content[section]))
        value: Any = found
        if level is not None:
            value = [*own[name][key][:level], found, *own[name][key][level + 1 :]]
        own[name] = {**own[name], key: value}
        read.append(CategoryFile(section, name, key, asked[FILE], sha256(raw).hexdigest()))
    return {**content, **sections}, tuple(read), problems


_Named = tuple[str, str, str, int | None, Mapping[str, str]]


def _named(content: Mapping[str, Any]) -> Iterator[_Named]:
    """What a spec reads from files: the section, the column, the key, the place in its list, and
    what the spec says."""
    for section, keys in ((COLUMNS, (CATEGORIES, GROUPS)), (LOOKUPS, (VALUES,))):
        listed = content.get(section)
        for name, entry in listed.items() if isinstance(listed, dict) else ():
            for key in keys if isinstance(entry, dict) else ():
                asked = entry.get(key)
                wanted = {FILE} if key == CATEGORIES else {FILE, COLUMN}
                if _names_file(asked, wanted):
                    yield section, name, key, None, asked
                for level, one in enumerate(asked if isinstance(asked, list) else ()):
                    if key == GROUPS and _names_file(one, wanted):
                        yield section, name, key, level, one


def _names_file(asked: Any, keys: set[str]) -> bool:
    return (
        isinstance(asked, dict)
        and set(asked) == keys
        and all(isinstance(value, str) for value in asked.values())
    )


def inlined(text: str, read: Mapping[tuple[str, str, str], Any]) -> str:
    """The text of a sound spec, with what it reads from files in place of their names.

    Args:
        read: by section, column and key, the categories, the levels of groups and the values that
            come from files.
    """
    sections = dict(_entries(YAML(typ="safe", pure=True).compose(text)))
    places: dict[tuple[int, int], Any] = {}
    for (section, name, key), known in read.items():
        node = dict(_entries(dict(_entries(sections[section]))[name]))[key]
        every = node.value if isinstance(node, SequenceNode) else [node]
        for asked, found in zip(every, known if key == GROUPS else [known], strict=True):
            if FILE in dict(_entries(asked)):
                places[_place(text, asked)] = found
    for (start, stop), found in sorted(places.items(), key=lambda one: one[0], reverse=True):
        column = start - text.rfind("\n", 0, start) - 1  # of the text, within its line
        indent = "\n" + " " * (column + 1)
        entries = (f"{_quoted(name)}: {_quoted(value)}" for name, value in found.items())
        text = f"{text[:start]}{{{f',{indent}'.join(entries)}}}{text[stop:]}"
    return text


def _quoted(value: str | Sequence[str]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _entries(node: Node) -> Iterator[tuple[str, Node]]:
    assert isinstance(node, MappingNode), "the spec is sound"
    for key, value in node.value:
        yield str(key.value), value


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
        return bytes_of(path, _LARGEST)
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
