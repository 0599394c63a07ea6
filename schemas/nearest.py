"""The nearest known word, for messages about unknown words."""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 12  # names in a message


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question that suggests the known word most similar to `word`; empty if none is similar."""
    words = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), list(words), n=1, cutoff=0.6)
    return f"did you mean {words[close[0]]}?" if close else ""


def no_such_column(name: str, known: Iterable[str]) -> str:
    """The message, with a fix, about a name that no column has."""
    mend = did_you_mean(name, names := [*known]) or f"the columns are {_listed(names)}"
    return f"there is no column {name}; {mend}"


def _listed(names: list[str]) -> str:
    """Some names, for people who do not have the list at hand."""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
