"""The nearest known word, for messages about unknown ones."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question that offers the known word most like `word`; empty where none is like it."""
    words = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), list(words), n=1, cutoff=0.6)
    return f"did you mean {words[close[0]]}?" if close else ""
