"""Translate the public totals of a spec into groups of the cells of its columns.

A total counts whole cells: an interval or a condition that ends within a cell is refused, since
what lies on which side of it is only known once values are drawn. (Edit rules may cut cells, for
values are drawn until they obey.)

Claim.   A record is in a group exactly where every value in its cells is.
Oracle.  tests/tasks/planning/test_total_tables.py compares with values drawn from the cells.
"""

import numpy as np

from hallmark.mechanisms.domain.totals import PublicTotal, PublicTotals
from hallmark.mechanisms.domain.totals.blocks import MOST_CELLS
from hallmark.schemas.public_totals import PublicTotal as StatedTotal
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.rules.rule_syntax import Determines, Not
from hallmark.schemas.rules.rules import Rule
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.rule_tables import RuleTooWide, rules_on


class TotalRefused(ValueError):
    """A total that cannot be told in cells; the message says which, why, and the fix."""


def total_cells(spec: ReleaseSpec, codec: TableCodec) -> PublicTotals:
    """The totals of the spec on the cells of its columns.

    Raises:
        TotalRefused: a condition ends within a cell, or a total needs too large a table.
    """
    shape = codec.domain.shape
    made = []
    for i, stated in enumerate(spec.public_totals):
        name = f"public_totals[{i}]"
        make = _of_table if stated.is_table else _of_condition
        made.append(make(name, stated, spec, codec))
    return PublicTotals(shape, tuple(made))


def _of_table(name: str, stated: StatedTotal, spec: ReleaseSpec, codec: TableCodec) -> PublicTotal:
    listed = [codec.names.index(column) for column in stated.touched()]
    columns, sizes = _columns(name, stated, codec)
    axes = [listed.index(column) for column in columns]
    numbers = np.empty(sizes, dtype=np.int64)
    groups = stated.groups(spec.columns, spec.data.null_markers)
    for number, group in enumerate(groups):
        numbers[tuple(slice(group.cells[a].start, group.cells[a].stop) for a in axes)] = number
    return PublicTotal(
        name=name,
        columns=columns,
        groups=numbers,
        counts=np.array([group.count for group in groups], dtype=np.int64),
        titles=tuple(group.title for group in groups),
    )


def _of_condition(
    name: str, stated: StatedTotal, spec: ReleaseSpec, codec: TableCodec
) -> PublicTotal:
    condition = stated.condition(spec.columns)
    assert not isinstance(condition.body, Determines), "it was refused"
    columns, sizes = _columns(name, stated, codec)
    # A rule is broken where it is known to be false, so this one exactly where the condition holds.
    contrary = Rule(condition.text, Not(condition.body), condition.orders)
    try:
        rules = rules_on([contrary], codec).rules
    except RuleTooWide as error:
        raise TotalRefused(f"{name}.where: {error}") from error
    if rules.parts is not None:
        for table in rules.parts.tables:
            cells = [rules.parts.cells[column] for column in table.columns]
            starts = [np.unique(of, return_index=True)[1] for of in cells]
            alike = table.allowed[np.ix_(*starts)][np.ix_(*cells)]
            if not np.array_equal(alike, table.allowed):
                names = " or ".join(codec.names[column] for column in table.columns)
                raise TotalRefused(
                    f"{name}.where: {stated.where!r} tells values within one cell of {names} "
                    "apart, but totals count whole cells; give these columns edges there, or count "
                    "otherwise"
                )
    fulfilled = np.zeros(sizes, dtype=np.bool_)
    for table in rules.tables:
        spread = [n if c in table.columns else 1 for c, n in zip(columns, sizes, strict=True)]
        fulfilled |= ~table.allowed.reshape(spread)
    assert spec.records is not None, "the spec's own check"
    return PublicTotal(
        name=name,
        columns=columns,
        groups=np.where(fulfilled, 0, 1),
        counts=np.array([stated.fulfilling, spec.records - stated.fulfilling], dtype=np.int64),
        titles=(stated.where or "", f"not ({stated.where})"),
    )


def _columns(
    name: str, stated: StatedTotal, codec: TableCodec
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of the columns that a total is about, ascending, and their cells."""
    columns = tuple(sorted(codec.names.index(column) for column in stated.touched()))
    sizes = tuple(codec.domain.shape[column] for column in columns)
    if np.prod(sizes, dtype=np.float64) > MOST_CELLS:
        times = " x ".join(f"{n:,} ({codec.names[c]})" for c, n in zip(columns, sizes, strict=True))
        raise TotalRefused(
            f"{name}: {stated.title} is about {times} cells, but at most {MOST_CELLS:,} are taken; "
            "give these columns fewer cells"
        )
    return columns, sizes
