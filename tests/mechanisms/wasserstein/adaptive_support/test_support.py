"""Accuracy from a small support: the proof's inequality in every run, laws, and coverage."""

from fractions import Fraction
from math import exp, inf, log, sinh

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.geometry.simplex import project_on_simplex
from hallmark.mechanisms.privacy.simulation import simulate_discrete_laplace
from hallmark.mechanisms.wasserstein.adaptive_support.support import (
    NoisyCount,
    expected_misfit,
    laplace_tail,
    simulate_shortfall,
    sparse_bound,
)

FALSE_POSITIVE_RATE = 1e-6


def sparse_table(cells: int, occupied: int, records: int, rng: np.random.Generator) -> np.ndarray:
    """A histogram that occupies exactly `occupied` cells."""
    table = np.zeros(cells, dtype=np.int64)
    chosen = rng.permutation(cells)[:occupied]
    table[chosen] = 1 + rng.multinomial(records - occupied, rng.dirichlet(np.ones(occupied)))
    return table


def wrong_cells(table: np.ndarray, masses: np.ndarray) -> float:
    """Records to move: W1 between cells that all lie at the diameter from each other."""
    return float(np.maximum(table - masses, 0).sum())


@pytest.mark.parametrize("seed", range(5))
def test_every_run_obeys_the_inequality_behind_the_expected_misfit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(200):
        cells = int(rng.integers(2, 300))
        occupied = int(rng.integers(1, cells + 1))
        table = sparse_table(cells, occupied, 400, rng)
        noise = simulate_discrete_laplace(rng, Fraction(int(rng.integers(1, 9))), cells)
        misfit = wrong_cells(table, project_on_simplex(table + noise, 400).masses)
        shortfall = np.maximum(-noise, 0)[table > 0].sum()
        for level in (0, 1, 3, 10, 30):
            assert misfit <= occupied * level + shortfall + np.maximum(noise - level, 0).sum()


@pytest.mark.parametrize(("cells", "occupied"), [(400, 1), (400, 20), (400, 150), (400, 400)])
def test_the_mean_misfit_stays_below_its_bound(cells: int, occupied: int) -> None:
    rng = np.random.default_rng(5)
    table = sparse_table(cells, occupied, 5000, rng)
    runs = [
        wrong_cells(table, project_on_simplex(table + noise, 5000).masses)
        for noise in simulate_discrete_laplace(rng, Fraction(3), (300, cells))
    ]
    assert 0 < np.mean(runs) <= expected_misfit(cells, occupied, 3.0)


def test_the_expected_misfit_grows_with_the_support_and_joins_its_two_cases() -> None:
    grid = [expected_misfit(100, occupied, 2.0) for occupied in np.linspace(0.1, 100, 1000)]
    assert (np.diff(grid) > 0).all()
    assert expected_misfit(100, 50, 2.0) == pytest.approx(expected_misfit(100, 50 - 1e-9, 2.0))


@pytest.mark.parametrize("scale", [0.2, 1.0, 7.0])
def test_discrete_laplace_noise_exceeds_no_level_by_more_than_the_continuous_law(scale) -> None:
    """The step of the proof that replaces E(z - t)+ by scale / 2 * exp(-t / scale)."""
    ratio = exp(-1 / scale)
    values = np.arange(2000)
    law = (1 - ratio) / (1 + ratio) * ratio**values
    for level in np.linspace(0, 5, 41):
        exceeded = float(np.maximum(values - level, 0) @ law)
        assert exceeded <= scale / 2 * exp(-level / scale) + 1e-12
    assert float(values @ law) == pytest.approx(1 / (2 * sinh(1 / scale)))


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(50)])
@pytest.mark.parametrize("failure", [0.3, 0.01, 1e-9])
@pytest.mark.parametrize("times", [1, 5])
def test_the_tail_is_the_least_that_is_exceeded_rarely_enough(scale, failure, times) -> None:
    ratio = exp(-1 / float(scale))

    def exceeded(value: int) -> float:
        return -np.expm1(times * np.log1p(-(ratio ** (value + 1)) / (1 + ratio)))

    tail = laplace_tail(scale, failure, times=times)
    assert exceeded(tail) <= failure * (1 + 1e-9)
    assert tail == 0 or exceeded(tail - 1) > failure * (1 - 1e-9)


