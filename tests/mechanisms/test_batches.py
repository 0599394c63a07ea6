"""Records in batches: how many there are in each."""

from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms import batches
from hallmark.mechanisms.batches import batch_sizes


@given(st.integers(1, 10**10), st.integers(1, 500))
def test_batches_hold_all_records_evenly_and_are_no_larger_than_they_may_be(
    rows: int, columns: int
) -> None:
    sizes = batch_sizes(rows, columns)
    assert sum(sizes) == rows
    assert max(sizes) - min(sizes) <= 1
    assert (max(sizes) - 1) * columns < batches.ENTRIES
    assert len(sizes) == 1 or (rows * columns) / (len(sizes) - 1) > batches.ENTRIES
