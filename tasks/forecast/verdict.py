"""What a release will be good for, told from its plan, and at other epsilons.

A bound says little by itself: 76 pounds are nothing for houses and everything for fares. So each is
held against the column's spread: how far its values lie from the best single one, on average. Where
the bound is as large, a table with that value in every row would have done as well.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.certificates.distances import expected_shares
from hallmark.mechanisms.contract import Forecast
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.domain.totals import PublicTotal
from hallmark.mechanisms.privacy.trade_off import trade_off
from hallmark.tasks.forecast.needs import need_forecasts
from hallmark.tasks.planning.prepare import at_epsilon
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.rendering.wording import listed, number

Use = Literal["exact", "good", "rough", "useless"]

WORDS: Mapping[Use, str] = {
    "exact": "what is published of it anyway",
    "good": "shares, means, quantiles",
    "rough": "orders of magnitude",
    "useless": "nothing: one value in all rows would do as well",
}
_ROUGH = 1 / 4  # part of the spread from which on a bound leaves orders of magnitude alone
_UNKNOWN = 1 / 2  # of the widest range: what a guess in its middle is off by at most


@dataclass(frozen=True)
class Verdict:
    """What can be certified of one column, of several together, or of the whole release.

    Attributes:
        columns: one, several, or none for the loss that the mechanism forecasts as a whole.
        bound: forecast of the certified bound, as a share of the largest possible loss.
        spread: of the column on the same scale, the largest of several; from published totals
            where they tell it, else from the widths of its cells.
        in_unit: the bound in `unit`, where it is one column's.
    """

    columns: tuple[str, ...]
    bound: float
    spread: float
    use: Use
    in_unit: float | None = None
    unit: str = ""

    @property
    def vacuous(self) -> bool:
        """Whether the certificate will say nothing at all."""
        return self.bound >= 1


def verdicts(prepared: Prepared, forecast: Forecast) -> list[Verdict]:
    """By column, then by marginal; where neither is forecast, of the whole. Public."""
    domain = prepared.plan.domain
    spreads = dict(zip(domain.names, _spreads(domain), strict=True))
    published = {domain.names[t.columns[0]] for t in _one_way(domain) if t.is_marginal}
    told = [
        Verdict(
            (one.name,),
            bound := forecast.per_attribute[one.name],
            spreads[one.name],
            "exact" if one.name in published else _use(bound, spreads[one.name]),
            in_unit=bound * one.scale,
            unit=one.distance_unit,
        )
        for one in domain.attributes
        if one.name in forecast.per_attribute
    ]
    for columns, bound in forecast.jointly.items():
        spread = max(spreads[name] for name in columns)
        told.append(Verdict(columns, bound, spread, _use(bound, spread)))
    if not told:
        spread = max(spreads.values()) if "diameter" in forecast.metric else _UNKNOWN
        error = forecast.expected_error
        told.append(Verdict((), error, spread, _use(error, spread)))
    return told


def in_words(told: Sequence[Verdict]) -> str:
    """What the release will be good for and what not, in a sentence.

    A forecast of the whole is an upper bound, so a large one says nothing either way.
    """
    if any(one.use == "useless" and not one.columns for one in told):
        return "nothing can be promised in advance of all columns together"
    parts = [
        f"{what} {listed([_name(one) for one in told if one.use == use])}"
        for use, what in (
            ("exact", "exact, as published, for"),
            ("good", "good for"),
            ("rough", "orders of magnitude for"),
            ("useless", "useless for"),
        )
        if any(one.use == use for one in told)
    ]
    return "; ".join(parts)


def about_nothing(told: Sequence[Verdict]) -> Iterator[str]:
    """A warning where the budget will buy bounds that say nothing."""
    empty = [_name(one) for one in told if one.vacuous and one.columns]
    if empty:
        yield (
            f"certificate: {len(empty)} of {len(told)} bounds will say nothing, of "
            f"{listed(empty)}: noise and cells alone are as large as any error can be. Give more "
            "epsilon, certify fewer columns together, or leave out the ones with the most cells"
        )


@dataclass(frozen=True)
class Alternative:
    """A plan at one epsilon. Public.

    Attributes:
        expected_error: forecast of the loss that the mechanism forecasts; None where the plan is
            refused.
        told: what could be certified.
        best_guess: how often the best attack on one unit is right, where a coin is in half.
        needs_met: how many of the spec's needs are met or expected to be.
        refusal: why there is no plan.
    """

    epsilon: Fraction
    expected_error: float | None = None
    told: tuple[Verdict, ...] = ()
    best_guess: float | None = None
    needs_met: int = 0
    refusal: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "epsilon": str(self.epsilon),
            "expected_error": self.expected_error,
            "verdicts": [asdict(one) for one in self.told],
            "verdict": in_words(self.told),
            "best_guess": self.best_guess,
            "needs_met": self.needs_met,
            "refusal": self.refusal,
        }


def sweep(prepared: Prepared, epsilons: Iterable[Fraction]) -> Iterator[Alternative]:
    """What each of these epsilons would bring, with all else as the spec says."""
    for epsilon in epsilons:
        try:
            other = at_epsilon(prepared, epsilon)
        except PlanRefused as error:
            yield Alternative(epsilon, refusal=str(error))
            continue
        forecast = other.plan.forecast()
        yield Alternative(
            epsilon,
            forecast.expected_error,
            tuple(verdicts(other, forecast)),
            trade_off(other.plan.events, other.plan.budget).best_guess(),
            sum(one.satisfied for one in need_forecasts(other, other.spec.needs)),
        )


def _name(one: Verdict) -> str:
    name = " x ".join(one.columns) or "all columns together"
    if one.use != "useless" or one.in_unit is None:
        return name
    return f"{name} (± {number(one.in_unit, 2, up=True)} {one.unit})"


def _use(bound: float, spread: float) -> Use:
    if bound >= min(spread, 1):
        return "useless"
    return "rough" if bound >= _ROUGH * spread else "good"


def _spreads(domain: Domain) -> Iterator[float]:
    """Mean distance of each column's values from the best single one, as far as is public."""
    published = {total.columns[0]: total for total in _one_way(domain)}
    for position, attribute in enumerate(domain.attributes):
        shares = expected_shares(attribute)
        if (total := published.get(position)) is not None and total.counts.sum():
            parts = np.bincount(total.groups, weights=shares, minlength=len(total.counts))
            shares = (
                shares
                * np.divide(
                    total.counts / total.counts.sum(),
                    parts,
                    where=parts > 0,
                    out=np.zeros(len(parts)),
                )[total.groups]
            )
        values = shares[: attribute.levels]
        yield float((_distances(attribute) @ values).min() / max(values.sum(), 1e-12))


def _distances(attribute: Attribute) -> NDArray[np.float64]:
    """Between values; within a cell, those of a record spread evenly from its centre."""
    if attribute.kind is Kind.NOMINAL:
        return 1 - np.eye(attribute.levels)
    if attribute.distances is not None:
        return attribute.distances
    apart = np.abs(attribute.positions[:, None] - attribute.positions[None, :])
    return np.asarray(apart + np.diag(attribute.widths / 4))


def _one_way(domain: Domain) -> Iterator[PublicTotal]:
    return (total for total in domain.totals.totals if len(total.columns) == 1)
