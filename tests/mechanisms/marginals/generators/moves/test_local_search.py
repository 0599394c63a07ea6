"""The local search: exact bookkeeping, descent, rules, weights, and determinism."""

from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.domain.rules import Determination, Rules, RuleTable
from hallmark.mechanisms.marginals.generators.moves.local_search import polish
from tests.builders.codes import dependent_codes
from tests.mechanisms.marginals.domains import marginal_of

SHAPE = (5, 3, 2, 7)
FREE = Rules(SHAPE)
PAIRS = tuple(combinations(range(len(SHAPE)), 2))
MIXED = ((0,), (1, 3), (0, 2), (0, 1, 2), (1, 2, 3), (0, 1, 2, 3))


def table(codes: np.ndarray, clique: tuple[int, ...]) -> np.ndarray:
    return marginal_of(codes, clique, SHAPE)


def records(rows: int, seed: int) -> np.ndarray:
    return dependent_codes(SHAPE, rows, seed).astype(np.int32)


def targets_of(codes: np.ndarray, cliques: tuple[tuple[int, ...], ...] = PAIRS) -> dict:
    return {clique: table(codes, clique) for clique in cliques}


def error(codes: np.ndarray, targets: dict, weights: dict | None = None) -> float:
    loads = [1.0 if weights is None else weights[clique] for clique in targets]
    squares = [((table(codes, clique) - t) ** 2).sum() for clique, t in targets.items()]
    return float(np.average(squares, weights=loads))


