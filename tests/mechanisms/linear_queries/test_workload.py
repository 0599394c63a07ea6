"""Workloads: parts in a common unit, shared blocks, and what every query is called."""

import json
import pickle

import numpy as np
import pytest

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.linear_queries import kinds
from hallmark.mechanisms.linear_queries.cell_names import CellNames
from hallmark.mechanisms.linear_queries.workload import Workload
from hallmark.mechanisms.privacy.linear_queries import Boxes, EachCell, Matrix
from tests.builders.columns import line, nominal
from tests.mechanisms.linear_queries.written import part_written_out, written_out

DOMAIN = Domain((line("x", 3, has_null=True), nominal("c", 3), line("y", 4)))
NAMES = (
    CellNames("age", ("0", "10", "20", "null"), ("9", "19", "29", "null")),
    CellNames("sex", ("F", "M", "X"), ("F", "M", "X"), ordered=False),
    CellNames("degree", ("a", "b", "c", "d"), ("a", "b", "c", "d")),
)
RNG = np.random.default_rng(0)
PARTS = (
    *kinds.marginal_cells(DOMAIN, [(0, 1)]),
    kinds.ranges(DOMAIN, (2,)),
    kinds.matrix(DOMAIN, (2,), RNG.integers(-3, 4, (2, 4)), "first file", unit=3),
    kinds.conjunction(DOMAIN, {2: [1, 2]}, "degree in the middle"),
    *kinds.marginal_cells(DOMAIN, [(0, 1), (2,)]),
    kinds.matrix(DOMAIN, (2,), RNG.uniform(-1, 1, (3, 4)), "second file"),
    kinds.conjunction(DOMAIN, {2: [0, 3]}, "degree at the ends"),
    *kinds.random_halfspaces(DOMAIN, (0, 2), 2, RNG),
)
WORKLOAD = Workload.of(DOMAIN, PARTS, NAMES)


def test_queries_have_the_values_of_their_parts_in_a_common_unit():
    found = written_out(WORKLOAD.queries, DOMAIN.shape)
    parts = [part_written_out(part, DOMAIN.shape) for part in PARTS]
    joined = [parts[i] for i in (0, 1, 3, 2, 6, 7, 5, 8, 9)]  # 4 is 0 again, with a marginal more
    order = [*joined[:6], parts[5][:4], *joined[7:]]
    np.testing.assert_array_equal(found, np.concatenate(order))
    assert WORKLOAD.queries.unit == 3 * 2**16
    assert np.abs(found).max() <= 1
    assert WORKLOAD.signed == 2 * len(found) == 2 * WORKLOAD.size


def test_parts_of_a_kind_on_the_same_cells_share_a_block():
    kinds_of_rows = [type(block.rows) for block in WORKLOAD.queries.blocks]
    assert kinds_of_rows == [EachCell, Boxes, Matrix, EachCell, Boxes, Boxes]


def test_every_query_is_called_by_its_cells_or_by_its_title():
    labels = [WORKLOAD.label(query) for query in range(WORKLOAD.size)]
    assert labels[:4] == [
        "age 0 to 9, sex = F", "age 0 to 9, sex = M", "age 0 to 9, sex = X", "age 10 to 19, sex = F"
    ]  # fmt: skip
    assert labels[11] == "age = null, sex = X"
    assert labels[12:15] == ["degree = a", "degree a to b", "degree a to c"]
    assert labels[21:28] == [
        "degree in the middle",
        "first file, row 1", "first file, row 2",
        "second file, row 1", "second file, row 2", "second file, row 3",
        "degree at the ends",
    ]  # fmt: skip
    assert labels[28:32] == ["degree = a", "degree = b", "degree = c", "degree = d"]
    assert all("positions 0 to 1" in label for label in labels[32:])


def test_without_names_cells_are_called_by_their_codes():
    plain = Workload.of(DOMAIN, [kinds.prefixes(DOMAIN, (0, 2))])
    assert plain.label(1) == "x = 0, y 0 to 1"
    assert plain.label(3) == "x = 0"


def test_a_list_of_categories_is_no_interval():
    assert NAMES[1].run(0, 2) == "sex in {F, M}"
    assert NAMES[0].run(0, 2) == "age 0 to 19"
    assert NAMES[0].run(1, 1) == "age in none"


def test_queries_and_the_workload_are_described_in_plain_values():
    described = json.loads(json.dumps([WORKLOAD.described(q) for q in range(WORKLOAD.size)]))
    values = written_out(WORKLOAD.queries, DOMAIN.shape)
    for one, row in zip(described, values, strict=True):
        assert one["least"] == pytest.approx(row.min())
        assert one["greatest"] == pytest.approx(row.max())
    assert described[0]["columns"] == ["age", "sex"]
    told = json.loads(json.dumps(dict(WORKLOAD.summary)))
    assert (told["queries"], told["signed_queries"]) == (WORKLOAD.size, 2 * WORKLOAD.size)
    assert told["columns"] == ["age", "sex", "degree"]


def test_it_survives_the_way_to_another_machine():
    copy = pickle.loads(pickle.dumps(WORKLOAD))
    assert copy.queries.digest == WORKLOAD.queries.digest
    assert copy.label(25) == WORKLOAD.label(25)


def test_no_query_and_units_without_a_small_common_one_are_refused():
    with pytest.raises(ValueError, match="there is no query"):
        Workload.of(DOMAIN, [])
    odd = [
        kinds.matrix(DOMAIN, (1,), np.array([[1, 0, 0]]), "odd", unit=unit) for unit in (1021, 1031)
    ]
    with pytest.raises(ValueError, match=r"multiples of 1/1052651, but at most of 1/1048576"):
        Workload.of(DOMAIN, odd)
    assert Workload.of(DOMAIN, odd[:1]).queries.unit == 1021


def test_too_many_queries_are_refused():
    many = Domain((line("a", 2000), line("b", 2000), line("c", 2000)))
    parts = kinds.marginal_cells(many, [(0, 1), (1, 2)])
    with pytest.raises(ValueError, match="there are 8,000,000 queries"):
        Workload.of(many, parts)
