"""Passwords and TLS keys of an installation: made once, and kept in its home for its owner only."""

import secrets
import socket
from pathlib import Path

from deploy import certificates as tls
from hallmark.tasks.installation.secret_files import kept_secret


def password(folder: Path, name: str) -> str:
    """The `user:password` of a service, made if missing."""
    made = f"operator:{secrets.token_urlsafe(24)}"
    return kept_secret(folder / name, made.encode).decode()


def token(folder: Path, name: str) -> str:
    """A secret that only programs use, made if missing."""
    return kept_secret(folder / name, lambda: secrets.token_urlsafe(24).encode()).decode()


def certificates(folder: Path) -> dict[str, Path]:
    """Paths of `ca`, `cert` and `key` in PEM, with which Dask's processes authenticate."""
    return tls.certificates(folder, (socket.gethostname(), "localhost", "127.0.0.1"))
