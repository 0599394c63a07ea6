"""Penalty on one statistic of the particles: keep it from being learnt, or hold it to a number.

The statistic is the share of particles beyond a hyperplane, with a sigmoid in place of the step:
g(X) = mean_i sigmoid(steepness (<weights, X_i> - threshold)) of particles X_i in the unit box.
With g~ a public number (a noisy measurement of g on the data, or a target):

    protect   R = 0.01 / (0.0001 + (g(X) - g~)^2)    (12): large where g gives g~ away
    attract   R = (g(X) - g~)^2

The descent lowers sum_S SW_2^2 + strength R, eq. (7), so `strength` is lambda as the text has it.
(The paper's code has another scale: it leaves out 1/particles in SW_2^2 and adds R in every batch.
Its lambda, times batches an epoch, over particles, is ours.)

Source.  Donhauser, Abad, Hulkund, Yang (2024), section 4.4 and Appendix B. Two slips there: the
         text has <theta, z> + b > 0, the sigmoid of it s (<theta, z> - b), which is the one that
         runs; theta lies in the space of all attributes' places.
Oracle.  tests/mechanisms/marginals/generators/particles/test_penalty.py: closed gradient, finite
         differences.

g~ has to be paid for where it is measured: under replace-one g changes by at most 1/records.
"""

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Literal

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes

if TYPE_CHECKING:  # costs a second and 200 MB: only a fit loads it
    import torch

NUMERATOR, FLOOR = 0.01, 0.0001  # of (12)


@dataclass(frozen=True, kw_only=True)
class Penalty:
    """A penalty on a smoothed threshold statistic. Every field is public.

    Attributes:
        weights: of all attributes in the domain's order; 0 where one plays no part.
        threshold: of the weighted sum of places in [0, 1].
        reference: g~, what the statistic is held away from or held to.
        strength: lambda of eq. (7).
        goal: "protect" or "attract".
        steepness: of the sigmoid.
    """

    weights: tuple[float, ...]
    threshold: float
    reference: float
    strength: float
    goal: Literal["protect", "attract"] = "protect"
    steepness: float = 5.0

    def __post_init__(self) -> None:
        numbers = (*self.weights, self.threshold, self.reference)
        if not all(isfinite(number) for number in numbers):
            raise ValueError("weights, threshold, reference: they must be finite numbers")
        if not any(self.weights):
            raise ValueError("weights: all are 0; give at least one column a weight")
        if not 0 <= self.strength < float("inf"):
            raise ValueError(f"strength: {self.strength}; give a number from 0 up")
        if not 0 < self.steepness < float("inf"):
            raise ValueError(f"steepness: {self.steepness}; give a number above 0")
        if self.goal not in ("protect", "attract"):
            raise ValueError(f"goal: {self.goal!r}; choose protect or attract")

    def statistic(self, positions: "torch.Tensor") -> "torch.Tensor":
        """g of particles at `positions`, shape (attributes, particles)."""
        beyond = positions.new_tensor(self.weights) @ positions - self.threshold
        return (self.steepness * beyond).sigmoid().mean()

    def value(self, positions: "torch.Tensor") -> "torch.Tensor":
        """R, without the strength; differentiable."""
        square = (self.statistic(positions) - self.reference) ** 2
        return NUMERATOR / (FLOOR + square) if self.goal == "protect" else square

    def of_records(self, codes: AnyCodes, shape: tuple[int, ...]) -> float:
        """g of records at the centres of their cells."""
        places = (np.asarray(codes) + 0.5) / np.array(shape)
        beyond = self.steepness * (places @ np.array(self.weights) - self.threshold)
        return float((1 / (1 + np.exp(-beyond))).mean())
