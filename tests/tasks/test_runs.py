"""Runs: what is logged of them, and what their status tells afterwards, also of a killed one."""

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.documents.manifest import MANIFEST_FILE
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.log import log_file
from hallmark.tasks.installation.progress import announce
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.prometheus import state_of
from hallmark.tasks.publish import Published
from hallmark.tasks.runs import ENDED, MEMORY_STEP, about, came_to, is_held, run_logged, statuses
from tests import example
from tests.flows.conftest import lose_ctrl_c, press_ctrl_c

CANARY = "canary-50823"
PUBLISHED = Published(
    release="test-release", folder="/out/test-release", account="test-people", epsilon="1",
    delta="0", left=("1", "0"), certificate="", review="",
)  # fmt: skip


@pytest.fixture
def prepared(home: Path, tmp_path: Path) -> Prepared:
    return prepare(example.write(tmp_path / "data", rows=10))


def waiting(prepared: Prepared) -> Waiting:
    return Waiting(
        release="test-release", title="x", gate="plan", since=datetime.now(UTC),
        required=("methodologist",), spec=str(prepared.path), folder="/", out="/",
    )  # fmt: skip


def published_in(folder: Path) -> Published:
    """A release whose folder is there."""
    (there := folder / "test-release").mkdir(parents=True)
    (there / MANIFEST_FILE).write_text("{}")
    return replace(PUBLISHED, folder=str(there))


def events() -> list[str]:
    return [json.loads(line)["event"] for line in log_file().read_text().splitlines()]


def last() -> dict[str, object]:
    line: dict[str, object] = json.loads(log_file().read_text().splitlines()[-1])
    return line


def test_a_run_is_logged_from_start_to_end(prepared: Prepared) -> None:
    with run_logged():
        about(prepared.spec)
        for stage in ("reserve", "publish"):
            announce(stage)
        came_to(PUBLISHED)
    assert events() == [
        "run-started", "stage-begun", "stage-ended", "stage-begun", "published", "stage-ended",
        "run-ended",
    ]  # fmt: skip
    assert (last()["how"], last()["release"]) == ("published", "test-release")


def test_the_status_tells_how_the_last_run_went(prepared: Prepared) -> None:
    with run_logged():
        about(prepared.spec)
        announce("reserve")
        assert [status.how for status in statuses()] == ["running"]
        came_to(PUBLISHED)
    (status,) = statuses()
    assert (status.how, status.account, status.expected_rows) == ("published", "test-people", 3000)
    assert status.published is not None
    assert status.stages["reserve"].seconds == 0
    assert status.stages["reserve"].peak_memory % MEMORY_STEP == 0


def test_published_is_said_of_a_folder_that_is_there_on_a_second_look(
    prepared: Prepared, tmp_path: Path
) -> None:
    for out in (tmp_path / "passing", tmp_path / "lasting"):
        with run_logged():
            about(prepared.spec)
            announce("publish")
            came_to(published_in(out))
        (status,) = statuses()
        assert state_of(status) == "published"
        if out.name == "passing":
            shutil.rmtree(out)  # as the temporary folder of a worker's run
            assert state_of(status) == "lost"


def fail(prepared: Prepared, error: BaseException) -> None:
    with run_logged():
        about(prepared.spec)
        announce("validate")
        raise error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SafeError("mend it"), "mend it"),
        (LedgerError("mend it"), "mend it"),
        (KeyError(CANARY), None),
        (KeyboardInterrupt(CANARY), None),
        (SystemExit(CANARY), ENDED),
    ],
)
def test_only_errors_written_to_be_shown_are_quoted(
    error: BaseException, message: str | None, prepared: Prepared
) -> None:
    with pytest.raises(type(error)):
        fail(prepared, error)
    failed = json.loads(log_file().read_text().splitlines()[-3])
    assert (failed["event"], failed["error"]) == ("failed", type(error).__name__)
    assert failed.get("message") == message
    assert CANARY not in log_file().read_text() + statuses()[0].model_dump_json()
    assert statuses()[0].how == ("stopped" if isinstance(error, KeyboardInterrupt) else "failed")


@pytest.mark.usefixtures("interruptible")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_stop_that_a_library_loses_ends_the_run_before_its_next_stage(prepared: Prepared) -> None:
    def run() -> None:
        with run_logged():
            about(prepared.spec)
            announce("privatize")
            lose_ctrl_c()
            announce("privatize")
            assert statuses()[0].how == "running"
            announce("publish")

    with pytest.raises(KeyboardInterrupt):
        run()
    assert (statuses()[0].how, statuses()[0].stage) == ("stopped", "privatize")


@pytest.mark.usefixtures("interruptible")
def test_a_run_was_stopped_also_where_a_library_wraps_the_signal(prepared: Prepared) -> None:
    def run() -> None:
        with run_logged():
            about(prepared.spec)
            announce("generate")
            press_ctrl_c()

    with pytest.raises(ValueError, match="wraps it"):
        run()
    assert statuses()[0].how == "stopped"


def test_a_run_that_begins_nothing_leaves_the_status_of_the_one_before(prepared: Prepared) -> None:
    with run_logged():
        about(prepared.spec)
        announce("publish")
        came_to(PUBLISHED)
    before = statuses()
    with run_logged():
        about(prepared.spec)
    assert statuses() == before
    assert last()["how"] == "left-alone"


def test_a_release_that_goes_on_keeps_the_times_of_its_earlier_stages(prepared: Prepared) -> None:
    for stages in (["validate"], ["publish"]):
        with run_logged():
            about(prepared.spec)
            for stage in stages:
                announce(stage)
            came_to(waiting(prepared) if stages == ["validate"] else PUBLISHED)
    assert list(statuses()[0].stages) == ["validate", "publish"]
    assert "gate-waiting" in events()


def test_a_run_whose_process_is_gone_was_interrupted(prepared: Prepared) -> None:
    workspace = Workspace.of("test-release")
    with run_logged(), workspace.held():
        about(prepared.spec)
        announce("generate")
        (status,) = statuses()
        assert is_held(workspace)
        assert state_of(status) == "running"
    assert not is_held(workspace)
    assert state_of(status) == "interrupted"  # as a kill leaves it


def test_what_is_told_without_a_run_is_about_none(prepared: Prepared) -> None:
    came_to(waiting(prepared))
    assert last()["event"] == "gate-waiting"
    assert statuses() == []
