"""The national sample of the ACS 2019 under NIST's edit rules: the example, and persons alone."""

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.loading import load_spec
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.verification import verify_release
from tests.flows.test_rules_release import values

EXAMPLE = Path("schemas/examples/nist-acs-2019.yaml")
HOUSEHOLDS = ("DENSITY", "PWGTP", "WGTP")  # about places and households; weights are not released
RECORDS = 27_253

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("prefect", "home"),
]


def without(spec: dict[str, Any], columns: tuple[str, ...]) -> dict[str, Any]:
    """The spec with fewer columns, and its rules without what they say of those."""
    rules = [
        {**constraint, "rule": constraint["rule"].replace(" <=> WGTP = 0", "")}
        for constraint in spec["constraints"]
    ]
    return {
        **spec,
        "data": {**spec["data"], "ignore": list(columns)},
        "columns": {name: c for name, c in spec["columns"].items() if name not in columns},
        "lookups": {name: one for name, one in spec["lookups"].items() if name not in columns},
        "constraints": rules,
    }


@pytest.mark.parametrize("dropped", [(), HOUSEHOLDS], ids=["24 columns", "21 columns"])
def test_no_released_person_breaks_a_rule(dropped: tuple[str, ...], tmp_path: Path) -> None:
    from hallmark.flows.release import release

    spec = yaml.safe_load(EXAMPLE.read_text())
    spec["data"]["source"] = str((EXAMPLE.parent / spec["data"]["source"]).resolve())
    shutil.copytree(EXAMPLE.parent / "codes", tmp_path / "codes")
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(without(spec, dropped) if dropped else spec, sort_keys=False))
    Ledger(ledger_url()).open_account(
        spec["population"]["account"],
        cap=Budget(epsilon=Fraction(4), delta=Fraction(1, 10**4)),
        adjacency=Adjacency(neighbours=Neighbours.REPLACE_ONE),
        by="test",
        reason="test",
    )
    folder = Path(release(str(path), str(tmp_path / "out")).folder)
    table, rules = values(path, folder), load_spec(path).rules
    assert pd.read_csv(folder / "data.csv").shape == (RECORDS, 24 - len(dropped))
    assert len(rules) == 12
    assert {rule.text: int(rule.violations(table).sum()) for rule in rules} == {
        rule.text: 0 for rule in rules
    }
    assert verify_release(folder).ok
