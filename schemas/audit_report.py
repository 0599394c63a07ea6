"""The public audit record: all that a reviewer must know of a release, and its JSON twin.

`audit-report.json` is this record and `audit-report.html` is rendered from nothing else. What is
not known is the explicit value "not recorded", so that a gap is seen, counted and asked about.
Figures come in three tags (`schemas.labels.Tag`); internal ones have no place in here, which the
base class enforces.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, Field, JsonValue, model_validator

from schemas.audit_privacy import Account, Guarantee, MechanismRecord
from schemas.certificate import CertificateFile
from schemas.labels import NOT_RECORDED, NotRecorded, PublicSection, Shown, Tag, not_recorded
from schemas.manifest import Sha256, Software

_PAID, _UNPROTECTED = Tag.PAID, Tag.UNPROTECTED


class Identity(PublicSection):
    """Which release this is, and what for."""

    release_id: Annotated[str, Field(min_length=1), Shown("Release", form="code")]
    title: Annotated[str, Field(min_length=1), Shown("Title")]
    created: Annotated[AwareDatetime, Shown("Created")]
    product: Annotated[str, Shown("Product")] = "synthetic microdata"
    curator: Annotated[str, Shown("Curator")] = NOT_RECORDED
    contact: Annotated[str, Shown("Contact and corrections")] = NOT_RECORDED
    purpose: Annotated[str, Shown("Intended use")] = NOT_RECORDED
    schedule: Annotated[str, Shown("One-shot or periodic")] = NOT_RECORDED
    legal_basis: Annotated[str, Shown("Legal basis")] = NOT_RECORDED
    clearance: Annotated[str, Shown("Clearance number")] = NOT_RECORDED
    supersedes: Annotated[str, Shown("Supersedes")] = NOT_RECORDED
    registry: Annotated[str, Shown("Registry entry")] = NOT_RECORDED


class Signature(PublicSection):
    """The key that vouches for the release; the signature itself is in `manifest.sig`."""

    fingerprint: Annotated[Sha256, Shown("Fingerprint of the signing key (SHA-256)", form="code")]
    origin: Annotated[
        Literal["environment", "file", "demonstration"], Shown("Where the key came from")
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


class ProtectedColumn(PublicSection):
    """A column's public domain, and where its bounds come from."""

    name: Annotated[str, Shown("Column", form="code")]
    description: Annotated[str, Shown("Description")]
    kind: Annotated[str, Shown("Kind")]
    domain: Annotated[str, Shown("Public domain")]  # "0 to 99 years", "7 categories"
    cells: Annotated[int, Shown("Cells")]
    nulls: Annotated[str, Shown("Nulls")]  # "not allowed", "allowed, written N"
    outside: Annotated[str, Shown("Outside the domain")]  # "refused", "clamped", ...
    bound_kind: Annotated[
        Literal["law", "public", "private_estimate"] | NotRecorded, Shown("Bounds from")
    ] = NOT_RECORDED
    bound_source: Annotated[str, Shown("Reference")] = NOT_RECORDED


class ProtectedData(PublicSection):
    """The private table, described from public knowledge."""

    dataset: Annotated[str, Shown("Data set")]
    population: Annotated[str, Shown("Population (ledger account)")]
    snapshot: Annotated[str, Shown("Snapshot")] = NOT_RECORDED
    rows: Annotated[int | NotRecorded, Shown("Records in the private table", _UNPROTECTED)] = (
        NOT_RECORDED  # to be stated only where all neighbours have as many
    )
    rows_policy: Annotated[str, Shown("Why the number of records is, or is not, stated")]
    collection: Annotated[str, Shown("Collection and editing upstream")] = NOT_RECORDED
    exclusions: Annotated[str, Shown("Exclusions")] = NOT_RECORDED
    truncation: Annotated[str, Shown("Truncation to the privacy unit")] = NOT_RECORDED
    columns: Annotated[tuple[ProtectedColumn, ...], Field(min_length=1), Shown("Columns")]


