"""Styles and scripts of the desk's pages: compressed, and kept by browsers until they change.

Nothing in them is secret. Pages are another matter: no cache keeps them, and they are not
compressed, since the length of a compressed page reveals the secret in its forms to anybody who can
choose other words on it.

Source: Gluck, Harris, Prado (2013), BREACH: reviving the CRIME attack.
"""

from hashlib import sha256
from pathlib import Path

from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parent / "static"
KEPT = "public, max-age=31536000, immutable"
"""What browsers are told about the files: keep them, and do not ask again."""


def address_of(folder: Path) -> str:
    """The address of a folder's files, which changes as soon as one of them does."""
    contents = (f"{path.name}\n".encode() + path.read_bytes() for path in sorted(folder.iterdir()))
    return f"/static/{sha256(b''.join(contents)).hexdigest()[:16]}"


ADDRESS = address_of(FOLDER)
files = GZipMiddleware(StaticFiles(directory=FOLDER))
