"""Bounds on all columns jointly, and what they say of single columns."""

from collections.abc import Iterable
from dataclasses import replace

from mechanisms.contract import Bound
from mechanisms.single_histogram.design import JOINT


def jointly(bound: Bound) -> Bound:
    """The bound of a block that holds all columns, named for what it is about."""
    return replace(bound, target="all columns jointly", metric=JOINT)


def no_wider(columns: Iterable[Bound], joint: Bound) -> tuple[Bound, ...]:
    """The columns' bounds, or the joint one where it is smaller.

    Records are compared by their largest difference over the columns, so a column's distributions
    are no farther apart than the records' are. Both kinds must hold jointly.
    """
    return tuple(
        column
        if column.value <= joint.value
        else Bound.of_terms(
            column.target,
            column.metric,
            joint.terms,
            complete=not joint.vacuous,
            scale=column.scale,
            unit=column.unit,
        )
        for column in columns
    )
