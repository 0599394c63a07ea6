"""Statements at the gates of a release: that a gate was opened, what was decided, that it was
passed.

All statements about a release form one chain. People who decide sign the SHA-256 of the statement
before, so that a decision fits only one place in the chain: earlier statements cannot be left out
afterwards, and the same decision cannot be submitted again.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, model_validator

from hallmark.schemas.documents.approvals import GateName, Name, Role
from hallmark.schemas.documents.labels import FORMAT_LABEL, PublicSection, Shown
from hallmark.schemas.documents.manifest import Sha256

FIRST_DECISION = "hallmark-decision/1"
"""The format of decisions that do not name the statement before them."""

COUNTED = "counted"
"""The outcome of a decision that counted when its gate was passed."""

FOR_THE_SERIES = "counted: approved once for the whole series, at the gate of "
"""The outcome, but for the name of the release, of decisions about the plan of a series."""


class Saying(PublicSection):
    """One statement in the chain."""

    def digest(self) -> str:
        """SHA-256 of the statement's canonical JSON text, which the next statement names."""
        return sha256(_canonical(self.model_dump(mode="json"))).hexdigest()


class Opening(Saying):
    """A gate was opened: what it is about, and who must approve. Earlier decisions are void."""

    format: Annotated[Literal["hallmark-opening/1"], FORMAT_LABEL] = "hallmark-opening/1"
    release: Annotated[str, Field(min_length=1), Shown("Release", form="code")]
    gate: Annotated[GateName, Shown("Gate")]
    required: Annotated[tuple[Role, ...], Shown("Roles that must approve")]
    seen: Annotated[
        Mapping[str, Sha256], Field(min_length=1), Shown("What must be reviewed (SHA-256)")
    ]
    by: Annotated[str, Field(min_length=1), Shown("Operator")]
    opened: Annotated[AwareDatetime, Shown("Time")]
    reason: Annotated[str, Shown("Why it was reopened after a rejection")] = ""
    nonce: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$"), Shown("Random number", form="code")]
    previous: Annotated[Sha256 | None, Shown("Statement before (SHA-256)", form="code")]
    series: Annotated[
        "SeriesApproval | None",
        # Left out where there is none: digests of other openings stay what they were.
        Field(exclude_if=lambda series: series is None),
        Shown("Approval of the plan of the whole series"),
    ] = None


class Decision(PublicSection):
    """One person's decision at one gate, about what they saw."""

    format: Annotated[Literal["hallmark-decision/1", "hallmark-decision/2"], FORMAT_LABEL] = (
        "hallmark-decision/2"
    )
    release: Annotated[str, Field(min_length=1), Shown("Release", form="code")]
    gate: Annotated[GateName, Shown("Gate")]
    role: Annotated[Role, Shown("Role")]
    person: Annotated[Name, Shown("Person")]
    decision: Annotated[Literal["approve", "reject", "override"], Shown("Decision")]
    reason: Annotated[str, Field(min_length=3, max_length=2000), Shown("Reason")]
    decided: Annotated[AwareDatetime, Shown("Time")]
    seen: Annotated[Mapping[str, Sha256], Field(min_length=1), Shown("What was seen (SHA-256)")]
    previous: Annotated[Sha256 | None, Shown("Statement before (SHA-256)", form="code")] = None

    def canonical_bytes(self) -> bytes:
        """The canonical JSON text of the decision, which its signature covers."""
        content = self.model_dump(mode="json")
        if self.format == FIRST_DECISION:
            del content["previous"]
        return _canonical(content)

    @model_validator(mode="after")
    def _check_previous(self) -> "Decision":
        if (self.previous is None) != (self.format == FIRST_DECISION):
            raise ValueError("only decisions of the first format name no statement before them")
        return self


class Assertion(PublicSection):
    """What a passkey signs instead of the decision: data that name the decision's SHA-256."""

    authenticator_data: Annotated[str, Shown("Authenticator data (base64)", form="code")]
    client_data: Annotated[str, Shown("Client data (base64)", form="code")]


class SignedDecision(Saying):
    """A decision with its proof."""

    decision: Annotated[Decision, Shown("Decision")]
    key: Annotated[str, Shown("Public key of the person (base64), or passkey", form="code")]
    signature: Annotated[str, Shown("Signature (base64)", form="code")]
    assertion: Annotated[
        Assertion | None,
        # Left out where there is none: digests of decisions by other keys stay what they were.
        Field(exclude_if=lambda assertion: assertion is None),
        Shown("What the passkey signed"),
    ] = None


class Passage(Saying):
    """A gate was passed: which decisions counted, and why others did not."""

    format: Annotated[Literal["hallmark-passage/1"], FORMAT_LABEL] = "hallmark-passage/1"
    release: Annotated[str, Field(min_length=1), Shown("Release", form="code")]
    gate: Annotated[GateName, Shown("Gate")]
    passed: Annotated[AwareDatetime, Shown("Time")]
    counted: Annotated[tuple[Sha256, ...], Shown("Decisions that counted (SHA-256)")]
    void: Annotated[Mapping[Sha256, str], Shown("Decisions that did not count, and why")] = {}
    previous: Annotated[Sha256, Shown("Statement before (SHA-256)", form="code")]


Link = Opening | SignedDecision | Passage


class SeriesApproval(PublicSection):
    """Everything that was said at the gate where people approved the plan of a whole series: that
    of the plan of one of its releases, from the first opening to the passage."""

    release: Annotated[str, Field(min_length=1), Shown("Release at whose gate", form="code")]
    said: Annotated[tuple[Link, ...], Field(min_length=1), Shown("All statements")]


Opening.model_rebuild()


class Outcome(PublicSection):
    """A decision and its outcome, for people; the proof is elsewhere in the file."""

    gate: Annotated[GateName, Shown("Gate")]
    role: Annotated[Role, Shown("Role")]
    person: Annotated[Name, Shown("Person")]
    decision: Annotated[Literal["approve", "reject", "override"], Shown("Decision")]
    decided: Annotated[AwareDatetime, Shown("Time")]
    reason: Annotated[str, Shown("Reason")]
    outcome: Annotated[str, Shown("Outcome")]  # COUNTED, or why it did not count


class ApprovalsFile(PublicSection):
    """`approvals.json` of a release: every statement at its gates, in order."""

    format: Annotated[Literal["hallmark-approvals/2"], FORMAT_LABEL] = "hallmark-approvals/2"
    release: Annotated[str, Shown("Release", form="code")]
    decisions: Annotated[tuple[Outcome, ...], Shown("All decisions, with their outcomes")]
    said: Annotated[tuple[Link, ...], Shown("All statements, with their proofs")]


class FirstApprovalsFile(PublicSection):
    """`approvals.json` in its first format: the decisions that counted."""

    format: Annotated[Literal["hallmark-approvals/1"], FORMAT_LABEL]
    release: Annotated[str, Shown("Release", form="code")]
    decisions: Annotated[tuple[SignedDecision, ...], Shown("Decisions that counted")]


def _canonical(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")
