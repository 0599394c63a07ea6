"""The Chow-Liu tree and samples from it."""

from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.marginals.generators.noise_aware.chow_liu import (
    chow_liu_tree,
    mutual_information,
    sample_tree,
)
from hallmark.mechanisms.marginals.generators.noise_aware.shrinkage import Targets


def targets_of(joint: np.ndarray) -> Targets:
    """All one-way and two-way marginals of a joint probability table."""
    axes = range(joint.ndim)

    def over(*kept: int) -> np.ndarray:
        return joint.sum(axis=tuple(a for a in axes if a not in kept))

    return Targets(tuple(over(a) for a in axes), {p: over(*p) for p in combinations(axes, 2)})


def chain(seed: int) -> np.ndarray:
    """A Markov chain 2 - 0 - 3 - 1 as a joint table."""
    rng = np.random.default_rng(seed)
    root = rng.dirichlet(np.ones(4))
    steps = [rng.dirichlet(np.full(k, 0.3), size=j) for j, k in ((4, 3), (3, 5), (5, 2))]
    return np.einsum("c,ca,ad,db->abcd", root, *steps)


def is_spanning(edges: list[tuple[int, int]], size: int) -> bool:
    reached = {0}
    for _ in range(size):
        reached |= {v for edge in edges if reached & set(edge) for v in edge}
    return len(reached) == size


@pytest.mark.parametrize("seed", range(5))
def test_no_spanning_tree_has_more_mutual_information(seed: int) -> None:
    targets = targets_of(np.random.default_rng(seed).dirichlet(np.ones(120)).reshape(2, 3, 4, 5))
    found = [(a, b) for a, b in chow_liu_tree(targets) if b is not None]

    def value(edges: list[tuple[int, int]]) -> float:
        return sum(mutual_information(targets.pairs[min(e), max(e)]) for e in edges)

    trees = [list(e) for e in combinations(targets.pairs, 3) if is_spanning(list(e), 4)]
    assert len(trees) == 16  # Cayley: 4^2
    assert value(found) == pytest.approx(max(value(tree) for tree in trees))
    assert value(found) > min(value(tree) for tree in trees)


def test_the_tree_spans_attributes_that_are_independent_or_have_one_cell() -> None:
    marginals = [np.array([1.0]), np.array([0.5, 0.5]), np.array([1.0]), np.array([0.3, 0.7])]
    joint = np.einsum("a,b,c,d->abcd", *marginals)
    tree = chow_liu_tree(targets_of(joint))
    assert sorted(a for a, _ in tree) == [0, 1, 2, 3]
    assert [parent for _, parent in tree].count(None) == 1


def test_parents_come_before_their_children() -> None:
    seen: set[int | None] = {None}
    for attribute, parent in chow_liu_tree(targets_of(chain(0))):
        assert parent in seen
        seen.add(attribute)


def test_mutual_information_is_zero_only_under_independence() -> None:
    p, q = np.array([0.2, 0.8]), np.array([0.5, 0.0, 0.5])
    assert mutual_information(np.outer(p, q)) == pytest.approx(0, abs=1e-15)
    assert mutual_information(np.eye(4) / 4) == pytest.approx(np.log(4))


def test_a_chain_is_sampled_up_to_rounding() -> None:
    joint, rows = chain(1), 40_000
    codes = sample_tree(targets_of(joint), rows, np.random.default_rng(2))
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(codes.T), 1)
    for a, b in combinations(range(4), 2):
        others = tuple(x for x in range(4) if x not in (a, b))
        difference = counts.sum(axis=others) / rows - joint.sum(axis=others)
        assert np.abs(difference).sum() / 2 < 0.01, (a, b)
    independent = np.outer(joint.sum(axis=(1, 2, 3)), joint.sum(axis=(0, 1, 2)))
    assert np.abs(independent - joint.sum(axis=(1, 2))).sum() / 2 > 0.02  # the check can fail


def test_one_ways_of_the_root_are_rounded_up_or_down() -> None:
    targets = targets_of(chain(1))
    root = chow_liu_tree(targets)[0][0]
    codes = sample_tree(targets, 997, np.random.default_rng(3))
    counts = np.bincount(codes[:, root], minlength=len(targets.one_way[root]))
    assert np.abs(counts - 997 * targets.one_way[root]).max() < 1


def test_a_parent_code_without_mass_in_the_pair_falls_back_to_the_marginal() -> None:
    rows, columns = np.array([0.5, 0.5]), np.array([0.25, 0.75])
    pair = np.array([[0.0, 0.0], [0.75, 0.25]])
    codes = sample_tree(Targets((rows, columns), {(0, 1): pair}), 80, np.random.default_rng(4))
    counts = np.zeros((2, 2))
    np.add.at(counts, tuple(codes.T), 1)
    assert counts.tolist() == [[10, 30], [30, 10]]  # the marginal's shares; the pair's


def test_one_attribute_and_one_record_are_sampled() -> None:
    assert sample_tree(Targets((np.array([0.0, 1.0]),), {}), 1, np.random.default_rng(0)) == 1
