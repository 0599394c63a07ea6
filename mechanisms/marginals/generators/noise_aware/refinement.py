"""Refine a model's marginals by the measured ones: add what it cannot say and noise did not.

A model that explains all marginals together is too smooth for some. What is measured beyond it is
noise, dependence of a few cells (one category that goes with one other), or dependence of a few
directions. One direction is known beforehand: along the codes, where a table is off by its mean or
its covariance. That is one number, which the noise of many cells hides less than it hides a cell,
and all tables together tell how large such numbers are; it is corrected first. Two estimates then
take the noise out of what is left: cell by cell, and by its singular values. Pairs get the mean of
the two, whose squared error is at most the mean of theirs, or the one that is clearly better. All
tables that hold an attribute get the same margin for it, which is known best: from all of them.

Claim.   Without noise a refined table is the measured one. Its margins are the given ones, but for
         what forbidden cells leave nothing.
Source.  Jiang, Zhang (2009), "General maximum likelihood empirical Bayes estimation of normal
         means", Annals of Statistics 37(4), and Stephens (2017), "False discovery rates: a new
         deal", Biostatistics 18(2), for cells and numbers; `shrinkage` for the singular values;
         Deming, Stephan (1940), "On a least squares adjustment of a sampled frequency table when
         the expected marginal totals are known", Annals of Mathematical Statistics 11(4), for the
         margins; Stein (1981), "Estimation of the mean of a multivariate normal distribution",
         Annals of Statistics 9(6), for the choice. Together they are ours; benchmarks/denoising.py
         has what they gain.
Oracle.  tests/mechanisms/marginals/generators/noise_aware/test_refinement.py has the posterior
         means of a known prior, risks beside true ones, noise alone, and the odds ratios that
         raking keeps.
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.geometry.simplex import onto_simplex
from hallmark.mechanisms.marginals.cell_groups import merge, moved_to, spread
from hallmark.mechanisms.marginals.evidence import NoisyMarginal
from hallmark.mechanisms.marginals.generators.noise_aware.shrinkage import (
    Estimate,
    centred,
    shrink,
)

SILENT = 9.0  # null signals counted with those of pairs; margins stray from the model everywhere

_EDGE = 6.0  # deviations of the noise: what is farther out is kept as it is
_MEANS = np.linspace(-_EDGE, _EDGE, 49)  # the prior's support
_SEEN = np.linspace(-_EDGE, _EDGE, 241)  # where the likelihood is tabulated
_LIKELIHOOD = np.exp(-0.5 * (_SEEN[:, None] - _MEANS) ** 2)
_NULL = len(_MEANS) // 2  # where the support is 0
_SILENT = 0.9  # share of cells without a signal, in the prior that the fit starts from
_CLEARLY = (
    10.0  # how much less one estimate's risk must be than the mean's, in squares of the noise
)
_STEPS = 50  # of expectation and maximisation
_TRACE = 1e-6  # of independence in a table to be raked: a row that lost its mass gets it back
_LEAST = 1e-300  # of a likelihood: more than none
_PASSES = 30  # over all margins
_MET = 1e-9  # of a margin's entries: how far off it may be, relative to them


def posterior_means(observed: Table, sigma: float, *, silent: float = 0.0) -> Estimate:
    """Means of the cells behind `observed`, given that all are drawn from one unknown prior.

    Args:
        observed: any shape; white Gaussian noise of deviation `sigma`, in the same unit.
        silent: how many cells without a signal are counted with them, lest a small table's noise
            pass for its prior.

    The prior is the most likely one, by expectation and maximisation from one that is mostly 0;
    so a table of few signals is all but silenced elsewhere, and a table full of them is kept.
    """
    (estimate,) = posterior_means_of_each([observed], [sigma], silent=silent)
    return estimate


def posterior_means_of_each(
    observed: Sequence[Table], sigmas: Sequence[float], *, silent: float = 0.0
) -> list[Estimate]:
    """`posterior_means` of every table, each with a prior of its own."""
    counts = np.zeros((len(observed), len(_SEEN)))
    step = _SEEN[1] - _SEEN[0]
    for row, table, sigma in zip(counts, observed, sigmas, strict=True):
        z = table[np.abs(table) <= _EDGE * sigma] / (sigma or 1.0)
        row += np.bincount(np.rint((z + _EDGE) / step).astype(np.int64), minlength=len(_SEEN))
    prior = np.full((len(observed), len(_MEANS)), (1 - _SILENT) / len(_MEANS))
    prior[:, _NULL] += _SILENT
    for _ in range(_STEPS):
        prior *= (counts / np.maximum(prior @ _LIKELIHOOD.T, _LEAST)) @ _LIKELIHOOD
        prior[:, _NULL] += silent
        prior /= np.maximum(prior.sum(axis=1, keepdims=True), _LEAST)
    evidence = np.maximum(prior @ _LIKELIHOOD.T, _LEAST)
    means = (prior * _MEANS) @ _LIKELIHOOD.T / evidence
    variances = (prior * _MEANS**2) @ _LIKELIHOOD.T / evidence - means**2  # the means' derivatives
    return [
        _shrunk(table, sigma, mean, variance)
        for table, sigma, mean, variance in zip(observed, sigmas, means, variances, strict=True)
    ]


def _shrunk(observed: Table, sigma: float, means: Table, variances: Table) -> Estimate:
    """The table with cells near 0 at their means, as tabulated over `_SEEN`."""
    if sigma == 0:
        return Estimate(observed, float(observed.size))
    z = observed / sigma
    near = np.abs(z) <= _EDGE
    if not near.any():
        return Estimate(observed, float(observed.size))
    found = np.where(near, np.interp(z, _SEEN, means), z)
    freedom = np.where(near, np.interp(z, _SEEN, variances), 1.0).sum()
    return Estimate(np.asarray(sigma * found), float(freedom))


def tilted(
    tables: Sequence[Table], measured: Sequence[NoisyMarginal], *, silent: float = 0.0
) -> list[Table]:
    """The tables, with means (of one attribute) or covariances (of two) nearer to measured ones.

    Args:
        tables: probabilities.
        measured: of the same shapes, in shares; a public one leaves its table as it is.
        silent: as of `posterior_means`, in tables.

    A table moves along the product of its attributes' centred codes. How far is measured with
    noise; it moves by the posterior mean, given that the distances of all tables have one prior.
    (Codes of categories without an order are a direction like any other, right but of less use.)
    """
    noisy = [i for i, marginal in enumerate(measured) if marginal.sigma > 0]
    slopes = [_slope(tables[i].shape) for i in noisy]
    sigmas = [measured[i].deviation(slope) or 1.0 for i, slope in zip(noisy, slopes, strict=True)]
    distances = [
        float((slope * (measured[i].counts - tables[i])).sum()) / sigma
        for i, slope, sigma in zip(noisy, slopes, sigmas, strict=True)
    ]
    means = posterior_means(np.array(distances), 1.0, silent=silent).table
    found = list(tables)
    for i, slope, sigma, mean in zip(noisy, slopes, sigmas, means, strict=True):
        found[i] = onto_simplex(tables[i] + mean * sigma * slope)
    return found


def _slope(shape: tuple[int, ...]) -> Table:
    """Product of all attributes' centred codes, of length 1; 0 where one has a single cell."""
    codes = [np.arange(k, dtype=np.float64) - (k - 1) / 2 for k in shape]
    return _product([line / (float(np.linalg.norm(line)) or 1.0) for line in codes])


