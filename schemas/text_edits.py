"""Change values in the text of a spec, and leave every other character of it as it is.

Claim.   The text that `changed` returns reads as the content before with exactly the new values.
         All comments stay but those inside a value that is replaced or taken out.
Plan.    The content as it should be is compared with the content that was read, down to what
         differs; each difference becomes a splice of the text at the place that the YAML reader
         gives. The result is read again, and refused if it is not the content as it should be:
         so a way of writing YAML that is not understood here (aliases, merged or repeated keys)
         can change nothing by mistake.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from hallmark.schemas.yaml_document import Unreadable, read_text

Keys = tuple[str, ...]
"""The keys that lead to a value, from the whole spec inwards."""

Value = str | int | float | Sequence["Value"] | Mapping[str, "Value"]
"""What is written: texts exactly as they are to be read again, lists, and mappings; and numbers and
truths, where the reader tells them from texts."""

_Collection = MappingNode | SequenceNode
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE]-?\d+)?|\d{4}-\d\d-\d\d|[1-9]\d*/[1-9]\d*")
_OTHERWISE = {"null", "yes", "no", "on", "off", "y", "n"}  # to some reader of YAML
_WIDEST = 96  # characters of a list on one line
_COLON = re.compile(r"\s*:")  # on the next line after a key that begins with a question mark
_ALIAS = re.compile(r"\s*\*[^\s,\[\]{}]+")
_ODD = (
    "the text is written there in a way that a form cannot change, such as with a key that occurs "
    "twice, or with a name (&) for what is repeated elsewhere; change it in the text"
)


class NotChanged(ValueError):
    """The text is not changed; the message says why, and where if that is known."""


def changed(text: str, values: Mapping[Keys, Value | None]) -> str:
    r"""The text in which these values are written.

    A key that is not there yet follows the nearest key before it in `values` that is, or else the
    last of its section.

    Args:
        text: with `\n` between its lines.
        values: by the keys that lead to them; None takes a key out, and with its last key a
            section.
    Raises:
        NotChanged: the text is not a YAML mapping, or is written in a way that cannot be changed.
    """
    try:
        document, root = read_text(text)
    except Unreadable as error:
        where = "" if error.line is None else f"line {error.line}: "
        raise NotChanged(f"{where}{error.what}; mend it in the text") from None
    wanted = _with(document.content, values)
    if _same(document.content, wanted):
        return text
    whole = text if text.endswith("\n") else f"{text}\n"
    found, place = "", 0
    splices = _Differences(whole).between(root, document.content, wanted)
    for splice in sorted(splices, key=lambda one: one.start):
        found += whole[place : splice.start] + splice.text
        place = splice.end
    found += whole[place:]
    found = found if text.endswith("\n") else found.removesuffix("\n")
    try:
        done = read_text(found)[0].content
    except Unreadable:
        done = {}
    if not _same(done, wanted):
        raise NotChanged(_ODD)
    return found


def _with(content: dict[str, Any], values: Mapping[Keys, Value | None]) -> dict[str, Any]:
    """The content with these values, each new key after the nearest that is named before it."""
    wanted: dict[str, Any] = deepcopy(content)
    before: dict[Keys, str] = {}  # by section, the key that was named last
    for path, value in values.items():
        section, here = wanted, path[:-1]
        for length, key in enumerate(here):
            if not isinstance(section.get(key), dict):
                if value is None:
                    break
                _put(section, key, {}, before.get(path[:length]))
            before[path[:length]] = key
            section = section[key]
        else:
            last = path[-1]
            if value is None:
                section.pop(last, None)
            else:
                _put(section, last, _read_again(value), before.get(here))
                before[here] = last
    for path in (path for path, value in values.items() if value is None):
        _take_out_empty(wanted, path[:-1])
    return wanted


def _take_out_empty(content: dict[str, Any], path: Keys) -> None:
    """Take out a section that has no key left, and what has none then."""
    if path and isinstance(content.get(path[0]), dict):
        _take_out_empty(content[path[0]], path[1:])
        if not content[path[0]]:
            del content[path[0]]


def _put(section: dict[str, Any], key: str, value: Any, after: str | None) -> None:
    is_new = key not in section
    section[key] = value
    if is_new and after is not None:
        names = list(section)
        for name in names[names.index(after) + 1 : -1]:
            section[name] = section.pop(name)


def _read_again(value: Value) -> Any:
    """A value as it will be read from the text."""
    if isinstance(value, Mapping):
        return {key: _read_again(one) for key, one in value.items()}
    if isinstance(value, str | int | float):
        return value
    return [_read_again(one) for one in value]


def _same(one: Any, other: Any) -> bool:
    """Whether contents are equal, keys in the same order."""
    return json.dumps(one) == json.dumps(other)


@dataclass(frozen=True)
class _Splice:
    """Characters that take the place of others."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class _Entry:
    """A key with its value, or an item of a list, and where they are."""

    start: int
    colon: int  # just after it; for an item, where its value starts
    value: int
    end: int
    node: Node | None  # None for an alias, whose node is elsewhere


