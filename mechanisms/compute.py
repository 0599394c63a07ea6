"""Where heavy post-processing runs: in a loop here, or mapped over workers by the caller."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

A = TypeVar("A")
B = TypeVar("B")


class Compute(Protocol):
    """Runs pure functions of public inputs, possibly elsewhere and possibly twice.

    Functions and items must pickle: name module-level functions, bind arguments with `partial`.
    """

    @property
    def cache(self) -> Path | None:
        """Folder for results that depend on public designs only; None keeps nothing."""
        ...

    def map(self, function: Callable[[A], B], items: Sequence[A], *, doing: str) -> Iterator[B]:
        """Results in the order of `items`; `doing` says for people what is under way."""
        ...


class Serial:
    """One item after the other, in this thread; for notebooks and tests."""

    def __init__(self, cache: Path | None = None) -> None:
        self.cache = cache

    def map(self, function: Callable[[A], B], items: Iterable[A], *, doing: str) -> Iterator[B]:
        return map(function, items)


SERIAL = Serial()
