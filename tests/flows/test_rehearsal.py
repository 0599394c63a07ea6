"""Rehearsals: a whole run on records that nobody must protect, and what a plan's approval sees."""

import json
from pathlib import Path

import pytest

from mechanisms.privacy.ledger import Ledger
from tasks.prepare import prepare
from tasks.rehearsal import RehearsalFailed, last_rehearsal, rehearse, rehearsed
from tasks.workspace import home, ledger_url
from tests import example
from tests.flows.conftest import Hallmark

pytestmark = pytest.mark.service  # each rehearsal is a program of its own


@pytest.fixture
def spec(tmp_path: Path, home: Path) -> Path:
    """A spec of which the private table does not even exist."""
    path = example.write(tmp_path, mechanism={"name": "mst"})
    (tmp_path / "table.csv").unlink()
    return path


def test_a_rehearsal_runs_without_the_private_table_and_spends_nothing(spec: Path):
    example.open_account()
    prepared = prepare(spec)
    result = rehearse(prepared)
    folder = Path(result.folder)
    assert folder.is_relative_to(home() / "rehearsals")
    record = json.loads((folder / "audit-report.json").read_text())
    assert record["account"]["name"] == "rehearsal"
    assert (result.rows, result.records) == (3000, "made up from the spec")
    assert Ledger(ledger_url()).account("test-people").spent == (0, 0)
    assert last_rehearsal(prepared) == result
    assert rehearsed(prepared) is not None


def test_a_rehearsal_of_another_spec_is_none_of_this_one(spec: Path):
    rehearse(prepare(spec))
    changed = example.write(spec.parent, mechanism={"name": "mst"}, title="Another title")
    assert last_rehearsal(prepare(changed)) is None


def test_public_records_can_be_rehearsed_with(hallmark: Hallmark, spec: Path):
    public = spec.parent / "public.csv"
    example.table(rows=500, seed=9).drop(columns="person").to_csv(public, index=False, na_rep="NA")
    done = hallmark("rehearse", spec, "--data", public)
    assert done.code == 0, done.err
    assert "public.csv" in done.out


def test_a_rehearsal_that_fails_says_what_the_release_would(spec: Path):
    public = spec.parent / "public.csv"
    public.write_text("age,income\n1,2\n")
    with pytest.raises(RehearsalFailed, match=r"exit code 3(.|\n)*lacks the columns region"):
        rehearse(prepare(spec), public)
