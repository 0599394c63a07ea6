"""Which value goes with which, where a rule says only that one determines the other."""

import numpy as np

from hallmark.mechanisms.arrays import Floats, Mask
from hallmark.mechanisms.domain.rules.tables import Determination, RuleTable


def settle(
    rule: Determination, mass: Floats, allowed: Mask, *, ordered: bool, nulls: tuple[bool, bool]
) -> RuleTable:
    """The table of a determination, as `Rules.settled` describes.

    Args:
        mass: of pairs, shape (cells of the column, cells of the other).
        allowed: pairs that the other rules allow, same shape.
        ordered: whether values of the column are ordered.
        nulls: whether the last cell of the column, and of the other, is the null cell.
    """
    values, others = (size - has_null for size, has_null in zip(mass.shape, nulls, strict=True))
    mass, possible = mass[:values, :others], allowed[:values, :others]
    borrowed = _borrowed(np.where(possible, mass, 0.0), mass, ordered=ordered)
    chosen = np.where(possible, borrowed, -np.inf).argmax(axis=1)
    table = np.ones(allowed.shape, dtype=np.bool_)
    table[:values, :others] = False
    rows = np.flatnonzero(possible.any(axis=1))
    table[rows, chosen[rows]] = True
    if rule.column > rule.other:
        table = table.T
    columns = (min(rule.column, rule.other), max(rule.column, rule.other))
    return RuleTable(rule.name, columns, np.ascontiguousarray(table))


def _borrowed(own: Floats, mass: Floats, *, ordered: bool) -> Floats:
    """Masses of every value; of another where its own are nowhere positive."""
    own = np.maximum(own, 0.0)
    known = np.flatnonzero(own.any(axis=1))
    silent = np.flatnonzero(~own.any(axis=1))
    if len(known) == 0 or len(silent) == 0:
        return own
    if ordered:
        nearest = known[np.abs(known[None, :] - silent[:, None]).argmin(axis=1)]
        own[silent] = own[nearest]
    # Where what was borrowed is not allowed beside a value, the most common value decides.
    own[silent] += 1e-9 * np.maximum(mass, 0.0).sum(axis=0)
    return own
