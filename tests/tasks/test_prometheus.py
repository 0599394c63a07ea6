"""Metrics: what Prometheus reads, parsed with its own parser, against ledger and workspaces."""

import shutil
from fractions import Fraction
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.tasks.installation.log import FIELDS
from hallmark.tasks.installation.progress import announce
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.prometheus import STATES, Exposition
from hallmark.tasks.runs import about, came_to, run_logged
from tests import example
from tests.tasks.cut import ACCOUNT, cut, opened
from tests.tasks.test_runs import published_in, waiting

ADJACENCY = Adjacency(neighbours=Neighbours.REPLACE_ONE)


def samples() -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels, in the order of the labels' names."""
    families = text_string_to_metric_families(Exposition(accounts=True).text().decode())
    return {
        (sample.name.removeprefix("hallmark_"), *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_a_new_installation_has_a_ledger_and_no_release(home: Path) -> None:
    found = samples()
    assert found[("ledger_up",)] == 1
    assert found[("releases", "published")] == 0
    assert not any(name[0].startswith("budget") for name in found)


def test_budgets_are_those_of_the_ledger(home: Path) -> None:
    book = Ledger(ledger_url())
    cap = Budget(epsilon=Fraction(2), delta=Fraction(1, 1000))
    book.open_account("people", cap=cap, adjacency=ADJACENCY, by="tests", reason="tests")
    half = Budget(epsilon=Fraction(1, 2), delta=Fraction(0))
    book.reserve("people", "r", half, adjacency=ADJACENCY, binding="b")
    found = samples()
    parts = {"cap": 2, "spent": 0, "reserved": 0.5, "remaining": 1.5}
    assert {part: found["budget_epsilon", "people", part] for part in parts} == parts
    assert found["budget_delta", "people", "remaining"] == 0.001


def test_accounts_that_lack_what_they_had_are_told_also_those_that_are_gone(home: Path) -> None:
    opened()
    assert samples()["account_refused", ACCOUNT] == 0
    cut(ledger_url(), 1)
    assert samples()["account_refused", ACCOUNT] == 1
    cut(ledger_url(), 0)
    assert samples()["account_refused", ACCOUNT] == 1


def test_a_ledger_that_does_not_answer_is_told_and_hides_nothing_else(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALLMARK_LEDGER", "sqlite:////dev/null/ledger.db")
    found = samples()
    assert found[("ledger_up",)] == 0
    assert ("releases", "published") in found


def test_stages_are_measured_by_public_rows_and_whole_seconds(home: Path, tmp_path: Path) -> None:
    prepared = prepare(example.write(tmp_path / "data", rows=10))
    with run_logged(), Workspace.of("test-release").held():
        about(prepared.spec)
        announce("validate")
        assert samples()["releases", "running"] == 1
        came_to(published_in(tmp_path / "out"))
    found = samples()
    assert found["releases", "published"] == 1
    assert found["releases", "running"] == 0
    assert found["stage_seconds", "test-release", "validate"] == 0
    assert found["stage_rows_per_second", "test-release", "validate"] == 3000  # the table has 10
    assert found["stage_peak_memory_bytes", "test-release", "validate"] % 2**26 == 0


def test_a_release_whose_folder_is_gone_is_no_published_one(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = prepare(example.write(tmp_path / "data", rows=10))
    monkeypatch.setattr("hallmark.tasks.runs._entry", lambda: "monthly")
    with run_logged():
        about(prepared.spec)
        announce("publish")
        came_to(published_in(tmp_path / "out"))
    assert samples()["calendar_last_published_timestamp_seconds", "monthly"] > 0
    shutil.rmtree(tmp_path / "out")
    found = samples()
    assert (found["releases", "published"], found["releases", "lost"]) == (0, 1)
    assert found["calendar_last_published_timestamp_seconds", "monthly"] == 0


def test_what_waits_is_told_with_its_gate_and_since_when(home: Path, tmp_path: Path) -> None:
    prepared = prepare(example.write(tmp_path / "data", rows=10))
    waits = waiting(prepared)
    (Workspace.of("test-release").path / "waiting.json").write_text(waits.model_dump_json())
    since = samples()["release_waiting_since_timestamp_seconds", "plan", "test-release"]
    assert since == pytest.approx(waits.since.timestamp())


def test_an_answer_is_given_again_for_some_seconds(home: Path) -> None:
    kept, fresh = (Exposition(accounts=True, seconds=seconds) for seconds in (60, 0))
    before = kept.text()
    (home / "ledger.db").chmod(0)
    (home / "ledger.db").unlink()
    (home / "ledger.db").mkdir()
    assert kept.text() == before
    assert b"hallmark_ledger_up 0" in fresh.text()


def test_operators_find_every_metric_and_event_in_the_manual(home: Path) -> None:
    manual = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    families = text_string_to_metric_families(Exposition(accounts=True).text().decode())
    told = {family.name for family in families} | FIELDS.keys() | set(STATES)
    fields = set().union(*FIELDS.values())
    assert {name for name in told if name not in manual} == set()
    assert {name for name in fields if f"`{name}`" not in manual} == set()
