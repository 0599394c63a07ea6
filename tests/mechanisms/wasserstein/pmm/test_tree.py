"""Arithmetic on trees of counts: invariants, dense least squares, and the transport program."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from hallmark.mechanisms.domain.domain import Domain, Kind
from hallmark.mechanisms.geometry.partition import Partition, split_order
from hallmark.mechanisms.wasserstein.pmm.tree import (
    LeastSquares,
    consistent_leaves,
    leaves_from_differences,
    transport_cost,
)
from hallmark.mechanisms.wasserstein.single_histogram.records import records_along
from tests.mechanisms.geometry.small_spaces import nominal, ordinal

RULES = ("uniform", "proportional")


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    """Complete partitions, so that leaves are single cells of no extent."""
    columns = st.builds(ordinal, st.integers(1, 6), st.booleans()) | st.builds(
        nominal, st.integers(1, 4)
    )
    domain = Domain(tuple(draw(st.lists(columns, min_size=1, max_size=2))))
    return Partition(domain, split_order(domain, 12))


@st.composite
def noisy_trees(draw: st.DrawFn) -> tuple[Partition, np.ndarray, list[np.ndarray], int]:
    """A partition, true leaf counts, noise of levels 1 to depth, and noise of the root."""
    p = draw(partitions())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.sampled_from([0.3, 2.0, 20.0]))
    counts = rng.integers(0, draw(st.sampled_from([1, 4, 40])) + 1, p.leaves)
    counts[p.empty(p.depth)] = 0
    if counts.sum() == 0:
        counts[0] = 1
    noise = [np.rint(rng.laplace(scale=size, size=1 << j)).astype(int) for j in range(p.depth + 1)]
    return p, counts, noise[1:], int(noise[0][0])


def sums(counts: np.ndarray) -> list[np.ndarray]:
    """Counts of levels 0 to depth."""
    levels = [counts]
    while len(levels[0]) > 1:
        levels.insert(0, levels[0].reshape(-1, 2).sum(axis=1))
    return levels


def differences(counts: np.ndarray) -> list[np.ndarray]:
    """The number of records, then for levels 1 to depth the first siblings less the second."""
    return [sums(counts)[0], *(level[::2] - level[1::2] for level in sums(counts)[1:])]


def voids(p: Partition) -> list[np.ndarray]:
    return [p.empty(level) for level in range(p.depth + 1)]


def flow_costs(p: Partition) -> list[np.ndarray]:
    return [p.flow_costs(level) for level in range(p.depth)]


def misplaced_at_most(noise: list[np.ndarray], costs: list[np.ndarray]) -> float:
    """The sum over pairs of siblings in He, Vershynin, Zhu (2023), Theorem 10, records."""
    pairs = (np.abs(level).reshape(-1, 2).max(axis=1) for level in noise)
    return sum(float(pair @ cost) for pair, cost in zip(pairs, costs, strict=True))


def joint_w1(p: Partition, first: np.ndarray, second: np.ndarray) -> float:
    """W1 of leaf distributions in the largest difference over columns, by linear programming."""
    real = np.flatnonzero(~p.empty(p.depth))
    cost = np.zeros((len(real), len(real)))
    for position, a in enumerate(p.domain.attributes):
        codes = p.boxes(position, p.depth)[real, 0]
        if a.kind is Kind.NOMINAL:
            apart = (codes[:, None] != codes).astype(float)
        else:
            x = np.append(a.positions, np.nan)[codes]
            to_middle = np.where(codes < a.levels, np.abs(x - 0.5), 0.5)
            null = (codes == a.levels)[:, None] | (codes == a.levels)
            through = to_middle[:, None] + to_middle
            apart = np.where(null, through, np.abs(x[:, None] - x))
            apart[codes[:, None] == codes] = 0.0
        cost = np.maximum(cost, apart)
    m = len(real)
    if m == 1:
        return 0.0
    rows, columns = np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))
    solved = linprog(
        cost.ravel(),
        A_eq=np.vstack([rows, columns])[:-1],
        b_eq=np.concatenate([first[real], second[real]])[:-1],
        method="highs",
    )
    assert solved.success
    return float(solved.fun)


@given(noisy_trees(), st.sampled_from(RULES), st.integers(0, 50))
@settings(max_examples=100)
def test_consistent_counts_are_nonnegative_integers_that_sum_to_the_root(tree, rule, root) -> None:
    p, counts, noise, _ = tree
    noisy = [h + z for h, z in zip(sums(counts)[1:], noise, strict=True)]
    leaves = consistent_leaves(root, noisy, voids(p)[1:], rule)
    assert leaves.dtype == np.int64
    assert (leaves >= 0).all()
    assert leaves.sum() == root
    assert (leaves[p.empty(p.depth)] == 0).all()


@given(noisy_trees(), st.sampled_from(RULES))
@settings(max_examples=100)
def test_consistent_children_are_comparable_with_their_noisy_counts(tree, rule) -> None:
    p, counts, noise, _ = tree
    noisy = [h + z for h, z in zip(sums(counts)[1:], noise, strict=True)]
    levels = sums(consistent_leaves(int(counts.sum()), noisy, voids(p)[1:], rule))[1:]
    for level, (made, seen) in enumerate(zip(levels, noisy, strict=True)):
        gap = (made - np.maximum(seen, 0)).reshape(-1, 2)
        gap = gap[p.flow_costs(level) > 0]
        assert ((gap >= 0).all(axis=1) | (gap <= 0).all(axis=1)).all()


@given(noisy_trees(), st.sampled_from(RULES))
@settings(max_examples=100)
def test_without_noise_the_counts_come_back(tree, rule) -> None:
    p, counts, _, _ = tree
    exact = consistent_leaves(int(counts.sum()), sums(counts)[1:], voids(p)[1:], rule)
    assert (exact == counts).all()


@given(noisy_trees(), st.sampled_from(RULES))
@settings(max_examples=100)
def test_the_deterministic_accuracy_bound_holds_in_every_run(tree, rule) -> None:
    p, counts, noise, root_noise = tree
    n = int(counts.sum())
    root = max(1, n + root_noise)
    noisy = [h + z for h, z in zip(sums(counts)[1:], noise, strict=True)]
    made = consistent_leaves(root, noisy, voids(p)[1:], rule)
    allowed = abs(root - n) * float(p.diameters(0)[0]) + misplaced_at_most(noise, flow_costs(p))
    assert joint_w1(p, counts / n, made / root) <= allowed / n + 1e-7


def test_the_deterministic_bound_is_broken_by_twice_the_noise_it_states() -> None:
    """One binary column, all noise on one side: the bound is attained, so half of it is too low."""
    p = Partition(Domain((ordinal(2),)), (0,))
    counts, noise = np.array([50, 50]), [np.array([10, -10])]
    made = consistent_leaves(100, [counts + noise[0]], voids(p)[1:], "uniform")
    moved = joint_w1(p, counts / 100, made / 100)
    assert moved == pytest.approx(misplaced_at_most(noise, flow_costs(p)) / 100)


def split(p: Partition, levels: list[np.ndarray], within_parent: bool = True) -> np.ndarray:
    return leaves_from_differences(levels, empty=voids(p), within_parent=within_parent)


def noisy_differences(tree: tuple, root: int) -> list[np.ndarray]:
    """Of a tree as `noisy_trees` draws it, with half of each level's noise, and a given root."""
    _, counts, noise, _ = tree
    below = [d + z[::2] for d, z in zip(differences(counts)[1:], noise, strict=True)]
    return [np.array([root]), *below]


