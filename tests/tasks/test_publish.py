"""Publishing: the whole folder or nothing, readable by all, and never over something else."""

import base64
import json
import os
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from hallmark.schemas.documents.manifest import (
    CERTIFICATE_FILE,
    MANIFEST_FILE,
    RECORD_FILE,
    REPORT_FILE,
)
from hallmark.tasks.job import Job
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.publish import PublishRefused, already_published
from hallmark.tasks.verification import verify_release
from tests.tasks.released import Released
from tests.tasks.times import PNG, subsecond_times


def job(run: Released, out: Path) -> Job:
    return Job(run.prepared, run.ledger, run.workspace, out)


@pytest.fixture
def out(run: Released, tmp_path: Path) -> Path:
    """A folder with a copy of the release that a test may spoil."""
    shutil.copytree(run.folder, tmp_path / "out/test-release")
    return tmp_path / "out"


def test_what_was_published_verifies_and_is_readable_by_all(run: Released) -> None:
    assert verify_release(run.folder).ok
    assert run.folder.stat().st_mode & 0o777 == 0o755
    assert {path.stat().st_mode & 0o777 for path in run.folder.iterdir()} == {0o644}


def test_no_file_of_a_release_tells_a_time_below_the_second(run: Released) -> None:
    record = json.loads((run.folder / RECORD_FILE).read_bytes())
    run_id = record["provenance"]["run"]  # made before the private table is opened
    assert {what.partition(": ")[2] for what in subsecond_times(run.folder)} <= {run_id}
    created = datetime.fromisoformat(record["identity"]["created"]).timestamp()
    assert {path.stat().st_mtime for path in (run.folder, *run.folder.iterdir())} == {created}


@pytest.mark.parametrize(
    "planted",
    [
        b"2026-01-01T10:11:12.5Z",
        b"1767225600.25",
        b"1767225600123456",
        b"01890a5d-ac96-774b-bcce-b302099a8057",
        b"base64," + base64.b64encode(b"10:11:12,5"),
        b"base64," + base64.b64encode(PNG + (7).to_bytes(4, "big") + b"tIME" + bytes(11)),
    ],
)
def test_such_a_time_would_be_found(planted: bytes, run: Released, out: Path) -> None:
    before = len(subsecond_times(out / "test-release"))
    (out / "test-release" / "planted.html").write_bytes(b"<p>" + planted + b"</p>")
    os.utime(out / "test-release" / "planted.html", (0, 0))
    os.utime(out / "test-release", (0, 0))
    assert len(subsecond_times(out / "test-release")) == before + 1


def test_draws_are_told_by_the_day_and_by_digests_that_confirm_no_guess(run: Released) -> None:
    account = json.loads((run.folder / RECORD_FILE).read_bytes())["account"]
    entries = {entry.hash: entry for entry in open_ledger(run.ledger).entries(account["name"])}
    assert [told["entry"] for told in account["entries"]] == ["reserve", "charge"]
    for told in account["entries"]:
        entry = entries[told["digest"]]
        assert told["time"] == entry.at[:10]
        assert entry.hides


def test_no_file_has_the_digest_of_an_entry_that_it_might_confirm_a_guess_of(run: Released) -> None:
    content = b"".join(path.read_bytes() for path in run.folder.iterdir())
    entries = open_ledger(run.ledger).entries("test-people")
    told = [entry.kind for entry in entries if entry.hash.encode() in content]
    assert told == ["reserve", "charge", "publish"]
    assert all(entry.hides for entry in entries if entry.kind in told)


def test_nothing_half_is_left_beside_it_nor_in_the_workspace(run: Released) -> None:
    assert [path.name for path in run.folder.parent.iterdir()] == ["test-release"]
    assert not (run.workspace.path / "staging").exists()


def test_an_earlier_release_of_the_same_spec_is_recognised(run: Released, out: Path) -> None:
    found = already_published(job(run, out))
    assert found is not None
    assert found.earlier
    assert found.folder == str(out / "test-release")


def test_where_nothing_is_there_is_nothing_to_recognise(run: Released, tmp_path: Path) -> None:
    assert already_published(job(run, tmp_path)) is None


@pytest.mark.parametrize("name", [MANIFEST_FILE, CERTIFICATE_FILE])
@pytest.mark.parametrize("content", [None, "", "{}", "no JSON"])
def test_a_folder_that_is_no_release_is_refused_in_words(
    name: str, content: str | None, run: Released, out: Path
) -> None:
    path = out / "test-release" / name
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(PublishRefused, match="is not what this spec publishes"):
        already_published(job(run, out))


def test_a_release_in_which_something_was_changed_is_refused(run: Released, out: Path) -> None:
    with (out / "test-release" / REPORT_FILE).open("a") as report:
        report.write("<p>changed</p>")
    with pytest.raises(PublishRefused, match="is not what this spec publishes"):
        already_published(job(run, out))


def test_the_release_of_another_spec_is_refused(run: Released, out: Path) -> None:
    manifest = out / "test-release" / MANIFEST_FILE
    digest = run.prepared.spec.digest()
    manifest.write_text(manifest.read_text().replace(digest, "0" * 64))
    with pytest.raises(PublishRefused):
        already_published(job(run, out))
