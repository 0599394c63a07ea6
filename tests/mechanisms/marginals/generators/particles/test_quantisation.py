"""Tables as equal atoms: counts, and their order along directions."""

import numpy as np
import pytest
import torch

from hallmark.mechanisms.marginals.generators.particles.directions import on_sphere
from hallmark.mechanisms.marginals.generators.particles.quantisation import (
    Target,
    expanded,
    quantised,
)
from tests.mechanisms.marginals.generators.particles.paper import cells_of

CPU = torch.device("cpu")


@pytest.mark.parametrize("atoms", [1, 7, 100, 12_345])
def test_counts_are_within_one_of_their_share_and_sum_up(atoms: int) -> None:
    table = np.random.default_rng(0).dirichlet(np.full(30, 0.2)).reshape(5, 6)
    counts = quantised(table, atoms)
    assert counts.sum() == atoms
    assert np.abs(counts - atoms * table.ravel()).max() < 1
    np.testing.assert_array_equal(counts, quantised(17 * table, atoms))  # only shares matter


def test_the_largest_remainders_are_filled_and_ties_go_to_the_earlier_cell() -> None:
    assert quantised(np.array([0.25, 0.25, 0.25, 0.25]), 6).tolist() == [2, 2, 1, 1]
    assert quantised(np.array([0.5, 0.1, 0.4]), 3).tolist() == [2, 0, 1]


def test_whole_shares_are_kept_whole() -> None:
    counts = np.random.default_rng(1).integers(0, 50, 200)
    table = counts / counts.sum()
    np.testing.assert_array_equal(quantised(table, int(counts.sum())), counts)


@pytest.mark.parametrize("shape", [(7,), (6, 4), (3, 2, 5)])
def test_runs_expand_to_the_sorted_atoms(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    table = rng.dirichlet(np.full(int(np.prod(shape)), 0.5)).reshape(shape)
    clique = tuple(range(len(shape)))
    target = Target.of(clique, table, 500, device=CPU)
    directions = torch.as_tensor(on_sphere(4, len(shape), rng))
    places, counts = target.runs(directions)
    atoms = cells_of(shape).repeat_interleave(torch.as_tensor(quantised(table, 500)), dim=0)
    direct = (atoms @ directions.T).sort(dim=0).values.T
    found = expanded(places.reshape(-1), counts.reshape(-1), 4, 500)
    torch.testing.assert_close(found, direct, rtol=0, atol=1e-6)


def test_directions_are_uniform_unit_vectors() -> None:
    found = on_sphere(20_000, 3, np.random.default_rng(3))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-6)
    # Each coordinate is uniform on [-1, 1] (Archimedes): mean 0, variance 1/3. False alarm at 5
    # standard errors: below 1e-6 for each of the six.
    error = 5 / np.sqrt(20_000)
    assert np.abs(found.mean(axis=0)).max() < error * np.sqrt(1 / 3)
    assert np.abs((found**2).mean(axis=0) - 1 / 3).max() < error * np.sqrt(4 / 45)
    assert set(np.unique(on_sphere(50, 1, np.random.default_rng(4)))) == {-1.0, 1.0}