@given(noisy_trees(), st.integers(0, 50))
@settings(max_examples=100)
def test_masses_from_differences_are_dyadic_not_negative_and_sum_to_the_root(tree, root) -> None:
    p = tree[0]
    leaves = split(p, noisy_differences(tree, root))
    assert (leaves >= 0).all()
    assert leaves.sum() == root
    assert (leaves[p.empty(p.depth)] == 0).all()
    assert (leaves * 2**p.depth % 1 == 0).all()


@given(noisy_trees())
@settings(max_examples=60)
def test_differences_without_noise_give_the_counts_back(tree) -> None:
    p, counts, _, _ = tree
    for within_parent in (True, False):
        assert (split(p, differences(counts), within_parent) == counts).all()


@given(noisy_trees())
@settings(max_examples=60)
def test_unclipped_masses_err_by_what_the_noise_alone_gives(tree) -> None:
    p, counts, noise, root_noise = tree
    alone = [np.array([root_noise]), *(z[::2] for z in noise)]
    noisy = noisy_differences(tree, int(counts.sum()) + root_noise)
    assert (split(p, noisy, False) == counts + split(p, alone, False)).all()
    batch = [np.stack([d, z]) for d, z in zip(noisy, alone, strict=True)]
    apart = [split(p, noisy, False), split(p, alone, False)]
    assert (split(p, batch, False) == apart).all()


