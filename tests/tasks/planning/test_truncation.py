"""Which records of a person are kept, and how many are not: counted batch by batch or at once."""

import numpy as np
import pandas as pd
import pytest

from hallmark.tasks.planning.truncation import LeftOut, kept, keys


def persons(rows: int = 60, seed: int = 3) -> pd.Series:
    rng = np.random.default_rng(seed)
    return pd.Series([None if i == 8 else f"p{i}" for i in rng.integers(0, 9, rows)], dtype="str")


def codes(rows: int = 60) -> np.ndarray:
    return np.random.default_rng(4).integers(0, 5, (rows, 3)).astype(np.int32)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("records", [1, 3, 100])
def test_what_is_left_out_batch_by_batch_is_what_is_not_kept(records: int, ordered: bool) -> None:
    owners, beyond = persons(), LeftOut(records)
    for start in range(0, 60, 7):
        beyond.see(owners[start : start + 7])
    keep = kept(keys(codes(), owners, ordered=ordered), records)
    named = owners.notna().to_numpy()
    assert beyond.count == np.count_nonzero(named & ~keep)
    assert not keep[~named].any()
    assert owners[keep].value_counts().max() <= records


def test_without_an_order_the_same_records_are_kept_wherever_they_stand() -> None:
    owners, table = persons(), codes()
    shuffled = np.random.default_rng(5).permutation(60)
    first = kept(keys(table, owners, ordered=False), 2)
    moved = owners.iloc[shuffled].reset_index(drop=True)
    again = kept(keys(table[shuffled], moved, ordered=False), 2)
    assert sorted(map(tuple, table[first])) == sorted(map(tuple, table[shuffled][again]))
