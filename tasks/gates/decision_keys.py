"""Sign a decision with a person's own key, and check such signatures."""

import base64

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from hallmark.schemas.documents.approver_keys import approver_key, plain_text
from hallmark.schemas.documents.decisions import Decision, SignedDecision
from hallmark.tasks.gates import passkeys
from hallmark.tasks.installation.signing import Signer


def sign(decision: Decision, key: Signer) -> SignedDecision:
    """The decision with its proof."""
    return SignedDecision(
        decision=decision,
        key=plain_text(key.public_key().public_bytes_raw()),
        signature=base64.b64encode(key.sign(decision.canonical_bytes())).decode(),
    )


def is_genuine(signed: SignedDecision) -> bool:
    """Whether the decision was signed with the key that it names, in the canonical encoding."""
    content = signed.decision.canonical_bytes()
    try:
        key = approver_key(signed.key)
        signature = base64.b64decode(signed.signature, validate=True)
        if (signed.assertion is None) != (not key.rp_id):
            return False  # a passkey's signature is over an assertion, and only a passkey's is
        if signed.assertion is not None:
            passkeys.check(key, signed.assertion, signature, content)
        else:
            public = load_der_public_key(key.identity)
            assert isinstance(public, Ed25519PublicKey), "plain keys are of this kind alone"
            public.verify(signature, content)
    except (ValueError, InvalidSignature):
        return False
    return True


def same_key(one: SignedDecision, other: SignedDecision) -> bool:
    """Whether two genuine decisions were signed with one key, however it is written."""
    return approver_key(one.key).identity == approver_key(other.key).identity
