"""Repair against all records of small domains."""

import time

import numpy as np
import pytest

from hallmark.mechanisms.domain.rules import Determination, Rules, RuleTable
from hallmark.mechanisms.domain.rules.rules import joint_of
from tests.mechanisms.domain.rules.small_rules import distance, random_rules, records, truly_valid

SEEDS = [*range(25), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(25, 60))]


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_repaired_record_is_the_nearest_valid_one_and_valid_ones_stay(
    seed: int, parts: bool
) -> None:
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, parts=parts)
    everything, valid = records(rules.shape), truly_valid(rules)
    if not valid.any():
        with pytest.raises(ValueError, match="no record obeys all rules"):
            rules.repair(everything, rng)
        return
    repaired = rules.repair(everything, rng)
    assert rules.valid(repaired).all()
    assert np.array_equal(repaired[valid], everything[valid])
    possible = everything[valid]
    for i in np.flatnonzero(~valid)[:: max(1, (~valid).sum() // 40)]:
        ways = np.array([distance(rules, everything[i], other) for other in possible])
        changes = (everything[i] != possible).sum(axis=1)
        went = distance(rules, everything[i], repaired[i])
        assert went == pytest.approx(ways.min(), abs=1e-6)
        fewest = changes[ways <= ways.min() + 1e-9].min()
        assert (everything[i] != repaired[i]).sum() == fewest


def test_ties_fall_in_proportion_to_how_common_the_cells_are() -> None:
    """A forbidden null goes to a value; 1 % of the values are of one kind, and none of another."""
    rng = np.random.default_rng(5)
    rules = Rules((5,), (RuleTable("a", (0,), np.array([1, 1, 1, 1, 0], bool)),), nullable=(0,))
    values = np.repeat([0, 1, 2, 4], [6000, 2900, 100, 9000])
    repaired = rules.repair(values[:, None].astype(np.int32), rng)[values == 4, 0]
    counts = np.bincount(repaired, minlength=4)
    assert counts[3] == 0
    shares = np.array([6000, 2900, 100]) / 9000
    # Each count is binomial; five and a half of its deviations are missed once in 2e7.
    deviations = np.abs(counts[:3] - 9000 * shares) / np.sqrt(9000 * shares * (1 - shares))
    assert deviations.max() < 5.5


def test_ties_between_columns_and_between_neighbours_go_both_ways() -> None:
    off = RuleTable("a", (0, 1), ~np.eye(2, dtype=bool))
    codes = np.zeros((4000, 2), dtype=np.int32)
    moved = Rules((2, 2), (off,)).repair(codes, np.random.default_rng(1))
    assert (moved.sum(axis=1) == 1).all()
    hole = RuleTable("b", (0,), np.array([True, False, True]))
    middle = np.ones((4000, 1), dtype=np.int32)
    sides = Rules((3,), (hole,), ordered=(0,)).repair(middle, np.random.default_rng(1))
    # A fair coin gives 4000 times a share outside (0.46, 0.54) with probability below 1e-6; ways
    # between columns are drawn 32 times only, so a share outside (1/16, 15/16) has 3e-7 or less.
    assert abs((sides == 2).mean() - 0.5) < 0.04
    assert abs(moved[:, 0].mean() - 0.5) < 7 / 16


def test_repair_settles_determinations_by_the_records_themselves() -> None:
    rng = np.random.default_rng(2)
    rules = Rules((4, 4), (), (Determination("d", 0, 1),), nullable=(0, 1))
    first = rng.integers(0, 4, 3000)
    second = np.where(rng.random(3000) < 0.7, (first + 1) % 3, rng.integers(0, 4, 3000))
    codes = np.column_stack([first, second]).astype(np.int32)
    repaired = rules.repair(codes, rng)
    free = (codes == 3).any(axis=1)
    agree = second == (first + 1) % 3
    assert np.array_equal(repaired[free | agree], codes[free | agree])
    given = (repaired < 3).all(axis=1)
    assert (repaired[given, 1] == (repaired[given, 0] + 1) % 3).all()


def test_repair_is_the_same_for_the_same_generator_and_keeps_the_type() -> None:
    rules = random_rules(np.random.default_rng(3))
    codes = records(rules.shape)
    one, two = (rules.repair(codes, np.random.default_rng(9)) for _ in range(2))
    assert np.array_equal(one, two)
    assert one.dtype == codes.dtype


def test_a_hundred_thousand_records_of_ten_columns_take_seconds() -> None:
    """A component like that of the census excerpts, 20 % of whose records break a rule."""
    rng = np.random.default_rng(0)
    ages, incomes, industries = 61, 55, 43
    age = np.arange(ages)
    shape = (ages, 7, incomes + 1, 11, 13, 3, 3, industries + 1, 20, 7)
    nullable = tuple(range(1, 10))

    def null(column: int) -> np.ndarray:
        return np.arange(shape[column]) == shape[column] - 1

    def same(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return one[:, None] == other[None, :]

    young = {1: age < 15, 2: age < 15, 3: age < 15, 4: age < 3, 5: age < 5, 6: age < 5}
    tables = [RuleTable("null", (0, c), same(flag, null(c))) for c, flag in young.items()]
    tables += [
        RuleTable("null", pair, same(null(pair[0]), null(pair[1])))
        for pair in ((1, 2), (1, 3), (2, 3), (5, 6), (7, 8))
    ]
    tables += [RuleTable("null", (0, c), (age >= 16)[:, None] | null(c)[None, :]) for c in (7, 8)]
    tables.append(RuleTable("no veterans", (0, 9), (age >= 15)[:, None] | null(9)[None, :]))
    school = (age >= 5)[:, None] | (np.arange(13) < 4)[None, :] | null(4)[None, :]
    tables.append(RuleTable("school", (0, 4), school))
    rich = (np.arange(incomes + 1) < 46) | null(2)
    tables.append(RuleTable("rich", (2, 3), rich[:, None] | (np.arange(11) > 1)[None, :]))
    rules = Rules(
        shape,
        tuple(tables),
        (Determination("industry", 7, 8),),
        ordered=(0, 2, 3, 4, 7),
        nullable=nullable,
    )
    draws = np.column_stack(
        [rng.integers(0, size - (c in nullable), 100_000) for c, size in enumerate(shape)]
    ).astype(np.int32)
    years = draws[:, 0]
    draws[:, 3] = np.where(draws[:, 2] < 46, draws[:, 3], np.maximum(draws[:, 3], 2))
    draws[:, 4] = np.where(years < 5, draws[:, 4] % 4, draws[:, 4])
    draws[:, 8] = draws[:, 7] * 19 // industries
    for column, until in {1: 15, 2: 15, 3: 15, 4: 3, 5: 5, 6: 5, 7: 16, 8: 16, 9: 15}.items():
        draws[:, column] = np.where(years < until, shape[column] - 1, draws[:, column])
    settled = rules.settled(joint_of(draws, shape))
    assert settled.obeyed(draws).all()
    broken = draws.copy()
    touched = rng.permutation(100_000)[:26_000]
    columns = rng.integers(0, 10, len(touched))
    others = rng.permutation(100_000)[: len(touched)]
    broken[touched, columns] = draws[others, columns]  # another person's value: often impossible
    broken[touched[:14_000], 0] = draws[others[:14_000], 0] // 3
    wrong = ~settled.obeyed(broken)
    assert 15_000 < wrong.sum() < 26_000
    started = time.perf_counter()
    repaired = rules.repair(broken, rng)
    assert time.perf_counter() - started < 20  # measured below 3 s; this machine may be busy
    assert rules.obeyed(repaired).all()
    assert np.array_equal(repaired[~wrong], broken[~wrong])
