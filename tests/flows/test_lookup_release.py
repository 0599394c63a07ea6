"""Whole releases with lookups: no budget, and values of the spec alone."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hallmark.schemas.documents.data_dictionary import DataDictionary
from hallmark.schemas.documents.manifest import DICTIONARY_FILE, SPEC_FILE
from hallmark.schemas.loading import load_spec
from hallmark.tasks.expectations import ValidationFailed
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.verification import verify_release
from hallmark.tasks.verification.conformity import nonconformities
from hallmark.tasks.verification.lookups import lookup_faults
from tests import example
from tests.flows.conftest import Hallmark
from tests.flows.runs import release, sound, spent

DENSITY = {"01": 12.5, "02": 7.25, "07": 130.0}
ZONE = {"01": "inner", "02": "outer", "07": "inner"}
CANARY = 9173.5
FORMATS = ["csv", "parquet", "dta", "sav"]
CODES = "code,density\n" + "".join(f"{code},{value}\n" for code, value in DENSITY.items())
LOOKUPS: dict[str, Any] = {
    "density": {
        "of": "region",
        "values": {"file": "codes.csv", "column": "density"},
        "reference": "Gazetteer 2019",
        "unit": "persons per square mile",
    },
    "zone": {"of": "region", "values": ZONE, "reference": "Gazetteer 2019"},
}


def written(folder: Path, own: list[float] | None = None, **changes: Any) -> Path:
    """A spec whose table has densities of its own, if they are given, in the first records."""
    few = example.only(folder, "age", "region")
    sections = {"lookups": LOOKUPS, "output": {"formats": FORMATS}, **few, **changes}
    spec = example.write(folder, 300, **sections)
    (folder / "codes.csv").write_text(CODES)
    if own is not None:
        table = example.table(300)
        table["density"] = table["region"].map(DENSITY)
        table.loc[: len(own) - 1, "density"] = own
        table.to_csv(folder / "table.csv", index=False, na_rep="NA")
    return spec


@pytest.fixture(scope="module")
def published(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release whose private table has the column, in part."""
    folder = tmp_path_factory.mktemp("lookups")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(folder / "home"))
        patch.delenv("HALLMARK_LEDGER", raising=False)
        example.open_account()
        found = release(written(folder, [float("nan")] * 5))
        record = sound(found)
        assert spent() == (1, 0)
    steps = [step["step"] for step in record["post_processing"]["steps"]]
    told = "density looked up from region, and not measured, in public values: Gazetteer 2019"
    assert told in steps
    assert len(record["protected"]["columns"]) == 2
    assert any("no value of density, if" in f for f in record["guarantee"]["claim"]["unprotected"])
    return Path(found.folder)


def test_all_files_hold_the_values_of_the_spec(published: Path) -> None:
    table = pd.read_csv(published / "data.csv", dtype=str)
    assert list(table) == ["age", "region", "density", "zone"]
    written_so = {code: f"{value:.2f}" for code, value in DENSITY.items()}
    assert (table["density"] == table["region"].map(written_so)).all()
    assert (table["zone"] == table["region"].map(ZONE)).all()
    parquet = pd.read_parquet(published / "data.parquet")
    assert (parquet["density"] == parquet["region"].map(DENSITY)).all()
    stata = pd.read_stata(published / "data.dta")
    assert (stata["zone"].astype(str) == parquet["region"].map(ZONE)).all()
    assert verify_release(published).ok


def test_the_plan_and_the_noisy_tables_know_nothing_of_it(published: Path) -> None:
    prepared = prepare(published.parents[1] / "spec.yaml")
    assert prepared.plan.domain.names == ("age", "region")
    assert prepared.codec.names == ("age", "region")


def test_documents_say_that_it_was_looked_up(published: Path) -> None:
    text = (published / DICTIONARY_FILE).read_text()
    columns = {one.name: one for one in DataDictionary.model_validate_json(text).columns}
    density = columns["density"]
    assert (density.type, density.decimals, density.looked_up_from) == ("real", 2, "region")
    assert (density.grid, density.error, density.nullable) == (None, None, False)
    assert density.unit == "persons per square mile"
    assert [one.value for one in columns["zone"].categories] == ["inner", "outer"]
    assert columns["region"].looked_up_from == ""
    readme = (published / "README.md").read_text()
    assert "density is looked up from region; it was not measured and is as exact as" in readme


