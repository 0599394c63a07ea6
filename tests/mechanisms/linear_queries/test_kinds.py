"""Every kind of query against its definition, record by record; and what is refused."""

from itertools import product

import numpy as np
import pytest

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.linear_queries import kinds
from hallmark.mechanisms.privacy.linear_queries import Boxes, Matrix
from tests.builders.columns import line, nominal
from tests.mechanisms.linear_queries.written import all_records, part_written_out

DOMAIN = Domain((line("x", 3, has_null=True), nominal("c", 3), line("y", 4)))
SHAPE = DOMAIN.shape
RECORDS = all_records(SHAPE).tolist()
WIDE = Domain(tuple(line(f"w{i}", 20) for i in range(6)))


def same_queries(found, expected):
    """The same rows in any order, as often."""
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, expected))


def indicator(holds):
    return [float(holds(*record)) for record in RECORDS]


def test_a_marginal_has_a_query_for_every_cell_nulls_too():
    (one, two) = kinds.marginal_cells(DOMAIN, [(0, 1), (2,)])
    pairs = product(range(4), range(3))
    expected = [indicator(lambda x, c, y, p=pair: (x, c) == p) for pair in pairs]
    assert part_written_out(one, SHAPE).tolist() == expected
    assert part_written_out(two, SHAPE).tolist() == [
        indicator(lambda x, c, y, v=v: y == v) for v in range(4)
    ]


def test_prefixes_end_at_every_cell_and_hold_no_null():
    expected = [indicator(lambda x, c, y, u=u: x < u) for u in (1, 2)]
    expected.append(indicator(lambda x, c, y: x != 3))  # all values, but not the null
    same_queries(part_written_out(kinds.prefixes(DOMAIN, (0,)), SHAPE), expected)
    without_nulls = [indicator(lambda x, c, y, u=u: y < u) for u in (1, 2, 3)]
    same_queries(part_written_out(kinds.prefixes(DOMAIN, (2,)), SHAPE), without_nulls)


@pytest.mark.parametrize("columns", [(0, 2), (2, 0)])
def test_prefixes_of_several_columns_are_products(columns):
    ends = product((1, 2, 3), (1, 2, 3, 4))
    expected = [indicator(lambda x, c, y, e=e: x < e[0] and y < e[1]) for e in ends]
    same_queries(part_written_out(kinds.prefixes(DOMAIN, columns), SHAPE), expected)


def test_ranges_are_all_products_of_ranges_but_the_one_of_all_records():
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 5)]
    expected = [
        indicator(lambda x, c, y, p=pair: p[0] <= y < p[1]) for pair in pairs if pair != (0, 4)
    ]
    same_queries(part_written_out(kinds.ranges(DOMAIN, (2,)), SHAPE), expected)
    both = [
        indicator(lambda x, c, y, p=p, r=r: p[0] <= y < p[1] and r[0] <= x < r[1])
        for p in pairs
        for r in pairs
        if r[1] <= 3
    ]
    same_queries(part_written_out(kinds.ranges(DOMAIN, (0, 2)), SHAPE), both)


def test_random_ranges_are_some_of_all_and_each_is_as_likely():
    rng = np.random.default_rng(0)
    part = kinds.random_ranges(DOMAIN, (2,), 9000, rng)
    known = {tuple(row) for row in part_written_out(kinds.ranges(DOMAIN, (2,)), SHAPE).tolist()}
    drawn = [tuple(row) for row in part_written_out(part, SHAPE).tolist()]
    assert set(drawn) == known
    counts = [drawn.count(one) for one in known]
    assert len(counts) == 9
    assert 850 < min(counts) <= max(counts) < 1150  # 1000 each, 5 standard deviations
    again = kinds.random_ranges(DOMAIN, (2,), 9000, np.random.default_rng(0))
    assert again.rows.digest == part.rows.digest


