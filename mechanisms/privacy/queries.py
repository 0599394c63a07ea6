"""Queries that a mechanism may ask the curator: noisy histograms, and noisy choices.

A query carries its noise and states the event that is charged for it; both are read off the same
object, so what is drawn is what is charged.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.events import DiscreteGaussian, DiscreteLaplace, Event
from hallmark.mechanisms.privacy.transforms import HISTOGRAM, Transform


@dataclass(frozen=True)
class LaplaceNoise:
    """Discrete Laplace noise of the given scale, records."""

    scale: Fraction

    @property
    def parameter(self) -> Fraction:
        """The number that determines the law, as events state it."""
        return self.scale

    @property
    def variance(self) -> float:
        """Variance of the noise, 2p / (1 - p)^2 with p = exp(-1 / scale), records^2."""
        return 2 * exp(-1 / float(self.scale)) / expm1(-1 / float(self.scale)) ** 2


@dataclass(frozen=True)
class GaussianNoise:
    """Discrete Gaussian noise of parameter `sigma2`, records^2."""

    sigma2: Fraction

    @property
    def parameter(self) -> Fraction:
        """The number that determines the law, as events state it."""
        return self.sigma2

    @property
    def variance(self) -> float:
        """Upper bound on the variance of the noise, nearly attained if sigma exceeds 1; records^2.

        Source.  Canonne, Kamath, Steinke (2020), The discrete Gaussian for differential privacy,
                 Corollary 9.
        """
        return float(self.sigma2)


Noise = LaplaceNoise | GaussianNoise


@dataclass(frozen=True)
class HistogramQuery:
    """A transformed histogram, to be answered with integer noise on every entry.

    Attributes:
        adaptive: whether the noise, or whether to ask at all, was chosen after seeing answers;
            False for a query of which only the cells were chosen so, as in `events`.
        cells_chosen: whether the cells were chosen after seeing answers, which no event depends on.
    """

    cells: CellMap
    noise: Noise
    transform: Transform = HISTOGRAM
    adaptive: bool = False
    cells_chosen: bool = False

    def event(self, adjacency: Adjacency) -> Event:
        """The event that is charged for answering the query once."""
        match self.noise:
            case LaplaceNoise(scale):
                return DiscreteLaplace(
                    l1=self.transform.l1(adjacency), scale=scale, adaptive=self.adaptive
                )
            case GaussianNoise(sigma2):
                return DiscreteGaussian(
                    l2_squared=self.transform.l2_squared(adjacency),
                    sigma2=sigma2,
                    unit_moves=self.transform.unit_moves(adjacency),
                    adaptive=self.adaptive,
                )

    @property
    def digest(self) -> str:
        """SHA-256 of the question and its noise."""
        text = f"{self.cells.digest} {self.noise!r} {self.transform!r}"
        if self.adaptive:  # only then, so that digests in existing logs stay the same
            text += " adaptive"
        return hashlib.sha256(text.encode()).hexdigest()


class Score(Protocol):
    """An integer score of one candidate, computed from one histogram."""

    @property
    def cells(self) -> CellMap: ...

    def __call__(self, counts: Counts) -> int:
        """The score; exact, so that no rounding leaks."""
        ...

    def sensitivity(self, adjacency: Adjacency) -> int:
        """Largest change of the score between neighbours."""
        ...


@dataclass(frozen=True, eq=False)
class L1Score:
    """The misfit of a table, `weight * (unit * |h - reference / unit|_1 - penalty)`, in integers.

    Sensitivity: by the triangle inequality the distance moves by at most the L1 sensitivity of h,
    so the score by `weight * unit * l1`.

    Attributes:
        cells: the histogram h.
        reference: public table in units of 1/unit records, int64 of shape (cells.size,).
        unit: fixed-point denominator of `reference`, at least 1.
        weight: public nonnegative integer weight of the candidate.
        penalty: public offset, in units of 1/unit records (for instance the expected noise).
    """

    cells: CellMap
    reference: Counts
    unit: int = 1
    weight: int = 1
    penalty: int = 0

    def __call__(self, counts: Counts) -> int:
        lowest, highest = int(self.reference.min()), int(self.reference.max())
        furthest = self.unit * max(1, int(counts.max())) + max(highest, -lowest)
        # Units times records may pass 64 bits: then in Python's integers, which are slow.
        kind: type[Any] = np.int64 if furthest * len(counts) < 2**62 else object
        misfit = self.unit * counts.astype(kind) - self.reference.astype(kind)
        distance = int(np.abs(misfit).sum())
        return self.weight * (distance - self.penalty)

    def sensitivity(self, adjacency: Adjacency) -> int:
        return self.weight * self.unit * adjacency.l1


class Question(Protocol):
    """The question for each of several choices among linear queries, given the choices before.

    Public and deterministic: the same earlier choices give the same question.
    """

    def __call__(self, chosen: Sequence[int]) -> Counts:
        """The reference for the answers, int64 of shape (queries,), in units of
        1/(`SCORE_STEPS` unit) records."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 of everything that determines the questions."""
        ...


class Admissible(Protocol):
    """The queries from which each of several choices is made, given the choices before.

    Public and deterministic, like a `Question`; only earlier choices decide.
    """

    def __call__(self, chosen: Sequence[int]) -> NDArray[np.bool_]:
        """Mask of admissible queries, shape (queries,); it applies to a query and its negation."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 of everything that determines what is admissible."""
        ...


SCORE_STEPS = 2**10
"""Misfits of linear queries are compared in units of 1/(SCORE_STEPS unit) records."""


def signed_misfits(answers: Counts, reference: Counts) -> Counts:
    """Scores of all queries followed by those of their negations, int64 of shape (2 queries,).

    Sensitivity: `SCORE_STEPS` times that of the answers, since the reference is public and a
    negation changes by as much.

    Raises:
        OverflowError: a reference is so large that scores may not fit into 64 bits.
    """
    if np.abs(reference).max(initial=0) >= 2**61:
        raise OverflowError("a reference of linear queries has 61 bits at most")
    # Answers of 2**50 and more are cut there, which moves no two neighbours further apart.
    cut = np.clip(answers, -(2**50), 2**50)
    misfits = SCORE_STEPS * cut - reference
    return np.concatenate([misfits, -misfits])


def admitted(
    admissible: Admissible | None, chosen: Sequence[int], queries: int
) -> NDArray[np.intp]:
    """Ascending positions in the scores of `signed_misfits` from which the next choice is made.

    Raises:
        ValueError: the mask does not have this number of queries.
    """
    if admissible is None:
        return np.arange(2 * queries)
    mask = admissible(chosen)
    if mask.shape != (queries,):
        raise ValueError(f"a mask of {queries} queries has shape {mask.shape}")
    return np.flatnonzero(np.concatenate([mask, mask]))
