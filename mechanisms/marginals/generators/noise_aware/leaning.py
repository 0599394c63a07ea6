"""Lean the tables of a model towards other guesses of them, as far as the measured ones tell.

A model that was fitted to noisy tables follows their noise to some extent. Other guesses do not:
the product of a pair's margins, which is right where columns have nothing to do with each other,
or a public table. Of what lies between the two,

    model + share (guess - model),

the measured table tells the best share: it is how far that table lies in this direction, in the
noise of one number. Since the model has part of this noise, too, the number is corrected by their
covariance. Noise hides the share of a table the more, the closer model and guess are; so shares of
all tables are taken to be drawn from one unknown law, the most likely one.

Claim.   Where no table lies towards its guess, shares tend to 0 as the guesses move away: a wrong
         guess does no harm. Where model and guess can't be told apart, shares are the usual ones.
Source.  Stein (1981), "Estimation of the mean of a multivariate normal distribution", Annals of
         Statistics 9(6), for the share of least risk; Green, Strawderman (1991), "A James-Stein
         type estimator for combining unbiased and possibly biased estimators", JASA 86(416), for
         leaning towards a biased guess; Jiang, Zhang (2009), "General maximum likelihood empirical
         Bayes estimation of normal means", Annals of Statistics 37(4), for the unknown law.
         `covariances` for the correction. Together they are ours.
Oracle.  tests/mechanisms/marginals/generators/noise_aware/test_leaning.py: known shares, guesses
         that are right and that are wrong, risks beside those of the best share.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import Floats, Table
from hallmark.mechanisms.marginals.evidence import NoisyMarginal

_SHARES = np.linspace(0.0, 1.0, 21)  # the law's support
_STEPS = 100  # of expectation and maximisation
_LEAST = 1e-300  # of a likelihood: more than none


@dataclass(frozen=True, eq=False)
class Leaned:
    """Tables between two guesses.

    Attributes:
        tables: in the order of the models.
        shares: of the other guess in each, from 0 to 1; 0 where nothing tells.
    """

    tables: list[Table]
    shares: Floats


def leaned(
    models: Sequence[Table],
    guesses: Sequence[Table],
    measured: Sequence[NoisyMarginal],
    covariances: Sequence[float],
    *,
    doubted: float = 0.0,
    trusted: float = 0.0,
) -> Leaned:
    """The models, each moved towards its guess by the posterior mean of its share.

    Args:
        models: probabilities.
        guesses: of the same shapes; independent of the noise.
        measured: of the same shapes, in shares; a public one leaves its model as it is.
        covariances: of the noise of each with its model, summed over cells.
        doubted, trusted: how many tables are counted besides that lie at their model, or at their
            guess: what is believed before anything is seen.
    """
    seen, slopes, noisy = [], [], []
    for i, (model, guess, marginal) in enumerate(zip(models, guesses, measured, strict=True)):
        direction = guess - model
        deviation = marginal.deviation(direction) if marginal.sigma else 0.0
        if deviation > 0:
            along = float(np.vdot(marginal.counts - model, direction)) + covariances[i]
            seen.append(along / deviation)
            slopes.append(float(np.vdot(direction, direction)) / deviation)
            noisy.append(i)
    shares = np.zeros(len(models))
    if noisy:
        shares[noisy] = posterior_shares(
            np.array(seen), np.array(slopes), doubted=doubted, trusted=trusted
        )
    tables = [
        np.asarray(model + share * (guess - model))
        for model, share, guess in zip(models, shares, guesses, strict=True)
    ]
    return Leaned(tables, shares)


def posterior_shares(seen: Floats, slopes: Floats, *, doubted: float, trusted: float) -> Floats:
    """Posterior means of shares, given `seen` = slope times share plus standard normal noise.

    Args: as of `leaned`; both arrays have shape (tables,).
    """
    misses = -0.5 * (seen[:, None] - slopes[:, None] * _SHARES) ** 2
    likelihood = np.exp(misses - misses.max(axis=1, keepdims=True))
    law = np.full(len(_SHARES), 1 / len(_SHARES))
    for _ in range(_STEPS):
        law *= (1 / np.maximum(likelihood @ law, _LEAST)) @ likelihood
        law[0] += doubted
        law[-1] += trusted
        law /= law.sum()
    return np.asarray((likelihood @ (law * _SHARES)) / np.maximum(likelihood @ law, _LEAST))
