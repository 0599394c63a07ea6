"""The nearest known word, for messages about unknown ones."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question that offers the known word most like `word`; empty where none is like it."""
    words = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), list(words), n=1, cutoff=0.6)
    return f"did you mean {words[close[0]]}?" if close else ""


def no_such_column(name: str, known: Iterable[str]) -> str:
    """What is wrong with a name that no column has, and the mend."""
    mend = did_you_mean(name, known) or "name one of the spec's columns"
    return f"there is no column {name}; {mend}"
