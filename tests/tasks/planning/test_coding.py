"""Coding of rows: cells, nulls and what lies outside, and the way back to original units."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from hallmark.mechanisms.domain.domain import Kind
from hallmark.schemas.columns.columns import Column
from hallmark.tasks.planning.coding import Codec, TableCodec, codec_of, group_labels

PUBLIC = {"kind": "public", "reference": "codebook"}
AGE = {"type": "numeric", "integer": True, "minimum": 0, "maximum": 99, "cell_width": 5}
INCOME = {"type": "numeric", "minimum": 0, "maximum": 10, "cells": 4}
SEX = {"type": "nominal", "categories": {"1": "male", "2": "female"}}
BORN = {"type": "date", "minimum": "1999-12-31", "maximum": "2000-12-30", "cell_days": 61}


def codec(fields: dict[str, object], **changes: object) -> Codec:
    base = {"nulls": True, "outside": "refuse", "bound_source": PUBLIC}
    column: Column = TypeAdapter(Column).validate_python({**base, **fields, **changes})
    return codec_of("c", column)


def boolean(**changes: object) -> Codec:
    column: Column = TypeAdapter(Column).validate_python(
        {
            "type": "boolean",
            "values": {"1": True, "0": False, "yes": True},
            "nulls": True,
            "outside": "refuse",
            **changes,
        }
    )
    return codec_of("c", column)


def text(*cells: str | None) -> pd.Series:
    return pd.Series(cells, dtype="string[pyarrow]")


def coded(one: Codec, *cells: str | None) -> list[int]:
    values, unreadable = one.read(text(*cells))
    assert not unreadable.any()
    return one.encode(values).tolist()


def test_integers_fall_into_half_open_cells_and_nulls_into_their_own() -> None:
    assert coded(codec(AGE), "0", "4", "5", "99", None) == [0, 0, 1, 19, 20]


def test_the_last_cell_of_a_real_interval_holds_the_maximum() -> None:
    assert coded(codec(INCOME), "0", "2.4999", "2.5", "10") == [0, 0, 1, 3]


def test_dates_fall_into_cells_of_days() -> None:
    one = codec(BORN)
    assert coded(one, "1999-12-31", "2000-02-28", "2000-02-29", "2000-03-01") == [0, 0, 0, 1]
    assert one.attribute.kind is Kind.DATE


def test_categories_take_the_code_of_the_list_and_not_of_the_number() -> None:
    assert coded(codec(SEX), "2", "1", None) == [1, 0, 2]


def test_each_spelling_of_a_boolean_counts_as_its_value() -> None:
    assert coded(boolean(), "yes", "1", "0", None) == [1, 1, 0, 2]


@pytest.mark.parametrize(
    ("one", "cell"),
    [(codec(AGE), "3.5"), (codec(AGE), "x"), (codec(INCOME), "inf"), (codec(BORN), "2000-02-30")],
)
def test_what_cannot_be_read_is_told_from_a_null(one: Codec, cell: str) -> None:
    values, unreadable = one.read(text(cell, None))
    assert unreadable.tolist() == [True, False]
    assert values.isna().all()


@pytest.mark.parametrize(
    ("one", "inside", "outside"),
    [
        (codec(AGE), "99", "100"),
        (codec(INCOME), "0", "-0.1"),
        (codec(SEX), "1", "3"),
        (codec(BORN), "2000-12-30", "2000-12-31"),
        (boolean(), "yes", "no"),
    ],
)
def test_outside_is_exactly_what_the_public_domain_excludes(
    one: Codec, inside: str, outside: str
) -> None:
    values, _ = one.read(text(inside, outside, None))
    assert one.outside(values).tolist() == [False, True, False]


def test_clamping_moves_a_value_to_the_outermost_cell() -> None:
    assert coded(codec(AGE, outside="clamp"), "-7", "1000") == [0, 19]


def test_a_catch_all_takes_unknown_categories() -> None:
    assert coded(codec(SEX, outside="catch_all", other="2"), "9", "1") == [1, 0]
    assert coded(boolean(outside="catch_all", other=False), "9", "1") == [0, 1]


@pytest.mark.parametrize(
    ("column", "cell"),
    [(AGE, "100"), (AGE, "x"), (SEX, "3"), (AGE | {"nulls": False}, None)],
)
def test_a_table_that_breaks_its_spec_is_not_coded_and_the_cell_not_told(
    column: dict[str, object], cell: str | None
) -> None:
    table = TableCodec((codec(column),))
    with pytest.raises(
        ValueError, match=r"columns\.c: the data contain values that the spec refuses"
    ) as e:
        table.encode(pd.DataFrame({"c": text(cell)}))
    assert str(cell) not in str(e.value).replace("c:", "") or cell in (None, "x")


@pytest.mark.parametrize("one", [codec(AGE), codec(INCOME), codec(SEX), codec(BORN), boolean()])
@given(seed=st.integers(0, 2**32 - 1))
def test_a_value_drawn_from_a_cell_is_coded_as_that_cell(one: Codec, seed: int) -> None:
    codes = np.arange(one.attribute.cells, dtype=np.int32).repeat(20)
    values = one.decode(codes, np.random.default_rng(seed))
    assert not one.outside(values).any()
    assert one.encode(values).tolist() == codes.tolist()


def test_an_integer_cell_of_one_value_has_no_width_and_wider_cells_span_their_values() -> None:
    single = codec(AGE, cell_width=1).attribute
    assert single.widths.max() == 0
    assert single.positions[[0, -1]].tolist() == [0, 1]
    assert codec(AGE).attribute.widths[0] == pytest.approx(4 / 99)


def test_positions_are_cell_centres_on_the_scale_of_the_interval() -> None:
    attribute = codec(INCOME).attribute
    assert attribute.positions.tolist() == [0.125, 0.375, 0.625, 0.875]
    assert attribute.scale == 10


@pytest.mark.parametrize(
    ("fields", "of", "labels"),
    [
        (AGE, [0] * 4 + [1] + [2] * 15 + [3], ("0 to 19", "20 to 24", "25 to 99", "null")),
        (SEX, [0, 0, 1], ("male or female", "null")),
        (
            {"type": "nominal", "categories": {"1": "a", "2": "b", "3": "c", "4": "d"}},
            [0, 1, 0, 0, 2],
            ("a, c and 1 more", "b", "null"),
        ),
    ],
)
def test_groups_of_cells_have_labels(
    fields: dict[str, object], of: list[int], labels: tuple[str, ...]
) -> None:
    assert group_labels(codec(fields), np.array(of)) == labels
