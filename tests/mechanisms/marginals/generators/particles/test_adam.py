"""Adam with entries that may stay: against PyTorch's Adam and SparseAdam."""

import torch

from hallmark.mechanisms.marginals.generators.particles.adam import Moments

RATE, EPSILON = 0.1, 1e-8


def test_with_all_entries_live_it_is_adam() -> None:
    draws = torch.Generator().manual_seed(0)
    start = torch.rand(4, 30, generator=draws)
    theirs = start.clone().requires_grad_()
    adam = torch.optim.Adam([theirs], lr=RATE, eps=0.03)
    ours, moments = start.clone(), Moments.of(start)
    for _ in range(20):
        gradient = torch.randn(4, 30, generator=draws)
        theirs.grad = gradient
        adam.step()
        moments.step(ours, gradient, rate=RATE, epsilon=0.03)
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-5, atol=1e-6)


def test_with_some_entries_live_it_is_sparse_adam() -> None:
    draws = torch.Generator().manual_seed(1)
    start = torch.rand(6, 30, generator=draws)
    theirs = start.clone().requires_grad_()
    adam = torch.optim.SparseAdam([theirs], lr=RATE, eps=EPSILON)
    ours, moments = start.clone(), Moments.of(start)
    for _ in range(30):
        gradient = torch.randn(6, 30, generator=draws)
        live = torch.rand(6, 30, generator=draws) >= 0.8
        rows = torch.randperm(6, generator=draws)[:3].sort().values
        live[[row for row in range(6) if row not in rows.tolist()]] = False
        theirs.grad = (gradient * live).to_sparse()
        adam.step()
        moments.step(
            ours, gradient[rows], rate=RATE, epsilon=EPSILON, live=live[rows].float(), rows=rows
        )
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-4, atol=1e-5)
    assert moments.steps == 30


def test_entries_that_are_not_live_keep_place_and_moments() -> None:
    place, moments = torch.ones(2, 3), Moments.of(torch.ones(2, 3))
    moments.step(place, torch.ones(2, 3), rate=RATE, epsilon=EPSILON)
    before = (place.clone(), moments.first.clone(), moments.second.clone())
    live = torch.tensor([[1.0, 0.0, 0.0]])
    moments.step(
        place,
        torch.full((1, 3), 9.0),
        rate=RATE,
        epsilon=EPSILON,
        live=live,
        rows=torch.tensor([1]),
    )
    for now, old in zip((place, moments.first, moments.second), before, strict=True):
        assert (now != old).nonzero().tolist() == [[1, 0]]
