"""Which columns hang together, as far as measured tables tell: the parts of a wide table.

Where few of all pairs were measured, a model says of the others what fits its noise. Columns that
no chain of dependent tables joins have nothing to do with each other as far as anything tells, and
the product of their margins is the better guess.

Claim.   Of independent columns, a measured pair joins two parts with a chance of about `_FALSE`.
Source.  Pearson's chi-square test of independence, with the variance that noise is known to have;
         to join parts by it is ours.
Oracle.  tests/mechanisms/marginals/generators/noise_aware/test_parts.py counts false edges in
         noise, and finds the chains of a made-up table.
"""

from math import prod

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import chdtrc

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.marginals.cell_groups import merge
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal

_FALSE = 5e-4


def parts_of(evidence: Evidence) -> tuple[int, ...]:
    """The part that each attribute belongs to, by number."""
    size, ones = len(evidence.domain), evidence.single_columns
    ends = [
        (marginal.clique[0], other)
        for marginal in evidence.marginals
        if len(marginal.clique) > 1
        and _depends(marginal, [ones[a].counts for a in marginal.clique])
        for other in marginal.clique[1:]
    ]
    graph = coo_array(
        (np.ones(len(ends)), ([a for a, _ in ends], [b for _, b in ends])), shape=(size, size)
    )
    return tuple(int(part) for part in connected_components(graph, directed=False)[1])


def _depends(marginal: NoisyMarginal, columns: list[Table]) -> bool:
    """Whether its cells, or their groups, are farther from the product of margins than noise."""
    if marginal.sigma == 0 or len(marginal.clique) > 2:
        return True
    first, second = (np.maximum(counts, 0.0) for counts in columns)
    product = np.outer(first, second) / max(float(second.sum()), 1.0)
    if _stands_out(marginal.counts - product, marginal.sigma):
        return True
    if marginal.coarse is None:
        return False
    groups = marginal.grouped()
    return _stands_out(groups.counts - merge(product, groups.counts.shape), groups.sigma)


def _stands_out(residual: Table, sigma: float) -> bool:
    """Whether what is left when rows and columns have their means taken off is more than noise."""
    free = prod(k - 1 for k in residual.shape)
    inner = residual - residual.mean(axis=0) - residual.mean(axis=1)[:, None] + residual.mean()
    return free > 0 and bool(chdtrc(free, np.square(inner / sigma).sum()) < _FALSE / 2)
