"""A peer that protects one neighbouring relation, run so that it protects the other.

Claim.   A mechanism of Gaussian noise and choices by the exponential mechanism on L1 misfits,
         calibrated for a record that is added or removed, with share g of its rho spent on noise,
         costs at most (4 - 2 g) times as much zCDP where a record may be replaced. So with
         epsilon' of rho(epsilon') = rho(epsilon) / (4 - 2 g), it is (epsilon, delta)-DP there.
Proof.   Replacing moves two cells of a marginal by one each: squared L2 sensitivity 2 in place of
         1, and Gaussian noise costs Delta^2 / (2 sigma^2), so twice as much. A misfit
         |h - reference|_1 moves by up to 2 in place of 1; the mechanism that takes its sensitivity
         for 1 has in truth twice the epsilon, and costs epsilon^2 / 8, so four times as much.
         2 g + 4 (1 - g) = 4 - 2 g. All peers convert rho by the same corollary (`peers.zcdp`).
Oracle.  tests/benchmarks/comparison/test_relations.py: the house's events and accountant.

Exact where g is fixed, as for MST (2/3: the factor is 8/3). AIM spends at least 9/10 on noise, so
11/5 is an upper bound, and its converted runs spend slightly less than they may. Mechanisms whose
sensitivities have no proof, such as those of mutual information, are not converted.
"""

from fractions import Fraction

from benchmarks.comparison.peers import zcdp

ADD_REMOVE, REPLACE_ONE = "add_remove", "replace_one"


def replacement_cost(noise_share: Fraction) -> Fraction:
    """zCDP at replace-one relative to that at add-or-remove, by the share spent on noise."""
    if not 0 <= noise_share <= 1:
        raise ValueError(f"a share of the budget lies in [0, 1], not {noise_share}")
    return 4 - 2 * noise_share


def converted_epsilon(epsilon: float, delta: float, noise_share: Fraction) -> float:
    """What to ask of a peer at add-or-remove, for (epsilon, delta) at replace-one."""
    rho = zcdp.rho(epsilon, delta)
    return zcdp.epsilon(rho / float(replacement_cost(noise_share)), delta)
