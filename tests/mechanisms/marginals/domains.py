"""Small domains for tests, of so many cells a column, and marginals of records in them."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Domain, Kind
from hallmark.mechanisms.domain.rules import Rules


def domain_of(
    shape: Sequence[int], rules: Rules | None = None, kind: Kind = Kind.ORDINAL
) -> Domain:
    return Domain.coded({f"c{i}": k for i, k in enumerate(shape)}, kind=kind, rules=rules)


def marginal_of(codes: NDArray[np.integer], clique: Clique, shape: Sequence[int]) -> Table:
    """Shares of the records."""
    sizes = [shape[a] for a in clique]
    flat = np.ravel_multi_index([codes[:, a] for a in clique], sizes)
    return np.bincount(flat, minlength=prod(sizes)).reshape(sizes) / len(codes)
