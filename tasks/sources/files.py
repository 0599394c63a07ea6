"""Files and folders of parts on any file system that fsspec knows."""

import csv
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import file_digest, sha256
from typing import Any, TypeVar

import fsspec
import pyarrow as pa
from fsspec.implementations.local import LocalFileSystem

from hallmark.schemas.given_files import refuse_irregular
from hallmark.schemas.table_sections import FORMATS_BY_SUFFIX, FileFormat
from hallmark.tasks.sources import csv_files, labelled_files, parquet_files, workbooks
from hallmark.tasks.sources.parts import FilePart, Source, SourceError
from hallmark.tasks.sources.secret import keyed_digest
from hallmark.tasks.sources.texts import Unbounded, refuse_long

R = TypeVar("R")

_IN_FOLDERS = ("csv", "parquet", "pq")  # suffixes of parts
_READERS: Mapping[FileFormat, Any] = {
    "csv": csv_files,
    "parquet": parquet_files,
    "xlsx": workbooks,
    "sav": labelled_files.Reader("sav"),
    "dta": labelled_files.Reader("dta"),
    "sas7bdat": labelled_files.Reader("sas7bdat"),
    "xpt": labelled_files.Reader("xpt"),
}
_AGAIN = "it may be damaged, or be another format; save it again"
_MEND = {
    "csv": "check the delimiter and quotes, and that lines have as many fields as the header",
    "parquet": "it may be truncated or damaged; copy or write it again",
    "xlsx": "it may be damaged, protected by a password, or an older .xls; save it again as .xlsx",
    "sav": _AGAIN,
    "dta": _AGAIN,
    "sas7bdat": _AGAIN,
    "xpt": _AGAIN,
    "bytes": "check that it can be copied",
}
_BROKEN = (pa.ArrowException, csv.Error, UnicodeDecodeError, OSError, EOFError, zlib.error)


def parts(source: Source) -> list[FilePart]:
    """All parts of the file or folder, by name, then by row group."""
    found: list[FilePart] = []
    for path in paths(source):
        form = source.format or FORMATS_BY_SUFFIX.get(_suffix(path))
        if form is None:
            raise SourceError(
                f"data.source: cannot tell the format of {source.location}; "
                "set data.format to csv or parquet"
            )
        split = _READERS[form].parts
        found += attempt(partial(split, source, path), source, path, form)
    if len({part.format for part in found}) > 1:
        raise SourceError(
            "data.source: the folder mixes CSV and Parquet; set data.format, or split"
        )
    return found


def column_names(source: Source) -> list[str]:
    """Names of the columns of the first file, as it has them.

    Raises:
        SourceError: they cannot be read.
    """
    path = paths(source)[0]
    form = source.format or FORMATS_BY_SUFFIX[_suffix(path)]
    return attempt(partial(_READERS[form].column_names, source, path), source, path, form)


def batches(part: FilePart, read: Callable[[pa.RecordBatch, bool], R]) -> Iterator[R]:
    """What `read` makes of the part's rows, batch by batch.

    Args:
        read: of a batch, and of whether it holds texts of a CSV file.
    """
    try:
        with _opened(part.source, part.path) as handle:
            for batch in _READERS[part.format].batches(part, handle):
                yield read(refuse_long(batch), part.format == "csv")
            return
    except Unbounded as error:
        raise _unbounded(part.path, error) from None
    except _BROKEN as error:
        reason = _public_reason(error)
    # Raised outside the handler: the reader's own exception quotes the row that it stopped at.
    if reason in ("invalid UTF8", "UnicodeDecodeError"):
        raise csv_files.other_characters(part.source, part.path.rpartition("/")[2])
    raise _unreadable(part.path, part.format, reason)


def paths(source: Source) -> list[str]:
    """All files of the source, by name.

    Raises:
        SourceError: there is none, or their place cannot be listed.
    """
    filesystem, root = _filesystem(source)
    try:
        filesystem.invalidate_cache()  # a worker may have listed the folder months ago
        there, is_folder = filesystem.exists(root), filesystem.isdir(root)
        inside = sorted(filesystem.find(root)) if is_folder else []
    except Exception as error:  # every object store has exceptions of its own; no row was read yet
        raise SourceError(
            f"data.source: {source.location} cannot be listed ({_public_reason(error)}); check the "
            "address, data.storage_options, and the credentials in the environment"
        ) from None
    if not there:
        raise SourceError(f"data.source: nothing is at {source.location}; fix the path or URL")
    found = [path for path in inside if _suffix(path) in _IN_FOLDERS] if is_folder else [root]
    if not found:
        raise SourceError(f"data.source: no .csv or .parquet file in folder {source.location}")
    return found


def hashed(source: Source, path: str) -> str:
    """SHA-256 of a file, as decompressed."""
    return attempt(lambda handle: file_digest(handle, "sha256").hexdigest(), source, path, "bytes")


def digest(hashes: Mapping[str, str]) -> str:
    """A keyed digest of the names and bytes of all files, from their hashes by path, in order."""
    total = sha256()
    for path, content in hashes.items():
        total.update(f"{path.rpartition('/')[2]}\n".encode())
        total.update(bytes.fromhex(content))
    return keyed_digest(total.digest())


def is_there(source: Source) -> bool:
    """Whether a file or a folder is at the source's location."""
    filesystem, root = _filesystem(source)
    filesystem.invalidate_cache()
    return bool(filesystem.exists(root))


def _filesystem(source: Source) -> tuple[Any, str]:
    try:
        filesystem, root = fsspec.core.url_to_fs(source.location, **dict(source.options))
    except (ImportError, ValueError) as error:  # a protocol that is unknown, or lacks its package
        raise SourceError(f"data.source: {source.location} cannot be opened: {error}") from error
    return filesystem, root


def _opened(source: Source, path: str) -> Any:
    filesystem = _filesystem(source)[0]
    if isinstance(filesystem, LocalFileSystem):
        refuse_irregular(os.stat(path).st_mode)
    # A file whose name ends in .gz, .bz2, .xz or .zst is decompressed on the way.
    return filesystem.open(path, "rb", compression="infer")


def attempt(read: Callable[[Any], R], source: Source, path: str, form: str) -> R:
    """What `read` makes of an open file.

    Args:
        form: the format for messages, or "bytes".
    Raises:
        SourceError: the file cannot be read; the message quotes nothing of it.
    """
    try:
        with _opened(source, path) as handle:
            return read(handle)
    except Unbounded as error:
        raise _unbounded(path, error) from None
    except _BROKEN as error:
        reason = _public_reason(error)
    # Raised outside the handler, as in `batches`.
    raise _unreadable(path, form, reason)


def _unbounded(path: str, error: Unbounded) -> SourceError:
    return SourceError(f"data.source: {path.rpartition('/')[2]}: {error}")


def _unreadable(path: str, form: str, reason: str) -> SourceError:
    return SourceError(
        f"data.source: {path.rpartition('/')[2]} cannot be read as {form} ({reason}); {_MEND[form]}"
    )


def _suffix(path: str) -> str:
    return path.lower().removesuffix(".gz").rsplit(".", 1)[-1]


def _public_reason(error: Exception) -> str:
    """Why the reader stopped, in those words of its message that cannot hold a cell."""
    known = re.search(r"Expected \d+ columns, got \d+|invalid UTF8", str(error))
    if known:
        return known.group()
    if isinstance(error, OSError) and error.errno and error.strerror:
        return error.strerror  # the system's words, such as Permission denied
    return type(error).__name__
