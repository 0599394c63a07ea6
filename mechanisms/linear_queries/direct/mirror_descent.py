"""Least squares over distributions, by accelerated entropic mirror descent.

Minimises f(D) = sum_j p_j ((F D)_j - y_j)^2 / 2 over the distributions on the support of a start.
With p the inverse variances of y, f is minus the logarithm of a likelihood: a gap of g means that
the solution is within sqrt(2 g) standard deviations of the best, all residuals taken together; of m
of them, within sqrt(2 g / m) in root mean square.

A step goes from D = (1 - theta) X + theta Z along the gradient in the logarithms of Z. Since f is
quadratic, the condition under which a step proves progress is an equality between numbers at hand,

    |F (X' - D)|_p^2 / 2  <=  theta^2 L KL(Z', Z),

and L is doubled until it holds, and lowered a little after. Where f rises, momentum is dropped.

Claim.   `Fit.gap` is at least f(D) - min f, whatever the iteration did: f is convex, so
         f(D) - f(D*) <= <grad f(D), D - D*> <= <grad f(D), D> - min grad f(D)_z
         over all z in the support.
Source.  Tseng (2008), "On accelerated proximal gradient methods for convex-concave optimization",
         Algorithm 1, with the step sizes of Scheinberg, Goldfarb, Bai (2014) and the restarts of
         O'Donoghue, Candes (2015). The gap is that of Jaggi (2013), ICML.
Oracle.  tests/mechanisms/linear_queries/direct/test_mirror_descent.py: a quadratic program.

Zero entries of the start stay zero. What F does not see is decided by the start: steps are along
F' alone, in logarithms.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.linear_queries.weights import tilted

Map = Callable[[Floats], Floats]

_LOWER = 0.9  # factor of L after a success
_CHECKED = 10  # steps between looks at the gap
_FIRST = 1e4  # by which the first L that is tried lies below the one that is always enough


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The problem.

    Attributes:
        forward, adjoint: F and its transpose.
        target: y, shape (rows,).
        precision: p >= 0, shape (rows,).
        curvature: no entry of F'pF is beyond it; sum p, where none of F is beyond [-1, 1].
    """

    forward: Map
    adjoint: Map
    target: Floats
    precision: Floats
    curvature: float

    def beside(self, other: "LeastSquares") -> "LeastSquares":
        """The sum of both: all rows, these first."""
        rows = len(self.target)
        return LeastSquares(
            lambda shares: np.concatenate([self.forward(shares), other.forward(shares)]),
            lambda values: self.adjoint(values[:rows]) + other.adjoint(values[rows:]),
            np.concatenate([self.target, other.target]),
            np.concatenate([self.precision, other.precision]),
            self.curvature + other.curvature,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """A solution and its evidence.

    Attributes:
        shares: D, nonnegative and summing to 1.
        loss: f(D).
        gap: f(D) is at most so much above the least value.
        steps: how many were taken.
        converged: whether the gap is as small as was asked.
    """

    shares: Floats
    loss: float
    gap: float
    steps: int
    converged: bool


def descend(
    task: LeastSquares,
    start: Floats,
    *,
    gap: float,
    steps: int,
    report: Callable[[float], None] = lambda share: None,
) -> Fit:
    """A distribution whose f is within `gap` of the least, or the last after so many `steps`.

    Args:
        start: a distribution.
        report: called with the share done.
    """
    p, y = task.precision, task.target

    def loss(image: Floats) -> float:
        return float(p @ (image - y) ** 2) / 2

    x = z = start
    fx = fz = task.forward(start)
    value = loss(fx)
    support = start > 0
    reached, best = _gap(task, x, fx, support), (x, fx)
    # This L is enough for any step, by Pinsker's inequality.
    most = max(task.curvature, np.finfo(np.float64).tiny)
    smooth, bent = most / _FIRST, 0.0  # L, and theta^2 L of the last step (0: none)
    done = 0
    while reached > gap and done < steps:
        smooth *= _LOWER
        while True:
            theta = 1.0 if bent == 0 else _theta(bent / smooth)
            mixed = (1 - theta) * fx + theta * fz
            slope = task.adjoint(p * (mixed - y))
            stepped = tilted(z, -slope / (theta * smooth))
            image = task.forward(stepped)
            moved = float(p @ (image - fz) ** 2) / 2  # D and X' differ by theta (Z' - Z)
            if smooth >= most or moved <= smooth * float(rel_entr(stepped, z).sum()):
                break
            smooth *= 2
        done += 1
        x, fx = (1 - theta) * x + theta * stepped, (1 - theta) * fx + theta * image
        z, fz, bent = stepped, image, theta**2 * smooth
        before, value = value, loss(fx)
        if value > before:
            z, fz, bent = x, fx, 0.0
        if done % _CHECKED == 0 or done == steps:
            now = _gap(task, x, fx, support)
            if now < reached:
                reached, best = now, (x, fx)
            report(done / steps)
    return Fit(
        shares=best[0] / best[0].sum(),
        loss=loss(best[1]),
        gap=reached,
        steps=done,
        converged=reached <= gap,
    )


def _gap(task: LeastSquares, shares: Floats, image: Floats, support: NDArray[np.bool_]) -> float:
    """The Frank-Wolfe gap within the support of the start."""
    slope = task.adjoint(task.precision * (image - task.target))
    return float(shares @ slope - slope.min(where=support, initial=np.inf))


def _theta(ratio: float) -> float:
    """The root in (0, 1) of theta^2 / (1 - theta) = ratio, where ratio = theta_0^2 L_0 / L."""
    return float((np.sqrt(ratio**2 + 4 * ratio) - ratio) / 2)
