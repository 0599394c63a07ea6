"""Passwords and TLS keys of an installation: made once, kept in its home, for its owner alone."""

import secrets
import socket
from pathlib import Path

from deploy import certificates as tls
from deploy.certificates import write_private


def password(folder: Path, name: str) -> str:
    """`user:password` of a service, read back or made."""
    file = folder / name
    if not file.exists():
        write_private(file, f"operator:{secrets.token_urlsafe(24)}".encode())
    return file.read_text()


def certificates(folder: Path) -> dict[str, Path]:
    """Paths of `ca`, `cert` and `key` in PEM, by which Dask's processes know each other."""
    return tls.certificates(folder, (socket.gethostname(), "localhost", "127.0.0.1"))
