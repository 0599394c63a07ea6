"""Signing with a command: OpenSSL and a PKCS#11 token sign; what is wrong is told beforehand."""

import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hallmark.schemas.documents.manifest import Claims
from hallmark.tasks.installation.signing import (
    SigningError,
    fingerprint,
    sign_manifest,
    signing_key,
)
from hallmark.tasks.installation.signing_command import public_key_in
from hallmark.tasks.ledger.anchors import anchors_file, read, signer
from hallmark.tasks.verification import signature_of
from tests import example

ROOT = Path(__file__).parents[3]
SOFTHSM = Path("/usr/lib/softhsm/libsofthsm2.so")
PIN = "271828"
LONG = b"longer than what a token takes in one part\n" * 1000


@pytest.fixture
def openssl_key(tmp_path: Path) -> dict[str, str]:
    """Settings with which OpenSSL signs."""
    key, public, draft = (tmp_path / name for name in ("key.pem", "key.pub", "content"))
    _run("openssl", "genpkey", "-algorithm", "ed25519", "-out", key)
    _run("openssl", "pkey", "-in", key, "-pubout", "-out", public)
    # OpenSSL 3.0 cannot sign with Ed25519 what it reads from a pipe.
    script = f"cat > {draft} && openssl pkeyutl -sign -rawin -inkey {key} -in {draft}"
    return _settings(f"sh -c {shlex.quote(script)}", public)


@pytest.fixture
def token_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Settings with which a key signs that was made in a token of SoftHSM, and never leaves it."""
    missing = [tool for tool in ("softhsm2-util", "pkcs11-tool") if shutil.which(tool) is None]
    if missing or not SOFTHSM.exists() or find_spec("pkcs11") is None:
        pytest.skip("needs SoftHSM and OpenSC (apt-get install softhsm2 opensc)")
    (tmp_path / "tokens").mkdir()
    (tmp_path / "softhsm2.conf").write_text(f"directories.tokendir = {tmp_path / 'tokens'}\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(tmp_path / "softhsm2.conf"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    public, pin = tmp_path / "release.pub", tmp_path / "pin"
    pin.write_text(f"{PIN}\n")
    _run("softhsm2-util", "--init-token", "--free", "--label", "agency", "--pin", PIN,
         "--so-pin", "314159")  # fmt: skip
    tool = ("pkcs11-tool", "--module", SOFTHSM, "--token-label", "agency")
    _run(*tool, "--login", "--pin", PIN, "--keypairgen", "--key-type", "EC:edwards25519",
         "--label", "release", "--id", "01")  # fmt: skip
    _run(*tool, "--read-object", "--type", "pubkey", "--id", "01", "--output-file", public)
    words = [sys.executable, "-m", "deploy.pkcs11_sign", SOFTHSM, "agency", "release", pin]
    return _settings(shlex.join(map(str, words)), public)


@pytest.mark.parametrize("how", ["openssl_key", "token_key"])
def test_a_command_signs_a_release(
    how: str, request: pytest.FixtureRequest, unsigned: Path, claims: Claims, tmp_path: Path
) -> None:
    settings = request.getfixturevalue(how)
    key = signing_key(tmp_path, settings)
    assert key.origin == "command"
    key.probe()
    sign_manifest(unsigned, claims, key)
    public = Path(settings["HALLMARK_SIGNING_PUBLIC_KEY_FILE"])
    assert key.fingerprint == fingerprint(public_key_in(public))
    assert signature_of(unsigned, public).ok
    public_key_in(public).verify(key.signer.sign(LONG), LONG)
    assert b"PRIVATE" not in b"".join(path.read_bytes() for path in unsigned.glob("manifest*"))


def test_base64_is_as_good_as_bytes(openssl_key: dict[str, str], tmp_path: Path) -> None:
    command = openssl_key["HALLMARK_SIGNING_COMMAND"]
    in_base64 = f"sh -c {shlex.quote(f'{command} | base64')}"
    signing_key(tmp_path, openssl_key | {"HALLMARK_SIGNING_COMMAND": in_base64}).probe()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("no-such-program --pin 271828", "no-such-program cannot be started"),
        ("sh -c 'echo 271828 >&2; exit 3'", "sh ended with exit code 3"),
        ("cat", "cat answers with no Ed25519 signature"),
        ("head -c 64 /dev/zero", "head answers with no Ed25519 signature"),
        ("true", "true answers with no Ed25519 signature"),
    ],
)
def test_a_command_that_signs_nothing_is_told_without_its_pin(
    command: str, told: str, openssl_key: dict[str, str], tmp_path: Path
) -> None:
    key = signing_key(tmp_path, openssl_key | {"HALLMARK_SIGNING_COMMAND": command})
    with pytest.raises(SigningError, match=f"HALLMARK_SIGNING_COMMAND: the command {told}") as no:
        key.probe()
    assert "271828" not in f"{no.value}{key!r}{key.signer!r}"


def test_a_signature_by_another_key_is_refused(
    openssl_key: dict[str, str], unsigned: Path, claims: Claims, tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    _run("openssl", "genpkey", "-algorithm", "ed25519", "-out", other)
    public = openssl_key["HALLMARK_SIGNING_PUBLIC_KEY_FILE"]
    _run("openssl", "pkey", "-in", other, "-pubout", "-out", public)
    with pytest.raises(SigningError, match="no Ed25519 signature of what it was given under"):
        sign_manifest(unsigned, claims, signing_key(tmp_path, openssl_key))
    assert not (unsigned / "manifest.json").exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"HALLMARK_SIGNING_PUBLIC_KEY_FILE": ""}, "HALLMARK_SIGNING_PUBLIC_KEY_FILE is not"),
        ({"HALLMARK_SIGNING_PUBLIC_KEY_FILE": "/nowhere.pem"}, "nowhere.pem: cannot be read"),
        ({"HALLMARK_SIGNING_PUBLIC_KEY_FILE": __file__}, "is not a public key in PEM"),
        ({"HALLMARK_SIGNING_COMMAND": "sh -c 'half a quote"}, "is no command line"),
        ({"HALLMARK_SIGNING_KEY": "another"}, "are both set; unset one"),
    ],
)
def test_wrong_settings_are_told(
    changes: dict[str, str], told: str, openssl_key: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(SigningError, match=told):
        signing_key(tmp_path, openssl_key | changes)


def test_the_public_half_must_be_of_ed25519(openssl_key: dict[str, str], tmp_path: Path) -> None:
    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    file = Path(openssl_key["HALLMARK_SIGNING_PUBLIC_KEY_FILE"])
    file.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(SigningError, match="of another type than Ed25519"):
        signing_key(tmp_path, openssl_key)


@pytest.mark.parametrize("works", [True, False])
def test_anchors_are_signed_by_the_command_and_unsigned_where_it_fails(
    works: bool,
    openssl_key: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HALLMARK_HOME", str(tmp_path / "home"))
    for name, value in openssl_key.items():
        monkeypatch.setenv(name, value)
    if not works:
        monkeypatch.setenv("HALLMARK_SIGNING_COMMAND", "false")
    example.open_account()
    anchors = read(anchors_file())
    assert anchors  # of an entry that is in the ledger either way
    assert all((signer(one) is not None) == works for one in anchors)
    warned = "anchors of the ledger are not signed" in capsys.readouterr().err
    assert warned != works


def _settings(command: str, public: Path) -> dict[str, str]:
    return {
        "HALLMARK_SIGNING_COMMAND": command,
        "HALLMARK_SIGNING_PUBLIC_KEY_FILE": str(public),
    }


def _run(*command: object) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True, timeout=60)