class _Differences:
    """Splices that make a text read as other content does; the text ends with a line break."""

    def __init__(self, text: str) -> None:
        self._text = text

    def between(self, node: _Collection, old: Any, new: Any) -> Iterator[_Splice]:
        """Splices for what differs below a mapping or a list, in their order where they meet.

        Args:
            old, new: what it holds, and is to hold; not empty.
        Raises:
            NotChanged: it is written in a way that is not understood.
        """
        entries = self._entries(node)
        names, wanted = _names(old), _names(new)
        if len(entries) != len(names):
            raise NotChanged(_ODD)
        added: list[tuple[str | None, Any]]
        added = list(new.items()) if isinstance(new, dict) else [(None, one) for one in new]
        before: int | None = None  # the last entry that stays
        for what, low, high, first, last in SequenceMatcher(
            None, names, wanted, autojunk=False
        ).get_opcodes():
            if what == "equal":
                for name, entry in zip(wanted[first:last], entries[low:high], strict=True):
                    if isinstance(new, dict) and not _same(old[name], new[name]):
                        yield from self._value(node, entry, old[name], new[name])
                before = high - 1
                continue
            if first < last:
                goes_on = before is not None or last < len(wanted)
                yield self._addition(node, entries, before, added[first:last], goes_on)
            if low < high:
                yield from self._removal(node, entries, low, high)

    def _entries(self, node: _Collection) -> list[_Entry]:
        if isinstance(node, SequenceNode):
            return [self._item(node, one) for one in node.value]
        return [self._pair(key, value) for key, value in node.value]

    def _item(self, parent: _Collection, node: Node) -> _Entry:
        value = int(node.start_mark.index)
        start = value if parent.flow_style else self._text.rfind("-", 0, value)
        if start < parent.start_mark.index:  # an alias
            raise NotChanged(_ODD)
        return _Entry(start, value, value, self._end(node), node)

    def _pair(self, key: Node, node: Node) -> _Entry:
        start, value = int(key.start_mark.index), int(node.start_mark.index)
        colon = _COLON.match(self._text, key.end_mark.index)
        if colon is None:
            raise NotChanged(_ODD)
        if value >= start:
            return _Entry(start, colon.end(), value, max(colon.end(), self._end(node)), node)
        alias = _ALIAS.match(self._text, colon.end())
        if alias is None:
            raise NotChanged(_ODD)
        return _Entry(start, colon.end(), colon.end(), alias.end(), None)

    def _end(self, node: Node) -> int:
        """Where the last character of a value is; a value in lines ends with its last entry."""
        if isinstance(node, SequenceNode | MappingNode) and not node.flow_style and node.value:
            last = node.value[-1]
            return (self._pair(*last) if isinstance(last, tuple) else self._item(node, last)).end
        start = int(node.start_mark.index)
        return start + len(self._text[start : node.end_mark.index].rstrip())

    def _value(self, parent: _Collection, entry: _Entry, old: Any, new: Any) -> Iterator[_Splice]:
        """Splices for the value of a key that stays."""
        for node, kind in ((MappingNode, dict), (SequenceNode, list)):
            if isinstance(entry.node, node) and isinstance(new, kind) and new and old:
                yield from self.between(entry.node, old, new)
                return
        lines = "" if parent.flow_style else _in_lines(new, _column(parent))
        inline = "" if lines else f" {_inline(new)}"
        if parent.flow_style or "\n" not in self._text[entry.colon : entry.value]:
            yield _Splice(entry.colon, entry.end, inline)
            if lines:  # below a comment beside the key
                yield _Splice(self._next_line(entry.end), self._next_line(entry.end), lines)
            return
        yield _Splice(entry.colon, entry.colon, inline)
        yield _Splice(self._line_of(entry.value), self._next_line(entry.end), lines)

    def _addition(
        self,
        node: _Collection,
        entries: list[_Entry],
        before: int | None,
        added: list[tuple[str | None, Any]],
        goes_on: bool,
    ) -> _Splice:
        if node.flow_style:
            written = ", ".join(_entry(name, value) for name, value in added)
            if before is not None:
                place, written = entries[before].end, f", {written}"
            else:
                place, written = entries[0].start, written + (", " if goes_on else "")
        else:
            column = _column(node)
            written = "".join(_entry_in_lines(name, value, column) for name, value in added)
            place = self._own_line(entries[0]) if before is None else entries[before].end
            place = place if before is None else self._next_line(place)
        return _Splice(place, place, written)

    def _removal(
        self, node: _Collection, entries: list[_Entry], low: int, high: int
    ) -> Iterator[_Splice]:
        if not node.flow_style:
            for one in entries[low:high]:
                yield _Splice(self._own_line(one), self._next_line(one.end), "")
        elif high < len(entries):
            yield _Splice(entries[low].start, entries[high].start, "")
        else:
            start = entries[low - 1].end if low else entries[low].start
            yield _Splice(start, entries[high - 1].end, "")

    def _own_line(self, entry: _Entry) -> int:
        """The start of the line on which an entry starts.

        Raises:
            NotChanged: something else stands before it.
        """
        start = self._line_of(entry.start)
        if self._text[start : entry.start].strip():
            raise NotChanged(_ODD)
        return start

    def _line_of(self, place: int) -> int:
        return self._text.rfind("\n", 0, place) + 1

    def _next_line(self, place: int) -> int:
        return self._text.index("\n", place) + 1


