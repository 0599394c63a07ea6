"""Comparing files: the numbers are those of the coded tables, and no message shows a value."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hallmark.mechanisms.utility import Label, UtilityScores, downstream, evaluate, split
from hallmark.tasks.evaluate import (
    NOTICE,
    EvaluationRefused,
    LabelRefused,
    compare,
    evaluate_files,
    in_words,
)
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.guard import StageFailed
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.prepare import prepare
from tests import example

ROWS = 400
SECRET = "731904"


@pytest.fixture
def spec(tmp_path: Path, home: Path) -> Path:
    return example.write(tmp_path, ROWS)


def synthetic(folder: Path, name: str = "synthetic.csv", **changes: Any) -> str:
    """Another draw of the example's table, as a release of it would be written."""
    frame = example.table(ROWS, seed=8).drop(columns="person").assign(**changes)
    path = folder / name
    if name.endswith(".parquet"):
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, na_rep="NA")
    return str(path)


def codes(spec: Path, seed: int) -> tuple[np.ndarray, tuple[int, ...]]:
    codec = TableCodec.of(prepare(spec).spec.columns)
    frame = example.table(ROWS, seed=seed).drop(columns="person")
    text = frame.astype("str").mask(frame.isna())
    return codec.encode(text.astype(pd.StringDtype("pyarrow"))), codec.domain.shape


@pytest.mark.parametrize("name", ["s.csv", "s.parquet"])
def test_a_file_is_compared_as_its_codes_are(spec: Path, name: str) -> None:
    real, sizes = codes(spec, 7)
    made, _ = codes(spec, 8)
    found = evaluate_files(spec, synthetic(spec.parent, name))
    assert found.metrics == evaluate(real, made, sizes)
    assert (found.label, found.held_out, found.downstream_unit, found.merged) == (
        None, None, None, ()
    )  # fmt: skip


@pytest.mark.parametrize(
    ("label", "meant", "unit"),
    [
        ("employed=1", Label(column=3, equals=1), "share of records"),
        ("employed", Label(column=3), "share of records"),
        ("region=07", Label(column=2, equals=2), "share of records"),
        ("age", Label(column=0, number=True), "squared cells"),
        ("age=35", Label(column=0, equals=3), "share of records"),
        ("income=NA", Label(column=1, equals=8), "share of records"),
        ("since=2000-01-01", Label(column=4, equals=0), "share of records"),
    ],
)
def test_a_label_is_named_as_the_table_writes_it(
    spec: Path, label: str, meant: Label, unit: str
) -> None:
    real, sizes = codes(spec, 7)
    made, _ = codes(spec, 8)
    found = evaluate_files(spec, synthetic(spec.parent), label=label)
    assert found.metrics == evaluate(real, made, sizes, label=meant, baseline=True)
    assert (found.label, found.downstream_unit) == (label, unit)
    assert found.held_out == "a fifth of the private table"


def test_tables_and_labels_are_read_as_the_spec_says_they_are_written(
    tmp_path: Path, home: Path
) -> None:
    known = evaluate_files(
        example.write(tmp_path / "plain", ROWS),
        synthetic(tmp_path / "plain"),
        label="income=12.5",
    )
    base = example.spec(Path("table.csv"))
    base["data"] |= {"delimiter": ";", "encoding": "utf-16"}
    base["columns"]["income"] |= {"decimal_mark": ",", "null_markers": ["."]}
    spec = example.write(tmp_path / "marked", ROWS, data=base["data"], columns=base["columns"])
    for seed, name in ((7, "table.csv"), (8, "s.csv")):
        frame = example.table(ROWS, seed=seed)
        income = frame["income"].map(
            lambda wage: "." if wage != wage else f"{wage}".replace(".", ",")
        )
        frame.assign(income=income).to_csv(
            spec.parent / name, index=False, na_rep="NA", sep=";", encoding="utf-16"
        )
    found = evaluate_files(spec, str(spec.parent / "s.csv"), label="income=12,5")
    assert found.metrics == known.metrics
    with pytest.raises(LabelRefused, match=r"'12\.5' is not a value of columns\.income"):
        evaluate_files(spec, str(spec.parent / "s.csv"), label="income=12.5")
    (spec.parent / "s.csv").write_text("age,income\n")
    assert refused(spec, str(spec.parent / "s.csv")).endswith(
        "is not written in utf-16, as data.encoding of the spec says"
    )


def test_held_out_records_leave_the_private_table_whole(spec: Path) -> None:
    test = synthetic(spec.parent, "test.parquet")
    found = evaluate_files(spec, synthetic(spec.parent), test=test, label="employed")
    assert (found.metrics.rows_real, found.metrics.rows_test) == (ROWS, ROWS)
    assert found.held_out == f"the records of {test}"


