"""Digests of private data, keyed by a secret of the installation."""

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from tasks.workspace import home

_BYTES = 32


def keyed_digest(content: bytes) -> str:
    """HMAC-SHA256 of `content` under the installation's secret, in hexadecimal."""
    return hmac.digest(_secret(home() / "data-digest.key"), content, "sha256").hex()


def _secret(file: Path) -> bytes:
    """What `file` holds; drawn when it is first asked for."""
    if not file.exists():
        draft = file.with_name(f".{uuid4().hex}")
        draft.touch(mode=0o600)
        draft.write_bytes(secrets.token_bytes(_BYTES))
        with suppress(FileExistsError):  # another process was first; its secret stands
            os.link(draft, file)
        draft.unlink()
    return file.read_bytes()
