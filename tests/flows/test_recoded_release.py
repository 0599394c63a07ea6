"""Whole releases with recodes: every road by which a table is read, and what each document says."""

import gzip
import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

from hallmark.schemas.documents.data_dictionary import DataDictionary
from hallmark.schemas.documents.manifest import DICTIONARY_FILE, SPEC_FILE
from hallmark.schemas.loading import load_spec
from hallmark.tasks.code_files import Drafts, load
from hallmark.tasks.evaluate import evaluate_files
from hallmark.tasks.expectations import ValidationFailed
from hallmark.tasks.gates.rehearsal import rehearsal_spec
from hallmark.tasks.gates.rehearsal_table import rehearsal_table
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.reading import compare, read_part
from hallmark.tasks.sources import parts, source_of
from hallmark.tasks.validate import check_table
from hallmark.tasks.verification import verify_release
from tests import example
from tests.flows.conftest import Hallmark
from tests.flows.runs import release, sound

ROWS = 600
POSTAL = ["01067", "01099", "02625", "07318", "07356"]
TRADE = {"1111": "A", "1112": "A", "2221": "B", "9999": "C"}
MAP = "code,section,label\n" + "".join(f"{old},{new},x\n" for old, new in TRADE.items())
SHARED = {"outside": "refuse", "bound_source": example.SOURCE}
COLUMNS: dict[str, Any] = {
    "place": {
        "type": "nominal",
        "recode": {"first": 2, "of": 5},
        "categories": {"01": "Dresden", "02": "Bautzen", "07": "Gera"},
        **SHARED,
    },
    "trade": {
        "type": "nominal",
        "recode": {"codes": {"file": "codes.csv", "column": "section"}},
        "categories": ["A", "B", "C"],
        **SHARED,
    },
}
CANARY = "73193"


