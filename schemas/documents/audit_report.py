"""The public audit record: everything a reviewer needs to know about a release, and its JSON twin.

`audit-report.json` is this record, and `audit-report.html` is rendered from nothing else. Unknown
values are explicitly "not recorded", so that gaps are seen, counted and asked about. Figures have
one of three tags (`schemas.documents.labels.Tag`); the base class excludes internal figures. What
only people know is labelled with the place where they state it.

Format 2 added what a disclosure review asks for; records of format 1 can still be read.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, Field, JsonValue

from hallmark.schemas.documents.audit_attacks import AttackAudit
from hallmark.schemas.documents.audit_privacy import Account, Guarantee, MechanismRecord
from hallmark.schemas.documents.audit_utility import Check, Utility
from hallmark.schemas.documents.decisions import COUNTED
from hallmark.schemas.documents.labels import (
    FORMAT_LABEL,
    NOT_RECORDED,
    OUR_MISTAKE,
    Gap,
    NotRecorded,
    PublicSection,
    Shown,
    Tag,
    gaps,
    not_recorded,
    of_profile,
    of_spec,
)
from hallmark.schemas.documents.manifest import Sha256, Software

FIRST_FORMAT: Final = "hallmark-audit-report/1"
FORMAT: Final = "hallmark-audit-report/3"
"""The format of new records; records of earlier formats can be read."""

_PAID, _UNPROTECTED = Tag.PAID, Tag.UNPROTECTED


class Identity(PublicSection):
    """Which release this is, and what it is for."""

    release_id: Annotated[str, Field(min_length=1), Shown("Release", form="code")]
    title: Annotated[str, Field(min_length=1), Shown("Title")]
    created: Annotated[AwareDatetime, Shown("Created")]
    product: Annotated[str, Shown("Product")] = "synthetic microdata"
    access: Annotated[str, Shown("Interactive or not")] = (
        "not interactive: files are published, and nobody queries the private table"
    )
    curator: Annotated[str, of_profile("Curator", "name")] = NOT_RECORDED
    curator_kind: Annotated[str, of_profile("Kind of curator", "kind", may_lack=True)] = (
        NOT_RECORDED
    )
    region: Annotated[str, of_profile("Region", "region")] = NOT_RECORDED
    sector: Annotated[str, of_profile("Sector", "sector")] = NOT_RECORDED
    contact: Annotated[str, of_profile("Contact", "contact")] = NOT_RECORDED
    corrections: Annotated[str, of_profile("How to have a mistake corrected", "corrections")] = (
        NOT_RECORDED
    )
    purpose: Annotated[str, of_spec("Intended use", "intended_use")] = NOT_RECORDED
    schedule: Annotated[str, of_spec("One-shot or periodic", "schedule")] = NOT_RECORDED
    data_source: Annotated[str, of_spec("Static or growing data", "data_source")] = NOT_RECORDED
    embargo: Annotated[str, Shown("Embargo")] = NOT_RECORDED
    legal_basis: Annotated[str, of_spec("Legal basis", "legal_basis")] = NOT_RECORDED
    clearance: Annotated[str, of_spec("Clearance number", "clearance")] = NOT_RECORDED
    authorised_by: Annotated[str, of_spec("Authorised by", "authorised_by", may_lack=True)] = (
        NOT_RECORDED
    )
    justification: Annotated[str, of_spec("Justification", "justification", may_lack=True)] = (
        NOT_RECORDED
    )
    supersedes: Annotated[str, of_spec("Supersedes", "supersedes", may_lack=True)] = NOT_RECORDED
    registry: Annotated[str, of_profile("Public registry", "registry", may_lack=True)] = (
        NOT_RECORDED
    )


class Signature(PublicSection):
    """The key that vouches for the release; the signature itself is in `manifest.sig`."""

    fingerprint: Annotated[Sha256, Shown("Fingerprint of the signing key (SHA-256)", form="code")]
    origin: Annotated[
        Literal["environment", "file", "command", "demonstration", "rehearsal"],
        Shown("Where the key came from"),
    ]
    warning: Annotated[str, Shown("Warning about the key")] = ""


class Approval(PublicSection):
    """One gate of the release process, with the person's decision."""

    gate: Annotated[str, Shown("Gate")]
    role: Annotated[str, Shown("Role")]
    person: Annotated[str, Shown("Person")] = NOT_RECORDED
    decision: Annotated[str, Shown("Decision")] = NOT_RECORDED
    decided: Annotated[AwareDatetime | NotRecorded, Shown("Time")] = NOT_RECORDED
    reason: Annotated[str, Shown("Reason")] = NOT_RECORDED
    outcome: Annotated[str, Shown("Outcome")] = COUNTED


