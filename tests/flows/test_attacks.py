"""What once succeeded against a whole installation, tried again: `make up`, on PostgreSQL.

One installation serves all of these tests, which take minutes: run them with `make test-services`.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from ipaddress import ip_address
from pathlib import Path
from socket import SOCK_DGRAM
from typing import Any

import httpx
import psutil
import pytest
from ruamel.yaml import YAML

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.documents.decisions import Decision
from hallmark.tasks.gates.decision_keys import sign
from hallmark.tasks.gates.gate_history import History
from hallmark.tasks.gates.waiting import asked_now
from hallmark.tasks.installation.signing import private_key
from tests import example
from tests.flows.people import PASSPHRASE
from tests.flows.server import SPEC as PLAIN
from tests.flows.server import Installation
from tests.flows.services import SECONDS, wait_until

pytestmark = pytest.mark.service

PRIVACY = {"neighbours": "replace_one", "unit": "record", "epsilon": "1/8", "delta": "1e-7"}
FOUR_EYES = {"disclosure": ["reviewer", "reviewer"]}
SPEC = PLAIN | {"privacy": PRIVACY}


@pytest.fixture
def attacked(agency: Installation) -> Installation:
    """An agency that whoever has an account on its machine may try to harm."""
    return agency


@pytest.mark.slow
def test_a_release_started_without_a_folder_is_published_where_it_lasts(
    attacked: Installation, tmp_path: Path
):
    spec = example.write(tmp_path, release="lasting", **SPEC)
    attacked.start("release/on-demand", spec=spec)  # as from the form, with its default
    folder = attacked.out / "lasting"
    wait_until(folder.exists, "the release is published")
    assert attacked.hallmark("verify", folder).returncode == 0
    wait_until(lambda: attacked.runs("on-demand")[0]["state_type"] == "COMPLETED", "the run ended")
    assert 'hallmark_releases{state="lost"} 0.0' in attacked.metrics()
    folder.rename(attacked.folder / "moved")
    wait_until(lambda: 'hallmark_releases{state="lost"} 1.0' in attacked.metrics(), "it is missed")
    doctor = attacked.hallmark("doctor", "--json")
    assert doctor.returncode == 1
    assert f"release lasting was published in {folder}" in doctor.stdout
    (attacked.folder / "moved").rename(folder)

    attacked.start("release/on-demand", spec=Path("spec.yaml"))
    wait_until(lambda: attacked.runs("on-demand")[0]["state_type"] == "FAILED", "it is refused")


def test_an_old_approval_posted_again_does_not_undo_a_rejection(
    attacked: Installation, tmp_path: Path
):
    spec = example.write(tmp_path, release="replayed", approvals=FOUR_EYES, **SPEC)
    attacked.start("release/on-demand", spec=spec)
    waiting = attacked.home / "work" / "replayed" / "waiting.json"
    wait_until(waiting.exists, "the release waits")
    approval = signed(attacked, "replayed", "Bo", "approve")
    assert posted(attacked, approval) == (200, "")
    assert posted(attacked, signed(attacked, "replayed", "Bo", "reject")) == (200, "")
    assert "it was made before" in posted(attacked, approval)[1]
    late = signed(attacked, "replayed", "Cy", "approve")
    assert "until it is reopened:" in posted(attacked, late)[1]

    reopened = attacked.hallmark("reopen", "replayed", "--reason", "it was explained to Bo")
    assert reopened.returncode == 0, reopened.stderr
    for old in (approval, late):
        assert posted(attacked, old)[0] == 409
    for name in ("Bo", "Cy"):
        assert posted(attacked, signed(attacked, "replayed", name, "approve")) == (200, "")
    folder = attacked.out / "replayed"
    wait_until(folder.exists, "the release is published")
    assert attacked.hallmark("verify", folder).returncode == 0
    told = json.loads((folder / "approvals.json").read_text())["decisions"]
    assert [(one["person"], one["decision"], one["outcome"]) for one in told] == [
        ("Bo", "approve", "superseded: the gate was opened anew"),
        ("Bo", "reject", "superseded: the gate was opened anew"),
        ("Bo", "approve", "counted"),
        ("Cy", "approve", "counted"),
    ]


def test_one_key_under_two_names_does_not_pass_four_eyes(attacked: Installation, tmp_path: Path):
    spec = example.write(tmp_path, release="doubled", approvals=FOUR_EYES, **SPEC)
    attacked.start("release/on-demand", spec=spec)
    waiting = attacked.home / "work" / "doubled" / "waiting.json"
    wait_until(waiting.exists, "the release waits")
    assert posted(attacked, signed(attacked, "doubled", "Bo", "approve")) == (200, "")
    profile = attacked.home / "profile.yaml"
    honest = profile.read_text()
    people = YAML().load(honest)
    bo, cy = (
        next(one for one in people["approvers"] if one["name"] == who) for who in ("Bo", "Cy")
    )
    try:
        cy["key"] = bo["key"]
        YAML().dump(people, profile)
        both = signed(attacked, "doubled", "Cy", "approve", key="Bo", page=False)
        status, said = posted(attacked, both)
        assert (status, "is also the key of Bo" in said) == (503, True)
        doctor = attacked.hallmark("doctor", "--json")
        assert doctor.returncode == 1
        assert "is also the key of Bo" in doctor.stdout

        people["approvers"].remove(bo)  # the profile is sound again, and Bo goes by another name
        YAML().dump(people, profile)
        both = signed(attacked, "doubled", "Cy", "approve", key="Bo")
        assert "their key was used under another name" in posted(attacked, both)[1]
    finally:
        profile.write_text(honest)
    assert posted(attacked, signed(attacked, "doubled", "Cy", "approve")) == (200, "")
    wait_until((attacked.out / "doubled").exists, "the release is published")


def signed(
    attacked: Installation,
    release: str,
    name: str,
    decision: str,
    *,
    key: str | None = None,
    page: bool = True,
) -> dict[str, Any]:
    """What a browser sends once somebody has decided on the desk's page; without a page, what a
    script makes of the ledger."""
    if page:
        shown = desk(attacked, "GET", f"/releases/{release}").text
        found = re.search(r'data-content="([^"]*)"', shown)
        assert found is not None
        asked = json.loads(unescape(found[1]))
    else:
        waits = Waiting.model_validate_json(
            (attacked.home / "work" / release / "waiting.json").read_bytes()
        )
        book = Ledger(attacked.environment["HALLMARK_LEDGER"])
        asked = asked_now(waits, History.in_ledger(book, release))
    said = {
        **asked,
        "role": "reviewer",
        "person": name,
        "decision": decision,
        "reason": "for the test",
        "decided": datetime.now(UTC).replace(microsecond=0),
    }
    file = attacked.folder / "keys" / f"{key or name}.pem"
    own = private_key(file, lambda: PASSPHRASE)
    return sign(Decision.model_validate(said), own).model_dump(mode="json")


def posted(attacked: Installation, decision: dict[str, Any]) -> tuple[int, str]:
    """Status, and why it was refused."""
    answer = desk(attacked, "POST", "/decisions", json=decision)
    return answer.status_code, answer.json().get("detail", "")


def desk(attacked: Installation, method: str, path: str, **more: Any) -> httpx.Response:
    headers = attacked.as_somebody("reviewer")
    return httpx.request(method, f"{attacked.desk}{path}", headers=headers, timeout=SECONDS, **more)


def test_no_process_listens_to_more_than_this_machine(attacked: Installation, tmp_path: Path):
    spec = example.write(tmp_path, release="listened-to", **SPEC)
    attacked.start("release/on-demand", spec=spec)
    heard: set[tuple[str, str, int]] = set()

    def done() -> bool:
        heard.update(_listening(attacked))
        return (attacked.out / "listened-to").exists()

    wait_until(done, "the release is published, by processes that are all looked at")
    assert [one for one in heard if not ip_address(one[1]).is_loopback] == []
    ports = {who: {port for name, _, port in heard if name == who} for who in _SERVICES.values()}
    ports.pop("worker")  # where it and its runs are told, with a secret, that they are to end
    assert {who: len(found) for who, found in ports.items()} == {
        "dashboard": 1,
        "desk": 1,
        "dask-scheduler": 2,  # its web server tells its health
        "dask-worker": 3,  # the nanny that keeps it alive; its web server
    }
    for number, who in enumerate(("dashboard", "desk", "dask-scheduler")):
        assert attacked.port + number in ports[who]


@pytest.mark.slow
def test_whoever_guesses_a_password_is_slowed_down_and_the_installation_works_on(
    attacked: Installation, tmp_path: Path
):
    url = f"{attacked.dashboard}/api/version"
    user, _, secret = attacked.password("dashboard").partition(":")
    answers = [httpx.get(url, auth=(user, f"guess-{i}"), timeout=SECONDS) for i in range(10)]
    assert [answer.status_code for answer in answers[:5]] == [401] * 5
    slowed = [answer for answer in answers if answer.status_code == 429]
    assert len(slowed) >= 3
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in slowed)

    spec = example.write(tmp_path, release="beside-guesses", **SPEC)
    attacked.start("release/on-demand", spec=spec)  # by the token of the installation
    guessed = 0
    while not (attacked.out / "beside-guesses").exists():
        httpx.get(url, auth=(user, "guess"), timeout=SECONDS)
        guessed += 1
        assert guessed < 50_000, "the release is not published"
    wait_until(
        lambda: httpx.get(url, auth=(user, secret), timeout=SECONDS).status_code == 200,
        "whoever knows the password is heard",
    )


def test_without_the_password_the_server_says_how_to_log_in_and_no_more(attacked: Installation):
    for path in ("/docs", "/redoc", "/openapi.json", "/api/docs", "/api/openapi.json"):
        answer = httpx.get(f"{attacked.dashboard}{path}", timeout=SECONDS)
        assert answer.status_code == 401, path
        assert "paths" not in answer.text, path
    said = httpx.get(f"{attacked.dashboard}/ui-settings", timeout=SECONDS).json()
    assert (said["api_url"], said["auth"]) == (f"{attacked.dashboard}/api", "BASIC")
    assert set(said) <= {
        "api_url", "auth", "csrf_enabled", "flags", "default_ui", "available_uis",
        "v1_base_url", "v2_base_url",
    }  # fmt: skip


def _listening(attacked: Installation) -> Iterator[tuple[str, str, int]]:
    """Every socket that listens, of all processes of the installation: whose, address, port."""
    for service in psutil.Process(attacked.process.pid).children():
        command = " ".join(service.cmdline())
        (who,) = [name for word, name in _SERVICES.items() if word in command]
        for process in (service, *service.children(recursive=True)):
            try:
                sockets = process.net_connections("inet")
            except psutil.NoSuchProcess:  # it has just ended
                continue
            for one in sockets:
                # UDP has no state: whatever is bound hears.
                if one.status == psutil.CONN_LISTEN or (one.type == SOCK_DGRAM and not one.raddr):
                    yield who, one.laddr.ip, one.laddr.port


_SERVICES = {
    "deploy.dashboard": "dashboard",
    "hallmark.flows.desk": "desk",
    "dask_scheduler": "dask-scheduler",
    "dask_worker": "dask-worker",
    "prefect worker": "worker",
}
