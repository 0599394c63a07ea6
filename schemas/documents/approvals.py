"""Approvals: who may decide at the gates of a release, and what is waiting there.

A release may have two gates: before privatization (`plan`) and before publication (`disclosure`).
`schemas.documents.decisions` records what is said at them. An override passes a gate without the
missing approvals; it requires the role of that name.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, field_validator

from hallmark.schemas.documents.approver_keys import KeyText
from hallmark.schemas.documents.manifest import Sha256
from hallmark.schemas.section import Identifier, Problem, Section

GateName = Literal["plan", "disclosure"]
CrosswalkName = Literal["nist-sp-800-226", "opinion-05-2014", "iso-iec-27559"]
Role = Identifier
OVERRIDE: Role = "override"
"""The role of people who may pass a gate without the missing approvals."""

Name = Annotated[str, Field(min_length=2, max_length=200, pattern=r"^\S(.*\S)?$")]


def known_as(name: str) -> str:
    """The name as it is compared: ignoring case, extra spaces and invisible characters.

    Two spellings that are equal here are one person. Letters that merely look alike, such as a
    Latin and a Cyrillic a, stay different.
    """
    letters = unicodedata.normalize("NFKC", name)
    seen = "".join(letter for letter in letters if unicodedata.category(letter) != "Cf")
    return " ".join(seen.casefold().split())


class Approver(Section):
    """A person who may decide at gates."""

    name: Name
    """the person's name, as decisions and reports show it"""
    roles: tuple[Role, ...] = Field(min_length=1)
    """the roles in which the person may decide, such as [methodologist]"""
    login: str | None = None
    """the account under which the person starts releases; they cannot approve those"""
    key: KeyText
    """the person's public key: in base64, as `hallmark approver-key` prints it, or a passkey, as
    the review desk's page of keys shows it"""


class Approvals(Section):
    """Who must approve a release. Each entry is one approval, and each is by a different person.

    Nobody decides at both gates, or on a release that they started themselves.
    """

    plan: tuple[Role, ...] = ()
    """roles that must approve before the private data are asked anything; list a role twice to
    require two people"""
    disclosure: tuple[Role, ...] = ()
    """roles that must approve the finished release before it is published"""
    crosswalks: tuple[CrosswalkName, ...] = ()
    """cross-walks of the report, of which every line must be answered before the finished release
    can be approved: nist-sp-800-226, opinion-05-2014 or iso-iec-27559"""

    def required(self, gate: GateName) -> tuple[Role, ...]:
        """The roles that must approve at a gate."""
        return self.plan if gate == "plan" else self.disclosure

    def joined(self, other: "Approvals") -> "Approvals":
        """Every approval that either asks for."""

        def both(one: tuple[Role, ...], two: tuple[Role, ...]) -> tuple[Role, ...]:
            return tuple((Counter(one) | Counter(two)).elements())

        return Approvals(
            plan=both(self.plan, other.plan),
            disclosure=both(self.disclosure, other.disclosure),
            crosswalks=tuple(dict.fromkeys((*self.crosswalks, *other.crosswalks))),
        )

    def _problems(self) -> Iterable[Problem]:
        if self.crosswalks and not self.disclosure:
            yield Problem(
                ("crosswalks",),
                "are looked at when the finished release is approved, but nobody must approve it; "
                "list the roles that must under disclosure",
            )

    @field_validator("plan", "disclosure")
    @classmethod
    def _check_roles(cls, roles: tuple[Role, ...]) -> tuple[Role, ...]:
        if OVERRIDE in roles:
            raise ValueError(
                f"asks for {OVERRIDE}, the role that passes a gate without its approvals; "
                "name another role"
            )
        return roles


class Waiting(Section):
    """A run that stopped at a gate: what has to be decided, and how to continue the run."""

    release: str
    title: str
    gate: Literal["plan", "disclosure", "embargo"]
    since: AwareDatetime
    required: tuple[Role, ...] = ()
    seen: Mapping[str, Sha256] = {}  # SHA-256 of everything the decision is about, by name
    blocking: tuple[str, ...] = ()  # what is not recorded, so that only an override can pass
    differs: tuple[str, ...] = ()  # why the approval of the series does not cover its plan
    until: AwareDatetime | None = None  # of an embargo
    spec: str  # path of the spec
    folder: str  # where its relative sources start
    out: str  # folder to publish in
    file: str | None = None  # path of the records to certify, where a certificate waits
    deployment: str | None = None  # id of the Prefect deployment that started it
    order: str | None = None  # number of the order that it carries out
