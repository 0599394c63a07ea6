"""The least epsilon that meets a list of needs, by the same forecasts as `needs`.

Oracle.  tests/tasks/forecast/test_needs.py: needs are met at it, and not at 3 % less.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

from hallmark.schemas.needs import Need
from hallmark.tasks.forecast.least_epsilon import least_epsilon
from hallmark.tasks.forecast.needs import NeedForecast, Promises
from hallmark.tasks.planning.prepare import at_epsilon
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.requested import PlanRefused


@dataclass(frozen=True, kw_only=True)
class Solution:
    """The least epsilon for a list of needs.

    Attributes:
        epsilon: meets all needs that some epsilon meets; None if none does.
        asked_by: the question of the need that asks for it.
        forecasts: of all needs at this epsilon.
        frontier: the least epsilon that meets each need, with its forecast there, in the order of
            epsilons; None for those that no epsilon meets, which come last.
    """

    epsilon: Fraction | None
    asked_by: str
    forecasts: tuple[NeedForecast, ...]
    frontier: tuple[tuple[Fraction | None, NeedForecast], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "asked_by": self.asked_by or None,
            "needs": [one.to_json() for one in self.forecasts],
            "frontier": [
                {"epsilon": None if epsilon is None else str(epsilon)} | one.to_json()
                for epsilon, one in self.frontier
            ],
        }


def solved(prepared: Prepared, needs: Sequence[Need]) -> Solution:
    """The least epsilon that meets all needs, and the least that meets each, to within 2 %.

    All else is as the spec says. Sizes that nothing public tells are taken for even.

    Raises:
        QuestionError: a question does not suit the columns.
    """
    own = prepared.spec.privacy.epsilon
    plans: dict[Fraction, Promises | None] = {}
    told: dict[tuple[Fraction, int], NeedForecast] = {}

    def forecast(epsilon: Fraction, number: int) -> NeedForecast | None:
        """Of a need at an epsilon; None where there is no plan. Everything is planned once."""
        if epsilon not in plans:
            try:
                plans[epsilon] = Promises(
                    prepared if epsilon == own else at_epsilon(prepared, epsilon)
                )
            except PlanRefused:
                plans[epsilon] = None
        plan = plans[epsilon]
        if plan is not None and (epsilon, number) not in told:
            told[epsilon, number] = plan.of(needs[number])
        return told.get((epsilon, number))

    def excess(epsilon: Fraction, numbers: Sequence[int]) -> float:
        """The largest of these needs."""
        found = (forecast(epsilon, number) for number in numbers)
        return max(inf if one is None else one.excess for one in found)

    def least(numbers: Sequence[int], start: Fraction) -> Fraction | None:
        return least_epsilon(
            lambda epsilon: excess(epsilon, numbers),
            start,
            delta=prepared.spec.privacy.delta,
            even=all(needs[number].is_even for number in numbers),
        )

    def sure(epsilon: Fraction, number: int) -> NeedForecast:
        found = forecast(epsilon, number)
        assert found is not None, "there is a plan at this epsilon"
        return found

    everything = range(len(needs))
    alone = {number: least([number], own) for number in everything}
    reached = sorted((one, number) for number, one in alone.items() if one is not None)
    met = [number for _, number in reached]
    epsilon, asking = reached[-1] if reached else (None, -1)
    if epsilon is not None and excess(epsilon, met) > 1:  # with it, other tables are measured
        asking = max(met, key=partial(lambda at, number: sure(at, number).excess, epsilon))
        epsilon = least(met, epsilon)
    forecasts = [sure(own if epsilon is None else epsilon, number) for number in everything]
    return Solution(
        epsilon=epsilon,
        asked_by="" if epsilon is None else needs[asking].question,
        forecasts=tuple(forecasts),
        frontier=(
            *((one, sure(one, number)) for one, number in reached),
            *((None, forecasts[number]) for number, one in alone.items() if one is None),
        ),
    )
