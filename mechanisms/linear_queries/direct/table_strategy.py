"""Which tables are measured, with which noise: the strategy with the least forecast error.

Claim.   The events of a strategy cost at most the budget, and are all fixed beforehand.
Proof.   A unit moves one table by at most sqrt(l2_squared) in L2 norm, l1 in L1 norm (`adjacency`).
         Gaussian noise comes from `calibration` of these very events; Laplace noise of scale
         l1 / (epsilon x_S) costs epsilon x_S, and the shares x_S sum to 1.
Source.  `optimise` for the shares. Canonne, Kamath, Steinke (2020), arXiv:2004.00010.
Oracle.  tests/mechanisms/linear_queries/direct/test_table_strategy.py enumerates neighbours.

Both families of noise are tried where delta allows: few tables are better off with Laplace noise.
What decides is public: the mean of the largest error of the linear estimate, simulated.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb, log2

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.linear_queries.direct.linear_estimate import (
    Asked,
    LinearEstimate,
    cells_of,
    size_of,
    subsets,
)
from hallmark.mechanisms.linear_queries.direct.optimise import Problem, Shares, optimise, problem
from hallmark.mechanisms.linear_queries.settings import MOST_CELLS
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.marginals.selection.spending import gaussian_event, marginal_sigma2
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import gaussian_sigma2, largest_rho
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.privacy.queries import GaussianNoise, HistogramQuery, LaplaceNoise, Noise
from hallmark.mechanisms.privacy.rounding import decimal_above

STRATEGIES = ("auto", "histogram", "marginals")
NOISES = ("auto", "gaussian", "laplace")
DRAWS = 200  # of a forecast

_SEED = 20250  # of forecasts: public, and the same for all strategies
_DIGITS = 6  # of a noise parameter, which is rounded up: a little more noise, a short number
_STEPS = 2  # precisions between one power of two and the next, so that there are few kinds of noise
_LEAST = 0.05  # of the largest precision: less is not worth a table
_MOST_TABLES = 2**13  # that shares are optimised over
_QUIET = 1e-4  # variance that counts as none, records^2: weights stay finite
_DRAWN = 2**22  # numbers of a forecast at once
_NEAR = 0.02  # of the least error: fewer numbers are worth so much
_NORMS = (1.0, 8.0)  # of the variances: in sum, and nearly of the worst query


@dataclass(frozen=True, eq=False)
class TableStrategy:
    """What is measured. Public.

    Attributes:
        name: how it was found.
        asked: tables, each once.
        noises: of every cell of each.
        forecast: mean of the largest error of any query by the linear estimate, in records.
    """

    universe: Universe
    name: str
    asked: tuple[Asked, ...]
    noises: tuple[Noise, ...]
    forecast: float

    @cached_property
    def queries(self) -> tuple[HistogramQuery, ...]:
        """What the curator is asked."""
        return tuple(
            HistogramQuery(cells_of(self.universe, asked), noise)
            for asked, noise in zip(self.asked, self.noises, strict=True)
        )

    @cached_property
    def estimate(self) -> LinearEstimate:
        return _estimate(self.universe, self.asked, self.noises)


@dataclass(frozen=True)
class _Design:
    """Tables with shares of the budget, and the error that is expected of them, in records."""

    name: str
    asked: tuple[Asked, ...]
    shares: tuple[Fraction, ...]
    gaussian: bool
    error: float


def choose(
    universe: Universe,
    *,
    budget: Budget,
    adjacency: Adjacency,
    strategy: str,
    noise: str,
    enumerated: bool,
) -> TableStrategy:
    """The best strategy of those that the parameters leave; of the nearly best, the one that
    measures the fewest numbers, which takes the least time.

    Args:
        enumerated: whether the estimate goes through all cells; if not, only marginals within what
            the queries see are measured.
    Raises:
        ValueError: the tables are too large to be measured.
    """
    found: list[_Design] = []
    for gaussian in (True, False):
        if noise == ("laplace" if gaussian else "gaussian") or (gaussian and budget.is_pure):
            continue
        # What all shares together cost: compositions of Gaussian noise of one rho differ little,
        # so that only the noise of the strategy that is taken is calibrated for itself.
        (one,) = calibrated((Fraction(1),), budget, adjacency, gaussian=gaussian)
        power = 1 if gaussian else 2
        for name, asked, shares in _designs(universe, strategy, power, enumerated):
            whole = float(sum(shares))
            precisions = [(float(share) / whole) ** power / _variance(one) for share in shares]
            error = forecast_error(LinearEstimate(universe, asked, np.array(precisions)))
            found.append(_Design(name, asked, shares, gaussian, error))
    if not found:
        raise ValueError(
            f"mechanism.strategy: the queries see tables of more than {MOST_CELLS:,} cells, which "
            "are too many to measure; ask about fewer columns at once, or give them fewer cells"
        )
    near = (1 + _NEAR) * min(design.error for design in found)
    taken = min(
        (design for design in found if design.error <= near),
        key=lambda design: sum(size_of(universe, one) for one in design.asked),
    )
    noises = calibrated(taken.shares, budget, adjacency, gaussian=taken.gaussian)
    error = forecast_error(_estimate(universe, taken.asked, noises))
    return TableStrategy(universe, taken.name, taken.asked, noises, error)


def calibrated(
    shares: tuple[Fraction, ...], budget: Budget, adjacency: Adjacency, *, gaussian: bool
) -> tuple[Noise, ...]:
    """Noise of tables that have these shares of the budget, whose sum does not matter."""
    whole = sum(shares, Fraction(0))
    if not gaussian:
        return tuple(
            LaplaceNoise(decimal_above(adjacency.l1 * whole / (budget.epsilon * share), _DIGITS))
            for share in shares
        )
    if len(set(shares)) == 1:
        equal = gaussian_sigma2(
            budget,
            l2_squared=adjacency.l2_squared,
            unit_moves=adjacency.unit_moves,
            count=len(shares),
        )
        return (GaussianNoise(equal.value),) * len(shares)
    return tuple(GaussianNoise(s) for s in _gaussian(shares, budget, adjacency))


@lru_cache(maxsize=64)
def _gaussian(
    shares: tuple[Fraction, ...], budget: Budget, adjacency: Adjacency
) -> tuple[Fraction, ...]:
    whole, alike = sum(shares, Fraction(0)), Counter(shares)

    def sigma2(rho: Fraction, share: Fraction) -> Fraction:
        return decimal_above(marginal_sigma2(rho * share / whole, adjacency), _DIGITS)

    def events_at(rho: Fraction) -> tuple[Event, ...]:
        return merged(
            gaussian_event(sigma2(rho, share), adjacency, times=times)
            for share, times in alike.items()
        )

    rho = largest_rho(events_at, budget).value
    found = {share: sigma2(rho, share) for share in alike}
    return tuple(found[share] for share in shares)


def forecast_error(estimate: LinearEstimate) -> float:
    """Mean of the largest error of any query, in its own scale times records."""
    rng = np.random.default_rng(_SEED)
    at_once = max(1, _DRAWN // estimate.entries)
    largest = [
        np.abs(estimate.answers(estimate.drawn(rng, min(at_once, DRAWS - start)))).max(axis=1)
        for start in range(0, DRAWS, at_once)
    ]
    return float(np.concatenate(largest).mean())


def _estimate(
    universe: Universe, asked: tuple[Asked, ...], noises: Sequence[Noise]
) -> LinearEstimate:
    return LinearEstimate(universe, asked, np.array([1 / _variance(noise) for noise in noises]))


def _variance(noise: Noise) -> float:
    return max(noise.variance, _QUIET)


def _designs(
    universe: Universe, strategy: str, power: int, enumerated: bool
) -> Iterator[tuple[str, tuple[Asked, ...], tuple[Fraction, ...]]]:
    """Names, tables and shares of the strategies to be compared."""
    everything = tuple(range(len(universe.shape)))
    one = (Fraction(1),)
    if strategy != "marginals" and enumerated:
        yield "the histogram of the universe", (everything,), one
    if strategy == "histogram":
        return
    for own in _own(universe) if enumerated else [()]:
        seen = _maximal(c for b, c in enumerate(universe.cliques) if b not in own)
        if any(size_of(universe, clique) > MOST_CELLS for clique in seen):
            continue
        named = ", histograms of weighted sums" if own else ""
        plain: tuple[Asked, ...] = (*seen, *own)
        yield f"the marginals that queries see, alike{named}", plain, one * len(plain)
        if enumerated and (wider := _wider(universe, seen)):
            more: tuple[Asked, ...] = (*wider, *own)
            yield f"all marginals of one column more, alike{named}", more, one * len(more)
        if len(plain) > _MOST_TABLES:
            continue
        task = problem(universe, (*_candidates(universe, seen, enumerated), *own))
        for norm in _NORMS:
            found = optimise(task, norm=norm, power=power, start=_start(universe, task, power))
            asked, shares = _rounded(task, found, power)
            yield f"optimised marginals (norm {norm:g}){named}", asked, shares


def _own(universe: Universe) -> list[tuple[int, ...]]:
    """Blocks whose own cells are measured: none, or all that see fewer than their columns have."""
    coarse = tuple(
        number
        for number, block in enumerate(universe.queries.blocks)
        if block.cells.size < size_of(universe, universe.cliques[number])
    )
    return [(), coarse] if coarse else [()]


def _maximal(cliques: Iterator[Clique]) -> tuple[Clique, ...]:
    """The cliques that lie in no other."""
    largest: list[Clique] = []
    for clique in sorted(set(cliques), key=len, reverse=True):
        if not any(set(clique) <= set(other) for other in largest):
            largest.append(clique)
    return tuple(sorted(largest))


def _wider(universe: Universe, seen: Sequence[Clique]) -> tuple[Clique, ...]:
    """All marginals of one column more than the widest of these; () where they are too many."""
    columns = sorted({column for clique in seen for column in clique})
    size = max(map(len, seen), default=0) + 1
    if not seen or comb(len(columns), size) > _MOST_TABLES:
        return ()
    wider = tuple(combinations(columns, size))
    return wider if all(size_of(universe, clique) <= MOST_CELLS for clique in wider) else ()


def _candidates(universe: Universe, seen: Sequence[Clique], enumerated: bool) -> tuple[Clique, ...]:
    """Marginals that may be measured: parts of what is seen, and more columns where they fit."""
    parts = {part for clique in seen for part in subsets(clique)} - {()}
    columns = sorted({column for clique in seen for column in clique})
    if enumerated:
        if len(parts) + len(seen) ** 2 // 2 <= _MOST_TABLES:
            parts |= {tuple(sorted({*a, *b})) for a, b in combinations(seen, 2)}
        for size in range(1, len(columns) + 1):
            if len(parts) + comb(len(columns), size) > _MOST_TABLES:
                break
            parts |= set(combinations(columns, size))
    fitting = [part for part in parts if size_of(universe, part) <= MOST_CELLS]
    return tuple(sorted(fitting, key=lambda part: (len(part), part)))


def _start(universe: Universe, task: Problem, power: int) -> Floats | None:
    """Where the search for shares of Laplace noise starts, which has many ends: at the best of the
    cliques of one size alone, with a little of everything else."""
    if power == 1:
        return None
    sizes = np.array([0 if isinstance(a, int) else len(a) for a in task.asked])
    starts = []
    for size in range(1, int(sizes.max(initial=0)) + 1):
        start = np.where((sizes == size) | (sizes == 0), 1.0, 1e-3)
        starts.append(start / start.sum())
    if not starts:
        return None
    return min(starts, key=lambda s: optimise(task, norm=1.0, power=power, start=s).objective)


def _rounded(
    task: Problem, found: Shares, power: int
) -> tuple[tuple[Asked, ...], tuple[Fraction, ...]]:
    """The tables that are worth it, with shares of precisions that are powers of 2^(1/2)."""
    precisions = found.values**power
    kept = precisions >= _LEAST * precisions.max()
    # Every part that queries need must be seen by a table that stays.
    for part in np.flatnonzero((task.seen.T @ kept.astype(np.float64)) == 0):
        told = task.seen[:, [part]].toarray().ravel()
        kept[np.argmax(told * (precisions + np.finfo(float).tiny))] = True
    asked = tuple(one for one, stays in zip(task.asked, kept, strict=True) if stays)
    weights = np.maximum(precisions[kept] / precisions.max(), _LEAST)
    steps = [round(_STEPS * log2(weight)) for weight in weights]
    shares = tuple(
        Fraction(2 ** (step / _STEPS / power)).limit_denominator(10**6) for step in steps
    )
    return asked, shares
