"""Approvals: who may decide at the gates of a release, and what waits there.

A release may have two gates: before privatization (`plan`) and before publication (`disclosure`).
What is said at them is in `schemas.decisions`. An override lets a gate pass without the approvals
that are missing; it needs the role of that name.
"""

import base64
import binascii
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, field_validator

from schemas.manifest import Sha256
from schemas.section import Section

GateName = Literal["plan", "disclosure"]
Role = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$")]
OVERRIDE: Role = "override"
"""The role of those who may let a gate pass without the approvals that are missing."""

Name = Annotated[str, Field(min_length=2, max_length=200, pattern=r"^\S(.*\S)?$")]

_KEY_BYTES = 32  # of a raw Ed25519 public key


def known_as(name: str) -> str:
    """The name as it is compared: without case, spaces around or doubled, and unseen characters.

    Two spellings that are the same here are one person. Letters that only look alike, such as a
    Latin and a Cyrillic a, are not.
    """
    letters = unicodedata.normalize("NFKC", name)
    seen = "".join(letter for letter in letters if unicodedata.category(letter) != "Cf")
    return " ".join(seen.casefold().split())


class Approver(Section):
    """A person who may decide at gates."""

    name: Name
    """the person, as decisions and reports name them"""
    roles: tuple[Role, ...] = Field(min_length=1)
    """what the person may decide as, such as [methodologist]"""
    login: str | None = None
    """the account under which the person starts releases, which they then cannot approve"""
    key: str
    """the person's Ed25519 public key in base64, as `hallmark approver-key` prints it"""

    @field_validator("key")
    @classmethod
    def _check_key(cls, key: str) -> str:
        try:
            raw = base64.b64decode(key, validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        # Base64 has spare bits at its end: one key could be written in four ways.
        if len(raw) != _KEY_BYTES or base64.b64encode(raw).decode() != key:
            raise ValueError(
                "is no Ed25519 public key in base64 (44 characters); make one with "
                "hallmark approver-key and copy what it prints"
            )
        return key


class Approvals(Section):
    """Who must approve a release. Each entry of a list is one approval, each by another person.

    Nobody decides at both gates, nor on a release that they started themselves.
    """

    plan: tuple[Role, ...] = ()
    """roles that must approve before the private data are asked anything; repeat a role for four
    eyes"""
    disclosure: tuple[Role, ...] = ()
    """roles that must approve the finished release before it is published"""

    def required(self, gate: GateName) -> tuple[Role, ...]:
        """The roles of a gate."""
        return self.plan if gate == "plan" else self.disclosure

    def joined(self, other: "Approvals") -> "Approvals":
        """Every approval that either asks for."""

        def both(one: tuple[Role, ...], two: tuple[Role, ...]) -> tuple[Role, ...]:
            return tuple((Counter(one) | Counter(two)).elements())

        return Approvals(
            plan=both(self.plan, other.plan), disclosure=both(self.disclosure, other.disclosure)
        )

    @field_validator("plan", "disclosure")
    @classmethod
    def _check_roles(cls, roles: tuple[Role, ...]) -> tuple[Role, ...]:
        if OVERRIDE in roles:
            raise ValueError(
                f"asks for {OVERRIDE}, the role of those who pass a gate without its approvals; "
                "name another role"
            )
        return roles


class Waiting(Section):
    """A run that stopped before a gate: what is to be decided, and how it goes on."""

    release: str
    title: str
    gate: Literal["plan", "disclosure", "embargo"]
    since: AwareDatetime
    required: tuple[Role, ...] = ()
    seen: Mapping[str, Sha256] = {}  # SHA-256 of all that the decision is about, by name
    blocking: tuple[str, ...] = ()  # what is not recorded, and only an override can pass
    until: AwareDatetime | None = None  # of an embargo
    spec: str  # path of the spec
    folder: str  # where its relative sources start
    out: str  # folder to publish in
    file: str | None = None  # path of the records to certify, where a certificate waits
    deployment: str | None = None  # id of the Prefect deployment that started it
