"""Text written by others, made fully visible, so that no program obeys hidden parts of it."""

import unicodedata


def visible(text: str) -> str:
    """The text on one line, with escapes such as `\\x1b` for everything invisible.

    Printable characters and spaces of any width stay. Control characters, line breaks, direction
    marks, zero-width and unassigned characters, and bytes that are not text are escaped.
    """
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(character: str) -> str:
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")