def shuffled(codes: np.ndarray, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permuted(codes, axis=0)


def search(start: np.ndarray, targets: dict, sweeps: int, seed: int = 4, **how):
    how = {"rules": FREE, "tolerance": 0.0, **how}
    return polish(start, targets, sweeps=sweeps, rng=np.random.default_rng(seed), **how)


@pytest.mark.parametrize("cliques", [PAIRS, MIXED, ((0, 1, 2),), ((0, 1, 2, 3),), ((2,), (3,))])
@pytest.mark.parametrize("weighted", [False, True])
def test_reported_errors_are_those_of_a_fresh_count(
    cliques: tuple[tuple[int, ...], ...], weighted: bool
) -> None:
    noise = np.random.default_rng(7)
    targets = {
        clique: target + 0.01 * noise.normal(size=target.shape)
        for clique, target in targets_of(records(3000, 1), cliques).items()
    }
    weights = {clique: 0.3 + i for i, clique in enumerate(cliques)} if weighted else None
    start = shuffled(records(2000, 2), 3)
    result, history = search(start, targets, 9, weights=weights)
    assert history[0] == pytest.approx(error(start, targets, weights))
    assert history[-1] == pytest.approx(error(result, targets, weights))
    assert len(history) == 1 + 4 + 5  # before, after proposals at random, and after settling
    assert history == sorted(history, reverse=True)
    assert history[-1] < history[0]


@pytest.mark.parametrize("cliques", [PAIRS, MIXED])
def test_independent_columns_are_brought_close_to_dependent_targets(
    cliques: tuple[tuple[int, ...], ...],
) -> None:
    targets = targets_of(records(3000, 1), cliques)
    start = shuffled(records(3000, 1), 3)
    result, history = search(start, targets, 30)
    assert history[-1] < 1e-3 * history[0]
    far = max(np.abs(table(result, c) - t).sum() / 2 for c, t in targets.items())
    assert far < 0.02
    assert max(np.abs(table(start, c) - t).sum() / 2 for c, t in targets.items()) > 0.1


def test_a_table_on_target_stays_put_and_the_input_is_not_written_to() -> None:
    codes = records(500, 1)
    before = codes.copy()
    result, history = search(codes, targets_of(codes), 10)
    np.testing.assert_array_equal(result, before)
    assert history[0] == pytest.approx(0, abs=1e-12)
    search(codes, targets_of(records(500, 9)), 10)
    np.testing.assert_array_equal(codes, before)


def test_a_seed_gives_one_result() -> None:
    targets, start = targets_of(records(800, 1)), shuffled(records(800, 2), 3)
    first, again, other = (search(start, targets, 3, seed)[0] for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_codes_without_a_record_are_found() -> None:
    start = np.zeros((400, len(SHAPE)), dtype=np.int32)
    targets = targets_of(records(400, 1))
    result, _ = search(start, targets, 40)
    assert error(result, targets) < 0.01 * error(start, targets)


def test_heavy_cliques_are_met_where_targets_contradict_each_other() -> None:
    one, other = targets_of(records(3000, 1)), targets_of(shuffled(records(3000, 1), 2))
    targets = {PAIRS[0]: one[PAIRS[0]], (0, 1, 2): table(shuffled(records(3000, 1), 2), (0, 1, 2))}
    start = records(1000, 3)
    heavy, light = (
        search(start, targets, 30, weights={PAIRS[0]: load, (0, 1, 2): 1.0})[0]
        for load in (100.0, 0.01)
    )
    assert np.abs(other[PAIRS[0]] - one[PAIRS[0]]).max() > 0.05
    assert np.abs(table(heavy, PAIRS[0]) - one[PAIRS[0]]).max() < 0.005
    assert np.abs(table(light, PAIRS[0]) - other[PAIRS[0]]).max() < 0.005


def test_the_search_ends_when_a_sweep_gains_little() -> None:
    targets, start = targets_of(records(3000, 1)), shuffled(records(500, 1), 3)
    shares: list[float] = []
    _, history = search(start, targets, 3_000, tolerance=1e-2, report=shares.append)
    assert 6 <= len(history) < 40
    gains = 1 - np.array(history[1:]) / history[:-1]
    assert gains[-1] < 1e-2
    assert (gains[4:-1] >= 1e-2).all()
    assert shares[-1] == 1.0
    assert shares[:-1] == sorted(shares[:-1])


def tied() -> Rules:
    """Column 3 tells column 1, and column 2 is at most column 0."""
    equivalent = np.zeros((3, 7), dtype=bool)
    equivalent[[0, 0, 0, 1, 1, 2, 2], np.arange(7)] = True
    ordered = np.tri(5, 2, dtype=bool)
    return Rules(
        SHAPE,
        tables=(
            RuleTable("column 3 tells column 1", (1, 3), equivalent),
            RuleTable("ordered", (0, 2), ordered),
        ),
    )


def test_every_record_obeys_and_codes_that_determine_each_other_change_together() -> None:
    rules = tied()
    rng = np.random.default_rng(0)
    target = rules.repair(records(3000, 1), rng)
    targets = targets_of(target)
    start = target[:10].repeat(100, axis=0)
    assert len(set(map(tuple, start[:, [1, 3]]))) > 2
    result, history = search(start, targets, 60, rules=rules)
    assert rules.obeyed(result).all()
    assert history[-1] == pytest.approx(error(result, targets))
    assert np.abs(table(result, (1,)) - table(target, (1,))).max() < 0.01
    assert history[-1] < 0.02 * history[0]


def test_single_changes_stop_at_rules_that_blocks_cross() -> None:
    """Columns 1 and 3 wholly determine each other, so no single change of either is allowed."""
    rules = Rules((2, 3, 2, 3), tables=(RuleTable("same", (1, 3), np.eye(3, dtype=bool)),))
    start = np.zeros((300, 4), dtype=np.int32)
    start[:3, 1] = start[:3, 3] = [0, 1, 2]
    targets = {(1,): np.array([0.2, 0.3, 0.5])}
    result, history = search(start, targets, 60, rules=rules)
    np.testing.assert_array_equal(np.bincount(result[:, 1]), [60, 90, 150])
    np.testing.assert_array_equal(result[:, 1], result[:, 3])
    assert history[-1] == pytest.approx(0)


def test_records_that_break_rules_are_repaired_first_and_determinations_settled() -> None:
    rules = Rules(
        SHAPE,
        tables=(RuleTable("ordered", (0, 2), np.tri(5, 2, dtype=bool)),),
        determinations=(Determination("d", 3, 1),),
    )
    start = shuffled(records(1000, 1), 2)
    result, _ = search(start, targets_of(records(1000, 2)), 30, rules=rules)
    assert (result[:, 2] <= result[:, 0]).all()
    assert len(set(map(tuple, result[:, [3, 1]]))) == len(set(result[:, 3]))
    assert (start[:, 2] > start[:, 0]).any()


def test_without_targets_nothing_changes() -> None:
    start = records(50, 1)
    result, history = search(start, {}, 6)
    np.testing.assert_array_equal(result, start)
    assert history[-1] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": {(0, 1): np.zeros((3, 5))}}, r"targets\[\(0, 1\)\]: shape \(3, 5\)"),
        ({"weights": {(0,): 0.0}}, r"weights\[\(0,\)\]: 0"),
        ({"weights": {(1,): 1.0}}, r"weights\[\(0,\)\]: nan"),
        ({"codes": np.zeros((3, 2), dtype=np.int32)}, "codes: shape .* 4 attributes"),
        ({"codes": np.zeros((0, 4), dtype=np.int32)}, "one record is needed"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict, message: str) -> None:
    what = {"codes": records(10, 1), "targets": {(0,): np.full(5, 0.2)}, "weights": None, **change}
    with pytest.raises(ValueError, match=message):
        polish(
            what["codes"],
            what["targets"],
            weights=what["weights"],
            rules=FREE,
            sweeps=1,
            rng=np.random.default_rng(0),
        )
