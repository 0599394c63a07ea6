"""`agency-keys.json`: the agency's register of keys, with the dates between which each is valid.

The agency publishes it beside its public key, so that anybody can tell whether a key was valid when
it signed. Nothing in it is secret, and nothing in it is signed: a key that was stolen would vouch
for itself. Readers must get it from the agency, as they get its public key.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import AwareDatetime, field_validator, model_validator

from hallmark.schemas.documents.approvals import Name
from hallmark.schemas.documents.approver_keys import KeyText, NoKey, approver_key
from hallmark.schemas.section import Section

RevocationReason = Literal["compromised", "lost", "left", "superseded"]


class Revocation(Section):
    """The end of a key by decision, not by date."""

    at: AwareDatetime
    """from when on nothing that the key signs counts"""
    reason: RevocationReason
    """compromised: somebody else may have the key, so that only a time stamp proves that something
    was signed before; lost: nobody can use it any more; left: its person no longer works here;
    superseded: another key took its place"""


class RegisteredKey(Section):
    """A key and its dates."""

    key: KeyText
    """the public key: Ed25519 in base64, or a passkey, as in the profile"""
    since: AwareDatetime
    """from when on it is valid"""
    until: AwareDatetime | None = None
    """until when it is valid, after which another is used; what it signed before stays valid"""
    revoked: Revocation | None = None

    @property
    def identity(self) -> bytes:
        """What no two entries share."""
        return approver_key(self.key).identity

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the public key, in hexadecimal."""
        return approver_key(self.key).fingerprint

    def ended(self, at: AwareDatetime) -> str:
        """Why the key no longer makes valid signatures, of what is signed at a time; else empty."""
        if self.revoked is not None:
            end, why = self.revoked.at, self.revoked.reason
            return f"was revoked from {end:%Y-%m-%d %H:%M %Z} on ({why})"
        if self.until is not None and at >= self.until:
            return f"was retired on {self.until:%Y-%m-%d %H:%M %Z}"
        if at < self.since:
            return f"is valid only from {self.since:%Y-%m-%d %H:%M %Z} on"
        return ""

    @model_validator(mode="after")
    def _check_dates(self) -> "RegisteredKey":
        for end in (self.until, None if self.revoked is None else self.revoked.at):
            if end is not None and end < self.since:
                raise ValueError(f"ends on {end:%Y-%m-%d}, before it begins")
        return self


class PersonsKey(RegisteredKey):
    """A key with which a person signs decisions."""

    person: Name
    """whose key it is, as the profile lists them"""


class AgencyKeys(Section):
    """The register: keys that sign releases, and keys with which people decide about them."""

    format: Literal["hallmark-keys/1"] = "hallmark-keys/1"
    signing: tuple[RegisteredKey, ...] = ()
    """keys that sign releases"""
    approvers: tuple[PersonsKey, ...] = ()
    """keys with which people sign decisions"""

    @property
    def entries(self) -> Iterator[RegisteredKey]:
        """All keys."""
        yield from self.signing
        yield from self.approvers

    def signing_key(self, fingerprint: str) -> RegisteredKey | None:
        """The entry of a key that signs releases; None where it is not listed."""
        return next((one for one in self.signing if one.fingerprint == fingerprint), None)

    def approvers_key(self, key: str) -> PersonsKey | None:
        """The entry of a person's key, in whatever form it is listed; None where it is not."""
        identity = approver_key(key).identity
        return next((one for one in self.approvers if one.identity == identity), None)

    @field_validator("signing")
    @classmethod
    def _check_signing(cls, keys: tuple[RegisteredKey, ...]) -> tuple[RegisteredKey, ...]:
        if any(approver_key(one.key).rp_id for one in keys):
            raise NoKey("a passkey cannot sign releases; list it under approvers")
        return keys

    @model_validator(mode="after")
    def _check_once(self) -> "AgencyKeys":
        identities = [one.identity for one in self.entries]
        if len(set(identities)) < len(identities):
            raise ValueError("a key is listed twice; each has one entry, and one holder")
        return self
