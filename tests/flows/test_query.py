"""Questions to a released folder, with the private table gone, as a data user asks them."""

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import hallmark as package
from hallmark.schemas.documents.manifest import MEASUREMENTS_FILE, RECORD_FILE
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.verification import verify_release
from tests import example
from tests.flows.conftest import Hallmark
from tests.tasks.released import ROWS, Released


@pytest.fixture
def released(hallmark: Hallmark, run: Released) -> Iterator[Path]:
    """The example's release, while its private table is gone."""
    table = run.prepared.path.with_name("table.csv")
    gone = table.rename(table.with_name("gone"))
    yield run.folder
    gone.rename(table)


def release(folder: Path, **changes: Any) -> Path:
    from hallmark.flows.release import release as flow

    example.open_account()
    spec = example.write(folder, ROWS, **changes)
    published = flow(str(spec), str(folder / "out"))
    (folder / "table.csv").unlink()
    return Path(published.folder)


def test_a_question_is_answered_in_three_forms_without_the_private_table(
    released: Path, hallmark: Hallmark
) -> None:
    shown = hallmark("query", released, "count by region")
    assert shown.code == 0, shown.err
    assert "95 % interval" in shown.out
    assert "north" in shown.out
    assert "exact: from the noisy tables" in shown.out

    told = json.loads(hallmark("query", released, "count by region", "--json").out)
    assert [one["group"]["region"] for one in told["answers"]] == ["north", "south", "east"]
    assert sum(one["estimate"] for one in told["answers"]) == pytest.approx(ROWS)
    true = example.table(ROWS)["region"].value_counts()
    for one, code in zip(told["answers"], ["01", "02", "07"], strict=True):
        assert abs(one["estimate"] - true[code]) < 6 * one["deviation"]

    printed = hallmark("query", released, "count by region", "--csv", "--confidence", "0.5").out
    rows = list(csv.DictReader(io.StringIO(printed)))
    for row, one in zip(rows, told["answers"], strict=True):
        assert float(row["estimate"]) == one["estimate"]
        assert float(row["high"]) < one["high"]

    frame = package.open(released).query("count by region")
    assert frame["estimate"].to_list() == [one["estimate"] for one in told["answers"]]
    assert frame.attrs["notes"] == tuple(told["notes"])

    three = hallmark("query", released, "count by region, employed, age").out
    assert "records" in three
    assert "nothing was measured of" in three


def test_several_questions_are_answered_at_once_and_their_intervals_can_hold_together(
    released: Path, hallmark: Hallmark
) -> None:
    questions = ("count by region", "mean of age by employed")
    shown = hallmark("query", released, *questions).out
    assert shown.index("count by region") < shown.index("mean of age by employed")
    assert "of raw values" in shown

    def first(*asked: str) -> dict[str, Any]:
        told = json.loads(hallmark("query", released, *asked, "--simultaneous", "--json").out)
        counts = told[0] if len(asked) > 1 else told
        return dict(counts["answers"][0])

    alone, together = first("count by region"), first(*questions)
    assert together["high"] - together["low"] > 1.05 * (alone["high"] - alone["low"])
    assert together["estimate"] == alone["estimate"]
    refused = hallmark("query", released, *questions, "--csv")
    assert "use --json for several" in " ".join(refused.err.split())


def test_what_cannot_be_asked_is_refused_in_words(released: Path, hallmark: Hallmark) -> None:
    for question, words in {
        "cuont": "is not a statistic",
        "count by regoin": "region",
        "mean of region": "ask for shares",
    }.items():
        refused = hallmark("query", released, question)
        assert refused.code == 2
        assert words in " ".join(refused.err.split())
    refused = hallmark("query", released, "count", "--confidence", "2")
    assert "between 0 and 1" in refused.error
    refused = hallmark("query", released.parent, "count")
    assert "is not a release folder" in refused.error
    assert hallmark("query", released, "count", "--csv", "--json").code == 2


def test_the_documents_of_a_release_show_answers_with_intervals(released: Path) -> None:
    record = json.loads((released / RECORD_FILE).read_bytes())
    learnt = record["utility"]["learnt"]
    assert learnt["file"] == MEASUREMENTS_FILE
    asked = [one["question"] for one in learnt["questions"]]
    assert "count by region, employed" in asked
    assert "hallmark query . 'count by region, employed'" in (released / "README.md").read_text()
    assert "What you can learn from this release" in (released / "audit-report.html").read_text()
    frame = package.open(released).query("count by region")
    told = next(o for o in learnt["questions"] if o["question"] == "count by region")
    assert [one["estimate"] for one in told["answers"]] == pytest.approx(frame["estimate"])


def test_a_file_of_another_release_does_not_verify(released: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(released, tmp_path / "copy")
    path = copy / MEASUREMENTS_FILE
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"hallmark"]) | {"release": "another"}
    row = table.to_pylist()
    row[0]["parameter"] = "1/1000"
    changed = type(table).from_pylist(row, schema=table.schema)
    metadata = {b"hallmark": json.dumps(about).encode()}
    pq.write_table(changed.replace_schema_metadata(metadata), path)
    (check,) = [one for one in verify_release(copy).checks if one.name == MEASUREMENTS_FILE]
    assert not check.ok
    assert "it is of release another" in check.detail
    assert "noise of parameter 1/1000, which the record does not charge" in check.detail


def test_without_the_file_nothing_is_told_of_it_and_nothing_can_be_asked(
    hallmark: Hallmark, tmp_path: Path
) -> None:
    output = {"formats": ["csv"], "measurements": False}
    folder = release(tmp_path, output=output, constraints=[])
    assert not (folder / MEASUREMENTS_FILE).exists()
    assert verify_release(folder).ok
    assert "hallmark query" not in (folder / "README.md").read_text()
    with pytest.raises(SafeError, match="measurements: false"):
        package.open(folder).query("count")


def test_columns_that_are_not_published_are_in_no_table(hallmark: Hallmark, tmp_path: Path) -> None:
    output = {"formats": ["csv"], "columns": ["age", "region"]}
    folder = release(tmp_path, output=output, constraints=[])
    columns = {
        name
        for row in pq.read_table(folder / MEASUREMENTS_FILE).to_pylist()
        for name in row["columns"]
    }
    assert columns == {"age", "region"}
    refused = hallmark("query", folder, "mean of income")
    assert refused.code == 2
