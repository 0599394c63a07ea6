"""Constants of private Frank-Wolfe: ours, found by experiment, and the paper's, corrected.

Dictionary. alpha: `smoothing`; T: `rounds`; gamma: `step`; |Q|: `signed`, queries and their
            negations; k: `log_cells` is its logarithm; D_inf = 2, the diameter of the queries in
            the largest absolute value; L = log(1/delta).
Source.     Micali, Lezane, Betken (2025), Differentially private algorithms for linear queries via
            stochastic convex optimization, AISTATS, Algorithm 1 and equation (8). The number of
            rounds is corrected: its D is D_inf, as in the appendix, and log(2|Q|) stands outside
            of the root, where the bound that it minimises has it. The step may exceed 1 and is
            clipped; the number of rounds is no whole number, may be less than 1, or so large that
            choices are pure noise, and is clipped too.
Oracle.     tests/mechanisms/linear_queries/frank_wolfe/test_constants.py minimises the bound.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import floor, log, sqrt

from hallmark.mechanisms.linear_queries.settings import MOST_ROUNDS
from hallmark.mechanisms.privacy.budget import Budget

DIAMETER = 2.0  # D_inf
_FINE = 5000.0  # records times epsilon from which on the finer smoothing is better


def default_smoothing(scale: float) -> float:
    """alpha, where nothing is set; `scale` is records times epsilon."""
    return 0.02 if scale < _FINE else 0.01


def default_rounds(scale: float, *, pure: bool) -> int:
    """T, where nothing is set: fewer where epsilons add up."""
    if pure:
        return round(min(400.0, max(8.0, sqrt(scale))))
    return round(min(1500.0, max(100.0, scale / 10)))


def paper_smoothing(scale: float, delta: Fraction, signed: int, log_cells: float) -> float:
    """alpha*, which minimises the bounds of Theorems 1 and 2 together."""
    loss = log(1 / delta)
    return float(loss**0.2 * log(signed) ** 0.4 / (scale**0.4 * log_cells**0.8))


def paper_rounds(scale: float, delta: Fraction, signed: int, smoothing: float) -> float:
    """T*, before it is clipped."""
    root = sqrt(32 * smoothing * log(1 / delta))
    return DIAMETER**1.5 * scale / (root * log(2 * signed))


def clipped_rounds(rounds: float) -> int:
    """The nearest whole number that makes sense."""
    return round(min(max(rounds, 1.0), float(MOST_ROUNDS)))


def noted(rounds: float) -> Mapping[str, str]:
    """What is said of a number of rounds by the paper's rule that was clipped."""
    if rounds < 1:
        return {
            "note": "the paper's rule gives less than one round, as the budget tells too little of "
            "so few records: one is taken"
        }
    if rounds > MOST_ROUNDS:
        return {
            "note": f"the paper's rule gives {rounds:,.0f} rounds; {MOST_ROUNDS:,} are taken, as "
            "every further one leaves all of them less of the budget"
        }
    return {}


def step(smoothing: float, rounds: int) -> float:
    """gamma*, at most 1."""
    return min(1.0, 2 * sqrt(smoothing / (rounds * DIAMETER)))


def paper_epsilon(budget: Budget, rounds: int, span: Fraction, largest_sum: Fraction) -> Fraction:
    """Epsilon of a choice whose noise has the scale that the paper prints.

    That scale is D_1 over eps' = epsilon / (4 sqrt(2 T L)), where D_1, twice the largest sum of a
    query's absolute values over all cells, stands for the sensitivity. A choice has Gumbel noise of
    scale 2 sensitivity / epsilon, so its epsilon is 2 sensitivity eps' / D_1.

    Args:
        span: the sensitivity of the queries, in their own scale.
        largest_sum: of a query's absolute values over all cells.
    Returns:
        Rounded down; 0 where not even 2^-60 is left.
    """
    exact = float(budget.epsilon) / (4 * sqrt(2 * rounds * log(1 / budget.delta)))
    return Fraction(floor(exact * float(span / largest_sum) * 2**60), 2**60)
