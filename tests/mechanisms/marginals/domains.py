"""Small domains for tests: so many cells a column."""

from collections.abc import Sequence

from mechanisms.geometry.domain import Domain, Kind
from mechanisms.rules import Rules


def domain_of(
    shape: Sequence[int], rules: Rules | None = None, kind: Kind = Kind.ORDINAL
) -> Domain:
    return Domain.coded({f"c{i}": k for i, k in enumerate(shape)}, kind=kind, rules=rules)
