"""Random fields against the enumerated universe, and what they have room for."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.linear_queries.frank_wolfe.dpfw import FIELD, plan_dpfw
from hallmark.mechanisms.linear_queries.frank_wolfe.field import FieldPath, tree_cells
from hallmark.mechanisms.linear_queries.frank_wolfe.path import CellPath
from hallmark.mechanisms.linear_queries.questions import signed
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.cells import CellMap, marginal
from hallmark.mechanisms.privacy.linear_queries import Block, Boxes, EachCell, LinearQueries
from tests.mechanisms.linear_queries.adaptive_runs import bits, curator, finished, planned, ways

SHAPE = (2, 3, 2, 4, 2, 3)
LEVELS = (*(np.arange(k) for k in SHAPE[:-1]), np.array([0, 0, 1, 2, 2]))


def mixed() -> Universe:
    """Six columns, one of them with uneven levels; cells, boxes, and a map of its own."""
    blocks = [
        Block(marginal(c, SHAPE), EachCell(SHAPE[c[0]] * SHAPE[c[1]]))
        for c in combinations(range(6), 2)
    ]
    corners = np.array([[0, 1], [1, 0]]), np.array([[2, 3], [3, 4]])
    blocks.append(Block(marginal((1, 3), SHAPE), Boxes((3, 4), *corners, value=-1)))
    own = CellMap((5, 0), (np.array([0, 2, 4]), np.array([1, 0])), 6)
    blocks.append(Block(own, EachCell(6)))
    return Universe(SHAPE, LinearQueries(tuple(blocks)), LEVELS)


def test_answers_are_those_of_the_enumerated_path() -> None:
    universe, rng = mixed(), np.random.default_rng(5)
    dense = CellPath(universe, 0.05, 0.1)
    field = FieldPath(universe, 0.05, 0.1, most_cells=10**6)
    np.testing.assert_allclose(field.answers(), dense.answers(), atol=1e-12)
    for position in rng.integers(0, 2 * universe.queries.size, 25):
        query, sign = signed(int(position), universe.queries.size)
        dense.move(query, sign)
        field.move(query, sign)
    np.testing.assert_allclose(field.answers(), dense.answers(), atol=1e-6)


def ruled(universe: Universe) -> Universe:
    """With rules on three pairs, and on a column behind them that no query sees."""
    rng, tables = np.random.default_rng(2), []
    for pair in ((0, 3), (1, 5), (3, 6)):
        sizes = [(*SHAPE, 1)[column] for column in pair]
        allowed = rng.random(sizes) < 0.6
        allowed[0] = True
        tables.append(RuleTable(str(pair), pair, allowed))
    return replace(universe, rules=Rules((*SHAPE, 1), tuple(tables)))


def test_rules_that_find_room_hold_as_on_the_enumerated_path() -> None:
    universe, rng = ruled(mixed()), np.random.default_rng(5)
    assert not universe.possible.all()
    dense = CellPath(universe, 0.05, 0.1)
    field = FieldPath(universe, 0.05, 0.1, most_cells=10**6)
    for steps in (0, 1, 5, 19):
        for position in rng.integers(0, 2 * universe.queries.size, steps).tolist():
            query, sign = signed(position, universe.queries.size)
            dense.move(query, sign)
            field.move(query, sign)
        np.testing.assert_allclose(field.answers(), dense.answers(), atol=1e-6)
    codes = field.distribution().cells(5000, rng)
    assert universe.possible[np.ravel_multi_index(tuple(codes.T), SHAPE)].all()


def test_rules_without_room_are_left_to_the_release() -> None:
    universe = ruled(mixed())
    field = FieldPath(universe, 0.05, 0.1, most_cells=sum(SHAPE))
    codes = field.distribution().cells(5000, np.random.default_rng(0))
    assert not universe.possible[np.ravel_multi_index(tuple(codes.T), SHAPE)].all()


def test_records_of_a_field_have_its_answers() -> None:
    universe = mixed()
    field = FieldPath(universe, 0.05, 0.3, most_cells=10**6)
    for query in (3, 40, 60):
        field.move(query, 1)
    law = field.distribution()
    codes = law.cells(20_000, np.random.default_rng(0))
    counts = [np.bincount(m(codes), minlength=m.size) for m in universe.queries.maps]
    exact = universe.queries.answers([c.astype(np.int64) for c in counts]) / 20_000
    np.testing.assert_allclose(exact, law.answers(), atol=0.02)


def test_queries_that_would_make_the_tree_too_large_are_not_admissible() -> None:
    universe = ways((4,) * 6, 2)
    field = FieldPath(universe, 0.05, 0.1, most_cells=80)  # 16 a pair, 4 a column
    assert field.admissible().all()
    for query in (0, 16 * 5, 16 * 9):  # the pairs 01, 12, 23
        field.move(query, 1)
    mask = field.admissible().reshape(15, 16)
    assert (mask.all(axis=1) == mask.any(axis=1)).all()
    pairs = list(combinations(range(6), 2))
    for pair, fits in zip(pairs, mask[:, 0], strict=True):
        cells = tree_cells(universe, ((0, 1), (1, 2), (2, 3), pair))
        assert fits == (cells <= 80)
    assert not mask[pairs.index((0, 2)), 0]
    assert mask[pairs.index((3, 4)), 0]


def test_a_run_never_passes_its_room_and_is_the_enumerated_one_where_there_is_enough(
    tmp_path,
) -> None:
    universe, codes = ways((2,) * 6, 2), bits(800, 6)
    given = {"model": FIELD, "rounds": 25, "expected": 800}
    tight = planned(plan_dpfw, universe, **given, max_model_bytes=8 * 20)
    asked = curator(tmp_path, codes, tight)
    answers = tight.ask(asked)
    chosen = {
        universe.cliques[p % universe.queries.size // 4] for p in answers["choices"][0].tolist()
    }
    assert tree_cells(universe, tuple(chosen)) <= 20
    assert finished(tight, answers, asked).answers().shape == (60,)

    field = planned(plan_dpfw, universe, **given)
    dense = planned(plan_dpfw, universe, rounds=25, expected=800)
    np.testing.assert_allclose(
        finished(field, answers, asked).answers(), finished(dense, answers, asked).answers(),
        atol=1e-9,
    )  # fmt: skip
