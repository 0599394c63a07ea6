"""The part of an audit record that shows what can be learnt from a release, with its error."""

from functools import partial
from typing import Annotated

from pydantic import Field

from hallmark.schemas.documents.audit_pairs import Matrix
from hallmark.schemas.documents.labels import PublicSection, Shown, Tag

_PAID = Tag.PAID
_measured = partial(Shown, tag=_PAID, unit="as the question asks", sample="measured")


class GroupAnswer(PublicSection):
    """The answer for one group of records, and the interval that the noise leaves."""

    group: Annotated[str, Shown("Group")]
    estimate: Annotated[float, _measured("Estimate")]
    low: Annotated[float, _measured("At least")]
    high: Annotated[float, _measured("At most")]
    of_records: Annotated[
        float | None,
        Shown("In the synthetic records", _PAID, unit="as the question asks", sample="synthetic"),
    ] = None

    @property
    def records_mislead(self) -> bool:
        """Whether the records' own answer lies outside the interval."""
        return self.of_records is not None and not self.low <= self.of_records <= self.high


class AnsweredQuestion(PublicSection):
    """A question, as `hallmark query` takes it, and its answers."""

    question: Annotated[str, Shown("Question", form="code")]
    basis: Annotated[str, Shown("The intervals rest on")]
    answers: Annotated[
        tuple[GroupAnswer, ...], Field(min_length=1), Shown("Estimates and intervals", _PAID)
    ]
    left_out: Annotated[int, Shown("Groups not shown", unit="groups")] = 0

    @property
    def misled(self) -> tuple[str, ...]:
        """The groups where the synthetic records' own answer lies outside the interval."""
        return tuple(one.group for one in self.answers if one.records_mislead)


class KeptNeed(PublicSection):
    """What a need of the spec came to, from the noisy tables alone."""

    question: Annotated[str, Shown("Need", form="code")]
    within: Annotated[float, Shown("Good enough", unit="as the question asks")]
    confidence: Annotated[float, Shown("Confidence", form="percent")]
    stated_by: Annotated[str, Shown("Stated by")]
    is_kept: Annotated[bool, Shown("Kept", _PAID)]
    group: Annotated[str, Shown("Widest interval", _PAID)] = ""
    estimate: Annotated[float | None, _measured("Estimate")] = None
    low: Annotated[float | None, _measured("At least")] = None
    high: Annotated[float | None, _measured("At most")] = None
    reason: Annotated[str, Shown("Why there is no interval", _PAID)] = ""

    @property
    def half_width(self) -> float | None:
        """Of the widest group's interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


class MeasuredMatrix(Matrix):
    """The same of what the noisy tables tell; none for pairs that they do not."""

    values: Annotated[
        tuple[tuple[Annotated[float, Field(ge=-1, le=1)] | None, ...], ...],
        Shown("Values", _PAID, unit="from -1 to 1", sample="measured"),
    ]


class Correlations(PublicSection):
    """Correlations that the noisy tables tell, beside those of the synthetic records."""

    answers: Annotated[
        tuple[GroupAnswer, ...], Field(min_length=1), Shown("Strongest correlations", _PAID)
    ]
    told: Annotated[int, Shown("Correlations told by the noisy tables", unit="pairs")]
    attenuated: Annotated[
        tuple[str, ...], Shown("Weaker in the records than the noise explains", _PAID)
    ] = ()
    estimates: Annotated[MeasuredMatrix | None, Shown("Correlation matrix", _PAID)] = None
    deviations: Annotated[MeasuredMatrix | None, Shown("Deviations of the matrix", _PAID)] = None


class Learnt(PublicSection):
    """Questions that were asked of the release itself, from its noisy tables alone."""

    file: Annotated[str, Shown("File with the noisy tables", form="code")]
    confidence: Annotated[float, Shown("Confidence of each interval", form="percent")]
    questions: Annotated[tuple[AnsweredQuestion, ...], Shown("Questions asked", _PAID)]
    correlations: Annotated[Correlations | None, Shown("Correlations", _PAID)] = None
    needs: Annotated[tuple[KeptNeed, ...], Shown("Needs of the spec", _PAID)] = ()

    @property
    def attenuated(self) -> tuple[str, ...]:
        """The pairs whose dependence is weaker in the records than the noise explains."""
        return self.correlations.attenuated if self.correlations is not None else ()
