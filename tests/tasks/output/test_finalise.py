"""The final files: what was synthesised can be read back from them, or nothing is published."""

import json
import re
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from hallmark.mechanisms import batches as batched
from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.compute import SERIAL
from hallmark.mechanisms.contract import SyntheticMeasure
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.generate import SyntheticFile
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.output import finalise as stage
from hallmark.tasks.output.finalise import FinalCheckFailed, FinalFile
from hallmark.tasks.output.released import released_source, released_values
from hallmark.tasks.output.writing import write_csv
from hallmark.tasks.planning.looked_up import filled_in
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.record.dictionary import data_dictionary
from hallmark.tasks.sources import (
    SourceError,
    batches,
    labelled_files,
    parts,
    source_of,
    written_as_released,
)
from hallmark.tasks.verification import conformity
from hallmark.tasks.verification.conformity import nonconformities
from tests import example

NO_BOUNDS: Any = SimpleNamespace(confidence=0.95, for_column=lambda name: None)  # a certificate
SINCE = {
    "type": "date", "minimum": "2000-01-01", "maximum": "2009-12-31", "cells": 6, "nulls": True,
    "format": "%d.%m.%Y", "outside": "refuse", "bound_source": example.SOURCE,
}  # fmt: skip


def prepared(folder: Path, **changes: Any) -> Prepared:
    return prepare(example.write(folder / "spec", rows=3, **changes))


def with_dates(**changes: Any) -> dict[str, Any]:
    return {"columns": {**example.spec(Path("t.csv"))["columns"], "since": SINCE}, **changes}


def random_codes(of: Prepared, rows: int = 400) -> AnyCodes:
    rng = np.random.default_rng(3)
    return np.column_stack([rng.integers(0, size, rows) for size in of.codec.domain.shape])


def finished(of: Prepared, codes: AnyCodes) -> FinalFile:
    workspace = Workspace.of("test-release")
    file = SyntheticFile(workspace.path / "synthetic.npy")
    file.save(SyntheticMeasure(codes=codes.astype(np.int32)))
    return stage.staged(_written(of, file, workspace), workspace)


def _written(of: Prepared, file: SyntheticFile, workspace: Workspace) -> FinalFile:
    return stage.written(of.spec, file, workspace, SERIAL, in_batches=of.plan.in_batches)


def read_back(of: Prepared, path: Path) -> pd.DataFrame:
    source = released_source(of.spec, path)
    return pd.concat([b for part in parts(source) for b in batches(part)], ignore_index=True)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("marker", ["NA", ""])
def test_every_record_comes_back_in_its_cell(
    form: str, delimiter: str, marker: str, home: Path, tmp_path: Path
) -> None:
    data = example.spec(tmp_path / "table.csv")["data"]
    data |= {"delimiter": delimiter, "null_markers": [marker], "source": "table.csv"}
    of = prepared(tmp_path, **with_dates(data=data, output={"formats": [form]}, constraints=[]))
    codes = random_codes(of)
    final = finished(of, codes)
    assert final.rows == 400
    (path,) = final.files
    assert path.name == f"data.{form}"
    assert of.codec.encode(read_back(of, path)).tolist() == codes.tolist()


def test_csv_is_written_in_the_units_codes_markers_and_dates_of_the_source(
    home: Path, tmp_path: Path
) -> None:
    of = prepared(tmp_path, **with_dates(constraints=[]))
    codes = np.array([[3, 8, 1, 1, 6], [0, 0, 0, 0, 0]])
    lines = finished(of, codes).files[0].read_text().splitlines()
    assert lines[0] == "age,income,region,employed,since"
    age, income, region, employed, since = lines[1].split(",")
    assert 30 <= int(age) <= 39
    assert (income, region, employed, since) == ("NA", "02", "1", "NA")
    assert 0 <= float(lines[2].split(",")[1]) < 50
    day, month, year = map(int, lines[2].split(",")[4].split("."))
    assert date(2000, 1, 1) <= date(year, month, day) <= date(2001, 9, 1)


