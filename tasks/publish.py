"""Sign a staged release and publish it in one step: the whole folder is there, or nothing."""

import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from prefect import task
from pydantic import ValidationError

from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.certificate import CertificateFile
from hallmark.schemas.documents.ledger_anchor import LedgerHead
from hallmark.schemas.documents.manifest import (
    CERTIFICATE_FILE,
    MANIFEST_FILE,
    RECORD_FILE,
    Claims,
    Manifest,
)
from hallmark.schemas.exact import decimal
from hallmark.tasks.gates.staged import refuse_uncharged
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.signing import digest as file_digest
from hallmark.tasks.installation.signing import key_for, sign_manifest
from hallmark.tasks.installation.workspace import home
from hallmark.tasks.job import Job
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.ledger.charged_twice import charged_twice
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.private_tables import private_at, whose
from hallmark.tasks.rendering.wording import certificate_in_words
from hallmark.tasks.verification import verify_release


class PublishRefused(SafeError):
    """The folder to publish in holds something else, or cannot be written to."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published release, for people and for programs. Public."""

    release: str
    folder: str
    account: str
    epsilon: str
    delta: str
    left: tuple[str, str]  # of the account: epsilon, delta
    certificate: str  # in one sentence
    review: str  # path of the internal review, which is not part of the release
    warnings: tuple[str, ...] = ()
    earlier: bool = False  # it was published by an earlier run

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def already_published(job: Job) -> Published | None:
    """What an earlier run published under this name in `out`; None where there is nothing.

    Raises:
        PublishRefused: the folder exists and is not this release.
    """
    folder = job.folder
    if not folder.exists():
        return None
    certificate = _certificate_of(folder, job.prepared)
    reservation = open_ledger(job.ledger).reservation(job.release)
    charged = reservation is not None and reservation.state == "spent"
    if certificate is None or not charged or not verify_release(folder, None).ok:
        raise PublishRefused(
            f"{folder} exists, and is not what this spec publishes; move it away, choose another "
            "--out, or give the spec a new release id. Nothing was drawn or overwritten"
        )
    return _published(job, certificate, earlier=True)


def _certificate_of(folder: Path, prepared: Prepared) -> CertificateFile | None:
    """The certificate in the folder, if it is of this spec and of these given records."""
    with suppress(OSError, ValidationError):  # missing or broken: no release of ours
        manifest = Manifest.model_validate_json((folder / MANIFEST_FILE).read_bytes())
        if manifest.spec_digest in prepared.spec.digests():
            content = (folder / CERTIFICATE_FILE).read_bytes()
            certificate = CertificateFile.model_validate_json(content)
            return certificate if certificate.file == prepared.certified else None
    return None


@task(name="publish")
def publish(job: Job) -> Published:
    """Sign the staged files and move them to the release folder by one rename.

    Raises:
        LedgerRolledBack: the ledger lacks what the release drew.
    """
    refuse_uncharged(job)
    spec, staging, folder = job.prepared.spec, job.workspace.staging, job.folder
    certified = CertificateFile.model_validate_json((staging / CERTIFICATE_FILE).read_bytes())
    record = AuditRecord.model_validate_json((staging / RECORD_FILE).read_bytes())
    key = key_for(spec, home())
    sign_manifest(
        staging,
        Claims(
            release_id=spec.release,
            title=spec.title,
            created=record.identity.created,
            privacy=record.guarantee.claim,
            certificate=certified.summary(),
            spec_digest=spec.digest(),
            software=record.provenance.software,
            ledger=_head(spec.release, job.ledger),
        ),
        key,
    )
    _public_folder(job.out)
    arriving = _arriving(job)
    try:
        _copy(staging, arriving, record.identity.created)
        arriving.rename(folder)
    except OSError:  # a full disk; or another operator's run of this release was first
        shutil.rmtree(arriving, ignore_errors=True)
        if (done := already_published(job)) is None:
            raise
        return done
    shutil.rmtree(staging)
    return _published(job, certified, warning=key.warning)


def _arriving(job: Job) -> Path:
    """Where the folder is copied to, beside its place: a rename is atomic only within one disk.

    What an earlier run of this installation left there when it was killed is removed; another
    installation has another key, and so another manifest.
    """
    digest = file_digest(job.workspace.staging / MANIFEST_FILE)
    arriving = job.out / f".{job.folder.name}.{digest[:12]}"
    shutil.rmtree(arriving, ignore_errors=True)
    return arriving


def _copy(staging: Path, arriving: Path, created: datetime) -> None:
    """Copy the staged files, for everybody to read, with one time whoever copies them."""
    arriving.mkdir()
    told = created.timestamp()
    for path in staging.iterdir():
        place = arriving / path.name
        shutil.copyfile(path, place)
        place.chmod(0o644)
        os.utime(place, (told, told))
    arriving.chmod(0o755)
    os.utime(arriving, (told, told))


def _head(release: str, ledger: str) -> LedgerHead:
    """The head of the account once it says that the release is about to be published.

    No other is published: its digest tells nothing of the entries, nor of when they were written.
    """
    head = open_ledger(ledger).state(release, "publish", {}).head
    return LedgerHead(account=head.account, entries=head.entries, hash=head.hash)


def refuse_unwritable(out: Path) -> None:
    """Refuse a folder, which need not exist, in which no release folder can be made.

    Raises:
        PublishRefused: it is a file, or cannot be written to.
    """
    there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not there.is_dir():
        raise PublishRefused(f"--out: {there} is a file; name a folder for the release folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise PublishRefused(f"--out: {there} cannot be written to; fix that, or name another")


def refuse_private_folder(job: Job) -> None:
    """Refuse to publish inside the folder of a private table, of which it would become a part.

    Raises:
        PublishRefused: the next run would read released records as private ones.
    """
    prepared = job.prepared
    owner = private_at(str(job.folder.absolute()), prepared.spec, prepared.folder)
    if owner is not None:
        raise PublishRefused(
            f"--out: {job.out} lies in the folder of the private table of "
            f"{whose(owner, prepared.spec)}, whose parts are read from there; name another"
        )


def _public_folder(out: Path) -> None:
    """Make `out` where it does not exist, for everybody to enter whatever the umask."""
    if not out.is_dir():
        _public_folder(out.parent)
        out.mkdir(exist_ok=True)
        out.chmod(0o755)


def _published(
    job: Job,
    certificate: CertificateFile,
    *,
    warning: str = "",
    earlier: bool = False,
) -> Published:
    spec = job.prepared.spec
    account = open_ledger(job.ledger).account(spec.population.account)
    return Published(
        release=spec.release,
        folder=str(job.folder),
        account=account.name,
        epsilon=decimal(spec.privacy.epsilon),
        delta=decimal(spec.privacy.delta),
        left=(decimal(account.remaining[0]), decimal(account.remaining[1])),
        certificate=certificate_in_words(certificate),
        review=str(job.workspace.review),
        warnings=(*((warning,) if warning else ()), *charged_twice(job.prepared.spec, job.ledger)),
        earlier=earlier,
    )
