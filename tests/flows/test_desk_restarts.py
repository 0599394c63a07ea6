"""Every process of server mode is killed while people work at the desk and a release is made."""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx
import pytest

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from tests import example
from tests.flows.server import SECONDS, Installation, need_postgres
from tests.flows.server import agency as agency_of
from tests.flows.services import answers, wait_until

pytestmark = [pytest.mark.service, pytest.mark.slow]

DESK = "hallmark.flows.desk"
BEFORE_THE_RUN_BEGINS = ("worker start", DESK, "dashboard", DESK)
IN_THE_MIDDLE_OF_IT = ("dask_worker", DESK, "dask_scheduler", "worker start", DESK)


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    need_postgres()
    with agency_of(tmp_path_factory.mktemp("restarts")) as running:
        yield running


@dataclass
class Worker:
    """Somebody who does one thing after another, and remembers what the desk acknowledged."""

    agency: Installation
    role: str
    asked: int = 0
    acknowledged: set[str] = field(default_factory=set)

    def send(self, path: str, name: str, **form: str) -> None:
        self.asked += 1
        headers = self.agency.as_somebody(self.role)
        try:
            answer = httpx.post(
                f"{self.agency.desk}{path}", headers=headers, data=form, timeout=SECONDS
            )
        except httpx.TransportError:
            return  # the desk is down; whether it was done is not known
        assert answer.status_code == 303, answer.text
        self.acknowledged.add(name)


def test_no_event_is_lost_when_processes_are_killed(agency: Installation, tmp_path: Path) -> None:
    order_a_release(agency, tmp_path)
    reviewer, steward, drafter = (
        Worker(agency, "reviewer"), Worker(agency, "steward"), Worker(agency, "steward"),
    )  # fmt: skip
    deeds: list[Callable[[int], None]] = [
        lambda n: reviewer.send("/releases/busy/comments", f"word {n}.", text=f"word {n}."),
        lambda n: steward.send(
            "/accounts/others/cap",
            f"meeting {n}",
            epsilon=f"{10 + n}",
            delta="1e-6",
            reason=f"meeting {n}",
        ),
        lambda n: drafter.send(
            "/specs/draft", f"draft {n}", text=f"release: draft\ntitle: draft {n}\n"
        ),
    ]
    operator = Operator(agency)
    with working(deeds):
        kill(agency, BEFORE_THE_RUN_BEGINS)
        wait_until(lambda: operator.sees("running"), "the run has begun")
        kill(agency, IN_THE_MIDDLE_OF_IT)
    wait_until(lambda: operator.sees("published"), "the release is published", seconds=2 * SECONDS)

    for somebody in (reviewer, steward, drafter):
        assert 10 < len(somebody.acknowledged) < somebody.asked  # it was down now and then
    told = log(agency)
    comments = re.findall(r"word \d+\.", page(agency, "/releases/busy"))
    assert reviewer.acknowledged <= set(comments)
    assert Counter(one["action"] for one in told)["commented"] == len(comments)

    book = Ledger(agency.environment["HALLMARK_LEDGER"])
    entered = [one for one in book.entries("others") if one.kind == "cap"]
    meetings = {one["details"]["reason"] for one in told if one["action"] == "cap-changed"}
    assert steward.acknowledged <= {one.payload["reason"] for one in entered} <= meetings
    saved = [one for one in told if (one["action"], one["about"]) == ("spec-saved", "draft")]
    assert len(drafter.acknowledged) <= len(saved) <= drafter.asked + 1
    assert "release: draft" in (agency.home / "specs" / "draft.yaml").read_text()

    assert agency.hallmark("verify", agency.out / "busy").returncode == 0
    reservation = book.reservation("busy")
    assert reservation is not None
    assert reservation.state == "spent"
    assert len({call.call for call in book.calls("busy")}) == len(book.calls("busy"))
    for account in ("test-people", "others"):
        book.verify(account)
    orders = [one for one in told if (one["action"], one["about"]) == ("ordered", "busy")]
    assert {one["who"] for one in orders} == {"test-operator"}


