"""Settling: each entry's best code by trial, the excess kept, any cliques, weights and rules."""

from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.marginals.generators.moves.coordinate_search import (
    laid_out,
    lines,
    settle,
)
from hallmark.mechanisms.marginals.generators.moves.excess import error, excess
from hallmark.mechanisms.marginals.generators.moves.valid_moves import valid_moves
from tests.mechanisms.marginals.domains import marginal_of

SHAPE = (5, 3, 2, 17, 9)
PAIRS = tuple(combinations(range(len(SHAPE)), 2))
MIXED: tuple[Clique, ...] = ((0,), (1, 3), (0, 2), (0, 1, 2), (1, 2, 4), (0, 1, 2, 3), (4,))


def records(rows: int, seed: int) -> AnyCodes:
    rng = np.random.default_rng(seed)
    hidden = rng.random((rows, 1))
    mixed = 0.6 * hidden + 0.4 * rng.random((rows, len(SHAPE)))
    return np.floor(mixed * SHAPE).astype(np.uint8)


def targets_of(codes: AnyCodes, cliques: tuple[Clique, ...]) -> dict:
    return {clique: marginal_of(codes, clique, SHAPE) for clique in cliques}


def by_hand(codes: AnyCodes, targets: dict, weights: list[float], rules: Rules) -> AnyCodes:
    """Every code of every entry is tried, and all tables are counted anew each time."""
    codes = codes.copy()

    def total(table: AnyCodes) -> float:
        return error(excess(table, targets, weights), targets, weights)

    for record in range(len(codes)):
        for a, size in enumerate(SHAPE):
            tried = []
            for code in range(size):
                other = codes.copy()
                other[record, a] = code
                if rules.obeyed(other[record : record + 1].astype(np.int32)).all():
                    tried.append((total(other), code))
            best, code = min(tried)
            if best < total(codes) - 1e-6:
                codes[record, a] = code
    return codes


@pytest.mark.parametrize(
    ("cliques", "tied"),
    [
        (PAIRS, True),
        (MIXED, False),
        (((0, 1, 2),), True),
        (((3,),), False),
        *(
            pytest.param(cliques, tied, marks=pytest.mark.slow)
            for cliques, tied in (
                (PAIRS, False),
                (MIXED, True),
                (((0, 1, 2),), False),
                (((3,),), True),
            )
        ),
    ],
)
def test_every_entry_takes_its_best_allowed_code_and_the_excess_is_kept(
    cliques: tuple[Clique, ...], tied: bool
) -> None:
    rules = Rules(SHAPE, tables=(RuleTable("o", (0, 3), np.tri(5, 17, 8, dtype=bool)),) * tied)
    rng = np.random.default_rng(3)
    targets = targets_of(records(400, 1), cliques)
    weights = [0.5 + rng.random() for _ in cliques]
    start = rules.repair(rng.permuted(records(25, 2), axis=0).astype(np.int32), rng)
    codes = np.ascontiguousarray(start, dtype=np.uint8)
    over = laid_out(excess(codes, targets, weights), targets)
    before = error(excess(codes, targets, weights), targets, weights)
    expected = by_hand(codes, targets, weights, rules)
    settle(codes, over, lines(SHAPE, cliques, weights), valid_moves(rules))
    found, hand = (error(excess(c, targets, weights), targets, weights) for c in (codes, expected))
    assert (codes != start).any()
    assert found < before
    assert found == pytest.approx(hand, rel=1e-4)  # of codes as good as each other, any is taken
    assert rules.obeyed(codes.astype(np.int32)).all()
    fresh = laid_out(excess(codes, targets, weights), targets)
    np.testing.assert_allclose(over, fresh, atol=1e-3)


def test_what_may_not_change_alone_and_what_no_clique_holds_stays() -> None:
    rules = Rules(SHAPE, tables=(RuleTable("same", (1, 2), np.eye(3, 2, dtype=bool)),))
    rng = np.random.default_rng(3)
    codes = rules.repair(records(50, 2).astype(np.int32), rng).astype(np.uint8)
    start, cliques = codes.copy(), ((1, 2), (0, 1))
    targets = targets_of(records(400, 1), cliques)
    over = laid_out(excess(codes, targets, [1.0, 1.0]), targets)
    settle(codes, over, lines(SHAPE, cliques, [1.0, 1.0]), valid_moves(rules))
    np.testing.assert_array_equal(codes[:, 1:], start[:, 1:])
    assert (codes[:, 0] != start[:, 0]).any()
