"""Parts of a table: how often noise alone joins two, and that dependence does."""

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.cell_groups import merge
from hallmark.mechanisms.marginals.evidence import (
    Coarse,
    Evidence,
    NoisyMarginal,
    with_groups,
)
from hallmark.mechanisms.marginals.generators.noise_aware.parts import parts_of

SHAPE, RECORDS, SIGMA = (8, 8), 10_000.0, 40.0
GROUPS = (4, 4)


def evidence(*tables: NoisyMarginal, cells: int = 8) -> Evidence:
    """Of these pairs, and of all columns, evenly spread and known well."""
    size = 1 + max(a for table in tables for a in table.clique)
    ones = [NoisyMarginal((a,), np.full(cells, RECORDS / cells), 1e-3) for a in range(size)]
    domain = Domain.coded({f"c{a}": cells for a in range(size)})
    return Evidence(domain, (*ones, *tables), RECORDS, True)


def measured(
    pair: tuple[int, int], truth: np.ndarray, rng: np.random.Generator, *, grouped: bool
) -> NoisyMarginal:
    """A table with noise of deviation SIGMA, and its groups with half as much."""
    cells = NoisyMarginal(pair, truth + SIGMA * rng.normal(size=truth.shape), SIGMA)
    if not grouped:
        return cells
    sums = merge(truth, GROUPS) + SIGMA / 2 * rng.normal(size=GROUPS)
    return with_groups(cells, sums, Coarse(GROUPS, SIGMA / 2))


def even() -> np.ndarray:
    return np.full(SHAPE, RECORDS / 64)


@pytest.mark.parametrize("grouped", [False, True])
def test_noise_joins_columns_as_seldom_as_is_claimed(grouped: bool) -> None:
    """Of 2,000 independent pairs; a millionth of such tests would fail by chance."""
    rng, draws = np.random.default_rng(5), 2000
    joined = sum(
        len(set(parts_of(evidence(measured((0, 1), even(), rng, grouped=grouped))))) == 1
        for _ in range(draws)
    )
    assert joined <= binom.isf(1e-6, draws, 2.5 * 5e-4)


def test_a_chain_is_one_part_and_other_columns_are_by_themselves() -> None:
    rng = np.random.default_rng(6)
    tied = even() + 150 * np.eye(8) - 150 / 8
    pairs = {(0, 1): tied, (1, 2): tied, (3, 4): even(), (4, 5): tied, (0, 6): even()}
    parts = parts_of(
        evidence(*(measured(pair, truth, rng, grouped=True) for pair, truth in pairs.items()))
    )
    assert len({parts[a] for a in (0, 1, 2)}) == len({parts[a] for a in (4, 5)}) == 1
    assert len({parts[a] for a in (0, 3, 4, 6)}) == 4


def test_dependence_that_cells_hide_shows_in_their_groups() -> None:
    """Each cell is off by a quarter of its noise, in blocks of four."""
    blocks = np.kron(np.array([[1, -1], [-1, 1]]), np.ones((4, 4)))
    truth = even() + SIGMA / 4 * blocks
    found = {
        grouped: np.mean(
            [
                len(set(parts_of(evidence(measured((0, 1), truth, rng, grouped=grouped))))) == 1
                for rng in np.random.default_rng(7).spawn(200)
            ]
        )
        for grouped in (False, True)
    }
    assert found[False] < 0.2
    assert found[True] > 0.8


def test_a_public_table_ties_its_columns_together() -> None:
    assert len(set(parts_of(evidence(NoisyMarginal((0, 1), even(), 0.0))))) == 1


def test_columns_of_a_single_cell_are_by_themselves() -> None:
    one = NoisyMarginal((0, 1), np.full((1, 1), RECORDS), SIGMA)
    assert len(set(parts_of(evidence(one, cells=1)))) == 2
