"""What is gathered for the record: decisions on the plan, and none that does not count."""

import base64
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mechanisms.privacy.ledger import Ledger
from schemas.approvals import Approver, Decision
from schemas.profile import Profile
from tasks.approvals import sign
from tasks.prepare import Prepared, prepare
from tasks.report import decisions_on_plan
from tasks.reserve import reserve
from tasks.workspace import ledger_url
from tests import example

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SEEN = {"plan": "0" * 64}


@pytest.fixture
def prepared(home: Path, tmp_path: Path) -> Prepared:
    example.open_account()
    made = prepare(example.write(tmp_path, 10, approvals={"plan": ["methodologist"]}))
    reserve.fn(made, ledger_url(), resume=False)
    return made


@pytest.fixture
def known() -> Profile:
    public = base64.b64encode(KEY.public_key().public_bytes_raw()).decode()
    return Profile(approvers=(Approver(name="Mira Method", roles=("methodologist",), key=public),))


def _decide(seen: dict[str, str]) -> None:
    decision = Decision(
        release="test-release",
        gate="plan",
        role="methodologist",
        person="Mira Method",
        decision="approve",
        reason="as rehearsed",
        decided=datetime(2026, 1, 1, tzinfo=UTC),
        seen=seen,
    )
    signed = sign(decision, KEY).model_dump(mode="json")
    Ledger(ledger_url()).state("test-release", "decision", signed)


def _ask() -> None:
    payload = {"gate": "plan", "required": ["methodologist"], "seen": SEEN, "by": "operator"}
    Ledger(ledger_url()).state("test-release", "request", payload)


def test_a_decision_about_what_was_asked_last_counts(prepared: Prepared, known: Profile) -> None:
    _ask()
    _decide(SEEN)
    (signed,) = decisions_on_plan(prepared, Ledger(ledger_url()), known)
    assert (signed.decision.person, signed.decision.reason) == ("Mira Method", "as rehearsed")


def test_a_decision_about_something_else_does_not(prepared: Prepared, known: Profile) -> None:
    _ask()
    _decide({"plan": "1" * 64})
    assert decisions_on_plan(prepared, Ledger(ledger_url()), known) == ()


def test_where_nothing_was_asked_nothing_was_decided(prepared: Prepared, known: Profile) -> None:
    assert decisions_on_plan(prepared, Ledger(ledger_url()), known) == ()
