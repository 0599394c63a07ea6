"""Rehearsals: a whole run on records that nobody must protect, and what a plan's approval sees."""

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.manifest import Manifest
from hallmark.tasks.gates.rehearsal import RehearsalFailed, last_rehearsal, rehearse
from hallmark.tasks.installation.workspace import home, ledger_url
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.prometheus import Exposition
from hallmark.tasks.runs import statuses
from hallmark.tasks.verification import verify_release
from tests import example
from tests.flows.conftest import Hallmark

pytestmark = pytest.mark.service  # each rehearsal is a program of its own


@pytest.fixture
def spec(tmp_path: Path, home: Path) -> Path:
    """A spec of which the private table does not even exist."""
    path = example.write(tmp_path, mechanism={"name": "mst"})
    (tmp_path / "table.csv").unlink()
    return path


def declaring(folder: Path, source: str, **changes: Any) -> Path:
    """The spec, with a table that it declares for rehearsals; the private table is there."""
    declared = {"source": source, "kind": "public", "reference": "the census of 2001"}
    declared |= {"null_markers": ["NA"]}
    return example.write(folder, mechanism={"name": "mst"}, rehearsal=declared, **changes)


def public(folder: Path, rows: int = 500) -> Path:
    table = example.table(rows=rows, seed=9).drop(columns="person")
    table.to_csv(folder / "public.csv", index=False, na_rep="NA")
    return folder / "public.csv"


def test_a_rehearsal_runs_without_the_private_table_and_spends_nothing(spec: Path):
    example.open_account()
    prepared = prepare(spec)
    result = rehearse(prepared)
    folder = Path(result.folder)
    assert folder.is_relative_to(home() / "rehearsals")
    record = json.loads((folder / "audit-report.json").read_text())
    assert record["account"]["name"] == "rehearsal"
    assert (result.rows, result.records) == (3000, "made up from the spec")
    assert Ledger(ledger_url()).account("test-people").spent == (0, 0)
    assert last_rehearsal("test-release", prepared.spec.digest()) == result


def test_all_that_a_rehearsal_leaves_says_what_it_is_and_no_reader_takes_it_for_a_release(
    spec: Path, monkeypatch: pytest.MonkeyPatch, hallmark: Hallmark
):
    agency = Ed25519PrivateKey.generate()
    pem = agency.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    monkeypatch.setenv("HALLMARK_SIGNING_KEY", pem.decode())
    example.open_account()
    before = Exposition(accounts=True, seconds=0).text()
    folder = Path(rehearse(prepare(spec)).folder)
    manifest = Manifest.model_validate_json((folder / "manifest.json").read_bytes())
    assert manifest.format == "hallmark-rehearsal/1"
    assert manifest.release_id == folder.name == "rehearsal-test-release"
    for file in folder.iterdir():
        said = f"{file.name} {file.read_text(errors='replace')}".lower()
        silent = ("manifest.sig", "signer.pub", "load.py")  # which show nothing of it
        assert "rehearsal" in said or file.name in silent, file.name
    assert {f.name for f in folder.glob("*data.*")} == {
        "REHEARSAL-data.csv",
        "REHEARSAL-data.parquet",
    }
    assert "this is not a release" in (folder / "audit-report.html").read_text()
    assert not (folder / "registry.json").exists()
    own = agency.public_key()
    raw = own.public_bytes_raw().hex()
    assert raw not in (folder / "signer.pub").read_text()
    assert [c.name for c in verify_release(folder).checks if not c.ok] == ["release"]
    verified = hallmark("verify", folder)
    assert verified.code == 6
    assert "REHEARSAL" in verified.out
    # Nothing counts it.
    assert statuses() == []
    assert Exposition(accounts=True, seconds=0).text() == before
    assert [a.name for a in Ledger(ledger_url()).accounts()] == ["test-people"]
    assert "test-release" not in hallmark("doctor").out


def test_a_rehearsal_of_another_spec_is_none_of_this_one(spec: Path):
    rehearse(prepare(spec))
    changed = example.write(spec.parent, mechanism={"name": "mst"}, title="Another title")
    other = prepare(changed).spec
    assert last_rehearsal(other.release, other.digest()) is None


def test_a_table_that_the_spec_declares_public_can_be_rehearsed_on(
    hallmark: Hallmark, tmp_path: Path
):
    public(tmp_path)
    done = hallmark("rehearse", declaring(tmp_path, "public.csv"))
    assert done.code == 0, done.err
    assert "500, the public table public.csv (the census of 2001)" in done.out


def test_a_rehearsal_that_fails_says_what_the_release_would(tmp_path: Path, home: Path):
    public(tmp_path).write_text("age,income,region,employed,since\n1,2,99,1,2001-01-01\n")
    with pytest.raises(RehearsalFailed, match=r"exit code 3(.|\n)*columns\.region"):
        rehearse(prepare(declaring(tmp_path, "public.csv")))