def test_parquet_has_the_types_that_a_reader_expects(home: Path, tmp_path: Path) -> None:
    changes = with_dates(constraints=[], output={"formats": ["parquet"]})
    changes["columns"]["age"] |= {"nulls": True}
    of = prepared(tmp_path, **changes)
    (path,) = finished(of, np.array([[10, 8, 1, 1, 6], [0, 0, 0, 0, 0]])).files  # a row of nulls
    assert {field.name: str(field.type) for field in pq.read_schema(path)} == {
        "age": "int64", "income": "double", "region": "string", "employed": "string",
        "since": "date32[day]",
    }  # fmt: skip
    table = pq.read_table(path)
    assert [table[name].null_count for name in ("income", "since")] == [1, 1]
    assert list(table.schema.metadata) == [b"pandas"]  # its types, and nothing of ours
    assert json.loads(table.schema.metadata[b"pandas"])["attributes"] == {}
    frame = pd.read_parquet(path)
    assert str(frame["age"].dtype) == "Int64"  # not a real number, though one is null
    assert frame[["age", "income", "since"]].isna().to_numpy().tolist() == [[True] * 3, [False] * 3]
    assert isinstance(frame["since"][1], date)


CONTINENTAL = {"delimiter": ";", "encoding": "latin-1", "null_markers": ["NA"]}


def continental(folder: Path) -> Prepared:
    """A spec of a table as much of Europe writes it."""
    data = {**example.spec(Path("table.csv"))["data"], **CONTINENTAL}
    changes = with_dates(data=data, constraints=[])
    changes["columns"]["income"] |= {
        "decimal_mark": ",", "thousands": ".", "null_markers": ["k. A."], "step": "0.01",
    }  # fmt: skip
    changes["columns"]["region"] |= {"categories": {"Köln": "Köln", "Aß": "", "07": "7"}}
    return prepared(folder, **changes)


def test_csv_is_written_in_the_encoding_and_marks_of_the_source(home: Path, tmp_path: Path) -> None:
    of = continental(tmp_path)
    path = finished(of, np.array([[3, 8, 0, 1, 6], [0, 0, 1, 0, 0]])).files[0]
    first, second = (line.split(";") for line in path.read_text("latin-1").splitlines()[1:])
    assert first[1:] == ["k. A.", "Köln", "1", "NA"]
    assert second[2] == "Aß"
    assert re.fullmatch(r"\d+,\d\d", second[1])


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_same_spec_reads_what_it_released(form: str, home: Path, tmp_path: Path) -> None:
    of = continental(tmp_path)
    codes = random_codes(of)
    (path,) = (file for file in finished(of, codes).files if file.suffix == f".{form}")
    names = tuple(of.spec.columns)
    for source in (
        released_source(of.spec, path),
        written_as_released(of.spec, names, location=str(path)),
        replace(
            source_of(of.spec.data, tmp_path, of.spec.columns), location=str(path), format=form
        ),
    ):
        text = pd.concat([b for part in parts(source) for b in batches(part)], ignore_index=True)
        assert of.codec.encode(text).tolist() == codes.tolist()


@pytest.mark.parametrize("index", [0, 1])
def test_the_dictionary_says_how_the_files_are_written(
    index: int, home: Path, tmp_path: Path
) -> None:
    of = continental(tmp_path)
    path = finished(of, random_codes(of)).files[index]
    dictionary = data_dictionary(of, NO_BOUNDS, rows=400)
    assert nonconformities(path, dictionary) == []
    other = dictionary.model_copy(update={"csv_encoding": "utf-8"})
    assert dictionary.columns[1].decimals == 2
    finer = dictionary.columns[1].model_copy(update={"decimals": 1})
    assert nonconformities(
        path,
        dictionary.model_copy(
            update={"columns": (dictionary.columns[0], finer, *dictionary.columns[2:])}
        ),
    )
    column = dictionary.columns[1].model_copy(update={"decimal_mark": "."})
    marked = (dictionary.columns[0], column, *dictionary.columns[2:])
    if path.suffix == ".csv":
        assert nonconformities(path, dictionary.model_copy(update={"columns": marked}))
        with pytest.raises(pa.ArrowInvalid, match="invalid UTF8"):
            nonconformities(path, other)