@pytest.mark.parametrize(
    ("sets", "kind"),
    [
        ({0: [1, 2], 2: [0, 1]}, Boxes),
        ({0: [0, 3], 1: [2, 0]}, Matrix),
        ({1: [0, 2]}, Matrix),
        ({0: [3]}, Boxes),
    ],
)
def test_a_conjunction_holds_where_all_codes_lie_in_their_sets(sets, kind):
    part = kinds.conjunction(DOMAIN, sets, "both")
    expected = indicator(lambda *record: all(record[a] in some for a, some in sets.items()))
    assert isinstance(part.rows, kind)
    assert part_written_out(part, SHAPE).tolist() == [expected]


def test_a_conjunction_of_many_columns_counts_in_how_many_a_record_is_inside():
    sets = {column: [1, 5, 7] for column in range(6)}  # of 64 million combinations
    part = kinds.conjunction(WIDE, sets, "all")
    assert part.cells.size == 7
    records = np.random.default_rng(0).choice([1, 5, 7, 8], size=(2000, 6), p=[0.4, 0.3, 0.2, 0.1])
    expected = np.isin(records, [1, 5, 7]).all(axis=1)
    assert 0 < expected.sum() < 2000
    assert part.rows.row(0)[part.cells(records)].tolist() == expected.tolist()


def test_a_condition_on_kinds_of_codes():
    told = {0: np.array([0, 1, 1, 0]), 2: np.array([0, 0, 1, 2])}
    holds = np.array([[True, False, False], [False, True, False]])
    part = kinds.condition(told, holds, "either")
    expected = indicator(lambda x, c, y: holds[told[0][x], told[2][y]])
    assert part_written_out(part, SHAPE).tolist() == [expected]


@pytest.mark.parametrize("columns", [(2,), (0, 2), (0, 1, 2)])
def test_a_halfspace_holds_where_weights_reach_the_threshold_and_nothing_is_null(columns):
    rng = np.random.default_rng(len(columns))
    weights = {column: rng.integers(-4, 5, SHAPE[column]) for column in columns}
    values = {c: table[: DOMAIN.attributes[c].levels] for c, table in weights.items()}
    least = sum(int(table.min()) for table in values.values())
    most = sum(int(table.max()) for table in values.values())
    for threshold in range(least + 1, most + 1):
        part = kinds.halfspace(DOMAIN, weights, threshold, "half")
        expected = [
            float(
                not (0 in columns and record[0] == 3)
                and sum(int(weights[c][record[c]]) for c in columns) >= threshold
            )
            for record in RECORDS
        ]
        assert part_written_out(part, SHAPE).tolist() == [expected]
    for threshold in (least, most + 1):
        with pytest.raises(ValueError, match="for every record or for none"):
            kinds.halfspace(DOMAIN, weights, threshold, "half")


def test_random_halfspaces_tell_records_apart_and_repeat_by_seed():
    parts = kinds.random_halfspaces(DOMAIN, (0, 2), 30, np.random.default_rng(3))
    rows = [part_written_out(part, SHAPE)[0] for part in parts]
    assert all(set(row.tolist()) == {0.0, 1.0} for row in rows)
    assert len({tuple(row) for row in rows}) > 10
    again = kinds.random_halfspaces(DOMAIN, (0, 2), 30, np.random.default_rng(3))
    assert [p.cells.digest for p in again] == [p.cells.digest for p in parts]
    assert [p.title for p in again] == [p.title for p in parts]


def test_means_are_positions_rounded_to_sixteen_bits_with_nulls_as_zero():
    x, y = (part_written_out(part, SHAPE)[0] for part in kinds.means(DOMAIN, (0, 2)))
    positions = [np.append(DOMAIN.attributes[0].positions, 0), DOMAIN.attributes[2].positions]
    for row, place, column in ((x, positions[0], 0), (y, positions[1], 2)):
        exact = np.array([place[record[column]] for record in RECORDS])
        assert np.abs(row - exact).max() <= 2**-17
        assert (row * 2**16 == np.rint(exact * 2**16)).all()


