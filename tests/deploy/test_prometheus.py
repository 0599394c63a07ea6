"""Prometheus as the manual sets it up, before a desk that answers: it takes the metrics, every
query of the dashboard has an answer, and every alert goes off."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest
from ruamel.yaml import YAML

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.documents.manifest import MANIFEST_FILE
from hallmark.tasks.gates.waiting import NOTE
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.people.rights import Role
from hallmark.tasks.runs import RunStatus, StageRun
from tests.deploy.stacks import DEPLOY
from tests.deploy.test_monitoring import MONITORING, panels, rules
from tests.flows.conftest import Hallmark, hallmark
from tests.flows.people import as_somebody
from tests.flows.services import free_port, service, wait_until
from tests.tasks.cut import cut, opened

__all__ = ["hallmark"]  # a fixture

pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(
        shutil.which("prometheus") is None,
        reason="no Prometheus is installed (Debian: apt-get install prometheus)",
    ),
]
NOW = datetime.now(UTC)
MANUAL = (DEPLOY / "../docs/operations.md").read_text()
RECORD = Adjacency(neighbours=Neighbours.REPLACE_ONE)

# Alerts that wait for some minutes are pending until then; rules_test.yaml lets the minutes pass.
AT_ONCE = {
    ("HallmarkAccountRefused", "firing"),
    ("HallmarkApprovalLate", "firing"),
    ("HallmarkBudgetLow", "firing"),
    ("HallmarkReleaseLost", "firing"),
    ("HallmarkRunInterrupted", "pending"),
}
LATER = (
    ("HallmarkRunFailed", "firing"),
    ("HallmarkLedgerDown", "pending"),
    ("HallmarkDeskDown", "pending"),
    ("HallmarkAccountsNotShown", "pending"),
)

Ask = Callable[..., Any]


def test_every_query_is_answered_and_every_alert_goes_off(
    home: Path, hallmark: Hallmark, tmp_path: Path
) -> None:
    trouble(tmp_path)
    token, port = made_token(hallmark, tmp_path), free_port()
    with prometheus(tmp_path, port, token) as ask:
        with desk(home, tmp_path, port):
            wait_until(lambda: alerts(ask) >= AT_ONCE, "what is wrong raises its alerts")
            assert alerts(ask) == AT_ONCE
            assert {name for name, _ in AT_ONCE.union(LATER)} == {one["alert"] for one in rules()}
            (group,) = ask("rules")["groups"]
            assert {(one["health"], one.get("lastError", "")) for one in group["rules"]} == {
                ("ok", "")
            }
            for panel in panels():
                for target in panel["targets"]:
                    assert_answered(ask, target["expr"])
            with pytest.raises(AssertionError):
                assert_answered(ask, "hallmark_nothing")

            status("failed", how="failed")
            wait_until(lambda: LATER[0] in alerts(ask), "a run that failed raises its alert")
            (home / "ledger.db").unlink()
            (home / "ledger.db").mkdir()
            wait_until(lambda: LATER[1] in alerts(ask), "a ledger that is gone raises its alert")
        wait_until(lambda: LATER[2] in alerts(ask), "a desk that is gone raises its alert")


def test_a_token_that_is_shown_no_accounts_is_told(home: Path, tmp_path: Path) -> None:
    token, port = tmp_path / "token", free_port()
    token.write_text(as_somebody(Role.VIEWER)["Authorization"].removeprefix("Bearer "))
    with desk(home, tmp_path, port), prometheus(tmp_path, port, token) as ask:
        shown = ("HallmarkAccountsNotShown", "pending")
        wait_until(lambda: shown in alerts(ask), "the alert")


def test_a_token_that_ended_is_told(home: Path, tmp_path: Path) -> None:
    token, port = tmp_path / "token", free_port()
    token.write_text("hallmark_of-last-year")
    with desk(home, tmp_path, port), prometheus(tmp_path, port, token) as ask:
        wait_until(lambda: "401" in scraped(ask)["lastError"], "the desk refuses the token")
        wait_until(lambda: LATER[2] in alerts(ask), "the alert")
        (alert,) = ask("alerts")["alerts"]
        assert "token" in alert["annotations"]["description"]


def assert_answered(ask: Ask, query: str) -> None:
    """As Grafana asks: for this moment, and for the last minutes."""
    minutes = {"start": NOW.timestamp(), "end": NOW.timestamp() + 600, "step": "1s"}
    assert ask("query", query=query)["result"], query
    assert ask("query_range", query=query, **minutes)["result"], query


def alerts(ask: Ask) -> set[tuple[str, str]]:
    """Names and states of all alerts that are pending or firing."""
    return {(one["labels"]["alertname"], one["state"]) for one in ask("alerts")["alerts"]}


def scraped(ask: Ask) -> dict[str, Any]:
    """How the last scrape of the desk went."""
    (target,) = ask("targets")["activeTargets"] or [{"lastError": ""}]
    return target


def trouble(folder: Path) -> None:
    """An installation in which much is wrong at once, and which has every kind of metric."""
    cap = Budget(epsilon=Fraction(2), delta=Fraction(1, 10**4))
    almost = Budget(epsilon=Fraction(19, 10), delta=Fraction(1, 10**5))
    book = open_ledger(ledger_url())
    book.open_account(
        "low", cap=cap, adjacency=RECORD, composition="zcdp", by="tests", reason="tests"
    )
    book.reserve("low", "published", almost, adjacency=RECORD, binding="tests")
    opened()
    cut(ledger_url(), 1)
    here = folder / "published"
    here.mkdir()
    (here / MANIFEST_FILE).write_text("{}")
    done = {"how": "published", "published": NOW}
    stages = {"validate": StageRun(seconds=3, peak_memory=2**26)}
    status("published", folder=str(here), entry="monthly", stages=stages, **done)
    status("lost", folder=str(folder / "gone"), **done)
    status("interrupted", how="running")
    status("late", how="waiting")
    note = Waiting(
        release="late",
        title="late",
        gate="plan",
        since=NOW - timedelta(days=4),
        required=("reviewer",),
        seen={"spec": "0" * 64},
        spec="spec.yaml",
        folder=".",
        out=".",
    )
    (Workspace.of("late").path / NOTE).write_text(note.model_dump_json())


def status(release: str, **more: Any) -> None:
    """How the last run of a release went, as the run leaves it."""
    left = RunStatus(release=release, account="low", expected_rows=1000, started=NOW, **more)
    (Workspace.of(release).path / "run.json").write_text(left.model_dump_json())


def made_token(hallmark: Hallmark, folder: Path) -> Path:
    """A file with a token, made by the manual's command."""
    told = re.search(r"`hallmark (people token LOGIN .*?)`", MANUAL.split("## Metrics")[1])
    assert told is not None
    assert hallmark("people", "add", "ada", "--name", "Ada", "--role", "monitor").code == 0
    made = hallmark(*told[1].replace("LOGIN", "ada").split())
    assert made.code == 0, made.err
    (folder / "token").write_text(made.out)
    return folder / "token"


