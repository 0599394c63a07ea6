"""Many marginals of one large table, and their adjoint, without a pass over the table for each.

Columns are eliminated from the first to the last, once for all marginals that agree on which of the
earlier columns they keep. All marginals of up to 3 of 20 binary columns take some 60 additions a
cell of the table, where one pass each takes 1,350.

Oracle.  tests/mechanisms/linear_queries/test_marginals.py sums every marginal by itself.
"""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.cliques import Clique


def marginals(
    table: Floats, shape: Sequence[int], cliques: Sequence[Clique]
) -> dict[Clique, Floats]:
    """The table summed over all columns that a clique leaves out, each of shape (its cells,).

    Args:
        table: shape (cells,), columns of `shape` in C order.
        cliques: ascending columns each.
    """
    found: dict[Clique, Floats] = {}
    _sum(table.reshape(1, -1), 0, tuple(shape), tuple(dict.fromkeys(cliques)), found)
    return found


def spread(weights: Mapping[Clique, Floats], shape: Sequence[int]) -> Floats:
    """The adjoint: every cell's sum, over all cliques, of the weight of the cell that it lies in.

    Args:
        weights: by clique, shape (its cells,).
    Returns:
        Shape (cells,).
    """
    return _spread(1, 0, tuple(shape), weights, tuple(weights)).ravel()


def _sum(
    table: Floats,
    column: int,
    shape: tuple[int, ...],
    cliques: tuple[Clique, ...],
    found: dict[Clique, Floats],
) -> None:
    """The sum of a table (cells kept so far, cells of the columns from `column` on)."""
    for clique in cliques:
        if not clique or clique[-1] < column:
            found[clique] = table.sum(axis=1)
    with_it, without = _split(cliques, column)
    rest = prod(shape[column + 1 :])
    if without:
        summed = table.reshape(len(table), -1, rest).sum(axis=1)
        _sum(summed, column + 1, shape, without, found)
    if with_it:
        _sum(table.reshape(-1, rest), column + 1, shape, with_it, found)


def _spread(
    kept: int,
    column: int,
    shape: tuple[int, ...],
    weights: Mapping[Clique, Floats],
    cliques: tuple[Clique, ...],
) -> Floats:
    """Shape (kept cells, cells of the columns from `column` on)."""
    rest = prod(shape[column:])
    done = [weights[clique] for clique in cliques if not clique or clique[-1] < column]
    total = np.broadcast_to(np.sum(done, axis=0)[:, None] if done else np.zeros(1), (kept, rest))
    with_it, without = _split(cliques, column)
    if without:
        below = _spread(kept, column + 1, shape, weights, without)
        total = (total.reshape(kept, shape[column], -1) + below[:, None, :]).reshape(kept, rest)
    if with_it:
        below = _spread(kept * shape[column], column + 1, shape, weights, with_it)
        total = total + below.reshape(kept, rest)
    return total


def _split(
    cliques: tuple[Clique, ...], column: int
) -> tuple[tuple[Clique, ...], tuple[Clique, ...]]:
    """The cliques with columns left, split by whether `column` is one of them."""
    left = [clique for clique in cliques if clique and clique[-1] >= column]
    return (
        tuple(clique for clique in left if column in clique),
        tuple(clique for clique in left if column not in clique),
    )
