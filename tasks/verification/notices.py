"""Notices about a release: found beside its folder, checked, and told.

A notice counts if it is signed with the key that signed the release, with the key that whoever
verifies got from the agency, or with one that the agency's register calls valid then. Any other
could be anybody's, and is a failed check: it lies where the agency's own notices lie.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from hallmark.schemas.documents.agency_keys import AgencyKeys
from hallmark.schemas.documents.manifest import MANIFEST_FILE, Manifest
from hallmark.schemas.documents.notice import KINDS, Notice, SignedNotice, notice_file
from hallmark.schemas.visible import visible
from hallmark.tasks.installation.key_register import key_register
from hallmark.tasks.installation.signing import fingerprint
from hallmark.tasks.verification.documents import (
    Check,
    Unsound,
    is_plain,
    plain_bytes,
    read_manifest,
    sound,
)


@dataclass(frozen=True, kw_only=True)
class KnownKeys:
    """Keys of the agency that whoever verifies got from elsewhere.

    Attributes:
        fingerprints: of keys that are the agency's.
        register: its register of keys.
        all_of_them: whether no other is; else the key of the release is, too.
    """

    fingerprints: frozenset[str] = frozenset()
    register: AgencyKeys | None = None
    all_of_them: bool = False

    @classmethod
    def given(cls, key: Path | None, register: AgencyKeys | None) -> "KnownKeys":
        """What somebody who verifies gives: the file of a public key (PEM), or the register."""
        return cls(
            fingerprints=frozenset() if key is None else _in_file(key),
            register=register,
            all_of_them=key is not None or register is not None,
        )


NO_KEYS = KnownKeys()


def own_keys(fingerprint: str) -> KnownKeys:
    """The keys of this installation's agency: its present one, and those in its register."""
    register = key_register()
    return KnownKeys(
        fingerprints=frozenset({fingerprint}), register=register if register.signing else None
    )


def notice_checks(
    folder: Path, manifest: Manifest, places: Sequence[Path], known: KnownKeys = NO_KEYS
) -> Iterator[Check]:
    """What notices say of a release; no check where there are none.

    Args:
        places: folders in which notices may lie, or files of notices.
    """
    for file in notice_files(manifest.release_id, places):
        try:
            notice = read_notice(file, folder, manifest, known)
        except Unsound as error:
            yield Check("notice", False, str(error))
            continue
        told = f"{visible(notice.words)} (notice of {file.name})"
        yield Check(notice.kind, notice.kind == "superseded", told)


def notices_of(
    folder: Path, places: Sequence[Path] | None = None, known: KnownKeys = NO_KEYS
) -> list[Notice]:
    """The notices about a release that count.

    Args:
        places: as of `notice_checks`; where it is not given, the folder that holds the release's.
    Raises:
        Unsound: the manifest cannot be read, or a notice does not count.
    """
    manifest = read_manifest(folder)
    files = notice_files(manifest.release_id, [folder.parent] if places is None else places)
    return [read_notice(file, folder, manifest, known) for file in files]


def notice_files(release: str, places: Sequence[Path]) -> Iterator[Path]:
    """Files of notices about a release, by their names."""
    names = [notice_file(release, kind) for kind in KINDS]
    seen: set[Path] = set()
    for place in places:
        files = [place] if not place.is_dir() else [place / name for name in names]
        for file in files:
            at = file.resolve()
            if file.name in names and at not in seen and (is_plain(file) or not place.is_dir()):
                seen.add(at)
                yield file


def read_notice(file: Path, folder: Path, manifest: Manifest, known: KnownKeys = NO_KEYS) -> Notice:
    """A notice about the release in a folder.

    Raises:
        Unsound: it is none, is about another release, or is not signed by the agency.
    """
    signed = sound(file, SignedNotice.model_validate_json)
    notice = signed.notice
    key = _key_of(file, signed)
    if fingerprint(key) != notice.public_key_fingerprint:
        raise Unsound(f"{file.name} names another key than the one in it")
    try:
        key.verify(base64.b64decode(signed.signature, validate=True), notice.canonical_bytes())
    except (binascii.Error, ValueError, InvalidSignature):
        raise Unsound(f"{file.name}: the signature is not of this notice") from None
    if why := _stranger(notice, manifest, known):
        raise Unsound(
            f"{file.name} is signed with key {notice.public_key_fingerprint}, {why}; it may be "
            "anybody's: ask the agency, and remove it if it is not theirs"
        )
    if file.name != notice_file(notice.release, notice.kind):
        raise Unsound(f"{file.name} is a notice that {notice.release} is {notice.kind}")
    if notice.manifest != sha256(plain_bytes(folder / MANIFEST_FILE)).hexdigest():
        raise Unsound(
            f"{file.name} is about another release of this name: the manifest is not the one that "
            "it names, so one of the two is not what the agency published"
        )
    if notice.by is not None:
        _check_replacement(file, notice)
    return notice


def _key_of(file: Path, signed: SignedNotice) -> Ed25519PublicKey:
    try:
        key = load_pem_public_key(signed.key.encode())
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise Unsound(f"{file.name} has no Ed25519 public key in PEM")
    return key


def _stranger(notice: Notice, manifest: Manifest, known: KnownKeys) -> str:
    """Why nobody knows whether the agency signed; empty if it did."""
    own = notice.public_key_fingerprint
    if own in known.fingerprints:
        return ""
    if known.register is not None:
        entry = known.register.signing_key(own)
        if entry is None:
            return "which the register of keys does not list"
        ended = entry.ended(notice.stated)
        return f"which {ended}, as the register of keys says" if ended else ""
    if known.all_of_them:
        return "not with the given one"
    return "" if own == manifest.public_key_fingerprint else "not with the one of the release"


def _in_file(file: Path) -> frozenset[str]:
    """The fingerprint of the public key in a file; none where there is no such key."""
    try:
        key = load_pem_public_key(plain_bytes(file))
    except (ValueError, UnsupportedAlgorithm, Unsound):
        return frozenset()
    return frozenset({fingerprint(key)} if isinstance(key, Ed25519PublicKey) else ())


def _check_replacement(file: Path, notice: Notice) -> None:
    """Check the release that took the place of another, where it lies beside the notice.

    Raises:
        Unsound: it is not the one that the notice names.
    """
    assert notice.by is not None, "it is superseded"
    manifest = file.parent / notice.by.release / MANIFEST_FILE
    if not manifest.exists():
        return
    if sha256(plain_bytes(manifest)).hexdigest() != notice.by.manifest:
        raise Unsound(
            f"{file.name} names another release as {notice.by.release} than lies beside it"
        )