def test_the_simulated_shortfall_has_the_law_of_the_sum_over_occupied_cells() -> None:
    rng, draws = np.random.default_rng(6), 20_000
    for occupied, scale in ((0, Fraction(2)), (1, Fraction(1, 3)), (3, Fraction(2))):
        fast = simulate_shortfall(rng, scale, occupied, draws)
        slow = np.maximum(-simulate_discrete_laplace(rng, scale, (draws, occupied)), 0).sum(axis=1)
        highest = int(max(fast.max(), slow.max()))
        counts = [np.bincount(sums, minlength=highest + 1) for sums in (fast, slow)]
        gap = np.abs(np.cumsum(counts[0]) - np.cumsum(counts[1])).max() / draws
        # Two-sample Dvoretzky-Kiefer-Wolfowitz: 2 exp(-draws gap^2) with equal sizes.
        assert gap < np.sqrt(log(2 / FALSE_POSITIVE_RATE) / draws)
    wrong = np.maximum(-simulate_discrete_laplace(rng, Fraction(12, 5), (draws, 3)), 0).sum(axis=1)
    counts = [np.bincount(sums, minlength=400)[:400] for sums in (fast, wrong)]
    gap = np.abs(np.cumsum(counts[0]) - np.cumsum(counts[1])).max() / draws
    assert gap > np.sqrt(log(2 / FALSE_POSITIVE_RATE) / draws)


def misses(*, public: bool, understated: int = 1, releases: int = 400) -> int:
    """Releases whose bound is exceeded, where the released table is as bad as noise makes it."""
    rng, scale, sizes = np.random.default_rng(7), Fraction(3), Fraction(1, 2)
    table = sparse_table(13, 12, 300, rng)
    missed = 0
    for _ in range(releases):
        noisy = table + simulate_discrete_laplace(rng, scale, 13)
        support = 12 + int(simulate_discrete_laplace(rng, sizes, 3).min())
        error = 0 if public else int(simulate_discrete_laplace(rng, sizes, 1)[0])
        records = 300 + error
        # On the occupied cells what the noise says, no more; all that is left elsewhere.
        masses = np.where(table > 0, np.maximum(noisy, 0), 0) / records
        masses[np.argmin(table)] += max(1 - masses.sum(), 0)
        masses /= masses.sum()
        bound = sparse_bound(
            noisy,
            masses,
            scale=scale / understated,
            support=NoisyCount(value=support, scale=sizes / understated, times=3),
            total=300 if public else NoisyCount(value=records, scale=sizes / understated),
            confidence=0.8,
            rng=rng,
        )
        certified = inf if bound.records <= 0 else (bound.shortfall + bound.misfit) / bound.records
        missed += wrong_cells(table / 300, masses) > certified + 1e-12
    return missed


@pytest.mark.parametrize("public", [True, False])
def test_misses_are_as_rare_as_stated(public: bool) -> None:
    assert binom.sf(misses(public=public) - 1, 400, 0.2) > FALSE_POSITIVE_RATE


def test_a_twin_that_understates_the_noise_is_found_out() -> None:
    assert binom.sf(misses(public=True, understated=3) - 1, 400, 0.2) < FALSE_POSITIVE_RATE


def test_a_confidence_that_is_none_is_refused() -> None:
    support = NoisyCount(value=1, scale=Fraction(1))
    for confidence in (0.0, 1.0, 95.0):
        with pytest.raises(ValueError, match="between 0 and 1"):
            sparse_bound(
                np.array([5]),
                np.ones(1),
                scale=Fraction(1),
                support=support,
                total=5,
                confidence=confidence,
                rng=np.random.default_rng(0),
            )
