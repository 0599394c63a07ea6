"""Marginals by elimination against sums one by one, and the adjoint against its definition."""

from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.marginals import marginals, spread

SHAPE = (2, 3, 1, 4)
CLIQUES = [
    (),
    (1,),
    (3,),
    *combinations(range(4), 2),
    (0, 1, 3),
    (0, 1, 2, 3),
]
TABLE = np.random.default_rng(0).random(24)


@pytest.mark.parametrize("clique", CLIQUES, ids=str)
def test_every_marginal_is_the_sum_over_the_other_columns(clique):
    others = tuple(a for a in range(4) if a not in clique)
    expected = TABLE.reshape(SHAPE).sum(axis=others).ravel()
    np.testing.assert_allclose(marginals(TABLE, SHAPE, CLIQUES)[clique], expected, rtol=1e-12)


def test_spreading_is_the_adjoint_of_summing():
    rng = np.random.default_rng(1)
    found = marginals(TABLE, SHAPE, CLIQUES)
    weights = {clique: rng.normal(size=len(table)) for clique, table in found.items()}
    inner = sum(float(weights[clique] @ found[clique]) for clique in CLIQUES)
    assert float(spread(weights, SHAPE) @ TABLE) == pytest.approx(inner, rel=1e-12)
