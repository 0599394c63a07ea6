"""Search all bytes of a folder for a planted value, in whatever form a library may have kept it."""

import base64
import re
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

_COMPRESSED = re.compile(rb"\x78[\x01\x5e\x9c\xda]|\x1f\x8b\x08")
_ANY_HEADER = 32 | zlib.MAX_WBITS  # of zlib or of gzip
_MOST_BYTES = 1 << 24  # of one decompressed stream that are looked at


@dataclass(frozen=True)
class Canary:
    """A value that is nowhere but in the private table, so that whoever shows it has leaked it."""

    what: str
    text: str
    number: float | None = None
    count: int | None = None  # for a count: an integer that may stand in any text by itself

    def is_in(self, content: bytes) -> bool:
        """Whether any form of the value is among these bytes."""
        if self.count is not None:
            # As a number of its own, not as digits of a longer one or of a fraction of a second.
            digits = re.search(rb"(?<![\w.])%d(?![\w])" % self.count, content)
            binary = self.count.to_bytes(8, "little"), self.count.to_bytes(8, "big")
            return digits is not None or any(form in content for form in binary)
        return any(form in content for form in self._forms())

    def _forms(self) -> Iterator[bytes]:
        plain = [self.text.encode(coding) for coding in ("utf-8", "utf-16-le", "utf-16-be")]
        if self.number is not None:
            plain += [struct.pack("<d", self.number), struct.pack(">d", self.number)]
        for form in plain:
            yield form
            for shift in range(3):  # where the value starts within three bytes of base64
                coded = base64.b64encode(bytes(shift) + form)
                # Without the characters that it shares with its neighbours.
                yield coded[(0, 2, 3)[shift] : (shift + len(form)) * 4 // 3]


def found(folder: Path, canaries: list[Canary], *, skip: frozenset[Path] = frozenset()) -> set[str]:
    """What of the canaries is where in `folder`: "file: what", for files that are not skipped.

    Args:
        skip: files, and folders with all that is in them.
    """
    told = set()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(path.is_relative_to(skipped) for skipped in skip):
            contents = list(_contents(path))
            for canary in canaries:
                if any(canary.is_in(content) for content in contents):
                    told.add(f"{path.relative_to(folder)}: {canary.what}")
    return told


def _contents(path: Path) -> Iterator[bytes]:
    """The bytes of a file, of all streams compressed in it, and of the values that it stores."""
    raw = path.read_bytes()
    yield raw
    for start in _COMPRESSED.finditer(raw):
        with suppress(zlib.error):
            yield zlib.decompressobj(_ANY_HEADER).decompress(raw[start.start() :], _MOST_BYTES)
    if raw.startswith(b"PAR1"):
        yield repr(pq.read_table(path).to_pydict()).encode()
    if raw.startswith(b"SQLite format 3"):
        yield from _stored(path)


def _stored(path: Path) -> Iterator[bytes]:
    """Every value of an SQLite database; a long one lies in pieces in its file."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        database.text_factory = bytes
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            for row in database.execute(f'SELECT * FROM "{table.decode()}"'):
                for value in row:
                    yield value if isinstance(value, bytes) else str(value).encode()