@pytest.mark.parametrize("step", ["0.01", "0.05", "2.5", "10"])
def test_released_numbers_are_multiples_of_the_step_without_further_digits(
    step: str, home: Path, tmp_path: Path
) -> None:
    columns = example.spec(Path("t.csv"))["columns"]
    columns["income"] |= {"step": step, "cells": 7}
    of = prepared(tmp_path, columns=columns, constraints=rule("income > 33.337", "report"))
    csv, parquet = finished(of, random_codes(of, 4000)).files
    decimals = len(step.partition(".")[2])
    texts = pd.read_csv(csv, dtype=str)["income"].dropna()
    assert texts.str.fullmatch(rf"\d+\.\d{{{decimals}}}" if decimals else r"\d+").all()
    assert all(Fraction(text) % Fraction(step) == 0 for text in texts)
    floats = pq.read_table(parquet)["income"].drop_null().to_pylist()
    assert [f"{number:.{decimals}f}" for number in floats] == texts.tolist()
    assert all(Fraction(repr(number)) % Fraction(step) == 0 for number in floats)
    last = of.codec.codecs[1].attribute.levels - 1
    (drawn,) = {max(of.codec.codecs[1].decode(np.full(10**4, last), np.random.default_rng(0)))}
    assert drawn == 400


@pytest.mark.parametrize("form", ["dta", "sav"])
def test_a_labelled_file_holds_the_records_with_their_labels(
    form: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labelled_files, "BATCH_ROWS", 100)  # the last batch is empty
    of = labelled(tmp_path, form)
    codes = random_codes(of)
    codes[:2] = [[10, 8, 3, 1, 6], [0, 0, 2, 0, 0]]  # a row of nulls
    csv, path = finished(of, codes).files
    assert path.name == f"data.{form}"
    assert of.codec.encode(read_back(of, path)).tolist() == codes.tolist()
    frame, header = (pyreadstat.read_dta if form == "dta" else pyreadstat.read_sav)(path)
    assert frame.iloc[0].isna().tolist() == [True, True, True, False, True]
    assert frame["since"].dropna().map(lambda day: f"{day:%d.%m.%Y}").tolist() == (
        pd.read_csv(csv, sep=";", encoding="latin-1")["since"].dropna().tolist()
    )
    assert header.column_names_to_labels["income"] == "Pay of the year (kEUR)"
    assert header.column_names_to_labels["age"].endswith("…")
    assert header.column_names_to_labels["since"] == "since"
    assert header.variable_value_labels == {
        "region": {1: "same (1)", 2: "same (2)", 3: "x" * 105 + "…"},  # Köln, Aß, 07: no numbers
        "employed": {0: "false", 1: "true"},  # their own codes
    }
    formats = [header.original_variable_types[name] for name in ("age", "income", "since")]
    as_said = {"dta": ["%3.0f", "%7.2f", "%td"], "sav": ["F3.0", "F7.2", "DATE11"]}
    assert formats == as_said[form]
    assert header.file_label.startswith(of.spec.title[:10])


