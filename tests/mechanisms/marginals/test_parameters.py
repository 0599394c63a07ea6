"""What is measured where a spec says nothing of a selection."""

from typing import Any

import pytest

from hallmark.mechanisms.domain.cliques import all_ways
from hallmark.mechanisms.marginals.plan import MarginalPlan
from tests.mechanisms.marginals import test_plan


def make(cells: tuple[int, ...], records: int, **parameters: Any) -> MarginalPlan:
    return test_plan.make(cells, records, **{"selection": None, **parameters})


def ways(plan: MarginalPlan) -> set[int]:
    return {len(asked.clique) for asked in plan.design.first}


def test_pairs_and_triples_of_few_cells_have_half_of_the_budget_each() -> None:
    first = make((2, 2, 3, 2, 2), records=20_000).design.first
    assert {asked.clique for asked in first} == {*all_ways(5, 2), *all_ways(5, 3)}
    precision = {n: sum(1 / a.sigma2 for a in first if len(a.clique) == n) for n in (2, 3)}
    assert float(precision[2]) == pytest.approx(float(precision[3]), rel=0.02)


@pytest.mark.parametrize(
    ("cells", "records"),
    [
        ((2,) * 16, 500),  # noise would hide triples
        ((2, 2, 9, 9, 9, 9, 9), 5_000),  # most of them
        ((200, 2, 2, 2), 10**7),  # too many cells to be fitted together
        ((2,) * 38, 10**7),  # too many triples
        ((2, 3), 10**7),
    ],
    ids=["few records", "large triples", "many cells", "many columns", "two columns"],
)
def test_no_triple_is_measured_where_they_are_hidden_or_too_dear(
    cells: tuple[int, ...], records: int
) -> None:
    assert 3 not in ways(make(cells, records))


def test_a_spec_that_names_a_selection_gets_that_one() -> None:
    for selection in ("all", {"ways": 2}, {"priorities": {"columns": "all", "ways": 2}}):
        assert ways(make((2,) * 5, 20_000, selection=selection)) == {2}
    assert make((2,) * 5, 20_000, selection="strongest").design.name == "strongest"


def test_a_generator_that_may_not_take_triples_gets_pairs() -> None:
    for generator in ("private-gsd", {"denoiser": "singular-values"}):
        assert ways(make((2,) * 5, 20_000, generator=generator)) == {2}
