"""How well integer draws fit a law, for the tests of noise."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

LogWeight = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@pytest.fixture
def goodness_of_fit() -> Callable[[NDArray[np.int64], LogWeight], float]:
    """p-value of Pearson's test of integer draws against weights proportional to exp(log_weight).

    Bins with fewer than 20 expected draws are pooled with their neighbours towards the tails, so
    that the chi-square law is accurate far into its own tail.
    """

    def p_value(draws: NDArray[np.int64], log_weight: LogWeight) -> float:
        support = np.arange(-3000, 3001)
        weights = np.exp(log_weight(support))
        expected = draws.size * weights / weights.sum()
        core = np.flatnonzero(expected >= 20)
        edges = np.concatenate([[-np.inf], support[core][1:] - 0.5, [np.inf]])
        observed = np.histogram(draws, edges)[0]
        pooled = np.histogram(support, edges, weights=expected)[0]
        return float(chisquare(observed, pooled * observed.sum() / pooled.sum()).pvalue)

    return p_value
