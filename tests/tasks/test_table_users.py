"""What depends on an uploaded file, by the state of the releases that read it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hallmark.mechanisms.privacy.events import DiscreteGaussian
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.profile import Profile
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.planning.places import specs_folder, tables_folder
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.private_tables import note
from hallmark.tasks.reserve import cancel_if_unused, reserve
from hallmark.tasks.runs import RunStatus
from hallmark.tasks.table_users import TableUsed, refuse_used, uses
from hallmark.tasks.withdrawals import withdraw
from tests import example


@pytest.fixture
def file(home: Path, tmp_path: Path) -> Path:
    """An uploaded table whose release reserved its budget, and failed."""
    example.open_account()
    spec = example.write(tmp_path, 5, data=example.spec(Path("table.csv"))["data"])
    (tmp_path / "table.csv").rename(tables_folder() / "table.csv")
    prepared = prepare(spec, tables_folder())
    workspace = Workspace.of("test-release")
    note(workspace, prepared.spec, tables_folder(), None)
    now = datetime.now(UTC)
    failed = RunStatus(
        release="test-release", account="test-people", expected_rows=5, started=now, ended=now,
        how="failed", error="StageFailed",
    )  # fmt: skip
    (workspace.path / "run.json").write_text(failed.model_dump_json())
    reserve.fn(prepared, ledger_url(), tmp_path / "out", resume=False)
    return tables_folder() / "table.csv"


def found(file: Path) -> list[str]:
    return [use.release for use in uses(file, open_ledger(ledger_url()), Profile())]


def test_a_release_that_failed_before_it_drew_needs_its_file_no_more(file: Path):
    with pytest.raises(TableUsed, match="test-release: its last run ended with its budget"):
        refuse_used(file, open_ledger(ledger_url()), Profile())
    cancel_if_unused("test-release", ledger_url(), "the run ended")
    assert found(file) == []


def test_a_release_that_drew_needs_its_file_until_it_is_given_up(file: Path):
    event = DiscreteGaussian(l2_squared=2, sigma2=1000, unit_moves=2)  # type: ignore[arg-type]
    ledger = Ledger(ledger_url())
    ledger.record("test-release", "c", "r", [event], b"noise", lambda standing: None)
    cancel_if_unused("test-release", ledger_url(), "the run ended")
    assert found(file) == ["test-release"]
    withdraw("test-release", ledger, by="oscar", reason="for the test")
    assert found(file) == []


def test_a_draft_or_another_file_needs_nothing(file: Path):
    (specs_folder() / "draft.yaml").write_text("release: draft\ndata: {source: other.csv}\n")
    (tables_folder() / "other.csv").write_text("a\n1\n")
    assert found(tables_folder() / "other.csv") == []
