"""Refine a model's marginals by the measured ones: add what it cannot say and noise did not.

A model that explains all marginals together is too smooth for some. What is measured beyond it is
noise, dependence of a few cells (one category that goes with one other), or dependence of a few
directions (a slope). Two estimates take the noise out of a residual: cell by cell, and by its
singular values. Pairs get the mean of the two, whose squared error is at most the mean of theirs.
All tables that hold an attribute then get the same margin for it, which is known best: from all of
them.

Claim.   Without noise `refined` is the measured table. Its margins are the given ones, but for what
         forbidden cells leave nothing.
Source.  Jiang, Zhang (2009), "General maximum likelihood empirical Bayes estimation of normal
         means", Annals of Statistics 37(4), and Stephens (2017), "False discovery rates: a new
         deal", Biostatistics 18(2), for the cells; `shrinkage` for the singular values; Deming,
         Stephan (1940), "On a least squares adjustment of a sampled frequency table when the
         expected marginal totals are known", Annals of Mathematical Statistics 11(4), for the
         margins. Together they are ours; benchmarks/denoising.py has what they gain.
Oracle.  tests/mechanisms/marginals/generators/noise_aware/test_refinement.py has the posterior
         means of a known prior, noise alone, and the odds ratios that raking keeps.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mechanisms.marginals.evidence import Table
from mechanisms.marginals.generators.noise_aware.shrinkage import centred, onto_simplex, shrink

_EDGE = 6.0  # deviations of the noise: what is farther out is kept as it is
_MEANS = np.linspace(-_EDGE, _EDGE, 49)  # the prior's support
_SEEN = np.linspace(-_EDGE, _EDGE, 241)  # where the likelihood is tabulated
_LIKELIHOOD = np.exp(-0.5 * (_SEEN[:, None] - _MEANS) ** 2)
_NULL = len(_MEANS) // 2  # where the support is 0
_SILENT = 0.9  # share of cells without a signal, in the prior that the fit starts from
_SILENT_CELLS = 9.0  # counted with those of a table; not with a margin's, which strays everywhere
_STEPS = 50  # of expectation and maximisation
_TRACE = 1e-6  # of independence in a table to be raked: a row that lost its mass gets it back
_PASSES = 30  # over all margins


def posterior_means(observed: Table, sigma: float, *, silent: float = 0.0) -> Table:
    """Means of the cells behind `observed`, given that all are drawn from one unknown prior.

    Args:
        observed: any shape; white Gaussian noise of deviation `sigma`, in the same unit.
        silent: how many cells without a signal are counted with them, lest a small table's noise
            pass for its prior.

    The prior is the most likely one, by expectation and maximisation from one that is mostly 0;
    so a table of few signals is all but silenced elsewhere, and a table full of them is kept.
    """
    if sigma == 0:
        return observed
    z = observed / sigma
    near = np.abs(z) <= _EDGE
    if not near.any():
        return observed
    bins = np.rint((z[near] + _EDGE) / (_SEEN[1] - _SEEN[0])).astype(np.int64)
    counts = np.bincount(bins, minlength=len(_SEEN))
    prior = np.full(len(_MEANS), (1 - _SILENT) / len(_MEANS))
    prior[_NULL] += _SILENT
    for _ in range(_STEPS):
        prior = prior * ((counts / (_LIKELIHOOD @ prior)) @ _LIKELIHOOD)
        prior[_NULL] += silent
        prior /= prior.sum()
    posterior = (_LIKELIHOOD @ (prior * _MEANS)) / (_LIKELIHOOD @ prior)
    return np.asarray(sigma * np.where(near, np.interp(z, _SEEN, posterior), z))


def refined_margin(
    model: Table, measured: Table, sigma: float, allowed: NDArray[np.bool_]
) -> Table:
    """Probabilities of an attribute's cells: the model's, refined by what was measured of them.

    Args: as of `refined`; at least one cell is allowed.

    What noise or the model put into other cells plays no part, however much it is.
    """
    margin = np.zeros_like(model)
    found = model + posterior_means(measured - model, sigma)
    margin[allowed] = onto_simplex(found[allowed])
    return margin


def refined(
    model: Table,
    measured: Table,
    sigma: float,
    margins: Sequence[Table],
    allowed: NDArray[np.bool_],
) -> Table:
    """A probability table with the given margins, between the model's and the measured one.

    Args:
        model: probabilities, any shape.
        measured: unbiased, of the same shape; noise of deviation `sigma` in every cell. Where that
            is 0, the table is public and stays what it is.
        margins: of its attributes, in their order.
        allowed: cells that may hold records, of the same shape.
    """
    if sigma == 0:
        return _normalised(np.where(allowed, onto_simplex(measured), 0.0))
    start = raked(model, margins, allowed)
    residual = measured - start
    found = posterior_means(residual, sigma, silent=_SILENT_CELLS)
    if residual.ndim == 2:
        free = (residual.shape[0] - 1, residual.shape[1] - 1)
        found = (found + shrink(centred(residual), sigma, free=free)) / 2
    return raked(onto_simplex(start + found), margins, allowed)


def raked(table: Table, margins: Sequence[Table], allowed: NDArray[np.bool_]) -> Table:
    """The table scaled along every attribute in turn until its margins are the given ones.

    Its odds ratios stay, and its zeros where `allowed` is false; where these leave a cell of a
    margin nothing, that margin is missed.
    """
    independent = np.ones(())
    for margin in margins:
        independent = np.multiply.outer(independent, margin)
    scaled = np.where(allowed, (1 - _TRACE) * table + _TRACE * independent, 0.0)
    axes = range(scaled.ndim)
    for _ in range(_PASSES):
        for axis, margin in enumerate(margins):
            sums = scaled.sum(axis=tuple(other for other in axes if other != axis), keepdims=True)
            wanted = margin.reshape(sums.shape)
            scaled = scaled * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
    return _normalised(scaled)


def _normalised(table: Table) -> Table:
    mass = table.sum()
    return np.asarray(table / mass) if mass > 0 else table
