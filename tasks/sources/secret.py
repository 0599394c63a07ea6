"""Digests of private data, keyed by a secret of the installation."""

import hmac
import secrets

from hallmark.tasks.installation.secret_files import kept_secret
from hallmark.tasks.installation.workspace import home

_BYTES = 32


def keyed_digest(content: bytes) -> str:
    """HMAC-SHA256 of `content` under the installation's secret, in hexadecimal."""
    key = kept_secret(home() / "data-digest.key", lambda: secrets.token_bytes(_BYTES))
    return hmac.digest(key, content, "sha256").hex()