def table() -> pd.DataFrame:
    """Codes of places, and numbers of trades as a file has them that knows no texts for numbers."""
    rows = range(ROWS)
    trades = list(map(int, TRADE))
    return pd.DataFrame(
        {
            "place": [POSTAL[row % 5] for row in rows],
            "trade": [trades[(row // 5) % 4] for row in rows],
        }
    )


def recoded() -> pd.DataFrame:
    """The table with what its codes become."""
    plain = table()
    return pd.DataFrame(
        {"place": plain["place"].str[:2], "trade": plain["trade"].astype(str).map(TRADE)}
    )


def write(folder: Path, frame: pd.DataFrame, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    few = example.only(folder, "age") | {"columns": COLUMNS}
    few["data"] |= {"ignore": [], "expected_rows": ROWS}
    spec = example.write(folder, 3, **(few | changes))
    frame.to_csv(folder / "table.csv", index=False)
    (folder / "codes.csv").write_text(MAP)
    return spec


def _csv(folder: Path) -> str:
    table().to_csv(folder / "t.csv", index=False)
    return "t.csv"


def _gz(folder: Path) -> str:
    (folder / "t.csv.gz").write_bytes(gzip.compress(table().to_csv(index=False).encode()))
    return "t.csv.gz"


def _parquet(folder: Path) -> str:
    table().to_parquet(folder / "t.parquet")
    return "t.parquet"


def _categories(folder: Path) -> str:
    table().astype("category").to_parquet(folder / "t.parquet")
    return "t.parquet"


def _parts(folder: Path) -> str:
    (folder / "t").mkdir()
    table()[:100].to_parquet(folder / "t" / "1.parquet")
    table()[100:].to_parquet(folder / "t" / "2.parquet")
    return "t"


def _excel(folder: Path) -> str:
    table().to_excel(folder / "t.xlsx", index=False)
    return "t.xlsx"


def _spss(folder: Path) -> str:
    pyreadstat.write_sav(table(), str(folder / "t.sav"))
    return "t.sav"


def _stata(folder: Path) -> str:
    pyreadstat.write_dta(table(), str(folder / "t.dta"))
    return "t.dta"


@pytest.mark.parametrize("road", [_csv, _gz, _parquet, _categories, _parts, _excel, _spss, _stata])
def test_every_road_recodes_as_one_does(road: Any, tmp_path: Path) -> None:
    spec = write(tmp_path, table())
    text = spec.read_text().replace(str(tmp_path / "table.csv"), road(tmp_path))
    spec.write_text(text)
    prepared = prepare(spec)
    codes = []
    for number, part in enumerate(parts(prepared.source)):
        compare(part, prepared.spec.columns, None)
        read = read_part(part, prepared.spec.columns, None, drafts=Drafts(tmp_path, number))
        assert [finding.failing for finding in read.findings] == [0] * len(read.findings)
        codes += [row for file in read.files for row in load(file).tolist()]
    names = [prepared.spec.columns[name].codes for name in ("place", "trade")]
    found = [[of[code] for of, code in zip(names, row, strict=True)] for row in codes]
    assert found == recoded().to_numpy().tolist()


def test_codes_that_no_rule_covers_offend_as_they_stand_in_the_file(
    tmp_path: Path, home: Path
) -> None:
    frame = table().astype(str)
    frame.loc[0, "place"] = CANARY  # five characters, but of no listed place
    frame.loc[1:3, "place"] = "1067"  # which lost its zero
    frame.loc[4, "trade"] = "A"  # a new code is no old one
    prepared = prepare(write(tmp_path, frame))
    findings = check_table(prepared.spec, prepared.source)
    told = {f.rule.column: f.failing for f in findings if f.rule.rule.startswith("become one")}
    assert told == {"place": 4, "trade": 1}
    page = Workspace.of("test-release").offending.read_text()
    assert all(f"<code>{code}</code>" in page or code in page for code in (CANARY, "1067"))
    assert "??" not in page


def test_what_is_not_covered_counts_as_the_catch_all(tmp_path: Path) -> None:
    trade = COLUMNS["trade"] | {"outside": "catch_all", "other": "C"}
    frame = table().astype(str)
    frame.loc[:9, "trade"] = "B"
    prepared = prepare(write(tmp_path, frame, columns=COLUMNS | {"trade": trade}))
    (part,) = parts(prepared.source)
    (file,) = read_part(part, prepared.spec.columns, None, drafts=Drafts(tmp_path, 0)).files
    assert load(file)[:10, 1].tolist() == [2] * 10


@pytest.fixture(scope="module")
def published(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder of a release of recoded columns, and its record."""
    folder = tmp_path_factory.mktemp("recoded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(folder / "home"))
        patch.delenv("HALLMARK_LEDGER", raising=False)
        example.open_account()
        found = release(write(folder, table(), output={"formats": ["csv", "parquet", "sav"]}))
        record = sound(found)
    return Path(found.folder), record


def test_the_release_has_the_categories(published: tuple[Path, Any]) -> None:
    made = pd.read_csv(published[0] / "data.csv", dtype=str)
    for name, codes in (("place", {"01", "02", "07"}), ("trade", {"A", "B", "C"})):
        assert set(made[name]) <= codes
        real, found = recoded()[name].value_counts(), made[name].value_counts()
        assert (real - found).abs().max() < 0.1 * ROWS


def test_the_plan_says_by_which_rule(published: tuple[Path, Any], hallmark: Hallmark) -> None:
    said = hallmark("plan", published[0].parents[1] / "spec.yaml").out
    assert "recode     place, by the first 2 of 5 characters of a code" in said
    assert "recode     trade, by a public map of 4 codes to 3" in said


def test_documents_say_by_which_rule(published: tuple[Path, Any]) -> None:
    folder, record = published
    columns = DataDictionary.model_validate_json((folder / DICTIONARY_FILE).read_text()).columns
    assert [one.recoded_by for one in columns] == [
        "the first 2 of 5 characters of a code",
        "a public map of 4 codes to 3",
    ]
    assert [one.label for one in columns[0].categories] == ["Dresden", "Bautzen", "Gera"]
    told = [one["recode"] for one in record["protected"]["columns"]]
    assert told == ["the first 2 of 5 characters of a code", "a public map of 4 codes to 3"]
    (file,) = record["protected"]["code_files"]
    assert (file["key"], file["file"]) == ("columns.trade.recode.codes", "codes.csv")
    assert file["sha256"] == sha256(MAP.encode()).hexdigest()
    report = (folder / "audit-report.html").read_text()
    assert "a public map of 4 codes to 3" in report
    assert file["sha256"] in report
    readme = (folder / "README.md").read_text()
    assert "The codes of trade are not those of the private table: a public map of 4" in readme


def test_the_published_spec_needs_no_other_file(published: tuple[Path, Any]) -> None:
    text = (published[0] / SPEC_FILE).read_text()
    assert "codes.csv" not in text
    assert dict(load_spec(published[0] / SPEC_FILE).columns["trade"].recode.old_codes) == TRADE


def test_a_dictionary_that_hides_the_rule_is_found_out(
    published: tuple[Path, Any], tmp_path: Path
) -> None:
    changed = shutil.copytree(published[0], tmp_path / "changed")
    file = changed / DICTIONARY_FILE
    said = json.loads(file.read_text())
    said["columns"][1]["recoded_by"] = ""
    file.write_text(json.dumps(said))
    details = " ".join(check.detail for check in verify_release(changed).checks if not check.ok)
    assert "the dictionary does not say as the spec does how trade is recoded" in details


def test_an_evaluation_recodes_the_private_table_and_no_other(
    published: tuple[Path, Any], home: Path
) -> None:
    spec = published[0].parents[1] / "spec.yaml"
    found = evaluate_files(spec, str(published[0] / "data.csv"), label="trade=B")
    again = evaluate_files(
        spec, str(published[0] / "data.csv"), label="trade=B", data=str(spec.parent / "table.csv")
    )
    assert found.metrics == again.metrics
    assert found.metrics.tv < 0.2


def test_made_up_records_have_the_categories_already(tmp_path: Path, home: Path) -> None:
    prepared = prepare(write(tmp_path, table()))
    found = rehearsal_table(prepared, tmp_path)
    content = rehearsal_spec(prepared.spec, found)
    assert all("recode" not in column for column in content["columns"].values())
    (tmp_path / "rehearsal.yaml").write_text(json.dumps(content))
    rehearsed = load_spec(tmp_path / "rehearsal.yaml")
    findings = check_table(rehearsed, source_of(rehearsed.data, tmp_path, rehearsed.columns))
    assert [finding.failing for finding in findings] == [0] * len(findings)
    assert {finding.rows for finding in findings} == {ROWS}


def test_a_table_declared_for_rehearsals_is_recoded(tmp_path: Path, home: Path) -> None:
    declared = {"source": "public.csv", "kind": "public", "reference": "the office"}
    spec = write(tmp_path, table()[:10], rehearsal=declared)
    table()[10:200].to_csv(tmp_path / "public.csv", index=False)
    prepared = prepare(spec)
    content = rehearsal_spec(prepared.spec, rehearsal_table(prepared, tmp_path))
    assert content["columns"]["place"]["recode"] == {"first": 2, "of": 5}


@pytest.mark.usefixtures("prefect", "home")
def test_a_release_is_refused_without_the_code(tmp_path: Path) -> None:
    example.open_account()
    frame = table().astype(str)
    frame.loc[0, "trade"] = CANARY
    with pytest.raises(ValidationFailed) as refused:
        release(write(tmp_path, frame))
    said = "columns.trade: not all rows become one of the 3 categories by the column's recode"
    assert said in str(refused.value)
    assert CANARY not in str(refused.value)