def test_masses_of_many_records_on_a_deep_tree_are_exact() -> None:
    """Against Python's integers, in units of 2**-22 records."""
    rng = np.random.default_rng(5)
    levels = [np.array([2**30 - 1])]
    levels += [rng.integers(-(2**29 >> j), 2**29 >> j, 1 << (j - 1)) for j in range(1, 23)]
    empty = [np.zeros(1 << j, dtype=bool) for j in range(23)]
    leaves = leaves_from_differences(levels, empty=empty, within_parent=False)
    for leaf in (0, 1, 2**22 - 1, *rng.integers(0, 2**22, 50).tolist()):
        units = (2**30 - 1) * 2**22
        for j in range(1, 23):
            node = leaf >> (22 - j)
            sign = -1 if node & 1 else 1
            units = (units + sign * int(levels[j][node >> 1]) * 2**22) // 2
        assert leaves[leaf] * 2**22 == units


def test_noise_on_a_difference_misplaces_at_most_half_of_it_between_two_siblings() -> None:
    """All private counts up to 6, masses up to 12 and noise up to 8: half is attained."""
    h0, h1, m, noise = np.meshgrid(
        np.arange(7), np.arange(7), np.arange(0, 12.5, 0.5), np.arange(-8, 9), indexing="ij"
    )
    first = np.clip((m + h0 - h1 + noise) / 2, 0, m)
    over, under = h0 - first, h1 - (m - first)
    misplaced = np.where(over * under < 0, np.minimum(np.abs(over), np.abs(under)), 0.0)
    assert (misplaced - np.abs(noise) / 2).max() == 0
    whole = np.floor(first + 0.5)  # rounded at every node, as masses are not
    over, under = h0 - whole, h1 - (m - whole)
    misplaced = np.where(over * under < 0, np.minimum(np.abs(over), np.abs(under)), 0.0)
    assert (misplaced - np.abs(noise) / 2).max() == 0.5


@given(noisy_trees())
@settings(max_examples=100)
def test_the_deterministic_bound_of_differences_holds_in_every_run(tree) -> None:
    p, counts, noise, root_noise = tree
    n = int(counts.sum())
    root = max(1, n + root_noise)
    made = split(p, noisy_differences(tree, root))
    allowed = abs(root - n) * float(p.diameters(0)[0]) + half_of_noise(p, noise)
    assert joint_w1(p, counts / n, made / root) <= allowed / n + 1e-7


def half_of_noise(p: Partition, noise: list[np.ndarray]) -> float:
    """The bound of pmm.md on what the noise on all differences misplaces, records."""
    halves = (np.abs(z[::2]) / 2 for z in noise)
    return sum(float(half @ cost) for half, cost in zip(halves, flow_costs(p), strict=True))


def test_the_deterministic_bound_of_differences_is_attained() -> None:
    p = Partition(Domain((ordinal(2),)), (0,))
    made = split(p, [np.array([100]), np.array([20])])  # the private counts are 50 and 50
    assert made.tolist() == [60, 40]
    assert joint_w1(p, np.array([0.5, 0.5]), made / 100) == pytest.approx(
        half_of_noise(p, [np.array([20, 0])]) / 100
    )


@given(noisy_trees(), st.integers(1, 40))
@settings(max_examples=60)
def test_rounding_to_rows_costs_at_most_half_a_row_at_every_node(tree, rows) -> None:
    p, counts, _, _ = tree
    made = split(p, noisy_differences(tree, int(counts.sum())))
    leaves = records_along(np.arange(p.leaves), made, rows)
    rounded = np.bincount(leaves, minlength=p.leaves) / rows
    allowed = sum(float(cost.sum()) for cost in flow_costs(p)) / (2 * rows)
    assert joint_w1(p, made / made.sum(), rounded) <= allowed + 1e-7


def test_rules_differ_where_children_exceed_their_parent() -> None:
    empty, noisy = [np.zeros(2, dtype=bool)], [np.array([9, 3])]
    assert consistent_leaves(8, noisy, empty, "uniform").tolist() == [7, 1]
    assert consistent_leaves(8, noisy, empty, "proportional").tolist() == [6, 2]
    assert consistent_leaves(5, [np.array([-4, -1])], empty, "proportional").tolist() == [2, 3]


