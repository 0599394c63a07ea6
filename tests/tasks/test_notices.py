"""Notices that a release was superseded or withdrawn: what they say, and who is believed."""

import base64
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import hallmark as package
from hallmark.schemas.documents.agency_keys import AgencyKeys, RegisteredKey, Revocation
from hallmark.schemas.documents.approver_keys import plain_text
from hallmark.schemas.documents.manifest import PUBLIC_KEY_FILE, Claims
from hallmark.schemas.documents.notice import SignedNotice
from hallmark.tasks import notices
from hallmark.tasks.installation.signing import SigningKey, sign_manifest
from hallmark.tasks.notices import NoticeRefused, supersede, withdraw_published
from hallmark.tasks.site.published import NotPublished, Published
from hallmark.tasks.site.site import make_site
from hallmark.tasks.verification import KeysAtHand, verify_release
from hallmark.tasks.verification.as_signed import NotAsSigned
from hallmark.tasks.verification.documents import read_manifest
from hallmark.tasks.verification.in_use import (
    NotInUse,
    Withdrawn,
    keys_at_hand,
    successors,
    superseded,
)

REASON = "regions were coded by the old list"
OTHER = SigningKey(Ed25519PrivateKey.generate(), "file")


@pytest.fixture
def old(unsigned: Path, claims: Claims, key: SigningKey, home: Path) -> Path:
    """A published release."""
    folder = unsigned.parent / "published" / claims.release_id
    shutil.copytree(unsigned, folder)
    sign_manifest(folder, claims, key)
    return folder


@pytest.fixture
def new(old: Path, claims: Claims, key: SigningKey) -> Path:
    """The release that takes its place."""
    folder = old.with_name(f"{old.name}-r1")
    shutil.copytree(old, folder)
    sign_manifest(folder, claims.model_copy(update={"release_id": folder.name}), key)
    return folder


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def told(folder: Path, **given: Any) -> dict[str, tuple[bool, str]]:
    found = verify_release(folder, notices=[folder.parent], **given)
    names = ("superseded", "withdrawn", "notice")
    return {one.name: (one.ok, one.detail) for one in found.checks if one.name in names}


def test_a_superseded_release_stays_what_it_was_and_says_what_took_its_place(
    old: Path, new: Path, key: SigningKey
):
    before = everything(old), everything(new)
    assert told(old) == {}
    file = supersede(old, new, reason=REASON, key=key)
    assert (everything(old), everything(new)) == before
    ok, detail = told(old)["superseded"]
    assert ok
    assert f"superseded by {new.name} on" in detail
    assert REASON in detail
    assert told(new) == {}
    assert verify_release(old).ok == verify_release(old, notices=[old.parent]).ok
    page = file.with_suffix(".md").read_text()
    assert f"# Superseded: {old.name}" in page
    assert REASON in page
    assert file.stat().st_mode & 0o444 == 0o444


def test_a_withdrawn_release_fails_its_verification(old: Path, key: SigningKey):
    withdraw_published(old, reason=REASON, key=key)
    ok, detail = told(old)["withdrawn"]
    assert not ok
    assert detail.startswith("withdrawn on ")
    assert not verify_release(old, notices=[old.parent]).ok


def test_the_same_is_said_once_whatever_was_killed_in_between(
    old: Path, new: Path, claims: Claims, key: SigningKey, monkeypatch: pytest.MonkeyPatch
):
    write = notices._write

    def die_at_the_page(file: Path, text: str) -> None:
        if file.suffix == ".md":
            raise KeyboardInterrupt
        write(file, text)

    with monkeypatch.context() as patched:
        patched.setattr(notices, "_write", die_at_the_page)
        with pytest.raises(KeyboardInterrupt):
            supersede(old, new, reason=REASON, key=key)
    file = supersede(old, new, reason="another reason", key=key)
    assert REASON in file.read_text()
    assert REASON in file.with_suffix(".md").read_text()
    assert supersede(old, new, reason=REASON, key=key) == file
    third = Path(shutil.copytree(new, new.with_name("third")))
    sign_manifest(third, claims.model_copy(update={"release_id": "third"}), key)
    with pytest.raises(NoticeRefused, match="a release is superseded once"):
        supersede(old, third, reason=REASON, key=key)


def test_no_notice_is_given_of_what_is_not_ours_or_not_as_signed(
    old: Path, new: Path, key: SigningKey
):
    with pytest.raises(NoticeRefused, match="does not supersede itself"):
        supersede(old, old, reason=REASON, key=key)
    with pytest.raises(NoticeRefused, match="say in 3 to 1,000"):
        withdraw_published(old, reason=" x ", key=key)
    with pytest.raises(NoticeRefused, match="only who published a release gives notice of it"):
        withdraw_published(old, reason=REASON, key=OTHER)
    (new / "data.csv").write_text("forged")
    with pytest.raises(NotAsSigned):
        supersede(old, new, reason=REASON, key=key)
    assert not list(old.parent.glob("*.json"))


def signed_by(key: SigningKey, file: Path, **changes: Any) -> None:
    """Sign a notice again, after a change."""
    signed = SignedNotice.model_validate_json(file.read_bytes())
    notice = signed.notice.model_copy(update={"public_key_fingerprint": key.fingerprint, **changes})
    public = key.signer.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    forged = SignedNotice(
        notice=notice,
        key=public.decode(),
        signature=base64.b64encode(key.signer.sign(notice.canonical_bytes())).decode(),
    )
    file.write_text(forged.model_dump_json())


