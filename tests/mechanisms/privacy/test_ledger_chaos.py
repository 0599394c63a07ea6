"""Many processes on one account, killed at random: no charge is lost, none doubled, none too many.

What the kernel has written survives a kill, so these tests say nothing of a loss of power; what a
commit forces to disk is checked in ledger/test_database.py.
"""

import json
import signal
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger, LedgerError
from tests.mechanisms.privacy.ledger_chaos import ACCOUNT, EVENT, POINTS, RECORD, request_of

SCRIPT = Path(__file__).with_name("ledger_chaos.py")
Answer = tuple[str, str, str]


def script(*arguments: object) -> Any:
    """What `ledger_chaos.py` prints."""
    run = subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert run.stderr == ""
    return json.loads(run.stdout)


def crowd(url: str, folder: Path, **options: Any) -> tuple[dict[str, Any], list[Answer]]:
    """Exit statuses of the workers in both waves, and every answer that one of them was given."""
    answers = folder / "answers.jsonl"
    flags = [
        f"--{name}" if value is True else f"--{name}={value}" for name, value in options.items()
    ]
    statuses = script("crowd", url, answers, *flags)
    return statuses, [tuple(json.loads(line)) for line in answers.read_text().splitlines()]


def violations(ledger: Ledger, answers: list[Answer], *, fit: int = 1) -> list[str]:
    """Every way in which the ledger and what the world has seen do not agree."""
    found = []
    try:
        ledger.verify(ACCOUNT)
    except LedgerError as error:
        found.append(str(error))
    entries = ledger.entries(ACCOUNT)
    charges = Counter((e.release, e.payload["call"]) for e in entries if e.kind == "charge")
    found += [f"{key} was charged {n} times" for key, n in charges.items() if n != 1]
    for release, call, outcome in sorted(set(answers)):
        if charges[release, call] == 0:
            found.append(f"an answer to {release} {call} was never charged")
        logged = ledger.lookup(release, call, request_of(release, call))
        if logged is None or logged.hex() != outcome:
            found.append(f"an answer to {release} {call} is not the logged one")
    state = ledger.account(ACCOUNT)
    for kind in (0, 1):
        if state.spent[kind] + state.reserved[kind] > (state.cap.epsilon, state.cap.delta)[kind]:
            found.append("the cap was passed")
    drawn = {release for release, _ in charges}
    if state.spent[0] != len(drawn) * state.cap.epsilon / fit:
        found.append("what is spent is not what was reserved by the releases that drew")
    return found


@pytest.mark.parametrize(
    ("releases", "fit", "calls", "kills"),
    [
        pytest.param(7, 4, 4, 8, id="14 processes"),
        pytest.param(25, 15, 4, 30, id="50 processes", marks=pytest.mark.slow),
    ],
)
def test_killed_processes_neither_lose_nor_double_a_charge(
    ledger_url: str, tmp_path: Path, releases: int, fit: int, calls: int, kills: int
):
    """Two processes for each release, of which more are asked for than fit the cap."""
    sizes = {"releases": releases, "fit": fit, "calls": calls, "kills": kills}
    statuses, answers = crowd(ledger_url, tmp_path, processes=2 * releases, **sizes)
    killed = Counter(statuses["first"])
    assert set(killed) <= {0, -signal.SIGKILL}
    assert killed[-signal.SIGKILL] >= kills // 2  # or little was tried
    assert statuses["midway"] >= kills // 4
    assert set(statuses["again"]) == {0}

    ledger = Ledger(ledger_url)
    assert violations(ledger, answers, fit=fit) == []
    state = ledger.account(ACCOUNT)
    assert state.remaining == (0, 0)  # as many releases were let in as fit, and no more
    charged = Counter(e.release for e in ledger.entries(ACCOUNT) if e.kind == "charge")
    assert sorted(charged.values()) == [calls] * fit
    assert len(set(answers)) == calls * fit


def test_processes_that_race_for_one_call_are_given_one_outcome(ledger_url: str, tmp_path: Path):
    statuses, answers = crowd(ledger_url, tmp_path, processes=10, releases=1, calls=1)
    ledger = Ledger(ledger_url)
    assert statuses["first"] == [0] * 10
    assert (len(answers), len(set(answers))) == (10, 1)
    assert violations(ledger, answers) == []
    assert len(ledger.calls("release-0")) == 1
    invented = ("release-0", "call-9", "00")
    assert violations(ledger, [*answers, invented]) == [
        "an answer to release-0 call-9 was never charged",
        "an answer to release-0 call-9 is not the logged one",
    ]


@pytest.mark.slow
def test_a_curator_that_answers_with_its_own_draw_is_caught(ledger_url: str, tmp_path: Path):
    _, answers = crowd(ledger_url, tmp_path, processes=30, releases=1, calls=16, naive=True)
    found = violations(Ledger(ledger_url), answers)
    assert any("is not the logged one" in line for line in found)


def test_a_call_killed_at_any_point_is_charged_once_after_a_retry(ledger_url: str):
    budget = Budget(epsilon=Fraction(1))
    ledger = Ledger(ledger_url)
    ledger.open_account(ACCOUNT, cap=budget, adjacency=RECORD, by="steward", reason="chaos")
    ledger.reserve(ACCOUNT, "r", budget, adjacency=RECORD, binding="plan")
    assert script("die", ledger_url) == [-signal.SIGKILL] * len(POINTS)
    assert [logged.call for logged in ledger.calls("r")] == ["after"]
    ledger.verify(ACCOUNT)
    for point in POINTS:
        logged = b"drawn before the kill" if point == "after" else None
        assert ledger.lookup("r", point, "q") == logged
        retried = ledger.record("r", point, "q", [EVENT], b"drawn again", lambda _standing: None)
        assert retried == (logged or b"drawn again")
    assert len(ledger.calls("r")) == len(POINTS)
    ledger.verify(ACCOUNT)
