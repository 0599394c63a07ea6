"""Read and code a file of records that were made elsewhere, to be certified.

Such records are taken as public: the certificate publishes the file's name, its SHA-256, its number
of rows and the distribution of every column. A file that may be none of that, the private table
above all, must not be named.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hallmark.schemas.documents.certificate import CertifiedFile
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.signing import digest
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.likeness import Likeness, likeness_of_codes
from hallmark.tasks.planning.private_tables import private_at, private_like
from hallmark.tasks.planning.public_data import misplaced
from hallmark.tasks.sources import Source, SourceError, batches, parts, told_of, written_as_released


class OutsideRecordsRefused(SafeError):
    """The file cannot be certified; the message shows no value of it."""


@dataclass(frozen=True)
class OutsideRecords:
    """A file to certify, and what its certificate says of it. Public."""

    path: Path
    certified: CertifiedFile
    like: Likeness

    @property
    def sha256(self) -> str:
        return self.certified.sha256

    @property
    def rows(self) -> int:
        return self.certified.rows


def read_outside_records(
    spec: ReleaseSpec, path: Path, folder: Path
) -> tuple[OutsideRecords, NDArray[np.int32]]:
    """The file with its records in cell codes, shape (rows, columns).

    It is read as the spec says of the private table; columns that the spec does not list are left
    out. Every value must lie in its public domain: moving it there would certify other records.

    Args:
        folder: where relative sources of the spec start.
    Raises:
        OutsideRecordsRefused: it is the private table, cannot be read, holds no record, lacks a
            column, or has a value outside its column's domain.
    """
    if (owner := private_at(str(path), spec, folder)) is not None:
        own = "the spec" if owner == spec.release else f"release {owner}"
        raise OutsideRecordsRefused(
            f"{path}: is the private table of {own}, or a part of it; {_MEND}"
        )
    source = written_as_released(spec, tuple(spec.columns), location=str(path))
    try:
        before = digest(path)
        text = _text(source, path)
        after = digest(path)
    except OSError as error:
        raise OutsideRecordsRefused(
            f"{path}: cannot be read ({error.strerror}); fix the path"
        ) from error
    if before != after:
        raise OutsideRecordsRefused(
            f"{path}: changed while it was read; run again when it is complete"
        )
    if len(text) == 0:
        raise OutsideRecordsRefused(f"{path}: holds no record, so there is nothing to certify")
    codec = TableCodec.of(spec.columns)
    wrong = [
        fault
        for column in codec.codecs
        for fault in misplaced(column, text[column.name], beyond=False)
    ]
    if wrong:
        raise OutsideRecordsRefused(
            f"{path}: " + "; ".join(wrong) + "; fix the file, or certify it under a spec whose "
            "domains hold its values"
        )
    codes = codec.encode(text).astype(np.int32)
    like = likeness_of_codes(codec, codes, source)
    if (owner := private_like(like)) is not None:
        raise OutsideRecordsRefused(
            f"{path}: is a copy of the private table of release {owner}; {_MEND}"
        )
    file = CertifiedFile(name=path.name, sha256=before, rows=len(text))
    return OutsideRecords(path.resolve(), file, like), codes


_MEND = (
    "a certificate publishes the distributions of what it certifies, so name records that may be "
    "published"
)


def _text(source: Source, path: Path) -> pd.DataFrame:
    try:
        frames = [frame for part in parts(source) for frame in batches(part)]
    except SourceError as error:
        raise OutsideRecordsRefused(told_of(str(path), str(error))) from error
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
