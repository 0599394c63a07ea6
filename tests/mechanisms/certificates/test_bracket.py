"""Enclosures of true losses: they hold, they are as tight as the grid, and what they count."""

import numpy as np
import ot
import pytest

from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.blocks.marginals import marginals
from hallmark.mechanisms.certificates import bracket as module
from hallmark.mechanisms.certificates.bracket import (
    Bracket,
    can_be_enclosed,
    enclose,
    evaluation_family,
    maps_to_count,
)
from hallmark.mechanisms.compute import SERIAL
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.cells import ArrayCounter
from tests.builders.columns import line, nominal

LINES = Domain((line("x", 24), line("y", 15), line("z", 8)))
MIXED = Domain((line("x", 24, has_null=True), nominal("c", 3), line("y", 15)))


def enclosed(family: Family, private: np.ndarray, synthetic: np.ndarray) -> tuple[Bracket, ...]:
    counts = ArrayCounter(private).count(maps_to_count(family))
    return enclose(family, counts, synthetic, compute=SERIAL)


def random_codes(domain: Domain, rows: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.binomial(n - 1, 0.3, size=rows) for n in domain.shape], axis=1)


def values_within(
    domain: Domain, codes: np.ndarray, inside: np.ndarray, columns: tuple[int, ...]
) -> np.ndarray:
    """Where records lie: anywhere in their cells, by numbers in [-1/2, 1/2]; (rows, columns)."""
    found = []
    for column in columns:
        attribute = domain.attributes[column]
        values = codes[:, column]
        found.append(attribute.positions[values] + inside[:, column] * attribute.widths[values])
    return np.stack(found, axis=1)


def w1_of_points(one: np.ndarray, other: np.ndarray) -> float:
    """In the largest difference over the columns, by POT."""
    costs = np.abs(one[:, None] - other[None]).max(axis=2)
    return float(ot.emd2([], [], np.ascontiguousarray(costs)))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("k", [3, 8])
def test_the_distance_lies_inside_wherever_values_lie_in_their_cells(order, k) -> None:
    family = marginals(LINES, order, k)
    private, synthetic = random_codes(LINES, 40, 61), random_codes(LINES, 30, 62)
    found = enclosed(family, private, synthetic)
    rng = np.random.default_rng(63)
    for _ in range(5):
        insides = [rng.choice([-0.5, 0.0, 0.5], size=codes.shape) for codes in (private, synthetic)]
        for block, bracket in zip(family.blocks, found[1:], strict=True):
            points = [
                values_within(LINES, codes, inside, block.columns)
                for codes, inside in zip((private, synthetic), insides, strict=True)
            ]
            assert bracket.lower - 1e-9 <= w1_of_points(*points) <= bracket.upper + 1e-9


def test_finer_grids_enclose_more_closely() -> None:
    private, synthetic = random_codes(LINES, 40, 61), random_codes(LINES, 30, 62)
    widths = []
    for k in (2, 4, 8):
        largest = enclosed(marginals(LINES, 2, k), private, synthetic)[0]
        widths.append(largest.upper - largest.lower)
    assert widths[0] > widths[1] > widths[2] > 0


def test_where_every_code_is_a_point_the_ends_meet() -> None:
    domain = Domain((nominal("c", 3), nominal("d", 4, has_null=True)))
    private, synthetic = random_codes(domain, 40, 64), random_codes(domain, 30, 65)
    (found,) = enclosed(marginals(domain, 2, 1), private, synthetic)
    cells = [np.ravel_multi_index(tuple(codes.T), domain.shape) for codes in (private, synthetic)]
    shares = [np.bincount(c, minlength=15) / len(c) for c in cells]
    distance = np.abs(shares[0] - shares[1]).sum() / 2  # all points at distance 1
    assert (found.lower, found.upper) == pytest.approx((distance, distance))


def test_equal_tables_may_be_at_distance_zero() -> None:
    codes = random_codes(MIXED, 50, 66)
    for bracket in enclosed(marginals(MIXED, 2, 4), codes, codes):
        assert bracket.lower == 0.0
        assert 0 < bracket.upper < 1


