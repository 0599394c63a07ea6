"""A digest of the code that runs: what an approval of a plan is bound to."""

import os
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]
_LEFT_OUT = ("__pycache__", "manual")
"""Folders without code: compiled code, and the documentation's pages, in which a word may be
corrected without a plan being approved anew."""

IMAGE_VARIABLE = "HALLMARK_IMAGE_DIGEST"
"""Names the image that runs, by its digest."""


@cache
def code_digest() -> str:
    """SHA-256 over all files of our package, in hexadecimal; the same wherever they lie.

    Libraries are not in it: their versions stand in the audit record. Nor is the manual.
    """
    return digest_of(_PACKAGE)


def digest_of(package: Path) -> str:
    """SHA-256 over the paths and contents of all files of a package, in hexadecimal."""
    total = sha256()
    for path in sorted(files_of(package)):
        total.update(f"{path.relative_to(package).as_posix()}\n".encode())
        total.update(sha256(path.read_bytes()).digest())
    return total.hexdigest()


def files_of(package: Path) -> Iterator[Path]:
    """All files of a package; in a checkout, its folders are links, which `rglob` passes by."""
    for folder, inner, names in os.walk(package, followlinks=True):
        inner[:] = [name for name in inner if name not in _LEFT_OUT]
        yield from (Path(folder, name) for name in names)