class Step(PublicSection):
    """One step after the noise."""

    step: Annotated[str, Shown("Step")]
    effect: Annotated[str, Shown("Effect", _PAID)] = ""


class Check(PublicSection):
    """A rule, and whether it held."""

    rule: Annotated[str, Shown("Rule")]
    held: Annotated[bool, Shown("Held", _PAID)]
    detail: Annotated[str, Shown("Detail", _PAID)] = ""


class PostProcessing(PublicSection):
    """What was done after the noise, none of which looked at the private data again."""

    steps: Annotated[tuple[Step, ...], Shown("Steps")] = ()
    constraints: Annotated[tuple[Check, ...], Shown("Edit rules on the final file")] = ()
    totals: Annotated[tuple[Check, ...], Shown("Public totals in the final file")] = ()
    final_checks: Annotated[tuple[Check, ...], Shown("Schema checks on the final file")] = ()
    statement: Annotated[str, Shown("Statement")] = (
        "No step after the last noisy answer read the private data."
    )


class Marginal(PublicSection):
    """The distribution of one column: in the synthetic data, and as measured with noise.

    All shares are of all rows; the null cell, where there is one, comes last. `measured` is empty
    where the mechanism's measurements do not determine the column's own distribution.

    Raises:
        ValueError: the lists do not have one entry for each cell.
    """

    column: Annotated[str, Shown("Column", form="code")]
    kind: Annotated[Literal["numeric", "date", "ordinal", "nominal", "metric"], Shown("Kind")]
    unit: Annotated[str, Shown("Unit")] = ""
    cells: Annotated[tuple[str, ...], Field(min_length=1), Shown("Cells")]
    has_null: Annotated[bool, Shown("The last cell is null")] = False
    ends: Annotated[tuple[str, str] | None, Shown("Public interval")] = None
    synthetic: Annotated[tuple[float, ...], Shown("Synthetic", _PAID, unit="share of rows")]
    measured: Annotated[tuple[float, ...], Shown("Measured", _PAID, unit="share of rows")] = ()
    half_width: Annotated[
        tuple[float, ...], Shown("Half-width of the error band", unit="share of rows")
    ] = ()

    @model_validator(mode="after")
    def _one_entry_a_cell(self) -> Self:
        for name in ("synthetic", "measured", "half_width"):
            entries = len(getattr(self, name))
            if entries != len(self.cells) and (entries or name == "synthetic"):
                raise ValueError(
                    f"{self.column}: {name} has {entries} entries for {len(self.cells)} cells"
                )
        if len(self.measured) != len(self.half_width):
            raise ValueError(f"{self.column}: measured shares need their error band")
        if self.ends is None and self.kind in ("numeric", "date"):
            raise ValueError(f"{self.column}: a {self.kind} column needs the ends of its interval")
        return self


class Utility(PublicSection):
    """How good the release is, from released quantities only."""

    certificate: Annotated[CertificateFile, Shown("Certificate", _PAID)]
    rows: Annotated[int, Shown("Synthetic rows")]
    band: Annotated[str, Shown("Error bands of the measured shares")] = NOT_RECORDED
    marginals: Annotated[tuple[Marginal, ...], Shown("Distributions", _PAID)] = ()
    acceptance: Annotated[tuple[Check, ...], Shown("Acceptance criteria")] = ()
    supported: Annotated[str, Shown("Supported uses")] = NOT_RECORDED
    unsupported: Annotated[str, Shown("Unsupported uses")] = NOT_RECORDED
    bias: Annotated[str, Shown("Known biases")] = NOT_RECORDED


class Actor(PublicSection):
    """Somebody, and what they see."""

    actor: Annotated[str, Shown("Who")]
    sees: Annotated[str, Shown("Sees")]


