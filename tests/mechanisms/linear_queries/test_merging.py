"""Merged universes against all combinations of levels, for random workloads of every kind."""

from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.linear_queries import kinds
from hallmark.mechanisms.linear_queries.merging import merged_universe
from hallmark.mechanisms.linear_queries.weights import tilted
from hallmark.mechanisms.linear_queries.workload import Workload
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.linear_queries import Block, Boxes, LinearQueries
from tests.builders.columns import line, nominal
from tests.mechanisms.linear_queries.written import all_records, written_out

DOMAIN = Domain(
    (line("a", 6, has_null=True), nominal("b", 3), line("c", 5), nominal("d", 4), line("e", 2))
)
SHAPE = DOMAIN.shape
RECORDS = all_records(SHAPE)


def coarse(rng, columns):
    """A matrix that tells few levels apart: random values of random groups of levels."""
    groups = [rng.integers(0, 3, SHAPE[column]) for column in columns]
    values = rng.uniform(-1, 1, (2, *[3] * len(columns)))
    values[rng.random(values.shape) < 0.3] = 0
    rows = np.stack([one[np.ix_(*groups)].ravel() for one in values])
    return kinds.matrix(DOMAIN, columns, rows, "coarse")


def condition(rng):
    told = {0: rng.integers(0, 2, 7), 3: rng.integers(0, 2, 4)}
    return kinds.condition(told, np.array([[True, False], [True, True]]), "condition")


ASKED = {
    "marginals": lambda rng: kinds.marginal_cells(DOMAIN, [(1, 4)]),
    "one range": lambda rng: (kinds.random_ranges(DOMAIN, (0, 2), 1, rng),),
    "ranges": lambda rng: (kinds.random_ranges(DOMAIN, (0, 2), 3, rng),),
    "prefixes": lambda rng: (kinds.prefixes(DOMAIN, (2,)),),
    "matrix": lambda rng: (coarse(rng, (0, 3)), coarse(rng, (2,))),
    "conjunction": lambda rng: (kinds.conjunction(DOMAIN, {0: [1, 2, 6], 3: [2]}, "x"),),
    "condition": lambda rng: (condition(rng),),
    "halfspaces": lambda rng: kinds.random_halfspaces(DOMAIN, (0, 2), 2, rng),
    "means": lambda rng: kinds.means(DOMAIN, (2, 4)),
}
MIXES = [
    *((name,) for name in ASKED),
    *combinations(ASKED, 2),
    ("ranges", "matrix", "condition"),
    tuple(ASKED),
]


def workload(names, seed=0):
    rng = np.random.default_rng(seed)
    return Workload.of(DOMAIN, [part for name in names for part in ASKED[name](rng)])


def merged_cells(merged):
    """Merged cell of every combination of levels of the domain."""
    columns = zip(merged.universe.levels, merged.columns, strict=True)
    codes = [cell[RECORDS[:, column]] for cell, column in columns]
    return np.ravel_multi_index(codes, merged.universe.shape)


@pytest.mark.parametrize("names", MIXES, ids=" ".join)
def test_answers_on_any_distribution_are_those_on_its_merged_cells(names):
    queries = workload(names).queries
    matrix = written_out(queries, SHAPE)
    merged = merged_universe(SHAPE, queries)
    universe, place = merged.universe, merged_cells(merged)
    assert universe.queries.size == queries.size
    assert universe.queries.unit == queries.unit
    rng = np.random.default_rng(1)
    dense = rng.dirichlet(np.ones(len(RECORDS)))
    shares = np.bincount(place, weights=dense, minlength=universe.size)
    np.testing.assert_allclose(universe.answers(shares), matrix @ dense, atol=1e-12)
    dual = rng.normal(size=queries.size)
    np.testing.assert_allclose(universe.adjoint(dual)[place], matrix.T @ dual, atol=1e-11)
    for query in rng.integers(0, queries.size, 5):
        np.testing.assert_allclose(universe.values(query)[place], matrix[query], atol=1e-15)
    assert universe.queries.least.tolist() == queries.least.tolist()
    assert universe.queries.greatest.tolist() == queries.greatest.tolist()


@pytest.mark.parametrize("names", MIXES, ids=" ".join)
def test_softmax_on_merged_cells_is_that_on_all_levels(names):
    queries = workload(names, seed=2).queries
    merged = merged_universe(SHAPE, queries)
    universe, place = merged.universe, merged_cells(merged)
    alike = np.bincount(place, minlength=universe.size)
    np.testing.assert_allclose(universe.uniform, alike / len(RECORDS), atol=1e-15)
    dual = 3 * np.random.default_rng(3).normal(size=queries.size)
    dense = tilted(np.full(len(RECORDS), 1 / len(RECORDS)), written_out(queries, SHAPE).T @ dual)
    shares = tilted(universe.uniform, universe.adjoint(dual))
    np.testing.assert_allclose((shares / alike)[place], dense, atol=1e-12)


@pytest.mark.parametrize("names", [("matrix",), ("condition", "means"), ("marginals", "matrix")])
def test_without_boxes_every_two_levels_that_are_alike_share_a_cell(names):
    queries = workload(names).queries
    merged = merged_universe(SHAPE, queries)
    values = written_out(queries, SHAPE).reshape(queries.size, *SHAPE)
    shared = 0
    for cell, column in zip(merged.universe.levels, merged.columns, strict=True):
        slices = np.moveaxis(values, 1 + column, 0)
        for one, other in combinations(range(SHAPE[column]), 2):
            alike = (slices[one] == slices[other]).all()
            assert (cell[one] == cell[other]) == alike
            shared += alike
    assert shared > 0


def test_a_range_cuts_its_column_at_its_ends_alone():
    part = kinds.conjunction(DOMAIN, {0: [2, 3]}, "some")
    merged = merged_universe(SHAPE, Workload.of(DOMAIN, [part]).queries)
    assert merged.columns == (0,)
    assert merged.universe.levels[0].tolist() == [0, 0, 1, 1, 2, 2, 2]
    assert merged.universe.shape == (3,)


def test_columns_that_no_query_sees_are_left_out():
    parts = kinds.marginal_cells(DOMAIN, [(1, 4)])
    merged = merged_universe(SHAPE, Workload.of(DOMAIN, parts).queries)
    assert merged.columns == (1, 4)
    assert merged.universe.shape == (3, 2)


def test_an_empty_box_cuts_nothing():
    boxes = Boxes((7, 5), np.array([[1, 2], [0, 0]]), np.array([[4, 2], [3, 4]]))
    queries = LinearQueries((Block(marginal((0, 2), SHAPE), boxes),))
    merged = merged_universe(SHAPE, queries)
    assert merged.universe.shape == (2, 2)
    assert written_out(merged.universe.queries, (2, 2)).tolist() == [[0, 0, 0, 0], [1, 0, 0, 0]]


def test_thresholds_on_a_long_column_make_a_small_universe():
    long = Domain((line("x", 4000), line("y", 4000)))
    ranges = kinds.random_ranges(long, (0,), 20, np.random.default_rng(0))
    parts = [ranges, *kinds.means(long, (1,))]
    merged = merged_universe(long.shape, Workload.of(long, parts[:1]).queries)
    assert merged.universe.size <= 41
    assert merged.universe.uniform.sum() == pytest.approx(1)
    assert merged_universe(long.shape, Workload.of(long, parts).queries).universe.shape[1] == 4000
