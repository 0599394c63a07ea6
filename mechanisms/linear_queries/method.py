"""What every way of answering linear queries has in common.

    ask(curator)               -> answers        all private steps
    distribution(answers, ...) -> Distribution   post-processing

`mechanism` puts a method behind the house's contract, adds records and a certificate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.execution import Progress
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.calls import RefreshedRounds, TablesByCall
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.privacy.queries import Noise

CHOICES_CALL = "choices"  # of methods that draw all of theirs in one


def as_table(chosen: Sequence[int]) -> tuple[Counts]:
    """Positions of choices as the one table of their call, in which they stand among answers."""
    return (np.array(chosen, dtype=np.int64),)


def as_positions(tables: Sequence[Counts]) -> list[int]:
    """Positions of choices, from the tables of their call."""
    (positions,) = tables
    return [int(position) for position in positions]


class Distribution(Protocol):
    """A distribution over the cells of a universe. Public."""

    @property
    def history(self) -> Mapping[str, Any]:
        """How it was found and how good it is proved to be, as plain JSON values."""
        ...

    def answers(self) -> Floats:
        """Answers to all queries on their own scale, shape (queries,)."""
        ...

    def cells(self, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Records with nearly these answers, as cells by column, shape (rows, columns)."""
        ...


class Method(Protocol):
    """A plan of how a universe's queries are asked and answered. Every field is public."""

    @property
    def source(self) -> str:
        """Paper and statement, and what differs from it."""
        ...

    @property
    def universe(self) -> Universe: ...
    @property
    def adjacency(self) -> Adjacency: ...
    @property
    def expected_records(self) -> int: ...
    @property
    def parameters(self) -> Mapping[str, Any]:
        """Every constant that shapes the answers, as plain JSON values."""
        ...

    @property
    def events(self) -> tuple[Event, ...]:
        """What `ask` charges, exactly."""
        ...

    @property
    def noise(self) -> tuple[NoiseLine, ...]: ...

    @property
    def memory_bytes(self) -> int:
        """Forecast of the peak of `distribution`."""
        ...

    def expected_error(self) -> tuple[float, str]:
        """Forecast of the largest error of any query, in its own scale, and what the number is: a
        bound proved in expectation (which theorem), or an estimate (of what)."""
        ...

    @property
    def total_noise(self) -> Noise | None:
        """The noise on the number of records, if it is private and `ask` measures it."""
        ...

    def records(self, answers: TablesByCall, total: int | None) -> int:
        """The number of records to go on with: public, or as the answers tell; at least 1."""
        ...

    def ask(self, curator: RefreshedRounds) -> TablesByCall:
        """All that is asked of the private data: noisy answers, positions of choices."""
        ...

    def distribution(
        self, answers: TablesByCall, total: int | None, *, progress: Progress
    ) -> Distribution:
        """The distribution that answers the queries; the same for the same answers.

        Args:
            answers: of `ask`.
            total: number of records where that is public, else None (then `ask` measured it).
        """
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class ErrorBounds:
    """Bounds on the errors of all queries together, in the queries' own scale.

    Attributes:
        each: by query, shape (queries,).
        terms: that sum to the largest of them, or to more.
        how: the method and its evidence, for the certificate.
    """

    each: Floats
    terms: Mapping[str, float]
    how: str