class Override(PublicSection):
    """A rule that somebody entitled to do so set aside; always an entry of the ledger."""

    time: Annotated[AwareDatetime, Shown("Time")]
    person: Annotated[str, Shown("Person")]
    what: Annotated[str, Shown("What was set aside")]
    reason: Annotated[str, Shown("Reason")]


class ProtectedColumn(PublicSection):
    """A column's public domain, and where its bounds come from."""

    name: Annotated[str, Shown("Column", form="code")]
    description: Annotated[str, Shown("Description")]
    kind: Annotated[str, Shown("Kind")]
    domain: Annotated[str, Shown("Public domain")]  # "0 to 99 years", "7 categories"
    cells: Annotated[int, Shown("Cells", unit="cells")]
    nulls: Annotated[str, Shown("Nulls")]  # "not allowed", "allowed, written N"
    recode: Annotated[str, Shown("Recoded by")] = ""  # the public rule, if there is one
    outside: Annotated[str, Shown("Outside the domain")]  # "refused", "clamped", ...
    bound_kind: Annotated[
        Literal["law", "public", "private_estimate"] | NotRecorded, Shown("Bounds from")
    ] = NOT_RECORDED
    bound_source: Annotated[str, Shown("Reference")] = NOT_RECORDED


class CodeFile(PublicSection):
    """A public file that codes of the spec were read from; the spec holds what it listed."""

    key: Annotated[str, Shown("Key of the spec", form="code")]
    file: Annotated[str, Shown("File", form="code")]
    sha256: Annotated[Sha256, Shown("SHA-256", form="code")]


class ProtectedData(PublicSection):
    """The private table, described from public knowledge."""

    dataset: Annotated[str, Shown("Data set")]
    population: Annotated[str, Shown("Population (ledger account)")]
    asset: Annotated[str, of_spec("Asset in the catalogue", "asset", may_lack=True)] = NOT_RECORDED
    snapshot: Annotated[str, of_spec("Snapshot", "snapshot")] = NOT_RECORDED
    rows: Annotated[
        int | NotRecorded, Shown("Records in the private table", _UNPROTECTED, unit="records")
    ] = NOT_RECORDED  # to be stated only if all neighbours have the same number
    rows_policy: Annotated[str, Shown("Why the number of records is, or is not, stated")]
    collection: Annotated[str, of_spec("Collection and editing upstream", "collection")] = (
        NOT_RECORDED
    )
    exclusions: Annotated[str, Shown("Exclusions")] = NOT_RECORDED
    truncation: Annotated[str, Shown("Truncation to the privacy unit")] = NOT_RECORDED
    columns: Annotated[tuple[ProtectedColumn, ...], Field(min_length=1), Shown("Columns")]
    code_files: Annotated[tuple[CodeFile, ...], Shown("Public files of codes")] = ()


class Step(PublicSection):
    """One step after the noise."""

    step: Annotated[str, Shown("Step")]
    effect: Annotated[str, Shown("Effect", _PAID)] = ""


