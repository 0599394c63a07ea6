"""The least epsilon that meets a list of needs, by the same forecasts as `needs`.

Oracle.  tests/tasks/forecast/test_needs.py: needs are met at it, and not at 3 % less.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log
from typing import Any

from hallmark.schemas.needs import Need
from hallmark.tasks.forecast.least_epsilon import least_epsilon
from hallmark.tasks.forecast.needs import NeedForecast, need_forecasts
from hallmark.tasks.planning.prepare import at_epsilon
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.requested import PlanRefused

_TINY, _LARGE = 1e-3, 8.0  # bounds of a step from one epsilon to the next


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
    seen: dict[Fraction, tuple[NeedForecast, ...]] = {}

    def excess(epsilon: Fraction, numbers: Sequence[int]) -> float:
        """The largest of these needs; plans are made once."""
        if epsilon not in seen:
            try:
                other = prepared if epsilon == own else at_epsilon(prepared, epsilon)
                seen[epsilon] = tuple(need_forecasts(other, needs))
            except PlanRefused:
                return inf
        return max(seen[epsilon][number].excess for number in numbers)

    def least(*numbers: int) -> Fraction | None:
        """From where the plans that there are say that it is about."""
        found = {epsilon: excess(epsilon, numbers) for epsilon in seen}
        nearest = min(found, key=lambda epsilon: abs(log(max(found[epsilon], _TINY))))
        start = float(nearest) * min(max(found[nearest], _TINY), _LARGE)
        return least_epsilon(lambda epsilon: excess(epsilon, numbers), start)

    everything = range(len(needs))
    excess(own, everything)
    alone = {number: least(number) for number in everything}
    reached = sorted((one, number) for number, one in alone.items() if one is not None)
    met = [number for _, number in reached]
    epsilon, asking = reached[-1] if reached else (None, -1)
    if epsilon is not None and excess(epsilon, met) > 1:  # with it, other tables are measured
        at_it = seen[epsilon]
        asking = max(met, key=lambda number: at_it[number].excess)
        epsilon = least(*met)
    forecasts = seen[own if epsilon is None else epsilon]
    return Solution(
        epsilon=epsilon,
        asked_by="" if epsilon is None else needs[asking].question,
        forecasts=forecasts,
        frontier=(
            *((one, seen[one][number]) for one, number in reached),
            *((None, forecasts[number]) for number, one in alone.items() if one is None),
        ),
    )
