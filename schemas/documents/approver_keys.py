"""Public keys of people who decide, each in one text form.

A key is either an Ed25519 key, 32 bytes in base64, or a passkey:

    passkey:RP_ID:CREDENTIAL_ID:KEY

RP_ID is the host name that the passkey was made for, CREDENTIAL_ID its id in base64url, by which a
browser finds it, and KEY its public key, SubjectPublicKeyInfo in DER and base64: ES256 or Ed25519.
Each part has one spelling, so that a key has one text. A person may still write one public key as
two passkeys, or as a passkey and a plain key: `identity` is equal for those.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Final

from pydantic import AfterValidator

PASSKEY: Final = "passkey:"
_PLAIN_BYTES = 32
# SubjectPublicKeyInfo of the two kinds, up to the key itself (RFC 8410; RFC 5480, uncompressed).
_ED25519 = bytes.fromhex("302a300506032b6570032100")
_ES256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004")
_POINT_BYTES = 64
_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?=.{{1,253}}\Z)({_LABEL}\.)*(?=[a-z]){_LABEL}")  # an address ends in digits


class NoKey(ValueError):
    """A text that is no public key in the form that is required; the message says what to do."""


@dataclass(frozen=True)
class ApproverKey:
    """A person's public key.

    Attributes:
        identity: SubjectPublicKeyInfo in DER, which no two people share.
        rp_id: the host name that a passkey was made for; empty for a plain key.
        credential_id: of a passkey, in base64url.
    """

    identity: bytes
    rp_id: str = ""
    credential_id: str = ""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the public key, in hexadecimal, as of a key that signs releases."""
        return sha256(self.identity).hexdigest()

    @property
    def kind(self) -> str:
        """What the key is, in words."""
        form = "Ed25519" if self.identity.startswith(_ED25519) else "ES256"
        return f"passkey ({form}) of {self.rp_id}" if self.rp_id else form


def approver_key(text: str) -> ApproverKey:
    """The key that a text says.

    Raises:
        NoKey: the text is neither form, or does not spell it as it must be.
    """
    return _passkey(text) if text.startswith(PASSKEY) else _plain(text)


def _checked(text: str) -> str:
    approver_key(text)
    return text


KeyText = Annotated[str, AfterValidator(_checked)]
"""The text of a key, in its one spelling."""


def plain_text(raw: bytes) -> str:
    """The text of an Ed25519 key of 32 bytes."""
    return base64.b64encode(raw).decode()


def _plain(text: str) -> ApproverKey:
    raw = _canonical_base64(text)
    if raw is None or len(raw) != _PLAIN_BYTES:
        raise NoKey(
            "is not an Ed25519 public key in base64 (44 characters), nor a passkey; make one with "
            "hallmark approver-key, or on the page of keys at the review desk, and copy what it "
            "shows"
        )
    return ApproverKey(_ED25519 + raw)


def _passkey(text: str) -> ApproverKey:
    parts = text.removeprefix(PASSKEY).split(":")
    if len(parts) != 3:
        raise NoKey("is not a passkey (passkey:HOST:ID:KEY); copy the whole line")
    rp_id, credential_id, key = parts
    if not _HOST.fullmatch(rp_id):
        raise NoKey(
            f"is a passkey of {rp_id!r}, which is no host name in lower case (an address is none, "
            "either); make it at a desk that is opened by its name"
        )
    identity = _canonical_base64(key)
    lengths = {_ED25519: _PLAIN_BYTES, _ES256: _POINT_BYTES}
    if identity is None or not any(
        identity.startswith(head) and len(identity) == len(head) + length
        for head, length in lengths.items()
    ):
        raise NoKey("is not a passkey with a public key for ES256 or Ed25519; copy the whole line")
    if not credential_id or _canonical_base64url(credential_id) is None:
        raise NoKey("is not a passkey with an id in base64url; copy the whole line")
    return ApproverKey(identity, rp_id, credential_id)


def _canonical_base64(text: str) -> bytes | None:
    """What a text in base64 stands for; None for another spelling, such as with spare bits set."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return content if base64.b64encode(content).decode() == text else None


def _canonical_base64url(text: str) -> bytes | None:
    if not re.fullmatch(r"[A-Za-z0-9_-]+", text):
        return None
    standard = text.replace("-", "+").replace("_", "/")
    return _canonical_base64(standard + "=" * (-len(text) % 4))
