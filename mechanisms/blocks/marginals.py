"""Families made of a table's columns: all s-way marginals on a grid, chosen ones, or all columns.

Every attribute is put on the same grid in all blocks, so blocks that share columns share their
marginals. Single columns may keep their own cells instead, so that no two codes share a point.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod

import numpy as np

from hallmark.mechanisms.blocks.family import Block, Family
from hallmark.mechanisms.domain.domain import Attribute, Domain
from hallmark.mechanisms.geometry.grids import (
    Axis,
    Path,
    axis,
    cell_map,
    exact_steps,
    product_space,
)
from hallmark.mechanisms.privacy.cells import marginal

MOST_COUNTS = 2**24  # noisy counts of all blocks together: planning takes a minute or two
CANDIDATES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64)  # k to choose from
LINE_CANDIDATES = (*CANDIDATES, 96, 128, 192, 256)  # for single columns, where flows are sums
MOST_CHOSEN_COUNTS = 2**19  # noisy counts of a grid that nobody asked for


def marginals(domain: Domain, order: int, k: int) -> Family:
    """All marginals over `order` columns, lines on `k` cells.

    Raises:
        ValueError: there are not so many columns, or the tables are too large; says how large.
    """
    columns = len(domain)
    if not 1 <= order <= columns:
        raise ValueError(
            f"marginals: {order} of {columns} columns; give a number from 1 to {columns}"
        )
    return over(domain, tuple(combinations(range(columns), order)), k)


def over(
    domain: Domain, column_sets: Sequence[Sequence[int]], k: int, *, path: Path = "snake"
) -> Family:
    """One block for each set of columns, lines on `k` cells.

    Raises:
        ValueError: there is no block, an empty or repeated one, a column that does not exist or
            comes twice, k < 1, or the tables are too large; says how large.
    """
    _check(domain, column_sets)
    axes = [axis(attribute, k) for attribute in domain.attributes]
    _check_size(axes, column_sets, k)
    return Family(
        domain=domain,
        blocks=tuple(_block(domain, tuple(columns), axes, path) for columns in column_sets),
    )


def whole(domain: Domain, k: int, *, path: Path = "snake") -> Family:
    """One block over all columns, lines on `k` cells; errors as for `over`."""
    return over(domain, (tuple(range(len(domain))),), k, path=path)


def at_their_cells(domain: Domain, columns: Sequence[int]) -> Family:
    """One block for each of these columns, a point for each of its codes.

    The cells of a line are put at equal steps, however wide they are. That metric serves to choose
    noise alone; a certificate of single columns (`certificates.single_columns`) has the columns'
    own.
    """
    return Family(domain=domain, blocks=tuple(_own_block(domain, column) for column in columns))


def noisy_counts(domain: Domain, column_sets: Sequence[Sequence[int]], k: int) -> int:
    """Points of all blocks of `over(domain, column_sets, k)` together, without making them."""
    points = [axis(attribute, k).points for attribute in domain.attributes]
    return sum(prod(points[column] for column in columns) for columns in column_sets)


def candidates(domain: Domain, finest: int) -> list[int]:
    """k to choose from, those at which the points are the values of some line among them.

    Grids have no more cells than some line has values, as points without a value only take time.
    """
    lines = [a.levels for a in domain.attributes if a.kind.ordered]
    most = min(finest, max(lines, default=0))
    fine = {k for k in (*LINE_CANDIDATES, *exact_steps(domain), *lines) if k <= most}
    return sorted({CANDIDATES[0], *fine})


def ever_finer(
    domain: Domain,
    column_sets: Sequence[Sequence[int]],
    cells: int | None,
    *,
    finest: int = CANDIDATES[-1],
) -> Iterator[tuple[int, Family]]:
    """k and the family on k cells, from the coarsest that is worth a try on.

    Args:
        cells: the only k where somebody asked for it.
        finest: to try where nobody did; blocks of single columns may be finer.
    Raises:
        ValueError: as `over`, at the first step.
    """
    if cells is not None:
        yield cells, over(domain, column_sets, cells)
        return
    single = max(map(len, column_sets), default=0) == 1
    for k in candidates(domain, LINE_CANDIDATES[-1] if single else finest):
        if k > CANDIDATES[0] and noisy_counts(domain, column_sets, k) > MOST_CHOSEN_COUNTS:
            return
        yield k, over(domain, column_sets, k)


def _block(domain: Domain, columns: tuple[int, ...], axes: Sequence[Axis], path: Path) -> Block:
    own = [axes[column] for column in columns]
    return Block(
        name=" x ".join(domain.attributes[column].name for column in columns),
        columns=columns,
        cells=cell_map(columns, own, domain),
        space=product_space(own, path),
        offsets=tuple(axis.offsets for axis in own),
    )


def _own_block(domain: Domain, column: int) -> Block:
    attribute = domain.attributes[column]
    half_widths = np.append(attribute.widths / 2, np.zeros(attribute.cells - attribute.levels))
    return Block(
        name=attribute.name,
        columns=(column,),
        cells=marginal((column,), domain.shape),
        space=product_space([axis(_at_equal_steps(attribute), attribute.levels)]),
        offsets=(half_widths,),
    )


def _at_equal_steps(attribute: Attribute) -> Attribute:
    if not attribute.kind.ordered:
        return attribute
    steps = np.arange(attribute.levels)
    return replace(
        attribute,
        positions=(steps + 0.5) / attribute.levels,
        widths=np.full(attribute.levels, 1 / attribute.levels),
    )


def _check(domain: Domain, column_sets: Sequence[Sequence[int]]) -> None:
    if not column_sets:
        raise ValueError("blocks: there is none; give one set of columns at least")
    seen: set[tuple[int, ...]] = set()
    for position, columns in enumerate(column_sets):
        names = [
            domain.attributes[column].name if 0 <= column < len(domain) else str(column)
            for column in columns
        ]
        if not columns or len(set(columns)) < len(columns):
            raise ValueError(f"blocks[{position}]: {names}; name each column of a block once")
        if not all(0 <= column < len(domain) for column in columns):
            raise ValueError(f"blocks[{position}]: {names}; there are {len(domain)} columns")
        if tuple(sorted(columns)) in seen:
            raise ValueError(f"blocks[{position}]: {names} come in an earlier block; drop one")
        seen.add(tuple(sorted(columns)))


def _check_size(axes: Sequence[Axis], column_sets: Sequence[Sequence[int]], k: int) -> None:
    sizes = []
    for columns in column_sets:
        size = 1
        for column in columns:
            size *= axes[column].points
        sizes.append(size)
    if sum(sizes) > MOST_COUNTS:
        raise ValueError(
            f"{len(sizes)} tables of up to {max(sizes):,} cells (k = {k}) hold {sum(sizes):,} "
            f"noisy counts of 8 bytes = {sum(sizes) * 8 / 1e9:.1f} GB, but at most {MOST_COUNTS:,} "
            "are taken; use a smaller k, fewer columns, or fewer of them together"
        )
