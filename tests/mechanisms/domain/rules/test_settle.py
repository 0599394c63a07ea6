"""Determinations become tables that the other tables leave room for."""

import numpy as np
import pytest

from hallmark.mechanisms.domain.rules import Determination, Rules, RuleTable
from tests.mechanisms.domain.rules.small_rules import random_rules, records

RULE = Determination("d", 0, 1)


def chosen(rules: Rules) -> list[list[int]]:
    """Cells of column 1 that the last table leaves each cell of column 0."""
    table = rules.tables[-1]
    assert (table.name, table.columns) == ("d", (0, 1))
    return [np.flatnonzero(row).tolist() for row in table.allowed]


def test_each_value_goes_with_the_one_that_has_most_mass_and_nulls_are_free() -> None:
    rules = Rules((4, 3), (), (RULE,), nullable=(0, 1))
    mass = np.array([[5.0, 4, 9], [-3, -1, 0], [2, 2, 0], [7, 8, 9]])
    settled = rules.settled(lambda pair: mass)
    # The second has no positive mass, so it goes with the most common of all; null is cell 3 and 2.
    assert chosen(settled) == [[0, 2], [0, 2], [0, 2], [0, 1, 2]]
    assert settled.determinations == ()


def test_a_value_without_mass_takes_over_from_its_nearest_neighbour_in_an_order() -> None:
    mass = np.array([[0.0, 3], [0, 0], [0, 0], [0, 0], [1, 0]])
    unordered, ordered = (
        Rules((5, 2), (), (RULE,), ordered=order).settled(lambda pair: mass) for order in ((), (0,))
    )
    assert chosen(unordered) == [[1], [1], [1], [1], [0]]
    assert chosen(ordered) == [[1], [1], [1], [0], [0]]


def test_the_joint_is_asked_for_in_the_order_of_the_rule() -> None:
    rules = Rules((2, 3), (), (Determination("d", 1, 0),))
    asked = []

    def joint(pair: tuple[int, int]) -> np.ndarray:
        asked.append(pair)
        return np.array([[1.0, 0], [0, 1], [1, 0]])

    (table,) = rules.settled(joint).tables
    assert asked == [(1, 0)]
    assert table.columns == (0, 1)
    assert table.allowed.T.tolist() == [[True, False], [False, True], [True, False]]
    with pytest.raises(ValueError, match=r"d: joint\(1, 0\) has shape \(2, 3\)"):
        rules.settled(lambda pair: np.ones((2, 3)))


@pytest.mark.parametrize("seed", range(60))
def test_what_was_possible_of_the_first_column_stays_possible(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = random_rules(rng, parts=bool(seed % 2))
    pairs = [(0, 1), (2, 1), (1, 2)]
    rules = Rules(
        base.shape,
        base.tables,
        tuple(Determination("d", a, b) for a, b in pairs[: 1 + seed % 3]),
        base.ordered,
        base.nullable,
        base.parts,
    )
    before = rules.allowed((0,))
    settled = rules.settled(lambda pair: rng.normal(size=[base.shape[c] for c in pair]))
    if seed % 3 == 0:
        assert np.array_equal(settled.allowed((0,)), before)
    assert settled.allowed(()) == rules.allowed(())
    everything = records(base.shape)
    left = everything[settled.valid(everything)]
    for rule in rules.determinations:
        seen: dict[int, set[int]] = {}
        for a, b in left[:, [rule.column, rule.other]]:
            null_a = rule.column in base.nullable and a == base.shape[rule.column] - 1
            null_b = rule.other in base.nullable and b == base.shape[rule.other] - 1
            if not null_a and not null_b:
                seen.setdefault(int(a), set()).add(int(b))
        assert all(len(others) == 1 for others in seen.values())


def test_mass_on_forbidden_pairs_does_not_count() -> None:
    allowed = RuleTable("r", (0, 1), np.array([[False, True, True], [True, True, True]]))
    rules = Rules((2, 3), (allowed,), (RULE,))
    settled = rules.settled(lambda pair: np.array([[9.0, 1, 2], [9, 1, 2]]))
    assert chosen(settled) == [[2], [0]]
