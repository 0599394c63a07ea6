"""The same release at other epsilons: how good it would be, without the data and at no cost."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from hallmark.tasks.forecast.verdict import Verdict, in_words, verdicts
from hallmark.tasks.planning.prepare import at_epsilon
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.requested import PlanRefused


@dataclass(frozen=True)
class Alternative:
    """A plan at one epsilon. Public.

    Attributes:
        expected_error: forecast of the loss that the mechanism forecasts; None where the plan is
            refused.
        told: what could be certified.
        refusal: why there is no plan.
    """

    epsilon: Fraction
    expected_error: float | None = None
    told: tuple[Verdict, ...] = ()
    refusal: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "epsilon": str(self.epsilon),
            "expected_error": self.expected_error,
            "verdicts": [asdict(one) for one in self.told],
            "verdict": in_words(self.told),
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
        yield Alternative(epsilon, forecast.expected_error, tuple(verdicts(other, forecast)))