@contextmanager
def desk(home: Path, folder: Path, port: int) -> Iterator[None]:
    """A desk in a process of its own."""
    command = ["uvicorn", "hallmark.flows.desk:desk", "--port", str(port)]
    with service(command, folder / "desk", {"HALLMARK_HOME": str(home)}):
        yield


@contextmanager
def prometheus(folder: Path, desk_port: int, token: Path) -> Iterator[Ask]:
    """Prometheus with the manual's settings, but for places and haste; what asks its API."""
    told = next(
        text for text in re.findall(r"```yaml\n(.*?)```", MANUAL, re.DOTALL) if "job_" in text
    )
    settings = YAML(typ="safe").load(told)
    (job,) = settings["scrape_configs"]
    assert settings["rule_files"] == ["/etc/prometheus/hallmark-rules.yaml"]
    settings["rule_files"] = [str(MONITORING / "rules.yaml")]
    job["authorization"]["credentials_file"] = str(token)
    job["static_configs"] = [{"targets": [f"127.0.0.1:{desk_port}"]}]
    job["scrape_interval"] = "1s"
    settings["global"] = {"evaluation_interval": "1s"}
    YAML().dump(settings, folder / "prometheus.yml")
    port = free_port()
    command = [
        "prometheus",
        "--config.file=prometheus.yml",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "prometheus.txt").open("wb") as said:
        process = subprocess.Popen(
            [*command, "--storage.tsdb.path=metrics"], cwd=folder, stdout=said, stderr=said
        )

    def ask(what: str, **about: Any) -> Any:
        answer = httpx.get(f"http://127.0.0.1:{port}/api/v1/{what}", params=about, timeout=60)
        return answer.raise_for_status().json()["data"]

    def is_ready() -> bool:
        assert process.poll() is None, (folder / "prometheus.txt").read_text()
        with suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{port}/-/ready").is_success
        return False

    try:
        wait_until(is_ready, "Prometheus answers")
        yield ask
    finally:
        process.terminate()
        process.wait(60)
