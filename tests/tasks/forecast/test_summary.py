"""The summary of a plan: plain JSON that agrees with the plan."""

import json
from math import e
from pathlib import Path
from typing import Any

import pytest

from hallmark.tasks.forecast.summary import plan_summary
from hallmark.tasks.planning.prepare import prepare
from tests import example


def test_it_is_json_and_agrees_with_the_plan(tmp_path: Path) -> None:
    prepared = prepare(example.write(tmp_path, 5))
    summary = json.loads(json.dumps(plan_summary(prepared)))
    low, high = summary["privacy"]["proven_epsilon"]
    assert 0 < low <= high <= 1 < 1.5 * high
    assert summary["privacy"]["cross_check_epsilon"] >= low
    attacks = summary["attacks"]
    assert 0.5 < attacks["best_guess"] < attacks["best_guess_of_four"] < 1
    assert attacks["best_guess"] < 0.7 < e / (1 + e)  # what epsilon 1 by itself would say
    assert 0.01 < attacks["of_one_percent"] < 0.01 * e
    assert len(summary["noise"]) == len(prepared.plan.noise)
    assert summary["warnings"][: len(prepared.spec.warnings())] == list(prepared.spec.warnings())


def test_forecasts_are_told_in_the_unit_of_each_column(tmp_path: Path) -> None:
    summary = plan_summary(prepare(example.write(tmp_path, 5)))
    told = {line["column"]: line for line in summary["forecast"]["per_attribute"]}
    assert told["age"]["unit"] == "years"
    assert told["age"]["in_unit"] == pytest.approx(99 * told["age"]["bound"])
    assert told["income"]["in_unit"] == pytest.approx(400 * told["income"]["bound"])


def test_a_forecast_without_a_stated_unit_says_what_it_is_in(tmp_path: Path) -> None:
    columns = example.spec(tmp_path)["columns"]
    del columns["age"]["unit"]
    summary = plan_summary(prepare(example.write(tmp_path, 5, columns=columns)))
    told = {line["column"]: line["unit"] for line in summary["forecast"]["per_attribute"]}
    assert told["age"] == "units of the column"
    assert told["region"] == "share of records"


def test_more_budget_is_forecast_to_err_less(tmp_path: Path) -> None:
    errors = []
    for epsilon in ("0.5", "1", "2"):
        privacy = {**example.spec(tmp_path)["privacy"], "epsilon": epsilon}
        mechanism = {"name": "private-gsd"}  # whose marginals have one noise: quick to plan
        spec = example.write(tmp_path / epsilon, 5, privacy=privacy, mechanism=mechanism)
        errors.append(plan_summary(prepare(spec))["forecast"]["expected_error"])
    assert errors[0] > errors[1] > errors[2]


def warned(folder: Path, *texts: str, **changes: Any) -> list[str]:
    """Warnings about these rules."""
    rules = [{"rule": text, "source": "tests"} for text in texts]
    prepared = prepare(example.write(folder, 5, constraints=rules, **changes))
    told = plan_summary(prepared)["warnings"]
    assert told[: len(prepared.spec.warnings())] == list(prepared.spec.warnings())
    return told[len(prepared.spec.warnings()) :]


def test_rules_that_the_release_will_obey_are_no_reason_to_warn(tmp_path: Path) -> None:
    assert warned(tmp_path, "age < 15 <=> income is null", "region determines employed") == []


def test_cells_that_no_obedient_record_has_are_told(tmp_path: Path) -> None:
    assert warned(tmp_path, "age >= 35 => region = '01'", "region != '01'") == [
        "constraints: no record that obeys them has age 40 to 49, 50 to 59, 60 to 69, 70 to 79, "
        "80 to 89 and 1 more; the release will have none",
        "constraints: no record that obeys them has region north; the release will have none",
    ]


def test_a_column_with_one_value_left_is_certain(tmp_path: Path) -> None:
    assert warned(tmp_path, "employed = false or age < 0") == [
        "constraints: they leave employed only false, which is certain then"
    ]


def test_a_rule_that_nothing_breaks_is_told(tmp_path: Path) -> None:
    assert warned(tmp_path, "age < 100 or income > 3") == [
        "constraints[0]: 'age < 100 or income > 3' is certain: no values of these columns break "
        "it, so it changes nothing"
    ]


def test_a_determination_by_wide_cells_is_told(tmp_path: Path) -> None:
    assert warned(tmp_path, "region != '07'", "age determines region")[1:] == [
        "constraints[1]: 'age determines region' is enforced for whole cells of age, so all values "
        "of a cell go with one region; cut its cells where region changes"
    ]


def test_a_determined_column_whose_cells_are_cut_is_told(tmp_path: Path) -> None:
    assert warned(tmp_path, "age < 15 <=> income is null", "region determines age") == [
        "constraints[1]: 'region determines age' gives records one value of age, but other rules "
        "cut its cells, so that records may need different ones and break them; cut its cells "
        "where these rules do"
    ]
    assert warned(tmp_path, "age < 20 <=> income is null", "region determines age") == []
