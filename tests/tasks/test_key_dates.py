"""Whether each key was valid when it signed: by a time stamp, or by what is only claimed."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hallmark.schemas.documents.agency_keys import AgencyKeys
from hallmark.schemas.documents.approver_keys import plain_text
from hallmark.schemas.documents.decisions import ApprovalsFile
from hallmark.schemas.documents.manifest import APPROVALS_FILE, Claims, Manifest
from hallmark.tasks.installation.signing import SigningKey, sign_manifest
from hallmark.tasks.installation.time_stamp import time_stamp
from hallmark.tasks.verification import KeysAtHand, verify_release
from hallmark.tasks.verification.key_dates import key_checks
from tests.tasks.authority import authority
from tests.tasks.test_approvals_verification import KEYS, NOW, Told

DAY = timedelta(days=1)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture
def release(unsigned: Path, claims: Claims, key: SigningKey) -> Path:
    sign_manifest(unsigned, claims, key)
    return unsigned


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("authorities") / "ours"


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with authority(folder) as address:
        yield address


def register(key: SigningKey, **dates: Any) -> AgencyKeys:
    text = plain_text(key.signer.public_key().public_bytes_raw())
    return AgencyKeys.model_validate({"signing": [{"key": text, "since": LONG_AGO} | dates]})


def revoked(at: datetime, reason: str = "compromised") -> dict[str, Any]:
    return {"revoked": {"at": at, "reason": reason}}


def found(
    release: Path, known: AgencyKeys, roots: Path | None = None
) -> dict[str, tuple[bool, str]]:
    manifest = Manifest.model_validate_json((release / "manifest.json").read_bytes())
    checks = key_checks(release, manifest, KeysAtHand(known, roots))
    return {one.name: (one.ok, one.detail) for one in checks}


def test_verify_tells_that_the_key_is_valid(release: Path, key: SigningKey):
    verification = verify_release(release, keys=KeysAtHand(register(key)))
    assert verification.ok
    (check,) = [one for one in verification.checks if one.name == "signing key"]
    assert check.detail == "valid since 2000-01-01 00:00 UTC"


def test_a_key_that_is_not_listed_fails(release: Path):
    verification = verify_release(release, keys=KeysAtHand(AgencyKeys()))
    assert [one.name for one in verification.checks if not one.ok] == ["signing key"]


def test_without_a_time_stamp_the_claimed_time_counts_and_is_called_so(
    release: Path, key: SigningKey, claims: Claims
):
    after, before = claims.created + DAY, claims.created - DAY
    for dates, valid, told in (
        ({"until": after}, True, "this time is only claimed"),
        ({"until": before}, False, "retired from"),
        ({"until": claims.created}, False, "retired from"),
        ({"since": after}, False, "and valid only from"),
        (revoked(after, "lost"), True, "this time is only claimed"),
        (revoked(before, "left"), False, r"revoked (left) from"),
        (revoked(after, "superseded"), True, "this time is only claimed"),
        (revoked(after), False, "proves nothing"),
        (revoked(before), False, "proves nothing"),
    ):
        ok, says = found(release, register(key, **dates))["signing key"]
        assert ok == valid, dates
        assert told in says


def test_a_trusted_time_stamp_outlives_a_compromise(
    release: Path, key: SigningKey, url: str, folder: Path
):
    (release / "manifest.tsr").write_bytes(time_stamp((release / "manifest.sig").read_bytes(), url))
    roots = folder / "root.pem"
    later, earlier = NOW + DAY, NOW - DAY
    for dates, valid, told in (
        (revoked(later), True, "by the time stamp"),
        (revoked(earlier), False, "proves nothing"),
        ({"until": later}, True, "by the time stamp"),
        # Time-stamped after the key was retired, which is no worse than without a time stamp.
        ({"until": earlier}, True, "this time is only claimed"),
        ({"until": LONG_AGO + DAY} | revoked(later), False, "retired from"),
    ):
        findings = found(release, register(key, **dates), roots)
        assert findings["time stamp"][0]
        ok, says = findings["signing key"]
        assert ok == valid, dates
        assert told in says
    assert verify_release(release, keys=KeysAtHand(register(key), roots)).ok
    assert verify_release(release).ok  # with a file that the manifest does not list


def test_a_time_stamp_proves_nothing_where_nobody_vouches_for_its_authority(
    release: Path, key: SigningKey, url: str
):
    signature = (release / "manifest.sig").read_bytes()
    (release / "manifest.tsr").write_bytes(time_stamp(signature, url))
    findings = found(release, register(key, **revoked(NOW + DAY)))
    assert "so it proves nothing" in findings["time stamp"][1]
    assert not findings["signing key"][0]


def test_a_time_stamp_of_something_else_fails(
    release: Path, key: SigningKey, url: str, folder: Path
):
    manifest = (release / "manifest.json").read_bytes()  # which could exist before its signature
    (release / "manifest.tsr").write_bytes(time_stamp(manifest, url))
    findings = found(release, register(key, **revoked(NOW + DAY)), folder / "root.pem")
    assert not findings["time stamp"][0]
    assert not findings["signing key"][0]


@pytest.fixture
def decided(release: Path) -> Path:
    """A release with decisions, of which that of Di is void."""
    told = Told()
    told.open("plan")
    told.say("Ada", "methodologist")
    told.close("plan")
    told.open("disclosure", "reviewer", "reviewer")
    for name in ("Bo", "Cy", "Di"):
        told.say(name, "reviewer")
    *_, bo, cy, di = told.said
    told.close("disclosure", bo, cy, void={di.digest(): "for the test"})  # type: ignore[arg-type]
    file = ApprovalsFile(release="test-release", decisions=told.outcomes(), said=tuple(told.said))
    (release / APPROVALS_FILE).write_text(file.model_dump_json())
    return release


def _approvers(**changes: dict[str, Any]) -> AgencyKeys:
    entries = [
        {"person": name, "key": _text(KEYS[name]), "since": LONG_AGO} | changes.get(name, {})
        for name in ("Ada", "Bo", "Cy")
    ]
    return AgencyKeys.model_validate({"approvers": entries})


def _text(key: Ed25519PrivateKey) -> str:
    return plain_text(key.public_key().public_bytes_raw())


def test_the_key_of_every_counted_decision_is_looked_up(decided: Path):
    findings = found(decided, _approvers())
    names = ["key of Ada (plan)", "key of Bo (disclosure)", "key of Cy (disclosure)"]
    assert [name for name in findings if name != "signing key"] == names
    assert all(findings[name][0] for name in names)


@pytest.mark.parametrize(
    ("changes", "valid", "told"),
    [
        (revoked(NOW + DAY, "left"), True, "only claimed"),
        (revoked(NOW - DAY, "left"), False, "revoked (left) from"),
        (revoked(NOW + DAY), False, "proves nothing"),
        ({"person": "Bob"}, False, "lists it as the key of Bob"),
        ({"person": " bo"[1:]}, True, "valid since"),
        ({"key": _text(Ed25519PrivateKey.generate())}, False, "does not list it"),
    ],
)
def test_the_dates_of_an_approvers_key_count_like_any(
    changes: dict[str, Any], valid: bool, told: str, decided: Path
):
    ok, says = found(decided, _approvers(Bo=changes))["key of Bo (disclosure)"]
    assert ok == valid
    assert told in says


def test_a_register_is_one_document_as_published(key: SigningKey):
    known = register(key, **revoked(NOW, "lost"))
    assert AgencyKeys.model_validate(json.loads(known.model_dump_json(exclude_none=True))) == known
