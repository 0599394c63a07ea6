"""The register of keys: it takes new keys and earlier ends, and nothing is taken back."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hallmark.schemas.documents.approver_keys import approver_key, plain_text
from hallmark.tasks.installation.key_register import (
    RegisterRefused,
    add,
    key_register,
    retire,
    revoke,
)
from tests.passkeys import Passkey

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALLMARK_HOME", str(tmp_path))
    return tmp_path


def fresh() -> str:
    return plain_text(Ed25519PrivateKey.generate().public_key().public_bytes_raw())


@pytest.fixture
def name() -> str:
    """The fingerprint of a key that is valid for ten days."""
    return add(fresh(), person=None, since=NOW - 10 * DAY).fingerprint


def test_a_new_register_is_empty_and_keeps_what_is_entered():
    assert list(key_register().entries) == []
    key, passkey = fresh(), Passkey().text
    add(key, person=None, since=NOW)
    add(passkey, person="Ada", since=NOW)
    register = key_register()
    assert [one.key for one in register.signing] == [key]
    assert [(one.person, one.key) for one in register.approvers] == [("Ada", passkey)]
    found = register.signing_key(approver_key(key).fingerprint)
    assert found == register.signing[0]


def test_a_key_is_entered_once_however_it_is_written(name: str):
    key = Ed25519PrivateKey.generate()
    add(plain_text(key.public_key().public_bytes_raw()), person="Ada", since=NOW)
    for twin, person in ((Passkey(key).text, "Bo"), (Passkey(key, credential="bw").text, "Ada")):
        with pytest.raises(RegisterRefused, match="is in the register"):
            add(twin, person=person, since=NOW)
    retire(name, until=NOW)
    ended = key_register().signing[0].key
    with pytest.raises(RegisterRefused, match="a key that ended does not begin again"):
        add(ended, person=None, since=NOW)


def test_a_passkey_signs_no_release():
    with pytest.raises(RegisterRefused, match="a passkey cannot sign releases"):
        add(Passkey().text, person=None, since=NOW)
    assert list(key_register().entries) == []


def test_ends_may_only_come_earlier(name: str):
    retire(name, until=NOW + 5 * DAY)
    assert retire(name, until=NOW).until == NOW
    with pytest.raises(RegisterRefused, match="the key already ends on"):
        retire(name, until=NOW + DAY)
    revoke(name, at=NOW, reason="superseded")
    assert revoke(name, at=NOW - DAY, reason="compromised").revoked is not None
    with pytest.raises(RegisterRefused, match=r"is revoked from .* on already"):
        revoke(name, at=NOW, reason="compromised")
    with pytest.raises(RegisterRefused, match="that cannot be taken back"):
        revoke(name, at=NOW - 2 * DAY, reason="lost")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda name: retire(name, until=NOW - 11 * DAY), "before it begins"),
        (lambda name: revoke(name, at=NOW - 11 * DAY, reason="lost"), "before it begins"),
        (lambda name: revoke(name, at=NOW + DAY, reason="lost"), "lies ahead; to end a key then"),
        (lambda name: retire(name[:7], until=NOW), "at least 8 characters"),
        (lambda name: retire("0" * 64, until=NOW), "0 keys have a fingerprint"),
    ],
)
def test_what_is_refused_changes_nothing(
    change: Callable[[str], object], told: str, name: str, home: Path
):
    before = (home / "agency-keys.json").read_bytes()
    with pytest.raises(RegisterRefused, match=told):
        change(name)
    assert (home / "agency-keys.json").read_bytes() == before


def test_writers_at_the_same_time_lose_nothing():
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: add(fresh(), person=None, since=NOW), range(16)))
    assert len(key_register().signing) == 16


@pytest.mark.parametrize(
    "content", ["{", "{}x", '{"format": "hallmark-keys/2"}', '{"signing": [{"key": "a"}]}']
)
def test_a_damaged_register_is_no_empty_one(content: str, home: Path):
    (home / "agency-keys.json").write_text(content)
    with pytest.raises(RegisterRefused, match="is no register of keys"):
        key_register()


def test_a_file_with_a_key_twice_is_refused(name: str, home: Path):
    file = home / "agency-keys.json"
    content = json.loads(file.read_text())
    content["signing"] *= 2
    file.write_text(json.dumps(content))
    with pytest.raises(RegisterRefused, match="a key is listed twice"):
        key_register(file)