class Trust(PublicSection):
    """Whom one must trust, and what was tried against the mechanism."""

    model: Annotated[str, Shown("Trust model")] = (
        "central: the curator holds the private data and runs the release"
    )
    actors: Annotated[tuple[Actor, ...], Shown("Actors")] = ()
    environment: Annotated[str, Shown("Environment and access")] = NOT_RECORDED
    key_custody: Annotated[str, Shown("Custody of the signing key")] = NOT_RECORDED
    vulnerabilities: Annotated[str, Shown("Known vulnerabilities, and whether they apply")] = (
        NOT_RECORDED
    )
    empirical_audit: Annotated[str, Shown("Empirical audit (does not prove privacy)")] = (
        NOT_RECORDED
    )


class Stage(PublicSection):
    """How long a stage took."""

    stage: Annotated[str, Shown("Stage")]
    seconds: Annotated[float, Field(ge=0), Shown("Time", _UNPROTECTED, unit="s")]


class ValidationRule(PublicSection):
    """A rule that the private table was held to before anything was released.

    It says that the rule was checked, never how many rows failed: a release exists only because
    every refusing rule held, which is an unprotected fact.
    """

    column: Annotated[str, Shown("Column", form="code")]
    rule: Annotated[str, Shown("Rule")]
    consequence: Annotated[str, Shown("What a violation does")]  # "refuses the release", "clamps"


class Provenance(PublicSection):
    """Where the release came from, so that it can be traced and re-rendered."""

    run: Annotated[str, Shown("Run", form="code")] = NOT_RECORDED
    started: Annotated[AwareDatetime | NotRecorded, Shown("Started")] = NOT_RECORDED
    finished: Annotated[AwareDatetime | NotRecorded, Shown("Finished")] = NOT_RECORDED
    operator: Annotated[str, Shown("Operator")] = NOT_RECORDED
    software: Annotated[Software, Shown("Software")]
    hardware: Annotated[str, Shown("Hardware")] = NOT_RECORDED
    container: Annotated[str, Shown("Container digest", form="code")] = NOT_RECORDED
    input_digest: Annotated[
        Sha256 | NotRecorded, Shown("Digest of the private input", _UNPROTECTED, form="code")
    ] = NOT_RECORDED
    spec_digest: Annotated[Sha256, Shown("Digest of the release spec (SHA-256)", form="code")]
    spec: Annotated[Mapping[str, JsonValue], Shown("Release spec as run")]
    rules: Annotated[tuple[ValidationRule, ...], Shown("Rules checked on the private table")]
    stages: Annotated[tuple[Stage, ...], Shown("Stages")] = ()


class AuditRecord(PublicSection):
    """The whole record, section by section. Its fields are the sections of the report."""

    format: Annotated[Literal["hallmark-audit-report/1"], Shown("Format", form="code")] = (
        "hallmark-audit-report/1"
    )
    identity: Annotated[Identity, Shown("Identity")]
    signature: Annotated[Signature, Shown("Signature")]
    approvals: Annotated[tuple[Approval, ...], Shown("Approvals")] = ()
    protected: Annotated[ProtectedData, Shown("Protected data")]
    guarantee: Annotated[Guarantee, Shown("Guarantee")]
    account: Annotated[Account, Shown("Privacy budget")]
    mechanism: Annotated[MechanismRecord, Shown("Mechanism")]
    post_processing: Annotated[PostProcessing, Shown("After the noise")]
    utility: Annotated[Utility, Shown("Utility and certificate")]
    trust: Annotated[Trust, Shown("Trust and threats")] = Trust()
    provenance: Annotated[Provenance, Shown("Provenance")]

    def not_recorded(self) -> tuple[str, ...]:
        """Dotted paths of everything that is not recorded; the spec as run is not searched."""
        return tuple(path for path in not_recorded(self) if not path.startswith("provenance.spec."))

    def to_json(self) -> bytes:
        """The JSON twin: UTF-8, in the order of the sections, byte-stable for equal records."""
        return self.model_dump_json(indent=2).encode() + b"\n"
