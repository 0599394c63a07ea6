"""A series in server mode: the calendar runs its months, late files and killed processes or not."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.manifest import RECORD_FILE
from tests import example
from tests.flows.server import SECONDS, SPEC, Installation, need_postgres
from tests.flows.server import agency as agency_of
from tests.flows.services import wait_until

pytestmark = pytest.mark.service

ACCOUNT = "monthly-people"
CALENDAR = """\
hallmark_calendar: 1
releases:
  people:
    spec: spec.yaml
    period: month
    lag: 1
    cron: "0 2 3 * *"
    budget: {epsilon: 1/4, delta: 1e-6}
"""
ENDED = {"COMPLETED", "FAILED", "CRASHED"}


@dataclass(frozen=True)
class Series:
    """An installation with the calendar of a series, whose tables come month by month."""

    agency: Installation
    folder: Path

    def comes(self, month: str, seed: int) -> None:
        """The file of a month is there."""
        example.table(600, seed).to_csv(
            self.folder / f"people-{month}.csv", index=False, na_rep="NA"
        )

    def is_due(self, moment: str) -> None:
        """A run is due at a moment, as after the server was down then."""
        url = f"{self.agency.dashboard}/api"
        login = tuple(self.agency.password("dashboard").split(":", 1))
        with httpx.Client(auth=login, timeout=SECONDS) as client:  # type: ignore[arg-type]
            named = client.get(f"{url}/deployments/name/calendar-release/people")
            deployment = named.raise_for_status().json()["id"]
            due = {"type": "SCHEDULED", "state_details": {"scheduled_time": moment}}
            made = client.post(
                f"{url}/deployments/{deployment}/create_flow_run", json={"state": due}
            )
            made.raise_for_status()

    def is_run_again(self, month: str) -> None:
        """An operator starts a run for a month."""
        self.agency.start("calendar-release/people", period=f'"{month}"')

    def ends(self, state: str, runs: int) -> str:
        """What the last of so many runs says, once it has ended like this."""

        def ended() -> bool:
            found = self._runs()
            return len(found) == runs and found[0]["state_type"] in ENDED

        wait_until(ended, f"run {runs} ends", SECONDS)
        last = self._runs()[0]
        assert last["state_type"] == state, last["state"]
        return str(last["state"]["message"])

    def _runs(self) -> list[dict[str, Any]]:
        """Runs of the entry that began or are due, the last first."""
        found = self.agency.runs("people")
        return [one for one in found if not one["auto_scheduled"]]

    @property
    def faults(self) -> Path:
        return self.agency.folder / "faults"

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.agency.environment["HALLMARK_LEDGER"])

    def learnt_from(self, release: str) -> str:
        """What the audit record of a release says about earlier periods."""
        record = json.loads((self.agency.out / release / RECORD_FILE).read_bytes())
        steps = record["post_processing"]["steps"]
        (step,) = (one["step"] for one in steps if "earlier periods" in one["step"])
        return str(step)


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Series]:
    """Server mode with an account whose months are planned, and a calendar that is registered."""
    need_postgres()
    folder = tmp_path_factory.mktemp("series")
    (folder / "faults").mkdir()
    own = folder / "monthly"
    few = example.some_columns("age", "region", "employed")
    few["data"] |= {"source": str(own / "people-{period}.csv"), "expected_rows": 600}
    spec = {
        **SPEC,
        **few,
        "release": "people-{period}",
        "series": {"period": "{period}", "learn": True},
        "population": {"account": ACCOUNT},
    }
    example.write(own, **spec)
    (own / "table.csv").unlink()
    (own / "calendar.yaml").write_text(CALENDAR)
    settings = {
        "PYTHONPATH": f"{Path(__file__).with_name('sabotage')}:{Path(__file__).parents[2]}",
        "HALLMARK_TEST_FAULTS": str(folder / "faults"),
        "PREFECT_WORKER_QUERY_SECONDS": "1",
    }
    with agency_of(folder, **settings) as running:
        for command in (
            ("ledger", "open", ACCOUNT, "--epsilon", "1", "--delta", "1e-5", "--series", "month",
             "--in-a-row", "2", "--reason", "the board"),
            ("ledger", "plan", ACCOUNT, "--from", "2026-01", "--periods", "3", "--kept", "0.4",
             "--reason", "the board"),
            ("deploy", "--calendar", own / "calendar.yaml"),
        ):  # fmt: skip
            done = running.hallmark(*command)
            assert done.returncode == 0, done.stderr
        yield Series(running, own)


def test_three_months_run_with_a_late_file_killed_processes_and_a_revision(series: Series) -> None:
    agency, book = series.agency, series.ledger

    # January: a Dask worker is killed under the run, which nobody has to mend.
    series.comes("2026-01", 1)
    (series.faults / "hold-generate").touch()
    mark = series.faults / "met-generate"

    series.is_due("2026-02-03T02:00:00Z")
    wait_until(mark.exists, "the run comes to generate", SECONDS)
    agency.process_of("dask_worker").kill()
    mark.unlink()
    series.ends("COMPLETED", runs=1)
    assert "there were none" in series.learnt_from("people-2026-01")

    # February: its file is late. Nothing is blocked meanwhile, and then an engine is killed.
    series.is_due("2026-03-03T02:00:00Z")
    assert "people-2026-02.csv" in series.ends("FAILED", runs=2)
    assert not any(book.account(ACCOUNT).reserved)
    assert "2026-02" not in {m for m, rho in book.account(ACCOUNT).by_period.items() if rho}
    series.comes("2026-02", 2)
    (series.faults / "kill-privatize").touch()
    series.is_run_again("2026-02")
    series.ends("CRASHED", runs=3)
    series.is_run_again("2026-02")
    series.ends("COMPLETED", runs=4)
    assert series.learnt_from("people-2026-02").endswith(": people-2026-01")

    # January is revised, and March learns from the revision.
    series.comes("2026-01", 3)
    revised = series.folder / "revised.yaml"
    text = (series.folder / "spec.yaml").read_text().replace("{period}", "2026-01")
    revised.write_text(text.replace("release: people-2026-01", "release: people-2026-01-r1"))
    agency.start("release/on-demand", spec=revised, out=agency.out)
    wait_until((agency.out / "people-2026-01-r1").exists, "the revision is published", SECONDS)
    series.comes("2026-03", 4)
    series.is_due("2026-04-03T02:00:00Z")
    series.ends("COMPLETED", runs=5)
    assert series.learnt_from("people-2026-03").endswith(": people-2026-01-r1, people-2026-02")

    # Everything verifies; each call was charged once, and counts in its period.
    releases = ["people-2026-01", "people-2026-01-r1", "people-2026-02", "people-2026-03"]
    notices = [f"people-2026-01.superseded.{form}" for form in ("json", "md")]
    assert sorted(one.name for one in agency.out.iterdir()) == sorted(releases + notices)
    for release in releases:
        verified = agency.hallmark("verify", agency.out / release)
        assert verified.returncode == 0, verified.stdout
    book.verify(ACCOUNT)
    charges = [one for one in book.entries(ACCOUNT) if one.kind == "charge"]
    calls = Counter((one.release, one.payload["call"]) for one in charges)
    assert set(calls.values()) == {1}
    assert {release for release, _ in calls} == set(releases)
    account = book.account(ACCOUNT)
    assert not any(account.reserved)
    once = account.by_period["2026-02"]
    assert account.by_period == {"2026-01": 2 * once, "2026-02": once, "2026-03": once}
