"""Bounds on the error of every query, from released numbers alone.

Notation. c_i: exact answers; n: number of records; a_i: answers of the released distribution; y_i
          and N: linear unbiased estimates of c_i and n with errors e_i and e_0, of which the
          total's part is taken off, e_i = f_i + m_i e_0 (m_i: the query's mean over its cells).
Claim.    With probability at least `confidence` over the noise and the simulation together,
          |a_i - c_i / n| <= bounds[i] for all queries at once, whatever the a_i are.
Proof.    n (c_i / n - a_i) = c_i - a_i n = (y_i - a_i N) - f_i - (m_i - a_i) e_0. Let F_i and F_0
          be quantiles that |f_i| and |e_0| stay under together (`simultaneous`). Then n is at
          least N - F_0, and where that is positive,
              |a_i - c_i / n| <= (|y_i - a_i N| + F_i + |m_i - a_i| F_0) / (N - F_0).
          Where n is public, N = n and e_0 = F_0 = 0. No error is more than what the query's least
          and greatest values leave, which caps the bounds and stands in for n < 1.
Oracle.   tests/mechanisms/linear_queries/direct/test_certify.py counts misses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.certificates.simultaneous import draws_needed, simultaneous_quantiles
from hallmark.mechanisms.linear_queries.direct.linear_estimate import LinearEstimate
from hallmark.mechanisms.linear_queries.method import ErrorBounds, Method
from hallmark.mechanisms.privacy.calls import TablesByCall
from hallmark.mechanisms.privacy.linear_queries import LinearQueries
from hallmark.mechanisms.privacy.queries import GaussianNoise, Noise
from hallmark.mechanisms.privacy.simulation import (
    simulate_discrete_gaussian,
    simulate_discrete_laplace,
)


@dataclass(frozen=True, eq=False)
class Measured:
    """What a method measured, by which its errors are bounded. Public.

    Attributes:
        estimate: the linear estimate of the queries from the tables.
        noises: of every cell of each table.
        tables: the noisy answers.
    """

    estimate: LinearEstimate
    noises: Sequence[Noise]
    tables: Sequence[Counts]


@runtime_checkable
class SelfBounding(Method, Protocol):
    """A method that measures what it answers, so that its errors can be bounded."""

    def measured(self, answers: TablesByCall) -> Measured:
        """All tables among the answers of `ask`."""
        ...


_AT_ONCE = 2**22  # numbers of a batch of simulations
_AFFORDABLE = 2**30  # numbers to simulate, beyond which fewer draws are ranked


def query_bounds(
    measured: Measured,
    total: int | None,
    made: Floats,
    *,
    confidence: float,
    rng: np.random.Generator,
) -> ErrorBounds:
    """Bounds on the errors of all queries, in their own scale, and how they were found.

    Args:
        total: number of records where that is public, else None.
        made: answers of any distribution, or other numbers to be certified, shape (queries,).
    Raises:
        ValueError: the confidence is outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"certificate.confidence: {confidence}; give a number between 0 and 1")
    estimate = measured.estimate
    queries = estimate.universe.queries
    pooled = estimate.pooled([table[None, :] for table in measured.tables])
    if total is not None:
        pooled[()] = np.array([[float(total)]])
    records = float(pooled[()][0, 0])
    estimated = estimate.answers(pooled)[0]

    numbers = sum(estimate.cells) + queries.size
    draws = draws_needed(confidence, affordable=_AFFORDABLE // numbers)
    quantiles = simultaneous_quantiles(
        _errors(measured, draws, rng, total_is_public=total is not None),
        confidence=confidence,
    )
    of_answers = quantiles.values[:-1]
    of_total = float(quantiles.values[-1]) if total is None else 0.0
    most = farthest(queries, made)
    fewest = records - of_total
    how = (
        "distance to the best linear unbiased estimate of the queries, and a quantile of that "
        "estimate's noise that all queries stay under together: rank "
        f"{quantiles.rank} of {quantiles.draws} simulations (split conformal prediction)"
    )
    if fewest <= 0:
        terms = {"range of the queries, as there may be no records": float(most.max())}
        return ErrorBounds(each=most, terms=terms, how=how)
    misfit = np.abs(estimated - made * records) / fewest
    noise = of_answers / fewest
    unknown = np.abs(estimate.means - made) * of_total / fewest
    each = np.minimum(misfit + noise + unknown, most)
    worst = int(np.argmax(each))
    terms = {
        "distance to the linear estimate": float(misfit[worst]),
        "noise of the linear estimate": float(noise[worst]),
    }
    if total is None:
        terms["number of records"] = float(unknown[worst])
    return ErrorBounds(each=each, terms=terms, how=how)


def farthest(queries: LinearQueries, made: Floats) -> Floats:
    """How far answers may be at most from those of any records, which lie in the queries' range."""
    least, greatest = queries.least / queries.unit, queries.greatest / queries.unit
    return np.maximum(greatest - made, made - least)


def _errors(
    measured: Measured, draws: int, rng: np.random.Generator, *, total_is_public: bool
) -> Iterator[Floats]:
    """Fresh draws of |f_i| and, in the last column, |e_0|: (draws of a batch, queries + 1)."""
    estimate = measured.estimate
    at_once = max(1, _AT_ONCE // (sum(estimate.cells) + estimate.entries))
    for start in range(0, draws, at_once):
        now = min(at_once, draws - start)
        tables = [
            _drawn(rng, noise, (now, size))
            for noise, size in zip(measured.noises, estimate.cells, strict=True)
        ]
        parts = estimate.pooled(tables)
        of_total = np.zeros((now, 1)) if total_is_public else parts[()]
        found = estimate.answers({part: table for part, table in parts.items() if part != ()})
        yield np.abs(np.concatenate([found, of_total], axis=1))


def _drawn(rng: np.random.Generator, noise: Noise, size: tuple[int, int]) -> Counts:
    if isinstance(noise, GaussianNoise):
        return simulate_discrete_gaussian(rng, noise.sigma2, size)
    return simulate_discrete_laplace(rng, noise.scale, size)
