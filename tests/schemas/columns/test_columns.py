"""Columns: cells from bounds, and categories as the file writes them."""

from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from hallmark.schemas.binning import default_share
from hallmark.schemas.columns.columns import Column
from hallmark.schemas.columns.grids import MAX_CELLS
from hallmark.schemas.columns.interval_columns import EPOCH

PUBLIC = {"kind": "public", "reference": "codebook"}
WHOLE = st.integers(-10_000, 10_000)


def column(**fields):
    fields = {"outside": "clamp", "bound_source": PUBLIC, **fields}
    return TypeAdapter(Column).validate_python(fields)


def numeric(**fields):
    return column(type="numeric", **fields)


@given(minimum=WHOLE, span=st.integers(1, 3000), cells=st.integers(1, 3001))
def test_cells_of_whole_numbers_hold_every_value_once_and_are_equal_up_to_one(minimum, span, cells):
    maximum, cells = minimum + span, min(cells, span + 1)
    made = numeric(integer=True, minimum=minimum, maximum=maximum, cells=cells)
    widths = [high - low for low, high in pairwise(made.exact_edges)]
    assert made.levels == len(widths) == cells
    assert (made.exact_edges[0], made.exact_edges[-1]) == (minimum, maximum + 1)
    assert all(width.denominator == 1 and width >= 1 for width in widths)
    assert max(widths) - min(widths) <= 1


@given(minimum=WHOLE, span=st.integers(1, 500), width=st.fractions(Fraction(1, 4), 700))
def test_cells_of_a_width_have_it_but_for_the_last(minimum, span, width):
    made = numeric(minimum=minimum, maximum=minimum + span, cell_width=width)
    widths = [high - low for low, high in pairwise(made.exact_edges)]
    assert made.levels == len(widths)
    assert all(w == width for w in widths[:-1])
    assert 0 < widths[-1] <= width
    assert made.exact_edges[-1] == minimum + span


def test_cells_of_a_real_interval_are_exactly_equal():
    made = numeric(minimum=0, maximum=1, cells=3)
    assert made.exact_edges == (0, Fraction(1, 3), Fraction(2, 3), 1)


def test_cells_of_a_step_have_edges_among_its_multiples():
    column = numeric(minimum=0, maximum=1, step="0.05", cells=7)
    assert all(edge % Fraction("0.05") == 0 for edge in column.exact_edges)
    assert column.exact_edges[0] == 0
    assert column.exact_edges[-1] == 1
    assert len(set(column.exact_edges)) == 8


@pytest.mark.parametrize(("step", "decimals"), [("0.01", 2), ("0.5", 1), ("5", 0), ("1/4", 2)])
def test_a_step_says_how_many_decimals_are_written(step, decimals):
    assert numeric(minimum=0, maximum=10, step=step, cells=2).decimals == decimals


def test_whole_numbers_are_divided_up_to_one_past_the_maximum():
    made = numeric(integer=True, minimum=0, maximum=77, cells=26)
    assert np.array_equal(made.edges, np.arange(0, 79, 3))


def test_given_edges_close_the_last_cell_of_whole_numbers():
    closed = numeric(integer=True, minimum=0, maximum=77, edges=[0, 1, 10, 77])
    past = numeric(integer=True, minimum=0, maximum=77, edges=[0, 1, 10, 77, 78])
    assert closed.exact_edges == (0, 1, 10, 78)
    assert past.exact_edges == (0, 1, 10, 77, 78)


def test_given_edges_of_real_numbers_stand_as_they_are():
    assert numeric(minimum=0, maximum="0.3", edges=[0, "0.1", "0.3"]).exact_edges == (
        0, Fraction(1, 10), Fraction(3, 10),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "minimum", "maximum", "ends"),
    [
        ("numeric", 0, 1_234_567, ("0", "1234567")),
        ("numeric", "-0.5", "1/3", ("-0.5", "1/3")),
        ("date", "1999-12-31", "2001-01-01", ("1999-12-31", "2001-01-01")),
    ],
)
def test_the_ends_of_an_interval_are_told_exactly(kind, minimum, maximum, ends):
    assert column(type=kind, minimum=minimum, maximum=maximum, cells=4).ends == ends


def test_a_boolean_column_has_no_bounds_to_account_for_and_takes_none():
    fields = {"type": "boolean", "values": {"y": True, "n": False}, "outside": "refuse"}
    made = TypeAdapter(Column).validate_python(fields)
    assert made.bound_source is None
    with pytest.raises(ValidationError, match="bound_source"):
        column(**fields)


def test_the_most_cells_are_accepted_and_one_more_is_refused():
    def cells(number, nulls):
        return numeric(integer=True, minimum=0, maximum=10**6, cells=number, nulls=nulls)

    assert cells(MAX_CELLS, False).levels == cells(MAX_CELLS - 1, True).levels + 1
    for number, nulls in ((MAX_CELLS + 1, False), (MAX_CELLS, True)):
        with pytest.raises(ValidationError, match="makes 4097 cells"):
            cells(number, nulls)