def test_the_records_compared_are_those_that_a_release_keeps_of_a_person(
    tmp_path: Path, home: Path
) -> None:
    output = {"columns": ["age", "region"]}
    spec = example.write(
        tmp_path, ROWS, output=output, constraints=[], **example.of_persons(tmp_path, 2)
    )
    table = example.table(ROWS)
    kept = table[table.groupby("person").cumcount() < 2]
    path = tmp_path / "s.csv"
    kept[["region", "age"]].to_csv(path, index=False)
    found = evaluate_files(spec, str(path))
    assert (found.metrics.rows_real, found.left_out) == (len(kept), ROWS - len(kept))
    assert (found.metrics.tv, found.metrics.covariance) == (0, 0)
    assert found.to_json()["left_out"] == ROWS - len(kept) > 20
    whole = evaluate_files(spec, str(path), data=str(path))
    assert (whole.metrics.rows_real, whole.left_out) == (len(kept), None)


def test_a_model_is_learnt_from_a_sample_of_many_records_and_the_output_says_so(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downstream, "MOST_LEARNT", 100)
    found = evaluate_files(spec, synthetic(spec.parent), label="age")
    assert [(s.used, s.of) for s in found.samples] == [(100, 320), (100, 400)]
    assert "private records to train on" in found.samples[0].what
    assert found.to_json()["samples"][1]["used"] == 100
    assert (found.metrics.rows_real, found.metrics.rows_test) == (320, 80)
    assert evaluate_files(spec, synthetic(spec.parent), label="age") == found


def test_another_private_table_may_be_named(spec: Path) -> None:
    same = synthetic(spec.parent)
    found = evaluate_files(spec, same, data=same)
    assert (found.metrics.tv, found.metrics.count) == (0, 0)


def test_only_released_columns_are_compared(tmp_path: Path, home: Path) -> None:
    spec = example.write(tmp_path, ROWS, output={"columns": ["age", "region"]}, constraints=[])
    path = tmp_path / "s.csv"
    example.table(ROWS)[["region", "age"]].to_csv(path, index=False)
    found = evaluate_files(spec, str(path))
    assert (found.metrics.tv, found.metrics.covariance) == (0, 0)
    with pytest.raises(LabelRefused, match="there are age, region"):
        evaluate_files(spec, str(path), label="employed")


def test_columns_of_many_cells_are_merged_for_all_but_the_label(tmp_path: Path, home: Path) -> None:
    columns = example.spec(tmp_path)["columns"]
    columns["age"] |= {"cell_width": 1}
    spec = example.write(tmp_path, ROWS, columns=columns)
    found = evaluate_files(spec, synthetic(tmp_path), label="age")
    assert found.merged == ("age",)
    real, sizes = codes(spec, 7)
    made, _ = codes(spec, 8)
    train, test = split(real)
    assert sizes[0] == 100
    merged = [np.column_stack([t[:, 0] * 32 // 100, t[:, 1:]]) for t in (train, made)]
    metrics = evaluate(*merged, (32, *sizes[1:]))
    fine = evaluate(train, made, sizes, test=test, label=Label(column=0, number=True))
    assert (found.metrics.sw1, found.metrics.count) == (metrics.sw1, metrics.count)
    assert found.metrics.downstream == fine.downstream
    assert fine.tv != metrics.tv == found.metrics.tv


def test_the_json_starts_with_the_warning(spec: Path) -> None:
    found = evaluate_files(spec, synthetic(spec.parent)).to_json()
    assert next(iter(found.items())) == ("internal", NOTICE)
    assert {field.name for field in fields(UtilityScores)} < set(found)
    json.dumps(found, allow_nan=False)


# What is refused


def refused(spec: Path, *arguments: str, **options: str) -> str:
    with pytest.raises(SafeError) as caught:
        evaluate_files(spec, *arguments, **options)
    assert isinstance(caught.value, EvaluationRefused | LabelRefused)
    return str(caught.value)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("empoyed=1", "'empoyed' is not a column that the spec releases; did you mean 'employed'?"),
        ("zzz", "'zzz' is not a column that the spec releases; there are age, income"),
        ("region=9", "'9' is not a value of columns.region"),
        ("age=old", "'old' is not a value of columns.age"),
        ("age=100", "'100' is not a value of columns.age"),
        ("age=NA", "'NA' is not a value of columns.age"),
        ("region=", "'' is not a value of columns.region"),
    ],
)
def test_a_label_that_is_not_there_is_refused(spec: Path, label: str, said: str) -> None:
    assert refused(spec, "never read.csv", label=label).startswith(said)


def test_a_label_may_be_of_a_column_with_an_equals_sign(tmp_path: Path, home: Path) -> None:
    columns = example.spec(tmp_path)["columns"]
    columns["a=b"] = columns.pop("region")
    spec = example.write(tmp_path, ROWS, columns=columns, constraints=[])
    frame = example.table(ROWS).rename(columns={"region": "a=b"})
    frame.to_csv(tmp_path / "table.csv", index=False, na_rep="NA")
    found = evaluate_files(spec, str(tmp_path / "table.csv"), label="a=b=07")
    assert found.downstream_unit == "share of records"


@pytest.mark.parametrize("origin", ["data.source", "--data", "--synthetic", "--test"])
@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("age", SECRET, "age: there are values that lie outside the column's domain"),
        ("age", f"x{SECRET}", "age: there are values that cannot be read"),
        ("region", SECRET, "region: there are values that lie outside"),
        ("region", "NA", "region: there are values that are missing, but nulls are not allowed"),
    ],
)
def test_values_without_a_place_are_refused_and_not_shown(
    spec: Path, origin: str, column: str, value: str, said: str
) -> None:
    good = synthetic(spec.parent)
    frame = pd.read_csv(good, dtype=str, keep_default_na=False)
    frame.loc[3, column] = value
    bad = spec.parent / ("table.csv" if origin == "data.source" else "bad.csv")
    frame.assign(person="p").to_csv(bad, index=False)
    options = {origin.strip("-"): str(bad)} if origin in ("--data", "--test") else {}
    message = refused(
        spec, str(bad) if origin == "--synthetic" else good, label="employed", **options
    )
    assert message.startswith(f"{origin}: column {said}")
    assert SECRET not in message