def _names(content: Any) -> list[str]:
    """What entries are told apart by: keys, or whole items of a list."""
    return list(content) if isinstance(content, dict) else [json.dumps(one) for one in content]


def _column(node: _Collection) -> int:
    """How far the keys of a mapping in lines are indented, or the dashes of a list."""
    if isinstance(node, MappingNode):
        return min(int(key.start_mark.column) for key, _ in node.value)
    return int(node.start_mark.column)


def _entry(name: str | None, value: Any) -> str:
    return _item(value) if name is None else f"{_key(name)}: {_inline(value)}"


def _entry_in_lines(name: str | None, value: Any, column: int) -> str:
    indent = " " * column
    if name is None:
        return f"{indent}- {_item(value)}\n"
    lines = _in_lines(value, column)
    return f"{indent}{_key(name)}:\n{lines}" if lines else f"{indent}{_entry(name, value)}\n"


def _in_lines(value: Any, column: int) -> str:
    """A mapping, or a list that is long or of mappings, in lines; empty for what fits on one."""
    inner = column + 2
    if isinstance(value, dict):
        return "".join(_entry_in_lines(name, one, inner) for name, one in value.items())
    if isinstance(value, list) and (
        any(isinstance(one, dict) for one in value) or len(_inline(value)) > _WIDEST
    ):
        return "".join(_entry_in_lines(None, one, inner) for one in value)
    return ""


def _inline(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(_entry(name, one) for name, one in value.items()) + "}"
        case list():
            return "[" + ", ".join(_item(one) for one in value) + "]"
        case int() | float():
            return json.dumps(value)
    return value if value in ("true", "false") else _key(value)


def _item(value: Any) -> str:
    is_plain = not isinstance(value, str) or _NUMBER.fullmatch(value)
    return _inline(value) if is_plain else _quoted(value)


def _key(text: str) -> str:
    """A text as it stands beside a colon: bare if it is a number, or a word and nothing else."""
    is_word = _WORD.fullmatch(text) and text.lower() not in {*_OTHERWISE, "true", "false"}
    return text if is_word or _NUMBER.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    said = json.dumps(text, ensure_ascii=False)
    return "".join(one if one == " " or one.isprintable() else _escaped(one) for one in said)


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 2**16 else f"\\U{number:08x}"
