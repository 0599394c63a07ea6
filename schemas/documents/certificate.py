"""`certificate.json`: how far the synthetic data can be from the private data, for programs."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hallmark.schemas.documents.labels import FORMAT_LABEL, PublicSection, Shown, Tag
from hallmark.schemas.documents.ledger_anchor import Sha256
from hallmark.schemas.documents.privacy_claim import Amount

_PAID = Tag.PAID


class CertifiedBound(PublicSection):
    """One certified loss: with the certificate's confidence, `loss <= value`.

    `value` and `terms` are on the metric's own scale, on which `share_of` is 1 (the diameter, or
    the range of the widest query); multiplied by `scale` they are in `unit`. Without a unit, the
    bound is only that share.

    Raises:
        ValueError: the value is smaller than the sum of its terms, so it would claim more than was
            proved.
    """

    target: Annotated[str, Shown("Compared")]
    columns: Annotated[
        tuple[str, ...], Shown("Columns whose joint distribution is compared, if one is")
    ] = ()
    metric: Annotated[str, Shown("Loss")]
    value: Annotated[float, Field(ge=0), Shown("Bound", _PAID, unit="share", sample="both")]
    terms: Annotated[Mapping[str, float], Shown("Terms", _PAID, unit="share", sample="both")]
    share_of: Annotated[str, Shown("Shares are of")] = "the diameter"
    scale: Annotated[float, Field(gt=0), Shown("The whole in the unit", unit="of the column")] = 1.0
    unit: Annotated[str, Shown("Unit")] = ""
    vacuous: Annotated[bool, Shown("No better than the whole", _PAID)] = False

    @model_validator(mode="after")
    def _terms_add_up(self) -> Self:
        total = sum(self.terms.values())
        if not self.vacuous and self.terms and self.value < total * (1 - 1e-9) - 1e-12:
            raise ValueError(
                f"the bound for {self.target!r} is {self.value:g}, less than the sum of its terms, "
                f"{total:g}"
            )
        return self

    @property
    def in_unit(self) -> float:
        """The bound in `unit`."""
        return self.value * self.scale


class CertificateSummary(PublicSection):
    """The certificate in one line, for the manifest."""

    confidence: Annotated[float, Shown("Confidence", form="percent")]
    bounds: Annotated[int, Shown("Certified losses")]
    vacuous: Annotated[int, Shown("Losses with a bound no better than the diameter", _PAID)]
    largest: Annotated[float, Shown("Largest bound", _PAID, unit="share of the diameter")]
    largest_target: Annotated[str, Shown("Largest bound is for", _PAID)]


class CertifiedFile(PublicSection):
    """A file of records made elsewhere, which a certificate is about."""

    name: Annotated[str, Field(min_length=1), Shown("Certified file", form="code")]
    sha256: Annotated[Sha256, Shown("SHA-256 of the certified file", form="code")]
    rows: Annotated[int, Field(ge=1), Shown("Rows of the certified file", unit="rows")]


class CertificateFile(PublicSection):
    """Bounds that hold jointly with probability at least `confidence`, from released numbers only.

    Built from a mechanism's certificate with `CertificateFile.of(certificate, file)`.
    """

    format: Annotated[Literal["hallmark-certificate/1"], FORMAT_LABEL] = "hallmark-certificate/1"
    confidence: Annotated[float, Field(gt=0, lt=1), Shown("Joint confidence", form="percent")]
    bounds: Annotated[tuple[CertifiedBound, ...], Field(min_length=1), Shown("Bounds", _PAID)]
    method: Annotated[str, Shown("Method")]
    assumptions: Annotated[tuple[str, ...], Shown("Assumptions")] = ()
    cost: Annotated[
        Amount | None, Shown("Budget spent on the certificate beyond the measurements")
    ] = None
    file: Annotated[
        CertifiedFile | None, Shown("Certified file, if it is not the release's own")
    ] = None

    @classmethod
    def of(cls, certificate: object, file: CertifiedFile | None) -> Self:
        """A mechanism's certificate, for the release's own records or those in `file`."""
        return cls.model_validate(certificate, from_attributes=True).model_copy(
            update={"file": file}
        )

    def for_column(self, name: str) -> CertifiedBound | None:
        """The bound on the distribution of one column by itself, if there is one."""
        return next((bound for bound in self.bounds if bound.target == name), None)

    def summary(self) -> CertificateSummary:
        """A summary: the largest bound, and the number of bounds."""
        worst = max(self.bounds, key=lambda bound: bound.value)
        return CertificateSummary(
            confidence=self.confidence,
            bounds=len(self.bounds),
            vacuous=sum(bound.vacuous for bound in self.bounds),
            largest=worst.value,
            largest_target=worst.target,
        )
