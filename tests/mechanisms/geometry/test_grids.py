"""Products of grids against distances of coordinates, point by point."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.geometry.finite_metrics import UNIT, pairwise
from hallmark.mechanisms.geometry.grids import Axis, axis, cell_map, product_space
from hallmark.mechanisms.geometry.paths import path_length
from tests.mechanisms.geometry.small_spaces import distances, metric, nominal, numeric, ordinal


def places(levels: int, has_null: bool = False) -> Attribute:
    between = pairwise(np.random.default_rng(levels).random((levels, 2)), "l2")
    return metric(between / max(between.max(), 1e-300), has_null)


KINDS = st.sampled_from([numeric, ordinal, nominal])
ATTRIBUTES = st.builds(lambda kind, *a: kind(*a), KINDS, st.integers(1, 5), st.booleans())


def assert_consistent(axes: list[Axis], path: str, tolerance: float) -> None:
    """Graph, path and tree of the product have the distances that the axes were defined by."""

    def apart(column: Axis, a: int, b: int) -> float:
        """The metric in words, for points by way of the codes that they stand for."""
        attribute = column.attribute
        i, j = int(column.representatives[a]), int(column.representatives[b])
        if i == j:
            return 0.0
        if max(i, j) == attribute.levels or attribute.kind is Kind.NOMINAL:
            return 1.0
        if attribute.distances is not None:
            return float(attribute.distances[i, j])
        if attribute.kind is Kind.ORDINAL and column.k % max(1, attribute.levels - 1) == 0:
            return float(abs(attribute.positions[i] - attribute.positions[j]))
        cells = [min(int(attribute.positions[c] * column.k), column.k - 1) for c in (i, j)]
        return abs(cells[0] - cells[1]) / column.k

    space = product_space(axes, path)  # type: ignore[arg-type]
    points = list(itertools.product(*(range(column.points) for column in axes)))
    expected = np.array(
        [
            [max(apart(c, a, b) for c, a, b in zip(axes, p, q, strict=True)) for q in points]
            for p in points
        ]
    )
    assert distances(space) == pytest.approx(expected, abs=tolerance)
    assert sorted(space.order) == list(range(len(points)))
    assert space.gaps == pytest.approx(expected[space.order[:-1], space.order[1:]], abs=tolerance)
    assert sorted(space.tree.order) == list(range(len(points)))
    for level, diameters in zip(space.tree.levels, space.tree.diameters, strict=True):
        for (start, _, stop), diameter in zip(level, diameters, strict=True):
            inside = space.tree.order[start:stop]
            assert diameter == pytest.approx(expected[np.ix_(inside, inside)].max(), abs=tolerance)


@given(
    st.lists(ATTRIBUTES, min_size=1, max_size=3),
    st.integers(1, 5),
    st.sampled_from(["snake", "short"]),
)
@settings(max_examples=60)
def test_shortest_paths_gaps_and_diameters_are_the_distances_of_the_points(
    attributes: list[Attribute], k: int, path: str
) -> None:
    assert_consistent([axis(attribute, k) for attribute in attributes], path, 1e-12)


@pytest.mark.parametrize(
    "attributes",
    [
        [places(6)],
        [places(5, True)],
        [places(4), numeric(3, True)],
        [nominal(3), places(3, True)],
        [places(1)],
    ],
)
def test_products_with_places_have_their_distances_up_to_a_unit(
    attributes: list[Attribute],
) -> None:
    assert_consistent([axis(attribute, 4) for attribute in attributes], "snake", UNIT)


def test_without_a_king_move_some_distance_is_wrong() -> None:
    """The moves are needed: the broken twin without one diagonal does not pass."""
    space = product_space([axis(numeric(3), 3)] * 2)
    whole = distances(space)
    for edge in range(len(space.tails)):
        others = np.arange(len(space.tails)) != edge
        broken = replace(
            space,
            tails=space.tails[others],
            heads=space.heads[others],
            lengths=space.lengths[others],
        )
        assert (distances(broken) > whole + 1e-12).any()


@pytest.mark.parametrize(("k", "s", "arcs"), [(8, 2, 420), (25, 2, 4704), (32, 2, 7812)])
def test_every_edge_is_laid_once(k: int, s: int, arcs: int) -> None:
    space = product_space([axis(numeric(k), k)] * s)
    assert 2 * len(space.tails) == arcs
    ends = np.sort(np.stack([space.tails, space.heads]), axis=0)
    assert len(np.unique(ends, axis=1).T) == len(space.tails)
    assert space.nodes == space.size == k**s


def test_a_hub_is_there_only_where_there_are_segments() -> None:
    plain = product_space([axis(numeric(4), 4)] * 2)
    with_nulls = product_space([axis(numeric(4), 4), axis(numeric(4, True), 4)])
    assert plain.nodes == 16
    assert with_nulls.nodes == 4 * 5 + 1
    assert (with_nulls.heads == 20).sum() == 20
    assert set(with_nulls.lengths[with_nulls.heads == 20] * with_nulls.unit) == {0.5}


def test_cells_that_no_code_falls_into_are_no_points_but_can_be_crossed() -> None:
    sparse = axis(ordinal(3), 9)  # positions 0, 1/2 and 1: cells 0, 4 and 8
    assert sparse.places.tolist() == [0, 4, 8]
    space = product_space([sparse, sparse])
    assert space.size == 9
    assert space.nodes == 81


@given(ATTRIBUTES | st.builds(places, st.integers(1, 5), st.booleans()), st.integers(1, 12))
@settings(max_examples=80)
def test_every_point_is_met_and_its_representative_is_the_nearest_code_sent_to_it(
    attribute: Attribute, k: int
) -> None:
    column = axis(attribute, k)
    assert sorted(set(column.table)) == list(range(column.points))
    for point, code in enumerate(column.representatives):
        own = np.flatnonzero(column.table == point)
        assert code in own
        assert column.offsets[code] == column.offsets[own].min()


@given(st.integers(1, 12), st.integers(1, 12), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=80)
def test_no_value_lies_farther_from_its_point_than_the_offset_of_its_code(
    levels: int, k: int, has_null: bool, seed: int
) -> None:
    attribute = numeric(levels, has_null)
    column = axis(attribute, k)
    values = np.random.default_rng(seed).random(50)
    codes = np.minimum((values * levels).astype(int), levels - 1)
    points = (column.places[column.table[codes]] + 0.5) / k
    assert (np.abs(values - points) <= column.offsets[codes] + 1e-12).all()
    edges = attribute.positions[:, None] + np.array([-0.5, 0.5]) / levels
    farthest = np.abs(edges - (column.places[column.table[:levels], None] + 0.5) / k).max(axis=1)
    assert column.offsets[:levels] == pytest.approx(farthest)
    assert not column.offsets[levels:].any()


def test_the_null_point_is_never_nearer_than_the_metric_of_the_attribute_has_it() -> None:
    column = axis(numeric(7, True), 4)
    null = column.points - 1
    centres = (column.places[:null] + 0.5) / 4
    apart = column.apart(np.arange(null), np.full(null, null))
    assert (apart >= 0.5 + np.abs(centres - 0.5)).all()


@pytest.mark.parametrize(
    ("levels", "k", "points"), [(12, 11, 12), (12, 99, 12), (2, 1, 2), (5, 8, 5)]
)
def test_values_that_are_multiples_of_the_step_are_moved_by_nothing(
    levels: int, k: int, points: int
) -> None:
    column = axis(ordinal(levels, has_null=True), k)
    assert column.points == points + 1
    assert not column.offsets.any()
    assert axis(ordinal(5), k if k % 4 else k + 1).offsets.max() > 0


def test_cells_that_have_a_width_are_moved_even_so() -> None:
    wide = Attribute(
        name="w", kind=Kind.NUMERIC, positions=np.array([0.0, 1.0]), widths=np.full(2, 0.1)
    )
    assert axis(wide, 1).points == 1
    assert axis(wide, 1).offsets.max() == 0.55


def test_the_last_position_belongs_to_the_last_cell() -> None:
    column = axis(ordinal(11), 4)  # the last value lies at 1
    assert column.table[-1] == column.points - 1
    assert column.places[-1] == 3


def test_codes_are_sent_to_points_in_c_order() -> None:
    attributes = (numeric(6, True), nominal(3), ordinal(4), places(4))
    domain = Domain(attributes)
    for columns in ((0,), (2, 1), (0, 1, 2), (3, 0)):
        axes = [axis(attributes[column], 3) for column in columns]
        records = np.array(list(itertools.product(*map(range, domain.shape))))
        shape = tuple(column.points for column in axes)
        points = [a.table[records[:, column]] for a, column in zip(axes, columns, strict=True)]
        cells = cell_map(columns, axes, domain)
        assert np.array_equal(cells(records), np.ravel_multi_index(points, shape))
        assert cells.size == product_space(axes).size


def test_a_snake_steps_from_cell_to_cell_on_a_plain_grid() -> None:
    for k, s in ((5, 2), (4, 3), (7, 1)):
        space = product_space([axis(numeric(k), k)] * s)
        assert space.gaps == pytest.approx(np.full(k**s - 1, 1 / k))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_snake_changes_category_as_seldom_as_it_can(order: tuple[int, ...]) -> None:
    axes = [axis(attribute, 6) for attribute in (numeric(6), nominal(3), numeric(6))]
    space = product_space([axes[i] for i in order])
    assert (space.gaps == 1).sum() == 2


@pytest.mark.parametrize(("k", "s"), [(8, 2), (4, 3), (16, 1)])
def test_hilberts_curve_steps_from_cell_to_cell(k: int, s: int) -> None:
    space = product_space([axis(numeric(k), k)] * s, "hilbert")
    assert space.gaps == pytest.approx(np.full(k**s - 1, 1 / k), abs=0)


def test_hilberts_curve_is_no_snake() -> None:
    paths = [product_space([axis(numeric(4), 4)] * 2, path).order for path in ("hilbert", "snake")]
    assert paths[0].tolist() != paths[1].tolist()


def test_a_short_path_is_no_longer_than_a_snake_through_scattered_points() -> None:
    scattered = Attribute(
        name="x",
        kind=Kind.NUMERIC,
        positions=np.array([0.01, 0.02, 0.5, 0.97, 0.99]),
        widths=np.zeros(5),
    )
    axes = [axis(scattered, 200), axis(numeric(4), 200)]
    lengths = {path: product_space(axes, path).gaps.sum() for path in ("snake", "short")}
    assert lengths["short"] <= lengths["snake"]
    space = product_space(axes, "short")
    assert path_length(distances(space), space.order) == pytest.approx(lengths["short"])


def test_the_tree_of_a_grid_cuts_the_widest_side_first() -> None:
    space = product_space([axis(numeric(25), 25)] * 2)
    assert space.tree.depth == 10
    assert space.tree.diameters[0] == [24 / 25]
    mixed = product_space([axis(numeric(8), 8), axis(nominal(2), 8)])
    assert set(mixed.tree.order[:8] % 2) == {0}  # the categories part at the root


def test_a_million_points_are_laid_out_within_seconds() -> None:
    space = product_space([axis(numeric(1000), 1000)] * 2)
    assert (space.size, space.tree.depth) == (10**6, 20)
    assert len(space.tails) == 2 * (2 * 1000 * 999 + 2 * 999 * 999) // 2


@pytest.mark.parametrize("k", [0, -3])
def test_a_grid_without_cells_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=f"x: a grid has one cell at least, not k = {k}"):
        axis(numeric(3), k)


def test_distances_that_are_no_metric_are_refused_by_name() -> None:
    broken = Attribute(
        name="town",
        kind=Kind.METRIC,
        positions=np.linspace(0, 1, 3),
        widths=np.zeros(3),
        distances=np.array([[0, 0.1, 1], [0.1, 0, 0.1], [1, 0.1, 0]]),
    )
    with pytest.raises(ValueError, match="town: distances: the way from 0 to 2 is 1, but by 1"):
        axis(broken, 4)


def test_products_that_are_too_large_are_refused_with_their_size() -> None:
    column = axis(numeric(25), 25)
    with pytest.raises(
        ValueError, match=r"25\^6 = 244,140,625 points of 8 bytes = 2\.0 GB.*smaller k"
    ):
        product_space([column] * 6)
    with pytest.raises(ValueError, match=r"x x c: 25 x 90 = 2,250 points"):
        product_space([column, axis(nominal(90), 25)], "short")
    with pytest.raises(ValueError, match=r"place x x: 61 x 25 = 1,525 points .* at most 1,500"):
        product_space([axis(places(61), 25), column])
    with pytest.raises(ValueError, match=r"the graph has [\d,]+ edges of 16 bytes"):
        product_space([axis(numeric(64), 64)] * 4)


def test_lines_of_one_grid_have_one_k() -> None:
    with pytest.raises(ValueError, match="one k, not 4 and 5"):
        product_space([axis(numeric(9), 4), axis(numeric(9), 5)])
    assert product_space([axis(numeric(1), 4), axis(numeric(9), 5), axis(nominal(2), 7)]).size == 10


def test_an_axis_of_another_column_is_refused() -> None:
    domain = Domain((numeric(4), nominal(3)))
    with pytest.raises(ValueError, match="c: an axis over 3 codes, but column 0 has 4"):
        cell_map((0,), [axis(nominal(3), 2)], domain)


@pytest.mark.parametrize(
    ("axes", "path", "message"),
    [
        ([], "snake", "over one column at least"),
        ([axis(numeric(4, True), 4)], "hilbert", "no nulls or categories.*5 points"),
        ([axis(numeric(4), 4), axis(nominal(2), 4)], "hilbert", "4 x 2 points; take snake"),
        ([axis(numeric(2), 4)] * 2, "hilbert", "lines of k points each"),
        ([axis(numeric(6), 6)] * 2, "hilbert", "power of two of cells a side, not k = 6"),
        ([axis(places(3), 4)], "hilbert", "hilbert needs grids, and place has distances"),
        ([axis(numeric(4), 4)], "straight", "'straight' is none of snake, hilbert, short"),
    ],
)
def test_axes_that_do_not_suit_the_path_are_refused(
    axes: list[Axis], path: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        product_space(axes, path)  # type: ignore[arg-type]
