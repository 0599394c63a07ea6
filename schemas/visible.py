"""Text written by others, made fully visible, so that no program obeys hidden parts of it."""

import unicodedata

_MODIFIERS = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
"""Skin tones of emoji: printable, but by themselves without width, so that a table drops them."""


def visible(text: str) -> str:
    """The text on one line, with escapes such as `\\x1b` for everything invisible.

    Printable characters and spaces of any width stay. Control characters, line breaks, direction
    marks, zero-width and unassigned characters, and bytes that are not text are escaped.
    """
    plain = text.isprintable() and _MODIFIERS.isdisjoint(text)
    return text if plain else "".join(map(_seen, text))


def _seen(character: str) -> str:
    printable = character.isprintable() or unicodedata.category(character) == "Zs"
    if printable and character not in _MODIFIERS:
        return character
    return character.encode("unicode_escape").decode("ascii")
