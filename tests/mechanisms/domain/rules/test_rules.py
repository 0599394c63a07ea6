"""Rules against all records of small domains."""

import pickle

import numpy as np
import pytest

from hallmark.mechanisms.domain.rules import Determination, Parts, Rules, RuleTable
from tests.mechanisms.domain.rules.small_rules import random_rules, records, truly_valid

SEEDS = range(60)
PAIR = RuleTable("a", (0, 2), np.eye(2, 3, dtype=bool))


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_record_is_valid_if_some_values_in_its_cells_obey_all_rules(
    seed: int, parts: bool
) -> None:
    rules = random_rules(np.random.default_rng(seed), parts=parts)
    everything = records(rules.shape)
    assert rules.valid(everything).tolist() == truly_valid(rules).tolist()
    if not parts:
        assert rules.obeyed(everything).tolist() == rules.valid(everything).tolist()


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_cells_of_a_clique_are_allowed_if_some_valid_record_has_them(
    seed: int, parts: bool
) -> None:
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, parts=parts)
    valid = truly_valid(rules).reshape(rules.shape)
    for size in range(len(rules.shape) + 1):
        clique = [int(c) for c in rng.permutation(len(rules.shape))[:size]]
        rest = tuple(c for c in range(len(rules.shape)) if c not in clique)
        left = valid.any(axis=rest)
        order = np.argsort(np.argsort(clique))
        expected = left.transpose(order) if clique else left
        assert np.array_equal(rules.allowed(clique), expected), clique


@pytest.mark.parametrize("seed", SEEDS)
def test_dead_cells_are_those_of_no_valid_record(seed: int) -> None:
    rules = random_rules(np.random.default_rng(seed), parts=True, share=0.4)
    alive = records(rules.shape)[truly_valid(rules)]
    expected = {
        c: tuple(sorted(set(range(rules.shape[c])) - set(alive[:, c].tolist())))
        for component in rules.components
        for c in component
    }
    assert rules.dead_cells() == {c: cells for c, cells in expected.items() if cells}


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_of_a_record_lie_in_its_cells_and_obey_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, parts=True)
    everything = records(rules.shape)
    parts = rules.parts_within(everything, rng)
    found = (parts >= 0).all(axis=1)
    assert found.tolist() == truly_valid(rules).tolist()
    assert (parts[~found] == -1).all()
    assert rules.parts is not None
    for table in rules.parts.tables:
        assert table.allowed[tuple(parts[found][:, c] for c in table.columns)].all()
    for c, cells in enumerate(rules.parts.cells):
        assert (cells[parts[found, c]] == everything[found, c]).all()


def test_all_parts_that_obey_are_drawn() -> None:
    cells = (np.array([0, 0, 0, 0]),)
    only = RuleTable("a", (0,), np.array([True, False, True, True]))
    rules = Rules((1,), parts=Parts(cells, (only,)))
    drawn = rules.parts_within(np.zeros((400, 1), dtype=np.int32), np.random.default_rng(0))
    # Each of the three is missed by all 400 draws with probability at most (2/3)^400 < 1e-70.
    assert sorted(set(drawn[:, 0].tolist())) == [0, 2, 3]


def test_columns_that_no_rule_touches_are_in_no_component_and_free() -> None:
    rules = Rules((2, 4, 3, 2, 2), (PAIR,), (Determination("d", 4, 3),))
    assert rules.components == ((0, 2), (3, 4))
    assert rules.allowed((1, 4)).all()
    assert rules.dead_cells() == {2: (2,)}


def test_no_rules_allow_everything_and_change_nothing() -> None:
    rules = Rules((2, 3))
    codes = records((2, 3))
    assert not rules
    assert rules.components == ()
    assert rules.obeyed(codes).all()
    assert rules.allowed((1, 0)).shape == (3, 2)
    assert rules.allowed((1, 0)).all()
    assert np.array_equal(rules.repair(codes, np.random.default_rng(0)), codes)
    assert rules.parts_within(codes, np.random.default_rng(0)).tolist() == codes.tolist()


def test_a_table_of_the_whole_domain_need_not_be_formed() -> None:
    """Twelve columns of fifty cells, each below the next: 2e20 records."""
    below = np.tri(50, k=-1, dtype=bool).T
    rules = Rules(
        (50,) * 12,
        tuple(RuleTable("a", (c, c + 1), below) for c in range(11)),
        ordered=tuple(range(12)),
    )
    first = rules.allowed((0,))
    assert np.flatnonzero(first).tolist() == list(range(39))
    assert rules.allowed((0, 11)).sum() == sum(39 - i for i in range(39))
    codes = np.random.default_rng(0).integers(0, 50, (100, 12)).astype(np.int32)
    assert rules.obeyed(rules.repair(codes, np.random.default_rng(1))).all()


def test_rules_pickle_without_what_was_derived_from_them() -> None:
    rules = Rules((2, 1, 3), (PAIR,))
    before = len(pickle.dumps(rules))
    assert rules.allowed((0, 2)).sum() == 2
    copy = pickle.loads(pickle.dumps(rules))
    assert len(pickle.dumps(rules)) == before
    assert np.array_equal(copy.allowed((0, 2)), rules.allowed((0, 2)))


@pytest.mark.parametrize(
    ("tables", "determinations", "says"),
    [
        ([RuleTable("r", (1, 0), np.ones((3, 2), bool))], [], "r: columns must be ascending"),
        ([RuleTable("r", (0, 0), np.ones((2, 2), bool))], [], "r: columns must be ascending"),
        ([RuleTable("r", (), np.ones((), bool))], [], "r: columns must be ascending"),
        ([RuleTable("r", (0, 2), np.ones((2, 2), bool))], [], "r: there are 2 columns"),
        ([RuleTable("r", (-1, 0), np.ones((2, 2), bool))], [], "r: there are 2 columns"),
        ([RuleTable("r", (0, 1), np.ones((3, 2), bool))], [], r"r: .* of shape \(2, 3\)"),
        ([RuleTable("r", (0, 1), np.ones((2, 3)))], [], "r: allowed must be truth values"),
        ([], [Determination("r", 1, 1)], "r: needs two different columns"),
        ([], [Determination("r", 0, 2)], "r: needs two different columns"),
    ],
)
def test_rules_that_do_not_suit_the_domain_are_refused(tables, determinations, says) -> None:
    with pytest.raises(ValueError, match=says):
        Rules((2, 3), tuple(tables), tuple(determinations))


def test_parts_must_cover_every_cell_and_repeated_columns_are_no_clique() -> None:
    with pytest.raises(ValueError, match="every cell of every column needs one part"):
        Rules((2, 3), parts=Parts((np.array([0, 1]), np.array([0, 2])), ()))
    with pytest.raises(ValueError, match="names each column once"):
        Rules((2, 3)).allowed((1, 1))