def refined_margin(model: Table, measured: NoisyMarginal, allowed: NDArray[np.bool_]) -> Table:
    """Probabilities of an attribute's cells: the model's, refined by what was measured of them.

    Args: as of `refined_each`; at least one cell is allowed.

    What noise or the model put into other cells plays no part, however much it is.
    """
    margin = np.zeros_like(model)
    start = _regrouped([model], [measured])[0] if measured.coarse else model
    found = posterior_means(measured.counts - start, measured.sigma).table
    if measured.coarse:  # the sums of groups are known better than what cells add to them
        sizes = measured.coarse.sizes
        found = moved_to(found, np.zeros(sizes), sizes)
    margin[allowed] = onto_simplex((start + found)[allowed])
    return margin


def refined_each(
    models: Sequence[Table],
    measured: Sequence[NoisyMarginal],
    margins: Sequence[Sequence[Table]],
    allowed: Sequence[NDArray[np.bool_]],
) -> list[Table]:
    """Probability tables with the given margins, between the models' and the measured ones.

    Args:
        models: probabilities, any shapes.
        measured: of the same shapes, in shares. A public one stays what it is.
        margins: of each table's attributes, in their order.
        allowed: cells that may hold records, of the same shapes.
    """
    tables = [
        _normalised(np.where(may, onto_simplex(marginal.counts), 0.0))
        for marginal, may in zip(measured, allowed, strict=True)
    ]
    noisy = [i for i, marginal in enumerate(measured) if marginal.sigma > 0]
    starts = {i: raked(models[i], margins[i], allowed[i]) for i in noisy}
    grouped = [i for i in noisy if measured[i].coarse]
    for i, start in zip(
        grouped,
        _regrouped([starts[i] for i in grouped], [measured[i] for i in grouped]),
        strict=True,
    ):
        starts[i] = raked(start, margins[i], allowed[i])
    residuals = [measured[i].counts - starts[i] for i in noisy]
    found = _found(residuals, [measured[i].sigma for i in noisy])
    for i, signal in zip(noisy, found, strict=True):
        tables[i] = raked(onto_simplex(starts[i] + signal), margins[i], allowed[i])
    return tables


