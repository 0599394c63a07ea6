"""The projection: distances, gradients, a linear program, and the paper's own loop."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

from hallmark.mechanisms.marginals.generators.embedding import centres
from hallmark.mechanisms.marginals.generators.particles.directions import on_sphere
from hallmark.mechanisms.marginals.generators.particles.projection import (
    Bank,
    clipped,
    project,
    sliced_w1,
)
from hallmark.mechanisms.marginals.generators.particles.settings import LARGEST_BANK, Projection
from tests.mechanisms.marginals.domains import marginal_of
from tests.mechanisms.marginals.generators.particles import paper

CPU = torch.device("cpu")
SHORT = Projection(iterations=300, directions=60, bank=500, decay_every=17)


def bank_of(shape: tuple[int, ...], lines: int, seed: int = 0) -> tuple[Bank, np.ndarray]:
    directions = on_sphere(lines, len(shape), np.random.default_rng(seed))
    return Bank.of(shape, directions, dtype=torch.float64, device=CPU), directions


def noisy(shape: tuple[int, ...], seed: int, sigma: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = paper.correlated(3000, shape, seed)
    truth = marginal_of(codes, tuple(range(len(shape))), shape)
    return truth, truth + rng.normal(0, sigma, shape)


@pytest.mark.parametrize("shape", [(9,), (5, 7), (3, 4, 2)])
def test_between_probabilities_it_is_the_mean_of_w1_along_lines(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    bank, directions = bank_of(shape, 8)
    p, q = rng.dirichlet(np.ones(int(np.prod(shape))), 2)
    places = centres(shape).astype(np.float64) @ directions.T.astype(np.float64)
    expected = np.mean([wasserstein_distance(x, x, p, q) for x in places.T])
    found, _ = sliced_w1(torch.from_numpy(np.stack([p - q, q - p])), bank)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def both_senses(
    difference: torch.Tensor, shape: tuple[int, ...], lines: np.ndarray
) -> torch.Tensor:
    """(3) for signed measures, cut at the last cell, along all lines to and fro; with autograd."""
    cells = torch.from_numpy(centres(shape).astype(np.float64))
    total = torch.zeros((), dtype=torch.float64)
    for direction in np.concatenate([lines, -lines]):
        places, order = (cells @ torch.from_numpy(direction.astype(np.float64))).sort()
        total = total + (difference[order].cumsum(0)[:-1].abs() * places.diff()).sum()
    return total / (2 * len(lines))


@pytest.mark.parametrize("shape", [(9,), (5, 7), (3, 4, 2)])
def test_value_and_gradient_agree_with_automatic_differentiation(shape: tuple[int, ...]) -> None:
    bank, lines = bank_of(shape, 6)
    stack = torch.from_numpy(np.random.default_rng(2).normal(size=(4, int(np.prod(shape)))))
    found, slopes = sliced_w1(stack, bank)  # of any mass
    for i, row in enumerate(stack):
        free = row.clone().requires_grad_()
        expected = both_senses(free, shape, lines)
        expected.backward()
        assert float(found[i]) == pytest.approx(float(expected.detach()), rel=1e-9)
        torch.testing.assert_close(slopes[i], free.grad, rtol=1e-9, atol=1e-12)


def test_what_is_handled_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bank, _ = bank_of((5, 7), 50)
    stack = torch.from_numpy(np.random.default_rng(3).normal(size=(4, 35)))
    whole = sliced_w1(stack, bank)
    monkeypatch.setattr("hallmark.mechanisms.marginals.generators.particles.projection._AT_ONCE", 1)
    parts = sliced_w1(stack, bank)
    for a, b in zip(whole, parts, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-15)


def test_the_result_is_nearly_optimal_by_a_linear_program() -> None:
    # With a bank that is drawn whole, (5) is a linear program: minimise the sum of gaps times
    # |running sum|. The descent comes within 2 % of its optimum.
    shape, lines = (4, 5), 12
    _, signed = noisy(shape, 4, 0.03)
    signed += (1 - signed.sum()) / signed.size
    settings = Projection(iterations=1500, directions=lines, bank=lines, decay_every=100)
    tables, distance = project(
        signed[None], projection=settings, rng=np.random.default_rng(5), device=CPU
    )
    bank, _ = bank_of(shape, lines, seed=5)  # the first draw of that generator
    cells, rows = signed.size, lines * (signed.size - 1)
    sums = np.zeros((rows, cells))
    for line in range(lines):
        for place in range(cells - 1):
            sums[line * (cells - 1) + place, bank.order[line, : place + 1].numpy()] = 1
    cost = np.concatenate([np.zeros(cells), bank.gaps[:, :-1].numpy().ravel() / lines])
    bounds = sums @ signed.ravel()
    found = linprog(
        cost,
        A_ub=np.block([[sums, -np.eye(rows)], [-sums, -np.eye(rows)]]),
        b_ub=np.concatenate([bounds, -bounds]),
        A_eq=np.concatenate([np.ones(cells), np.zeros(rows)])[None],
        b_eq=[1.0],
    )
    assert found.status == 0
    assert found.fun <= distance[0] * (1 + 1e-6)
    assert distance[0] < 1.02 * found.fun
    again, _ = sliced_w1(torch.from_numpy((tables - signed[None]).reshape(1, -1)), bank)
    assert float(again[0]) == pytest.approx(distance[0], rel=1e-3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_comes_as_near_as_the_papers_loop_with_fresh_directions(seed: int) -> None:
    truth, signed = noisy((16, 8), seed)
    theirs = paper.project(signed, iterations=300, directions=60, decay_every=17, seed=seed)
    cut, _ = project(
        signed[None],
        projection=replace(SHORT, mass="cut"),
        rng=np.random.default_rng(seed),
        device=CPU,
    )
    # Band: 5 % of the distance to the noisy table, which both minimise up to Monte Carlo error.
    there = both_senses(torch.from_numpy((theirs - signed).ravel()), (16, 8), LINES)
    here = both_senses(torch.from_numpy((cut[0] - signed).ravel()), (16, 8), LINES)
    assert float(here) < 1.05 * float(there)
    # And to the truth: as near as theirs within a quarter, in either distance.
    assert paper.sliced_w1(cut[0], truth) < 1.25 * paper.sliced_w1(theirs, truth)
    assert np.abs(cut[0] - truth).sum() < 1.25 * np.abs(theirs - truth).sum()


LINES = on_sphere(200, 2, np.random.default_rng(99))


def test_spreading_what_is_missing_is_nearer_to_the_truth_than_cutting_it() -> None:
    truth, signed = noisy((16, 8), 0, 0.002)
    signed -= 0.06 / signed.size  # six per cent of the records are missing
    found = {}
    for mass in ("spread", "cut"):
        tables, _ = project(
            signed[None],
            projection=replace(SHORT, mass=mass),
            rng=np.random.default_rng(0),
            device=CPU,
        )
        found[mass] = paper.sliced_w1(tables[0], truth)
    assert found["spread"] < 0.5 * found["cut"]


def test_probabilities_stay_what_they_are() -> None:
    truth, _ = noisy((6, 5), 7)
    tables, distance = project(
        np.stack([truth, truth]), projection=SHORT, rng=np.random.default_rng(0), device=CPU
    )
    assert tables.min() >= 0
    np.testing.assert_allclose(tables.sum(axis=(1, 2)), 1, rtol=1e-12)
    assert distance.max() < 2e-4
    assert np.abs(tables - truth).sum(axis=(1, 2)).max() < 0.01


def test_tables_that_are_projected_together_do_not_see_each_other() -> None:
    stack = np.stack([noisy((6, 5), seed)[1] for seed in range(3)])
    settings = replace(SHORT, iterations=60)
    together, _ = project(stack, projection=settings, rng=np.random.default_rng(0), device=CPU)
    for i in range(3):
        alone, _ = project(
            stack[i : i + 1], projection=settings, rng=np.random.default_rng(0), device=CPU
        )
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-3, atol=1e-6)


def test_nothing_but_negative_counts_starts_uniform() -> None:
    rows = torch.tensor([[-1.0, -2.0, 0.0, -1.0], [3.0, -2.0, 1.0, 0.0]])
    assert clipped(rows).tolist() == [[0.25] * 4, [0.75, 0.0, 0.25, 0.0]]
    tables, _ = project(
        np.full((1, 2, 2), -0.1), projection=SHORT, rng=np.random.default_rng(0), device=CPU
    )
    np.testing.assert_allclose(tables, 0.25, atol=1e-6)


def test_large_tables_have_fewer_directions_but_as_many_as_are_drawn() -> None:
    settings = Projection()
    assert settings.bank_of(1024) == 1000
    assert settings.bank_of(LARGEST_BANK // 400) == 400
    assert settings.bank_of(LARGEST_BANK) == settings.directions
    assert [settings.rate(i) for i in (0, 99, 100, 1749)] == pytest.approx(
        [0.1, 0.1, 0.08, 0.1 * 0.8**17]
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"directions": 0}, "directions: 0; give at least 1"),
        ({"directions": 2000}, "bank: 1000 directions"),
        ({"iterations": -1}, "iterations: -1; give 0 or more"),
        ({"learning_rate": 0.0}, "learning_rate: 0.0; give a number above 0"),
        ({"decay": 1.5}, "decay: 1.5; give a number in (0, 1]"),
        ({"decay_every": 0}, "decay_every: 0; give at least 1"),
        ({"mass": "lost"}, "mass: 'lost'; choose spread or cut"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Projection(**wrong)  # type: ignore[arg-type]
