"""Bounds on all columns jointly, and what they say of single columns."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hallmark.mechanisms.contract import Bound
from hallmark.mechanisms.domain.domain import Domain

JOINT = (
    "1-Wasserstein distance of the joint distribution, records compared by their largest "
    "difference over the columns"
)
_TARGET = "all columns jointly"


def joint_bound(domain: Domain, terms: Mapping[str, float], *, complete: bool) -> Bound:
    """The sum of `terms`, or the diameter where they are not `complete`."""
    return Bound.of_terms(_TARGET, domain.names, JOINT, terms, complete=complete)


def jointly(bound: Bound) -> Bound:
    """The bound of a block that holds all columns, named for what it is about."""
    return replace(bound, target=_TARGET, metric=JOINT)


def no_wider(columns: Iterable[Bound], joint: Bound) -> tuple[Bound, ...]:
    """The columns' bounds, or the joint one where it is smaller.

    Records are compared by their largest difference over the columns, so a column's distributions
    are no farther apart than the records' are. Both kinds must hold jointly.
    """
    return tuple(
        column
        if column.value <= joint.value
        else replace(column, terms=joint.terms, value=joint.value, vacuous=joint.vacuous)
        for column in columns
    )
