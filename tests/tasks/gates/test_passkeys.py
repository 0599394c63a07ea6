"""Decisions by passkey: what an authenticator signs counts, and what forgers send does not."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pydantic import ValidationError

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import Approver
from hallmark.schemas.documents.approver_keys import plain_text
from hallmark.schemas.documents.decisions import Assertion, Decision, SignedDecision
from hallmark.schemas.profile import Profile
from hallmark.tasks.gates.approvals import DecisionRefused, decide
from hallmark.tasks.gates.decision_keys import is_genuine, sign
from tests.passkeys import Passkey, text
from tests.tasks.gates.test_approvals import SEEN, empty, history, ledger, waiting

__all__ = ["empty", "ledger"]  # fixtures

ADA = Passkey()
ORDER_OF_P256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def decision(**changes: Any) -> Decision:
    content = {
        "release": "r",
        "gate": "plan",
        "role": "methodologist",
        "person": "Ada",
        "decision": "approve",
        "reason": "it is sound — naïve, but sound",
        "decided": datetime.now(UTC).replace(microsecond=0),
        "seen": SEEN,
        "previous": "c" * 64,
    }
    return Decision.model_validate(content | changes)


@pytest.mark.parametrize("private", [ADA.private, ed25519.Ed25519PrivateKey.generate()])
@pytest.mark.parametrize(
    ("rp_id", "origin"),
    [
        ("desk.example.org", "https://desk.example.org"),
        ("example.org", "https://desk.example.org:8443"),
        ("localhost", "http://localhost:4201"),
    ],
)
def test_a_passkey_signs_a_decision(private: Any, rp_id: str, origin: str):
    signed = Passkey(private, rp_id).sign(decision(), origin=origin)
    assert is_genuine(signed)
    assert SignedDecision.model_validate_json(signed.model_dump_json()) == signed


def _other_assertion(**changes: Any) -> Callable[[], SignedDecision]:
    return lambda: ADA.sign(decision(), **changes)


def _with(**changes: Any) -> SignedDecision:
    return ADA.sign(decision()).model_copy(update=changes)


def _of_another_decision() -> SignedDecision:
    return ADA.sign(decision(decision="reject")).model_copy(update={"decision": decision()})


def _by_another_key() -> SignedDecision:
    return Passkey().sign(decision()).model_copy(update={"key": ADA.text})


def _tampered() -> SignedDecision:
    other = ADA.sign(decision(decision="reject"))
    assert other.assertion is not None
    told = json.loads(base64.b64decode(other.assertion.client_data))
    true = ADA.sign(decision())
    assert true.assertion is not None
    told["challenge"] = json.loads(base64.b64decode(true.assertion.client_data))["challenge"]
    forged = other.assertion.model_copy(update={"client_data": text(json.dumps(told).encode())})
    return other.model_copy(update={"decision": decision(), "assertion": forged})


def _verified_afterwards() -> SignedDecision:
    signed = ADA.sign(decision(), flags=0x01)
    assert signed.assertion is not None
    data = bytearray(base64.b64decode(signed.assertion.authenticator_data))
    data[32] |= 0x04
    forged = signed.assertion.model_copy(update={"authenticator_data": text(bytes(data))})
    return signed.model_copy(update={"assertion": forged})


def _plain_with_an_assertion() -> SignedDecision:
    key = ed25519.Ed25519PrivateKey.generate()
    return sign(decision(), key).model_copy(
        update={"assertion": Assertion(authenticator_data="", client_data="")}
    )


FORGERIES: dict[str, Callable[[], SignedDecision]] = {
    "the challenge of another decision": _of_another_decision,
    "signed for another site": _other_assertion(site="evil.example"),
    "made at another site": _other_assertion(origin="https://evil.example"),
    "made at a site that ends alike": _other_assertion(origin="https://evildesk.example.org"),
    "made at a parent of the site": _other_assertion(origin="https://example.org"),
    "made without encryption": _other_assertion(origin="http://desk.example.org"),
    "an origin with a user": _other_assertion(origin="https://evil@desk.example.org"),
    "an origin with a path": _other_assertion(origin="https://evil.example/.desk.example.org"),
    "no origin": _other_assertion(origin=None),
    "in a frame of another site": _other_assertion(crossOrigin=True),
    "below another site": _other_assertion(topOrigin="https://evil.example"),
    "the registration of a passkey": _other_assertion(type="webauthn.create"),
    "a challenge with padding": _other_assertion(challenge="AAAA="),
    "nobody was verified": _other_assertion(flags=0x01),
    "nobody was present": _other_assertion(flags=0x04),
    "verified after signing": _verified_afterwards,
    "client data that were changed": _tampered,
    "by another passkey": _by_another_key,
    "no assertion": lambda: _with(assertion=None),
    "an empty assertion": lambda: _with(assertion=Assertion(authenticator_data="", client_data="")),
    "no signature": lambda: _with(signature=""),
    "a plain key with an assertion": _plain_with_an_assertion,
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_does_not_count(forgery: Callable[[], SignedDecision]):
    assert not is_genuine(forgery())


def test_the_same_assertion_counts_once(ledger: Ledger):
    approvers = (Approver(name="Ada", roles=("methodologist",), key=ADA.text),)
    signed = ADA.sign(decision(previous=history(ledger).head))
    decide(ledger, signed, waiting(), approvers)
    r, s = decode_dss_signature(base64.b64decode(signed.signature))
    twin = text(encode_dss_signature(r, ORDER_OF_P256 - s))  # as valid as the first
    again = signed.model_copy(update={"signature": twin})
    assert is_genuine(again)
    assert signed.assertion is not None
    spaced = signed.assertion.model_copy(update={"client_data": signed.assertion.client_data})
    for copy, told in (
        (signed, "it was made before"),
        (signed.model_copy(update={"assertion": spaced}), "it was made before"),
        (again, "there was another statement after they looked"),
    ):
        with pytest.raises(DecisionRefused, match=told):
            decide(ledger, copy, waiting(), approvers)
    assert [one.key for one in history(ledger).rounds[0].decisions] == [ADA.text]


def test_one_passkey_under_two_names_is_refused_at_the_gate(ledger: Ledger):
    twin = Passkey(ADA.private, credential="b3RoZXI")
    people = ((ADA, "Ada"), (twin, "Bo"))
    approvers = [Approver(name=n, roles=("methodologist",), key=k.text) for k, n in people]
    decide(ledger, ADA.sign(decision(previous=history(ledger).head)), waiting(), approvers)
    second = twin.sign(decision(previous=history(ledger).head, person="Bo"))
    with pytest.raises(DecisionRefused, match="their key was used under another name"):
        decide(ledger, second, waiting(), approvers)


def test_one_key_is_one_person_however_it_is_written():
    key = ed25519.Ed25519PrivateKey.generate()
    plain = plain_text(key.public_key().public_bytes_raw())
    spellings = (
        Passkey(key).text,
        Passkey(key, credential="bw").text,
        Passkey(key, "localhost").text,
    )
    for other in spellings:
        with pytest.raises(ValidationError, match="is also the key of Ada"):
            Profile.model_validate(
                {
                    "approvers": [
                        {"name": "Ada", "roles": ["reviewer"], "key": plain},
                        {"name": "Bo", "roles": ["reviewer"], "key": other},
                    ]
                }
            )


def _compressed() -> str:
    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    point = public.public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
    head = bytes.fromhex("3039301306072a8648ce3d020106082a8648ce3d030107032200")
    return text(head + point)


@pytest.mark.parametrize(
    "key",
    [
        ADA.text.replace("desk.example.org", "Desk.example.org"),
        ADA.text.replace("desk.example.org", "127.0.0.1"),
        ADA.text.replace("desk.example.org", "desk.example.org."),
        ADA.text.replace("desk.example.org", ""),
        ADA.text.replace(":aWQ:", ":aWR:"),  # a spare bit is set
        ADA.text.replace(":aWQ:", ":aWQ=:"),
        ADA.text.replace(":aWQ:", "::"),
        ADA.text.replace(":aWQ:", ":"),
        f"{ADA.text} ",
        f"{ADA.text[:-2]}B=",
        f"passkey:localhost:aWQ:{_compressed()}",
        f"passkey:localhost:aWQ:{text(bytes(32))}",
    ],
)
def test_a_passkey_has_one_spelling(key: str):
    with pytest.raises(ValidationError, match=r"passkey|Ed25519"):
        Approver(name="Ada", roles=("reviewer",), key=key)


def test_decisions_by_plain_keys_read_as_they_did():
    signed = sign(decision(), ed25519.Ed25519PrivateKey.generate())
    assert set(signed.model_dump(mode="json")) == {"decision", "key", "signature"}
    assert set(json.loads(signed.model_dump_json())) == {"decision", "key", "signature"}
    assert is_genuine(SignedDecision.model_validate_json(signed.model_dump_json()))
