"""The summary of a plan: plain JSON that agrees with the plan."""

import json
from pathlib import Path

import pytest

from tasks.prepare import prepare
from tasks.summary import plan_summary
from tests import example


def test_it_is_json_and_agrees_with_the_plan(tmp_path: Path) -> None:
    prepared = prepare(example.write(tmp_path, 5))
    summary = json.loads(json.dumps(plan_summary(prepared)))
    low, high = summary["privacy"]["proven_epsilon"]
    assert 0 < low <= high <= 1 < 1.5 * high
    assert summary["privacy"]["cross_check_epsilon"] >= low
    assert len(summary["noise"]) == len(prepared.plan.noise)
    assert summary["warnings"][: len(prepared.spec.warnings())] == list(prepared.spec.warnings())


def test_forecasts_are_told_in_the_unit_of_each_column(tmp_path: Path) -> None:
    summary = plan_summary(prepare(example.write(tmp_path, 5)))
    told = {line["column"]: line for line in summary["forecast"]["per_attribute"]}
    assert told["age"]["unit"] == "years"
    assert told["age"]["in_unit"] == pytest.approx(99 * told["age"]["bound"])
    assert told["income"]["in_unit"] == pytest.approx(400 * told["income"]["bound"])


def test_more_budget_is_forecast_to_err_less(tmp_path: Path) -> None:
    errors = []
    for epsilon in ("0.5", "1", "2"):
        privacy = {**example.spec(tmp_path)["privacy"], "epsilon": epsilon}
        spec = example.write(tmp_path / epsilon, 5, privacy=privacy)
        errors.append(plan_summary(prepare(spec))["forecast"]["expected_error"])
    assert errors[0] > errors[1] > errors[2]
