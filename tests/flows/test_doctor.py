"""`hallmark doctor` on a real server with a password, a real cluster, and as a command."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from distributed import LocalCluster

from hallmark.flows.cli import doctor as cli_doctor
from hallmark.tasks.doctor import Finding, server
from hallmark.tasks.installation.server_mode import DESK_URL
from hallmark.tasks.people.rights import Role
from tests.flows.conftest import Hallmark
from tests.flows.people import join
from tests.flows.services import SECONDS, desk_process, free_port, standing_server, wait_until
from tests.flows.test_cluster import QUIET

PASSWORD = "operator:secret"


@pytest.fixture(scope="module")
def guarded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What names a Prefect server that asks for a password."""
    folder = tmp_path_factory.mktemp("guarded-server")
    with standing_server(folder, PREFECT_SERVER_API_AUTH_STRING=PASSWORD) as url:
        yield {"PREFECT_API_URL": url, "PREFECT_API_AUTH_STRING": PASSWORD}


def verdicts(findings: Iterator[Finding]) -> dict[str, str]:
    """The worst verdict of each check."""
    order = ("ok", "warn", "wrong")
    worst: dict[str, str] = {}
    for finding in findings:
        before = worst.get(finding.check, "ok")
        worst[finding.check] = max(before, finding.verdict, key=order.index)
    return worst


def deploy(client: httpx.Client, name: str, schedule: dict[str, Any]) -> None:
    flow = client.post("/flows/", json={"name": "release"}).raise_for_status().json()["id"]
    schedules = [{"schedule": schedule, "active": True}]
    deployment = {"name": name, "flow_id": flow, "schedules": schedules}
    client.post("/deployments/", json=deployment).raise_for_status()


@pytest.mark.service
def test_a_server_is_examined_from_bare_to_working(
    guarded_server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_SECONDS", SECONDS)
    strangers = guarded_server | {"PREFECT_API_AUTH_STRING": "operator:wrong"}
    assert verdicts(server.prefect_server(strangers)) == {"server": "wrong"}
    bare = verdicts(server.prefect_server(guarded_server))
    assert bare == {"server": "ok", "scheduler": "warn", "workers": "wrong"}

    with httpx.Client(
        base_url=guarded_server["PREFECT_API_URL"], auth=("operator", "secret"), timeout=SECONDS
    ) as client:
        pool = {"name": "hallmark", "type": "process"}
        client.post("/work_pools/", json=pool).raise_for_status()
        assert verdicts(server.prefect_server(guarded_server))["workers"] == "wrong"  # no worker
        beat = {"name": "one", "heartbeat_interval_seconds": 30}
        client.post("/work_pools/hallmark/workers/heartbeat", json=beat).raise_for_status()
        assert verdicts(server.prefect_server(guarded_server))["workers"] == "ok"
        client.patch("/work_pools/hallmark", json={"is_paused": True}).raise_for_status()
        assert verdicts(server.prefect_server(guarded_server))["workers"] == "warn"

        deploy(client, "leap-day", {"cron": "0 0 29 2 *"})  # further than the scheduler looks
        assert verdicts(server.prefect_server(guarded_server))["scheduler"] == "warn"
        monkeypatch.setattr(server, "NEW", timedelta(0))
        assert verdicts(server.prefect_server(guarded_server))["scheduler"] == "wrong"
        deploy(client, "hourly", {"interval": 3600})

        def scheduled() -> bool:
            return verdicts(server.prefect_server(guarded_server))["scheduler"] != "wrong"

        wait_until(scheduled, "the scheduler makes the runs of the hourly deployment")
        assert verdicts(server.prefect_server(guarded_server))["scheduler"] == "warn"  # leap-day


@pytest.mark.service
def test_a_desk_lets_in_no_stranger_and_needs_an_administrator(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_SECONDS", SECONDS)
    port = free_port()

    def desk() -> Finding:
        (found,) = server.desk({DESK_URL: f"http://127.0.0.1:{port}"})
        return found

    assert desk().verdict == "wrong"
    with desk_process(tmp_path / "desk", port, {"HALLMARK_HOME": str(home)}):
        assert desk().verdict == "warn"
        join("ada", Role.ADMINISTRATOR)
        assert desk().verdict == "ok"


def profile(home: Path, cluster: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "profile.yaml").write_text(f"cluster: {{{cluster}}}\n")


def cluster() -> tuple[str, str]:
    (found,) = cli_doctor.cluster()
    return found.verdict, found.says


def test_without_a_cluster_of_its_own_a_release_runs_here(home: Path) -> None:
    assert cluster()[0] == "ok"
    profile(home, "local: {processes: 2}")
    assert cluster()[0] == "ok"


def test_a_cluster_class_must_be_there(home: Path) -> None:
    profile(home, "class: distributed.LocalCluster")
    assert cluster()[0] == "ok"
    profile(home, "class: nowhere.Cluster")
    assert cluster()[0] == "wrong"


def test_a_scheduler_must_answer(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_doctor, "_SECONDS", 1)
    profile(home, f"address: 'tcp://127.0.0.1:{free_port()}'")
    verdict, says = cluster()
    assert verdict == "wrong"
    assert says.startswith("no scheduler answers at tcp://127.0.0.1:")


@pytest.mark.parametrize(
    ("workers", "verdict", "says"), [(0, "wrong", "no worker came"), (1, "ok", "1 workers at")]
)
def test_a_cluster_needs_fit_workers(
    workers: int, verdict: str, says: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_doctor, "_SECONDS", SECONDS if workers else 1)
    loopback = {"protocol": "tcp", "host": "127.0.0.1", "processes": False}
    with LocalCluster(n_workers=workers, threads_per_worker=1, **loopback, **QUIET) as standing:
        profile(home, f"address: '{standing.scheduler_address}'")
        found = cluster()
    assert found[0] == verdict
    assert says in found[1]


def test_a_sound_installation_is_told_to_people(hallmark: Hallmark) -> None:
    done = hallmark("doctor")
    assert done.code == 0, done
    assert "Nothing is wrong" in done.out
    assert "→ make one with: openssl genpkey" in done.out


def test_what_is_wrong_is_told_to_programs_and_ends_in_1(
    hallmark: Hallmark, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    home.chmod(0o755)  # whatever the umask
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    done = hallmark("doctor", "--json")
    told = json.loads(done.out)
    wrong = {found["check"] for found in told["findings"] if found["verdict"] == "wrong"}
    assert (done.code, told["ok"], wrong) == (1, False, {"home", "server"})
