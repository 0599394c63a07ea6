"""Text that people write into forms: reasons, comments, names. It has lines, and nothing unseen."""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator

_KEPT = "\n\t"
_UNSEEN = ("Cc", "Cs", "Zl", "Zp")
"""Control characters, halves of characters, and separators that some programs break lines at."""


def written(text: str) -> str:
    r"""The text with `\n` between its lines, where a form sends `\r\n`.

    Raises:
        ValueError: it contains another control character; says which, and in which line.
    """
    said = text.replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(said.split("\n"), 1):
        for character in line:
            if unicodedata.category(character) in _UNSEEN and character not in _KEPT:
                raise ValueError(
                    f"line {number} contains the control character U+{ord(character):04X}; take "
                    "it out"
                )
    return said


def on_one_line(text: str) -> str:
    """The words of the text with one space between them.

    Raises:
        ValueError: a character of it cannot be printed; says which.
    """
    said = " ".join(written(text).split())
    if (unseen := next((one for one in said if not one.isprintable()), None)) is not None:
        raise ValueError(f"contains the invisible character U+{ord(unseen):04X}; take it out")
    return said


Lines = Annotated[str, AfterValidator(written)]
"""What somebody writes in lines."""

Line = Annotated[str, AfterValidator(on_one_line)]
"""What somebody writes in one line, such as a name."""