def order_a_release(agency: Installation, folder: Path) -> None:
    """A release of some minutes, from a table and a spec that are uploaded, and what else is there
    to be changed."""
    spec = example.write(
        folder,
        rows=20_000,
        release="busy",
        mechanism={
            "name": "privpgd",
            "generator": {"descent": {"epochs": 60}, "particles": 3000},
        },
    )
    text = spec.read_text().replace(str(folder / "table.csv"), "table.csv")
    steward, operator = agency.as_somebody("steward"), agency.as_somebody("operator")
    cap = {"name": "others", "epsilon": "1", "delta": "1e-6", "neighbours": "replace_one"}
    posts: list[tuple[str, dict[str, str], dict[str, object]]] = [
        ("/accounts", steward, {"data": cap | {"reason": "the board"}}),
        ("/tables", steward, {"files": {"table": (folder / "table.csv").open("rb")}}),
        ("/specs", steward, {"data": {"name": "busy"}, "files": {"spec": ("s.yaml", text)}}),
        ("/specs", steward, {"data": {"name": "draft"}, "files": {"spec": ("s.yaml", text)}}),
        ("/releases/busy/start", operator, {}),
    ]
    for path, headers, given in posts:
        answer = httpx.post(f"{agency.desk}{path}", headers=headers, timeout=SECONDS, **given)  # type: ignore[arg-type]
        assert answer.status_code == 303, answer.text


class working:
    """People who work all the time, each at one thing."""

    def __init__(self, deeds: list[Callable[[int], None]]) -> None:
        self._ended = threading.Event()
        self._faults: list[BaseException] = []
        self._threads = [threading.Thread(target=self._work, args=(deed,)) for deed in deeds]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        assert not self._faults, self._faults

    def _work(self, deed: Callable[[int], None]) -> None:
        for number in count(1):
            if self._ended.wait(0.3):
                return
            try:
                deed(number)
            except BaseException as fault:
                self._faults.append(fault)
                return


def kill(agency: Installation, services: Iterable[str]) -> None:
    """Kill one process after another, a few seconds after the desk is back each time."""
    for service in services:
        wait_until(lambda: answers(f"{agency.desk}/health"), "the desk is back")
        time.sleep(4)
        agency.kill(service)


class Operator:
    """Somebody who does what the page of the release says."""

    def __init__(self, agency: Installation) -> None:
        self._agency = agency
        self._patience = time.monotonic() + 30  # with a run that does not begin

    def sees(self, state: str) -> bool:
        if not answers(f"{self._agency.desk}/health"):
            return False
        told = page(self._agency, "/releases/busy")
        shown = re.search(r'class="state (\w+)"', told)
        assert shown is not None
        gone = shown[1] == "ordered" and time.monotonic() > self._patience
        if gone or shown[1] in ("interrupted", "failed", "stopped"):
            headers = self._agency.as_somebody("operator")
            again = {"again": "true"} if 'name="again"' in told else {}
            address = f"{self._agency.desk}/releases/busy/start"
            httpx.post(address, headers=headers, data=again, timeout=SECONDS)
            self._patience = time.monotonic() + 120
        return shown[1] == state


def page(agency: Installation, path: str) -> str:
    headers = agency.as_somebody("reviewer") | {"Accept": "text/html"}
    answer = httpx.get(f"{agency.desk}{path}", headers=headers, timeout=SECONDS)
    assert answer.status_code == 200, answer.text
    return answer.text


def log(agency: Installation) -> list[dict[str, object]]:
    """All entries of the log, once its export is found to be whole."""
    file = agency.folder / "log.jsonl"
    headers = agency.as_somebody("auditor")
    file.write_text(httpx.get(f"{agency.desk}/log/export", headers=headers, timeout=SECONDS).text)
    checked = agency.hallmark("people", "check-log", file)
    assert checked.returncode == 0, checked.stdout
    return [json.loads(json.loads(line)["entry"]) for line in file.read_text().splitlines()[1:]]
