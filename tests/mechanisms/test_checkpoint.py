"""Checkpoints in a file: whole or absent, and of one key."""

import os
from pathlib import Path

import numpy as np
import pytest

from hallmark.mechanisms.checkpoint import FileCheckpoint

STATE = {"positions": np.random.default_rng(0).random((3, 5)), "epoch": np.array(4)}


def test_what_was_saved_is_loaded_again_to_the_bit(tmp_path: Path) -> None:
    file = tmp_path / "fit.npz"
    assert FileCheckpoint(file).load("a key") is None
    FileCheckpoint(file).save("a key", STATE)
    found = FileCheckpoint(file).load("a key")
    assert found is not None
    assert set(found) == set(STATE)
    for name, array in STATE.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
    assert [path.name for path in tmp_path.iterdir()] == ["fit.npz"]


def test_a_state_of_another_key_is_ignored_and_replaced(tmp_path: Path) -> None:
    checkpoint = FileCheckpoint(tmp_path / "fit.npz")
    checkpoint.save("old", STATE)
    assert checkpoint.load("new") is None
    checkpoint.save("new", {"epoch": np.array(1)})
    assert checkpoint.load("old") is None
    assert checkpoint.load("new") == {"epoch": np.array(1)}


@pytest.mark.parametrize("content", [b"", b"not a zip file", b"PK\x03\x04 cut off"])
def test_a_file_that_is_no_checkpoint_is_ignored(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "fit.npz"
    file.write_bytes(content)
    assert FileCheckpoint(file).load("a key") is None
    np.savez(file, epoch=np.array(1))
    assert FileCheckpoint(file).load("a key") is None


def test_a_save_that_fails_leaves_the_last_one_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = FileCheckpoint(tmp_path / "fit.npz")
    checkpoint.save("a key", STATE)

    def fail(*arguments: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="the disk is full"):
        checkpoint.save("a key", {"epoch": np.array(5)})
    found = checkpoint.load("a key")
    assert found is not None
    assert found["epoch"] == 4
    assert [path.name for path in tmp_path.iterdir()] == ["fit.npz"]


def test_it_is_due_after_so_many_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    checkpoint = FileCheckpoint(tmp_path / "fit.npz", seconds=60)
    assert not checkpoint.due()
    now = 160.0
    assert checkpoint.due()
    checkpoint.save("a key", STATE)
    assert not checkpoint.due()
