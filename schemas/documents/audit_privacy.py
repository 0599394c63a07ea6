"""The part of the audit record on privacy: the guarantee, its cost, and how noise was drawn.

Figures that anybody could compute before the run are public. What a generator reports about its
work is computed from noisy answers, which the budget covers, and tagged as paid.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Annotated, Any, Self

from pydantic import AwareDatetime, Field, JsonValue, model_validator

from hallmark.schemas.documents.labels import (
    NOT_RECORDED,
    OUR_MISTAKE,
    NotRecorded,
    PublicSection,
    Shown,
    Tag,
    of_spec,
)
from hallmark.schemas.documents.manifest import Sha256
from hallmark.schemas.documents.privacy_claim import Amount, PrivacyClaim, UnprotectedFact
from hallmark.schemas.exact import Exact

_PAID, _UNPROTECTED = Tag.PAID, Tag.UNPROTECTED


class GroupFactor(PublicSection):
    """The guarantee for several privacy units together, such as a household."""

    units: Annotated[int, Field(ge=1), Shown("Units together", unit="units")]
    epsilon: Annotated[Exact, Shown("Epsilon")]
    delta: Annotated[float, Shown("Delta, at most", unit="probability")]


class Guarantee(PublicSection):
    """What is guaranteed, and what is not.

    Raises:
        ValueError: the accountant's upper end is above the claimed epsilon, or `unprotected` lacks
            a fact that the claim calls unprotected.
    """

    claim: Annotated[PrivacyClaim, Shown("Claim")]
    variant: Annotated[str, Shown("Definition")]  # "pure differential privacy", "approximate ..."
    formal: Annotated[str, Shown("Neighbouring tables, formally", mend=OUR_MISTAKE)] = NOT_RECORDED
    rho: Annotated[Exact | None, Shown("Rho (zero-concentrated)")] = None
    delta_in_context: Annotated[str, Shown("Delta against the number of records")] = NOT_RECORDED
    accountant: Annotated[str, Shown("Accountant")]
    bracket: Annotated[
        tuple[float, float] | NotRecorded,
        Shown("Epsilon of the events, proven [lower, upper]", mend=OUR_MISTAKE),
    ] = NOT_RECORDED
    cross_check: Annotated[
        str, Shown("Second upper bound, by other software", mend=OUR_MISTAKE)
    ] = NOT_RECORDED
    curve: Annotated[
        tuple[tuple[float, float], ...],
        Shown("Pairs that hold at once (epsilon, delta)", unit="probability"),
    ] = ()
    curve_note: Annotated[str, Shown("Other readings of the same noise")] = ""
    groups: Annotated[tuple[GroupFactor, ...], Shown("Several units together")] = ()
    groups_source: Annotated[str, Shown("Source of the factors for several units")] = ""
    parts: Annotated[str, Shown("One attribute or one place alone")] = NOT_RECORDED
    unprotected: Annotated[
        tuple[UnprotectedFact, ...], Shown("Unprotected facts", _UNPROTECTED)
    ] = ()
    not_promised: Annotated[tuple[str, ...], Shown("Not promised")] = (
        "Conclusions about groups or about everybody: the release is meant to allow them, and they "
        "may apply to people whether or not they are in the data.",
        "Protection against side channels of the computer, such as how long the run took.",
        "Protection against an untrustworthy curator, operator or computer.",
    )

    @model_validator(mode="after")
    def _claim_covers_the_events(self) -> Self:
        # The bracket is rounded, as 1/20 is when it is proved exactly; `verify` checks the events.
        if self.bracket != NOT_RECORDED and self.bracket[1] > float(self.claim.epsilon):
            raise ValueError(
                f"the accountant proves only epsilon {self.bracket[1]}, so epsilon "
                f"{self.claim.epsilon} must not be claimed"
            )
        return self

    @model_validator(mode="after")
    def _unprotected_facts_are_explained(self) -> Self:
        explained = {fact.fact for fact in self.unprotected}
        for fact in self.claim.unprotected or ():
            if fact not in explained:
                raise ValueError(
                    f"unprotected: lacks a fact that the claim calls unprotected: {fact}"
                )
        return self


class LedgerEntry(PublicSection):
    """One line of the account.

    It gives only the day: between the reservation and a charge the private table is read, and an
    adaptive mechanism charges once per round, so finer times would reveal how long each answer
    took.
    """

    time: Annotated[date | AwareDatetime, Shown("Day, UTC")]  # earlier versions gave the moment
    release: Annotated[str, Shown("Release", form="code")]
    entry: Annotated[str, Shown("Entry")]  # "reserved", "charged", "released"
    epsilon: Annotated[Exact, Shown("Epsilon")]
    delta: Annotated[Exact, Shown("Delta")] = Fraction(0)
    digest: Annotated[str, Shown("Digest", form="code")] = NOT_RECORDED


class BudgetPart(PublicSection):
    """The part of the release's budget that was spent on one purpose."""

    purpose: Annotated[str, Shown("Purpose")]
    draws: Annotated[int | None, Field(ge=0), Shown("Draws", unit="draws")] = None
    share: Annotated[float, Field(ge=0, le=1), Shown("Share of the budget", form="percent")]
    remark: Annotated[str, Shown("Remark")] = ""


