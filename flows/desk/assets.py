"""Styles and scripts of the desk's pages: compressed, and kept by browsers until they change.

Nothing in them is secret. Pages are another matter: they are kept nowhere, and are not compressed,
since the length of a compressed page tells of the secret in its forms to whoever can choose other
words of it.

Source: Gluck, Harris, Prado (2013), BREACH: reviving the CRIME attack.
"""

from hashlib import sha256
from pathlib import Path

from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parent / "static"
KEPT = "public, max-age=31536000, immutable"
"""What browsers are told of the files: to keep them, and not to ask again."""


def address_of(folder: Path) -> str:
    """Where files of a folder are: elsewhere as soon as one of them changes."""
    contents = (f"{path.name}\n".encode() + path.read_bytes() for path in sorted(folder.iterdir()))
    return f"/static/{sha256(b''.join(contents)).hexdigest()[:16]}"


ADDRESS = address_of(FOLDER)
files = GZipMiddleware(StaticFiles(directory=FOLDER))