@pytest.mark.parametrize("columns", [(0, 1), (1, 0)])
def test_a_matrix_has_its_cells_in_the_order_of_the_columns_as_listed(columns):
    rng = np.random.default_rng(0)
    sizes = [SHAPE[column] for column in columns]
    values = rng.integers(-3, 4, size=(2, 12))
    part = kinds.matrix(DOMAIN, columns, values, "mine", unit=3)
    expected = [
        [row[np.ravel_multi_index([r[c] for c in columns], sizes)] / 3 for r in RECORDS]
        for row in values
    ]
    np.testing.assert_allclose(part_written_out(part, SHAPE), expected, rtol=1e-15)
    assert part.unit == 3


def test_values_of_a_matrix_are_rounded_and_brought_to_the_coarsest_unit():
    values = np.array([[0.5, -0.25, 0.0], [1.0, -1.0, 0.75]])
    part = kinds.matrix(DOMAIN, (1,), values, "quarters")
    assert part.unit == 4
    third = kinds.matrix(DOMAIN, (1,), np.array([[1 / 3, 0, 0]]), "thirds")
    assert part_written_out(third, SHAPE).max() == 21845 / 65536
    assert kinds.matrix(DOMAIN, (1,), np.zeros((1, 3)), "nothing").unit == 1


@pytest.mark.parametrize(
    ("values", "unit", "words"),
    [
        (np.ones((1, 4)), None, r"has 4 numbers a row, but c have 3 = 3 cells"),
        (np.ones((0, 3)), None, "holds no query"),
        (np.ones(3), None, "holds no query"),
        (np.array([[0, 1, 0], [0, np.nan, 0]]), None, "row 2, number 2 is nan; give a number"),
        (np.array([[0, -np.inf, 0]]), None, "row 1, number 2 is -inf"),
        (np.array([[0, 1.5, 0]]), None, r"row 1, number 2 is 1\.5, outside \[-1, 1\]"),
        (np.array([[0, 4, 0]]), 3, r"is 4, outside \[-3, 3\]"),
        (np.array([[0, 0.5, 0]]), 3, r"is 0\.5, no whole number"),
    ],
)
def test_wrong_matrices_are_refused_by_place(values, unit, words):
    with pytest.raises(ValueError, match=words):
        kinds.matrix(DOMAIN, (1,), values, "mine", unit=unit)


ONE = Domain((line("x", 1),))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: kinds.marginal_cells(WIDE, [tuple(range(6))]), "= 64,000,000 cells of w0 x w1"),
        (lambda: kinds.prefixes(WIDE, tuple(range(6))), "at most 5"),
        (lambda: kinds.prefixes(WIDE, (1, 1)), "each once"),
        (lambda: kinds.ranges(WIDE, tuple(range(4))), "are 1,944,810,000 queries, but at most"),
        (lambda: kinds.ranges(ONE, (0,)), "only the one of all records"),
        (
            lambda: kinds.random_ranges(ONE, (0,), 3, np.random.default_rng(0)),
            "every range holds all",
        ),
        (
            lambda: kinds.random_ranges(WIDE, (0,), 2**22 + 1, np.random.default_rng(0)),
            "random ranges are 4,194,305 queries",
        ),
        (
            lambda: kinds.random_halfspaces(ONE, (0,), 3, np.random.default_rng(0)),
            "tells nothing apart",
        ),
        (lambda: kinds.conjunction(DOMAIN, {1: []}, ""), "no record fulfils it"),
        (lambda: kinds.conjunction(DOMAIN, {1: [3]}, ""), "outside its column"),
        (
            lambda: kinds.condition({0: np.arange(3000), 1: np.arange(3000)},
                                    np.ones((3000, 3000), dtype=bool), ""),
            "tells 9,000,000 combinations",
        ),
    ],
)  # fmt: skip
def test_what_is_too_much_or_says_nothing_is_refused(ask, words):
    with pytest.raises(ValueError, match=words):
        ask()
