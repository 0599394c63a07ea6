"""Changes that meet needs with less epsilon: they do, and others are refused."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hallmark.schemas.needs import Need
from hallmark.tasks.forecast import savings as module
from hallmark.tasks.forecast.needs import need_forecasts
from hallmark.tasks.forecast.savings import savings
from hallmark.tasks.forecast.solution import solved
from hallmark.tasks.planning.prepare import at_epsilon, prepare
from hallmark.tasks.planning.prepared import Prepared
from tests import example

NEED = Need.model_validate({"question": "count by region", "within": 40, "stated_by": "the tests"})


def prepared(folder: Path, *columns: str, **more: Any) -> Prepared:
    own = example.some_columns(*(columns or ("age", "region", "employed")))
    own["data"]["source"] = str(folder / "table.csv")
    return prepare(example.write(folder, 30, **(own | more)))


def test_the_changed_spec_meets_the_needs_with_what_is_told_and_the_other_does_not(
    tmp_path: Path,
) -> None:
    of = prepared(tmp_path)
    least = solved(of, [NEED]).epsilon
    assert least is not None
    found = savings(of, [NEED], least)
    assert [one.epsilon for one in found.each] == sorted(one.epsilon for one in found.each)
    first, *_ = found.best
    assert first.told.startswith("leave out the columns that no need asks about: age, employed")
    told = found.best[-1].epsilon
    assert told < least * Fraction(9, 10)
    assert found.unneeded == pytest.approx(1 - float(told / least))
    alone = prepared(tmp_path / "alone", "region")
    (changed,) = need_forecasts(at_epsilon(alone, told * Fraction(101, 100)), [NEED])
    (unchanged,) = need_forecasts(at_epsilon(of, told), [NEED])
    assert changed.satisfied
    assert not unchanged.satisfied


def test_shares_that_no_need_asks_for_are_given_back(tmp_path: Path) -> None:
    own: dict[str, Any] = {"mechanism": {"name": "pmm"}, "privacy": example.PURE}
    of = prepared(tmp_path, "region", certificate={"share": "0.25", "marginals": 1}, **own)
    least = solved(of, [NEED]).epsilon
    assert least is not None
    found = savings(of, [NEED], least)
    assert [one.told for one in found.best] == ["certificate: {share: 0}"]
    assert found.best[0].epsilon < least * Fraction(95, 100)


def test_where_all_is_needed_nothing_is_saved(tmp_path: Path) -> None:
    of = prepared(tmp_path, "region", mechanism={"name": "pmm"}, privacy=example.PURE)
    found = savings(of, [NEED], Fraction(1, 2))
    assert (found.each, found.best, found.unneeded) == ((), (), 0)


def test_nothing_is_compared_where_answers_decide_what_is_measured(tmp_path: Path) -> None:
    found = savings(prepared(tmp_path, mechanism={"name": "aim"}), [NEED], Fraction(1))
    assert found.refusal.startswith("aim chooses on private answers")
    assert not found.each


def test_what_is_said_of_columns_goes_with_them(tmp_path: Path) -> None:
    total = {"counts": {"01": 18, "02": 9, "07": 3}, "reference": "made up for the tests"}
    path = example.write(
        tmp_path,
        30,
        public_totals=[{"columns": ["region"], **total}],
        questions=["mean of income by region"],
        output={"columns": ["age", "income", "region"], "formats": ["csv"]},
    )
    of = prepare(path)
    left = module._without(of.spec.content(), ["income", "region"])
    spec = module._planned(of, left, Fraction(1)).spec
    assert list(spec.columns) == ["age", "employed", "since"]
    assert spec.data.ignore == ("person", "income", "region")
    assert not spec.constraints  # which was about income
    assert not spec.public_totals
    assert spec.output.columns == ("age",)
