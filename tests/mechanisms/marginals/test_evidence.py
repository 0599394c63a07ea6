"""Evidence: repeated marginals, and what all marginals together say of one attribute."""

import numpy as np
import pytest

from mechanisms.marginals.evidence import Evidence, NoisyMarginal, pooled
from tests.mechanisms.marginals.domains import domain_of

SHAPE = (3, 4, 2)


def marginal(clique: tuple[int, ...], sigma: float, seed: int = 0) -> NoisyMarginal:
    shape = [SHAPE[a] for a in clique]
    return NoisyMarginal(clique, np.random.default_rng(seed).normal(size=shape), sigma)


def evidence(*marginals: NoisyMarginal) -> Evidence:
    return Evidence(domain_of(SHAPE), marginals, 100.0, total_is_public=True)


def test_a_margin_has_the_noise_of_all_cells_that_it_adds_up() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(scale=2.0, size=(20_000, 3, 4, 2))
    margin = NoisyMarginal((0, 1, 2), noise[0], 2.0).margin(1)
    np.testing.assert_allclose(margin.counts, noise[0].sum(axis=(0, 2)))
    assert margin.clique == (1,)
    # The deviation of 80,000 sums is known to .25 %; a factor of sqrt(k) would be 40 % off.
    assert margin.sigma == pytest.approx(noise.sum(axis=(1, 3)).std(), rel=0.02)


def test_one_ways_are_the_best_linear_estimates_from_all_marginals() -> None:
    first, second, alone = marginal((0, 1), 3.0), marginal((0, 2), 5.0, 1), marginal((0,), 2.0, 2)
    found = evidence(first, second, alone).one_ways
    assert set(found) == {0, 1, 2}
    seen = np.stack([first.counts.sum(axis=1), second.counts.sum(axis=1), alone.counts])
    variances = np.array([9.0 * 4, 25.0 * 2, 4.0])
    # Generalised least squares, cell by cell, with the identity repeated as its design.
    weights = (1 / variances) / (1 / variances).sum()
    np.testing.assert_allclose(found[0].counts, weights @ seen)
    assert found[0].sigma == pytest.approx((1 / variances).sum() ** -0.5)
    np.testing.assert_allclose(found[1].counts, first.counts.sum(axis=0))
    assert found[1].sigma == pytest.approx(3.0 * 3**0.5)


def test_a_public_marginal_stands_alone_and_an_attribute_of_none_is_left_out() -> None:
    public, noisy = marginal((0,), 0.0), marginal((0, 1), 1.0, 1)
    found = evidence(noisy, public).one_ways
    np.testing.assert_array_equal(found[0].counts, public.counts)
    assert found[0].sigma == 0
    assert 2 not in found


def test_repetitions_are_merged_by_precision() -> None:
    first, again = marginal((0, 1), 1.0), marginal((0, 1), 2.0, 1)
    (merged,) = pooled([first, again])
    np.testing.assert_allclose(merged.counts, 0.8 * first.counts + 0.2 * again.counts)
    assert merged.sigma == pytest.approx(0.8**0.5)
