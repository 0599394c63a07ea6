"""`hallmark forget`: what was kept for the steward alone goes, and what a release needs stays."""

from pathlib import Path

import pytest

from hallmark.tasks.installation.workspace import Workspace
from tests import example
from tests.flows.conftest import Hallmark


@pytest.mark.parametrize("release", ["other", "../work/test-release", ".", "", "/"])
def test_only_workspaces_of_releases_are_looked_into(
    release: str, hallmark: Hallmark, home: Path
) -> None:
    kept = Workspace.of("test-release").offending
    kept.write_text("01: 3 rows")
    assert hallmark("forget", release).code == 2
    assert kept.exists()


def test_pages_with_private_values_are_removed(
    hallmark: Hallmark, home: Path, tmp_path: Path
) -> None:
    spec = example.write(tmp_path, 400, **example.only(tmp_path, "age", "region"))
    table = (tmp_path / "table.csv").read_text()
    (tmp_path / "table.csv").write_text(table.replace(",01,", ",99,", 1))
    assert hallmark("validate", spec, "--data").code == 3
    workspace = Workspace.of("test-release")
    workspace.checked.write_text("{}")
    workspace.review.write_text("compared")
    workspace.failures.write_text("row 7")
    for needed in ("run.json", "uncharged-looks.json", "waiting.json", "lock"):
        (workspace.path / needed).write_text("{}")
    before = {path.name for path in workspace.path.iterdir()}
    done = hallmark("forget", "test-release")
    gone = [
        "validation.html", "validation.json", "checked.json", "internal-review.html",
        "failures.log",
    ]  # fmt: skip
    assert (done.code, done.out.strip()) == (0, f"Removed {', '.join(gone)}.")
    assert {path.name for path in workspace.path.iterdir()} == before - set(gone)
    assert hallmark("forget", "test-release").out.strip() == "Nothing was kept."
    with workspace.held():
        assert "another run" in hallmark("forget", "test-release").err