def test_a_column_that_clamps_lets_values_pass(spec: Path) -> None:
    wide = synthetic(spec.parent, income=[1e6] * ROWS)
    full = synthetic(spec.parent, "full.csv", income=[400.0] * ROWS)
    assert evaluate_files(spec, wide).metrics == evaluate_files(spec, full).metrics


@pytest.mark.parametrize("origin", ["--data", "--synthetic", "--test"])
def test_a_file_that_lacks_columns_is_refused(spec: Path, origin: str) -> None:
    good = synthetic(spec.parent)
    bad = spec.parent / "bad.csv"
    pd.read_csv(good).drop(columns=["age", "since"]).to_csv(bad, index=False)
    options = {} if origin == "--synthetic" else {origin.strip("-"): str(bad)}
    message = refused(
        spec, str(bad) if origin == "--synthetic" else good, label="employed", **options
    )
    assert message == f"{origin}: the header of bad.csv: it lacks the columns age, since"


def test_files_that_are_not_there_or_not_tables_are_refused(spec: Path) -> None:
    folder = spec.parent
    assert refused(spec, f"{folder}/no.csv").startswith("--synthetic: nothing is at")
    (folder / "s.txt").write_text("age\n1\n")
    assert "let it end in .csv or .parquet" in refused(spec, f"{folder}/s.txt")
    (folder / "s.parquet").write_text(f"age\n{SECRET}\n")
    said = refused(spec, f"{folder}/s.parquet")
    assert said.startswith("--synthetic: s.parquet is not a Parquet file; name it by what it is")
    good = synthetic(folder)
    (folder / "table.csv").unlink()
    assert refused(spec, good).startswith("data.source: nothing is at")


def test_tables_of_too_few_records_are_refused(spec: Path) -> None:
    good = synthetic(spec.parent)
    few = {}
    for rows in (0, 1, 4):
        few[rows] = str(spec.parent / f"{rows}.csv")
        pd.read_csv(good, dtype=str, keep_default_na=False)[:rows].to_csv(few[rows], index=False)
    assert refused(spec, few[1]).startswith("--synthetic: too few records; at least")
    assert refused(spec, good, data=few[1]).startswith("--data: too few records; at least")
    assert evaluate_files(spec, good, data=few[4]).metrics.rows_real == 4
    said = refused(spec, good, data=few[4], label="employed")
    assert said.startswith("--data: too few records; at least 5 are needed to hold some out")
    assert refused(spec, good, test=few[0], label="employed").startswith("--test: too few records")
    found = evaluate_files(spec, good, data=few[4], test=few[1], label="employed")
    assert (found.metrics.rows_real, found.metrics.rows_test) == (4, 1)


def test_what_a_library_says_stays_in_the_workspace(
    spec: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any, **options: Any) -> None:
        raise RuntimeError(f"cannot compare {SECRET}")

    monkeypatch.setattr("hallmark.tasks.evaluate.evaluate", broken)
    with pytest.raises(StageFailed) as caught:
        evaluate_files(spec, synthetic(spec.parent))
    assert SECRET not in str(caught.value)
    assert SECRET in (home / "work/test-release/failures.log").read_text()


# For the internal review


def test_tables_of_no_records_are_not_compared(spec: Path) -> None:
    domain = prepare(spec).codec.domain
    real, _ = codes(spec, 7)
    assert compare(real, real[:1], domain) is None
    assert compare(real[:0], real, domain) is None
    assert compare(real[:2], real[:2], domain) is not None


def test_every_metric_has_a_sentence(spec: Path) -> None:
    found = evaluate_files(spec, synthetic(spec.parent), label="age")
    lines = in_words(found.metrics, found.downstream_unit)
    shown = [line.value for line in lines]
    m = found.metrics
    assert shown == [
        m.downstream, m.downstream_real, m.covariance_real, m.covariance, m.count, m.thresh,
        m.sw1, m.tv, m.tv1,
    ]  # fmt: skip
    assert [line.value for line in in_words(m)] == shown[2:]
    for line in lines:
        assert line.meaning.count(". ") == 0
        assert line.meaning.endswith(".")
