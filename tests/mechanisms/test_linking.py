"""Linking records of a period to those of the period before."""

from itertools import combinations, permutations

import numpy as np
import pytest

from hallmark.mechanisms.arrays import Codes
from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.linking import NEW, Linked, Past, link

SHAPE = (2, 6, 3, 4, 4, 5)
"""Sex, age, region and work; and region and work in the period before, with nulls."""
LAGGED, OF, FOLLOWING = (4, 5), (2, 3), (0, 1)


def people(n: int, rng: np.random.Generator) -> Codes:
    """Records of one period: sex, age, region and work."""
    codes = np.column_stack([rng.integers(k, size=n) for k in SHAPE[:4]])
    codes[:, 3] = np.minimum(codes[:, 1] // 2 + codes[:, 3] // 2, 3)
    return codes.astype(np.int32)


def next_period(codes: Codes, rng: np.random.Generator) -> Codes:
    """Records of the next, with what they were before: some left, some are new."""
    stay = codes[(codes[:, 1] < 5) & (rng.random(len(codes)) < 0.8)]
    now = stay.copy()
    now[:, 1] += 1
    moved = rng.random(len(now)) < 0.2
    now[moved, 2] = rng.integers(3, size=int(moved.sum()))
    new = people(len(codes) - len(now), rng)
    nobody = np.tile([3, 4], (len(new), 1))
    together = np.vstack([np.hstack([now, stay[:, 2:]]), np.hstack([new, nobody])])
    return rng.permutation(together).astype(np.int32)


def past_of(earlier: Codes) -> Past:
    aged = np.where(earlier[:, 1] < 5, earlier[:, 1] + 1, NEW)
    return Past(
        lagged=LAGGED,
        of=OF,
        says=earlier[:, 2:],
        following=FOLLOWING,
        follows=np.column_stack([earlier[:, 0], aged]).astype(np.int32),
    )


def table(codes: Codes, pair: tuple[int, int]) -> Codes:
    found = np.zeros([SHAPE[c] for c in pair], dtype=int)
    np.add.at(found, tuple(codes[:, c] for c in pair), 1)
    return found


def pairs() -> list[tuple[int, int]]:
    return [pair for pair in combinations(range(6), 2) if set(pair) & set(LAGGED)]


def check(found: Linked, codes: Codes, past: Past) -> None:
    """What is always so."""
    held = found.before != NEW
    before = found.before[held]
    assert len(np.unique(before)) == len(before)
    np.testing.assert_array_equal(found.codes[:, :4], codes[:, :4])
    np.testing.assert_array_equal(found.codes[held][:, list(LAGGED)], past.says[before])
    np.testing.assert_array_equal(found.codes[held][:, list(FOLLOWING)], past.follows[before])
    assert (found.codes[~held][:, list(LAGGED)] == [3, 4]).all()
    told = np.mean(
        [np.abs(table(found.codes, p) - table(codes, p)).sum() / 2 / len(codes) for p in pairs()]
    )
    assert found.differs == pytest.approx(told)


@pytest.mark.parametrize("seed", range(5))
def test_records_continue_records_that_they_could_follow(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # The earlier records are others than those that the records were made of.
    codes, past = next_period(people(400, rng), rng), past_of(people(400, rng))
    found = link(codes, Rules(SHAPE), past, np.random.default_rng(1))
    check(found, codes, past)
    wanted = (codes[:, LAGGED[0]] != 3).sum()
    assert abs((found.before != NEW).sum() - wanted) < 0.1 * len(codes)
    again = link(codes, Rules(SHAPE), past, np.random.default_rng(1))
    np.testing.assert_array_equal(found.before, again.before)


def test_tables_stay_nearer_than_among_people_who_are_linked_at_random() -> None:
    rng = np.random.default_rng(11)
    codes, past = next_period(people(2000, rng), rng), past_of(people(2000, rng))
    found = link(codes, Rules(SHAPE), past, rng)
    shuffled = codes.copy()
    for age in range(6):
        for sex in range(2):
            (some,) = np.nonzero((found.codes[:, 0] == sex) & (found.codes[:, 1] == age))
            shuffled[some] = found.codes[some]
            shuffled[some[:, None], LAGGED] = found.codes[rng.permutation(some)[:, None], LAGGED]
    of_regions = table(codes, (2, 4))
    near = np.abs(table(found.codes, (2, 4)) - of_regions).sum()
    assert near < 0.25 * np.abs(table(shuffled, (2, 4)) - of_regions).sum()


def test_who_is_what_the_records_say_is_found() -> None:
    rng = np.random.default_rng(5)
    earlier = people(300, rng)
    codes = next_period(earlier, rng)
    found = link(codes, Rules(SHAPE), past_of(earlier), rng)
    assert found.differs == 0
    np.testing.assert_array_equal(found.before != NEW, codes[:, LAGGED[0]] != 3)


def test_of_few_people_no_other_distribution_is_better() -> None:
    shape = (3, 4)  # what people are, and what they were

    def squares(said: Codes, now: Codes, made: Codes) -> float:
        off = np.zeros(shape)
        np.add.at(off, (now, said), 1)
        np.add.at(off, (now, made), -1)
        return float((off**2).sum())

    best = worse = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        now, made, earlier = (rng.integers(3, size=6) for _ in range(3))
        past = Past(
            lagged=(1,),
            of=(0,),
            says=earlier[:, None].astype(np.int32),
            following=(),
            follows=np.empty((6, 0), dtype=np.int32),
        )
        codes = np.column_stack([now, made]).astype(np.int32)
        found = link(codes, Rules(shape), past, rng)
        every = set(permutations([*earlier, 3, 3, 3], 6)) if seed < 4 else set()
        least = min((squares(np.array(one), now, made) for one in every), default=None)
        if least is not None:
            best += squares(found.codes[:, 1], now, made) == least
            worse += squares(found.codes[:, 1], now, made) > least + 4
    assert best >= 3  # exchanges of two may end where only a cycle of three helps
    assert worse == 0


def test_no_past_that_a_rule_forbids() -> None:
    rng = np.random.default_rng(8)
    allowed = np.eye(4, 5, dtype=bool)  # nobody's work changes
    allowed[:, 4] = True
    rules = Rules(SHAPE, tables=(RuleTable("work", (3, 5), allowed),))
    codes = rules.repair(next_period(people(500, rng), rng), rng)
    past = past_of(people(500, rng))
    free = link(codes, Rules(SHAPE), past, np.random.default_rng(2))
    assert not rules.obeyed(free.codes).all()  # else this test would show nothing
    found = link(codes, rules, past, np.random.default_rng(2))
    assert rules.obeyed(found.codes).all()
    check(found, codes, past)
    assert found.moved == 0


def test_records_that_no_past_suits_and_that_must_have_one_are_moved() -> None:
    rng = np.random.default_rng(8)
    allowed = np.ones((4, 5), dtype=bool)
    allowed[0, 4] = False  # who does no work was there before
    rules = Rules(SHAPE, tables=(RuleTable("work", (3, 5), allowed),))
    codes = rules.repair(next_period(people(200, rng), rng), rng)
    nobody = past_of(people(200, rng)[:0])
    found = link(codes, rules, nobody, rng)
    assert (found.before == NEW).all()
    assert rules.obeyed(found.codes).all()
    assert found.moved == (codes[:, 3] == 0).sum()
