"""Records of a calibrated junction tree, with counts as near to expectation as whole ones can be.

Cliques are sampled from the roots on. The records that share the codes of a separator get the
clique's other codes together: so many of each as expected, rounded up or down, in random order. So
columns that are independent given the separator stay so in the sample, which they do not where
rounded counts are dealt out in order.

Claim.   Every cell's count in a root clique differs from expectation by less than one; in another
         clique, by less than one within each group that shares the separator's codes. In
         expectation every clique's marginal is the model's. A combination of codes without
         probability in the model is never drawn.
Source.  Kitagawa (1996), J. Comp. Graph. Statistics 5(1), for systematic rounding.
Oracle.  tests/mechanisms/graphical_models/test_sampling.py: exact counts, and
         chi-squared tests of independence that a sampler in order of codes fails.
"""

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Codes, Table
from hallmark.mechanisms.graphical_models.propagation import Calibrated


def sample(
    calibrated: Calibrated,
    rows: int,
    rng: np.random.Generator,
    report: Callable[[float], None] = lambda share: None,
) -> Codes:
    """`rows` records, codes of shape (rows, attributes); the tree covers all attributes.

    Args:
        report: called with the share done.
    """
    tree = calibrated.tree
    codes = np.empty((rows, len(set().union(*tree.cliques))), dtype=np.int32)
    for node, (clique, separator, table) in enumerate(
        zip(tree.cliques, tree.separators, calibrated.tables, strict=True)
    ):
        added = [a for a in clique if a not in separator]
        order = [clique.index(a) for a in (*separator, *added)]
        shared = [table.shape[clique.index(a)] for a in separator]
        new = [table.shape[clique.index(a)] for a in added]
        law = np.transpose(table, order).reshape(prod(shared), prod(new))
        given = np.zeros(rows, dtype=np.int64)
        if separator:
            given = np.ravel_multi_index([codes[:, a] for a in separator], shared)
        drawn = _given(law, given, rng)
        for a, column in zip(added, np.unravel_index(drawn, new), strict=True):
            codes[:, a] = column
        report((node + 1) / len(tree.cliques))
    return codes


def _given(law: Table, given: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """One column of `law` for every record, by its row.

    Args:
        law: shape (rows of the law, columns), in proportion to probability in each row.
        given: row of every record, shape (records,).
    """
    groups, sizes = np.unique(given, return_counts=True)
    steps = np.cumsum(law[groups], axis=1)
    total = steps[:, -1:].copy()
    last = steps >= total  # exactly as many as records, whatever the sum rounds to
    steps *= sizes[:, None] / total
    steps += rng.random((len(groups), 1))
    ends = np.minimum(np.floor(steps, out=steps), sizes[:, None])
    ends[last] = np.broadcast_to(sizes[:, None], ends.shape)[last]
    counts = ends.astype(np.int64)
    counts[:, 1:] -= counts[:, :-1].copy()
    rows, columns = np.nonzero(counts)
    dealt = np.repeat(columns, counts[rows, columns])
    shuffled = rng.permutation(len(given))
    drawn = np.empty(len(given), dtype=np.int64)
    drawn[shuffled[np.argsort(given[shuffled], kind="stable")]] = dealt
    return drawn
