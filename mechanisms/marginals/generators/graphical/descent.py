"""Fit potentials to noisy marginals: mirror descent with implicit steps.

The loss is half the squared residuals of all measured cells in units of their standard deviations.
Mirror descent moves the potentials against its gradient in the marginals, theta - a W r(theta),
with residuals r (probabilities) and weights W = (total / sigma)^2. Cells of little probability
creep then, since they answer to a change of potential in proportion to their probability. So the
step is taken implicitly, theta' = theta - a W r(theta'), with r linear about theta: the predicted
residuals v solve (W/a + W J W) v = W r, where J are the covariances of the cells, which
`Propagation.response` applies. Conjugate gradients solve it to a rough tolerance. A step that does
not lower the loss is shortened; `a` grows while steps succeed.

Claim.   The loss never rises, and the potentials stay in the exponential family of the measured
         cliques over their start: of all distributions with the fitted marginals, the model has
         the most entropy (if the start is uniform). No distribution has a loss that is lower by
         more than `Fit.excess`.
Proof.   Of the excess. Let f(m) = sum w (m - t)^2 be the loss without its divisor, g its gradient
         at m, and G = g m - min g s over all records s, the gap of Frank and Wolfe. For any c,
         2 c w r (m' - t) - c^2 w r^2 <= w (m' - t)^2, cell by cell with r = m - t, so that every
         distribution m' has f(m') >= c (2 f - G) - c^2 f. The best c in [0, 1] leaves at most
         G - G^2 / 4f between f and the least value, and f itself where G >= 2 f.
Source.  McKenna, Sheldon, Miklau (2019), "Graphical-model based estimation and inference for
         differential privacy", ICML, Algorithm 1, for mirror descent on this loss. Implicit
         (proximal) steps with inexact Newton solutions are ours. Jaggi (2013), ICML, for the gap.
Oracle.  tests/mechanisms/marginals/generators/graphical/test_descent.py minimises over the whole
         joint with a general solver.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.graphical_models.propagation import Calibrated, Propagation

_GROWTH = 3.0  # of the step after a success
_SHORTER = 0.25  # of a step that did not lower the loss, at most so often:
_SHORTENINGS = 4
_SOLUTIONS = 30  # steps of conjugate gradients, at most
_TOLERANCE = 0.4  # of conjugate gradients, relative
_UP, _DOWN = 5.0, 30.0  # a potential moves by no more in one step, so that the linear r is of use
# The fit ends when so many steps in a row lower the mean squared residual by less, in variances.
_IDLE, _ENOUGH = 3, 1e-5
_LEAST = 1e-8  # times the largest weight: a smaller step moves no potential by as much as this
_SAFE = 2.0  # over the largest weight: a first step from any start
_CLOSE = 0.1  # variances: a fit is done where no other has a mean squared residual lower by more
# A fit that stands has failed if it may be further off than this, in variances (noise itself leaves
# 1, more or less), and than this part of its loss, which stays large where targets contradict each
# other. A start that no step leaves is hundreds off: refusing a sound release would be worse than
# missing a fit that is off by a few times the noise.
_FAR, _PART = 10.0, 0.5


@dataclass(frozen=True, eq=False)
class Fit:
    """Potentials, what they mean, and how they were found.

    Attributes:
        losses: mean squared residual of all measured cells, in variances, before the first step
            and after every one.
        excess: the last of them is at most so much above that of any other distribution.
        passes: runs of inference that it took.
        stands: whether it ended by itself, or its last step brought nothing.
        size: of the step that would come next; a later fit may start with it.
    """

    potentials: list[Table]
    calibrated: Calibrated
    losses: list[float]
    excess: float
    passes: int
    stands: bool
    size: float

    @property
    def converged(self) -> bool:
        """Whether the solution is proved to be optimal."""
        return self.excess <= _CLOSE

    @property
    def stalled(self) -> bool:
        """Whether the search gave up without proof of an optimum."""
        return self.stands and not self.excess <= max(_FAR, _PART * self.losses[-1])


@dataclass(frozen=True, eq=False)
class _Point:
    potentials: list[Table]
    calibrated: Calibrated
    marginals: list[Table]
    residuals: list[Table]
    loss: float


def descend(
    propagation: Propagation,
    targets: Sequence[Table],
    weights: Sequence[float],
    start: Sequence[Table],
    *,
    passes: int,
    size: float | None = None,
    report: Callable[[float], None] = lambda share: None,
) -> Fit:
    """Potentials that lower the loss from `start` in at most about `passes` runs of inference.

    Args:
        targets: noisy probabilities of the propagation's cliques.
        weights: inverse variances of their cells.
        start: potentials, not changed.
        size: of the first step, where it is larger than one that is safe from any start: an earlier
            fit, which ended where no step helped, says nothing of other targets.
        report: called with the share done.
    """
    cells = sum(target.size for target in targets)

    def point(potentials: list[Table]) -> _Point:
        calibrated = propagation.calibrate(potentials)
        marginals = propagation.marginals(calibrated)
        residuals = [m - t for m, t in zip(marginals, targets, strict=True)]
        loss = sum(w * _dot(r, r) for w, r in zip(weights, residuals, strict=True))
        return _Point(potentials, calibrated, marginals, residuals, loss / max(cells, 1))

    now = point([potential.copy() for potential in start])
    losses, used, idle, gained = [now.loss], 1, 0, np.inf
    if not targets:
        return Fit(now.potentials, now.calibrated, losses, 0.0, used, True, 1.0)
    size = max(_SAFE / max(weights), size or 0.0)
    while used < passes and idle < _IDLE and size * max(weights) > _LEAST:
        move, solved = _implicit_step(propagation, now, weights, size)
        used += solved
        share = 1.0
        for _ in range(_SHORTENINGS):
            there = point([p + share * m for p, m in zip(now.potentials, move, strict=True)])
            used += 1
            if there.loss < now.loss:
                break
            share *= _SHORTER
        gained = now.loss - there.loss
        if share == 1:
            idle = idle + 1 if gained < _ENOUGH else 0
        if there.loss < now.loss:
            now = there
            losses.append(now.loss)
        size *= _GROWTH if share == 1 else share
        report(min(used / passes, 1.0))
    excess = _excess(propagation, now, weights) / cells
    stands = used < passes or not gained >= _ENOUGH
    return Fit(now.potentials, now.calibrated, losses, excess, used, stands, size)


def _excess(propagation: Propagation, now: _Point, weights: Sequence[float]) -> float:
    """How much lower the sum of weighted squares may be, see the claim."""
    slopes = [2 * w * r for w, r in zip(weights, now.residuals, strict=True)]
    gap = _dots(slopes, now.marginals) + propagation.highest([-slope for slope in slopes])
    value = sum(w * _dot(r, r) for w, r in zip(weights, now.residuals, strict=True))
    return value if gap >= 2 * value else max(gap, 0.0) * (1 - gap / (4 * value))


def _implicit_step(
    propagation: Propagation, now: _Point, weights: Sequence[float], size: float
) -> tuple[list[Table], int]:
    """Move of the potentials, and the number of runs of inference it took.

    Conjugate gradients end when the move W v is near the solution in the norm of J, the one that
    the marginals feel: each step lowers the squared error by its length times its height, and what
    the last two steps did stands for what is missing.
    """
    scale = [w / size + w * w * m for w, m in zip(weights, now.marginals, strict=True)]
    residual = [w * r for w, r in zip(weights, now.residuals, strict=True)]
    found = [np.zeros_like(r) for r in residual]
    felt = [np.zeros_like(r) for r in residual]  # J W v: the change of the marginals
    direction = [r / s for r, s in zip(residual, scale, strict=True)]
    height = _dots(residual, direction)
    solved, before = 0, np.inf
    while solved < _SOLUTIONS:
        weighted = [w * d for w, d in zip(weights, direction, strict=True)]
        change = propagation.response(now.calibrated, weighted)
        solved += 1
        image = [w * c + d / size for w, c, d in zip(weights, change, weighted, strict=True)]
        steep = _dots(direction, image)
        if not steep > 0:
            break
        step = height / steep
        for f, g, r, d, c, y in zip(found, felt, residual, direction, change, image, strict=True):
            f += step * d
            g += step * c
            r -= step * y
        length = sum(w * _dot(f, g) for w, f, g in zip(weights, found, felt, strict=True))
        gained = step * height
        if before + gained <= _TOLERANCE**2 * length:
            break
        before = gained
        scaled = [r / s for r, s in zip(residual, scale, strict=True)]
        height, last = _dots(residual, scaled), height
        direction = [z + height / last * d for z, d in zip(scaled, direction, strict=True)]
    move = [np.clip(-w * f, -_DOWN, _UP) for w, f in zip(weights, found, strict=True)]
    return move, solved


def _dot(a: Table, b: Table) -> float:
    return float(np.vdot(a, b))


def _dots(a: Sequence[Table], b: Sequence[Table]) -> float:
    return sum(_dot(x, y) for x, y in zip(a, b, strict=True))
