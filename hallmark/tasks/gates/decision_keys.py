"""Sign a decision with a person's own key, and check such signatures."""

import base64

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hallmark.schemas.documents.decisions import Decision, SignedDecision
from hallmark.tasks.installation.signing import Signer


def sign(decision: Decision, key: Signer) -> SignedDecision:
    """The decision with its proof."""
    return SignedDecision(
        decision=decision,
        key=base64.b64encode(key.public_key().public_bytes_raw()).decode(),
        signature=base64.b64encode(key.sign(decision.canonical_bytes())).decode(),
    )


def is_genuine(signed: SignedDecision) -> bool:
    """Whether the decision was signed with the key that it names, in the canonical encoding."""
    try:
        raw = base64.b64decode(signed.key, validate=True)
        key = Ed25519PublicKey.from_public_bytes(raw)
        signature = base64.b64decode(signed.signature, validate=True)
        key.verify(signature, signed.decision.canonical_bytes())
    except (ValueError, InvalidSignature):
        return False
    return base64.b64encode(raw).decode() == signed.key
