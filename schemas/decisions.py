"""What is said at the gates of a release: that they were opened, what was decided, that they were
passed.

Everything that is said about a release is one chain. Whoever decides signs the SHA-256 of what was
said last, so a decision fits one place in the chain and no other: what was said before it cannot be
left out afterwards, and the same decision cannot be sent again.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, model_validator

from schemas.approvals import GateName, Name, Role
from schemas.labels import PublicSection, Shown
from schemas.manifest import Sha256

FIRST_DECISION = "hallmark-decision/1"
"""The format of decisions that name nothing which was said before them."""

COUNTED = "counted"
"""The outcome of a decision that a gate was passed on."""


class Saying(PublicSection):
    """One link of the chain."""

    def digest(self) -> str:
        """SHA-256 of the one JSON text of what was said, which the next link names."""
        return sha256(_canonical(self.model_dump(mode="json"))).hexdigest()


class Opening(Saying):
    """A gate was opened: about what, and who must approve. Earlier decisions count no longer."""

    format: Annotated[Literal["hallmark-opening/1"], Shown("Format", form="code")] = (
        "hallmark-opening/1"
    )
    release: Annotated[str, Field(min_length=1), Shown("Release", form="code")]
    gate: Annotated[GateName, Shown("Gate")]
    required: Annotated[tuple[Role, ...], Shown("Roles that must approve")]
    seen: Annotated[
        Mapping[str, Sha256], Field(min_length=1), Shown("What is to be seen (SHA-256)")
    ]
    by: Annotated[str, Field(min_length=1), Shown("Operator")]
    opened: Annotated[AwareDatetime, Shown("Time")]
    reason: Annotated[str, Shown("Why it was opened anew after a rejection")] = ""
    nonce: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$"), Shown("Number drawn", form="code")]
    previous: Annotated[Sha256 | None, Shown("What was said before (SHA-256)", form="code")]


class Decision(PublicSection):
    """One person's decision at one gate, over what they saw."""

    format: Annotated[
        Literal["hallmark-decision/1", "hallmark-decision/2"], Shown("Format", form="code")
    ] = "hallmark-decision/2"
    release: Annotated[str, Field(min_length=1), Shown("Release", form="code")]
    gate: Annotated[GateName, Shown("Gate")]
    role: Annotated[Role, Shown("Role")]
    person: Annotated[Name, Shown("Person")]
    decision: Annotated[Literal["approve", "reject", "override"], Shown("Decision")]
    reason: Annotated[str, Field(min_length=3, max_length=2000), Shown("Reason")]
    decided: Annotated[AwareDatetime, Shown("Time")]
    seen: Annotated[Mapping[str, Sha256], Field(min_length=1), Shown("What was seen (SHA-256)")]
    previous: Annotated[Sha256 | None, Shown("What was said before (SHA-256)", form="code")] = None

    def canonical_bytes(self) -> bytes:
        """The one JSON text of this decision, which its signature covers."""
        content = self.model_dump(mode="json")
        if self.format == FIRST_DECISION:
            del content["previous"]
        return _canonical(content)

    @model_validator(mode="after")
    def _check_previous(self) -> "Decision":
        if (self.previous is None) != (self.format == FIRST_DECISION):
            raise ValueError("only decisions of the first format name nothing that was said before")
        return self


class SignedDecision(Saying):
    """A decision with its proof."""

    decision: Annotated[Decision, Shown("Decision")]
    key: Annotated[str, Shown("Public key of the person (Ed25519, base64)", form="code")]
    signature: Annotated[str, Shown("Signature (Ed25519, base64)", form="code")]


class Passage(Saying):
    """A gate was passed: on which decisions, and why others did not count."""

    format: Annotated[Literal["hallmark-passage/1"], Shown("Format", form="code")] = (
        "hallmark-passage/1"
    )
    release: Annotated[str, Field(min_length=1), Shown("Release", form="code")]
    gate: Annotated[GateName, Shown("Gate")]
    passed: Annotated[AwareDatetime, Shown("Time")]
    counted: Annotated[tuple[Sha256, ...], Shown("Decisions that counted (SHA-256)")]
    void: Annotated[Mapping[Sha256, str], Shown("Decisions that did not, and why")] = {}
    previous: Annotated[Sha256, Shown("What was said before (SHA-256)", form="code")]


Link = Opening | SignedDecision | Passage


class Outcome(PublicSection):
    """A decision and what became of it, for people; the proof is beside it."""

    gate: Annotated[GateName, Shown("Gate")]
    role: Annotated[Role, Shown("Role")]
    person: Annotated[Name, Shown("Person")]
    decision: Annotated[Literal["approve", "reject", "override"], Shown("Decision")]
    decided: Annotated[AwareDatetime, Shown("Time")]
    reason: Annotated[str, Shown("Reason")]
    outcome: Annotated[str, Shown("What became of it")]  # COUNTED, or why it did not


class ApprovalsFile(PublicSection):
    """`approvals.json` of a release: everything that was said at its gates, in order."""

    format: Annotated[Literal["hallmark-approvals/2"], Shown("Format", form="code")] = (
        "hallmark-approvals/2"
    )
    release: Annotated[str, Shown("Release", form="code")]
    decisions: Annotated[tuple[Outcome, ...], Shown("All decisions, and what became of them")]
    said: Annotated[tuple[Link, ...], Shown("Everything that was said, with its proof")]


class FirstApprovalsFile(PublicSection):
    """`approvals.json` as it was before: the decisions that counted."""

    format: Annotated[Literal["hallmark-approvals/1"], Shown("Format", form="code")]
    release: Annotated[str, Shown("Release", form="code")]
    decisions: Annotated[tuple[SignedDecision, ...], Shown("Decisions that counted")]


def _canonical(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")
