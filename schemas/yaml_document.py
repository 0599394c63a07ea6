"""A YAML file as plain data that remembers what was written, and on which line.

Every scalar stays text as written, so that category 01 never becomes the number 1, `no` never
becomes a truth value, and 0.1 never becomes a float; the models of the spec interpret the text.
Plain scalars are read as in YAML 1.2 only under `mechanism` and `cluster.options`, whose parameters
no model describes.
"""

import json
import re
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from hallmark.schemas.given_files import bytes_of
from hallmark.schemas.section import Path, Problem

FILL_IN = "FILL_IN"
"""Marks every place in a skeleton that the user must fill in."""

LARGEST = 16 * 2**20
"""Bytes of a YAML file; a spec is some hundred lines."""
MOST_VALUES = 200_000
"""Values in a YAML file, aliases repeated; a matrix of 400 places has as many."""

NO_SUCH_FILE = "there is no such file; check the path, or make a spec with `hallmark init`"
_TYPED = (("mechanism",), ("cluster", "options"))  # where the spelling of a scalar decides its type
_JSON_SCALAR = re.compile(r"true|false|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_DEEPEST = 20  # mappings and lists within each other; a spec has six
_LONGEST_NUMBER = 64  # characters; a longer number is a typing error, and slow to compute with


class Unreadable(Exception):
    """The file holds no YAML mapping; `line` is where, if known."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


@dataclass
class Document:
    """The content of a YAML file.

    Attributes:
        content: mappings, lists, texts, and None for empty values.
        lines: line of every path, counted from 1; for a mapping's entry, the line of its key.
        problems: what is wrong with the YAML itself, although it could be read.
        problem_lines: lines of problems that are not on the line of their path.
        aliases: for each path that is written as an alias (*name), the path that it repeats.
    """

    content: dict[str, Any] = field(default_factory=dict)
    lines: dict[Path, int] = field(default_factory=lambda: {(): 1})
    problems: list[Problem] = field(default_factory=list)
    problem_lines: dict[Problem, int] = field(default_factory=dict)
    aliases: dict[Path, Path] = field(default_factory=dict)

    def origin(self, path: Path) -> Path:
        """Where the key at `path` was written: at `path`, unless it is inside an alias."""
        for length in range(1, len(path)):
            if path[:length] in self.aliases:
                return self.origin((*self.aliases[path[:length]], *path[length:]))
        return path

    def line(self, path: Path) -> int:
        """Line of the path, or of the nearest enclosing section in the file."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def read_document(file: FilePath) -> Document:
    """The document in `file`.

    Raises:
        Unreadable: there is no such file, it is not text, or the text is not a YAML mapping.
    """
    return read_text(_read_text(file))[0]


def read_text(text: str) -> tuple[Document, MappingNode]:
    """The document that a text is, and ruamel's nodes, which know where in the text they are.

    Raises:
        Unreadable: it is not a YAML mapping.
    """
    # Parsing takes a minute per million values. At least one of these separates any two values.
    if sum(text.count(separator) for separator in ",:\n[{") > 2 * MOST_VALUES:
        raise _too_many()
    reader = YAML(typ="safe", pure=True)
    try:
        root = reader.compose(text)
    except RecursionError:
        raise _too_deep(None) from None
    except MarkedYAMLError as error:
        raise _syntax_error(text, error) from None
    except YAMLError as error:
        raise Unreadable(f"is not YAML: {error}") from None
    if root is None:
        raise Unreadable("is empty; write a spec, or start from one made by `hallmark init`")
    if not isinstance(root, MappingNode):
        raise Unreadable("must be a mapping of keys to values, starting with hallmark: 1", 1)
    document = Document()
    document.content = _Builder(document).mapping(root, (), typed=False)
    return document, root


def _read_text(file: FilePath) -> str:
    try:
        raw = bytes_of(file, LARGEST)
    except FileNotFoundError:
        raise Unreadable(NO_SUCH_FILE) from None
    except IsADirectoryError:
        raise Unreadable("is a folder; give the YAML file in it") from None
    except OSError as error:
        raise Unreadable(f"cannot be read ({error.strerror}); check the path") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise Unreadable("is not UTF-8 text; give the spec, not the data")
    return text


class _Builder:
    """Builds a document from ruamel's nodes."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._written: dict[int, Path] = {}  # where a node first occurred
        self._open: set[int] = set()  # nodes being walked, to detect one that contains itself
        self._values = 0  # walked so far

    def mapping(self, node: MappingNode, path: Path, *, typed: bool) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                self._problem(path, "has a key that is not plain text; write key: value", line)
                continue
            key = str(key_node.value)
            here = (*path, key)
            if key == FILL_IN:
                self._problem(here, f"is still {FILL_IN}; write the key, or remove it", line)
            if key == "<<":
                self._problem(here, "merges keys, which a spec cannot; write them out", line)
                continue
            if key in content:
                self._problem(
                    here,
                    f"occurs twice in the same mapping (first on line {self._document.lines[here]}"
                    "); keep one",
                    line,
                )
                continue
            self._document.lines[here] = line
            inner_typed = typed or here in _TYPED
            content[key] = self._value(value_node, here, typed=inner_typed)
        return content

    def _value(self, node: Node, path: Path, *, typed: bool) -> Any:
        self._values += 1
        if self._values > MOST_VALUES:
            raise _too_many()
        if len(self._open) > _DEEPEST:
            raise _too_deep(node.start_mark.line + 1)
        if isinstance(node, ScalarNode):
            return self._scalar(node, path, typed=typed)
        if id(node) in self._open:
            line = node.start_mark.line + 1
            self._problem(path, "contains itself through an alias (*); write it out", line)
            return None
        first = self._written.setdefault(id(node), path)
        if first != path:
            self._document.aliases[path] = first
        self._open.add(id(node))
        try:
            if isinstance(node, MappingNode):
                return self.mapping(node, path, typed=typed)
            assert isinstance(node, SequenceNode), "YAML has three kinds of nodes"
            return self._sequence(node, path, typed=typed)
        finally:
            self._open.remove(id(node))

    def _sequence(self, node: SequenceNode, path: Path, *, typed: bool) -> list[Any]:
        content = []
        for i, item in enumerate(node.value):
            here = (*path, i)
            self._document.lines[here] = item.start_mark.line + 1
            content.append(self._value(item, here, typed=typed))
        return content

    def _scalar(self, node: ScalarNode, path: Path, *, typed: bool) -> Any:
        text, plain = str(node.value), node.style is None
        if FILL_IN in text:
            line = node.start_mark.line + 1
            self._problem(
                path,
                f"is still {FILL_IN}; write what is publicly known, never anything read off the "
                "data",
                line,
            )
        if plain and text in ("", "~", "null", "Null", "NULL"):
            return None
        if plain and typed and _JSON_SCALAR.fullmatch(text):
            return self._number(text, node, path)
        return text

    def _number(self, text: str, node: ScalarNode, path: Path) -> Any:
        value = json.loads(text) if len(text) <= _LONGEST_NUMBER else inf
        if isinstance(value, float) and not isfinite(value):
            line = node.start_mark.line + 1
            self._problem(path, "is too large or too long a number; give a shorter one", line)
            return None
        return value

    def _problem(self, path: Path, what: str, line: int) -> None:
        problem = Problem(path, what)
        self._document.problems.append(problem)
        self._document.problem_lines[problem] = line


def _too_many() -> Unreadable:
    return Unreadable(
        f"holds more than {MOST_VALUES} values, counting an alias (*) every time it is used; give "
        "the spec, not the data"
    )


def _too_deep(line: int | None) -> Unreadable:
    return Unreadable(
        f"mappings and lists are nested more than {_DEEPEST} deep; a spec needs six levels",
        line,
    )


_SYNTAX = (
    ("found character '\\t'", "the line is indented with a tab; indent with spaces"),
    (
        "found undefined alias",
        "an alias (*name) is used before its anchor (&name); define it first",
    ),
    ("found duplicate anchor", "an anchor (&name) is defined twice; rename one"),
    ("but found another document", "a second document starts; keep one spec per file"),
    (
        "mapping values are not allowed",
        "a colon starts a second value on the line; put texts with a colon in quotes, or check "
        "the indentation",
    ),
    ("could not find expected ':'", "a key has no colon; write key: value"),
    ("found unexpected end of stream", "a quote is never closed; close it"),
    ("expected ',' or ']'", "a list [ is not closed; add a comma or ]"),
    ("expected ',' or '}'", "a mapping { is not closed; add a comma or }"),
    ("expected <block end>", "the indentation does not match the lines above; align the keys"),
    ("cannot start any token", "a text starts with a character that YAML reserves; quote it"),
    ("unknown escape character", "there is a backslash in double quotes; use single quotes"),
)


def _syntax_error(text: str, error: MarkedYAMLError) -> Unreadable:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark is not None else None
    lines = text.splitlines()
    said = f"{error.problem or ''} {error.context or ''}"
    if line is not None and line <= len(lines) and re.match(r" *\t", lines[line - 1]):
        said = "found character '\\t'"
    for jargon, words in _SYNTAX:
        if jargon in said:
            return Unreadable(words, line)
    return Unreadable(f"is not YAML here ({said.strip()}); check quotes and indentation", line)
