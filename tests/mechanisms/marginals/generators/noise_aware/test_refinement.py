"""Refinement: a known prior, no noise and noise alone, few cells, few directions, and margins."""

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np
import pytest
from scipy.stats import norm

from hallmark.mechanisms.marginals.cell_groups import merge
from hallmark.mechanisms.marginals.evidence import Coarse, NoisyMarginal, with_groups
from hallmark.mechanisms.marginals.generators.noise_aware.refinement import (
    posterior_means,
    posterior_means_of_each,
    raked,
    refined_each,
    refined_margin,
    tilted,
)


def noisy_marginal(counts: np.ndarray, sigma: float, coarse: Coarse | None = None) -> NoisyMarginal:
    return NoisyMarginal(tuple(range(counts.ndim)), counts, sigma, coarse)


def refined(
    model: np.ndarray, measured: NoisyMarginal, margins: Sequence[np.ndarray], allowed: np.ndarray
) -> np.ndarray:
    (table,) = refined_each([model], [measured], [margins], [allowed])
    return table


FIXED_MARGINS = (np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.3, 0.4]))
ALL = np.ones((3, 4), dtype=np.bool_)


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_posterior_means_come_near_to_those_of_the_true_prior(share: float) -> None:
    rng, signal, size = np.random.default_rng(1), 4.0, 4000
    means = np.where(rng.random(size) < share, signal, 0.0)
    seen = means + rng.normal(size=size)
    odds = share * norm.pdf(seen - signal)
    best = signal * odds / (odds + (1 - share) * norm.pdf(seen))
    found = posterior_means(seen * 10, 10.0).table / 10
    least = np.square(best - means).mean()
    # Within 20 % of the error that knowing the prior allows; soft thresholds at the usual
    # sqrt(2 log n) have 5 and 14 times that error, what was seen 17 and 4 times (measured).
    assert np.square(found - means).mean() < 1.2 * least
    assert np.square(seen - means).mean() > 3 * least


def test_noise_alone_is_all_but_silenced_and_strong_signals_keep_their_size() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(scale=3.0, size=(40, 16, 16))
    left = np.array([np.square(posterior_means(table, 3.0).table).mean() for table in noise])
    assert left.mean() < 0.05 * 9
    small = list(noise.reshape(-1, 4))  # a prior for four cells is found in their noise

    def kept_of(silent: float) -> float:
        found = posterior_means_of_each(small, [3.0] * len(small), silent=silent)
        return float(np.mean([np.square(one.table).mean() for one in found])) / 9

    assert kept_of(9.0) < 0.15 < 0.3 < kept_of(0.0)
    strong = noise.copy()
    strong[:, 4, 4] += 60.0
    kept = np.array([posterior_means(table, 3.0).table[4, 4] for table in strong])
    assert kept.mean() == pytest.approx(60.0, abs=5 * 3 / np.sqrt(40))


@pytest.mark.parametrize(("share", "scale"), [(0.05, 4.0), (0.2, 3.0), (0.5, 2.0)])
def test_risks_told_without_the_truth_are_near_the_true_ones(share: float, scale: float) -> None:
    rng = np.random.default_rng(10)
    means = np.where(rng.random((20, 30)) < share, rng.normal(scale=scale, size=(20, 30)), 0.0)
    told, true = [], []
    for _ in range(200):
        seen = means + rng.normal(size=means.shape)
        found = posterior_means(seen, 1.0)
        told.append(np.square(seen - found.table).sum() + 2 * found.freedom - seen.size)
        true.append(np.square(found.table - means).sum())
    # Low by 9 to 15 % (measured), as the prior is fitted to the same cells.
    assert 0.8 < np.mean(told) / np.mean(true) < 1.0


def test_without_noise_or_signal_near_it_nothing_is_changed() -> None:
    seen = np.random.default_rng(0).normal(size=(3, 4))
    np.testing.assert_array_equal(posterior_means(seen, 0.0).table, seen)
    far = np.where(seen > 0, 50.0, -50.0)
    np.testing.assert_allclose(posterior_means(far, 1.0).table, far)


def margins_of(table: np.ndarray) -> list[np.ndarray]:
    axes = range(table.ndim)
    return [table.sum(axis=tuple(b for b in axes if b != a)) for a in axes]


@pytest.mark.parametrize("shape", [(6,), (5, 7), (4, 3, 5)])
@pytest.mark.parametrize("sigma", [0.0, 1e-9])
def test_without_noise_it_is_the_measured_table(shape: tuple[int, ...], sigma: float) -> None:
    rng = np.random.default_rng(3)
    model, truth = (rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape) for _ in range(2))
    allowed = np.ones(shape, dtype=np.bool_)
    found = refined(model, noisy_marginal(truth, sigma), margins_of(truth), allowed)
    np.testing.assert_allclose(found, truth, atol=1e-6)


