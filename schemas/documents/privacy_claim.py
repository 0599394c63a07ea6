"""The privacy claim of a release, which all of its documents must repeat identically."""

import math
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hallmark.schemas.documents.labels import PublicSection, Shown, Tag
from hallmark.schemas.exact import Exact


class Amount(PublicSection):
    """An exact part of a budget. Built from a `Budget` with `Amount.model_validate(budget)`."""

    epsilon: Annotated[Exact, Shown("Epsilon")]
    delta: Annotated[Exact, Shown("Delta")] = Fraction(0)


class UnprotectedFact(PublicSection):
    """An exact fact about the private data that the release reveals outside its guarantee."""

    fact: Annotated[str, Shown("Fact", Tag.UNPROTECTED)]
    why: Annotated[str, Shown("Why it is revealed")]


class PrivacyClaim(PublicSection):
    """The release is (epsilon, delta)-differentially private for one unit, among tables that pass.

    Built from a spec with `schemas.promise.promised`.

    Raises:
        ValueError: epsilon is not positive, delta is outside [0, 1), or the unit is a record but
            `records_per_unit` is not 1.
    """

    neighbours: Annotated[
        Literal["replace_one", "add_remove"], Shown("Neighbouring relation", form="code")
    ]
    unit: Annotated[Literal["record", "person"], Shown("Privacy unit")]
    unit_in_words: Annotated[str, Field(min_length=1), Shown("Privacy unit in plain words")]
    records_per_unit: Annotated[
        int, Field(ge=1), Shown("Records of one unit, at most", unit="records")
    ] = 1
    epsilon: Annotated[Exact, Shown("Epsilon")]
    delta: Annotated[Exact, Shown("Delta")]
    unprotected: Annotated[
        tuple[str, ...] | None, Shown("Revealed outside the guarantee", Tag.UNPROTECTED)
    ] = None
    """what the guarantee does not cover; None if a claim of the first format does not say"""

    @model_validator(mode="after")
    def _is_a_guarantee(self) -> Self:
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be positive, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must lie in [0, 1), not {self.delta}")
        if self.unit == "record" and self.records_per_unit != 1:
            raise ValueError("if the unit is a record, records_per_unit must be 1")
        return self

    @property
    def is_pure(self) -> bool:
        """Whether delta is zero."""
        return self.delta == 0

    @property
    def formal(self) -> str:
        """The formal definition of neighbouring tables, both of which pass the rules."""
        passing = "tables that both pass the rules of the validation that refuse a release"
        unit = (
            "one record"
            if self.unit == "record"
            else f"the records of one person, of which there are at most {self.records_per_unit}"
        )
        if self.neighbours == "replace_one":
            as_many = ", with as many records," if self.unit == "record" else ""
            return (
                f"{passing}{as_many} which differ in {unit}; the distance of two tables is the "
                "least number of such replacements between them, and the claim is for distance 1"
            )
        return (
            f"{passing}, of which one is the other with {unit} added; the distance of two tables "
            "is the least number of such additions and removals between them, and the claim is "
            "for distance 1"
        )

    def for_group(self, units: int) -> tuple[Fraction, float]:
        """The (epsilon, delta) that holds for several units together.

        A chain of k = `units` neighbouring tables multiplies epsilon by k, and delta by the sum of
        exp(i epsilon) over i < k; delta is rounded up and capped at 1.

        Source: Vadhan, "The complexity of differential privacy" (2017), Lemma 2.2 (its proof).
        """
        epsilon, delta = float(self.epsilon), float(self.delta)
        if delta == 0 or units == 1:
            return units * self.epsilon, delta
        if (units - 1) * epsilon > 700:  # exp would overflow; the sum exceeds any 1/delta of use
            return units * self.epsilon, 1.0
        factor = math.fsum(math.exp(i * epsilon) for i in range(units))
        return units * self.epsilon, min(1.0, delta * factor * (1 + 1e-9))
