"""Sign notices that a published release was superseded or withdrawn, and lay them beside it.

Nothing in a release folder changes. A notice is written once: if the same is to be said again, what
lies there stays, so a run that was killed in between can be run again.
"""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hallmark.schemas.documents.manifest import MANIFEST_FILE, Manifest
from hallmark.schemas.documents.notice import (
    LEAST_REASON,
    MOST_REASON,
    Notice,
    NoticeKind,
    Replacement,
    SignedNotice,
    notice_file,
)
from hallmark.schemas.series import siblings
from hallmark.schemas.written import written
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.key_register import key_register
from hallmark.tasks.installation.signing import SigningKey, key_for, refuse_ended, signing_key
from hallmark.tasks.installation.workspace import home, whole
from hallmark.tasks.job import Job
from hallmark.tasks.rendering.markdown import code, plain
from hallmark.tasks.verification.as_signed import as_signed
from hallmark.tasks.verification.documents import Unsound
from hallmark.tasks.verification.notices import own_keys, read_notice

NO_REASON = "a revision, of which no reason was stated"


class NoticeRefused(SafeError):
    """No notice can be given like this."""


def supersede(old: Path, new: Path, *, reason: str, key: SigningKey | None = None) -> Path:
    """Give notice that one release took the place of another; returns the notice's file.

    Args:
        old, new: their folders.
        key: that signs; where it is not given, the installation's.
    Raises:
        NoticeRefused: they are one release, no reason is given, another notice lies there, or the
            old release is not this agency's.
        NotAsSigned: one of them is not what was signed.
        SigningError: nothing can be signed with the key.
    """
    replacing = as_signed(new)
    if new.resolve() == old.resolve() or replacing.release_id == old.name:
        raise NoticeRefused(f"{new}: a release does not supersede itself; name another folder")
    by = Replacement(release=replacing.release_id, manifest=_digest(new))
    return _give("superseded", old, by, reason, key)


def withdraw_published(folder: Path, *, reason: str, key: SigningKey | None = None) -> Path:
    """Give notice that a published release is withdrawn; returns the notice's file.

    Args and Raises: as of `supersede`.
    """
    return _give("withdrawn", folder, None, reason, key)


def tell_superseded(job: Job) -> Path | None:
    """Give notice of the release that the one just published takes the place of; None if of none.

    That is the one that the spec names (`about.supersedes`) if it lies beside it, or else the last
    earlier revision of the period.

    Raises:
        NoticeRefused: none could be given.
    """
    spec = job.prepared.spec
    if spec.rehearsal_of is not None:
        return None
    old = _replaced(job)
    if old is None:
        return None
    reason = (None if spec.series is None else spec.series.revised) or NO_REASON
    try:
        return supersede(old, job.folder, reason=reason, key=key_for(spec, home()))
    except SafeError as error:
        raise NoticeRefused(
            f"{job.folder} is published, but no notice could be given that it supersedes "
            f"{old.name}: {error}. Mend that, and run it again"
        ) from error


def _replaced(job: Job) -> Path | None:
    spec = job.prepared.spec
    named = (spec.about.supersedes or "").strip()
    if named and named != job.release and "/" not in named:
        folder = job.out / named
        if (folder / MANIFEST_FILE).is_file():
            return folder
    if spec.series is None:
        return None
    form = siblings(spec.release, spec.series.period)
    own = form.fullmatch(spec.release)
    if own is None or own["revision"] is None:
        return None
    before = {
        int(found["revision"] or 0): folder
        for folder in job.out.iterdir()
        if (found := form.fullmatch(folder.name)) is not None
        and found["period"] == spec.series.period
        and int(found["revision"] or 0) < int(own["revision"])
        and (folder / MANIFEST_FILE).is_file()
    }
    return before[max(before)] if before else None


