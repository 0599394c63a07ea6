"""What a release promises: qualified by every fact that it tells outside its promise."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hallmark.schemas.documents.privacy_claim import PrivacyClaim
from hallmark.schemas.loading import load_spec
from hallmark.schemas.promise import promised, unprotected
from hallmark.tasks.rendering.wording import neighbours_in_words
from hallmark.tasks.verification.agreement import in_todays_words
from tests import example


def claim(folder: Path, **changes: Any) -> PrivacyClaim:
    path = folder / "spec.yaml"
    with path.open("w") as handle:
        YAML().dump(example.spec(folder / "table.csv", **changes), handle)
    spec = load_spec(path)
    told = promised(spec)
    assert told.unprotected == tuple(fact.fact for fact in unprotected(spec))
    return told


def columns(folder: Path, **changes: Any) -> dict[str, Any]:
    plain: dict[str, Any] = example.spec(folder)["columns"]
    return {name: {**column, **changes.get(name, {})} for name, column in plain.items()}


def test_rules_that_refuse_are_told(tmp_path: Path) -> None:
    assert claim(tmp_path).unprotected == (
        "every value of age, income, since can be read as its type says, a number or a date",
        "no value in age, region, employed, since lies outside its public domain (outside: refuse)",
        "no value is missing in age, region, employed, since (nulls: false)",
        "the number of records in the private table is public",
    )


def test_rules_about_all_columns_are_told_in_words_that_earlier_claims_can_be_put_into(
    tmp_path: Path,
) -> None:
    full = {
        name: {"nulls": False, "outside": "refuse"} for name in example.spec(tmp_path)["columns"]
    }
    told = claim(tmp_path, columns=columns(tmp_path, **full), constraints=[])
    assert told.unprotected is not None
    assert "no value is missing in any column (nulls: false)" in told.unprotected
    assert any("no value in any column lies outside" in fact for fact in told.unprotected)
    once = tuple(
        fact.replace("missing in any", "missing in every").replace(
            "in any column l", "in every column l"
        )
        for fact in told.unprotected
    )
    assert once != told.unprotected
    assert in_todays_words(told.model_copy(update={"unprotected": once})) == told
    assert in_todays_words(told) == told


def test_a_rule_that_refuses_nothing_tells_nothing(tmp_path: Path) -> None:
    calm = {"outside": "clamp", "nulls": True}
    only = {"age": {**example.spec(tmp_path)["columns"]["age"], **calm}}
    told = claim(
        tmp_path,
        columns=only,
        constraints=[],
        data={
            **example.spec(tmp_path)["data"],
            "ignore": ["person", "income", "region", "employed", "since"],
        },
        privacy={"neighbours": "add_remove", "unit": "record", "epsilon": "1"},
        mechanism={"name": "psmm"},
    )
    assert told.unprotected == (
        "every value of age can be read as its type says, a number or a date",
    )


def test_private_estimates_of_bounds_are_told(tmp_path: Path) -> None:
    source = {"kind": "private_estimate", "reference": "a look", "accepted_by": "A. Officer"}
    told = claim(tmp_path, columns=columns(tmp_path, age={"bound_source": source}))
    assert "the bounds of age were estimated from the private data" in (told.unprotected or ())


def test_private_tuning_is_told(tmp_path: Path) -> None:
    about = {"tuning": {"on": "private", "details": "epsilon 1 of the account"}}
    told = claim(tmp_path, about=about)
    assert "parameters of the release were tuned on private data" in (told.unprotected or ())


def test_a_person_has_to_be_named_and_hides_the_number_of_records(tmp_path: Path) -> None:
    unit = {"person": "person", "max_records": 4}
    privacy = {"neighbours": "replace_one", "unit": unit, "epsilon": "1", "delta": "1e-5"}
    data = {**example.spec(tmp_path)["data"], "ignore": []}
    told = claim(tmp_path, privacy=privacy, data=data)
    assert "every record names a person" in (told.unprotected or ())
    assert not any("number of records" in fact for fact in told.unprotected or ())
    assert "as many records" not in told.formal
    assert "the number of records is protected" in neighbours_in_words(told)


@pytest.mark.parametrize("neighbours", ["replace_one", "add_remove"])
def test_the_formal_statement_is_about_tables_that_pass(neighbours: str, tmp_path: Path) -> None:
    privacy = {**example.spec(tmp_path)["privacy"], "neighbours": neighbours}
    formal = claim(tmp_path, privacy=privacy).formal
    assert formal.startswith("tables that both pass the rules")
    assert formal.endswith("the claim is for distance 1")