@pytest.mark.parametrize("form", ["dta", "sav"])
def test_a_labelled_file_is_checked_against_the_dictionary(
    form: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformity, "_ROWS", 100)
    of = labelled(tmp_path, form)
    codes = random_codes(of)
    path = finished(of, codes).files[1]
    dictionary = data_dictionary(of, NO_BOUNDS, rows=400)
    assert dictionary.files == ("data.csv", f"data.{form}")
    assert [one.number for one in dictionary.columns[2].categories] == [1, 2, 3]
    assert nonconformities(path, dictionary) == []
    content = path.read_bytes()
    assert b"1970" in content if form == "dta" else b"01 Jan 7000:00:00" in content
    assert str(date.today().year).encode() not in content[:256]  # when it was written
    region = dictionary.columns[2]
    first, *others = region.categories
    for change in ({"label": "another"}, {"number": 4}):
        told = region.model_copy(update={"categories": (first.model_copy(update=change), *others)})
        columns = (*dictionary.columns[:2], told, *dictionary.columns[3:])
        other = dictionary.model_copy(update={"columns": columns})
        assert nonconformities(path, other) == [
            f"region: not a listed category: {(codes[:, 2] == 0).sum()} values"
        ]
    path.write_bytes(b"<stata_dta>")
    with pytest.raises(pa.ArrowInvalid):
        nonconformities(path, dictionary)
    with pytest.raises(SourceError, match=rf"data\.{form} cannot be read as {form}"):
        read_back(of, path)


def labelled(folder: Path, form: str) -> Prepared:
    """A spec whose labels are as hard as Stata and SPSS allow, and harder."""
    data = {**example.spec(Path("table.csv"))["data"], **CONTINENTAL}
    output = {"formats": ["csv", form]}
    changes = with_dates(data=data, constraints=[], output=output)
    changes["columns"]["age"] |= {"nulls": True, "description": "Age, " + "ä" * 80}
    changes["columns"]["income"] |= {
        "decimal_mark": ",", "null_markers": ["k. A."], "step": "0.01",
        "unit": "kEUR", "description": "Pay of\n the year",
    }  # fmt: skip
    labels = {"Köln": "same", "Aß": "same", "07": "x" * 200}
    changes["columns"]["region"] |= {"categories": labels, "nulls": True}
    return prepared(folder, **changes)


def test_only_the_columns_asked_for_are_published_in_their_order(
    home: Path, tmp_path: Path
) -> None:
    output = {"formats": ["csv", "parquet"], "columns": ["region", "age"]}
    of = prepared(tmp_path, output=output, constraints=[])
    csv, parquet = finished(of, random_codes(of)).files
    assert csv.read_text().splitlines()[0] == "region,age"
    assert pq.read_schema(parquet).names == ["region", "age"]


def rule(text: str, if_broken: str) -> list[dict[str, str]]:
    return [{"rule": text, "source": "tests", "if_broken": if_broken}]


def test_broken_rules_are_counted_and_stop_where_they_block(home: Path, tmp_path: Path) -> None:
    text = "age < 20 => employed = false"
    reports = prepared(tmp_path, constraints=rule(text, "report"))
    blocks = prepared(tmp_path, constraints=rule(text, "block"))
    codes = random_codes(blocks)
    broken = int(((codes[:, 0] < 2) & (codes[:, 3] == 1)).sum())
    (result,) = finished(reports, codes).rules
    assert (result.violations, result.blocks) == (broken, False)
    assert broken > 0
    with pytest.raises(FinalCheckFailed, match="run again with --resume") as refused:
        finished(blocks, codes)
    assert f"{text}: broken by {broken} of 400 records" in str(refused.value)
    codes[codes[:, 0] < 2, 3] = 0
    assert finished(blocks, codes).rules[0].violations == 0


def test_values_obey_rules_that_cut_their_cells(home: Path, tmp_path: Path) -> None:
    texts = ["age < 15 <=> income is null", "region determines since", "since > '2003-05-06'"]
    rules = [r for text in texts for r in rule(text, "block")]
    of = prepared(tmp_path, constraints=rules)
    codes = of.plan.domain.rules.repair(random_codes(of).astype(np.int32), of.rng("rules"))
    final = finished(of, codes)
    assert [result.violations for result in final.rules] == [0, 0, 0]
    for path in final.files:
        assert of.codec.encode(read_back(of, path)).tolist() == codes.tolist()


