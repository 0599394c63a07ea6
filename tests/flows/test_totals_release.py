"""Whole releases with public totals: the published file has them exactly."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.schemas.documents.manifest import RECORD_FILE
from hallmark.tasks.generate import TOTALLED
from hallmark.tasks.output.released import broken_totals
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.verification import verify_release
from tests import example
from tests.flows.runs import release, spent

RECORDS = 380  # as published; the private table has some more
REFERENCE = "Yearbook 2019, table 2.1 (made up for the tests)"
TOTALS: list[dict[str, Any]] = [
    {
        "columns": ["region", "employed"],
        "counts": [
            {"region": "north", "employed": "true", "count": 110},
            {"region": "north", "employed": "false", "count": 130},
            {"region": "south", "employed": "true", "count": 40},
            {"region": "south", "employed": "false", "count": 70},
            {"region": "east", "employed": "true", "count": 0},
            {"region": "east", "employed": "false", "count": 30},
        ],
        "reference": REFERENCE,
    },
    {"columns": ["age"], "counts": {"0 to 19": 90, "20 to 99": 290}, "reference": REFERENCE},
    {"where": "income is null", "count": 61, "reference": REFERENCE},
]
RULES = [
    {"rule": "age < 15 <=> income is null", "source": "tests"},
    {"rule": "age < 20 => employed = false", "source": "tests"},
]

pytestmark = pytest.mark.usefixtures("prefect", "home")


def counts(folder: Path) -> pd.Series:
    """Records by region and employment in the published CSV, read with pandas alone."""
    table = pd.read_csv(folder / "data.csv", dtype=str, keep_default_na=False)
    assert len(table) == RECORDS
    assert (pd.to_numeric(table["age"]) < 20).sum() == 90
    assert (table["income"] == "NA").sum() == 61
    return table.groupby(["region", "employed"]).size()


@pytest.mark.slow
def test_a_table_of_many_columns_has_its_totals_under_its_rules(tmp_path: Path) -> None:
    add_remove = Adjacency(neighbours=Neighbours.ADD_REMOVE)
    example.open_account(adjacency=add_remove)
    privacy = {"neighbours": "add_remove", "unit": "record", "epsilon": "1", "delta": "1e-5"}
    spec = example.write(tmp_path, 400, privacy=privacy, public_totals=TOTALS, constraints=RULES)
    folder = Path(release(spec).folder)
    assert counts(folder).to_dict() == {
        ("01", "0"): 130, ("01", "1"): 110, ("02", "0"): 70, ("02", "1"): 40, ("07", "0"): 30,
    }  # fmt: skip
    assert_listed(folder)
    # A record of another file shows at once, in the totals and elsewhere.
    lines = (folder / "data.csv").read_text().splitlines()
    (folder / "data.csv").write_text("\n".join([*lines[:-1], lines[1]]) + "\n")
    failed = {check.name for check in verify_release(folder).checks if not check.ok}
    assert "files" in failed


def assert_listed(folder: Path) -> None:
    """The release is sound, and says which totals hold and that nobody protects them."""
    verification = verify_release(folder)
    assert verification.ok, [check for check in verification.checks if not check.ok]
    told = {check.name: check.detail for check in verification.checks}
    assert told["public totals in data.csv"] == "all 3 hold exactly"
    assert told["public totals in data.parquet"] == "all 3 hold exactly"
    record = json.loads((folder / RECORD_FILE).read_text())
    totals = record["post_processing"]["totals"]
    assert [check["rule"] for check in totals] == [
        "region by employed, in every data file",
        "age, in every data file",
        "where income is null, in every data file",
    ]
    assert all(check["held"] and REFERENCE in check["detail"] for check in totals)
    assert 0 <= record["mechanism"]["generator"]["facts"][TOTALLED] <= RECORDS
    unprotected = [fact["fact"] for fact in record["guarantee"]["unprotected"]]
    assert any("public total, age" in fact for fact in unprotected)
    assert "held exactly" in (folder / "audit-report.html").read_text()


def test_a_mechanism_that_knows_nothing_of_totals_releases_them(tmp_path: Path) -> None:
    example.open_account()
    total = {"columns": ["age"], "counts": {"0 to 49": 20, "50 to 99": 280}, "reference": "tests"}
    sections = example.only(tmp_path, "age", "income")
    sections |= {"constraints": RULES[:1], "public_totals": [total]}
    spec = example.write(tmp_path, 400, **sections)
    folder = Path(release(spec).folder)
    age = pd.read_csv(folder / "data.csv")["age"]
    assert [(age < 50).sum(), len(age)] == [20, 300]
    assert verify_release(folder).ok


def test_totals_that_contradict_a_rule_are_refused_before_anything_is_reserved(
    tmp_path: Path,
) -> None:
    example.open_account()
    rules = [*RULES, {"rule": "region = '07' => age < 20", "source": "tests"}]
    totals = [*TOTALS, {"where": "region = '07' and age >= 20", "count": 1, "reference": "tests"}]
    spec = example.write(tmp_path, 400, public_totals=totals, constraints=rules)
    with pytest.raises(
        PlanRefused, match=r":\d+: public_totals\[3\], constraints\[2\]: no record can"
    ):
        release(spec)
    assert spent() == (0, 0)


def test_a_file_that_lacks_a_total_is_told_from_one_that_has_it(tmp_path: Path) -> None:
    from hallmark.schemas.loading import load_spec

    spec = load_spec(example.write(tmp_path, 400, public_totals=TOTALS, constraints=[]))
    file = tmp_path / "released.csv"
    example.table(400)[list(spec.columns)].to_csv(file, index=False, na_rep="NA")
    faults = broken_totals(spec, file)
    assert any(fault.startswith("public_totals[1]: age 0 to 19: ") for fault in faults)
    assert any(fault.startswith("public_totals[2]: where income is null: ") for fault in faults)
