"""The descent: gradients, steps as the paper's optimiser takes them, fixed points, restarts."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hallmark.mechanisms.marginals.generators.embedding import centres, nearest_codes
from hallmark.mechanisms.marginals.generators.particles.descent import (
    GRADIENT_SCALE,
    State,
    descend,
    pull,
    push,
)
from hallmark.mechanisms.marginals.generators.particles.directions import on_sphere
from hallmark.mechanisms.marginals.generators.particles.penalty import Penalty
from hallmark.mechanisms.marginals.generators.particles.quantisation import Target
from hallmark.mechanisms.marginals.generators.particles.settings import Descent
from tests.mechanisms.marginals.domains import marginal_of
from tests.mechanisms.marginals.generators.particles import paper

CPU = torch.device("cpu")
SHAPE = (6, 4, 9)
CLIQUES = [(0,), (0, 1), (1, 2), (0, 2), (0, 1, 2)]
CALM = Descent(
    epochs=100, directions=4, decay_every=5, masked=0.0, adam_epsilon=0.03, learning_rate=0.1
)


def targets_of(
    codes: NDArray[np.integer], atoms: int, weights: dict[tuple[int, ...], float] | None = None
) -> list[Target]:
    return [
        Target.of(
            clique,
            marginal_of(codes, clique, SHAPE),
            atoms,
            device=CPU,
            weight=(weights or {}).get(clique, 1.0),
        )
        for clique in CLIQUES
    ]


def uniform(particles: int, seed: int) -> State:
    rng = np.random.default_rng(seed)
    return State.at(rng.random((len(SHAPE), particles), dtype=np.float32), CPU)


def squared_distance(
    positions: torch.Tensor, target: Target, directions: torch.Tensor
) -> torch.Tensor:
    """SW_2^2 by (8), in double precision; for automatic differentiation."""
    atoms = target.places.double().repeat_interleave(target.counts, dim=0)
    ours = (directions.double() @ positions[list(target.clique)]).sort(dim=1).values
    theirs = (directions.double() @ atoms.T).sort(dim=1).values
    return ((ours - theirs) ** 2).mean()


def test_value_and_gradient_agree_with_automatic_differentiation() -> None:
    particles = 60
    targets = targets_of(paper.correlated(60, SHAPE, 0), particles, {(1, 2): 2.5})
    positions = uniform(particles, 1).positions
    rng = np.random.default_rng(2)
    directions = [torch.as_tensor(on_sphere(3, len(t.clique), rng)) for t in targets]
    total, gradient = pull(positions, targets, directions)
    free = positions.double().requires_grad_()
    distances = [squared_distance(free, t, d) for t, d in zip(targets, directions, strict=True)]
    assert float(total) == pytest.approx(sum(float(x.detach()) for x in distances), rel=1e-5)
    weighted = torch.stack([t.weight * x for t, x in zip(targets, distances, strict=True)]).sum()
    (expected,) = torch.autograd.grad(weighted, free)
    # Ours has no 1/particles.
    torch.testing.assert_close(gradient / particles, expected.float(), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("penalised", [False, True])
def test_steps_are_those_of_sparse_adam_on_the_papers_loss(penalised: bool) -> None:
    # Three epochs of two batches with the same draws, written with torch.sort, automatic
    # differentiation of eq. (7), and torch.optim.SparseAdam.
    particles, seed = 80, 11
    descent = Descent(epochs=3, directions=3, batch=3, masked=0.6, decay=0.5, decay_every=2)
    targets = targets_of(paper.correlated(80, SHAPE, 3), particles)
    penalties = (
        [Penalty(weights=(1.0, 0.0, -0.5), threshold=0.1, reference=0.45, strength=0.02)]
        if penalised
        else []
    )
    state = uniform(particles, 4)
    points = state.positions.clone().requires_grad_()
    adam = torch.optim.SparseAdam([points], lr=descent.learning_rate, eps=descent.adam_epsilon)
    schedule = torch.optim.lr_scheduler.StepLR(adam, descent.decay_every, descent.decay)
    for epoch in range(descent.epochs):
        rng = np.random.default_rng([seed, epoch])
        masks = torch.Generator().manual_seed(int(rng.integers(2**63)))
        order = rng.permutation(len(targets))
        for start in range(0, len(targets), descent.batch):
            chosen = [targets[i] for i in order[start : start + descent.batch]]
            loss = torch.zeros((), dtype=torch.float64)
            double = points.detach().double().requires_grad_()
            for target in chosen:
                size = 1 if len(target.clique) == 1 else descent.directions
                directions = torch.as_tensor(on_sphere(size, len(target.clique), rng))
                loss = loss + squared_distance(double, target, directions)
            for penalty in penalties:
                loss = loss + penalty.strength * penalty.value(double) / 2  # batches an epoch
            (slope,) = torch.autograd.grad(loss, double)
            rows = sorted({a for target in chosen for a in target.clique})
            rows = list(range(len(SHAPE))) if penalised else rows
            keep = torch.zeros(points.shape)
            drawn = torch.rand((len(rows), particles), generator=masks)
            keep[rows] = (drawn >= descent.masked).float()
            points.grad = (100 * particles * slope.float() * keep).to_sparse()
            adam.step()
            with torch.no_grad():
                points.clamp_(0, 1)
        schedule.step()
    descend(state, targets, descent=descent, seed=seed, penalties=penalties)
    torch.testing.assert_close(state.positions, points.detach(), rtol=1e-3, atol=1e-4)
    assert (state.penalties[0] > 0) == penalised


def test_the_penalty_of_an_epoch_is_that_of_eq_7() -> None:
    # At fixed positions, what all batches of an epoch add is the gradient of strength * R.
    penalty = Penalty(weights=(1.0, 0.5, 0.0), threshold=0.6, reference=0.3, strength=0.7)
    positions = uniform(50, 0).positions
    value, slope = push(positions, [penalty, penalty])
    assert float(value) == pytest.approx(2 * 0.7 * float(penalty.value(positions)))
    free = positions.clone().requires_grad_()
    (once,) = torch.autograd.grad(0.7 * penalty.value(free), free)
    torch.testing.assert_close(slope, 2 * once)
    assert not positions.requires_grad
    assert GRADIENT_SCALE == 100


def test_records_on_target_are_a_fixed_point_with_a_large_epsilon() -> None:
    codes = paper.correlated(1000, SHAPE, 5)
    start = centres(SHAPE).reshape(*SHAPE, 3)[tuple(codes.T)].T.copy()
    start += np.random.default_rng(6).uniform(-1e-6, 1e-6, start.shape).astype(np.float32)
    calm = State.at(start, CPU)
    descend(calm, targets_of(codes, 1000), descent=replace(CALM, epochs=1), seed=0)
    np.testing.assert_array_equal(nearest_codes(calm.positions.numpy(), SHAPE), codes)
    assert calm.losses[0] < 1e-11
    restless = State.at(start, CPU)
    descend(
        restless,
        targets_of(codes, 1000),
        descent=replace(CALM, epochs=1, adam_epsilon=1e-12),
        seed=0,
    )
    # Rounding residuals alone, blown up to full steps.
    assert (nearest_codes(restless.positions.numpy(), SHAPE) != codes).any()


def test_descent_from_uniform_particles_reaches_exact_targets() -> None:
    codes = paper.correlated(2000, SHAPE, 6)
    state = uniform(2000, 7)
    truth = {clique: marginal_of(codes, clique, SHAPE) for clique in CLIQUES}
    before = paper.errors(nearest_codes(state.positions.numpy(), SHAPE), truth)
    descend(state, targets_of(codes, 2000), descent=CALM, seed=8)
    after = paper.errors(nearest_codes(state.positions.numpy(), SHAPE), truth)
    assert state.losses[-1] < 0.02 * state.losses[0]
    assert after[0] < 0.003 < 0.1 < before[0]
    assert after[1] < 0.06 < 0.4 < before[1]


def test_a_stopped_descent_goes_on_bit_by_bit() -> None:
    targets = targets_of(paper.correlated(300, SHAPE, 9), 300)
    descent = Descent(epochs=7, directions=2, batch=2, decay_every=2)
    whole = uniform(300, 10)
    descend(whole, targets, descent=descent, seed=5)
    first = uniform(300, 10)
    descend(first, targets, descent=replace(descent, epochs=3), seed=5)
    kept = {name: array.copy() for name, array in first.arrays().items()}
    second = State.of_arrays(kept, CPU)
    assert second.epoch == 3
    descend(second, targets, descent=descent, seed=5)
    assert torch.equal(second.positions, whole.positions)
    assert second.losses == whole.losses
    other = uniform(300, 10)
    descend(other, targets, descent=descent, seed=6)
    assert not torch.equal(other.positions, whole.positions)


def test_four_entries_in_five_stay_where_they_are() -> None:
    particles = 5000
    targets = targets_of(paper.correlated(particles, SHAPE, 1), particles)
    state = uniform(particles, 2)
    before = state.positions.clone()
    descend(state, targets, descent=Descent(epochs=1), seed=3)  # one batch
    moved = (state.positions != before).sum(dim=1).numpy()
    # Binomial(5000, 1/5) each; five standard deviations, less than 1e-6.
    assert np.abs(moved - particles / 5).max() < 5 * np.sqrt(particles * 0.2 * 0.8)


def test_attributes_that_no_target_has_do_not_move() -> None:
    targets = targets_of(paper.correlated(100, SHAPE, 1), 100)[:2]  # of attributes 0 and 1
    state = uniform(100, 2)
    before = state.positions.clone()
    descend(state, targets, descent=Descent(epochs=3), seed=3)
    assert torch.equal(state.positions[2], before[2])
    assert not torch.equal(state.positions[:2], before[:2])
    assert float(state.positions.min()) >= 0
    assert float(state.positions.max()) <= 1


def test_every_epoch_is_reported_with_its_loss() -> None:
    targets = targets_of(paper.correlated(100, SHAPE, 1), 100)
    state = uniform(100, 2)
    seen: list[tuple[int, int]] = []
    descend(
        state,
        targets,
        descent=Descent(epochs=4),
        seed=3,
        after_epoch=lambda now: seen.append((now.epoch, len(now.losses))),
    )
    assert seen == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert [Descent().rate(e) for e in (0, 49, 50, 999)] == pytest.approx(
        [0.1, 0.1, 0.075, 0.1 * 0.75**19]
    )


@pytest.mark.slow
def test_fast_and_faithful_schedules_end_equally_near() -> None:
    codes = paper.correlated(4000, SHAPE, 12)
    truth = {clique: marginal_of(codes, clique, SHAPE) for clique in CLIQUES}
    found = []
    for descent in (Descent(), replace(CALM, epochs=300, decay_every=15)):
        state = uniform(4000, 13)
        descend(state, targets_of(codes, 4000), descent=descent, seed=14)
        found.append(paper.errors(nearest_codes(state.positions.numpy(), SHAPE), truth))
    (faithful, faithful_tv), (fast, fast_tv) = found
    # On exact targets both are limited by the cells alone: a tenth of a cell's width and less.
    assert max(faithful, fast) < 0.002
    assert max(faithful_tv, fast_tv) < 0.04


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"directions": 0}, "directions: 0; give at least 1"),
        ({"batch": 0}, "batch: 0; give at least 1"),
        ({"epochs": -1}, "epochs: -1; give 0 or more"),
        ({"learning_rate": -0.1}, "learning_rate: -0.1; give a number above 0"),
        ({"adam_epsilon": 0.0}, "adam_epsilon: 0.0; give a number above 0"),
        ({"decay": 0.0}, "decay: 0.0; give a number in (0, 1]"),
        ({"masked": 1.0}, "masked: 1.0; give a share from 0 to below 1"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Descent(**wrong)  # type: ignore[arg-type]