def _give(
    kind: NoticeKind, folder: Path, by: Replacement | None, reason: str, key: SigningKey | None
) -> Path:
    manifest = as_signed(folder)
    if manifest.is_rehearsal:
        raise NoticeRefused(f"{folder} is a rehearsal, which was never published")
    reason = checked_reason(reason)
    if key is None:
        key = signing_key(home())
        refuse_ended(key)
    _refuse_others(folder, manifest, key)
    file = folder.parent / notice_file(manifest.release_id, kind)
    if file.exists():
        notice = _as_given(file, folder, manifest, by, key)
    else:
        notice = Notice(
            kind=kind,
            release=manifest.release_id,
            manifest=_digest(folder),
            by=by,
            reason=reason,
            stated=datetime.now(UTC).replace(microsecond=0),
            public_key_fingerprint=key.fingerprint,
        )
        public = key.signer.public_key()
        signed = SignedNotice(
            notice=notice,
            key=public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
            signature=base64.b64encode(key.signer.sign(notice.canonical_bytes())).decode(),
        )
        _write(file, signed.model_dump_json(indent=2) + "\n")
    page = file.with_suffix(".md")
    if not page.exists():
        _write(page, "\n".join(_page(notice, file.name)) + "\n")
    return file


def checked_reason(reason: str) -> str:
    """A reason as notices have it, in one line.

    Raises:
        NoticeRefused: it is too short or too long, or has unseen characters.
    """
    reason = " ".join(reason.split())
    if not LEAST_REASON <= len(reason) <= MOST_REASON:
        raise NoticeRefused(
            f"the reason has {len(reason):,} characters; say in {LEAST_REASON} to "
            f"{MOST_REASON:,} why, for everybody who uses the release"
        )
    try:
        return written(reason)
    except ValueError as error:
        raise NoticeRefused(f"the reason: {error}") from None


def _refuse_others(folder: Path, manifest: Manifest, key: SigningKey) -> None:
    """Refuse a release that another agency signed: nobody would believe the notice."""
    signer = manifest.public_key_fingerprint
    if signer != key.fingerprint and key_register().signing_key(signer) is None:
        raise NoticeRefused(
            f"{folder} is signed with key {signer[:16]}…, which is neither the installation's nor "
            "in its register of keys (hallmark key list): only who published a release gives "
            "notice of it"
        )


def _as_given(
    file: Path, folder: Path, manifest: Manifest, by: Replacement | None, key: SigningKey
) -> Notice:
    """The notice that lies there, if it says the same.

    Raises:
        NoticeRefused: it says something else.
    """
    try:
        notice = read_notice(file, folder, manifest, own_keys(key.fingerprint))
    except Unsound as error:
        raise NoticeRefused(f"{file}: {error}; move it away") from None
    if notice.by != by:
        raise NoticeRefused(
            f"{file} says already that {manifest.release_id} was {notice.words}; a release is "
            "superseded once: let the next one supersede the last"
        )
    return notice


def _digest(folder: Path) -> str:
    return sha256((folder / MANIFEST_FILE).read_bytes()).hexdigest()


def _page(notice: Notice, file: str) -> Iterator[str]:
    """The notice for people, in Markdown."""
    what = "Withdrawn" if notice.by is None else "Superseded"
    yield f"# {what}: {plain(notice.release)}"
    yield ""
    if notice.by is None:
        yield (
            f"Release {code(notice.release)} was withdrawn on {notice.stated:%Y-%m-%d}. Do not use "
            "it, and say so where you have used it."
        )
    else:
        yield (
            f"Release {code(notice.by.release)} took the place of {code(notice.release)} on "
            f"{notice.stated:%Y-%m-%d}. Use the later one."
        )
    yield ""
    yield f"Reason: {plain(notice.reason)}"
    yield ""
    yield f"- {code(notice.release)}: SHA-256 of its manifest {code(notice.manifest)}"
    if notice.by is not None:
        yield f"- {code(notice.by.release)}: SHA-256 of its manifest {code(notice.by.manifest)}"
    yield f"- signed with key {code(notice.public_key_fingerprint)} in {code(file)}"
    yield ""
    yield f"Check it: `hallmark verify {notice.release}`, in the folder where both lie."


def _write(file: Path, text: str) -> None:
    with whole(file) as draft:
        draft.write_text(text, encoding="utf-8")
        draft.chmod(0o644)  # for everybody to read, as the release is