def _regrouped(models: Sequence[Table], measured: Sequence[NoisyMarginal]) -> list[Table]:
    """The models scaled group by group, so that the groups' sums are refined by measured ones."""
    groups = [marginal.grouped() for marginal in measured]
    sums = [merge(m, g.counts.shape) for m, g in zip(models, groups, strict=True)]
    residuals = [g.counts - s for g, s in zip(groups, sums, strict=True)]
    found = _found(residuals, [g.sigma for g in groups])
    scaled = []
    for model, own, signal in zip(models, sums, found, strict=True):
        wanted = onto_simplex(own + signal)
        factors = np.divide(wanted, own, out=np.ones_like(own), where=own > 0)
        scaled.append(_normalised(model * spread(factors, model.shape)))
    return scaled


def _found(residuals: Sequence[Table], sigmas: Sequence[float]) -> list[Table]:
    """What noise of these deviations did not put there."""
    estimates = posterior_means_of_each(residuals, sigmas, silent=SILENT)
    return [
        cells.table if residual.ndim != 2 else _of_pair(residual, sigma, cells)
        for residual, sigma, cells in zip(residuals, sigmas, estimates, strict=True)
    ]


def _of_pair(residual: Table, sigma: float, cells: Estimate) -> Table:
    """The means of the cells joined with what the singular values tell."""
    free = (residual.shape[0] - 1, residual.shape[1] - 1)
    return _joined(residual, sigma, cells, shrink(centred(residual), sigma, free=free)).table


def _joined(noisy: Table, sigma: float, one: Estimate, other: Estimate) -> Estimate:
    """The mean of two estimates, or the one of them whose risk is clearly less."""

    def risk(estimate: Estimate) -> float:
        """Stein's, but for a constant, in squares of the noise. It comes out a little low: the
        prior of the cells is fitted to them, and kept lengths jump where noise's end."""
        misfit = np.square(noisy - estimate.table).sum()
        return float(misfit / sigma**2 + 2 * estimate.freedom)

    mean = Estimate((one.table + other.table) / 2, (one.freedom + other.freedom) / 2)
    best = min(one, other, key=risk)
    return best if risk(best) < risk(mean) - _CLEARLY else mean


def raked(table: Table, margins: Sequence[Table], allowed: NDArray[np.bool_]) -> Table:
    """The table scaled along every attribute in turn until its margins are the given ones.

    Its odds ratios stay, and its zeros where `allowed` is false; where these leave a cell of a
    margin nothing, that margin is missed.
    """
    scaled = np.where(allowed, (1 - _TRACE) * table + _TRACE * _product(margins), 0.0)
    axes = range(scaled.ndim)
    for _ in range(_PASSES):
        moved = 0.0
        for axis, margin in enumerate(margins):
            sums = scaled.sum(axis=tuple(other for other in axes if other != axis), keepdims=True)
            wanted = margin.reshape(sums.shape)
            factors = np.divide(wanted, sums, out=np.ones_like(sums), where=sums > 0)
            scaled *= factors
            moved = max(moved, float(np.abs(factors - 1).max()))
        if moved < _MET:
            break
    return _normalised(scaled)


def _product(lines: Sequence[Table]) -> Table:
    """The table of which every cell is the product of its lines' entries."""
    return np.asarray(reduce(np.multiply.outer, lines, np.ones(())))


def _normalised(table: Table) -> Table:
    mass = table.sum()
    return np.asarray(table / mass) if mass > 0 else table
