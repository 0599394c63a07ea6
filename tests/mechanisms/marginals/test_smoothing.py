"""Smoothed series: coverage of levels and changes, and how much more exact they are."""

import numpy as np
import pytest

from hallmark.mechanisms.earlier import EarlierPeriod, EarlierTable
from hallmark.mechanisms.marginals.smoothing import SmoothedTable, common_groups, smoothed
from tests.mechanisms.marginals.test_foretelling import (
    OF_SEVERAL,
    RECORDS,
    SHAPE,
    as_earlier,
    drifting,
    marginal,
    measured,
)

SIGMA = 150.0


def drawn(seed: int, drift: float) -> tuple[list[SmoothedTable], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    tables = drifting(rng, 8, drift)
    periods = [
        as_earlier(2 * n, measured(rng, one, OF_SEVERAL, SIGMA)) for n, one in enumerate(tables)
    ]
    return list(smoothed(periods, SHAPE)), tables


@pytest.mark.parametrize("drift", [0.01, 0.05])
def test_intervals_of_levels_and_changes_hold_and_changes_are_more_exact(drift: float):
    """Of some thousand cells of several draws, of which those of a table depend on each other."""
    levels, changes, exactness = [], [], []
    for seed in range(4):
        found, tables = drawn(seed, drift)
        for one in found:
            truth = np.array([marginal(table, one.columns) for table in tables]) / RECORDS
            away = (...,) + (None,) * len(one.columns)
            off = (one.shares - truth) / one.deviations[away]
            moved = one.changes - np.diff(truth, axis=0)
            levels.append(np.abs(off).ravel() < 1.96)
            changes.append((np.abs(moved) < 1.96 * one.change_deviations[away]).ravel())
            if len(one.columns) == 2:
                exactness.append(np.std(moved) / (2**0.5 * SIGMA / RECORDS))
    assert 0.92 < np.concatenate(levels).mean() < 0.98
    assert 0.92 < np.concatenate(changes).mean() < 0.98
    assert np.mean(exactness) < 0.6


def test_margins_agree_with_their_tables():
    found, _ = drawn(5, 0.03)
    by_columns = {one.columns: one for one in found}
    np.testing.assert_allclose(
        by_columns[0, 3].shares.sum(axis=2), by_columns[0,].shares, atol=1e-12
    )
    np.testing.assert_allclose(by_columns[0, 3].shares.sum(axis=(1, 2)), 1)


def test_a_break_is_told_of_the_tables_that_have_it():
    rng = np.random.default_rng(6)
    tables = drifting(rng, 8, 0.01)
    tables = [np.flip(one, axis=3) if n >= 5 else one for n, one in enumerate(tables)]
    periods = [as_earlier(n, measured(rng, one, OF_SEVERAL, 50.0)) for n, one in enumerate(tables)]
    broken = {one.columns: one.broken for one in smoothed(periods, SHAPE)}
    assert 5 in broken[3,]
    assert 5 in broken[0, 3]
    assert 5 not in broken[0, 1]


def test_only_tables_of_all_periods_are_smoothed():
    rng = np.random.default_rng(7)
    tables = drifting(rng, 2, 0.01)
    one = as_earlier(0, measured(rng, tables[0], [(0, 1), (3,)], 50.0))
    other = as_earlier(1, measured(rng, tables[1], [(0,), (3, 4)], 50.0))
    assert [found.columns for found in smoothed([one, other], SHAPE)] == [(0,), (3,)]


def test_a_single_table_of_two_periods():
    counts = [np.array([60.0, 40.0]), np.array([70.0, 30.0])]
    periods = [
        EarlierPeriod(n, (EarlierTable((0,), (np.arange(2),), one, 2.0),), 100.0)
        for n, one in enumerate(counts)
    ]
    (found,) = smoothed(periods, (2,))
    assert found.shares.shape == (2, 2)
    assert (found.change_deviations <= 2**0.5 * 0.02).all()


def in_groups(number: int, thirds: int = 3) -> EarlierPeriod:
    """A column of six codes by itself, and by thirds of them with one of two codes."""
    rng = np.random.default_rng(number)
    own = EarlierTable((0,), (np.arange(6),), 10 + rng.normal(size=6), 1.0)
    groups = np.minimum(np.arange(6) // 2, thirds - 1), np.arange(2)
    pair = EarlierTable((0, 1), groups, 10 + rng.normal(size=(thirds, 2)), 1.0)
    return EarlierPeriod(number, (own, pair), 60.0)


def test_columns_in_groups_are_smoothed_in_them_where_all_periods_have_the_same():
    periods = [in_groups(n) for n in range(3)]
    groups = common_groups(periods)
    assert {column: of.tolist() for column, of in groups.items()} == {0: [0, 0, 1, 1, 2, 2]}
    pairs = list(smoothed([p.on_bins(groups) for p in periods], (3, 2)))
    assert {one.columns: one.shares.shape for one in pairs}[0, 1] == (3, 3, 2)
    assert {one.columns for one in smoothed(periods, (6, 2))} == {(0,)}
    assert common_groups([*periods, in_groups(3, thirds=2)]) == {}