@given(noisy_trees(), st.booleans())
@settings(max_examples=60)
def test_least_squares_agrees_with_the_dense_solution(tree, exact_root) -> None:
    p, counts, noise, root_noise = tree
    rng = np.random.default_rng(int(counts.sum()))
    variances = list(rng.uniform(0.5, 3.0, p.depth + 1))
    if exact_root:
        variances[0], root_noise = 0.0, 0
    noise = [np.array([root_noise]), *noise]
    levels = [h + z for h, z in zip(sums(counts), noise, strict=True)]
    estimate = LeastSquares(variances, voids(p))(levels)

    real = np.flatnonzero(~p.empty(p.depth))
    rows, targets = [], []
    for level, empty in enumerate(voids(p)):
        # Weight 1e5 stands for an exact root in the dense problem.
        weight = 1e5 if variances[level] == 0 else variances[level] ** -0.5
        for node in np.flatnonzero(~empty):
            under = real >> (p.depth - level) == node
            rows.append(weight * under)
            targets.append(weight * levels[level][node])
    dense = np.linalg.lstsq(np.array(rows, dtype=float), np.array(targets), rcond=None)[0]
    assert np.allclose(estimate[real], dense, atol=1e-4)
    assert np.allclose(estimate[p.empty(p.depth)], 0)


@given(noisy_trees())
@settings(max_examples=40)
def test_least_squares_is_linear_and_unbiased_so_noise_gives_its_error(tree) -> None:
    p, counts, noise, root_noise = tree
    solve = LeastSquares([2.0] * (p.depth + 1), voids(p))
    noise = [np.array([root_noise]), *noise]
    exact = sums(counts)
    noisy = [h + z for h, z in zip(exact, noise, strict=True)]
    assert np.allclose(solve(exact), counts)
    assert np.allclose(solve(noisy), counts + solve(noise))
    batch = solve([np.stack([h, z]) for h, z in zip(noisy, noise, strict=True)])
    assert np.allclose(batch, [solve(noisy), solve(noise)])


@given(noisy_trees())
@settings(max_examples=40)
def test_answers_are_left_as_they_were(tree) -> None:
    p, counts, _, _ = tree
    levels = [level.astype(float) for level in sums(counts)]
    apart = [level.astype(float) for level in differences(counts)]
    given = [level.copy() for level in (*levels, *apart)]
    leaves = LeastSquares([2.0] * (p.depth + 1), voids(p))(levels)
    for within_parent in (True, False):
        split(p, apart, within_parent)
    transport_cost(levels[-1], flow_costs(p))
    for level, copy in zip((*levels, *apart), given, strict=True):
        assert (level == copy).all()
    assert not any(np.shares_memory(leaves, level) for level in levels)


@given(noisy_trees())
@settings(max_examples=60)
def test_the_cost_of_transport_bounds_w1_and_is_a_norm(tree) -> None:
    p, counts, _, _ = tree
    rng = np.random.default_rng(len(counts))
    masses = np.where(p.empty(p.depth), 0.0, rng.exponential(size=(3, p.leaves)))
    a, b, c = masses / masses.sum(axis=1, keepdims=True)
    costs = flow_costs(p)
    assert joint_w1(p, a, b) <= transport_cost(a - b, costs) + 1e-7
    both = transport_cost(a - b, costs) + transport_cost(b - c, costs)
    assert transport_cost(a - c, costs) <= both + 1e-12
    assert transport_cost(3 * (b - a), costs) == pytest.approx(3 * transport_cost(a - b, costs))


@given(noisy_trees())
@settings(max_examples=60)
def test_a_wrong_total_costs_at_most_one_per_record_wherever_it_is_settled(tree) -> None:
    """T(eta - lambda nu) <= T(eta) + |lambda|, as the private number of records needs it."""
    p, counts, noise, _ = tree
    eta = np.where(p.empty(p.depth), 0, noise[-1]) if noise else counts
    total = eta.sum()
    costs = flow_costs(p)
    for leaf in np.flatnonzero(~p.empty(p.depth)):
        point = np.eye(p.leaves)[leaf]
        assert (
            transport_cost(eta - total * point, costs)
            <= transport_cost(eta, costs) + abs(total) + 1e-9
        )
