"""The privacy claim of a release: the one sentence that every document of it must repeat alike."""

import math
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from schemas.exact import Exact
from schemas.labels import PublicSection, Shown, Tag


class Amount(PublicSection):
    """A part of a budget, exact. Built from a `Budget` with `Amount.model_validate(budget)`."""

    epsilon: Annotated[Exact, Shown("Epsilon")]
    delta: Annotated[Exact, Shown("Delta")] = Fraction(0)


class UnprotectedFact(PublicSection):
    """Something exact about the private data that the release tells outside its guarantee."""

    fact: Annotated[str, Shown("Fact", Tag.UNPROTECTED)]
    why: Annotated[str, Shown("Why it is told")]


class PrivacyClaim(PublicSection):
    """The release is (epsilon, delta)-differentially private for one unit, among tables that pass.

    Built from a spec with `schemas.promise.promised`.

    Raises:
        ValueError: epsilon is not positive, delta is outside [0, 1), or a record is said to own
            more than one record.
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
        tuple[str, ...] | None, Shown("Outside the promise, and told", Tag.UNPROTECTED)
    ] = None
    """what the promise does not cover; None where a claim of the first format does not say"""

    @model_validator(mode="after")
    def _is_a_guarantee(self) -> Self:
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be positive, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must lie in [0, 1), not {self.delta}")
        if self.unit == "record" and self.records_per_unit != 1:
            raise ValueError("where the unit is a record, records_per_unit is 1")
        return self

    @property
    def is_pure(self) -> bool:
        """Whether delta is zero."""
        return self.delta == 0

    @property
    def formal(self) -> str:
        """Which tables are neighbours, formally: both pass the rules, or there is no release."""
        passing = "tables that both pass the rules of the validation that refuse a release"
        unit = (
            "one record"
            if self.unit == "record"
            else f"the records of one person, of which there are at most {self.records_per_unit}"
        )
        if self.neighbours == "replace_one":
            return (
                f"{passing}, with as many records, which differ in {unit}; the distance of two "
                "tables is the least number of such replacements between them, and the claim is "
                "for distance 1"
            )
        return (
            f"{passing}, of which one is the other with {unit} added; the distance of two tables "
            "is the least number of such additions and removals between them, and the claim is "
            "for distance 1"
        )

    def for_group(self, units: int) -> tuple[Fraction, float]:
        """The (epsilon, delta) that holds for `units` units together.

        A chain of neighbouring tables gives epsilon times k and delta times the sum of
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