class EarlierTables(PublicSection):
    """An earlier release of the series, whose noisy tables helped to make the records."""

    release: Annotated[str, Shown("Release", form="code")]
    measurements: Annotated[Sha256, Shown("Its noisy tables (SHA-256)", form="code")]


class PostProcessing(PublicSection):
    """The steps after the noise, none of which looked at the private data again."""

    steps: Annotated[tuple[Step, ...], Shown("Steps")] = ()
    earlier: Annotated[tuple[EarlierTables, ...], Shown("Earlier releases that helped")] = ()
    constraints: Annotated[tuple[Check, ...], Shown("Edit rules on the final file")] = ()
    totals: Annotated[tuple[Check, ...], Shown("Public totals in the final file")] = ()
    final_checks: Annotated[tuple[Check, ...], Shown("Schema checks on the final file")] = ()
    statement: Annotated[str, Shown("Statement")] = (
        "No step that shaped the release read the private data after the last noisy answer. The "
        "internal review reads them, but none of it is published."
    )


class Actor(PublicSection):
    """A person or role, and what they see."""

    actor: Annotated[str, Shown("Who")]
    sees: Annotated[str, Shown("Sees")]


class Weakness(PublicSection):
    """A known way in which differentially private software can fail."""

    weakness: Annotated[str, Shown("Weakness")]
    applies: Annotated[Literal["no", "in part", "yes"], Shown("Applies")]
    why: Annotated[str, Shown("Why")]


class Trust(PublicSection):
    """Who must be trusted, and which attacks were tried on the mechanism."""

    model: Annotated[str, Shown("Trust model")] = (
        "central: the curator holds the private data and runs the release"
    )
    actors: Annotated[tuple[Actor, ...] | NotRecorded, of_profile("Actors", "actors")] = (
        NOT_RECORDED
    )
    environment: Annotated[str, of_profile("Machine", "environment.host")] = NOT_RECORDED
    network: Annotated[str, of_profile("Network isolation", "environment.network")] = NOT_RECORDED
    access: Annotated[str, of_profile("Who has access", "environment.access")] = NOT_RECORDED
    key_custody: Annotated[str, of_profile("Custody of the signing key", "key_custody")] = (
        NOT_RECORDED
    )
    weaknesses: Annotated[
        tuple[Weakness, ...], Shown("Known weaknesses, and whether they apply")
    ] = ()
    vulnerabilities: Annotated[
        str, of_profile("Known weaknesses there", "vulnerabilities", may_lack=True)
    ] = NOT_RECORDED
    empirical_audit: Annotated[
        str, of_profile("Empirical audit (does not prove privacy)", "empirical_audit")
    ] = NOT_RECORDED
    attacks: Annotated[AttackAudit | None, Shown("Attacks on made-up tables")] = None
    retention: Annotated[
        str, of_profile("How long evidence is kept", "retention", may_lack=True)
    ] = NOT_RECORDED


class Stage(PublicSection):
    """A stage, and how long it took."""

    stage: Annotated[str, Shown("Stage")]
    started: Annotated[AwareDatetime | None, Shown("Started", _UNPROTECTED)] = None
    seconds: Annotated[float, Field(ge=0), Shown("Time", _UNPROTECTED, unit="s")]


class ValidationRule(PublicSection):
    """A rule that was checked on the private table before anything was released.

    It says that the rule was checked, never how many rows failed: a release exists only because
    every refusing rule held, which is an unprotected fact.
    """

    column: Annotated[str, Shown("Column", form="code")]
    rule: Annotated[str, Shown("Rule")]
    consequence: Annotated[str, Shown("What a violation does")]  # "refuses the release", "clamps"


