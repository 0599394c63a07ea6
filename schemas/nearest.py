"""The nearest known word, for messages about unknown words."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question that suggests the known word most similar to `word`; empty if none is similar."""
    words = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), list(words), n=1, cutoff=0.6)
    return f"did you mean {words[close[0]]}?" if close else ""


def no_such_column(name: str, known: Iterable[str]) -> str:
    """The message, with a fix, about a name that no column has."""
    mend = did_you_mean(name, known) or "give one of the spec's columns"
    return f"there is no column {name}; {mend}"
