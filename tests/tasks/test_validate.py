"""Validation: every rule fires and passes, counts are right, and agree with how rows are coded."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markupsafe import escape

from hallmark.schemas.loading import load_spec
from hallmark.schemas.lookups import Lookup
from hallmark.tasks import expectations, offending, reading
from hallmark.tasks.code_files import Drafts, load
from hallmark.tasks.expectations import Rule, ValidationFailed, second_opinion
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.offending import Frequent, merged
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.reading import Finding, compare, named, read_part
from hallmark.tasks.sources import Part, Source, SourceError, batches, parquet_files, parts
from hallmark.tasks.validate import check_table, merge, refuse_failures, write_findings
from tests import example

BASE = {"age": "40", "income": "3.5", "region": "02", "employed": "1", "since": "2001-02-03"}
COLUMNS = tuple(BASE)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("spec")
    return load_spec(example.write(folder, rows=3))


def source(path: Path, *extra: str) -> Source:
    return Source(location=str(path), null_markers=("NA",), columns=(*COLUMNS, *extra))


def validated(
    path: Path, columns: Any, rows: list[dict[str, str]], person: str | None = None
) -> list[Finding]:
    pd.DataFrame(rows).to_csv(path / "t.csv", index=False)
    (part,) = parts(source(path / "t.csv", *([person] if person else [])))
    return list(read_part(part, columns, person).findings)


def findings(
    path: Path, columns: Any, rows: list[dict[str, str]], person: str | None = None
) -> dict[tuple[str, str], tuple[int, int]]:
    found = validated(path, columns, rows, person)
    return {(f.rule.column, f.rule.rule): (f.rows, f.failing) for f in found}


def with_(**changes: str) -> dict[str, str]:
    return {**BASE, **changes}


RULES = [
    ("age", "are whole numbers or null", "40.5"),
    ("age", "are whole numbers or null", "forty"),
    ("age", "have a value (nulls: false)", "NA"),
    ("age", "lie between 0 and 99", "100"),
    ("age", "lie between 0 and 99", "-1"),
    ("region", "are one of the 3 categories", "2"),
    ("region", "have a value (nulls: false)", "NA"),
    ("employed", "are one of the 2 categories", "yes"),
    ("employed", "have a value (nulls: false)", "NA"),
    ("since", "are dates written as %Y-%m-%d or null", "03.02.2001"),
    ("since", "have a value (nulls: false)", "NA"),
    ("since", "lie between 2000-01-01 and 2009-12-31", "2010-01-01"),
]
CLAMPED = "lie between 0 and 400; else count at the bounds"


@pytest.mark.parametrize(("column", "rule", "cell"), RULES)
def test_each_rule_counts_the_rows_that_break_it_and_no_other_rule_fires(
    column: str, rule: str, cell: str, spec: Any, tmp_path: Path
) -> None:
    rows = [BASE, with_(**{column: cell}), BASE, with_(**{column: cell})]
    found = findings(tmp_path, spec.columns, rows)
    assert found[column, rule] == (4, 2)
    assert {key for key, (_, failing) in found.items() if failing} == {(column, rule)}


def test_an_unreadable_number_is_told_though_the_column_clamps(spec: Any, tmp_path: Path) -> None:
    found = findings(tmp_path, spec.columns, [with_(income="3,5 dollars")])
    assert {key for key, (_, failing) in found.items() if failing} == {
        ("income", "are numbers or null")
    }


def test_values_that_are_clamped_are_counted_and_refuse_nothing(spec: Any, tmp_path: Path) -> None:
    rows = [with_(income=income) for income in ("-1e9", "0", "400", "400.5", "NA")]
    found = validated(tmp_path, spec.columns, rows)
    (moved,) = [one for one in found if one.failing]
    assert (moved.rule.rule, moved.rows, moved.failing) == (CLAMPED, 5, 2)
    refuse_failures(found, tmp_path / "validation.json")


def test_values_off_the_step_are_counted_and_refuse_nothing(spec: Any, tmp_path: Path) -> None:
    stepped = spec.columns["income"].model_copy(update={"step": Fraction("0.05")})
    texts = ("0.15", "0.7", "399.95", "0.151", "0.1500001", "NA", "400.03", "x")
    rows = [with_(income=income) for income in texts]
    found = validated(tmp_path, {**spec.columns, "income": stepped}, rows)
    (off,) = [one for one in found if one.rule.rule.startswith("are multiples of 0.05; else")]
    assert (off.rows, off.failing, off.rule.refuses) == (8, 3, False)


def test_values_that_are_caught_are_counted_and_refuse_nothing(spec: Any, tmp_path: Path) -> None:
    caught = spec.columns["employed"].model_copy(update={"outside": "catch_all", "other": False})
    rows = [with_(employed=text) for text in ("yes", "1", "0", "no", "2")]
    found = validated(tmp_path, {**spec.columns, "employed": caught}, rows)
    (moved,) = [one for one in found if one.failing]
    assert moved.rule.rule == "are one of the 2 categories; else count as other"
    assert (moved.rows, moved.failing) == (5, 3)
    refuse_failures(found, tmp_path / "validation.json")


def test_a_column_of_nulls_alone_breaks_nothing_but_its_nulls(spec: Any, tmp_path: Path) -> None:
    found = findings(tmp_path, spec.columns, [dict.fromkeys(BASE, "NA")] * 3)
    broken = {key: count for key, (_, count) in found.items() if count}
    assert broken == {
        (column, "have a value (nulls: false)"): 3 for column in COLUMNS if column != "income"
    }


def test_a_record_without_a_person_is_found(spec: Any, tmp_path: Path) -> None:
    rows = [{**BASE, "person": "p1"}, {**BASE, "person": "NA"}]
    found = findings(tmp_path, spec.columns, rows, person="person")
    assert found["person", "name a person"] == (2, 1)


def test_records_that_are_left_out_beyond_a_persons_bound_are_counted(
    tmp_path: Path, home: Path
) -> None:
    prepared = prepare(example.write(tmp_path, 200, **example.of_persons(tmp_path, 2)))
    found = check_table(prepared.spec, prepared.source)
    (counted,) = [one for one in found if "kept of their person" in one.rule.rule]
    owned = example.table(200)["person"].value_counts()
    assert (counted.rows, counted.failing) == (200, (owned - 2).clip(lower=0).sum())
    assert counted.failing > 10
    assert counted.rule.column == "person"
    refuse_failures(found, tmp_path / "validation.json")  # none of them refuses


def test_counts_of_parts_and_batches_add_up(
    spec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "BATCH_ROWS", 3)
    rng = np.random.default_rng(1)
    folder = tmp_path / "parts"
    folder.mkdir()
    expected = 0
    for index in range(3):
        wrong = rng.random(10) < 0.4
        expected += int(wrong.sum())
        rows = pd.DataFrame([with_(age="100" if bad else "9") for bad in wrong])
        rows.to_parquet(folder / f"{index}.parquet")
    total = merge(read_part(part, spec.columns, None).findings for part in parts(source(folder)))
    (found,) = [f for f in total if f.rule.rule == "lie between 0 and 99"]
    assert (found.rows, found.failing) == (30, expected)
    assert 0 < expected < 30


CELLS = {
    "age": st.sampled_from(["0", "99", "100", "-1", "7.5", "x", "NA", "1e1", "NaN", "9" * 400]),
    "income": st.sampled_from(["0", "400", "1e9", "-3", "NA", "inf", "", "4_0"]),
    "region": st.sampled_from(["01", "1", "07", "NA", "north", ""]),
    "employed": st.sampled_from(["0", "1", "true", "NA", "1.0"]),
    "since": st.sampled_from(["2000-01-01", "2009-12-31", "1999-12-31", "2001-02-29", "NA", "1"]),
}


@given(row=st.fixed_dictionaries(CELLS))
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_a_row_passes_exactly_if_it_can_be_coded(
    row: dict[str, str], spec: Any, tmp_path: Path
) -> None:
    found = validated(tmp_path, spec.columns, [row])
    sound = not any(one.failing for one in found if one.rule.refuses)
    text = pd.DataFrame([row]).replace("NA", None).astype("string[pyarrow]")
    try:
        TableCodec.of(spec.columns).encode(text)
        coded = True
    except ValueError:
        coded = False
    assert sound == coded


@given(rows=st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=30))
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_counts_are_those_of_the_codecs(
    rows: list[dict[str, str]], spec: Any, tmp_path: Path
) -> None:
    found = findings(tmp_path, spec.columns, rows)
    text = pd.DataFrame(rows).replace("NA", None).astype("string[pyarrow]")
    for codec in TableCodec.of(spec.columns).codecs:
        values, unreadable = codec.read(text[codec.name])
        counts = {
            "can be read": int(unreadable.sum()),
            "nulls": int(text[codec.name].isna().sum()),
            "outside": int(codec.outside(values).sum()),
        }
        for (column, rule), (_, failing) in found.items():
            if column == codec.name:
                kind = "nulls" if "have a value" in rule else "can be read"
                kind = "outside" if rule.startswith(("lie", "are one")) else kind
                assert failing == counts[kind], rule


@given(rows=st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=30))
@hypothesis.example(rows=[dict.fromkeys(BASE, "NA")] * 2)  # a column without a value has no type
@settings(max_examples=7, deadline=None, suppress_health_check=list(HealthCheck))
def test_great_expectations_counts_the_same_of_every_rule(
    rows: list[dict[str, str]], spec: Any, tmp_path: Path
) -> None:
    stepped = spec.columns["income"].model_copy(update={"step": Fraction("0.05")})
    caught = spec.columns["employed"].model_copy(update={"outside": "catch_all", "other": False})
    columns = {**spec.columns, "income": stepped, "employed": caught}
    owned = [{**row, "person": "NA" if i % 3 else "p"} for i, row in enumerate(rows)]
    found = findings(tmp_path, columns, owned, person="person")
    (part,) = parts(source(tmp_path / "t.csv", "person"))
    (text,) = batches(part)
    theirs = second_opinion(TableCodec.of(columns).codecs, text, "person")
    assert {(r.column, r.rule): (len(rows), n) for r, n in theirs.items()} == found
    compare(part, columns, "person")


def test_a_release_stops_where_the_two_counts_do_not_agree(
    spec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pd.DataFrame([BASE]).to_csv(tmp_path / "t.csv", index=False)
    (part,) = parts(source(tmp_path / "t.csv"))
    age = next(f.rule for f in read_part(part, spec.columns, None).findings)
    monkeypatch.setattr(reading, "second_opinion", lambda *a: {**second_opinion(*a), age: 1})
    with pytest.raises(ValidationFailed, match=r"columns\.age: two ways to count .* do not agree"):
        compare(part, spec.columns, None)


def finding(failing: int, rows: int = 73193) -> Finding:
    rule = Rule(column="age", rule="lie between 0 and 99", mend="or set outside: clamp")
    return Finding(rule=rule, rows=rows, failing=failing)


def test_the_message_names_column_rule_and_mend_and_no_count(tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed) as refused:
        refuse_failures([finding(4711)], tmp_path / "validation.json")
    said = str(refused.value)
    assert "columns.age: not all rows lie between 0 and 99; or set outside: clamp" in said
    assert str(tmp_path / "validation.json") in said
    assert "4711" not in said
    assert "73193" not in said


def test_nothing_is_refused_where_every_rule_holds(tmp_path: Path) -> None:
    refuse_failures([finding(0)], tmp_path / "validation.json")


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed, match="the table has no rows"):
        refuse_failures([finding(0, rows=0)], tmp_path / "validation.json")


def test_findings_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "validation.json"
    write_findings([finding(4711)], path)
    assert json.loads(path.read_text())[0]["failing"] == 4711
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_expectation_that_raises_stops_the_release_and_quotes_nothing(
    spec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = expectations.checked_frame

    def mixed(*arguments: Any) -> pd.DataFrame:
        """A frame in which no expectation on ages can be evaluated, as texts are no numbers."""
        return whole(*arguments).assign(age="canary-73193")

    monkeypatch.setattr(expectations, "checked_frame", mixed)
    pd.DataFrame([BASE]).to_csv(tmp_path / "t.csv", index=False)
    (part,) = parts(source(tmp_path / "t.csv"))
    with pytest.raises(ValidationFailed, match=r"columns\.age: .* could not be evaluated") as told:
        compare(part, spec.columns, None)
    assert "canary" not in f"{told.value!r} {told.value.__context__!r}" + caplog.text


def test_an_unexpected_failure_says_where_its_details_are_and_quotes_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> Any:
        raise RuntimeError("canary-73193")

    monkeypatch.setattr(reading, "batches_of_cells", fail)
    prepared = prepare(example.write(tmp_path, rows=3))
    with pytest.raises(Exception, match="stage validate failed with RuntimeError") as told:
        check_table(prepared.spec, prepared.source)
    log = home / "work/test-release/failures.log"
    assert "canary" not in f"{told.value!r} {told.value.__context__!r}"
    assert "canary-73193" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def shown(spec: Path, rows: list[dict[str, str]], home: Path) -> tuple[list[Finding], Path]:
    """The findings of a table beside its spec, and the page of what breaks them."""
    pd.DataFrame(rows).to_csv(spec.parent / "table.csv", index=False)
    prepared = prepare(spec)
    return check_table(prepared.spec, prepared.source), Workspace.of(
        prepared.spec.release
    ).offending


SCRIPT = "<script>alert('73193')</script>"


def test_the_values_that_break_rules_are_on_a_page_for_the_steward_alone(
    home: Path, tmp_path: Path
) -> None:
    spec = example.write(tmp_path, 3)
    rows = [{**BASE, "person": "p1"}] * 3
    rows += [{**BASE, "person": "p1", "region": SCRIPT}] * 2 + [
        {**BASE, "person": "p1", "age": "x73193"}
    ]
    rows += [{**BASE, "person": "p1", "income": "400.5"}, {**BASE, "person": "p1", "since": "NA"}]
    findings, page = shown(spec, rows, home)
    with pytest.raises(ValidationFailed) as refused:
        refuse_failures(findings, page)
    assert str(page) in str(refused.value)
    assert "73193" not in str(refused.value) + repr(findings)
    text = page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
    assert SCRIPT not in text
    assert f"<code>{escape(SCRIPT)}</code></th><td>2</td>" in text
    assert "<code>x73193</code></th><td>1</td>" in text
    assert "<code>400.5</code></th><td>1</td>" in text
    assert "<code>since</code>: not all rows have a value (nulls: false)" in text
    assert "INTERNAL - CONFIDENTIAL" in text
    assert text.index("x73193") < text.index("400.5")  # what refuses comes first
    assert sorted(path.name for path in page.parent.iterdir()) == [
        "validation.html", "validation.json",
    ]  # fmt: skip


def test_a_table_without_a_break_leaves_no_page_of_an_earlier_one(
    home: Path, tmp_path: Path
) -> None:
    spec = example.write(tmp_path, 3)
    _, page = shown(spec, [{**BASE, "person": "p1", "age": "x"}], home)
    assert page.exists()
    _, page = shown(spec, [{**BASE, "person": "p1"}], home)
    assert not page.exists()


def test_values_of_all_parts_are_counted_together(spec: Any, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for index, region in enumerate(["x", "y", "x"]):
        pd.DataFrame([with_(region=region)] * (index + 1)).to_csv(
            folder / f"{index}.csv", index=False
        )
    found = parts(source(folder))
    for part, name in zip(found, ("0.json", "1.json", "2.json"), strict=True):
        for _ in range(2):  # as a worker does whose first answer was lost
            read_part(part, spec.columns, None, offending=tmp_path / name)
    (seen,) = merged(tmp_path).values()
    assert [(one.value, one.rows) for one in seen.top()] == [("x", 4), ("y", 2)]
    assert {(tmp_path / f"{i}.json").stat().st_mode & 0o777 for i in range(3)} == {0o600}


def test_memory_is_bounded_and_the_most_frequent_values_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(offending, "KEPT", 10)
    seen = Frequent()
    for batch in range(50):
        rare = [f"{batch}-{i}" for i in range(15)]
        seen.see(["often", "sometimes", *rare], [5, 3, *[1] * 15])
        assert len(seen.counts) <= 20
    assert [(one.value, one.rows) for one in seen.top()[:2]] == [("often", 250), ("sometimes", 150)]
    assert not seen.exact
    assert max(len(one.value) for one in seen.top()) <= 200


DENSITY = Lookup(of="region", values={"01": "12.5", "02": "7", "07": "130"}, reference="x")
LOOKED_UP = "have the value that is looked up from region, or none"


def with_density(folder: Path, values: list[str] | None, form: str = "csv") -> Part:
    """The one part of a table of region 02, whose source may have densities."""
    frame = pd.DataFrame([BASE] * len(values or [""]))
    if values is not None:
        frame["density"] = values
    path = folder / f"t.{form}"
    getattr(frame, f"to_{form}")(path, index=False)
    (part,) = parts(replace(source(path), optional=("density",)))
    return part


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_own_values_of_a_lookup_are_compared_with_the_specs(
    form: str, spec: Any, tmp_path: Path
) -> None:
    part = with_density(tmp_path, ["7", "7.0", "NA", "12.5", "12.5", "8"], form)
    lookups = {"density": DENSITY}
    read = read_part(part, spec.columns, None, lookups=lookups, offending=tmp_path / "0.json")
    (broken,) = [finding for finding in read.findings if finding.failing]
    assert (broken.rule.rule, broken.rows, broken.failing) == (LOOKED_UP, 6, 3)
    assert merged(tmp_path)[f"density: {LOOKED_UP}"].counts == {"02: 12.5": 2, "02: 8": 1}
    compare(part, spec.columns, None, lookups)
    with pytest.raises(ValidationFailed) as refused:
        refuse_failures(read.findings, tmp_path / "page.html")
    told = f"lookups.density: not all rows {LOOKED_UP}; correct the values there, or list density"
    assert told in str(refused.value)
    assert "12.5" not in str(refused.value)


def test_own_values_of_a_lookup_are_never_coded(spec: Any, tmp_path: Path) -> None:
    part = with_density(tmp_path, ["7", "NA"])
    lookups = {"density": DENSITY}
    drafts = Drafts(tmp_path, 0)
    read = read_part(part, spec.columns, None, lookups=lookups, drafts=drafts)
    assert load(read.files[0]).shape == (2, len(COLUMNS))
    assert not any(finding.failing for finding in read.findings)


def test_a_table_without_the_lookup_is_as_good(spec: Any, tmp_path: Path) -> None:
    part = with_density(tmp_path, None)
    lookups = {"density": DENSITY}
    read = read_part(part, spec.columns, None, lookups=lookups)
    assert [f.failing for f in read.findings if f.rule.rule == LOOKED_UP] == [0]
    compare(part, spec.columns, None, lookups)
    assert named(read.findings[-1].rule) == f"density: {LOOKED_UP}"


def test_an_ignored_lookup_is_not_read(spec: Any, tmp_path: Path) -> None:
    known = example.spec(tmp_path / "t.csv")
    known["data"]["ignore"] = ["density"]
    known["lookups"] = {"density": DENSITY.model_dump()}
    path = tmp_path / "spec.yaml"
    path.write_text(json.dumps(known, default=str))
    pd.DataFrame([{**BASE, "density": "100"}]).to_csv(tmp_path / "t.csv", index=False)
    (part,) = parts(prepare(path).source)
    assert part.source.columns == COLUMNS
    read = read_part(part, spec.columns, None, lookups={"density": DENSITY})
    assert not any(finding.failing for finding in read.findings)


def test_a_table_that_has_a_lookup_twice_is_refused(spec: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",".join([*COLUMNS, "density", "density"]) + "\n")
    with pytest.raises(SourceError, match="it has the columns density more than once"):
        parts(replace(source(tmp_path / "t.csv"), optional=("density",)))
