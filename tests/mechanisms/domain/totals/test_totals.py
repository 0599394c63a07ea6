"""Totals on cells: sound ones only, and what records have of them."""

import numpy as np
import pytest

from hallmark.mechanisms.domain.totals import PublicTotals
from tests.mechanisms.domain.totals.small_totals import total

SHAPE = (2, 3)
SEX = total("sex", (0,), np.array([0, 1]), [2, 3])
CODES = np.array([[0, 0], [0, 1], [1, 2], [1, 2], [1, 0]], dtype=np.int32)


def test_records_have_a_total_exactly_or_not_at_all():
    totals = PublicTotals(SHAPE, (SEX,))
    assert totals.held(CODES)
    assert SEX.found(CODES).tolist() == [2, 3]
    assert not totals.held(CODES[:4])
    assert totals.records == 5
    assert totals.columns == (0,)


def test_no_total_says_nothing():
    totals = PublicTotals(SHAPE)
    assert not totals
    assert totals.records == 0
    assert totals.held(CODES)


def test_only_totals_that_tell_all_cells_apart_are_marginals():
    band = total("band", (1,), np.array([0, 0, 1]), [4, 1])
    twisted = total("both", (0, 1), np.array([[5, 4, 3], [2, 1, 0]]), [0, 1, 2, 2, 0, 0])
    found = dict(PublicTotals(SHAPE, (SEX, band, twisted)).marginals())
    assert set(found) == {(0,), (0, 1)}
    assert found[(0, 1)].tolist() == [[0, 0, 2], [2, 1, 0]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (total("a", (1, 0), np.zeros((3, 2)), [5]), "a: columns must be ascending, not"),
        (total("a", (2,), np.zeros(3), [5]), "a: columns must be ascending, not"),
        (total("a", (0,), np.array([0, 1, 1]), [2, 3]), r"a: groups have the shape \(3,\), not"),
        (total("a", (0,), np.array([0, 2]), [2, 3]), "a: every group needs a count"),
        (total("a", (0,), np.array([0, 1]), [2, 4]), "a: counts 6 records, others 5"),
        (total("a", (0,), np.array([0, 1]), [-1, 6]), "a: counts 5 records"),
    ],
)
def test_totals_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        PublicTotals(SHAPE, (SEX, wrong))
