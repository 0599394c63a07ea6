"""Single columns at their own cells: no two codes share a point, whatever grid others are on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hallmark.mechanisms.blocks.family import Block, Family
from hallmark.mechanisms.domain.domain import Attribute, Domain
from hallmark.mechanisms.geometry.grids import axis, product_space
from hallmark.mechanisms.privacy.cells import marginal


def at_their_cells(domain: Domain, columns: Sequence[int]) -> Family:
    """One block for each of these columns, a point for each of its codes.

    The cells of a line are put at equal steps, however wide they are. That metric serves to choose
    noise alone; a certificate of single columns (`certificates.single_columns`) has the columns'
    own.
    """
    return Family(domain=domain, blocks=tuple(_block(domain, column) for column in columns))


def _block(domain: Domain, column: int) -> Block:
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
