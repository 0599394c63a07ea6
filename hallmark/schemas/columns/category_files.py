"""Categories that a spec reads from a file: `categories: {file: codes.csv}`.

The file is CSV in UTF-8 whose first line names a column `code` and, if there are labels, a column
`label`; other columns are ignored. It is read when the spec is loaded, and the spec then holds the
categories themselves: its digests are bound to them, and the published spec needs no other file.

Messages give line numbers and never quote a line: somebody may name the private table by mistake.
"""

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node

from hallmark.schemas.section import Problem

FILE = "file"
_LARGEST = 4 * 2**20  # bytes; a column has 4096 categories at most
_DELIMITERS = ",;\t"


@dataclass(frozen=True)
class CategoryFile:
    """A file that the categories of a column were read from."""

    column: str
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
    columns: dict[str, Any] = {}
    read: list[CategoryFile] = []
    problems: list[Problem] = []
    listed = content.get("columns")
    for name, column in listed.items() if isinstance(listed, dict) else ():
        columns[name] = column
        file = _named(column)
        if file is None:
            continue
        try:
            raw = _content(folder / file, _private(content, folder))
            columns[name] = {**column, "categories": _categories(raw)}
            read.append(CategoryFile(name, file, sha256(raw).hexdigest()))
        except Unlisted as error:
            problems.append(Problem(("columns", name, "categories", FILE), f"{file} {error}"))
    return ({**content, "columns": columns} if read else dict(content)), tuple(read), problems


def _named(column: Any) -> str | None:
    """The file that a column reads its categories from, if any."""
    asked = column.get("categories") if isinstance(column, dict) else None
    if not isinstance(asked, dict) or list(asked) != [FILE]:
        return None
    return asked[FILE] if isinstance(asked[FILE], str) else None


def inlined(text: str, columns: Mapping[str, Mapping[str, str]]) -> str:
    """The text of a sound spec, with categories in place of the files that it names.

    Args:
        columns: the categories of every column that reads them from a file.
    """
    root = YAML(typ="safe", pure=True).compose(text)
    places = {}
    for name, node in _entries(dict(_entries(root))["columns"]):
        if name in columns:
            asked = dict(_entries(node))["categories"]
            places[_place(text, asked)] = columns[name]
    for (start, stop), categories in sorted(places.items(), reverse=True):
        column = start - text.rfind("\n", 0, start) - 1  # of the text, within its line
        indent = "\n" + " " * (column + 1)
        entries = (f"{_quoted(code)}: {_quoted(label)}" for code, label in categories.items())
        text = f"{text[:start]}{{{f',{indent}'.join(entries)}}}{text[stop:]}"
    return text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _entries(node: Node) -> Iterator[tuple[str, Node]]:
    assert isinstance(node, MappingNode), "the spec is sound"
    for key, value in node.value:
        yield str(key.value), value


def _place(text: str, node: Node) -> tuple[int, int]:
    """Start and end of the mapping `file: codes.csv` in the text."""
    assert isinstance(node, MappingNode), "it names a file"
    ((key, value),) = node.value
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
        raw = path.read_bytes()
    except FileNotFoundError:
        raise Unlisted("does not exist; check the path, which is relative to the spec") from None
    except OSError as error:
        raise Unlisted(f"cannot be read ({error.strerror}); check it") from None
    if len(raw) > _LARGEST:
        raise Unlisted("is larger than any list of categories; give the codebook, not the data")
    return raw


def _categories(raw: bytes) -> dict[str, str]:
    """Labels by code, in the order of the file."""
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
        return dict(_labelled(rows, names))
    except csv.Error:
        raise Unlisted("is not CSV; check its quotes") from None


def _labelled(rows: Any, names: list[str]) -> Iterator[tuple[str, str]]:
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
        yield code, cells.get("label") or code
    if not lines:
        raise Unlisted("lists no codes; write one per line")
