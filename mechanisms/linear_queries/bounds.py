"""Bounds on the largest error of a query, as functions: what theory says before any data is read.

Dictionary. n: `records`; k, with `log_cells` its logarithm; |Q|: `signed`, queries and their
            negations; alpha: `smoothing`; T: `rounds`; w: `width`, the mean of the largest answer
            to standard normal noise on all cells; D_inf = 2; L = log(1/delta).
            `noise` is the scale of the Gumbel noise on a choice's scores, as a share of n.
Source.     Micali, Lezane, Betken (2025), Differentially private algorithms for linear queries via
            stochastic convex optimization, AISTATS: Theorems 1, 2, 3 and 5. Rates (Theorems 3, 5)
            have their unnamed constant set to 1. Theorem 1 is stated with the noise that is drawn,
            and a factor 4 on the noise, which is what its lemma gives for a range.
            MWEM: Hardt, Ligett, McSherry (2012), arXiv:1012.4763, Theorem 2.2. DualQuery: Gaboardi,
            Gallego Arias, Hsu, Roth, Wu (2014), arXiv:1402.1526, Theorem 4.2, its terms one by one.
            FEM: Vietri, Tian, Bun, Steinke, Wu (2020), arXiv:2007.05453, as MWEM's but for the
            regret of a perturbed leader.
Oracle.     tests/mechanisms/linear_queries/test_bounds.py: worked examples and exponents.

All bound the error on the records at hand, not on the population that they were drawn from.
"""

from fractions import Fraction
from math import log, sqrt

_DIAMETER = 2.0  # D_inf


def gap(smoothing: float, rounds: int, noise: float, signed: int) -> float:
    """Theorem 1: mean Frank-Wolfe gap of a uniformly chosen iterate."""
    optimisation = 2 * _DIAMETER**1.5 / sqrt(smoothing * rounds)
    return optimisation + 4 * noise * log(2 * signed)


def primal(smoothing: float, gap: float, log_cells: float) -> float:
    """Theorem 2: mean excess of the largest error over the least one, which is 0 here."""
    return gap + smoothing * log_cells


def frank_wolfe_rate(
    records: float, epsilon: float, delta: Fraction, signed: int, log_cells: float
) -> float:
    """Theorem 3, with its constant set to 1: at the paper's smoothing and rounds."""
    top = log(1 / delta) ** 0.2 * log(signed) ** 0.4 * log_cells**0.2
    return float(top / (epsilon * records) ** 0.4)


def mirror_descent_rate(
    records: float, epsilon: float, delta: Fraction, width: float, log_cells: float
) -> float:
    """Theorem 5, with its constant set to 1. Its condition on n is the caller's business."""
    top = width**0.5 * log_cells**0.25 * log(1 / delta) ** 0.25
    return float(top / (epsilon * records) ** 0.5)


def mwem(rounds: int, noise: float, deviation: float, signed: int, log_cells: float) -> float:
    """Theorem 2.2 of MWEM: the regret of multiplicative weights, and the noise of its rounds.

    Args:
        deviation: standard deviation of a measurement, as a share of n.
    """
    return (
        2 * sqrt(log_cells / rounds) + 2 * noise * log(signed) + deviation * sqrt(2 * log(rounds))
    )


def dual_query(
    rounds: int, samples: int, learning_rate: float, signed: int, log_cells: float
) -> float:
    """DualQuery: regret of the queries' player, and the error of sampled queries."""
    regret = learning_rate + log(signed) / (learning_rate * rounds)
    return regret + 2 * sqrt(2 * log_cells / samples)


def perturbed_leader(
    rounds: int, samples: int, noise: float, coordinates: int, signed: int
) -> float:
    """FEM: regret of a perturbed leader, sampling error of its records, and noise of choices."""
    regret = 2 * sqrt(coordinates / rounds)
    return regret + sqrt(2 * log(2 * signed) / (rounds * samples)) + 2 * noise * log(signed)