class SeriesCharges(PublicSection):
    """What the periods of a series have taken of the account so far; `composed` follows from it."""

    period: Annotated[str, Shown("Period of this release", form="code")]
    most: Annotated[int | None, Shown("Most periods that one unit may be in", unit="periods")] = (
        None
    )
    pattern: Annotated[
        tuple[int, ...] | None,
        Shown("Periods that one unit may be in, after its first", unit="periods"),
    ] = None
    taken: Annotated[Mapping[str, Exact], Shown("Rho that each period has taken")]


class Account(PublicSection):
    """The account of the population: what was authorised, what was spent, and what remains.

    Attributes:
        reserved: of releases that have drawn nothing yet; earlier versions counted it as spent.
        composed: given if the account composes by zCDP; the sum of budgets is then an upper bound,
            and what remains is roughly what one more Gaussian release can have.
    Raises:
        ValueError: the stated remainder is more than the cap less what was spent.
    """

    name: Annotated[str, Shown("Account", form="code")]
    authorised_by: Annotated[str, Shown("Authorised by", mend=OUR_MISTAKE)] = NOT_RECORDED
    cap: Annotated[Amount, Shown("Authorised in total")]
    previously_spent: Annotated[Amount, Shown("Spent by earlier releases")]
    this_release: Annotated[Amount, Shown("Spent by this release")]
    reserved: Annotated[Amount | None, Shown("Reserved for releases that have drawn nothing")] = (
        None
    )
    remaining: Annotated[Amount, Shown("Remaining")]
    composition: Annotated[str, Shown("Composition over releases")] = (
        "basic composition: epsilons and deltas add up"
    )
    composed: Annotated[
        Exact | None, Shown("Epsilon of all releases so far, at the delta authorised")
    ] = None
    series: Annotated[SeriesCharges | None, Shown("Periods of the series")] = None
    split: Annotated[tuple[BudgetPart, ...], Shown("Split of this release's budget")] = ()
    failed_runs: Annotated[
        str, Shown("Aborted and failed runs, and what they spent", mend=OUR_MISTAKE)
    ] = NOT_RECORDED
    tuning: Annotated[str, of_spec("What the parameters were tuned on", "tuning")] = NOT_RECORDED
    entries: Annotated[tuple[LedgerEntry, ...], Shown("Ledger excerpt")] = ()

    @model_validator(mode="after")
    def _remainder_is_not_overstated(self) -> Self:
        if self.composed is not None:
            return self._is_within_the_cap()
        for name in ("epsilon", "delta"):
            cap, before, now, left, reserved = (
                Fraction(0) if amount is None else getattr(amount, name)
                for amount in (
                    self.cap,
                    self.previously_spent,
                    self.this_release,
                    self.remaining,
                    self.reserved,
                )
            )
            if before + now + left + reserved > cap:
                raise ValueError(
                    f"account {self.name}: {name} {left} cannot remain of {cap} after {before} "
                    f"and {now} were spent, and {reserved} reserved"
                )
        return self

    def _is_within_the_cap(self) -> Self:
        for what, epsilon in (("spent", self.composed), ("left", self.remaining.epsilon)):
            if epsilon is not None and epsilon > self.cap.epsilon:
                raise ValueError(
                    f"account {self.name}: epsilon {epsilon} cannot be {what} of {self.cap.epsilon}"
                )
        return self


