"""A budget: the (epsilon, delta) that a release may spend, as exact rationals."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Permission to spend (epsilon, delta)-differential privacy; delta = 0 is pure privacy.

    Raises:
        ValueError: epsilon is not positive, or delta is outside [0, 1).
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be positive, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must lie in [0, 1), not {self.delta}")

    @property
    def is_pure(self) -> bool:
        """Whether only pure differential privacy is allowed."""
        return self.delta == 0

    def __str__(self) -> str:
        if self.is_pure:
            return f"epsilon {float(self.epsilon):g}"
        return f"epsilon {float(self.epsilon):g}, delta {float(self.delta):g}"