def _with_another_number(path: Path) -> None:
    frame, _ = pyreadstat.read_dta(path)
    pyreadstat.write_dta(frame.assign(region=9), path)


BREAKS = {
    "dta": _with_another_number,
    "csv": lambda path: path.write_text(path.read_text() + "100,1,01,1,2000-01-01\n"),
    "parquet": lambda path: pq.write_table(
        pq.read_table(path).set_column(2, "region", pa.array(["9"] * 400)), path
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ("csv", "data.csv breaks its own schema: age: not all lie between 0 and 99"),
        ("parquet", "data.parquet breaks its own schema: region: not all are one of the 3"),
        ("dta", "data.dta breaks its own schema: region: not all are one of the 3"),
    ],
)
def test_a_file_that_is_not_what_was_meant_is_refused(
    form: str, says: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = prepared(tmp_path, output={"formats": list(dict.fromkeys(["csv", form]))})
    writer = {"csv": "write_csv", "parquet": "_write_parquet", "dta": "write_labelled"}[form]
    write = getattr(stage, writer)

    def broken(frame: pd.DataFrame, of: Any, path: Path) -> None:
        write(frame, of, path)
        BREAKS[form](path)

    monkeypatch.setattr(stage, writer, broken)
    with pytest.raises(FinalCheckFailed, match=says):
        finished(of, random_codes(of))


def test_a_clamped_column_must_still_be_inside_when_it_is_published(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = prepared(tmp_path, output={"formats": ["csv"]}, constraints=[])

    def broken(frame: pd.DataFrame, spec: ReleaseSpec, path: Path) -> None:
        write_csv(frame.assign(income=401.0), spec, path)

    monkeypatch.setattr(stage, "write_csv", broken)
    with pytest.raises(FinalCheckFailed, match="income: not all lie between 0 and 400"):
        finished(of, random_codes(of))


def test_an_attempt_leaves_nothing_of_an_earlier_one(home: Path, tmp_path: Path) -> None:
    staging = Workspace.of("test-release").staging
    (staging / "data.parquet").write_text("of an earlier attempt")
    of = prepared(tmp_path, output={"formats": ["csv"]}, constraints=[])
    finished(of, random_codes(of))
    assert [path.name for path in staging.iterdir()] == ["data.csv"]


def test_an_attempt_that_was_given_up_and_goes_on_changes_nothing_that_is_staged(
    home: Path, tmp_path: Path
) -> None:
    of = prepared(tmp_path, constraints=[])
    final = finished(of, random_codes(of))
    before = [file.read_bytes() for file in final.files]
    workspace = Workspace.of("test-release")
    _written(of, SyntheticFile(workspace.path / "synthetic.npy"), workspace)
    assert [file.read_bytes() for file in final.files] == before
    assert {file.parent for file in final.files} == {workspace.staging}


def test_records_that_lack_a_public_total_are_never_published(home: Path, tmp_path: Path) -> None:
    total = {"columns": ["region"], "counts": {"north": 200, "02": 150, "07": 50}}
    of = prepared(tmp_path, public_totals=[{**total, "reference": "tests"}], constraints=[])
    codes = random_codes(of)
    codes[:, 2] = np.repeat([0, 1, 2], [200, 150, 50])
    assert finished(of, codes).totals == ("region",)
    codes[0, 2] = 1
    with pytest.raises(FinalCheckFailed) as refused:
        finished(of, codes)
    message = str(refused.value)
    assert message.startswith("data.csv does not have the public totals:")
    assert "  public_totals[0]: region north: 199, not 200" in message
    assert "  public_totals[0]: region 02: 151, not 150" in message


@pytest.mark.parametrize("characters", ["utf-8", "utf-16", "utf-8-sig"])
def test_batches_are_joined_to_the_file_that_one_batch_would_be(
    characters: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = {**example.spec(tmp_path / "table.csv")["data"], "source": "table.csv"}
    data |= {"encoding": characters}
    formats = ["csv", "parquet", "dta", "sav"]
    of = prepared(tmp_path, **with_dates(data=data, output={"formats": formats}, constraints=[]))
    codes = random_codes(of)
    before = {file.suffix: file for file in finished(of, codes).files}
    alone = tmp_path / "alone"
    alone.mkdir()
    for suffix, file in before.items():
        before[suffix] = file.rename(alone / file.name)
    monkeypatch.setattr(batched, "ENTRIES", 5 * 150)  # records of five columns: 3 batches
    final = finished(of, codes)
    assert final.rows == 400
    for file in final.files:
        assert of.codec.encode(read_back(of, file)).tolist() == codes.tolist(), file.name
    csv, parquet, *labelled = final.files
    one = before[".csv"].read_text(encoding=characters).splitlines()
    several = csv.read_text(encoding=characters).splitlines()
    assert (several[0], len(several)) == (one[0], len(one))
    region, employed = 2, 3  # one value in every cell, so nothing is drawn
    for line, other in zip(several, one, strict=True):
        assert line.split(",")[region : employed + 1] == other.split(",")[region : employed + 1]
    assert pq.read_schema(parquet) == pq.read_schema(before[".parquet"])
    for file in labelled:
        read = pyreadstat.read_dta if file.suffix == ".dta" else pyreadstat.read_sav
        (_, meta), (_, same) = read(str(file)), read(str(before[file.suffix]))
        assert meta.readstat_variable_types == same.readstat_variable_types
        assert meta.original_variable_types == same.original_variable_types
        assert meta.variable_value_labels == same.variable_value_labels
    left = [path.name for path in final.files[0].parent.iterdir()]
    assert sorted(left) == sorted(file.name for file in final.files)


def test_rules_are_counted_over_all_batches(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batched, "ENTRIES", 5 * 150)
    rule = {"rule": "employed = false", "source": "tests", "if_broken": "report"}
    of = prepared(tmp_path, constraints=[rule])
    codes = random_codes(of)
    (told,) = finished(of, codes).rules
    assert 100 < told.violations == int((codes[:, 3] == 1).sum())
    blocking = prepared(tmp_path, constraints=[{**rule, "if_broken": "block"}])
    with pytest.raises(FinalCheckFailed, match=f"broken by {told.violations} of 400 records"):
        finished(blocking, codes)


LOOKUP = {"of": "region", "values": {"01": "5", "02": "70", "07": "8"}, "reference": "tests"}


def test_a_lookup_that_is_not_the_specs_is_never_published(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = prepared(tmp_path, lookups={"density": LOOKUP})
    codes = random_codes(of)
    finished(of, codes)

    def slipped(spec: ReleaseSpec, frame: pd.DataFrame) -> pd.DataFrame:
        return filled_in(spec, frame).assign(density=5)

    monkeypatch.setattr(stage, "filled_in", slipped)
    with pytest.raises(FinalCheckFailed, match="density: not all have the value that is looked up"):
        finished(of, codes)


def test_batches_of_lookups_are_joined_whole(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batched, "ENTRIES", 5 * 150)
    formats = ["csv", "parquet", "dta", "sav"]
    of = prepared(tmp_path, lookups={"density": LOOKUP}, output={"formats": formats})
    workspace = Workspace.of("test-release")
    file = SyntheticFile(workspace.path / "synthetic.npy")
    file.save(SyntheticMeasure(codes=random_codes(of).astype(np.int32)))
    for path in stage.written(of.spec, file, workspace, SERIAL, in_batches=True).files:
        values = released_values(of.spec, path)
        assert len(values) == 400
        assert (values["density"] == values["region"].map({"01": 5, "02": 70, "07": 8})).all()
