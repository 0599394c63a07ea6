"""Publishing: the whole folder or nothing, readable by all, and never over something else."""

import shutil
from pathlib import Path

import pytest

from schemas.manifest import CERTIFICATE_FILE, MANIFEST_FILE
from tasks.publish import PublishRefused, already_published
from tasks.verification import verify_release
from tests.tasks.released import Released


@pytest.fixture
def out(run: Released, tmp_path: Path) -> Path:
    """A folder with a copy of the release that a test may spoil."""
    shutil.copytree(run.folder, tmp_path / "out/test-release")
    return tmp_path / "out"


def test_what_was_published_verifies_and_is_readable_by_all(run: Released) -> None:
    assert verify_release(run.folder).ok
    assert run.folder.stat().st_mode & 0o777 == 0o755
    assert {path.stat().st_mode & 0o777 for path in run.folder.iterdir()} == {0o644}


def test_nothing_half_is_left_beside_it_nor_in_the_workspace(run: Released) -> None:
    assert [path.name for path in run.folder.parent.iterdir()] == ["test-release"]
    assert not (run.workspace.path / "staging").exists()


def test_an_earlier_release_of_the_same_spec_is_recognised(run: Released, out: Path) -> None:
    found = already_published(run.prepared, out, run.ledger)
    assert found is not None
    assert found.earlier
    assert found.folder == str(out / "test-release")


def test_where_nothing_is_there_is_nothing_to_recognise(run: Released, tmp_path: Path) -> None:
    assert already_published(run.prepared, tmp_path, run.ledger) is None


@pytest.mark.parametrize("name", [MANIFEST_FILE, CERTIFICATE_FILE])
@pytest.mark.parametrize("content", [None, "", "{}", "no JSON"])
def test_a_folder_that_is_no_release_is_refused_in_words(
    name: str, content: str | None, run: Released, out: Path
) -> None:
    path = out / "test-release" / name
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(PublishRefused, match="is not what this spec publishes"):
        already_published(run.prepared, out, run.ledger)


def test_the_release_of_another_spec_is_refused(run: Released, out: Path) -> None:
    manifest = out / "test-release" / MANIFEST_FILE
    digest = run.prepared.spec.digest()
    manifest.write_text(manifest.read_text().replace(digest, "0" * 64))
    with pytest.raises(PublishRefused):
        already_published(run.prepared, out, run.ledger)
