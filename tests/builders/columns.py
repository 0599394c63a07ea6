"""Columns of every kind, for small domains."""

import numpy as np

from hallmark.mechanisms.domain.domain import Attribute, Kind


def line(name: str, levels: int, *, has_null: bool = False, width: float | None = None):
    """A numeric column of equal cells; categories on a line where `width` is 0."""
    width = 1 / levels if width is None else width
    return Attribute(
        name=name,
        kind=Kind.NUMERIC if width else Kind.ORDINAL,
        positions=np.linspace(width / 2, 1 - width / 2, levels) if levels > 1 else np.array([0.5]),
        widths=np.full(levels, width),
        has_null=has_null,
    )


def nominal(name: str, levels: int, *, has_null: bool = False) -> Attribute:
    return Attribute(
        name=name,
        kind=Kind.NOMINAL,
        positions=np.linspace(0, 1, levels),
        widths=np.zeros(levels),
        has_null=has_null,
    )


def places(name: str, points: np.ndarray, *, has_null: bool = False) -> Attribute:
    """Points in the plane with their distances, the largest 1."""
    distances = np.abs(points[:, None] - points[None]).max(axis=-1)
    return Attribute(
        name=name,
        kind=Kind.METRIC,
        positions=np.linspace(0, 1, len(points)),
        widths=np.zeros(len(points)),
        has_null=has_null,
        distances=distances / distances.max(),
    )
