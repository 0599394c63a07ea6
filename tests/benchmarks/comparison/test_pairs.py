"""All pairs of a model of mbi, against mbi's own variable elimination."""

from itertools import combinations

import numpy as np
import pytest
from mbi import CliqueVector, Domain, Factor, MarkovRandomField

from benchmarks.comparison.peers import pairs

SHAPE = {"a": 3, "b": 2, "c": 4, "d": 2, "e": 5}
MODELS = {
    "chain": ["ab", "bc", "cd", "de"],
    "star": ["ab", "ac", "ad", "ae"],
    "cycles": ["ab", "bc", "cd", "da", "de", "ec"],
    "overlapping separators": ["abc", "bcd", "cde"],
    "parts": ["ab", "bc", "de"],
    "all alone": [],
}
TOTAL = 500.0


@pytest.mark.parametrize("cliques", MODELS.values(), ids=MODELS)
def test_all_pairs_are_those_of_variable_elimination(cliques: list[str]) -> None:
    domain = Domain(tuple(SHAPE), tuple(SHAPE.values()))
    rng = np.random.default_rng(1)
    named = [tuple(clique) for clique in [*SHAPE, *cliques]]
    potentials = CliqueVector(
        domain,
        named,
        {c: Factor(domain.project(c), rng.normal(0, 2, domain.project(c).shape)) for c in named},
    )
    model = MarkovRandomField(
        potentials=potentials, marginals=CliqueVector(domain, [], {}), total=TOTAL
    )
    joint = np.asarray(model.project(tuple(SHAPE)).datavector(flatten=False))
    found = pairs.tables(model)
    assert list(found) == [(c,) for c in SHAPE] + list(combinations(SHAPE, 2))
    for clique, table in found.items():
        away = tuple(axis for axis, column in enumerate(SHAPE) if column not in clique)
        np.testing.assert_allclose(table, joint.sum(axis=away), atol=2e-3)
