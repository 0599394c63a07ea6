"""The part of the audit record on utility, computed from released quantities only.

Every figure names the records it is computed from, so that a report can print how many there are.
"""

from functools import partial
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hallmark.schemas.documents.audit_changes import Changed
from hallmark.schemas.documents.audit_pairs import Pairs
from hallmark.schemas.documents.audit_questions import Learnt
from hallmark.schemas.documents.certificate import CertificateFile
from hallmark.schemas.documents.labels import (
    NOT_RECORDED,
    OUR_MISTAKE,
    PublicSection,
    Shown,
    Tag,
    of_spec,
)

_PAID = Tag.PAID
_measured = partial(Shown, tag=_PAID, unit="mean of a record", sample="measured")


class Check(PublicSection):
    """A rule, and whether it held."""

    rule: Annotated[str, Shown("Rule")]
    held: Annotated[bool, Shown("Held", _PAID)]
    detail: Annotated[str, Shown("Detail", _PAID)] = ""


class Marginal(PublicSection):
    """The distribution of one column: in the synthetic data, and as measured with noise.

    Shares are of all rows; the null cell, if there is one, comes last. `measured` is empty if the
    mechanism's measurements do not determine the distribution of the column.

    Raises:
        ValueError: the lists do not have one entry for each cell.
    """

    column: Annotated[str, Shown("Column", form="code")]
    kind: Annotated[Literal["numeric", "date", "ordinal", "nominal", "metric"], Shown("Kind")]
    unit: Annotated[str, Shown("Unit of its values")] = ""
    cells: Annotated[tuple[str, ...], Field(min_length=1), Shown("Cells")]
    has_null: Annotated[bool, Shown("The last cell is null")] = False
    ends: Annotated[tuple[str, str] | None, Shown("Public interval")] = None
    synthetic: Annotated[
        tuple[float, ...], Shown("Synthetic", _PAID, unit="share of rows", sample="synthetic")
    ]
    measured: Annotated[
        tuple[float, ...], Shown("Measured", _PAID, unit="share of records", sample="measured")
    ] = ()
    half_width: Annotated[
        tuple[float, ...],
        Shown("Half-width of the error band", unit="share of records", sample="measured"),
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


class Answer(PublicSection):
    """One query of a workload, with its released answer; answers are means over all records."""

    query: Annotated[str, Shown("Query", form="code")]
    answer: Annotated[float, _measured("Released answer")]
    bound: Annotated[float, _measured("Error, at most")]
    records: Annotated[
        float, Shown("Answer of the records", _PAID, unit="mean of a row", sample="synthetic")
    ]


class Answers(PublicSection):
    """The answers to a workload of linear queries; a file of the release lists all of them."""

    file: Annotated[str, Shown("File with all answers", form="code")]
    queries: Annotated[int, Field(ge=1), Shown("Queries answered", unit="queries")]
    largest: Annotated[
        float,
        Shown("Largest error bound of an answer", _PAID, unit="mean of a record", sample="both"),
    ]
    median: Annotated[
        float,
        Shown("Median error bound of an answer", _PAID, unit="mean of a record", sample="both"),
    ]
    shown: Annotated[tuple[Answer, ...], Shown("The largest answers", _PAID)] = ()


class Utility(PublicSection):
    """The utility of the release, computed from released quantities only."""

    certificate: Annotated[CertificateFile, Shown("Certificate", _PAID)]
    rows: Annotated[int, Shown("Synthetic rows", unit="rows")]
    measured_records: Annotated[str, Shown("Private records behind the measurements", _PAID)] = (
        NOT_RECORDED
    )
    band: Annotated[str, Shown("Error bands of the measured shares")] = NOT_RECORDED
    marginals: Annotated[tuple[Marginal, ...], Shown("Distributions", _PAID)] = ()
    pairs: Annotated[Pairs | None, Shown("Columns together", _PAID)] = None
    answers: Annotated[Answers | None, Shown("Answers of queries", _PAID)] = None
    learnt: Annotated[Learnt | None, Shown("Answers from the noisy tables", _PAID)] = None
    changed: Annotated[Changed | None, Shown("Since the period before", _PAID)] = None
    acceptance: Annotated[tuple[Check, ...], Shown("Acceptance criteria")] = ()
    supported: Annotated[str, of_spec("Supported uses", "supported_uses")] = NOT_RECORDED
    unsupported: Annotated[str, of_spec("Unsupported uses", "unsupported_uses")] = NOT_RECORDED
    bias: Annotated[str, Shown("Biases known from the run", mend=OUR_MISTAKE)] = NOT_RECORDED
    further_biases: Annotated[str, of_spec("Further biases", "known_biases", may_lack=True)] = (
        NOT_RECORDED
    )
    intervals: Annotated[str, Shown("How to compute intervals")] = (
        "Every quantity with a certified loss lies within the released value plus or minus the "
        "bound, jointly with the certificate's confidence. Intervals from resampling the synthetic "
        "rows are too narrow, since they ignore the noise."
    )

    @property
    def attenuated(self) -> tuple[str, ...]:
        """The pairs whose dependence is weaker in the records than the noise explains."""
        return self.learnt.attenuated if self.learnt is not None else ()
