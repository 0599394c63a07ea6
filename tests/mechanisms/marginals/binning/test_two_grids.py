"""Two bounds of a column: both domains side by side, and the smaller of both."""

import numpy as np

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.binning.bins import Bins
from hallmark.mechanisms.marginals.binning.two_grids import TwoGrids
from tests.builders.columns import line, nominal

GRIDS = TwoGrids(
    Domain((nominal("c", 3), line("x", 6, has_null=True))),
    (Bins.runs(1, (0, 2, 5), 6, True),),
)


def test_the_second_grid_comes_last_and_holds_the_first() -> None:
    assert GRIDS.domain.names == ("c", "x", "x on bins")
    assert GRIDS.domain.shape == (3, 7, 4)
    codes = np.array([[0, 0], [1, 4], [2, 6]])
    assert GRIDS.codes(codes).tolist() == [[0, 0, 0], [1, 4, 1], [2, 6, 3]]
    counts = GRIDS.counts((np.ones((2, 3)), np.arange(14.0).reshape(2, 7)))
    assert counts[2].tolist() == [[1, 9, 5, 6], [15, 30, 12, 13]]


def test_the_smaller_bound_stands() -> None:
    assert GRIDS.smaller([0.3, 0.2, 0.1], float) == (0.3, 0.1)
    assert GRIDS.smaller([0.3, 0.2, 0.4], float) == (0.3, 0.2)


def test_what_is_known_of_both_grids_is_told_of_the_second() -> None:
    known = {"c": 1, "x": 2, "x on bins": 3}
    assert GRIDS.shared(known) == {"c": 1, "x": 3}
