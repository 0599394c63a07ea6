"""Sample records from the Chow-Liu tree of denoised marginals: the start of the descent.

Claim.   In expectation every one-way marginal and every pair on the tree is exactly its target
         (where a pair's own margin is that of its attribute).
Source.  Chow, Liu (1968), IEEE Transactions on Information Theory 14(3), for the tree; Kitagawa
         (1996), J. Comp. Graph. Statistics 5(1), for systematic ("low-variance") rounding.
Oracle.  tests/mechanisms/privpgd/test_chow_liu.py tries all trees and samples known chains.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from scipy.special import xlogy

from mechanisms.privpgd.denoise import Table, Targets


def mutual_information(table: Table) -> float:
    """Mutual information of a probability table of shape (k_a, k_b), in nats."""
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    return float(xlogy(table, table).sum() - xlogy(table, np.where(table > 0, product, 1.0)).sum())


def chow_liu_tree(targets: Targets) -> list[tuple[int, int | None]]:
    """(attribute, parent) in an order in which parents come first; the root's parent is None.

    The tree has the greatest sum of mutual informations; its root is an attribute of most edges.
    """
    size = len(targets.one_way)
    information = np.zeros((size, size))
    for (a, b), table in targets.pairs.items():
        information[a, b] = mutual_information(table)
    # scipy minimises, and reads a zero as "no edge": so every pair costs at least one.
    pairs = np.triu(np.ones((size, size)), 1)
    tree = minimum_spanning_tree(pairs * (1.0 + information.max() - information))
    tree = tree + tree.T
    root = int(np.argmax(np.diff(tree.tocsr().indptr)))
    order, parents = breadth_first_order(tree, root, directed=False)
    return [(int(a), None if a == root else int(parents[a])) for a in order]


def sample_tree(targets: Targets, rows: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Records drawn along the tree, codes of shape (rows, attributes).

    Children are drawn together for all records that share the parent's code, so that their counts
    differ from expectation by less than one.
    """
    codes = np.empty((rows, len(targets.one_way)), dtype=np.int32)
    for attribute, parent in chow_liu_tree(targets):
        marginal = targets.one_way[attribute]
        if parent is None:
            codes[:, attribute] = _rounded_sample(marginal, rows, rng)
            continue
        joint = (
            targets.pairs[parent, attribute]
            if parent < attribute
            else targets.pairs[attribute, parent].T
        )
        for code in np.unique(codes[:, parent]):
            group = np.flatnonzero(codes[:, parent] == code)
            # A code without mass in this pair still may hold records, from its own marginal.
            weights = joint[code] if joint[code].sum() > 0 else marginal
            codes[group, attribute] = _rounded_sample(weights, len(group), rng)
    return codes


def _rounded_sample(weights: Table, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """`size` codes in random order, the count of each its expectation rounded up or down."""
    steps = np.cumsum(weights) * (size / weights.sum())
    steps[np.flatnonzero(weights)[-1] :] = size  # exactly, whatever the sum rounds to
    counts = np.diff(np.floor(steps + rng.random()).astype(np.int64), prepend=0)
    return rng.permutation(np.repeat(np.arange(len(weights), dtype=np.int32), counts))
