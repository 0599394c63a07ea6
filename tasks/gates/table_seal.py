"""A seal of the private table: an approval of the plan is bound to the table by it, and shows
nothing of it.

The seal is an HMAC of the table's digest under a salt that is drawn anew whenever the gate is
opened, is kept in the workspace, and is erased before the release is published. So what is
published is as good as a random number: equal tables have unequal seals, in one release as in two,
and no key that is left anywhere can confirm a guess. While the release waits, the seal still binds:
another table would need another salt of the same seal, which is a collision of SHA-256.
"""

import hmac
import secrets
from pathlib import Path

from hallmark.tasks.installation.workspace import Workspace, whole

SEALED = "data"
"""The name of the seal among what an approver sees."""

_BYTES = 32


def fresh_seal(workspace: Workspace, digest: str) -> str:
    """A seal of the table with this digest, under a new salt; the old salt is forgotten."""
    salt = secrets.token_bytes(_BYTES)
    with whole(_salt(workspace)) as draft:
        draft.write_bytes(salt)
    return _seal(salt, digest)


def seal(workspace: Workspace, digest: str) -> str:
    """The seal of the table with this digest under the salt that is kept; empty without one."""
    file = _salt(workspace)
    return _seal(file.read_bytes(), digest) if file.exists() else ""


def forget_salt(workspace: Workspace) -> None:
    """Erase the salt: from then on the seal tells nothing to anybody."""
    _salt(workspace).unlink(missing_ok=True)


def _salt(workspace: Workspace) -> Path:
    return workspace.path / "table-seal.salt"


def _seal(salt: bytes, digest: str) -> str:
    return hmac.digest(salt, digest.encode(), "sha256").hex()
