"""Character encodings of text files, by their names in Python."""

import codecs
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator

UTF_8 = "utf-8"
_PROBE = '0123456789,;.-\r\n"Az'
_NO_CHARACTERS = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7", "undefined")


def _checked(name: str) -> str:
    try:
        known = codecs.lookup(name).name.replace("_", "-")
        sound = known not in _NO_CHARACTERS and _PROBE.encode(known).decode(known) == _PROBE
    except (LookupError, UnicodeError, ValueError):
        sound = False
    if not sound:
        raise ValueError(
            f"is {name!r}, which is not a known character encoding; give one such as utf-8, "
            "latin-1, windows-1252 or utf-16"
        )
    return name


Encoding = Annotated[str, AfterValidator(_checked)]
"""The name of a character encoding that can represent digits and separators."""


def unwritable(texts: Iterable[str], encoding: str) -> list[str]:
    """Texts with a character that the encoding lacks."""
    return [text for text in texts if not _is_writable(text, encoding)]


def _is_writable(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
