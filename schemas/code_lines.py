r"""Codes of categories as people type them into a form: one a line, `code = label`.

A code that has an equals sign, begins or ends with a space, or cannot be seen stands in double
quotes, with `\n` for a line break, as in JSON; so do such labels. What is written so is read again
exactly.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hallmark.schemas.visible import visible


class Unclear(ValueError):
    """Lines that do not say what they should; the message says which line, and why."""


def categories_as_lines(categories: Mapping[str, str]) -> str:
    """Codes with their labels; a code that is its own label stands alone."""
    return "\n".join(
        _shown(code) + ("" if code == label else f" = {_shown(label)}")
        for code, label in categories.items()
    )


def categories_in(lines: str) -> dict[str, str]:
    """The labels by code.

    Raises:
        Unclear: a line has no code, or that of an earlier line.
    """
    found: dict[str, str] = {}
    for number, line in _lines(lines):
        code, label = _pair(number, line)
        if code in found:
            raise Unclear(f"line {number} repeats the code {visible(code)!r}; keep one of each")
        found[code] = code if label is None else label
    return found


def texts_as_lines(texts: Iterable[str]) -> str:
    """Texts, each on a line of its own."""
    return "\n".join(map(_shown, texts))


def texts_in(lines: str) -> list[str]:
    """The texts, of which each has a line.

    Raises:
        Unclear: a quote is not closed.
    """
    return [_whole(number, line) for number, line in _lines(lines)]


def groups_as_lines(levels: Sequence[Mapping[str, Sequence[str]]]) -> str:
    """Groups with their codes, `group = code, code`; an empty line between two levels."""
    return "\n\n".join(
        "\n".join(
            f"{_shown(name)} = {', '.join(_shown(code, more=',') for code in codes)}"
            for name, codes in level.items()
        )
        for level in levels
    )


def groups_in(lines: str) -> list[dict[str, list[str]]]:
    """The codes by group, for every level.

    Raises:
        Unclear: a line has no group, no codes, or the group of an earlier line of its level.
    """
    levels: list[dict[str, list[str]]] = [{}]
    for number, line in enumerate(lines.split("\n"), 1):
        if not line.strip():
            levels.append({})
            continue
        name, rest = _first(number, line, "=")
        if rest is None:
            raise Unclear(f"line {number} has no codes; write GROUP = code, code")
        if name in levels[-1]:
            raise Unclear(f"line {number} repeats the group {visible(name)!r}; keep one of each")
        levels[-1][name] = codes_in(rest, number)
    return [level for level in levels if level]


def codes_in(line: str, number: int = 1) -> list[str]:
    """The codes of one line, with commas between them.

    Args:
        number: of the line, for messages.
    Raises:
        Unclear: there is nothing between two commas, or a quote is not closed.
    """
    codes = []
    left: str | None = line
    while left is not None:
        code, left = _first(number, left, ",")
        codes.append(code)
    return codes


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.strip()


def _pair(number: int, line: str) -> tuple[str, str | None]:
    code, rest = _first(number, line, "=")
    return code, None if rest is None else _whole(number, rest)


def _first(number: int, line: str, mark: str) -> tuple[str, str | None]:
    """The text before a mark, and what stands after it; None without a mark."""
    line = line.strip()
    if line.startswith('"'):
        text, rest = _quoted(number, line)
        if rest and not rest.startswith(mark):
            raise Unclear(f"line {number} goes on after the closing quote; write {mark} there")
        return text, rest[1:] if rest else None
    text, found, rest = line.partition(mark)
    if not text.strip():
        raise Unclear(f'line {number} has nothing before {mark}; an empty text is written ""')
    return text.strip(), rest if found else None


def _whole(number: int, text: str) -> str:
    text = text.strip()
    if not text.startswith('"'):
        return text
    said, rest = _quoted(number, text)
    if rest:
        raise Unclear(f"line {number} goes on after the closing quote")
    return said


def _quoted(number: int, line: str) -> tuple[str, str]:
    try:
        said, end = json.JSONDecoder().raw_decode(line)
        said.encode()  # half a character is none
    except ValueError:
        raise Unclear(
            f'line {number} begins with a quote that is not closed; a quote itself is written \\"'
        ) from None
    return said, line[end:].strip()


def _shown(text: str, *, more: str = "=") -> str:
    is_plain = text and text == text.strip() and text.isprintable() and text[0] != '"'
    if is_plain and not set(more) & set(text):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())
