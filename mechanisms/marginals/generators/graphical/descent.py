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
         the most entropy (if the start is uniform).
Source.  McKenna, Sheldon, Miklau (2019), "Graphical-model based estimation and inference for
         differential privacy", ICML, Algorithm 1, for mirror descent on this loss. Implicit
         (proximal) steps with inexact Newton solutions are ours.
Oracle.  tests/mechanisms/marginals/generators/graphical/test_descent.py minimises over the whole
         joint with a general solver.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mechanisms.marginals.evidence import Table
from mechanisms.marginals.generators.graphical.propagation import Calibrated, Propagation

_GROWTH = 3.0  # of the step after a success
_SHORTER = 0.25  # of a step that did not lower the loss, at most so often:
_SHORTENINGS = 4
_SOLUTIONS = 30  # steps of conjugate gradients, at most
_TOLERANCE = 0.4  # of conjugate gradients, relative
_UP, _DOWN = 5.0, 30.0  # a potential moves by no more in one step, so that the linear r is of use
# The fit ends when so many steps in a row lower the mean squared residual by less, in variances.
_IDLE, _ENOUGH = 3, 1e-5
_LEAST = 1e-8  # times the largest weight: a smaller step moves no potential by as much as this


@dataclass(frozen=True, eq=False)
class Fit:
    """Potentials, what they mean, and how they were found.

    Attributes:
        losses: mean squared residual of all measured cells, in variances, before the first step
            and after every one.
        passes: runs of inference that it took.
        size: of the step that would come next; a later fit may start with it.
    """

    potentials: list[Table]
    calibrated: Calibrated
    losses: list[float]
    passes: int
    size: float


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
        size: of the first step; without it, one that is safe from any start.
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
    losses, used, idle = [now.loss], 1, 0
    if not targets:
        return Fit(now.potentials, now.calibrated, losses, used, 1.0)
    size = 2.0 / max(weights) if size is None else size
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
        if share == 1:
            idle = idle + 1 if now.loss - there.loss < _ENOUGH else 0
        if there.loss < now.loss:
            now = there
            losses.append(now.loss)
        size *= _GROWTH if share == 1 else share
        report(min(used / passes, 1.0))
    return Fit(now.potentials, now.calibrated, losses, used, size)


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
