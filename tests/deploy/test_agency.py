"""The example of an agency's folder: what a newcomer copies is right."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hallmark.schemas.loading import load_calendar, load_profile
from hallmark.tasks.planning.instances import instance
from tests.deploy.stacks import DEPLOY, compose

AGENCY = DEPLOY / "agency"
MOMENT = datetime(2026, 10, 5, 2, tzinfo=UTC)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALLMARK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HALLMARK_LEDGER", raising=False)


def test_the_profile_names_the_scheduler_and_the_keys_that_are_mounted():
    cluster = load_profile(AGENCY / "profile.yaml").cluster
    assert cluster is not None
    assert cluster.address == "tls://dask-scheduler:8786"
    mounted = {
        secret["target"]
        for secret in compose()["services"]["worker"]["secrets"]
        if isinstance(secret, dict)
    }
    assert cluster.tls is not None
    assert set(cluster.tls.model_dump().values()) == mounted


def test_every_entry_of_the_calendar_can_run():
    for name in load_calendar(AGENCY / "calendar.yaml").releases:
        due = instance(AGENCY / "calendar.yaml", name, MOMENT)
        assert due.prepared.spec.release == "visits-2026-q3"
        assert due.prepared.plan.events
