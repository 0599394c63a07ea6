"""Questions of methods that choose queries along a path: where they are is told by choices alone.

Claim.   `PathQuestion` depends on the choices before it, and on nothing private.
Oracle.  tests/mechanisms/linear_queries/test_questions.py starts anew for every question.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.queries import SCORE_STEPS


class Path(Protocol):
    """A public state that every choice moves, and a distribution that goes with it."""

    def move(self, query: int, sign: int) -> None:
        """On to the next state: this query was chosen (+1), or its negation (-1)."""
        ...

    def answers(self) -> Floats:
        """Answers to all queries on the current distribution."""
        ...


P = TypeVar("P", bound=Path)


class PathQuestion(Generic[P]):
    """What the next choice compares answers with: those of the path after the choices so far.

    It remembers how far it has come: questions along one path cost a step each.
    """

    def __init__(
        self, universe: Universe, records: int, start: Callable[[], P], described: str
    ) -> None:
        """
        Args:
            records: the public or measured number that shares are multiplied with.
            start: a new path.
            described: all that determines the path, beside universe and choices.
        """
        self._universe, self._records, self._start = universe, records, start
        self._path = start()
        self._done: tuple[int, ...] = ()
        self._described = described

    def __call__(self, chosen: Sequence[int]) -> Counts:
        return reference(self._universe, self._records, self.at(chosen).answers())

    @property
    def digest(self) -> str:
        return question_digest(self._universe, self._records, self._described)

    def at(self, chosen: Sequence[int]) -> P:
        """The path after these choices."""
        if tuple(chosen[: len(self._done)]) != self._done:
            self._path, self._done = self._start(), ()
        for position in chosen[len(self._done) :]:
            self._path.move(*signed(position, self._universe.queries.size))
        self._done = tuple(chosen)
        return self._path


@dataclass(frozen=True, eq=False)
class FixedQuestion:
    """One question, whatever was chosen before in the same call.

    Attributes:
        reference: what answers are compared with.
        determined: the digest of what the reference follows from, where that is known; a run that
            resumes on another processor may have a reference that differs in its last digits.
    """

    reference: Counts
    determined: str | None = None

    def __call__(self, chosen: Sequence[int]) -> Counts:
        return self.reference

    @property
    def digest(self) -> str:
        """SHA-256 of what determines the reference, or of the reference itself."""
        if self.determined is not None:
            return self.determined
        return hashlib.sha256(self.reference.astype("<i8").tobytes()).hexdigest()


def signed(position: int, queries: int) -> tuple[int, int]:
    """Query and sign of a choice's position."""
    return position % queries, 1 if position < queries else -1


def reference(universe: Universe, records: int, answers: Floats) -> Counts:
    """Answers on a distribution, as a `Question` states them."""
    steps = SCORE_STEPS * universe.queries.unit * records
    rounded: Counts = np.rint(steps * answers).astype(np.int64)
    return rounded


def question_digest(universe: Universe, records: int, described: str) -> str:
    """SHA-256 over all that determines a question beside the choices."""
    sha = hashlib.sha256(f"{universe.shape} {records} {described}".encode())
    sha.update(universe.queries.digest.encode())
    for cells in universe.levels:
        sha.update(np.ascontiguousarray(cells, dtype="<i8").tobytes())
    if universe.rules:
        sha.update(universe.rules.digest.encode())
    return sha.hexdigest()