def test_the_published_spec_has_the_values(published: Path) -> None:
    assert "codes.csv" not in (published / SPEC_FILE).read_text()
    spec = load_spec(published / SPEC_FILE)
    assert {code: float(value) for code, value in spec.lookups["density"].values.items()} == DENSITY


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_value_that_is_not_the_one_looked_up_fails(
    form: str, published: Path, tmp_path: Path
) -> None:
    spec, file = load_spec(published / SPEC_FILE), tmp_path / f"data.{form}"
    table = pd.read_parquet(published / "data.parquet")
    near, far = table["region"] == "02", table["region"] == "01"
    table.loc[near.idxmax(), "density"] = DENSITY["07"]
    table.loc[far.idxmax(), "zone"] = "outer"
    getattr(table, f"to_{form}")(file, index=False)
    assert list(lookup_faults(spec, file)) == [
        "density is not what is looked up from region in 1 records",
        "zone is not what is looked up from region in 1 records",
    ]
    if form == "parquet":  # every value lies in its domain
        dictionary = json.loads((published / DICTIONARY_FILE).read_text())
        assert nonconformities(file, DataDictionary.model_validate(dictionary)) == []
    file.with_name("none.csv").write_text("age,region\n")
    (unreadable,) = lookup_faults(spec, tmp_path / "none.csv")
    assert unreadable.startswith("they cannot be read: none.csv: the header of none.csv: it lacks")
    changed = tmp_path / "changed"
    changed.mkdir()
    for path in published.iterdir():
        (changed / path.name).write_bytes(path.read_bytes())
    (changed / file.name).write_bytes(file.read_bytes())
    failed = {check.name for check in verify_release(changed).checks if not check.ok}
    assert f"lookups in data.{form}" in failed


def test_a_question_is_answered_exactly(published: Path, hallmark: Hallmark) -> None:
    done = hallmark("query", published, "share of density > 100", "--json")
    assert done.code == 0, done.err
    (answer,) = json.loads(done.out)["answers"]
    (same,) = json.loads(hallmark("query", published, "share of region = '07'", "--json").out)[
        "answers"
    ]
    assert answer["basis"] == "exact"
    assert [answer[key] for key in ("estimate", "low", "high", "of_records")] == [
        same[key] for key in ("estimate", "low", "high", "of_records")
    ]


@pytest.mark.usefixtures("prefect", "home")
def test_values_of_an_ignored_column_never_show(tmp_path: Path) -> None:
    example.open_account()
    data = example.only(tmp_path, "age", "region")["data"]
    data["ignore"] = [*data["ignore"], "density"]
    folder = Path(release(written(tmp_path, [CANARY] * 300, data=data)).folder)
    table = pd.read_parquet(folder / "data.parquet")
    assert (table["density"] == table["region"].map(DENSITY)).all()


@pytest.mark.usefixtures("prefect", "home")
def test_a_table_that_disagrees_is_refused_without_a_value(tmp_path: Path) -> None:
    example.open_account()
    with pytest.raises(ValidationFailed) as refused:
        release(written(tmp_path, [CANARY] * 3))
    said = "lookups.density: not all rows have the value that is looked up from region, or none"
    assert said in str(refused.value)
    assert str(CANARY) not in str(refused.value)
    assert spent() == (0, 0)
    workspace = Workspace.of("test-release")
    found = json.loads(workspace.findings.read_text())
    assert [one["failing"] for one in found if one["rule"]["column"] == "density"] == [3]
    assert str(CANARY) in workspace.offending.read_text()


def test_the_plan_lists_them(tmp_path: Path, hallmark: Hallmark) -> None:
    done = hallmark("plan", written(tmp_path))
    assert "lookup     density of region, at no budget; from Gazetteer 2019" in done.out
