"""Signing: where the key comes from, and what is wrong with it."""

import base64
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_public_key,
)

from hallmark.schemas.documents.manifest import Claims, Manifest
from hallmark.tasks.installation.signing import (
    SigningError,
    SigningKey,
    fingerprint,
    sign_manifest,
    signing_key,
)

PLAIN = NoEncryption()


def _pem(key: object, encryption: KeySerializationEncryption = PLAIN) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)  # type: ignore[attr-defined,no-any-return]  # both kinds have it


PRIVATE = ed25519.Ed25519PrivateKey.generate()


def test_the_signature_is_of_the_manifests_bytes(
    unsigned: Path, claims: Claims, key: SigningKey
) -> None:
    sign_manifest(unsigned, claims, key)
    public = load_pem_public_key((unsigned / "signer.pub").read_bytes())
    assert isinstance(public, ed25519.Ed25519PublicKey)
    signature = base64.b64decode((unsigned / "manifest.sig").read_bytes())
    content = (unsigned / "manifest.json").read_bytes()
    public.verify(signature, content)
    with pytest.raises(InvalidSignature):
        public.verify(signature, content.replace(b"acs-2019", b"acs-2018"))


def test_the_manifest_lists_every_file_and_the_key(
    unsigned: Path, claims: Claims, key: SigningKey
) -> None:
    before = {path.name for path in unsigned.iterdir()}
    manifest = sign_manifest(unsigned, claims, key)
    assert set(manifest.files) == before
    assert manifest.public_key_fingerprint == fingerprint(key.signer.public_key())
    assert Manifest.model_validate_json((unsigned / "manifest.json").read_bytes()) == manifest


def test_signing_again_gives_the_same_bytes(
    unsigned: Path, claims: Claims, key: SigningKey
) -> None:
    sign_manifest(unsigned, claims, key)
    first = [(unsigned / name).read_bytes() for name in ("manifest.json", "manifest.sig")]
    sign_manifest(unsigned, claims, key)
    assert [(unsigned / name).read_bytes() for name in ("manifest.json", "manifest.sig")] == first


def test_a_folder_with_a_link_is_not_signed(
    unsigned: Path, claims: Claims, key: SigningKey
) -> None:
    (unsigned / "link").symlink_to("/etc/hostname")
    with pytest.raises(SigningError, match="link in the release folder is not a plain file"):
        sign_manifest(unsigned, claims, key)


def test_the_key_comes_from_the_environment(tmp_path: Path) -> None:
    key = signing_key(tmp_path, {"HALLMARK_SIGNING_KEY": _pem(PRIVATE).decode()})
    assert (key.origin, key.warning) == ("environment", "")
    assert key.fingerprint == fingerprint(PRIVATE.public_key())


def test_the_key_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_bytes(_pem(PRIVATE))
    file.chmod(0o600)
    key = signing_key(tmp_path, {"HALLMARK_SIGNING_KEY_FILE": str(file)})
    assert (key.origin, key.warning) == ("file", "")


def test_a_key_file_that_others_may_read_is_warned_about(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_bytes(_pem(PRIVATE))
    file.chmod(0o644)
    warning = signing_key(tmp_path, {"HALLMARK_SIGNING_KEY_FILE": str(file)}).warning
    assert "chmod 600" in warning


def test_an_encrypted_key_opens_with_its_passphrase_only(tmp_path: Path) -> None:
    pem = _pem(PRIVATE, BestAvailableEncryption(b"open sesame")).decode()
    environment = {"HALLMARK_SIGNING_KEY": pem}
    with pytest.raises(SigningError, match="is encrypted; set HALLMARK_SIGNING_KEY_PASSPHRASE"):
        signing_key(tmp_path, environment)
    with pytest.raises(SigningError, match="does not open it"):
        signing_key(tmp_path, {**environment, "HALLMARK_SIGNING_KEY_PASSPHRASE": "wrong"})
    key = signing_key(tmp_path, {**environment, "HALLMARK_SIGNING_KEY_PASSPHRASE": "open sesame"})
    assert key.fingerprint == fingerprint(PRIVATE.public_key())


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (lambda f: {"HALLMARK_SIGNING_KEY": "no key"}, "not a private key in PEM"),
        (
            lambda f: {
                "HALLMARK_SIGNING_KEY": _pem(ec.generate_private_key(ec.SECP256R1())).decode()
            },
            "not Ed25519",
        ),
        (lambda f: {"HALLMARK_SIGNING_KEY_FILE": str(f / "none.pem")}, "cannot be read"),
        (
            lambda f: {"HALLMARK_SIGNING_KEY": "a", "HALLMARK_SIGNING_KEY_FILE": "b"},
            "are both set",
        ),
        (
            lambda f: {
                "HALLMARK_SIGNING_KEY": _pem(PRIVATE).decode(),
                "HALLMARK_SIGNING_KEY_PASSPHRASE": "x",
            },
            "is not encrypted",
        ),
    ],
)
def test_a_wrong_key_is_refused_with_the_mend(
    environment: Callable[[Path], dict[str, str]], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SigningError, match=message) as refused:
        signing_key(tmp_path, environment(tmp_path))
    assert "PRIVATE KEY" not in str(refused.value)


def test_the_demonstration_key_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    key = signing_key(tmp_path, {})
    assert key.origin == "demonstration"
    assert "not who published" in key.warning
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert signing_key(tmp_path, {}).fingerprint == key.fingerprint


def test_runs_at_the_same_time_share_one_demonstration_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: signing_key(tmp_path, {}), range(16)))
    assert len({key.fingerprint for key in keys}) == 1
    assert len(os.listdir(tmp_path)) == 1


def test_a_key_does_not_show_itself(key: SigningKey) -> None:
    assert "private" not in repr(key)
