"""Keys from their entry in the register to their end: at gates, at release time, in `verify`."""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approver_keys import approver_key
from hallmark.tasks.installation.workspace import ledger_url
from tests.flows.conftest import Hallmark
from tests.flows.test_approvals import Agency
from tests.tasks.authority import authority

SIGN = """
import sys
from pathlib import Path
from cryptography.hazmat.primitives.serialization import load_pem_private_key
key = load_pem_private_key(Path(sys.argv[1]).read_bytes(), None)
sys.stdout.buffer.write(key.sign(sys.stdin.buffer.read()))
"""
PLAN = {"approvals": {"plan": ["methodologist"]}}


def command(key: Path) -> str:
    """A command that signs with a key in a file, as one of a token would."""
    return shlex.join([sys.executable, "-c", SIGN, str(key)])


def public_half(key: Path) -> Path:
    public = key.with_suffix(".pub")
    subprocess.run(["openssl", "pkey", "-in", str(key), "-pubout", "-out", str(public)], check=True)
    return public


@pytest.fixture
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The agency's key, which signs what is released."""
    key = tmp_path / "agency.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key)], check=True)
    key.chmod(0o600)
    monkeypatch.setenv("HALLMARK_SIGNING_KEY_FILE", str(key))
    return key


def fingerprint(hallmark: Hallmark) -> str:
    """Of the only key in the register."""
    (line,) = hallmark("key", "list").out.splitlines()
    return line.split()[0]


def test_an_approvers_revoked_key_no_longer_counts(hallmark: Hallmark, home: Path, tmp_path: Path):
    agency = Agency(hallmark, tmp_path, home, **PLAN)
    ada = YAML().load(home / "profile.yaml")["approvers"][0]["key"]
    added = hallmark("key", "add", ada, "--person", "Ada", "--since", "2020-01-01")
    assert (added.code, "agency-keys.json" in added.out) == (0, True)
    assert agency.release() == 7
    assert agency.decide("approve", "Ada", "methodologist") == 0
    name = fingerprint(hallmark)
    assert name == approver_key(ada).fingerprint
    assert hallmark("key", "revoke", name[:16], "--reason", "lost").code == 0
    assert agency.release("--resume") == 7
    assert agency.charges == 0
    assert "(lost), as the register of keys says" in " ".join(hallmark("waiting").out.split())
    assert agency.decide("approve", "Ada", "methodologist") == 2
    assert "their key was revoked from" in agency.said.error


@pytest.mark.parametrize("how", ["retire", "revoke"])
def test_a_signing_key_that_ended_is_refused_before_anything_is_spent(
    how: str, hallmark: Hallmark, home: Path, tmp_path: Path, own_key: Path
):
    agency = Agency(hallmark, tmp_path, home)
    assert hallmark("key", "add", public_half(own_key), "--since", "2020-01-01").code == 0
    reason = ["--reason", "compromised"] if how == "revoke" else []
    assert hallmark("key", how, fingerprint(hallmark), *reason).code == 0
    assert agency.release() == 2
    assert {"retire": "was retired on", "revoke": "was revoked from"}[how] in agency.said.error
    assert "sign with the agency's present key" in agency.said.error
    assert Ledger(ledger_url()).reservation("test-release") is None


@pytest.mark.parametrize("wrong", ["false", "cat"])
def test_a_signing_command_that_fails_is_refused_before_anything_is_spent(
    wrong: str,
    hallmark: Hallmark,
    home: Path,
    tmp_path: Path,
    own_key: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    agency = Agency(hallmark, tmp_path, home)
    monkeypatch.delenv("HALLMARK_SIGNING_KEY_FILE")
    monkeypatch.setenv("HALLMARK_SIGNING_COMMAND", wrong)
    monkeypatch.setenv("HALLMARK_SIGNING_PUBLIC_KEY_FILE", str(public_half(own_key)))
    assert agency.release() == 2
    assert f"HALLMARK_SIGNING_COMMAND: the command {wrong}" in agency.said.error
    assert Ledger(ledger_url()).reservation("test-release") is None


def test_a_release_by_commands_is_verified_with_the_register_and_a_time_stamp(
    hallmark: Hallmark,
    home: Path,
    tmp_path: Path,
    own_key: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.delenv("HALLMARK_SIGNING_KEY_FILE")
    monkeypatch.setenv("HALLMARK_SIGNING_COMMAND", command(own_key))
    monkeypatch.setenv("HALLMARK_SIGNING_PUBLIC_KEY_FILE", str(public_half(own_key)))
    agency = Agency(hallmark, tmp_path, home, **PLAN)
    ada = agency.keys["Ada"]
    assert hallmark("key", "add", public_half(own_key), "--since", "2020-01-01").code == 0
    signs = fingerprint(hallmark)
    text = YAML().load(home / "profile.yaml")["approvers"][0]["key"]
    assert hallmark("key", "add", text, "--person", "Ada", "--since", "2020-01-01").code == 0
    assert agency.release() == 7
    words = ["--name", "Ada", "--role", "methodologist", "--reason", "for the test"]
    for half in (["--sign-with", command(ada)], [], ["--key", ada, "--sign-with", "cat"]):
        refused = hallmark("approve", "test-release", *words, *half)
        assert (refused.code, "sign with one key" in refused.err) == (2, True)
    both = ["--sign-with", command(ada), "--public-key", public_half(ada)]
    approved = hallmark("approve", "test-release", *words, *both)
    assert approved.code == 0, approved.error
    assert agency.release("--resume") == 0

    folder, register = agency.out / "test-release", home / "agency-keys.json"
    published = tmp_path / "published.json"
    published.write_text(hallmark("key", "list", "--json").out)
    assert json.loads(published.read_text()) == json.loads(register.read_text())
    verified = hallmark("verify", folder, "--keys", published)
    assert verified.code == 0
    for check in ("signing key: valid since", "key of Ada (plan): valid since"):
        assert check in verified.out

    with authority(tmp_path / "authority") as url:
        stamped = hallmark("time-stamp", folder, "--tsa", url)
        assert stamped.code == 0
        assert hallmark("time-stamp", folder, "--tsa", url).code == 2
    time.sleep(1.1)  # times of stamps, and in the register, are to the second
    revoked = hallmark("key", "revoke", signs, "--reason", "compromised")
    assert revoked.code == 0
    trusting = ("--keys", register, "--tsa-ca", tmp_path / "authority" / "root.pem")
    refused = hallmark("verify", folder, "--keys", register)
    assert (refused.code, "proves nothing" in refused.out) == (6, True)
    verified = hallmark("verify", folder, *trusting)
    assert "the signature existed at" in verified.out
    assert verified.code == 0
    assert hallmark("verify", folder).code == 0
    assert hallmark("verify", folder, "--keys", folder / "manifest.json").code == 2


def test_dates_are_read_with_and_without_a_zone(hallmark: Hallmark, home: Path, own_key: Path):
    public = public_half(own_key)
    refused = hallmark("key", "add", public, "--since", "soon")
    assert (refused.code, "is no time; write it like" in refused.err) == (2, True)
    assert hallmark("key", "add", public, "--since", "2026-01-01T09:00+01:00").code == 0
    assert "since 2026-01-01" in hallmark("key", "list").out
    assert hallmark("key", "add", "neither", "--since", "2026-01-01").code == 2