class Provenance(PublicSection):
    """Where the release came from, so that it can be traced and re-rendered."""

    run: Annotated[str, Shown("Run", form="code", mend=OUR_MISTAKE)] = NOT_RECORDED
    deployment: Annotated[str, Shown("Deployment", form="code")] = NOT_RECORDED
    started: Annotated[AwareDatetime | NotRecorded, Shown("Started", mend=OUR_MISTAKE)] = (
        NOT_RECORDED
    )
    finished: Annotated[AwareDatetime | NotRecorded, Shown("Record made", mend=OUR_MISTAKE)] = (
        NOT_RECORDED
    )
    attempts: Annotated[
        int | NotRecorded,
        Shown("Runs of this release, this one included", unit="runs", mend=OUR_MISTAKE),
    ] = NOT_RECORDED
    operator: Annotated[str, Shown("Operator", mend=OUR_MISTAKE)] = NOT_RECORDED
    software: Annotated[Software, Shown("Software")]
    hardware: Annotated[str, Shown("Hardware", mend=OUR_MISTAKE)] = NOT_RECORDED
    container: Annotated[str, Shown("Container digest", form="code")] = NOT_RECORDED
    input_digest: Annotated[str, Shown("Digest of the private input")] = (
        "not published: anybody who guessed the whole table could use it to confirm the guess, and "
        "equal digests would reveal that nothing had changed; approvals of the plan are bound to a "
        "seal under a salt that is erased"
    )
    spec_digest: Annotated[Sha256, Shown("Digest of the release spec (SHA-256)", form="code")]
    spec: Annotated[Mapping[str, JsonValue], Shown("Release spec as run")]
    rules: Annotated[tuple[ValidationRule, ...], Shown("Rules checked on the private table")]
    stages: Annotated[tuple[Stage, ...], Shown("Stages")] = ()


class AuditRecord(PublicSection):
    """The whole record; its fields are the sections of the report."""

    format: Annotated[
        Literal["hallmark-audit-report/1", "hallmark-audit-report/2", "hallmark-audit-report/3"],
        FORMAT_LABEL,
    ] = "hallmark-audit-report/3"
    identity: Annotated[Identity, Shown("Identity")]
    signature: Annotated[Signature, Shown("Signature")]
    disclosure_gate: Annotated[
        tuple[str, ...] | None, Shown("Roles that the disclosure gate requires")
    ] = None
    """empty if no gate was configured; None in records that do not say"""
    approvals: Annotated[tuple[Approval, ...], Shown("Approvals before the run")] = ()
    overrides: Annotated[tuple[Override, ...], Shown("Overrides")] = ()
    protected: Annotated[ProtectedData, Shown("Protected data")]
    guarantee: Annotated[Guarantee, Shown("Guarantee")]
    account: Annotated[Account, Shown("Privacy budget")]
    mechanism: Annotated[MechanismRecord, Shown("Mechanism")]
    post_processing: Annotated[PostProcessing, Shown("After the noise")]
    utility: Annotated[Utility, Shown("Utility and certificate")]
    trust: Annotated[Trust, Shown("Trust and threats")] = Trust()
    provenance: Annotated[Provenance, Shown("Provenance")]

    @property
    def is_rehearsal(self) -> bool:
        """Whether the record belongs to a rehearsal, not a release."""
        return self.signature.origin == "rehearsal"

    def not_recorded(self) -> tuple[str, ...]:
        """Dotted paths of everything that is not recorded, outside the spec as run."""
        return tuple(path for path in not_recorded(self) if not path.startswith("provenance.spec."))

    def blocking(self) -> tuple[Gap, ...]:
        """Gaps that stop the disclosure review, each with the way to fill it.

        The commit of the code may be missing if the image that ran is identified instead.
        """
        identified = self.provenance.container != NOT_RECORDED
        return tuple(
            gap
            for gap in gaps(self)
            if gap.mend and not (identified and gap.path == "provenance.software.commit")
        )

    @property
    def is_gated(self) -> bool:
        """Whether somebody must approve before publication, as far as the record says."""
        return self.disclosure_gate != ()

    def to_json(self) -> bytes:
        """The JSON twin: UTF-8, in the order of the sections, byte-stable for equal records."""
        return self.model_dump_json(indent=2).encode() + b"\n"
