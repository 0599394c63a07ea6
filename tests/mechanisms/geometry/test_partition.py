"""The partition against its definition, box by box and record by record."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.geometry.partition import Partition, refine, split_order
from hallmark.mechanisms.geometry.wasserstein import w1
from hallmark.mechanisms.privacy.transforms import LevelSums
from tests.mechanisms.geometry.small_spaces import lattice, nominal, numeric


def places(levels: int, has_null: bool = False) -> Attribute:
    """At distances that are whole multiples of 1/64, so that W1 is exact."""
    return lattice(np.random.default_rng(levels), levels, has_null=has_null)


attributes = (
    st.builds(numeric, st.integers(1, 9), st.booleans())
    | st.builds(nominal, st.integers(1, 6), st.booleans())
    | st.builds(places, st.integers(1, 6), st.booleans())
)
domains = st.lists(attributes, min_size=1, max_size=3).map(lambda a: Domain(tuple(a)))


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    domain = draw(domains)
    order = split_order(domain, 8)
    return Partition(domain, order[: draw(st.integers(0, len(order)))])


def all_records(domain: Domain) -> np.ndarray:
    return np.array(list(itertools.product(*(range(k) for k in domain.shape))))


@given(partitions())
@settings(max_examples=60)
def test_every_record_lies_in_the_box_of_its_leaf_and_in_no_other(partition: Partition) -> None:
    records = all_records(partition.domain)
    leaves = partition.leaf_map(records)
    inside = np.ones((len(records), partition.leaves), dtype=bool)
    for a in range(len(partition.domain)):
        start, stop = partition.boxes(a, partition.depth).T
        inside &= (start <= records[:, [a]]) & (records[:, [a]] < stop)
    assert (inside.sum(axis=1) == 1).all()
    assert (inside.argmax(axis=1) == leaves).all()
    assert (inside.any(axis=0) == ~partition.empty(partition.depth)).all()


@given(partitions())
@settings(max_examples=60)
def test_boxes_of_a_level_hold_what_the_level_sums_count(partition: Partition) -> None:
    records = all_records(partition.domain)
    counts = np.bincount(partition.leaf_map(records), minlength=partition.leaves)
    for level in range(partition.depth + 1):
        sizes = np.ones(1 << level, dtype=int)
        for a in range(len(partition.domain)):
            start, stop = partition.boxes(a, level).T
            sizes *= stop - start
        assert (LevelSums(partition.depth - level)(counts) == sizes).all()
        assert ((sizes == 0) == partition.empty(level)).all()


@given(partitions())
@settings(max_examples=40)
def test_diameters_are_the_largest_distances_of_cells_plus_their_extent(p: Partition) -> None:
    def extent(a: Attribute, start: int, stop: int) -> float:
        """Brute force over pairs of points: edges of value cells, and the null cell."""
        eye = np.eye(a.cells)
        if a.kind in (Kind.NOMINAL, Kind.METRIC):
            pairs = itertools.product(range(start, stop), repeat=2)
            return max(float(w1(a, eye[i] - eye[j])) for i, j in pairs)
        edges = [
            a.positions[i] + s * a.widths[i] / 2
            for i in range(start, min(stop, a.levels))
            for s in (-1, 1)
        ]
        far = [abs(x - y) for x, y in itertools.product(edges, repeat=2)]
        if stop > a.levels:
            far += [0.5 + abs(x - 0.5) for x in edges]
        return max(far, default=0.0)

    for level in range(p.depth + 1):
        boxes = [p.boxes(a, level) for a in range(len(p.domain))]
        for node, diameter in enumerate(p.diameters(level)):
            if p.empty(level)[node]:
                assert diameter == 0
            else:
                widest = max(
                    extent(a, *box[node]) for a, box in zip(p.domain.attributes, boxes, strict=True)
                )
                assert diameter == pytest.approx(widest)


@given(partitions())
@settings(max_examples=40)
def test_diameters_do_not_grow_going_down(partition: Partition) -> None:
    for level in range(partition.depth):
        parents = np.repeat(partition.diameters(level), 2)
        assert (partition.diameters(level + 1) <= parents + 1e-12).all()


@given(partitions())
@settings(max_examples=40)
def test_moving_costs_something_exactly_where_both_children_can_hold_records(
    partition: Partition,
) -> None:
    for level in range(partition.depth):
        empty = partition.empty(level + 1)
        both = ~empty[::2] & ~empty[1::2]
        costs = partition.flow_costs(level)
        assert both.any()
        assert ((costs > 0) == both).all()


@given(partitions(), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_drawn_records_fall_into_the_leaves_they_were_drawn_for(p: Partition, seed: int) -> None:
    leaves = np.repeat(np.flatnonzero(~p.empty(p.depth)), 3)
    assert (p.leaf_map(p.draw(leaves, np.random.default_rng(seed))) == leaves).all()


@given(partitions(), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_one_way_histograms_are_within_the_coarsening_of_the_true_ones(
    p: Partition, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    records = all_records(p.domain)
    records = records[rng.integers(0, len(records), size=4)]
    counts = np.bincount(p.leaf_map(records), minlength=p.leaves)
    for a, attribute in enumerate(p.domain.attributes):
        true = np.bincount(records[:, a], minlength=attribute.cells)
        spread = p.one_way(a, np.stack([counts, 2 * counts]))
        assert np.allclose(spread[1], 2 * spread[0])
        assert spread.sum() == pytest.approx(12)
        assert w1(attribute, spread[0] - true) <= 4 * p.coarsening(a) + 1e-9


def test_the_coarsening_is_attained() -> None:
    for attribute in (
        numeric(6),
        numeric(5, True),
        nominal(4),
        nominal(3, True),
        places(5),
        places(4, True),
    ):
        p = Partition(Domain((attribute,)), ())
        moved = [
            float(w1(attribute, p.one_way(0, np.ones(1)) - point))
            for point in np.eye(attribute.cells)
        ]
        assert max(moved) == pytest.approx(p.coarsening(0))


def test_a_full_partition_has_single_cells_and_loses_nothing() -> None:
    domain = Domain((numeric(5, True), nominal(3), numeric(1)))
    p = Partition(domain, split_order(domain, 30))
    records = all_records(domain)
    assert len(set(p.leaf_map(records))) == len(records)
    assert [p.coarsening(a) for a in range(3)] == [0.0, 0.0, 0.0]


def test_the_widest_attribute_is_split_first_and_the_lowest_position_among_equals() -> None:
    # Both start at diameter 1; the numeric one halves, the nominal one stays at 1 until it is done.
    assert split_order(Domain((numeric(8), nominal(4))), 30) == (0, 1, 1, 0, 0)
    assert split_order(Domain((nominal(4), numeric(8))), 30) == (0, 0, 1, 1, 1)


def test_the_null_cell_is_the_first_to_be_taken_off_values_that_are_not_all_far_apart() -> None:
    assert refine(numeric(4, True), 1).tolist() == [[0, 4], [4, 5]]
    assert refine(places(4, True), 1).tolist() == [[0, 4], [4, 5]]
    assert refine(nominal(4, True), 1).tolist() == [[0, 3], [3, 5]]


def test_the_longer_part_comes_first_and_single_cells_get_an_empty_sibling() -> None:
    assert refine(numeric(3), 2).tolist() == [[0, 1], [1, 2], [2, 3], [3, 3]]


def test_a_domain_of_one_cell_has_nothing_to_split() -> None:
    domain = Domain((numeric(1), nominal(1)))
    assert split_order(domain, 20) == ()
    p = Partition(domain, ())
    assert p.leaf_map(np.zeros((3, 2), dtype=int)).tolist() == [0, 0, 0]
    assert p.diameters(0).tolist() == [1.0]  # the numeric cell is the whole interval


def test_wide_single_cells_are_not_split_for_their_width() -> None:
    assert split_order(Domain((numeric(1), numeric(2, width=0.0))), 20) == (1,)