@pytest.mark.parametrize("shape", [(6,), (5, 7), (4, 3, 5)])
def test_noise_alone_leaves_the_model_nearly_as_it_is(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    model = rng.dirichlet(np.full(int(np.prod(shape)), 5.0)).reshape(shape)
    sigma, allowed = 0.3 / model.size, np.ones(shape, dtype=np.bool_)
    far = []
    for _ in range(50):
        noisy = model + rng.normal(scale=sigma, size=shape)
        found = refined(model, noisy_marginal(noisy, sigma), margins_of(model), allowed)
        far.append(np.abs(found - model).sum() / np.abs(noisy - model).sum())
    assert np.mean(far) < 0.15


def refinements(truth: np.ndarray, sigma: float, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Of independence with the true margins, by twenty measurements of a pair."""
    margins, allowed = margins_of(truth), np.ones_like(truth, dtype=np.bool_)
    for _ in range(20):
        noisy = truth + rng.normal(scale=sigma, size=truth.shape)
        yield refined(np.outer(*margins), noisy_marginal(noisy, sigma), margins, allowed)


def test_a_category_that_goes_with_one_other_is_found_though_the_model_misses_it() -> None:
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.full(16, 0.5))
    truth = np.zeros((16, 16))
    truth[np.arange(16), rng.permutation(16)] = shares
    model = np.outer(*margins_of(truth))
    errors = [np.abs(found - truth).sum() / 2 for found in refinements(truth, 0.005, rng)]
    assert np.abs(model - truth).sum() / 2 > 0.7
    assert max(errors) < 0.25


def test_what_the_cells_tell_clearly_is_not_halved() -> None:
    rng = np.random.default_rng(11)
    truth = np.full((16, 16), 0.2 / 240)
    np.fill_diagonal(truth, 0.8 / 16)  # every category goes with one other: no direction stands out
    model = np.outer(*margins_of(truth))
    missed = np.trace(truth - model)
    kept = [np.trace(found - model) / missed for found in refinements(truth, 0.01, rng)]
    assert np.mean(kept) > 0.8  # measured: .91; the mean of both estimates keeps .59


def test_a_slope_is_found_though_no_cell_stands_out() -> None:
    rng = np.random.default_rng(5)
    slope = np.linspace(-1, 1, 20)
    truth = (1 + 0.5 * np.outer(slope, slope)) / 400
    margins = [np.full(20, 0.05)] * 2
    model, sigma = np.full((20, 20), 1 / 400), 7e-4
    assert np.abs(truth - model).max() < 2 * sigma
    noisy = truth + rng.normal(scale=sigma, size=truth.shape)
    allowed = np.ones_like(truth, dtype=np.bool_)
    found = refined(model, noisy_marginal(noisy, sigma), margins, allowed)
    assert np.abs(found - truth).sum() < 0.7 * np.abs(model - truth).sum()


@pytest.mark.parametrize("shape", [(9,), (12, 10), (6, 3, 5)])
def test_without_noise_in_cells_groups_change_nothing(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(12)
    model, truth = (rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape) for _ in range(2))
    coarse = Coarse(tuple(min(k, 4) for k in shape), 1e-3)
    sums = merge(truth, coarse.sizes) + rng.normal(scale=1e-3, size=coarse.sizes)
    measured = with_groups(noisy_marginal(truth, 1e-9), sums, coarse)
    found = refined(model, measured, margins_of(truth), np.ones(shape, dtype=np.bool_))
    np.testing.assert_allclose(found, truth, atol=1e-6)


def test_groups_tell_what_no_cell_does() -> None:
    rng = np.random.default_rng(13)
    model, sigma = np.full((32, 32), 1 / 1024), 2e-3
    high = np.kron([[1, -1], [-1, 1]], np.ones((16, 16)))  # two halves that go together
    truth, margins = model * (1 + 0.4 * high), [np.full(32, 1 / 32)] * 2
    allowed = np.ones_like(truth, dtype=np.bool_)
    coarse = Coarse((4, 4), 3 * sigma)
    fine, both = [], []
    for _ in range(10):
        cells = noisy_marginal(truth + rng.normal(scale=sigma, size=truth.shape), sigma)
        sums = merge(truth, coarse.sizes) + rng.normal(scale=coarse.sigma, size=coarse.sizes)
        for measured, errors in ((cells, fine), (with_groups(cells, sums, coarse), both)):
            found = refined(model, measured, margins, allowed)
            errors.append(np.abs(found - truth).sum() / 2)
    assert np.mean(both) < 0.6 * np.mean(fine)


def test_a_margin_follows_what_was_measured_of_its_groups() -> None:
    rng = np.random.default_rng(14)
    truth = np.repeat([0.4, 0.3, 0.2, 0.1], 8) / 8
    model, coarse = np.full(32, 1 / 32), Coarse((4,), 1e-3)
    sums = merge(truth, (4,)) + rng.normal(scale=1e-3, size=4)
    cells = noisy_marginal(truth + rng.normal(scale=0.02, size=32), 0.02)
    found = refined_margin(model, with_groups(cells, sums, coarse), np.ones(32, dtype=np.bool_))
    assert np.abs(merge(found, (4,)) - merge(truth, (4,))).sum() < 0.02
    assert np.abs(found - truth).sum() < 0.3 * np.abs(model - truth).sum()


@pytest.mark.parametrize("shape", [(8,), (8, 6), (4, 3, 5)])
def test_tilting_corrects_what_the_codes_multiplied_add_up_to(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(8)
    tables = [rng.dirichlet(np.full(int(np.prod(shape)), 20.0)).reshape(shape) for _ in range(40)]
    slope = reduce(np.multiply.outer, [np.arange(k) - (k - 1) / 2 for k in shape])
    sigma = 0.02 / slope.size
    truths = [t + rng.normal(scale=10 * sigma) * slope / np.linalg.norm(slope) for t in tables]
    noisy = [truth + rng.normal(scale=sigma, size=shape) for truth in truths]

    def error(found: list[np.ndarray]) -> float:
        pairs = zip(found, truths, strict=True)
        return float(np.mean([(slope * (f - t)).sum() ** 2 for f, t in pairs]))

    found = tilted(tables, [noisy_marginal(table, sigma) for table in noisy])
    assert error(found) < 0.03 * error(tables)
    for moved, table in zip(found, tables, strict=True):  # and nothing else moves
        step = moved - table
        along = (step * slope).sum() / np.square(slope).sum() * slope
        np.testing.assert_allclose(step, along, atol=1e-9)


def test_tilting_leaves_noise_and_public_tables_alone() -> None:
    rng = np.random.default_rng(9)
    tables = [np.full((6, 5), 1 / 30) for _ in range(60)]
    noisy = [table + rng.normal(scale=1e-3, size=table.shape) for table in tables]
    measured = [noisy_marginal(table, 1e-3) for table in noisy[:-1]]
    found = tilted(tables, [*measured, noisy_marginal(noisy[-1], 0.0)], silent=9.0)
    assert found[-1] is tables[-1]
    moved = np.linalg.norm([f - t for f, t in zip(found, tables, strict=True)])
    assert moved < 0.3 * 1e-3 * np.sqrt(59)  # of one number each, whose noise has deviation 1e-3
    single = np.ones((1, 1))
    assert tilted([single], [noisy_marginal(single, 0.1)])[0] == pytest.approx(1.0)
    assert tilted([], []) == []


def test_a_margin_follows_what_was_measured_of_it() -> None:
    rng = np.random.default_rng(6)
    truth = np.r_[0.6, 0.3, np.full(10, 0.01)]
    model = np.r_[0.5, 0.3, np.full(10, 0.02)]
    noisy = truth + rng.normal(scale=0.002, size=truth.shape)
    found = refined_margin(model, noisy_marginal(noisy, 0.002), np.ones(12, dtype=np.bool_))
    assert np.abs(found - truth).sum() < 0.2 * np.abs(model - truth).sum()
    assert found.sum() == pytest.approx(1)


def test_a_margin_is_a_distribution_of_allowed_cells_wherever_the_noise_put_its_mass() -> None:
    allowed = np.array([False, True, True])
    found = refined_margin(
        np.full(3, 1 / 3), noisy_marginal(np.array([90.0, -50.0, -40.0]), 1.0), allowed
    )
    np.testing.assert_allclose(found, [0.0, 0.0, 1.0])


def test_raking_gives_the_margins_and_keeps_odds_ratios() -> None:
    table = np.random.default_rng(7).dirichlet(np.full(12, 5.0)).reshape(3, 4)  # no cell is tiny
    found = raked(table, FIXED_MARGINS, ALL)
    np.testing.assert_allclose(found.sum(axis=1), FIXED_MARGINS[0], atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=0), FIXED_MARGINS[1], atol=1e-9)

    def odds(t: np.ndarray) -> np.ndarray:
        return np.asarray(t[1:, 1:] * t[:1, :1] / (t[1:, :1] * t[:1, 1:]))

    np.testing.assert_allclose(odds(found), odds(table), rtol=1e-3)  # but for the trace


def test_raking_keeps_forbidden_cells_empty_and_fills_rows_that_lost_their_mass() -> None:
    allowed = ALL.copy()
    allowed[0, :2] = False
    table = np.full((3, 4), 1 / 8)
    table[2] = 0
    found = raked(table, FIXED_MARGINS, allowed)
    assert not found[0, :2].any()
    np.testing.assert_allclose(found.sum(axis=1), FIXED_MARGINS[0], atol=1e-3)
    assert found[2].min() > 0
    allowed[1] = False  # nothing may be where the margin has three tenths
    found = raked(np.multiply.outer(*FIXED_MARGINS), FIXED_MARGINS, allowed)
    assert not found[1].any()
    assert found.sum() == pytest.approx(1)
