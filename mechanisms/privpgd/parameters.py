"""What a release spec may set of PrivPGD. All of it shapes quality and time, none of it privacy."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from math import isfinite
from typing import Any, get_type_hints

from mechanisms.privpgd.particles import BANK, Descent


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Constants of the generator.

    The defaults were chosen by benchmarks/privpgd.py: a start from the tree that is then polished
    is as good as one that the particles were moved from, at a tenth of the time, so the descent is
    left out unless it is asked for.

    Attributes:
        particles: at most so many records are moved by the descent; where more are wanted, the
            result is repeated and then polished.
        epochs: of the particle descent; 0 leaves it out. 60 are enough without a polish.
        directions: per pair and step, out of a bank of 32.
        batch: pairs per step.
        learning_rate: of Adam, as a share of a column's range.
        adam_epsilon: on the scale of `particles._GRADIENT_SCALE`.
        sweeps: proposals of the polish per entry of the table; 0 leaves it out.
    """

    particles: int = 100_000
    epochs: int = 0
    directions: int = 4
    batch: int = 5
    learning_rate: float = 0.02
    adam_epsilon: float = 0.03
    sweeps: int = 15

    def __post_init__(self) -> None:
        for name, least in (
            ("particles", 1),
            ("epochs", 0),
            ("directions", 1),
            ("batch", 1),
            ("sweeps", 0),
        ):
            if getattr(self, name) < least:
                raise ValueError(
                    f"mechanism.{name}: {getattr(self, name)}; use a whole number of at least "
                    f"{least}"
                )
        if self.directions > BANK:
            raise ValueError(
                f"mechanism.directions: {self.directions}; there are {BANK} to draw from"
            )
        for name in ("learning_rate", "adam_epsilon"):
            value = getattr(self, name)
            if not (isfinite(value) and value > 0):
                raise ValueError(f"mechanism.{name}: {value}; use a positive number")

    @property
    def descent(self) -> Descent:
        """The part that the particle descent reads."""
        return Descent(**{field.name: getattr(self, field.name) for field in fields(Descent)})


def parse(given: Mapping[str, Any]) -> Parameters:
    """Parameters from a release spec.

    Raises:
        ValueError: a name is unknown (the message gives the nearest known one), or a value is of
            the wrong type or out of range.
    """
    types = get_type_hints(Parameters)
    names = [field.name for field in fields(Parameters)]
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in names:
            near = get_close_matches(name, names, n=1)
            mend = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names)}"
            raise ValueError(f"mechanism.{name}: PrivPGD has no such parameter; {mend}")
        whole = types[name] is int
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            kind = "a whole number" if whole else "a number"
            raise ValueError(f"mechanism.{name}: {value!r}; use {kind}")
        values[name] = value if whole else float(value)
    return Parameters(**values)
