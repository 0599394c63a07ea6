"""Disks that are full: nothing half is published or left, and the message says what to do."""

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hallmark.flows.cli.exits import ExitCode
from hallmark.schemas.documents.manifest import MANIFEST_FILE
from hallmark.tasks.installation.workspace import Workspace
from tests import example
from tests.flows.cli.test_staged_charges import write
from tests.flows.conftest import Hallmark
from tests.tasks.cut import ACCOUNT

COPIED = 3  # files, before the disk is full


@pytest.fixture
def full() -> Iterator[pytest.MonkeyPatch]:
    """A disk on which a release cannot be published whole."""
    copy, copied = shutil.copyfile, list[object]()

    def until_full(source: str, place: str, **options: bool) -> object:
        copied.append(place)
        if len(copied) > COPIED:
            raise OSError(errno.ENOSPC, "No space left on device", str(place))
        return copy(source, place, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutil, "copyfile", until_full)
        yield patch


def test_a_folder_that_cannot_be_copied_whole_is_not_left_and_the_release_goes_on(
    hallmark: Hallmark, tmp_path: Path, full: pytest.MonkeyPatch
) -> None:
    example.open_account()
    spec, out = write(tmp_path / "r", "r"), tmp_path / "out"
    stopped = hallmark("release", spec, "--out", out)
    assert stopped.code == ExitCode.FAILED
    assert "No space left on device" in stopped.error
    assert f"the disk of {out}" in stopped.error
    assert "--resume" in stopped.error
    assert len(stopped.error.splitlines()) < 12
    assert list(out.iterdir()) == []
    full.undo()
    assert hallmark("release", spec, "--out", out, "--resume").code == 0
    assert [one.name for one in out.iterdir()] == ["r"]
    assert len(example.charges()) == 1


def test_a_copy_that_was_cut_is_taken_for_no_release_and_replaced(
    hallmark: Hallmark, tmp_path: Path, full: pytest.MonkeyPatch
) -> None:
    example.open_account()
    spec, out = write(tmp_path / "r", "r"), tmp_path / "out"
    with full.context() as killed:  # before it could remove anything
        killed.setattr(shutil, "rmtree", lambda *_, **__: None)
        assert hallmark("release", spec, "--out", out).code == ExitCode.FAILED
    full.undo()
    (left,) = out.iterdir()
    assert left.name.startswith(".r.")
    shutil.copyfile(Workspace.of("r").staging / MANIFEST_FILE, left / MANIFEST_FILE)
    answer = ("--releases", out, "--reason", "a flood")
    assert hallmark("ledger", "restored", ACCOUNT, *answer).code == 0
    assert hallmark("release", spec, "--out", out, "--resume").code == 0
    assert [one.name for one in out.iterdir()] == ["r"]
