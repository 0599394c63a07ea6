"""Alerts arrive: a real Prefect server, real runs, and a web server that is called."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.events.clients import PrefectEventsClient
from prefect.events.worker import EventsWorker
from prefect.settings import PREFECT_API_URL, temporary_settings
from ruamel.yaml import YAML
from typer.testing import CliRunner

from hallmark.flows import alerts
from hallmark.flows.alerts import FLOWS, SILENT, AlertsRefused, remove, set_up
from hallmark.flows.cli.app import app
from hallmark.flows.endings import ended
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import Waiting
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger.budget_left import percent_left, tell_budget
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.reserve import reserve
from tests import example
from tests.flows.services import SECONDS, wait_until
from tests.serving import Handler, serving

ROOT = Path(__file__).parents[2]
TENTH = Fraction(1, 10)
SECRET = "canary-40417"
NAMES = [
    "hallmark: a run failed",
    "hallmark: a run gives no sign of life",
    "hallmark: a release waits for an approval",
    "hallmark: a budget runs low",
]
NOTED = "hallmark: note runs that fell silent"


@dataclass
class Bell:
    """A web server on this machine that keeps what it is sent."""

    url: str
    heard: list[dict[str, Any]]

    @property
    def told(self) -> list[dict[str, Any]]:
        """Every alert once: the server sends one again if its database was busy meanwhile."""
        return list({(said["alert"], said["event"]): said for said in self.heard}.values())

    def of(self, alert: str) -> list[dict[str, Any]]:
        return [said for said in self.heard if said["alert"] == alert]


@pytest.fixture
def bell() -> Iterator[Bell]:
    heard: list[dict[str, Any]] = []

    class Ear(Handler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            heard.append(json.loads(content))
            self.send_response(204)
            self.end_headers()

    with serving(Ear) as url:
        yield Bell(f"{url}/alert", heard)


@pytest.fixture
def server(prefect_server: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A standing server that has no alerts before and after, and hears the events of this process.

    Prefect keeps one connection for events a process, to whichever server came first; an earlier
    test may have had another.
    """
    monkeypatch.setenv("PREFECT_API_URL", prefect_server)
    EventsWorker.set_client_override(PrefectEventsClient, api_url=prefect_server)
    with temporary_settings({PREFECT_API_URL: prefect_server}):
        yield prefect_server
        remove()
    EventsWorker.set_client_override(None)


def fail() -> None:
    raise RuntimeError(SECRET)


def stop() -> Any:
    return ended(
        Waiting(
            release="r", title='The "first"', gate="plan", since=datetime.now(UTC),
            required=("methodologist",), spec="/s", folder="/", out="/",
        )
    )  # fmt: skip


KILLED = """
import os, signal
from prefect import flow
from prefect.events.worker import EventsWorker

@flow(name="release")
def run() -> None:
    EventsWorker.instance().wait_until_empty()
    os.kill(os.getpid(), signal.SIGKILL)

run()
"""


