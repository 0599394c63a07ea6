"""Marginals in and across the cliques of a tree, against the whole joint."""

from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.graphical_models.propagation import Propagation
from hallmark.mechanisms.graphical_models.query import Query
from hallmark.mechanisms.graphical_models.tree import junction_tree
from tests.mechanisms.marginals.generators.graphical.cases import (
    CASES,
    SHAPE,
    joint_of,
    margin,
    potentials_of,
)


def query_of(cliques: tuple[Clique, ...]) -> tuple[Query, np.ndarray]:
    potentials = potentials_of(cliques, np.random.default_rng(1))
    propagation = Propagation(SHAPE, junction_tree(SHAPE, cliques), cliques, {})
    return Query(propagation.calibrate(potentials)), joint_of(cliques, potentials)


@pytest.mark.parametrize("cliques", CASES)
def test_every_marginal_is_that_of_the_joint_also_when_asked_again(
    cliques: tuple[Clique, ...],
) -> None:
    query, joint = query_of(cliques)
    every = [c for ways in range(1, 7) for c in combinations(range(6), ways)]
    for clique in (*every, *reversed(every)):
        found = query.marginal(clique)
        assert found.shape == tuple(SHAPE[a] for a in clique)
        np.testing.assert_allclose(found, margin(joint, clique), rtol=1e-9, atol=1e-15)


def test_axes_come_in_the_order_asked() -> None:
    query, joint = query_of(CASES[1])
    np.testing.assert_allclose(query.marginal((5, 0, 3)), margin(joint, (5, 0, 3)), rtol=1e-9)


def test_what_is_kept_stays_below_the_size_of_the_model() -> None:
    query, _ = query_of(CASES[5])
    for clique in combinations(range(6), 2):
        query.marginal(clique)
        kept = sum(t.size for t in query._sums.values())
        kept += sum(t.size for _, t in query._messages.values())
        assert 0 < kept <= sum(table.size for table in query._tables)


def test_attributes_in_separate_trees_are_independent() -> None:
    query, _ = query_of(CASES[2])
    outer = np.multiply.outer(query.marginal((0, 4)), query.marginal((2, 3)))
    np.testing.assert_allclose(query.marginal((0, 4, 2, 3)), outer, rtol=1e-10)
