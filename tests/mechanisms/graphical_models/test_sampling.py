"""Samples of a junction tree: counts, zeros, and independence where the model has it."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.graphical_models.propagation import Calibrated, Propagation
from hallmark.mechanisms.graphical_models.sampling import sample
from hallmark.mechanisms.graphical_models.tree import junction_tree
from tests.mechanisms.marginals.generators.graphical.cases import (
    CASES,
    SHAPE,
    joint_of,
    margin,
    potentials_of,
)

FALSE_POSITIVE_RATE = 1e-6


def model_of(cliques: tuple[Clique, ...], seed: int = 1) -> tuple[Calibrated, np.ndarray]:
    potentials = potentials_of(cliques, np.random.default_rng(seed))
    propagation = Propagation(SHAPE, junction_tree(SHAPE, cliques), cliques, {})
    return propagation.calibrate(potentials), joint_of(cliques, potentials)


def counts_of(codes: np.ndarray, clique: Clique) -> np.ndarray:
    counts = np.zeros([SHAPE[a] for a in clique])
    np.add.at(counts, tuple(codes[:, a] for a in clique), 1)
    return counts


def independence(counts: np.ndarray) -> float:
    """p-value of Pearson's test that rows and columns of a table are independent, by stratum.

    Strata lie along the first axis; cells that expect fewer than 5 are too few to tell.
    """
    rows = counts.sum(axis=2, keepdims=True)
    columns = counts.sum(axis=1, keepdims=True)
    expected = rows * columns / np.maximum(counts.sum(axis=(1, 2), keepdims=True), 1)
    assert expected.min() > 5
    freedom = counts.shape[0] * (counts.shape[1] - 1) * (counts.shape[2] - 1)
    return float(chi2.sf((np.square(counts - expected) / expected).sum(), freedom))


@pytest.mark.parametrize("cliques", CASES)
def test_counts_of_a_root_differ_from_expectation_by_less_than_one(
    cliques: tuple[Clique, ...],
) -> None:
    calibrated, _ = model_of(cliques)
    codes = sample(calibrated, 997, np.random.default_rng(2))
    assert codes.shape == (997, 6)
    for clique, parent, table in zip(
        calibrated.tree.cliques, calibrated.tree.parents, calibrated.tables, strict=True
    ):
        if parent is None:
            assert np.abs(counts_of(codes, clique) - 997 * table).max() < 1


@pytest.mark.parametrize("cliques", CASES)
def test_counts_given_a_separator_differ_from_expectation_by_less_than_one(
    cliques: tuple[Clique, ...],
) -> None:
    calibrated, _ = model_of(cliques)
    codes = sample(calibrated, 5000, np.random.default_rng(3))
    tree = calibrated.tree
    for clique, separator, table, shared in zip(
        tree.cliques, tree.separators, calibrated.tables, calibrated.separators, strict=True
    ):
        spread = [SHAPE[a] if a in separator else 1 for a in clique]
        groups = counts_of(codes, separator) if separator else np.array(5000.0)
        groups = groups.reshape(spread)
        expected = groups * table / shared.reshape(spread)
        assert np.abs(counts_of(codes, clique) - expected).max() < 1 + 1e-9


@pytest.mark.parametrize("cliques", CASES)
def test_marginals_of_the_sample_are_those_of_the_model_up_to_rounding(
    cliques: tuple[Clique, ...],
) -> None:
    calibrated, joint = model_of(cliques)
    codes = sample(calibrated, 200_000, np.random.default_rng(4))
    for clique in cliques:
        difference = counts_of(codes, clique) / 200_000 - margin(joint, clique)
        assert np.abs(difference).sum() / 2 < 1e-3, clique


def test_independent_columns_are_independent_in_the_sample() -> None:
    calibrated, _ = model_of(CASES[0], seed=5)
    codes = sample(calibrated, 20_000, np.random.default_rng(6))
    for a, b in combinations(range(6), 2):
        assert independence(counts_of(codes, (a, b))[None]) > FALSE_POSITIVE_RATE, (a, b)
    # Dealt out in order, as a peer's sampler did, all columns rise together.
    ordered = np.sort(codes, axis=0)
    assert independence(counts_of(ordered, (0, 2))[None]) < FALSE_POSITIVE_RATE


def test_columns_are_independent_given_the_separator_between_them() -> None:
    calibrated, _ = model_of(CASES[1], seed=7)
    codes = sample(calibrated, 40_000, np.random.default_rng(8))
    for a, given, b in ((0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5)):
        counts = counts_of(codes, (given, a, b))
        assert independence(counts) > FALSE_POSITIVE_RATE, (a, given, b)
        # Within a group in order of codes, columns that should be independent rise together.
        ordered = codes[np.lexsort((codes[:, a], codes[:, given]))].copy()
        for code in range(SHAPE[given]):
            group = ordered[:, given] == code
            ordered[group, b] = np.sort(ordered[group, b])
        assert independence(counts_of(ordered, (given, a, b))) < FALSE_POSITIVE_RATE


def test_the_mean_of_small_samples_is_the_model() -> None:
    calibrated, joint = model_of(CASES[4], seed=9)
    rng = np.random.default_rng(10)
    pair = margin(joint, (3, 4))  # in no clique together
    draws = np.array([counts_of(sample(calibrated, 5, rng), (3, 4)) for _ in range(2000)])
    error = draws.mean(axis=0) - 5 * pair
    z = np.abs(error) / (draws.std(axis=0) / np.sqrt(len(draws)))
    assert z.max() < 6  # ten cells, 2e-9 each


def test_cells_without_probability_are_never_drawn() -> None:
    rng = np.random.default_rng(11)
    cliques = CASES[3]
    zeros = {(0, 1): rng.random((3, 2)) < 0.6, (2, 3): rng.random((4, 2)) < 0.6}
    propagation = Propagation(SHAPE, junction_tree(SHAPE, cliques), cliques, zeros)
    potentials = [np.zeros([SHAPE[a] for a in clique]) for clique in cliques]
    codes = sample(propagation.calibrate(potentials), 50_000, rng)
    for clique, allowed in zeros.items():
        counts = counts_of(codes, clique)
        assert counts[~allowed].sum() == 0
        assert (counts[allowed] > 0).any()


def test_one_record_and_progress() -> None:
    calibrated, _ = model_of(CASES[1])
    shares: list[float] = []
    assert sample(calibrated, 1, np.random.default_rng(12), shares.append).shape == (1, 6)
    assert shares == sorted(shares)
    assert shares[-1] == 1
