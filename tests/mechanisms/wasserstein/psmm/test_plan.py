"""PSMM's plan: exact budgets over all neighbours, the choice of the grid, and refusals."""

import pickle
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.adjacency import Neighbours
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.queries import HistogramQuery, LaplaceNoise
from hallmark.mechanisms.wasserstein.psmm import PSMM
from hallmark.mechanisms.wasserstein.psmm.plan import noisy_counts
from tests.builders.columns import line, nominal
from tests.builders.releases import RELATIONS, REPLACE, UP_TO_TWO_RECORDS
from tests.mechanisms.wasserstein.single_histogram.neighbours import most_lost
from tests.mechanisms.wasserstein.single_histogram.runs import make

TINY = Domain((line("x", 3), nominal("c", 2)))
PLANE = Domain((line("x", 500), line("y", 500)))
EPSILON = Fraction(7, 5)
on_plane = cache(partial(make, PSMM(), PLANE))  # a search for the grid takes a second


@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
@pytest.mark.parametrize("cells", [1, 2, 3])
def test_the_privacy_loss_over_all_neighbours_is_epsilon(adjacency, cells) -> None:
    plan = make(PSMM(), TINY, adjacency, epsilon=EPSILON, cells=cells)
    assert most_lost(plan.queries, TINY.shape, adjacency) == EPSILON
    assert sum(Fraction(e.l1 * e.times) / e.scale for e in plan.events) == EPSILON


@pytest.mark.parametrize("adjacency", UP_TO_TWO_RECORDS, ids=str)
def test_a_noisy_total_is_bought_where_it_is_better_than_the_sum(adjacency) -> None:
    person_replaced = adjacency.records == 2 and adjacency.neighbours is Neighbours.REPLACE_ONE
    most = 100 if person_replaced else 400  # a number of records changes half as much as counts
    few, many = (noisy_counts(m, epsilon=EPSILON, adjacency=adjacency) for m in (most, most + 1))
    assert len(few.noise) == 1
    assert len(many.noise) == (1 if adjacency.total_is_public else 2)
    for strategy in (few, many):
        queries = strategy.queries(marginal((0,), (strategy.size,)))
        events = [query.event(adjacency) for query in queries]
        assert sum(event.l1 / event.scale for event in events) == EPSILON
    rng, public = np.random.default_rng(1), adjacency.total_is_public
    spreads = [
        strategy.simulate(300, rng, total_is_public=public).sum(axis=1).std()
        for strategy in (few, many)
    ]
    assert spreads[1] == pytest.approx(spreads[0], rel=0.2)


def test_the_published_scale_would_cost_twice_as_much_under_replace_one() -> None:
    """Proposition 5 of the paper has scale 1 / epsilon, as if one count changed."""
    plan = make(PSMM(), TINY, REPLACE, epsilon=EPSILON, cells=2)
    (query,) = plan.queries
    published = [HistogramQuery(query.cells, LaplaceNoise(1 / EPSILON))]
    assert most_lost(published, TINY.shape, REPLACE) == 2 * EPSILON
    assert query.noise == LaplaceNoise(2 / EPSILON)


def test_the_automatic_grid_has_the_least_forecast() -> None:
    for records in (300, 5000):
        for adjacency in RELATIONS:
            chosen = on_plane(adjacency, records=records)
            least = chosen.forecast().expected_error
            for cells in (1, 4, 16):
                other = make(PSMM(), PLANE, adjacency, records=records, cells=cells)
                assert least <= other.forecast().expected_error * 1.001


def test_a_budget_under_which_no_draw_has_noise_is_planned() -> None:
    plan = make(PSMM(), PLANE, REPLACE, records=5000, epsilon=Fraction(500))
    assert 0 < plan.forecast().expected_error < 0.02


@pytest.mark.slow
def test_the_automatic_grid_gets_finer_with_the_records() -> None:
    cells = [make(PSMM(), PLANE, REPLACE, records=n).design.grid.k for n in (300, 3000, 30_000)]
    assert cells == sorted(set(cells))


def test_the_grid_of_the_rule_of_thumb_is_found() -> None:
    """In two dimensions about sqrt(epsilon n) / 2.8 cells, from measured costs of the noise."""
    chosen = on_plane(REPLACE, records=27_000).design.grid.k
    assert chosen == pytest.approx(27_000**0.5 / 2.8, rel=0.4)


def test_a_table_of_categories_alone_has_one_grid() -> None:
    plan = make(PSMM(), Domain((nominal("a", 4), nominal("b", 3))), REPLACE)
    assert plan.design.grid.size == 12
    assert plan.design.grid.radius == 0


def test_the_forecast_falls_with_more_records_and_epsilon() -> None:
    base, more = (on_plane(REPLACE, records=n).forecast().expected_error for n in (300, 5000))
    sharper = make(PSMM(), PLANE, REPLACE, records=300, epsilon=5)
    assert more < base
    assert sharper.forecast().expected_error < base
    assert sharper.forecast().memory_bytes > 0


def test_the_plan_says_what_it_chose_and_pickles() -> None:
    plan = make(PSMM(), PLANE, REPLACE, cells=7)
    assert plan.parameters["cells"] == 7
    assert plan.parameters["points"] == [7, 7]
    assert [line.cells for line in plan.noise] == [49]
    again = pickle.loads(pickle.dumps(plan))
    assert (again.events, again.parameters) == (plan.events, plan.parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"depth": 3}, "mechanism.depth: psmm has no such parameter; it knows cells"),
        ({"cells": 0}, "mechanism.cells: 0; use 'auto' or a whole number"),
        ({"cells": True}, "mechanism.cells: True"),
        ({"cells": 2.5}, "mechanism.cells: 2.5"),
        ({"cells": 500}, "mechanism.cells: 500 a column make 250,000 points, .* at most 65,536"),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_mend(parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        make(PSMM(), PLANE, REPLACE, **parameters)


def test_a_table_without_expected_records_is_refused() -> None:
    with pytest.raises(ValueError, match="expected number of records: 0"):
        make(PSMM(), PLANE, REPLACE, records=0)
