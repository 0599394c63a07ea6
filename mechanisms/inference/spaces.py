"""Functions of a record's codes, split into a mean, main effects and interactions.

A function of the columns S is the sum over all B within S of a component that depends on B alone
and has mean 0 along every column of B. Components of different B are orthogonal on the grid, so the
split is unique, and functions of different columns are equal if all their components are.

Source.  The residual spaces of Xiao, He, Zhang, Kifer (2023), "An optimal and scalable matrix
         mechanism for noisy marginals under convex loss functions" (ResidualPlanner), NeurIPS,
         arXiv:2305.08175, section 4.
"""

from collections.abc import Mapping

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.cliques import Clique

Components = Mapping[Clique, Floats]
"""By their columns (none for the mean); each of shape (codes of every column, functions)."""


def split(values: Floats, columns: Clique) -> dict[Clique, Floats]:
    """Components of functions of `columns`, of shape (codes of every column, functions)."""
    halves: dict[Clique, Floats] = {(): values}
    for column in columns:
        # The next column's axis follows those of the columns already kept.
        split_: dict[Clique, Floats] = {}
        for kept, part in halves.items():
            mean = _mean(part, len(kept))
            split_[kept] = mean.reshape(*part.shape[: len(kept)], *part.shape[len(kept) + 1 :])
            split_[(*kept, column)] = part - mean
        halves = split_
    return halves


def centred(component: Floats) -> Floats:
    """The component with mean 0 along every axis but the last."""
    for axis in range(component.ndim - 1):
        component = component - _mean(component, axis)
    return component


def _mean(values: Floats, axis: int) -> Floats:
    """The mean along an axis, which is kept; `np.mean` takes longer than such an array does."""
    return np.asarray(np.add.reduce(values, axis=axis, keepdims=True) / values.shape[axis])
