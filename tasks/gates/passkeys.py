"""Check that a passkey signed a decision: an assertion of WebAuthn, offline.

Claim.   `check` returns only if an authenticator of the key, after verifying its user, signed the
         SHA-256 of this decision, in a browser at the passkey's host or one under it.
Source.  Web Authentication Level 3, section 7.2, steps 10 to 23.
Left out. The signature counter: passkeys that are synchronised keep none, and a decision fits only
         one place in the chain of statements, so that it counts once however often it is sent.
         What the authenticator is made of (attestation): the agency sees who makes a passkey, at
         its key ceremony.

The keys are SubjectPublicKeyInfo, so that no CBOR is parsed, and this is small enough to need no
library besides `cryptography`: those for servers bring registration, attestation and their parsers
along, and compare an origin with a list that an offline verifier does not have.
"""

import base64
import json
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from hallmark.schemas.documents.approver_keys import ApproverKey
from hallmark.schemas.documents.decisions import Assertion

_HASH_BYTES = 32
_LEAST_BYTES = _HASH_BYTES + 1 + 4  # of authenticator data: hash of the RP id, flags, counter
_USER_PRESENT, _USER_VERIFIED, _HAS_EXTENSIONS = 0x01, 0x04, 0x80


class NotAsserted(ValueError):
    """The assertion does not stand for the content; the message says why."""


def check(key: ApproverKey, assertion: Assertion, signature: bytes, content: bytes) -> None:
    """Check that the passkey signed `content`.

    Raises:
        NotAsserted: it did not.
    """
    try:
        client_data = base64.b64decode(assertion.client_data, validate=True)
        authenticator_data = base64.b64decode(assertion.authenticator_data, validate=True)
        told = json.loads(client_data.decode("utf-8"))
    except ValueError:  # of base64, UTF-8 and JSON alike
        raise NotAsserted("its data cannot be read") from None
    if not isinstance(told, dict):
        raise NotAsserted("its data cannot be read")
    _check_client_data(told, key.rp_id, content)
    _check_authenticator_data(authenticator_data, key.rp_id)
    signed = authenticator_data + sha256(client_data).digest()
    try:
        match load_der_public_key(key.identity):
            case Ed25519PublicKey() as public:
                public.verify(signature, signed)
            case ec.EllipticCurvePublicKey() as public:
                public.verify(signature, signed, ec.ECDSA(SHA256()))
            case _:
                raise NotAsserted("its key is of another kind")
    except InvalidSignature:
        raise NotAsserted("the signature is not by the passkey") from None
    except ValueError as error:  # of a point that is not on the curve
        raise NotAsserted(str(error)) from None


def _check_client_data(told: dict[str, Any], rp_id: str, content: bytes) -> None:
    if told.get("type") != "webauthn.get":
        raise NotAsserted("it was not made to sign in")
    challenge = base64.urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode()
    if told.get("challenge") != challenge:
        raise NotAsserted("it is about something else")
    if not _is_of(told.get("origin"), rp_id):
        raise NotAsserted(f"it was not made at {rp_id}")
    if told.get("crossOrigin", False) is not False or "topOrigin" in told:
        raise NotAsserted("it was made in a frame of another site")


def _is_of(origin: object, rp_id: str) -> bool:
    """Whether an origin is one at which a browser lets a passkey of `rp_id` sign."""
    if not isinstance(origin, str):
        return False
    try:
        parts = urlsplit(origin)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        return False
    # An origin has nothing after the host and port: no path, no user.
    if origin != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
        return False
    is_local = host == "localhost" or host.endswith(".localhost")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
        return False
    return host == rp_id or host.endswith(f".{rp_id}")


def _check_authenticator_data(data: bytes, rp_id: str) -> None:
    if len(data) < _LEAST_BYTES or data[:_HASH_BYTES] != sha256(rp_id.encode()).digest():
        raise NotAsserted(f"the authenticator signed for another site than {rp_id}")
    flags = data[_HASH_BYTES]
    if not flags & _USER_PRESENT:
        raise NotAsserted("nobody was present at the authenticator")
    if not flags & _USER_VERIFIED:
        raise NotAsserted("the authenticator did not verify who was there (PIN or biometrics)")
    if len(data) > _LEAST_BYTES and not flags & _HAS_EXTENSIONS:
        raise NotAsserted("its data have more than they say")
