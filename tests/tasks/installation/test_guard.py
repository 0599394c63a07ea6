"""The guard: our own errors pass, any other loses its message, which stays in the workspace."""

import pickle
from pathlib import Path

import pytest

from hallmark.mechanisms.privacy.accountant import BudgetExceeded
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.tasks.installation.guard import SafeError, StageFailed, guarded

CANARY = "canary-73193"


def failing(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("kind", [SafeError, StageFailed, LedgerError, BudgetExceeded])
def test_errors_written_for_users_pass(kind: type[Exception], tmp_path: Path) -> None:
    with pytest.raises(kind, match="what to do"):
        guarded("discretize", tmp_path, failing)(kind("what to do"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [ValueError, KeyError, OSError, MemoryError, UnicodeError])
def test_any_other_error_loses_its_message_and_its_chain(
    kind: type[Exception], tmp_path: Path
) -> None:
    with pytest.raises(StageFailed) as told:
        guarded("discretize", tmp_path, failing)(kind(CANARY))
    assert f"stage discretize failed with {kind.__name__}" in str(told.value)
    assert told.value.__cause__ is told.value.__context__ is None
    assert CANARY not in repr(told.value)


def test_the_details_are_kept_in_the_workspace_for_its_owner(tmp_path: Path) -> None:
    for stage in ("validate", "discretize"):
        with pytest.raises(StageFailed):
            guarded(stage, tmp_path, failing)(ValueError(CANARY))
    log = tmp_path / "failures.log"
    assert log.read_text().count(CANARY) >= 2
    assert "--- validate" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_where_the_details_cannot_be_kept_they_do_not_travel_instead(tmp_path: Path) -> None:
    (tmp_path / "failures.log").symlink_to("/dev/full")
    with pytest.raises(StageFailed, match=r"could not be kept in .* \(No space left") as told:
        guarded("validate", tmp_path, failing)(ValueError(CANARY))
    assert told.value.__cause__ is told.value.__context__ is None
    assert CANARY not in str(told.value)


def test_an_error_of_ours_leaves_behind_what_it_was_raised_from(tmp_path: Path) -> None:
    def reads_badly() -> None:
        try:
            failing(ValueError(CANARY))
        except ValueError as error:
            raise SafeError("what to do") from error

    with pytest.raises(SafeError, match="what to do") as told:
        guarded("validate", tmp_path, reads_badly)()
    assert told.value.__cause__ is told.value.__context__ is None


def test_results_and_arguments_pass_unchanged(tmp_path: Path) -> None:
    assert guarded("x", tmp_path, lambda a, *, b: (a, b))(1, b=2) == (1, 2)


def test_an_interruption_is_no_failure_of_the_stage(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        guarded("x", tmp_path, failing)(KeyboardInterrupt())


def test_its_error_travels_between_processes() -> None:
    error = pickle.loads(pickle.dumps(StageFailed("what to do")))
    assert (type(error), str(error)) == (StageFailed, "what to do")
