"""Single columns at their own cells: a point for every code, on lines, categories and places."""

import numpy as np
import pytest

from hallmark.mechanisms.blocks.at_own_cells import at_their_cells
from hallmark.mechanisms.blocks.single_columns import SingleColumns
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.geometry.line import is_line
from hallmark.mechanisms.privacy.cells import count_codes
from tests.builders.columns import line, nominal, places

UNEVEN = Attribute(
    name="u",
    kind=Kind.NUMERIC,
    positions=np.array([0.0005, 0.0015, 0.501]),
    widths=np.array([0.001, 0.001, 0.998]),
)
DOMAIN = Domain(
    (
        UNEVEN,
        line("age", 9, has_null=True),
        nominal("sex", 3, has_null=True),
        line("steps", 4, width=0.0),
        line("one", 1),
        places("home", np.array([[0, 0], [1, 0], [0.2, 0.5]]), has_null=True),
    )
)


def test_every_code_has_a_point_of_its_own_however_narrow_its_cell() -> None:
    columns = tuple(range(len(DOMAIN)))
    family = at_their_cells(DOMAIN, columns)
    assert tuple(block.space.size for block in family.blocks) == DOMAIN.shape
    single_columns = SingleColumns(family)
    assert single_columns.columns == columns
    assert single_columns.merged == ()
    assert single_columns.coarsening == (0.0,) * len(columns)


def test_tables_are_the_columns_histograms() -> None:
    rng = np.random.default_rng(41)
    codes = np.stack([rng.integers(0, cells, size=99) for cells in DOMAIN.shape], axis=1)
    family = at_their_cells(DOMAIN, (3, 1))
    assert [block.name for block in family.blocks] == ["steps", "age"]
    for block, table in zip(
        family.blocks, count_codes(codes, [block.cells for block in family.blocks]), strict=True
    ):
        (column,) = block.columns
        assert (table == np.bincount(codes[:, column], minlength=DOMAIN.shape[column])).all()


def test_lines_stay_lines_and_offsets_are_half_of_the_widths() -> None:
    uneven, age = at_their_cells(DOMAIN, (0, 1)).blocks
    assert is_line(uneven.space)
    assert uneven.offsets[0] == pytest.approx([0.0005, 0.0005, 0.499])
    assert not is_line(age.space)  # nulls are at distance 1
    assert age.offsets[0] == pytest.approx([*[1 / 18] * 9, 0.0])