def by_another(file: Path, key: SigningKey) -> None:
    signed_by(OTHER, file)


def changed_reason(file: Path, key: SigningKey) -> None:
    file.write_text(file.read_text().replace(REASON, "nothing is wrong with it"))


def of_another_copy(file: Path, key: SigningKey) -> None:
    signed_by(key, file, manifest="0" * 64)


def of_another_release(file: Path, key: SigningKey) -> None:
    signed_by(key, file, release="others")


def other_replacement(file: Path, key: SigningKey) -> None:
    signed = SignedNotice.model_validate_json(file.read_bytes())
    assert signed.notice.by is not None
    signed_by(key, file, by=signed.notice.by.model_copy(update={"manifest": "0" * 64}))


def no_json(file: Path, key: SigningKey) -> None:
    file.write_text("{")


@pytest.mark.parametrize(
    ("forge", "fault"),
    [
        (by_another, "not with the one of the release; it may be anybody's"),
        (changed_reason, "the signature is not of this notice"),
        (of_another_copy, "is about another release of this name"),
        (of_another_release, "is a notice that others is superseded"),
        (other_replacement, "names another release as"),
        (no_json, "whole file"),
    ],
)
def test_a_forged_notice_is_found(
    forge: Callable[[Path, SigningKey], None], fault: str, old: Path, new: Path, key: SigningKey
):
    file = supersede(old, new, reason=REASON, key=key)
    forge(file, key)
    ok, detail = told(old)["notice"]
    assert not ok
    assert fault in detail
    with pytest.raises(NotPublished, match="is refused"):
        Published.of(old, None, {})
    with pytest.raises(NotInUse, match=fault):
        package.open(old)
    with pytest.raises(NoticeRefused, match="move it away"):
        supersede(old, new, reason=REASON, key=key)


def test_who_is_believed_follows_from_the_keys_at_hand(old: Path, key: SigningKey):
    file = withdraw_published(old, reason=REASON, key=key)
    signed_by(OTHER, file)
    now = datetime.now(UTC)

    def entry(of: SigningKey, **changes: Any) -> RegisteredKey:
        public = plain_text(of.signer.public_key().public_bytes_raw())
        return RegisteredKey(key=public, since=now - timedelta(days=9), **changes)

    def by_register(*entries: RegisteredKey) -> tuple[bool, str]:
        keys = KeysAtHand(AgencyKeys(signing=entries))
        (one,) = told(old, keys=keys).values()
        return one

    def read_by(*entries: RegisteredKey) -> None:
        superseded(old, keys_at_hand(read_manifest(old), AgencyKeys(signing=entries)))

    assert "the register of keys does not list" in by_register(entry(key))[1]
    with pytest.raises(NotInUse, match="the register of keys does not list"):
        read_by(entry(key))
    with pytest.raises(Withdrawn, match="must not be used: it was withdrawn on"):
        read_by(entry(key), entry(OTHER))
    with pytest.raises(NotInUse, match="not with the one of the release"):
        read_by(entry(OTHER))  # of another agency
    assert by_register(entry(key), entry(OTHER))[1].startswith("withdrawn on")
    revoked = Revocation(at=now - timedelta(days=1), reason="lost")
    assert "was revoked" in by_register(entry(key), entry(OTHER, revoked=revoked))[1]
    public = old.parent / "agency.pub"
    public.write_bytes((old / PUBLIC_KEY_FILE).read_bytes())
    assert "not with the given one" in told(old, public_key=public)["notice"][1]


def test_whatever_took_the_place_of_a_release_is_found_beside_it(
    old: Path, new: Path, key: SigningKey, monkeypatch: pytest.MonkeyPatch
):
    assert list(successors(old)) == []
    assert package.open(old).told == ()
    supersede(old, new, reason=REASON, key=key)
    monkeypatch.chdir(old)
    ((notice, folder),) = successors(Path())
    assert (notice.reason, folder) == (REASON, new)
    (told,) = package.open(old).told
    assert told.startswith(f"{old.name} was superseded by {new.name} on ")
    assert told.endswith(REASON)
    away = new.rename(new.with_name("away"))
    with pytest.raises(NotInUse, match="put that release beside it"):
        list(successors(old))
    supersede(away.rename(new), old, reason="the first was right", key=key)
    with pytest.raises(NotInUse, match="in a circle"):
        list(successors(old))
    withdraw_published(new, reason=REASON, key=key)
    with pytest.raises(Withdrawn, match=new.name):
        list(successors(old))


def test_a_site_shows_notices_and_offers_no_file_of_what_is_withdrawn(
    old: Path, new: Path, key: SigningKey, tmp_path: Path
):
    supersede(old, new, reason=REASON, key=key)
    withdraw_published(old, reason="it must not be used", key=key)
    shutil.rmtree(new)  # which is not on this site
    made = make_site([old], tmp_path / "site")
    assert made.withdrawn == (old.name,)
    folder = tmp_path / "site" / old.name
    page = (folder / "index.html").read_text()
    assert "it must not be used" in page
    assert f"superseded by {new.name}" in page
    assert f'href="../{new.name}' not in page
    assert not (folder / "files").exists()
    assert json.loads((folder / f"{old.name}.withdrawn.json").read_text())
