"""What is wrong with parameters and universes, and where it is said."""

import pytest

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.linear_queries import kinds, settings
from hallmark.mechanisms.linear_queries.merging import merged_universe
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.linear_queries.workload import Workload

HUGE = Domain.coded({f"col{i}": 50 for i in range(40)})


def over(*cliques: tuple[int, ...]) -> Universe:
    queries = Workload.of(HUGE, kinds.marginal_cells(HUGE, cliques)).queries
    return merged_universe(HUGE.shape, queries, names=HUGE.names).universe


def test_a_universe_that_is_too_large_is_refused_by_its_columns() -> None:
    words = (
        r"^mechanism\.queries: they tell apart 6,250,000 combinations of cells, 50 \(col\d+\) x "
    )
    with pytest.raises(ValueError, match=words + r".* and fem keeps a number .* 4,194,304"):
        settings.refuse_large("fem", over((0, 1), (5, 39)))
    settings.refuse_large("fem", over((0, 1), (0, 39)))


def test_one_that_nobody_could_write_down_is_told_by_its_magnitude() -> None:
    universe = over(*((i, i + 1) for i in range(39)))
    words = r"about 10\^67 combinations of cells, .* and 35 more"
    with pytest.raises(ValueError, match=words):
        settings.refuse_large("fem", universe)


def test_the_widest_columns_are_named() -> None:
    domain = Domain.coded({"thin": 1, "wide": 3000, "middle": 2000})
    queries = Workload.of(domain, kinds.marginal_cells(domain, [(0, 1), (2,)])).queries
    merged = merged_universe(domain.shape, queries, names=domain.names)
    words = settings.size_in_words(merged.universe)
    assert words == "6,000,000 combinations of cells, 3000 (wide) x 2000 (middle)"
