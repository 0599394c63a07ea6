"""Families of a table's columns: their blocks, their sizes, and what is refused."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from hallmark.mechanisms.blocks import marginals as module
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.blocks.marginals import (
    CANDIDATES,
    LINE_CANDIDATES,
    at_their_cells,
    ever_finer,
    marginals,
    noisy_counts,
    over,
    whole,
)
from hallmark.mechanisms.blocks.single_columns import SingleColumns
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.geometry.line import is_line
from hallmark.mechanisms.privacy.cells import count_codes
from tests.builders.columns import line, nominal, places
from tests.mechanisms.geometry.small_spaces import distances

MIXED = Domain(
    (
        line("age", 9, has_null=True),
        nominal("sex", 3),
        line("steps", 4, width=0.0),
        places("home", np.array([[0, 0], [1, 0], [0.2, 0.5]]), has_null=True),
    )
)
LINES = Domain((line("x", 7), line("y", 7), line("z", 7, has_null=True)))
FAMILIES = [
    *(marginals(MIXED, order, k) for order in (1, 2, 3, 4) for k in (1, 3)),
    marginals(LINES, 2, 4),
    over(MIXED, [(2, 0), (3,), (1, 2, 0)], 2),
    whole(MIXED, 2),
    whole(LINES, 3),
]


def every_record(domain: Domain) -> np.ndarray:
    return np.indices(domain.shape).reshape(len(domain), -1).T


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_all_marginals_are_one_block_for_every_choice_of_columns(order) -> None:
    family = marginals(MIXED, order, 2)
    assert len(family) == comb(4, order)
    assert [block.columns for block in family.blocks] == list(combinations(range(4), order))
    assert [block.name for block in family.blocks] == [
        " x ".join(names) for names in combinations(MIXED.names, order)
    ]


def test_chosen_blocks_have_the_columns_in_the_order_given() -> None:
    family = over(MIXED, [[2, 0], [3], (1, 2, 0)], 2)
    assert [block.columns for block in family.blocks] == [(2, 0), (3,), (1, 2, 0)]
    assert [b.name for b in family.blocks] == ["steps x age", "home", "sex x steps x age"]
    assert family.domain is MIXED


def test_the_whole_is_one_block_over_all_columns() -> None:
    (block,) = whole(MIXED, 2).blocks
    assert block.columns == (0, 1, 2, 3)
    assert block.name == "age x sex x steps x home"
    assert block.shape == (3, 3, 2, 4)  # two cells and a null, categories, two, places and a null


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.blocks[-1].name)
def test_records_fall_on_points_of_each_block_and_every_point_is_met(family: Family) -> None:
    codes = every_record(family.domain)
    for block in family.blocks:
        assert np.prod(block.shape) == block.space.size == block.cells.size
        assert (np.unique(block.cells(codes)) == np.arange(block.space.size)).all()
        own = np.unravel_index(block.cells(codes), block.shape)
        for column, place in zip(block.columns, own, strict=True):
            pairs = set(zip(codes[:, column], place, strict=True))
            assert len(pairs) == family.domain.shape[column]  # other columns do not matter


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.blocks[-1].name)
def test_the_cells_of_a_family_are_those_of_its_blocks(family: Family) -> None:
    counts = count_codes(every_record(family.domain), [block.cells for block in family.blocks])
    assert family.cells == sum(map(len, counts))


@pytest.mark.parametrize("k", [1, 2, 3, 4, 9, 20])
@pytest.mark.parametrize("sets", [[(0,)], [(0, 1), (1, 2)], [(3, 0), (2,), (0, 1, 2, 3)]], ids=str)
def test_noisy_counts_are_the_cells_of_the_family_that_is_not_made(sets, k) -> None:
    for domain in (MIXED, Domain((*LINES.attributes, line("w", 3)))):
        assert noisy_counts(domain, sets, k) == over(domain, sets, k).cells


def test_blocks_that_share_columns_put_them_on_the_same_points() -> None:
    family, codes = over(MIXED, [(0, 1), (2, 0)], 3), every_record(MIXED)
    one, other = (
        np.unravel_index(block.cells(codes), block.shape)[block.columns.index(0)]
        for block in family.blocks
    )
    assert (one == other).all()


def farthest(column: int, code: int, k: int) -> float:
    """How far the ends of a code's cell lie from the middle of the grid cell it is sent to.

    Categories, places and nulls are their own points; so are values that lie on multiples of 1/k.
    """
    attribute = MIXED.attributes[column]
    steps = attribute.positions * k
    exact = not attribute.widths.any() and np.allclose(steps, np.rint(steps))
    if column in (1, 3) or code == attribute.levels or exact:
        return 0.0
    position, half = attribute.positions[code], attribute.widths[code] / 2
    middle = (min(int(position * k), k - 1) + 0.5) / k
    return max(abs(position - half - middle), abs(position + half - middle))


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_no_record_lies_farther_from_its_point_than_is_said(k) -> None:
    codes = every_record(MIXED)
    for block in over(MIXED, [(0,), (1, 2), (3, 0), (2, 0, 1), (1, 3)], k).blocks:
        expected = [
            max(farthest(column, code[column], k) for column in block.columns) for code in codes
        ]
        found = block.distances_to_points(codes)
        assert found == pytest.approx(expected, abs=1e-12)
        assert block.radius == pytest.approx(max(expected), abs=1e-12)
        for column, offsets in zip(block.columns, block.offsets, strict=True):
            own = [farthest(column, code, k) for code in range(MIXED.shape[column])]
            assert offsets == pytest.approx(own, abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_values_anywhere_in_their_cells_are_no_farther_from_their_points(k) -> None:
    domain, rng = Domain((line("x", 7), line("y", 4))), np.random.default_rng(41)
    (block,) = whole(domain, k).blocks
    codes = every_record(domain)
    for u in (*product([0, 1], repeat=2), *rng.random((20, 2))):
        lies = [
            attribute.positions[codes[:, i]] + attribute.widths[codes[:, i]] * (u[i] - 0.5)
            for i, attribute in enumerate(domain.attributes)
        ]
        points = [
            (np.minimum(attribute.positions[codes[:, i]] * k // 1, k - 1) + 0.5) / k
            for i, attribute in enumerate(domain.attributes)
        ]
        moved = np.max(np.abs(np.array(lies) - np.array(points)), axis=0)
        assert (moved <= block.distances_to_points(codes) + 1e-12).all()


def test_the_radius_of_a_family_is_that_of_its_worst_block() -> None:
    family = over(MIXED, [(1,), (0,), (2,)], 2)
    assert [block.radius == 0 for block in family.blocks] == [True, False, False]
    assert family.radius == max(block.radius for block in family.blocks)


def test_points_are_apart_by_their_widest_column() -> None:
    (block,) = over(MIXED, [(1, 0)], 3).blocks
    age = np.abs(np.arange(4)[:, None] - np.arange(4)) / 3  # three cells, and a null far off
    age[3, :3] = age[:3, 3] = 1.0
    sex = 1.0 - np.eye(3)
    expected = np.maximum(sex[:, None, :, None], age[None, :, None, :]).reshape(12, 12)
    assert distances(block.space) == pytest.approx(expected, abs=1e-12)


def test_paths_are_chosen_by_name() -> None:
    snake, short = (over(LINES, [(0, 1)], 4, path=path) for path in ("snake", "short"))
    hilbert = whole(Domain(LINES.attributes[:2]), 4, path="hilbert")
    assert snake.cells == short.cells == hilbert.cells == 16
    assert (snake.blocks[0].space.order != hilbert.blocks[0].space.order).any()


@pytest.mark.parametrize("order", [-1, 0, 5])
def test_more_columns_than_there_are_or_none_are_refused(order) -> None:
    message = f"marginals: {order} of 4 columns; give a number from 1 to 4"
    with pytest.raises(ValueError, match=message):
        marginals(MIXED, order, 2)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([], r"blocks: there is none; give one set of columns at least"),
        ([(0,), ()], r"blocks\[1\]: \[\]; name each column of a block once"),
        ([(0, 1, 0)], r"blocks\[0\]: \['age', 'sex', 'age'\]; name each column of a block once"),
        ([(0, 4)], r"blocks\[0\]: \['age', '4'\]; there are 4 columns"),
        ([(1,), (-1, 0)], r"blocks\[1\]: \['-1', 'age'\]; there are 4 columns"),
        ([(0,), (1, 0), (0, 1)], r"blocks\[2\]: \['age', 'sex'\] come in an earlier block; drop"),
    ],
)
def test_sets_of_columns_that_make_no_sense_are_refused(sets, message) -> None:
    with pytest.raises(ValueError, match=message):
        over(MIXED, sets, 2)


@pytest.mark.parametrize("k", [0, -3])
@pytest.mark.parametrize("make", [lambda k: marginals(MIXED, 2, k), lambda k: whole(MIXED, k)])
def test_a_grid_without_cells_is_refused(make, k) -> None:
    with pytest.raises(ValueError, match=f"age: a grid has one cell at least, not k = {k}"):
        make(k)


def test_tables_that_are_too_large_are_refused_with_their_size() -> None:
    wide = Domain(tuple(line(f"x{i}", 1000) for i in range(5)))
    with pytest.raises(
        ValueError,
        match=r"10 tables of up to 125,000,000 cells \(k = 500\) hold 1,250,000,000 noisy counts"
        r" of 8 bytes = 10\.0 GB, but at most 16,777,216 are taken; use a smaller k, fewer",
    ):
        marginals(wide, 3, 500)
    huge = Domain(tuple(line(f"x{i}", 1000) for i in range(40)))
    with pytest.raises(ValueError, match=f"1 tables of up to 1{',000' * 40} cells"):
        whole(huge, 1000)  # more than any fixed number of bits holds


def test_all_tables_count_towards_the_most_that_is_taken(monkeypatch) -> None:
    sets = [(0, 1), (1, 2), (0, 2)]
    monkeypatch.setattr(module, "MOST_COUNTS", noisy_counts(MIXED, sets, 2))
    assert over(MIXED, sets, 2).cells == module.MOST_COUNTS
    monkeypatch.setattr(module, "MOST_COUNTS", module.MOST_COUNTS - 1)
    with pytest.raises(ValueError, match=r"3 tables of up to 9 cells \(k = 2\) hold 21 noisy"):
        over(MIXED, sets, 2)


def test_grids_get_finer_until_every_value_may_be_a_point() -> None:
    steps = list(ever_finer(MIXED, [(0, 1)], None))
    values = max(attribute.levels for attribute in MIXED.attributes)
    coarser = [k for k in CANDIDATES if k < values]
    assert {*coarser, values} <= {k for k, _ in steps} <= {*range(2, values + 1)}
    assert [k for k, _ in steps] == sorted(k for k, _ in steps)
    for k, family in steps:
        assert family.cells == noisy_counts(MIXED, [(0, 1)], k)
    wide = Domain((line("x", 300), line("y", 300)))
    finest = [k for k, _ in ever_finer(wide, [(0, 1)], None, finest=10)]
    assert finest == [k for k in CANDIDATES if k <= 10]
    assert [k for k, _ in ever_finer(wide, [(0, 1)], None)] == list(CANDIDATES)
    assert [k for k, _ in ever_finer(wide, [(0,), (1,)], None)] == list(LINE_CANDIDATES)


def test_among_the_grids_is_one_on_which_no_ordered_category_is_moved() -> None:
    ordered = Domain((line("grade", 38, width=0.0, has_null=True), nominal("c", 2)))
    radii = {k: family.radius for k, family in ever_finer(ordered, [(0, 1)], None)}
    assert [k for k, radius in radii.items() if radius == 0] == [37]


def test_only_the_grid_that_is_asked_for_is_tried() -> None:
    ((k, family),) = ever_finer(MIXED, [(0, 1)], 7)
    assert k == 7
    assert family.cells == noisy_counts(MIXED, [(0, 1)], 7)


def test_no_grid_that_nobody_asked_for_has_too_many_counts_but_the_coarsest(monkeypatch) -> None:
    sets = [(0, 1), (1, 2)]
    monkeypatch.setattr(module, "MOST_CHOSEN_COUNTS", noisy_counts(MIXED, sets, 4))
    assert [k for k, _ in ever_finer(MIXED, sets, None)] == [2, 3, 4]
    monkeypatch.setattr(module, "MOST_CHOSEN_COUNTS", 1)
    assert [k for k, _ in ever_finer(MIXED, sets, None)] == [2]
    assert [k for k, _ in ever_finer(MIXED, sets, 9)] == [9]
    with pytest.raises(ValueError, match="blocks: there is none"):
        next(ever_finer(MIXED, [], None))


UNEVEN = Attribute(
    name="u",
    kind=Kind.NUMERIC,
    positions=np.array([0.0005, 0.0015, 0.501]),
    widths=np.array([0.001, 0.001, 0.998]),
)
OWN = Domain(
    (
        UNEVEN,
        line("age", 9, has_null=True),
        nominal("sex", 3, has_null=True),
        line("steps", 4, width=0.0),
        line("one", 1),
        places("home", np.array([[0, 0], [1, 0], [0.2, 0.5]]), has_null=True),
    )
)


def test_every_code_has_a_point_of_its_own_however_narrow_its_cell() -> None:
    columns = tuple(range(len(OWN)))
    family = at_their_cells(OWN, columns)
    assert tuple(block.space.size for block in family.blocks) == OWN.shape
    single_columns = SingleColumns(family)
    assert single_columns.columns == columns
    assert single_columns.merged == ()
    assert single_columns.coarsening == (0.0,) * len(columns)


def test_tables_are_the_columns_histograms() -> None:
    rng = np.random.default_rng(41)
    codes = np.stack([rng.integers(0, cells, size=99) for cells in OWN.shape], axis=1)
    family = at_their_cells(OWN, (3, 1))
    assert [block.name for block in family.blocks] == ["steps", "age"]
    for block, table in zip(
        family.blocks, count_codes(codes, [block.cells for block in family.blocks]), strict=True
    ):
        (column,) = block.columns
        assert (table == np.bincount(codes[:, column], minlength=OWN.shape[column])).all()


def test_lines_stay_lines_and_offsets_are_half_of_the_widths() -> None:
    uneven, age = at_their_cells(OWN, (0, 1)).blocks
    assert is_line(uneven.space)
    assert uneven.offsets[0] == pytest.approx([0.0005, 0.0005, 0.499])
    assert not is_line(age.space)  # nulls are at distance 1
    assert age.offsets[0] == pytest.approx([*[1 / 18] * 9, 0.0])