class NoiseRow(PublicSection):
    """One line of the plan's noise table."""

    query: Annotated[str, Shown("Measured")]
    cells: Annotated[int, Shown("Noisy entries", unit="entries")]
    family: Annotated[str, Shown("Noise")]
    parameter: Annotated[str, Shown("Parameter")]
    standard_deviation: Annotated[float, Shown("Standard deviation")]
    unit: Annotated[str, Shown("Its unit")] = "records"
    sensitivity: Annotated[str, Shown("Sensitivity")]
    source: Annotated[str, Shown("Source")]


class QueryFile(PublicSection):
    """A public file of queries that the release answered."""

    file: Annotated[str, Shown("File", form="code")]
    sha256: Annotated[Sha256, Shown("SHA-256", form="code")]


class Curve(PublicSection):
    """A series that the generator reported, one number per step; post-processing."""

    name: Annotated[str, Shown("Series")]
    values: Annotated[
        tuple[float, ...],
        Field(min_length=1),
        Shown("Values", _PAID, unit="the generator's own", sample="measured"),
    ]


class Generator(PublicSection):
    """What the generator reported about its work."""

    curves: Annotated[tuple[Curve, ...], Shown("Series", _PAID)] = ()
    facts: Annotated[Mapping[str, JsonValue], Shown("Facts", _PAID)] = {}

    @classmethod
    def from_history(cls, history: Mapping[str, Any]) -> Self:
        """A generator's sorted history: lists of two or more numbers are curves, the rest facts."""

        def is_series(value: Any) -> bool:
            return (
                isinstance(value, Sequence)
                and not isinstance(value, str)
                and len(value) > 1
                and all(isinstance(v, int | float) and not isinstance(v, bool) for v in value)
            )

        return cls(
            curves=tuple(
                Curve(name=k, values=tuple(v)) for k, v in history.items() if is_series(v)
            ),
            facts={k: v for k, v in history.items() if not is_series(v)},
        )


class MechanismRecord(PublicSection):
    """How noise was drawn, and how the data were made from the noisy answers."""

    name: Annotated[str, Shown("Mechanism")]
    paper: Annotated[str, Shown("Source")] = NOT_RECORDED
    parameters: Annotated[Mapping[str, JsonValue], Shown("Parameters")]
    noise: Annotated[tuple[NoiseRow, ...], Field(min_length=1), Shown("Noise")]
    events: Annotated[
        tuple[Mapping[str, JsonValue], ...], Field(min_length=1), Shown("Privacy events charged")
    ]
    query_files: Annotated[tuple[QueryFile, ...], Shown("Files of queries")] = ()
    forecast: Annotated[str, Shown("Forecast before the run")] = NOT_RECORDED
    generator: Annotated[Generator, Shown("Generator")] = Generator()
    noise_source: Annotated[str, Shown("Source of the noise", mend=OUR_MISTAKE)] = NOT_RECORDED
    seeds: Annotated[str, Shown("Seeds")] = (
        "the noise is drawn from the operating system's generator and cannot be repeated; the seed "
        "of the post-processing, if there is one, is among the parameters"
    )
    numerics: Annotated[str, Shown("Numbers")] = (
        "noise is drawn exactly and added to integer counts; floating-point numbers appear only "
        "after it"
    )