def test_an_absurd_number_of_cells_is_refused_without_making_them():
    with pytest.raises(ValidationError, match="at most 4096"):
        numeric(minimum=0, maximum=1, cell_width="1e-90")


@given(
    start=st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    span=st.integers(1, 4000),
    days=st.integers(1, 5000),
)
def test_cells_of_days_cover_every_day_of_the_span(start, span, days):
    made = column(
        type="date",
        minimum=start,
        maximum=start + timedelta(span),
        cell_days=days,
    )
    assert made.levels == len(made.edges) - 1 == -(-(span + 1) // days)
    assert made.edges[0] == (start - EPOCH).days
    assert made.edges[-1] == (start - EPOCH).days + span + 1
    assert (np.diff(made.edges)[:-1] == days).all()


def test_a_list_of_categories_labels_itself():
    made = column(type="nominal", categories=["b", "a"], outside="refuse")
    assert (made.codes, made.labels, made.levels) == (("b", "a"), ("b", "a"), 2)


def test_labels_stand_in_the_order_of_codes():
    made = column(type="ordinal", categories={"2": "two", "1": "one"}, outside="refuse")
    assert (made.codes, made.labels) == (("2", "1"), ("two", "one"))


def test_a_boolean_is_written_with_the_first_text_of_each_value():
    made = TypeAdapter(Column).validate_python(
        {
            "type": "boolean",
            "values": {"yes": True, "no": False, "y": True, "n": False},
            "outside": "refuse",
        }
    )
    assert (made.codes, made.labels, made.levels) == (("no", "yes"), ("false", "true"), 2)


def test_a_private_estimate_needs_somebody_who_accepts_it():
    def of(**source):
        return numeric(minimum=0, maximum=1, cells=2, bound_source={"reference": "file", **source})

    assert of(kind="private_estimate", accepted_by="Ada").bound_source.accepted_by == "Ada"
    with pytest.raises(ValidationError, match="voids the guarantee"):
        of(kind="private_estimate")


@pytest.mark.parametrize("missing", ["minimum", "maximum", "outside", "bound_source"])
def test_no_bound_and_no_rule_has_a_default(missing):
    fields = {"minimum": 0, "maximum": 1, "cells": 2, "outside": "clamp", "bound_source": PUBLIC}
    TypeAdapter(Column).validate_python({"type": "numeric", **fields})
    del fields[missing]
    with pytest.raises(ValidationError, match="Field required"):
        TypeAdapter(Column).validate_python({"type": "numeric", **fields})


# Single values


def test_detail_of_values_has_every_value_in_pieces_in_cells() -> None:
    edges = [0, 1, 2000, 5000]
    every = numeric(minimum=0, maximum=4999, integer=True, edges=edges, detail="values")
    assert every.levels == 5000
    assert every.exact_edges == tuple(range(5001))
    pieces = every.in_pieces()
    assert pieces.detail == 16
    assert pieces.levels < 60
    assert len(every.pieces_of_cells) == 5000
    assert max(every.pieces_of_cells) == pieces.levels - 1
    assert every.kinds_of_cells == pieces.kinds_of_cells
    (of,) = every.groups_of_cells
    assert [of[0], of[1], of[1999], of[2000]] == [0, 1, 1, 2]
    starts = [int(edge) for edge in pieces.exact_edges[:-1]]
    assert [every.pieces_of_cells[start] for start in starts] == list(range(pieces.levels))
    assert every.without_detail().levels == 3


def test_steps_and_days_have_single_values_too() -> None:
    cents = numeric(minimum=0, maximum="12.5", step="0.05", cells=5, detail="values")
    assert cents.levels == 250
    assert len(set(cents.pieces_of_cells)) == cents.in_pieces().levels
    days = column(type="date", minimum="2000-01-01", maximum="2003-12-31", cells=2, detail="values")
    assert days.levels == 1461
    assert 0 < max(days.pieces_of_cells) < 40


def test_where_pieces_are_single_values_nothing_is_counted_twice() -> None:
    every = numeric(minimum=0, maximum=99, integer=True, cells=10, detail="values")
    assert every.levels == 100
    assert every.pieces_of_cells == ()
    assert default_share({"x": every}) == Fraction(1, 40)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"maximum": 10}, "there is no end of real numbers; say integer: true or give a step"),
        (
            {"maximum": 2**17, "integer": True},
            "of which there are 131,073, but at most 131,072 are counted one by one",
        ),
        (
            {"maximum": 9999, "integer": True, "cells": 300},
            "pieces of 16 a cell, but a column has at most 4096",
        ),
    ],
)
def test_values_that_cannot_be_counted_are_refused(changes, says) -> None:
    with pytest.raises(ValidationError, match=says):
        numeric(**{"minimum": 0, "cells": 10, "detail": "values"} | changes)


def test_single_values_cost_a_larger_share_unless_one_is_given() -> None:
    every = numeric(minimum=0, maximum=4999, integer=True, cells=5, detail="values")
    assert default_share({"x": every}) == Fraction(1, 20)
    assert default_share({"x": every.in_pieces()}) == Fraction(1, 40)
