"""Values within cells: those that obey are as likely as each other, and they agree where told."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from hallmark.schemas.rules.rules import parse_rule
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.rule_tables import rules_on
from hallmark.tasks.planning.rule_values import decode
from tests.tasks.planning.test_rule_tables import column

FALSE_POSITIVE_RATE = 1e-6
AGE = {"type": "numeric", "integer": True, "minimum": 0, "maximum": 99, "cell_width": 10,
       "nulls": False}  # fmt: skip
INCOME = {"type": "numeric", "minimum": 0, "maximum": 400, "cells": 8}
DAYS = {"type": "date", "minimum": "2000-01-01", "maximum": "2000-12-31", "cell_days": 30}
TOWN = {"type": "nominal", "categories": ["a", "b", "c"], "nulls": False}


def decoded(
    columns: dict[str, dict[str, Any]], codes: list[list[int]], times: int, *texts: str
) -> tuple[pd.DataFrame, list[int]]:
    """Values of the codes, repeated, and how many rows break each rule."""
    made = {name: column(**spec) for name, spec in columns.items()}
    codec = TableCodec.of(made)
    rules = [parse_rule(text).bound_to(made) for text in texts]
    array = np.repeat(np.array(codes, dtype=np.int32), times, axis=0)
    rng = np.random.default_rng(0)
    frame = decode(codec, array, rules, rules_on(rules, codec), rng)
    again = np.column_stack([one.encode(frame[one.name]) for one in codec.codecs])
    assert np.array_equal(again, array)
    return frame, [int(rule.violations(frame).sum()) for rule in rules]


def test_values_that_obey_are_as_likely_as_each_other() -> None:
    columns = {"age": AGE, "income": INCOME}
    frame, broken = decoded(columns, [[1, 8], [1, 2]], 4000, "age < 13 <=> income is null")
    assert broken == [0]
    young, old = frame["age"][:4000], frame["age"][4000:]
    for ages, low, high in ((young, 10, 13), (old, 13, 20)):
        counts = np.bincount(ages.astype(int) - low, minlength=high - low)
        assert chisquare(counts).pvalue > FALSE_POSITIVE_RATE


def test_a_value_that_is_never_drawn_is_chosen() -> None:
    columns = {"income": INCOME, "other": INCOME}
    frame, broken = decoded(columns, [[1, 1]], 50, "income = 62.5", "other = income")
    assert broken == [0, 0]
    assert set(frame["income"]) == set(frame["other"]) == {62.5}


def test_days_in_one_cell_follow_each_other() -> None:
    _, broken = decoded({"since": DAYS, "until": DAYS}, [[3, 3], [3, 12]], 500, "since < until")
    assert broken == [0]  # a null is never known to break it


def test_records_whose_cells_allow_nothing_keep_their_cells_and_are_counted() -> None:
    columns = {"age": AGE, "income": INCOME}
    _, broken = decoded(columns, [[1, 8], [5, 8]], 30, "age < 15 <=> income is null")
    assert broken == [30]


def test_what_is_determined_agrees_in_value() -> None:
    columns = {"town": TOWN, "income": INCOME, "since": DAYS}
    codes = [[0, 1, 3], [1, 1, 3], [2, 5, 4], [2, 8, 4]]
    texts = ("town determines income", "income determines since", "town determines since")
    frame, broken = decoded(columns, codes, 100, *texts[:1])
    assert broken == [0]
    assert frame["since"].nunique() > 30
    for order in (texts[:2], texts[1::-1], texts):
        frame, broken = decoded(columns, codes, 100, *order)
        assert not any(broken)
        assert frame.groupby("town")["income"].nunique().max() == 1


def test_the_value_that_all_must_share_is_one_that_breaks_no_other_rule() -> None:
    columns = {"town": TOWN, "income": INCOME, "age": AGE}
    texts = ("town determines income", "income < 40 or age > 55")
    frame, broken = decoded(columns, [[0, 0, 2], [0, 0, 5]], 100, *texts)
    assert broken == [0, 0]
    assert frame["income"].nunique() == 1
    # Most records of the cell from 0 to 50 are below 40 at first, but only those of few years must.
    assert frame["age"].nunique() > 10


def test_a_value_that_all_must_share_cannot_suit_records_that_need_different_ones() -> None:
    columns = {"town": TOWN, "income": INCOME, "age": AGE}
    texts = ("town determines income", "income = age")
    _, broken = decoded(columns, [[0, 0, 1], [0, 0, 2]], 100, *texts)
    assert broken[0] == 0
    assert broken[1] >= 100


@pytest.mark.parametrize("texts", [(), ("town determines age",)])
def test_nothing_is_drawn_twice_without_need(texts: tuple[str, ...]) -> None:
    made = {name: column(**spec) for name, spec in (("town", TOWN), ("income", INCOME))}
    codec = TableCodec.of(made)
    rules = [parse_rule("income >= 0").bound_to(made)] if texts else []
    codes = np.array([[0, 3], [1, 8], [2, 0]] * 20, dtype=np.int32)
    one = decode(codec, codes, rules, rules_on(rules, codec), np.random.default_rng(1))
    two = codec.decode(codes, np.random.default_rng(1))
    pd.testing.assert_frame_equal(one, two)