def test_the_largest_comes_first_under_the_certificates_names() -> None:
    private, synthetic = random_codes(MIXED, 40, 67), random_codes(MIXED, 30, 68)
    largest, *blocks = enclosed(marginals(MIXED, 2, 4), private, synthetic)
    assert largest.target == "all 3 two-way marginals"
    assert [block.target for block in blocks] == ["x x c", "x x y", "c x y"]
    assert largest.lower == max(block.lower for block in blocks)
    assert largest.upper == max(block.upper for block in blocks)


def test_points_alone_are_counted_where_there_are_too_many_codes(monkeypatch) -> None:
    family = marginals(LINES, 2, 4)
    private, synthetic = random_codes(LINES, 40, 69), random_codes(LINES, 30, 70)
    close = enclosed(family, private, synthetic)
    assert [cells.size for cells in maps_to_count(family)] == [24 * 15, 24 * 8, 15 * 8]
    monkeypatch.setattr(module, "MOST_COMBINATIONS", 24 * 8)
    assert [cells.size for cells in maps_to_count(family)] == [16, 24 * 8, 15 * 8]
    wide = enclosed(family, private, synthetic)
    assert wide[1].lower <= close[1].lower
    assert close[1].upper < wide[1].upper  # the radius stands for the mean distance
    assert wide[2:] == close[2:]


def test_along_trees_nothing_is_said_from_below(monkeypatch) -> None:
    family = marginals(LINES, 2, 4)
    private, synthetic = random_codes(LINES, 40, 71), np.zeros((5, 3), dtype=int)
    close = enclosed(family, private, synthetic)
    monkeypatch.setattr("hallmark.mechanisms.geometry.transport.MOST_FLOW_POINTS", 1)
    monkeypatch.setattr(module, "MOST_FLOW_POINTS", 1)
    wide = enclosed(family, private, synthetic)
    assert min(bracket.lower for bracket in close) > 0
    assert [bracket.lower for bracket in wide] == [0.0] * 4
    for a, b in zip(wide, close, strict=True):
        assert a.upper >= b.upper


def test_an_empty_private_table_may_be_anywhere() -> None:
    family = marginals(LINES, 2, 4)
    found = enclosed(family, np.zeros((0, 3), dtype=int), random_codes(LINES, 9, 72))
    assert {(bracket.lower, bracket.upper) for bracket in found} == {(0.0, 1.0)}


def test_no_synthetic_record_is_refused() -> None:
    with pytest.raises(ValueError, match="no synthetic record"):
        enclosed(marginals(LINES, 1, 4), random_codes(LINES, 9, 73), np.zeros((0, 3), dtype=int))


def test_counts_of_other_maps_are_refused() -> None:
    family, codes = marginals(LINES, 1, 4), random_codes(LINES, 9, 74)
    counts = ArrayCounter(codes).count([block.cells for block in family.blocks])
    with pytest.raises(ValueError, match=r"private counts of \[4, 4, 4\] cells, not of \[24, 15"):
        enclose(family, counts, codes, compute=SERIAL)


def test_a_family_is_evaluated_on_the_finest_grid_that_is_affordable(monkeypatch) -> None:
    sets = [(0, 1), (0, 2)]
    finest = evaluation_family(LINES, sets)
    assert [block.name for block in finest.blocks] == ["x x y", "x x z"]
    assert [block.space.size for block in finest.blocks] == [24 * 15, 24 * 8]  # every code a point
    monkeypatch.setattr(module, "MOST_POINTS", 2 * 36)
    assert [block.space.size for block in evaluation_family(LINES, sets).blocks] == [36, 36]
    monkeypatch.setattr(module, "MOST_FLOW_POINTS", 16)
    assert [block.space.size for block in evaluation_family(LINES, sets).blocks] == [16, 16]
    monkeypatch.setattr(module, "MOST_FLOW_POINTS", 1)
    assert [block.space.size for block in evaluation_family(LINES, sets).blocks] == [1, 1]


def test_too_many_categories_cannot_be_enclosed_and_lines_always_can() -> None:
    domain = Domain(
        (*(nominal(f"c{i}", 8) for i in range(7)), *(line(f"x{i}", 9) for i in range(9)))
    )
    assert can_be_enclosed(domain, range(7, 16))
    assert can_be_enclosed(domain, range(6))
    assert not can_be_enclosed(domain, range(7))
