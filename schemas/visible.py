"""Text that others wrote, so that a reader sees all of it and nothing obeys it."""

import unicodedata


def visible(text: str) -> str:
    """The text on one line, with escapes such as `\\x1b` for all that would not be seen.

    Seen are printable characters and spaces of any width. Control characters, line breaks, marks of
    direction, zero-width and unassigned characters, and bytes that are no text are written out.
    """
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(character: str) -> str:
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")
