"""Curves in the history of a fit, for files that people read."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def thinned(curve: Sequence[T], most: int) -> list[T]:
    """At most a number of the points, evenly spaced, with the first and the last."""
    if len(curve) <= most:
        return list(curve)
    return [curve[i] for i in np.linspace(0, len(curve) - 1, most).round().astype(int)]


def short(values: Sequence[float]) -> list[float]:
    """The number to four digits."""
    return [float(f"{value:.4g}") for value in values]
