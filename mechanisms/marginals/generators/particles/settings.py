"""Constants of the particle generator, with the paper's values where it gives them.

Source.  Donhauser, Abad, Hulkund, Yang (2024), section 4.1, "Implementation of PrivPGD". Both of
         its "linear learning rate schedulers" are step functions: the rate is multiplied by a
         factor after so many steps. That is what the factors were chosen for.
"""

from dataclasses import dataclass
from typing import Literal

LARGEST_BANK = 1 << 22
"""Cells times directions of a bank, where it could be larger than what is drawn from it."""


@dataclass(frozen=True, kw_only=True)
class Projection:
    """Constants of the projection; the paper's, with a bank and the spread of mass of our own."""

    iterations: int = 1750
    directions: int = 200  # drawn from the bank in every iteration
    bank: int = 1000
    learning_rate: float = 0.1
    decay: float = 0.8  # the learning rate is multiplied by this ...
    decay_every: int = 100  # ... after so many iterations
    mass: Literal["spread", "cut"] = "spread"  # what a noisy table lacks of mass 1; see `project`

    def __post_init__(self) -> None:
        if self.mass not in ("spread", "cut"):
            raise ValueError(f"mass: {self.mass!r}; choose spread or cut")
        for name in ("directions", "bank", "decay_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}; give at least 1")
        if self.iterations < 0:
            raise ValueError(f"iterations: {self.iterations}; give 0 or more")
        if self.bank < self.directions:
            raise ValueError(
                f"bank: {self.bank} directions, but directions draws "
                f"{self.directions} of them; give a larger bank"
            )
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate: {self.learning_rate}; give a number above 0")
        if not 0 < self.decay <= 1:
            raise ValueError(f"decay: {self.decay}; give a number in (0, 1]")

    def bank_of(self, cells: int) -> int:
        """Directions in the bank of a table: fewer than `bank` where memory would be large."""
        return max(self.directions, min(self.bank, LARGEST_BANK // cells))

    def rate(self, iteration: int) -> float:
        """The learning rate of an iteration."""
        return self.learning_rate * self.decay ** (iteration // self.decay_every)


@dataclass(frozen=True, kw_only=True)
class Descent:
    """Constants of the descent; the defaults are the paper's."""

    epochs: int = 1000  # in each, every marginal is met once
    directions: int = 10  # for every marginal and step
    batch: int = 5  # marginals a step
    learning_rate: float = 0.1  # in units where an attribute's range is 1
    decay: float = 0.75  # the learning rate is multiplied by this ...
    decay_every: int = 50  # ... after so many epochs
    masked: float = 0.8  # share of the gradient's entries
    adam_epsilon: float = 1e-8

    def __post_init__(self) -> None:
        for name in ("directions", "batch", "decay_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}; give at least 1")
        if self.epochs < 0:
            raise ValueError(f"epochs: {self.epochs}; give 0 or more")
        for name in ("learning_rate", "adam_epsilon"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: {getattr(self, name)}; give a number above 0")
        if not 0 < self.decay <= 1:
            raise ValueError(f"decay: {self.decay}; give a number in (0, 1]")
        if not 0 <= self.masked < 1:
            raise ValueError(
                f"masked: {self.masked}; give a share from 0 to below 1, or nothing moves"
            )

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0."""
        return self.learning_rate * self.decay ** (epoch // self.decay_every)
