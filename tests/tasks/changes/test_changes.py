"""Changes of answers against those of the coded tables themselves, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from hallmark.schemas.question import QuestionError
from hallmark.tasks.changes.common_cells import NotComparable
from hallmark.tasks.changes.posing import posed
from hallmark.tasks.changes.recoding import recoding_of
from tests import example
from tests.tasks.changes.periods import period, spec

OLD, NEW = example.table(400, 1), example.table(500, 2)
BEFORE, AFTER = period(OLD), period(NEW)


def changes(question, before=BEFORE, after=AFTER, recoding=None, **options):
    asked = {"confidence": 0.95, **options}
    return posed(question, before, after, recoding_of(recoding or {})).changes(**asked)


def change(question, *releases, **options):
    (found,) = changes(question, *releases, **options).changes
    return found


def age(table: pd.DataFrame) -> pd.Series:
    return table["age"] // 10 * 10 + 4.5


def test_changes_of_every_kind_are_those_of_the_coded_tables():
    young = [table["age"] < 40 for table in (OLD, NEW)]
    assert change("count where age < 40").estimate == pytest.approx(young[1].sum() - young[0].sum())
    shares = [
        (table["region"] == "02")[of].mean() for table, of in zip((OLD, NEW), young, strict=True)
    ]
    found = change('share of region = "02" where age < 40')
    assert found.estimate == pytest.approx(shares[1] - shares[0])
    assert (found.low, found.high) == pytest.approx((found.estimate,) * 2, abs=1e-3)
    means = [age(table).groupby(table["region"]).mean() for table in (OLD, NEW)]
    told = [one.estimate for one in changes("mean of age by region").changes]
    assert told == pytest.approx((means[1] - means[0]).to_list())
    sums = [age(table).sum() for table in (OLD, NEW)]
    assert change("sum of age").estimate == pytest.approx(sums[1] - sums[0])
    assert change("sum of age").relative.estimate == pytest.approx(sums[1] / sums[0] - 1)
    sizes = [table["region"].value_counts() for table in (OLD, NEW)]
    ratios = [one["01"] / one["02"] for one in sizes]
    found = change('count where region = "01" over count where region = "02"')
    assert found.estimate == pytest.approx(ratios[1] - ratios[0])
    assert found.basis == "combined"
    apart = [one["01"] - one["02"] for one in means]
    found = change('mean of age where region = "01" minus mean of age where region = "02"')
    assert found.estimate == pytest.approx(apart[1] - apart[0])
    assert found.basis == "first order"
    found = change("median of age")
    medians = [table["age"].quantile(0.5, "lower") // 10 * 10 for table in (OLD, NEW)]
    assert found.low == medians[1] - medians[0] - 9
    assert found.high == medians[1] - medians[0] + 9


def test_a_change_tells_both_answers_and_is_put_into_words():
    found = changes("count by employed")
    assert [one.group for one in found.changes] == [("false",), ("true",)]
    sizes = [table["employed"].value_counts() for table in (OLD, NEW)]
    first = found.changes[0]
    assert (first.before.estimate, first.after.estimate) == pytest.approx(
        (sizes[0][0], sizes[1][0])
    )
    assert first.is_told
    assert first.in_words(in_points=False).startswith(f"rose by {sizes[1][0] - sizes[0][0]:.3g}, ")
    back = changes("count by employed", AFTER, BEFORE).changes[0]
    assert back.in_words(in_points=False).startswith(f"fell by {sizes[1][0] - sizes[0][0]:.3g}, ")
    noisy = changes("share of employed = true", period(OLD, sigma2=1e6), period(NEW, sigma2=1e6))
    assert noisy.in_points
    assert "no change can be told: between -" in noisy.changes[0].in_words(in_points=True)
    assert noisy.changes[0].in_words(in_points=True).endswith(" points")
    hidden = change("mean of age", period(OLD, sigma2=1e6), period(NEW, sigma2=1e9))
    assert hidden.in_words(in_points=False).startswith("no change can be told")
    few = change('mean of age where region = "07"', BEFORE, period(NEW, sigma2=1e9))
    assert few.in_words(in_points=False) == "unknown: the noise is too large"
    assert not few.is_told


def test_simultaneous_intervals_are_those_of_a_higher_confidence():
    releases = (period(OLD, sigma2=100), period(NEW, sigma2=100))
    together = changes("count by region", *releases, together=3)
    alone = changes("count by region", *releases, confidence=1 - 0.05 / 3)
    assert together.simultaneous
    for one, other in zip(together.changes, alone.changes, strict=True):
        assert (one.low, one.high) == (other.low, other.high)


def test_raw_values_change_within_their_interval_wherever_they_are_in_cells():
    for noise in (1e-6, 400):
        found = changes("mean of age by region", *(period(t, sigma2=noise) for t in (OLD, NEW)))
        raw = [table.groupby("region")["age"].mean() for table in (OLD, NEW)]
        for one, truth in zip(found.changes, raw[1] - raw[0], strict=True):
            assert one.raw_low <= one.low < one.high <= one.raw_high
            assert one.raw_low <= truth <= one.raw_high


@pytest.mark.parametrize(
    "question",
    [
        "count where age >= 60 and employed = true",
        "share of employed = true where age >= 60",
        "mean of age where employed = true",
        "quantile 0.3 of age where employed = true",
    ],
)
def test_intervals_of_change_hold_about_as_often_as_is_said(question):
    rng, held, times = np.random.default_rng(6), 0, 40
    truth = change(question)
    for _ in range(times):
        noisy = [period(table, sigma2=400, rng=rng) for table in (OLD, NEW)]
        found = change(question, *noisy)
        held += found.low - 1e-9 <= truth.estimate <= found.high + 1e-9
    assert held / times >= 0.8


def test_a_question_that_only_records_answer_has_a_change_without_interval():
    releases = (period(OLD, records=True), period(NEW, records=True))
    found = changes("count by region, employed, age", *releases)
    first = found.changes[0]
    assert first.basis == "records"
    assert first.low is None
    assert not first.is_told
    assert first.in_words(in_points=False) == "not told: nothing bounds the error"
    mixed = changes("count by region, employed, age", period(OLD, ways=3), releases[1])
    assert mixed.changes[0].basis == "records"
    with pytest.raises(QuestionError, match="earlier release cannot answer: nothing"):
        changes("count by region, employed, age")


# Code lists that differ

FINER = spec(region={"categories": {"01": "north", "021": "mid", "022": "south", "07": "east"}})
SPLIT = NEW.assign(
    region=NEW["region"].where(NEW["region"] != "02", np.where(NEW["age"] < 50, "021", "022"))
)


def test_groups_that_only_one_release_has_are_named_and_not_compared():
    found = changes("count by region", BEFORE, period(SPLIT, FINER))
    assert [one.group for one in found.changes] == [("north",), ("east",)]
    sizes = [table["region"].value_counts() for table in (OLD, NEW)]
    assert found.changes[1].estimate == pytest.approx(sizes[1]["07"] - sizes[0]["07"])
    notes = " ".join(found.notes)
    assert "region = mid is not compared: the later release alone has it" in notes
    assert "region = south is not compared: the earlier release alone has it" in notes


def test_a_question_about_codes_that_both_have_is_answered_and_any_other_is_refused():
    finer = period(SPLIT, FINER)
    sizes = [table["region"].value_counts(normalize=True) for table in (OLD, NEW)]
    found = change('share of region = "07"', BEFORE, finer)
    assert found.estimate == pytest.approx(sizes[1]["07"] - sizes[0]["07"])
    for question in ('share of region = "02"', 'count where region != "01"'):
        with pytest.raises(QuestionError, match=r"release alone has it.*--recode"):
            changes(question, BEFORE, finer)


def test_a_public_map_makes_codes_the_same():
    finer = period(SPLIT, FINER)
    recoding = {"region": {"021": "02", "022": "02"}}
    for question in (
        'share of region = "02"',
        'count where region != "01"',
        "mean of age by region",
    ):
        found = changes(question, finer, AFTER, recoding).changes
        same = changes(question, AFTER, AFTER).changes
        for one, other in zip(found, same, strict=True):
            assert one.before.estimate == pytest.approx(other.before.estimate)
            assert one.estimate == pytest.approx(0, abs=1e-6)
    for wrong, words in [
        ({"region": {"03": "02"}}, "none of the earlier release's codes"),
        ({"region": {"021": "03"}}, "none of the later release's codes"),
    ]:
        with pytest.raises(NotComparable, match=words):
            changes("count by region", finer, AFTER, wrong)
    with pytest.raises(NotComparable, match="has numbers, not codes"):
        changes("mean of age", finer, AFTER, {"age": {"1": "2"}})


def test_a_category_that_caught_other_codes_is_not_what_it_is_in_a_longer_list():
    catching = spec(region={"categories": ["01", "07"], "outside": "catch_all", "other": "07"})
    caught = period(OLD.assign(region=OLD["region"].replace("02", "07")), catching)
    assert len(changes("count by region", caught, AFTER).changes) == 1
    with pytest.raises(QuestionError, match="earlier release counts every code there"):
        changes('share of region = "07"', caught, AFTER)


# Bounds and cells that differ

COARSE = spec(age={"cell_width": None, "edges": [0, 20, 30, 60, 99]})


def test_numbers_in_other_cells_are_taken_in_those_that_both_can_form():
    coarse = period(NEW, COARSE)
    found = change("share of age >= 60", BEFORE, coarse)
    shares = [(table["age"] >= 60).mean() for table in (OLD, NEW)]
    assert found.estimate == pytest.approx(shares[1] - shares[0])
    edges, middles = [0, 20, 30, 60, 100], np.array([9.5, 24.5, 44.5, 79.5])
    means = [middles[np.searchsorted(edges, t["age"], side="right") - 1].mean() for t in (OLD, NEW)]
    found = changes("mean of age", BEFORE, coarse)
    assert found.changes[0].estimate == pytest.approx(means[1] - means[0])
    assert "taken in the 4 cells that both can form" in " ".join(found.notes)
    with pytest.raises(QuestionError, match="age"):
        changes("share of age >= 50", BEFORE, coarse)


def test_numbers_within_other_bounds_are_not_summed_alike():
    wider = spec(age={"maximum": 119, "outside": "clamp"})
    found = change("share of age >= 60", BEFORE, period(NEW, wider))
    shares = [(table["age"] >= 60).mean() for table in (OLD, NEW)]
    assert found.estimate == pytest.approx(shares[1] - shares[0])
    for question in ("mean of age", "sum of age", "median of age"):
        with pytest.raises(QuestionError, match="goes from 0 to 99 in the earlier release"):
            changes(question, BEFORE, period(NEW, wider))
    other_unit = spec(age={"unit": "months"})
    with pytest.raises(NotComparable, match="in years in the earlier release and in months"):
        changes("share of age >= 60", BEFORE, period(NEW, other_unit))


def test_columns_of_another_kind_or_of_one_release_alone_are_refused():
    numbers = spec(
        region={
            "type": "numeric", "integer": True, "minimum": 1, "maximum": 7, "cells": 7,
            "categories": None,
        }
    )  # fmt: skip
    with pytest.raises(NotComparable, match="nominal in the earlier release and numeric"):
        changes("count by region", BEFORE, period(NEW, numbers))
    fewer = period(NEW)
    del fewer.spec.columns["income"]
    with pytest.raises(QuestionError, match="income is no column of the later release"):
        changes("mean of income", BEFORE, fewer)
    with pytest.raises(QuestionError, match="did you mean region"):
        changes("count by regoin")
