"""Anchors of the ledger: heads of its accounts, recorded outside the ledger's database.

A head is the number of an account's entries and the hash of the last. Anybody who holds a head can
check whether a chain that is shown later still has all the entries that it had then.
"""

import json
from typing import Annotated

from pydantic import AwareDatetime, Field

from hallmark.schemas.section import Section

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class LedgerHead(Section):
    """The end of an account's chain, which vouches for all entries so far; 0 if there are none."""

    account: str
    entries: Annotated[int, Field(ge=0)]
    hash: Sha256


class Anchor(Section):
    """A head with the time at which it was recorded.

    A ledger that was restored from a backup lacks heads that were anchored before. The person
    responsible states this by an anchor that names them as lost, with a reason.
    """

    head: LedgerHead
    at: AwareDatetime
    lost: tuple[Sha256, ...] = ()
    by: str = ""
    reason: str = ""

    def canonical_bytes(self) -> bytes:
        """The canonical JSON text of the anchor, which is signed and time-stamped."""
        content = self.model_dump(mode="json")
        return json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")


class SignedAnchor(Section):
    """An anchor with its proofs, each in base64, and empty if there is none."""

    anchor: Anchor
    key: str = ""
    """the Ed25519 public key of the installation, 32 bytes"""
    signature: str = ""
    """the Ed25519 signature of the anchor's canonical bytes"""
    time_stamp: str = ""
    """an RFC 3161 response for the anchor's canonical bytes, in DER"""
