"""Strategies: what neighbours can lose, tight calibration, and the choice between them."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse

from hallmark.mechanisms.linear_queries.direct.linear_estimate import LinearEstimate
from hallmark.mechanisms.linear_queries.direct.table_strategy import (
    DRAWS,
    TableStrategy,
    calibrated,
    choose,
    forecast_error,
)
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.accountant import fits, pure_epsilon, rho
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.privacy.linear_queries import Block, Matrix
from hallmark.mechanisms.privacy.queries import GaussianNoise, HistogramQuery, LaplaceNoise
from tests.mechanisms.linear_queries.adaptive_runs import (
    ADD,
    BUDGET,
    PERSONS,
    PURE,
    REPLACE,
    of,
    ways,
)
from tests.mechanisms.linear_queries.direct.cases import SHAPE, SUMS, tables, written
from tests.mechanisms.wasserstein.single_histogram.neighbours import loss, neighbours


def chosen(
    u: Universe,
    budget: Budget = BUDGET,
    adjacency: Adjacency = REPLACE,
    *,
    strategy: str = "auto",
    noise: str = "auto",
    enumerated: bool = True,
) -> TableStrategy:
    return choose(
        u,
        budget=budget,
        adjacency=adjacency,
        strategy=strategy,
        noise=noise,
        enumerated=enumerated,
    )


def events(strategy: TableStrategy, adjacency: Adjacency) -> tuple[Event, ...]:
    return merged(query.event(adjacency) for query in strategy.queries)


@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSONS])
@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_no_neighbour_moves_the_tables_further_than_charged(
    family: str, adjacency: Adjacency
) -> None:
    u = ways((2,) * 3, 2)
    strategy = chosen(u, adjacency=adjacency, strategy="marginals", noise=family)
    worst = Fraction(0)
    for one, other in neighbours(u.shape, adjacency, [[0, 1, 0]]):
        if family == "laplace":
            lost = loss(strategy.queries, one, other)
        else:
            lost = Fraction(0)
            for query in strategy.queries:
                before, after = (count_codes(codes, [query.cells])[0] for codes in (one, other))
                lost += Fraction(int(((after - before) ** 2).sum())) / (2 * query.noise.sigma2)
        worst = max(worst, lost)
    charged = events(strategy, adjacency)
    assert worst == (pure_epsilon(charged) if family == "laplace" else rho(charged))


ALIKE, UNLIKE = (1, 1, 1), (1, Fraction(7, 10), Fraction(1, 6))
# Gaussian noise takes long to calibrate: the other pairs are left to `slow`.
FIRST = {(ALIKE, REPLACE), (UNLIKE, ADD), (UNLIKE, PERSONS)}


@pytest.mark.parametrize(
    ("shares", "adjacency", "budget", "noise"),
    [
        *((s, a, PURE, "laplace") for s, a in product((ALIKE, UNLIKE), (REPLACE, ADD, PERSONS))),
        *(
            pytest.param(
                *(s, a, BUDGET, "gaussian"),
                marks=() if (s, a) in FIRST else pytest.mark.slow,
            )
            for s, a in product((ALIKE, UNLIKE), (REPLACE, ADD, PERSONS))
        ),
    ],
)
def test_noise_fits_the_budget_and_little_less_would_not(
    shares: tuple[Fraction, ...], budget: Budget, noise: str, adjacency: Adjacency
) -> None:
    shares = tuple(map(Fraction, shares))
    noises = calibrated(shares, budget, adjacency, gaussian=noise == "gaussian")
    cells = chosen(ways((2,) * 3, 2)).queries[0].cells

    def of(factor: Fraction) -> tuple[Event, ...]:
        less = [
            GaussianNoise(n.sigma2 * factor)
            if isinstance(n, GaussianNoise)
            else LaplaceNoise(n.scale * factor)
            for n in noises
        ]
        return merged(HistogramQuery(cells, n).event(adjacency) for n in less)

    assert fits(of(Fraction(1)), budget)
    assert not fits(of(Fraction(9995, 10_000)), budget)
    precise = [float(1 / n.sigma2 if noise == "gaussian" else 1 / n.scale) for n in noises]
    expected = [float(s / shares[0]) for s in shares]
    np.testing.assert_allclose(np.array(precise) / precise[0], expected, rtol=1e-4)


def test_the_best_forecast_is_taken() -> None:
    u = ways((2,) * 6, 2)
    best = chosen(u)
    others = [
        chosen(u, strategy=s, noise=n)
        for s in ("histogram", "marginals")
        for n in ("gaussian", "laplace")
    ]
    assert best.forecast <= 1.02 * min(one.forecast for one in others)
    assert len({one.forecast for one in others}) > 2


def test_optimised_marginals_beat_the_queries_own() -> None:
    """Three-way marginals of eight binary columns: forecasts of 56 and 48 records or less."""
    u = ways((2,) * 8, 3)
    best = chosen(u, strategy="marginals", noise="gaussian")
    plain = calibrated((Fraction(1),) * 56, BUDGET, REPLACE, gaussian=True)
    alike = TableStrategy(u, "alike", tuple(combinations(range(8), 3)), plain, 0.0)
    assert best.forecast < 0.9 * forecast_error(alike.estimate)
    assert max(len(asked) for asked in best.asked) > 3


def test_of_nearly_equal_strategies_the_one_with_fewest_numbers_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    u = ways((2,) * 8, 3)
    taken = chosen(u, strategy="marginals", noise="gaussian")
    monkeypatch.setattr("hallmark.mechanisms.linear_queries.direct.table_strategy._NEAR", 0.0)
    best = chosen(u, strategy="marginals", noise="gaussian")
    assert taken.asked == tuple(combinations(range(8), 4))
    assert 0.97 * taken.forecast < best.forecast < 1.02 * taken.forecast
    # The plain marginals have fewer numbers still, but are too far from the best.
    plain = forecast_error(LinearEstimate(u, u.cliques, np.full(56, 1 / 56 / _of_one())))
    assert plain > 1.1 * taken.forecast


def _of_one() -> float:
    """Variance of a table that has the whole budget."""
    (noise,) = calibrated((Fraction(1),), BUDGET, REPLACE, gaussian=True)
    return noise.variance


def test_the_forecast_is_the_mean_of_the_largest_error_of_least_squares() -> None:
    u = ways((2,) * 4, 2)
    strategy = chosen(u, noise="gaussian", strategy="marginals")
    weights = np.concatenate(
        [np.full(q.cells.size, 1 / q.noise.variance) for q in strategy.queries]
    )
    stacked = np.concatenate(tables(u, strategy.asked))
    inverse = np.linalg.pinv(stacked.T @ (weights[:, None] * stacked), rcond=1e-10)
    centred = written(u) - written(u).mean(axis=1, keepdims=True)
    matrix = centred @ inverse @ stacked.T * np.sqrt(weights)
    drawn = np.random.default_rng(0).normal(size=(4000, len(weights))) @ matrix.T
    largest = np.abs(drawn).max(axis=1)
    # Six standard deviations of a mean over DRAWS draws: false once in 1e8 or less.
    assert abs(strategy.forecast - largest.mean()) < 6 * largest.std() / np.sqrt(DRAWS)


def test_sums_are_measured_by_their_own_cells_where_that_is_better() -> None:
    above = np.tri(6, 7, dtype=np.int64)
    u = of(SHAPE, Block(SUMS, Matrix(sparse.csr_array(above))))
    best = chosen(u, PURE)
    assert best.asked == (0,)
    without = chosen(u, PURE, enumerated=False)  # a random field takes marginals alone
    assert all(isinstance(asked, tuple) for asked in without.asked)
    assert best.forecast < without.forecast


def test_without_enumeration_only_what_queries_see_is_measured() -> None:
    strategy = chosen(ways((2,) * 12, 2), enumerated=False)
    assert max(len(asked) for asked in strategy.asked) == 2


def test_tables_too_large_to_measure_are_refused() -> None:
    with pytest.raises(ValueError, match=r"mechanism\.strategy: the queries see tables of more"):
        chosen(ways((200,) * 3, 3), enumerated=False)
