"""Between (epsilon, delta) and zero-concentrated differential privacy, as the peers count.

Claim.   rho-zCDP implies (`epsilon(rho, delta)`, delta)-DP, and `rho(epsilon, delta)` is the
         largest rho of which that says no more than epsilon, to 13 digits.
Source.  Canonne, Kamath, Steinke (2020), arXiv:2004.00010, Corollary 13.
Oracle.  tests/benchmarks/comparison/test_zcdp.py: the house's own accountant.

It needs the standard library alone, since drivers run it in the environments of the peers.
"""

from math import exp, log, log1p

_GOLDEN = (5**0.5 - 1) / 2


def epsilon(rho: float, delta: float) -> float:
    """Least epsilon that Corollary 13 proves; every order gives a bound, the best is searched."""
    if rho == 0:
        return 0.0

    def bound(log_above: float) -> float:
        above = exp(log_above)  # the order less one
        order = 1 + above
        return rho * order - (log(delta) + log(order)) / above - log1p(1 / above)

    low, high = -12.0, 25.0
    while high - low > 1e-9:
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return max(0.0, bound((low + high) / 2))


def rho(budget: float, delta: float) -> float:
    """Largest rho that a budget of epsilon = `budget` pays for."""
    low, high = 0.0, budget + 1
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon(middle, delta) <= budget else (low, middle)
    return low
