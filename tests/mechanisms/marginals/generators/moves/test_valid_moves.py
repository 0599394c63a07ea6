"""Moves that keep rules: what they allow, against the rules themselves."""

from itertools import product

import numpy as np
import pytest

from hallmark.mechanisms.domain.rules import Determination, Parts, Rules, RuleTable, obeys
from hallmark.mechanisms.marginals.evidence import NoisyMarginal
from hallmark.mechanisms.marginals.generators.moves import valid_moves as module
from hallmark.mechanisms.marginals.generators.moves.valid_moves import settled_by, valid_moves

SHAPE = (3, 3, 2, 2)


def same(first: int, second: int) -> RuleTable:
    return RuleTable("same", (first, second), np.eye(3, dtype=bool))


def with_parts() -> Rules:
    """Columns 0 and 1 have two cells of two parts each, column 2 two cells.

    Of the parts of columns 0 and 1 only (0, 0), (1, 1) and (3, 3) go together, and odd parts of
    column 1 need code 1 in column 2, even ones code 0.
    """
    cells = (np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), np.array([0, 1]))
    allowed = np.zeros((4, 4), dtype=bool)
    allowed[[0, 1, 3], [0, 1, 3]] = True
    odd = np.zeros((4, 2), dtype=bool)
    odd[[0, 2], 0] = True
    odd[[1, 3], 1] = True
    parts = Parts(cells, (RuleTable("p", (0, 1), allowed), RuleTable("q", (1, 2), odd)))
    # What the cells alone show of the parts.
    table = RuleTable("p", (0, 1), np.eye(2, dtype=bool))
    return Rules((2, 2, 2), tables=(table,), parts=parts)


def test_without_rules_everything_moves_alone_and_there_are_no_blocks() -> None:
    moves = valid_moves(Rules(SHAPE))
    assert moves.alone.all()
    assert moves.blocks == ()
    assert moves.tables.allowed.size == 0


def test_components_are_the_blocks() -> None:
    rules = Rules(SHAPE, tables=(same(0, 1),))
    moves = valid_moves(rules)
    assert moves.blocks == ((0, 1),)
    assert not obeys(np.array([1, 1, 0, 0], dtype=np.int32), 0, 2, moves.tables)
    assert obeys(np.array([1, 1, 0, 0], dtype=np.int32), 2, 1, moves.tables)


@pytest.mark.parametrize("most", [1 << 16, 1])
def test_parts_are_respected_by_a_table_of_the_component_or_by_moving_it_whole(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_CELLS", most)
    rules = with_parts()
    moves = valid_moves(rules)
    records = np.array(list(product(range(2), repeat=3)), dtype=np.int32)
    valid = rules.valid(records)
    assert 0 < valid.sum() < rules.obeyed(records).sum()  # the cells' tables do not suffice
    for record in records[valid]:
        for a, code in product(range(3), range(2)):
            changed = record.copy()
            changed[a] = code
            may = moves.alone[a] and obeys(record, a, code, moves.tables)
            if most == 1:
                assert not moves.alone[a]
            else:
                assert may == rules.valid(changed[None])[0]


def test_an_unsettled_determination_is_refused() -> None:
    rules = Rules(SHAPE, determinations=(Determination("city -> state", 0, 1),))
    with pytest.raises(ValueError, match=r"city -> state: .* not settled"):
        valid_moves(rules)


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
def test_the_least_noisy_marginal_settles_a_determination(pair: tuple[int, int]) -> None:
    rules = Rules(SHAPE, determinations=(Determination("d", *pair),))
    right = 10.0 * np.roll(np.eye(3), 1, axis=1)
    wrong = np.zeros((3, 3, 2))
    wrong[..., 0] = 100.0 * np.eye(3)
    settled = settled_by(
        rules, [NoisyMarginal((0, 1, 2), wrong, 5.0), NoisyMarginal((0, 1), right, 1.0)]
    )
    assert not settled.determinations
    records = np.array([[i, j, 0, 0] for i, j in product(range(3), repeat=2)], dtype=np.int32)
    np.testing.assert_array_equal(settled.obeyed(records), right.ravel() > 0)


def test_a_determination_that_nothing_was_measured_of_is_settled_all_the_same() -> None:
    rules = Rules(SHAPE, determinations=(Determination("d", 0, 1),))
    settled = settled_by(rules, [NoisyMarginal((2, 3), np.ones((2, 2)), 1.0)])
    assert valid_moves(settled).blocks == ((0, 1),)
    assert settled_by(Rules(SHAPE), []).tables == ()