@pytest.mark.service
def test_a_run_whose_process_was_killed_is_missed_and_one_that_ended_is_not(
    server: str, bell: Bell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "SILENCE", timedelta(seconds=30))
    set_up(webhook=bell.url, block=None, budget_below=TENTH)
    flow(name="release")(lambda: None)()  # its sign of life may well arrive after its end
    killed = subprocess.run(
        [sys.executable, "-c", KILLED],
        env={**os.environ, "PREFECT_API_URL": server},
        timeout=SECONDS,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    wait_until(lambda: bell.heard, "the alert arrives")
    (said,) = bell.told
    assert (said["alert"], said["flow"], said["state"]) == (NAMES[1], "release", SILENT)
    with get_client(sync_client=True) as client:
        (one,) = (run for run in client.read_flow_runs() if run.name == said["run"])
    assert one.state is not None
    assert one.state.is_crashed()


WAITS = "release r is waiting for methodologist to approve its plan"


@pytest.mark.service
def test_a_failed_run_of_ours_is_told_without_what_its_error_said(server: str, bell: Bell) -> None:
    set_up(webhook=bell.url, block=None, budget_below=TENTH)
    for name in ("of-somebody-else", "release"):
        with pytest.raises(RuntimeError):
            flow(name=name)(fail)()
    wait_until(lambda: bell.heard, "the alert arrives")
    (said,) = bell.told
    assert (said["alert"], said["flow"], said["state"]) == (NAMES[0], "release", "Failed")
    assert {"run", "url"} < said.keys()
    assert SECRET not in json.dumps(said)


@pytest.mark.service
def test_a_release_that_waits_is_told_with_what_it_waits_for(server: str, bell: Bell) -> None:
    set_up(webhook=bell.url, block=None, budget_below=TENTH)
    flow(name="calendar-release")(stop)()
    wait_until(lambda: bell.heard, "the alert arrives")
    (said,) = bell.told
    assert (said["alert"], said["says"]) == (NAMES[2], WAITS)


@pytest.mark.service
def test_a_low_budget_is_told_when_it_is_below_the_share_and_not_before(
    server: str, bell: Bell, home: Path, tmp_path: Path
) -> None:
    set_up(webhook=bell.url, block=None, budget_below=Fraction(1, 2))
    example.open_account(cap=Budget(epsilon=Fraction(2), delta=Fraction(1, 2)))
    privacy = example.spec(tmp_path)["privacy"]
    for release, epsilon in (("first", "1"), ("second", "1/2")):  # leaves a half, then a quarter
        spec = example.write(
            tmp_path / release,
            rows=10,
            release=release,
            mechanism={"name": "mst"},
            privacy=privacy | {"epsilon": epsilon},
        )
        reserve.fn(prepare(spec), ledger_url(), tmp_path / "out", resume=False)
        tell_budget(prepare(spec), ledger_url())
    wait_until(lambda: bell.heard, "the alert arrives")
    (said,) = bell.told
    assert said == {
        "alert": NAMES[3],
        "event": said["event"],
        "account": "test-people",
        "left_percent": 25,
        "release": "second",
    }


def automations() -> list[str]:
    with get_client(sync_client=True) as client:
        return sorted(one.name for one in client.read_automations())


def test_every_flow_that_an_operator_can_start_is_watched() -> None:
    from hallmark.flows.form import release_form
    from hallmark.flows.scheduled import calendar_release

    offered = YAML().load(ROOT / "prefect.yaml")["deployments"]
    entries = [one["entrypoint"].rpartition(".") for one in offered]
    flows = [getattr(import_module(module), name) for module, _, name in entries]
    assert {one.name for one in [*flows, release_form, calendar_release]} == set(FLOWS)


@pytest.mark.service
def test_setting_up_again_changes_and_removing_leaves_nothing(server: str, bell: Bell) -> None:
    for url in ("http://127.0.0.1:9/old", bell.url):
        assert set_up(webhook=url, block=None, budget_below=TENTH) == NAMES
    assert automations() == sorted([*NAMES, NOTED])
    flow(name="release")(stop)()
    wait_until(lambda: bell.of(NAMES[2]), "the alert arrives at the new place")
    assert sorted(remove()) == sorted([*NAMES, NOTED])
    assert automations() == []
    assert remove() == []


@pytest.mark.service
def test_people_are_told_through_a_block_of_the_agency(server: str, bell: Bell) -> None:
    from prefect.blocks.notifications import CustomWebhookNotificationBlock

    form = {"alert": "{{subject}}", "body": "{{body}}"}
    block: Any = CustomWebhookNotificationBlock(name="pager", url=bell.url, json_data=form)
    block.save("reviewers", overwrite=True)
    set_up(webhook=None, block="custom-webhook/reviewers", budget_below=TENTH)
    flow(name="release")(stop)()
    wait_until(lambda: bell.heard, "the alert arrives")
    assert bell.heard[0]["alert"] == NAMES[2]
    assert bell.heard[0]["body"].startswith(f"{WAITS}. Decide with")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"webhook": None, "block": None}, "give one of"),
        ({"webhook": "http://x", "block": "a/b"}, "give one of"),
        ({"budget_below": Fraction(1, 3)}, "a whole number of percent"),
        ({"budget_below": Fraction(2)}, "a whole number of percent"),
    ],
)
def test_wrong_words_are_refused(asked: dict[str, Any], message: str) -> None:
    words: dict[str, Any] = {"webhook": "http://x", "block": None, "budget_below": TENTH} | asked
    with pytest.raises(AlertsRefused, match=message):
        set_up(**words)


@pytest.mark.service
def test_a_block_that_the_server_does_not_have_is_refused(server: str) -> None:
    with pytest.raises(AlertsRefused, match="has no block slack-webhook/nobody"):
        set_up(webhook=None, block="slack-webhook/nobody", budget_below=TENTH)


def test_alerts_need_a_standing_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    done = CliRunner().invoke(app, ["alerts", "--webhook", "http://x"])
    assert done.exit_code == 2
    assert "is not set;" in done.output


@pytest.mark.parametrize(
    ("cap", "percent"),
    [
        (Budget(epsilon=Fraction(3), delta=Fraction(1, 2)), 66),  # epsilon decides, rounded down
        (Budget(epsilon=Fraction(3), delta=Fraction(1, 50)), 50),  # delta decides
        (Budget(epsilon=Fraction(1), delta=Fraction(1, 50)), 0),
    ],
)
def test_what_is_left_is_the_lesser_share_of_epsilon_and_delta(
    cap: Budget, percent: int, home: Path
) -> None:
    example.open_account(cap=cap)
    book, asked = Ledger(ledger_url()), Budget(epsilon=Fraction(1), delta=Fraction(1, 100))
    terms = book.account("test-people").adjacency
    book.reserve("test-people", "r", asked, adjacency=terms, binding="b")
    assert percent_left(book.account("test-people")) == percent


def test_an_account_for_pure_privacy_has_no_delta_to_run_out_of(home: Path) -> None:
    example.open_account(cap=Budget(epsilon=Fraction(3), delta=Fraction(0)))
    assert percent_left(Ledger(ledger_url()).account("test-people")) == 100
