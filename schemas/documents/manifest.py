"""`manifest.json`: what a release consists of and what it claims; the file that is signed.

The signature covers the bytes of the file, and the file must be in the canonical form that
`canonical_bytes` gives. So every JSON parser reads the same manifest (repeated keys, for instance,
never survive).
"""

import json
from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from hallmark.schemas.documents.certificate import CertificateSummary
from hallmark.schemas.documents.labels import NOT_RECORDED, NotRecorded, PublicSection, Shown
from hallmark.schemas.documents.ledger_anchor import LedgerHead
from hallmark.schemas.documents.ledger_anchor import Sha256 as Sha256
from hallmark.schemas.documents.privacy_claim import PrivacyClaim
from hallmark.schemas.section import Section

FIRST_MANIFEST: Final = "hallmark-manifest/1"
"""The format of manifests whose claim does not say what is unprotected."""

MANIFEST_FILE = "manifest.json"
SIGNATURE_FILE = "manifest.sig"
PUBLIC_KEY_FILE = "signer.pub"
SPEC_FILE = "release-spec.yaml"
CERTIFICATE_FILE = "certificate.json"
REPORT_FILE = "audit-report.html"
RECORD_FILE = "audit-report.json"
PEOPLE_FILE = "for-people.html"
LABEL_FILE = "privacy-label.svg"
REGISTRY_FILE = "registry.json"
README_FILE = "README.md"  # for data users
DICTIONARY_FILE = "data-dictionary.json"
ANSWERS_FILE = "answers.csv"  # of releases that answer a workload of queries
MEASUREMENTS_FILE = "measurements.parquet"  # unless the spec leaves it out
REPLICATES_FILES = {  # of releases whose spec asks for replicate weights, by format
    "parquet": "replicates.parquet",
    "csv": "replicates.csv",
}
PANEL_FILE = "panel.json"  # of releases of a panel
PERSONS_FILE = "persons.csv"  # likewise
APPROVALS_FILE = "approvals.json"  # of releases that somebody had to approve
DATA_FILES = ("data.csv", "data.parquet", "data.dta", "data.sav")
REHEARSED_DATA_FILES = tuple(f"REHEARSAL-{name}" for name in DATA_FILES)

TIME_STAMP_FILE = "manifest.tsr"
"""A time stamp (RFC 3161) of the signature file, which may be added to a finished release."""

SIGNATURE_FILES = (MANIFEST_FILE, SIGNATURE_FILE, PUBLIC_KEY_FILE)
"""The files that the manifest cannot list, since they are made with it or after it."""

REQUIRED_FILES = (SPEC_FILE, CERTIFICATE_FILE, REPORT_FILE, RECORD_FILE, DICTIONARY_FILE)
"""The files of every release, besides at least one of `DATA_FILES` and the files rendered from the
record in its format (`tasks.rendering.rendered_files`)."""

RELEASE_FORMAT: Final = "hallmark-manifest/2"
REHEARSAL_FORMAT: Final = "hallmark-rehearsal/1"


def _plain_name(name: str) -> str:
    if name in SIGNATURE_FILES:
        raise ValueError(f"{name} cannot be listed in the manifest that it belongs to")
    if not name or name.startswith(".") or any(c in name for c in "/\\\0"):
        raise ValueError(f"{name!r} is not the plain name of a file in the release folder")
    return name


FileName = Annotated[str, AfterValidator(_plain_name)]


class FileEntry(Section):
    """One file: its digest and its size in bytes."""

    sha256: Sha256
    bytes: Annotated[int, Field(ge=0)]


class Software(PublicSection):
    """What the release was computed with."""

    hallmark: Annotated[str, Shown("Hallmark version")]
    python: Annotated[str, Shown("Python version")]
    packages: Annotated[Mapping[str, str], Shown("Package versions")]
    commit: Annotated[
        str,
        Shown(
            "Code commit",
            form="code",
            mend="run from a git checkout of the code, or set HALLMARK_IMAGE_DIGEST to the digest "
            "of the running image",
        ),
    ] = NOT_RECORDED
    dirty: Annotated[bool | NotRecorded, Shown("Uncommitted changes in the code")] = NOT_RECORDED
    lock_digest: Annotated[
        Sha256 | NotRecorded, Shown("Lock file digest (SHA-256)", form="code")
    ] = NOT_RECORDED


class Claims(Section):
    """Everything in a manifest except the files, which are read from the release folder."""

    release_id: Annotated[str, Field(min_length=1)]
    title: str
    created: AwareDatetime
    privacy: PrivacyClaim
    certificate: CertificateSummary
    spec_digest: Sha256
    software: Software
    ledger: LedgerHead | None = None
    """the account's head when the release was signed; None for earlier releases"""


class Manifest(Claims):
    """The claims, the files with their digests, and the key that vouches for them.

    Raises:
        ValueError: the claim does not say what is unprotected, although its format requires it.
    """

    format: Literal["hallmark-manifest/1", "hallmark-manifest/2", "hallmark-rehearsal/1"] = (
        RELEASE_FORMAT
    )
    files: Mapping[FileName, FileEntry]
    public_key_fingerprint: Sha256

    @model_validator(mode="after")
    def _claim_is_qualified(self) -> Self:
        if (self.privacy.unprotected is None) != (self.format == FIRST_MANIFEST):
            raise ValueError(
                f"privacy.unprotected: a claim in {self.format} "
                + ("has none" if self.format == FIRST_MANIFEST else "says what it does not cover")
            )
        return self

    @property
    def is_rehearsal(self) -> bool:
        """Whether the manifest belongs to a rehearsal, not a release."""
        return self.format == REHEARSAL_FORMAT

    @property
    def data_files(self) -> tuple[str, ...]:
        """The possible names of data files."""
        return REHEARSED_DATA_FILES if self.is_rehearsal else DATA_FILES

    def canonical_bytes(self) -> bytes:
        """The canonical JSON text: sorted keys, two spaces, ASCII, one final newline."""
        content = self.model_dump(mode="json")
        if self.format == FIRST_MANIFEST:
            del content["privacy"]["unprotected"]
        if self.ledger is None:
            del content["ledger"]
        text = json.dumps(content, sort_keys=True, indent=2, ensure_ascii=True, allow_nan=False)
        return text.encode("ascii") + b"\n"
