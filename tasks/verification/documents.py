"""The documents of a release folder, each read as what it should be."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.certificate import CertificateFile
from hallmark.schemas.documents.data_dictionary import DataDictionary
from hallmark.schemas.documents.manifest import (
    CERTIFICATE_FILE,
    DICTIONARY_FILE,
    MANIFEST_FILE,
    RECORD_FILE,
    SPEC_FILE,
    Manifest,
)
from hallmark.schemas.given_files import MOST_DOCUMENT, bytes_of
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.release_spec import ReleaseSpec

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Check:
    """One thing that was checked, whether it holds, and what was found."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Documents:
    """The documents of a release, each sound by itself."""

    manifest: Manifest
    record: AuditRecord
    certificate: CertificateFile
    dictionary: DataDictionary
    spec: ReleaseSpec


class Unsound(Exception):
    """A file of the release cannot be read as what it should be; the message says which and why."""


def read_manifest(folder: Path) -> Manifest:
    """The manifest, in the one form that Hallmark writes. Raises `Unsound`."""
    manifest = sound(folder / MANIFEST_FILE, Manifest.model_validate_json)
    if plain_bytes(folder / MANIFEST_FILE) != manifest.canonical_bytes():
        raise Unsound(
            f"{MANIFEST_FILE} is not in canonical form, so it was not written by Hallmark"
        )
    return manifest


def read_documents(folder: Path, manifest: Manifest) -> Documents:
    """All documents. Raises `Unsound` at the first that is not what it should be."""
    spec = folder / SPEC_FILE
    plain_bytes(spec)
    try:
        loaded = load_spec(spec, is_published=True)
    except SpecError as error:
        raise Unsound(f"{SPEC_FILE} is refused: {error.problems[0]}") from None
    return Documents(
        manifest=manifest,
        record=sound(folder / RECORD_FILE, AuditRecord.model_validate_json),
        certificate=sound(folder / CERTIFICATE_FILE, CertificateFile.model_validate_json),
        dictionary=sound(folder / DICTIONARY_FILE, DataDictionary.model_validate_json),
        spec=loaded,
    )


def sound(path: Path, read: Callable[[bytes], M]) -> M:
    """What a file holds, read by `read`. Raises `Unsound` where it holds something else."""
    try:
        return read(plain_bytes(path))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole file"
        raise Unsound(f"{path.name}: {where}: {first['msg']}") from None


def plain_bytes(path: Path) -> bytes:
    """The bytes of a plain file, and no link. Raises `Unsound`."""
    try:
        if not is_plain(path):
            raise Unsound(f"{path.name} is missing, or not a plain file")
        return bytes_of(path, MOST_DOCUMENT)
    except OSError as error:
        raise Unsound(f"{path.name} cannot be read ({error.strerror})") from None


def is_plain(path: Path) -> bool:
    """Whether there is a plain file, and no link."""
    return path.is_file() and not path.is_symlink()
