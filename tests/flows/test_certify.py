"""Certificates of records made elsewhere: published, replayed, verified, and refused in time."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.documents.manifest import CERTIFICATE_FILE, DATA_FILES, RECORD_FILE
from hallmark.schemas.loading import load_spec
from hallmark.tasks.gates.rehearsal import rehearse
from hallmark.tasks.installation.signing import digest
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.planning.outside_records import OutsideRecordsRefused
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.private_tables import CopyRefused
from hallmark.tasks.planning.requested import PlanRefused, adjacency
from hallmark.tasks.publish import Published, PublishRefused
from hallmark.tasks.reserve import AlreadyStarted
from hallmark.tasks.verification import verify_release
from tests import example
from tests.flows.conftest import Hallmark
from tests.flows.runs import spent
from tests.tasks.released import Released

NAMES = ("age", "region", "employed")
ROWS = 400

pytestmark = pytest.mark.usefixtures("prefect", "home")


def write(folder: Path, **changes: Any) -> Path:
    """The private table, and the spec of a certificate on three of its columns."""
    sections = example.only(folder, *NAMES) | {
        "release": "test-certificate",
        "mechanism": {"name": "certify"},
        "certificate": {"marginals": 2, "cells": 5},
        "output": {},
    }
    return example.write(folder, ROWS, **sections | changes)


def vendor(folder: Path, name: str = "vendor.csv", **values: Any) -> Path:
    """Records of other people, with columns that the certificate does not look at."""
    table = example.table(300, seed=9)
    for column, value in values.items():
        table[column] = table[column].astype(object)
        table.loc[5, column] = value
    table.to_csv(folder / name, index=False, na_rep="NA")
    return folder / name


def run(spec: Path, file: Path, **options: Any) -> Any:
    from hallmark.flows.certify import certify

    return certify(str(spec), str(file), str(spec.parent / "out"), **options)


def published(spec: Path, file: Path, **options: Any) -> Published:
    done = run(spec, file, **options)
    assert isinstance(done, Published)
    return done


def checks(folder: Path, file: Path | None = None) -> dict[str, bool]:
    return {check.name: check.ok for check in verify_release(folder, None, file).checks}


@dataclass(frozen=True)
class Certified:
    """A published certificate, the spec and the file that it is of, and the home."""

    folder: Path
    spec: Path
    file: Path
    home: Path


@pytest.fixture(scope="module")
def made(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Certified:
    """A certificate that tests look at and none changes."""
    base = tmp_path_factory.mktemp("certified")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(base / "home"))
        patch.delenv("HALLMARK_LEDGER", raising=False)
        example.open_account()
        spec, file = write(base), vendor(base)
        return Certified(Path(published(spec, file).folder), spec, file, base / "home")


@pytest.fixture
def certified(made: Certified, home: Path, monkeypatch: pytest.MonkeyPatch) -> Certified:
    """That certificate, in the home that it was made in."""
    monkeypatch.setenv("HALLMARK_HOME", str(made.home))
    return made


def test_a_file_is_certified_by_the_whole_budget_and_published_without_data(
    certified: Certified,
) -> None:
    folder = certified.folder
    certificate = json.loads((folder / CERTIFICATE_FILE).read_text())
    assert certificate["file"] == {
        "name": "vendor.csv", "sha256": digest(certified.file), "rows": 300,
    }  # fmt: skip
    assert [bound["target"] for bound in certificate["bounds"]] == [
        "all 3 two-way marginals",
        "age x region",
        "age x employed",
        "region x employed",
        *NAMES,
    ]
    assert any("however the certified records were made" in a for a in certificate["assumptions"])
    assert not {path.name for path in folder.iterdir()} & set(DATA_FILES)
    record = json.loads((folder / RECORD_FILE).read_text())
    assert record["guarantee"]["claim"]["epsilon"] == "1"
    assert record["account"]["split"][0]["purpose"] == "marginals for the certificate alone"
    assert record["mechanism"]["events"]
    facts = [fact["fact"] for fact in record["guarantee"]["unprotected"]]
    assert "nothing that the spec declares public is a copy of the private table" in facts
    assert "no row was published here" in (folder / "for-people.html").read_text()
    Ledger(ledger_url()).verify("test-people")
    assert spent() == (1, 0)
    assert "Columns together" in Workspace.of("test-certificate").review.read_text()


def test_a_certificate_is_verified_with_the_file_or_without_it(
    certified: Certified, tmp_path: Path
) -> None:
    file, folder = certified.file, shutil.copytree(certified.folder, tmp_path / "copy")
    assert all(checks(folder).values())
    assert all(checks(folder, file).values())
    assert checks(folder)["certified file"]
    # Beside the certificate it needs no naming, and is no stray file.
    beside = Path(shutil.copy(file, folder))
    assert all(checks(folder).values())
    with beside.open("a") as handle:
        handle.write("1,NA,01,0,2001-01-01,x\n")
    assert [name for name, ok in checks(folder).items() if not ok] == ["certified file"]
    beside.unlink()
    other = vendor(tmp_path, "other.csv", age=44)
    assert [name for name, ok in checks(folder, other).items() if not ok] == ["certified file"]
    assert not checks(folder, tmp_path / "nothing.csv")["certified file"]
    # Another file put in its name is another certificate than was signed.
    certificate = folder / CERTIFICATE_FILE
    certificate.write_text(certificate.read_text().replace(digest(file), digest(other)))
    assert not checks(folder, other)["files"]


def test_running_again_replays_and_charges_once_and_for_that_file_alone(tmp_path: Path) -> None:
    example.open_account()
    spec, file, other = write(tmp_path), vendor(tmp_path), vendor(tmp_path, "other.csv", age=44)
    first = published(spec, file)
    assert published(spec, file).earlier
    with pytest.raises(PublishRefused, match="is not what this spec publishes"):
        run(spec, other, resume=True)
    before = (Path(first.folder) / CERTIFICATE_FILE).read_bytes()
    shutil.rmtree(first.folder)
    with pytest.raises(AlreadyStarted, match="Run with --resume"):
        run(spec, file)
    with pytest.raises(AlreadyStarted, match=r"another file than other\.csv"):
        run(spec, other, resume=True)
    again = published(spec, file, resume=True)
    assert (Path(again.folder) / CERTIFICATE_FILE).read_bytes() == before
    Ledger(ledger_url()).verify("test-people")
    assert spent() == (1, 0)


@pytest.mark.parametrize("form", [pytest.param("csv", marks=pytest.mark.slow), "parquet"])
def test_the_data_file_of_a_release_can_be_certified(
    form: str, example_release: Released, tmp_path: Path
) -> None:
    example.open_account()
    done = published(write(tmp_path), example_release.folder / f"data.{form}")
    assert all(checks(Path(done.folder)).values())
    assert spent() == (1, 0)


def test_gates_stop_a_certificate_as_they_stop_a_release(tmp_path: Path) -> None:
    example.open_account()
    spec, file = write(tmp_path, approvals={"plan": ["methodologist"]}), vendor(tmp_path)
    waiting = run(spec, file)
    assert isinstance(waiting, Waiting)
    assert waiting.seen["certified file"] == digest(file)
    assert waiting.file == str(file)
    assert spent() == (0, 0)


def lacking(folder: Path) -> Path:
    file = folder / "vendor.csv"
    pd.read_csv(vendor(folder)).drop(columns="region").to_csv(file, index=False)
    return file


def empty(folder: Path) -> Path:
    file = folder / "vendor.csv"
    pd.read_csv(vendor(folder)).head(0).to_csv(file, index=False)
    return file


def of_no_kind(folder: Path) -> Path:
    return vendor(folder).rename(folder / "vendor.txt")


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (
            lambda folder: vendor(folder, age=140),
            "column age: 1 of 300 values lie .*, first in record 6; fix",
        ),
        (
            lambda folder: vendor(folder, age="ten"),
            "column age: 1 of 300 values cannot be read, first in record 6",
        ),
        (lambda folder: vendor(folder, region="NA"), "column region: 1 of 300 values are missing"),
        (lacking, r"vendor\.csv: the header of vendor\.csv: .*region"),
        (empty, "holds no record"),
        (of_no_kind, r"vendor\.txt: cannot tell the format"),
        (lambda folder: folder / "nothing.csv", r"nothing\.csv: cannot be read \(No such file"),
        (lambda folder: folder / "table.csv", "is the private table of the spec"),
    ],
)
def test_a_file_that_cannot_be_certified_is_refused_before_anything_is_reserved(
    file: Any, said: str, tmp_path: Path
) -> None:
    example.open_account()
    spec = write(tmp_path)
    with pytest.raises(OutsideRecordsRefused, match=said):
        run(spec, file(tmp_path))
    assert Ledger(ledger_url()).reservation("test-certificate") is None


@pytest.mark.parametrize("unit", ["record", {"person": "person", "max_records": 1}], ids=str)
def test_a_copy_of_the_private_table_is_refused_before_it_is_asked_anything(
    unit: Any, tmp_path: Path
) -> None:
    spec = write(tmp_path)
    if unit != "record":
        data = {**example.spec(tmp_path / "table.csv")["data"], "ignore": ["income", "since"]}
        privacy = {**example.PURE, "neighbours": "add_remove", "unit": unit}
        spec = write(tmp_path, privacy=privacy, data=data)
    example.open_account(adjacency=adjacency(load_spec(spec)))
    copy = tmp_path / "copy.parquet"
    example.table(ROWS).sample(frac=1, random_state=3).to_parquet(copy)
    with pytest.raises(CopyRefused, match=r"copy\.parquet is a copy of the private table"):
        run(spec, copy)
    ledger = Ledger(ledger_url())
    assert ledger.calls("test-certificate") == []
    assert spent() == (0, 0)
    # From now on it is known to other specs too, and nothing need be read for that.
    other = write(tmp_path / "other", release="another-certificate")
    with pytest.raises(
        OutsideRecordsRefused, match="copy of the private table of release test-certificate"
    ):
        run(other, copy)
    with pytest.raises(
        OutsideRecordsRefused, match="is the private table of release test-certificate"
    ):
        run(other, tmp_path / "table.csv")
    assert ledger.reservation("another-certificate") is None


@pytest.mark.slow
def test_a_file_that_changes_before_it_is_certified_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hallmark.flows import release

    example.open_account()
    spec, file = write(tmp_path), vendor(tmp_path)
    read = release.read

    def changed(*arguments: Any) -> Any:
        vendor(tmp_path, age=44)
        return read(*arguments)

    monkeypatch.setattr(release, "read", changed)
    with pytest.raises(OutsideRecordsRefused, match="changed since this run began"):
        run(spec, file)
    monkeypatch.setattr(release, "read", read)
    published(spec, vendor(tmp_path), resume=True)
    assert spent() == (1, 0)


def test_each_command_sends_the_others_spec_to_it(tmp_path: Path) -> None:
    from hallmark.flows.release import release

    example.open_account()
    spec, file = write(tmp_path), vendor(tmp_path)
    with pytest.raises(
        PlanRefused, match=r"certify makes no records.*: hallmark certify spec\.yaml"
    ):
        release(str(spec), str(tmp_path / "out"))
    with pytest.raises(PlanRefused, match="certify makes no records"):
        rehearse(prepare(spec))
    of_release = write(tmp_path / "other", mechanism={"name": "pmm"}, certificate={})
    with pytest.raises(PlanRefused, match=r"pmm makes records of its own.*: hallmark release"):
        run(of_release, file)
    assert spent() == (0, 0)


def test_the_command_line_plans_certifies_and_verifies(
    hallmark: Hallmark, certified: Certified
) -> None:
    spec, file, out = certified.spec, certified.file, certified.folder.parent
    planned = hallmark("plan", spec, "--json")
    assert 0 < json.loads(planned.out)["forecast"]["expected_error"] < 1
    done = hallmark("certify", spec, file, "--out", out, "--json")
    assert done.code == 0, done
    folder = Path(json.loads(done.out)["folder"])
    assert folder == certified.folder  # published before, by the same flow
    assert hallmark("verify", folder, "--file", file).code == 0
    assert hallmark("verify", folder, "--file", spec.with_name("table.csv")).code == 6
    assert "hallmark certify" in hallmark("release", spec, "--out", out).error
