"""Covariances of noise and fits: the trace of linear fits."""

import numpy as np

from hallmark.mechanisms.marginals.generators.noise_aware.covariances import Covariances

CLIQUE = (0, 1)
SHAPE = (4, 5)


def estimated(matrix: np.ndarray, fits: int, *, step: float = 0.3, sigma: float = 2.0) -> float:
    """Of the fit matrix @ table, to a table far from 0."""
    rng = np.random.default_rng(1)
    measured = 100 + rng.normal(size=SHAPE)
    found = Covariances(step)
    for _ in range(fits):
        noise = sigma * rng.normal(size=SHAPE)
        fitted = (matrix @ (measured + step * noise).ravel()).reshape(SHAPE)
        found.add({CLIQUE: noise}, {CLIQUE: fitted}.__getitem__)
    return found.by_clique[CLIQUE]


def test_a_linear_fit_has_its_trace():
    """Within four standard deviations of the mean over 2,000 fits: 1 false alarm in 16,000."""
    cells = int(np.prod(SHAPE))
    matrix = np.random.default_rng(2).normal(size=(cells, cells)) / cells
    matrix += 0.3 * np.eye(cells)
    spread = 4.0 * np.sqrt(2 * np.square((matrix + matrix.T) / 2).sum() / 2000)
    assert abs(estimated(matrix, 2000) - 4.0 * np.trace(matrix)) < 4 * spread


def test_few_fits_are_not_led_astray_by_what_they_have_in_common():
    """The measured table itself, which is far from 0, cancels."""
    assert abs(estimated(np.eye(20), 12) - 80) < 40
    assert estimated(np.zeros((20, 20)), 12) == 0


def test_one_fit_tells_nothing():
    found = Covariances(0.3)
    found.add({CLIQUE: np.ones(SHAPE)}, lambda clique: np.ones(SHAPE))
    assert found.by_clique == {}
