"""A passkey in memory: what an authenticator and a browser make, and what forgers would."""

import base64
import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hallmark.schemas.documents.decisions import Assertion, Decision, SignedDecision

PRESENT_AND_VERIFIED = 0x05


@dataclass(frozen=True)
class Passkey:
    """A key pair of an authenticator, made for one site."""

    private: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    rp_id: str = "desk.example.org"
    credential: str = "aWQ"

    @property
    def text(self) -> str:
        """The line for the profile."""
        der = self.private.public_key().public_bytes(
            Encoding.DER, PublicFormat.SubjectPublicKeyInfo
        )
        return f"passkey:{self.rp_id}:{self.credential}:{text(der)}"

    def sign(
        self,
        decision: Decision,
        *,
        site: str | None = None,
        flags: int = PRESENT_AND_VERIFIED,
        **told: Any,
    ) -> SignedDecision:
        """The decision, signed by this passkey; what is told otherwise stands in the client data.

        Args:
            site: whose hash the authenticator signs; the passkey's own where it is not said.
        """
        challenge = sha256(decision.canonical_bytes()).digest()
        client_data = json.dumps(
            {
                "type": "webauthn.get",
                "challenge": base64.urlsafe_b64encode(challenge).rstrip(b"=").decode(),
                "origin": f"https://{self.rp_id}",
                "crossOrigin": False,
            }
            | told
        ).encode()
        site_hash = sha256((site or self.rp_id).encode()).digest()
        authenticator_data = site_hash + bytes([flags]) + bytes(4)
        signed = authenticator_data + sha256(client_data).digest()
        return SignedDecision(
            decision=decision,
            key=self.text,
            signature=text(
                self.private.sign(signed)
                if isinstance(self.private, ed25519.Ed25519PrivateKey)
                else self.private.sign(signed, ec.ECDSA(SHA256()))
            ),
            assertion=Assertion(
                authenticator_data=text(authenticator_data), client_data=text(client_data)
            ),
        )


def text(content: bytes) -> str:
    """Bytes in base64."""
    return base64.b64encode(content).decode()
