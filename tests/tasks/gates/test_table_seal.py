"""The seal of the private table: it binds, and shows nothing."""

from pathlib import Path

import pytest

from hallmark.tasks.gates.table_seal import forget_salt, fresh_seal, seal
from hallmark.tasks.installation.workspace import Workspace


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return Workspace.of("r")


def test_the_same_table_keeps_its_seal_and_another_has_another(workspace: Workspace):
    sealed = fresh_seal(workspace, "a" * 64)
    assert seal(workspace, "a" * 64) == sealed
    assert seal(workspace, "b" * 64) != sealed


def test_equal_tables_have_unequal_seals_at_every_opening_and_in_every_release(
    workspace: Workspace,
):
    others = [fresh_seal(Workspace.of(release), "a" * 64) for release in ("s", "t")]
    mine = [fresh_seal(workspace, "a" * 64) for _ in range(2)]
    assert len({*others, *mine}) == 4


def test_nobody_can_compute_a_seal_whose_salt_is_forgotten(workspace: Workspace):
    sealed = fresh_seal(workspace, "a" * 64)
    forget_salt(workspace)
    forget_salt(workspace)  # twice, after a crash
    assert seal(workspace, "a" * 64) == ""
    left = b"".join(path.read_bytes() for path in workspace.path.iterdir() if path.is_file())
    assert sealed.encode() not in left
    assert fresh_seal(workspace, "a" * 64) != sealed
