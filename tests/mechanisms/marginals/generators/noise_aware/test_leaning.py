"""Leaning towards other guesses: known shares, right and wrong guesses, risks."""

import numpy as np

from hallmark.mechanisms.marginals.evidence import Coarse, NoisyMarginal
from hallmark.mechanisms.marginals.generators.noise_aware.leaning import leaned, posterior_shares

SHAPE = (6, 5)
TABLES = 300
SIGMA = 0.004


def table(rng: np.random.Generator) -> np.ndarray:
    return rng.dirichlet(np.full(30, 2.0)).reshape(SHAPE)


def measured(truth: np.ndarray, rng: np.random.Generator, sigma: float = SIGMA) -> NoisyMarginal:
    return NoisyMarginal((0, 1), truth + sigma * rng.normal(size=SHAPE), sigma)


def error(tables: list[np.ndarray], truths: list[np.ndarray]) -> float:
    return float(np.mean([np.square(a - b).sum() for a, b in zip(tables, truths, strict=True)]))


def test_a_share_that_all_tables_have_is_found():
    rng = np.random.default_rng(1)
    models, guesses = ([table(rng) for _ in range(TABLES)] for _ in range(2))
    for share in (0.0, 0.3, 1.0):
        truths = [m + share * (g - m) for m, g in zip(models, guesses, strict=True)]
        seen = [measured(truth, rng) for truth in truths]
        found = leaned(models, guesses, seen, [0.0] * TABLES)
        assert np.abs(found.shares - share).mean() < 0.05
        assert error(found.tables, truths) < 0.1 * SIGMA**2 * 30


def test_tables_that_differ_get_shares_of_their_own():
    rng = np.random.default_rng(2)
    models, guesses = ([table(rng) for _ in range(TABLES)] for _ in range(2))
    truths = [*models[:200], *guesses[200:]]
    found = leaned(models, guesses, [measured(t, rng) for t in truths], [0.0] * TABLES)
    assert found.shares[:200].max() < 0.1
    assert found.shares[200:].min() > 0.9


def test_a_model_that_follows_the_noise_is_found_out_by_its_covariance():
    """The model is the measured table itself: by its misfit nothing would ever lean."""
    rng = np.random.default_rng(3)
    truths = [table(rng) for _ in range(TABLES)]
    seen = [measured(truth, rng) for truth in truths]
    models = [marginal.counts for marginal in seen]
    naive = leaned(models, truths, seen, [0.0] * TABLES)
    corrected = leaned(models, truths, seen, [SIGMA**2 * 30] * TABLES)
    assert naive.shares.max() < 0.2
    assert corrected.shares.mean() > 0.9
    assert error(corrected.tables, truths) < 0.1 * error(models, truths)


def test_a_wrong_guess_does_no_harm():
    """Whatever is believed beforehand."""
    rng = np.random.default_rng(4)
    models, wrong = ([table(rng) for _ in range(TABLES)] for _ in range(2))
    seen = [measured(model, rng) for model in models]
    found = leaned(models, wrong, seen, [0.0] * TABLES, trusted=9.0)
    assert found.shares.max() < 0.1
    assert error(found.tables, models) < 0.01 * SIGMA**2 * 30


def test_what_is_believed_decides_where_nothing_is_seen():
    nothing, flat = np.zeros(5), np.full(5, 1e-6)
    assert posterior_shares(nothing, flat, doubted=20.0, trusted=0.0).max() < 0.1
    assert posterior_shares(nothing, flat, doubted=0.0, trusted=20.0).min() > 0.9
    assert np.allclose(posterior_shares(nothing, flat, doubted=0.0, trusted=0.0), 0.5)


def test_shares_are_posterior_means_of_the_law_that_they_come_from():
    """Beside the means under the true law, a quarter at 1 and the rest at 0."""
    rng = np.random.default_rng(5)
    shares = (rng.random(4000) < 0.25).astype(float)
    seen = 4.0 * shares + rng.normal(size=4000)
    found = posterior_shares(seen, np.full(4000, 4.0), doubted=0.0, trusted=0.0)
    odds = np.exp(4.0 * seen - 4.0**2 / 2) / 3
    assert np.abs(found - odds / (1 + odds)).mean() < 0.03


def test_public_tables_and_equal_guesses_stay():
    rng = np.random.default_rng(6)
    model, guess = table(rng), table(rng)
    public = NoisyMarginal((0, 1), guess, 0.0)
    found = leaned([model, model], [guess, model], [public, measured(model, rng)], [0.0, 0.0])
    assert np.array_equal(found.shares, [0, 0])
    assert all(np.array_equal(one, model) for one in found.tables)
    assert leaned([], [], [], []).tables == []


def test_noise_of_groups_is_allowed_for():
    """Where groups are measured besides, what moves them is seen more sharply."""
    rng = np.random.default_rng(7)
    model, guess = table(rng), table(rng)
    cells = NoisyMarginal((0, 1), model, 0.05)
    groups = NoisyMarginal((0, 1), model, 0.05, Coarse((2, 2), 0.001))
    blurred, sharp = (leaned([model], [guess], [m], [0.0]).shares[0] for m in (cells, groups))
    assert sharp < blurred
