"""A digest of the code that runs: what an approval of a plan is bound to."""

from functools import cache
from hashlib import sha256
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]
_LEFT_OUT = ("__pycache__",)

IMAGE_VARIABLE = "HALLMARK_IMAGE_DIGEST"
"""Names the image that runs, by its digest."""


@cache
def code_digest() -> str:
    """SHA-256 over all files of our package, in hexadecimal; the same wherever they lie.

    Libraries are not in it: their versions stand in the audit record.
    """
    total = sha256()
    for path in sorted(_PACKAGE.rglob("*")):
        if path.is_file() and not any(part in _LEFT_OUT for part in path.parts):
            total.update(f"{path.relative_to(_PACKAGE).as_posix()}\n".encode())
            total.update(sha256(path.read_bytes()).digest())
    return total.hexdigest()
