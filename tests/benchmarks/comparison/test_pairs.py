"""All pairs of a model of mbi, against mbi's own variable elimination."""

from itertools import combinations

import jax
import numpy as np
import pytest
from mbi import Dataset, Domain, LinearMeasurement, estimation

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
SIMPLER = ("chain", "star", "all alone")  # than others are


@pytest.mark.parametrize(
    "cliques",
    [
        pytest.param(cliques, id=name, marks=pytest.mark.slow if name in SIMPLER else ())
        for name, cliques in MODELS.items()
    ],
)
def test_all_pairs_are_those_of_variable_elimination(cliques: list[str]) -> None:
    domain = Domain(tuple(SHAPE), tuple(SHAPE.values()))
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.full(domain.size(), 0.05))
    cells = np.unravel_index(rng.choice(domain.size(), 500, p=weights), tuple(SHAPE.values()))
    data = Dataset(dict(zip(SHAPE, cells, strict=True)), domain)
    measured = [
        LinearMeasurement(np.asarray(data.project(tuple(c)).datavector()), tuple(c), 1.0)
        for c in [*SHAPE, *cliques]
    ]
    model = estimation.MirrorDescent().estimate(domain, measured, iters=50)
    found = pairs.tables(model)
    assert list(found) == [(c,) for c in SHAPE] + list(combinations(SHAPE, 2))
    with jax.disable_jit():
        for clique, table in found.items():
            expected = np.asarray(model.project(clique).datavector())
            assert table.shape == tuple(SHAPE[c] for c in clique)
            np.testing.assert_allclose(table.ravel(), expected, atol=2e-3)
