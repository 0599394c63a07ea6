"""The penalty: its value and gradient, and which way it moves the statistic."""

import re

import numpy as np
import pytest
import torch

from hallmark.mechanisms.marginals.generators.embedding import centres
from hallmark.mechanisms.marginals.generators.particles.penalty import Penalty

WEIGHTS = (0.8, -0.3, 0.0, 0.5)


def penalty(**changes: object) -> Penalty:
    settings = {"weights": WEIGHTS, "threshold": 0.4, "reference": 0.5, "strength": 1.0, **changes}
    return Penalty(**settings)  # type: ignore[arg-type]


def places(seed: int = 0, particles: int = 40) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random((4, particles)))


def test_the_statistic_is_the_smoothed_share_beyond_the_hyperplane() -> None:
    positions = places()
    beyond = positions.numpy().T @ WEIGHTS - 0.4
    expected = np.mean(1 / (1 + np.exp(-5.0 * beyond)))
    assert float(penalty().statistic(positions)) == pytest.approx(expected)
    sharp = penalty(steepness=1e6).statistic(positions)
    assert float(sharp) == pytest.approx(np.mean(beyond > 0))


def test_protection_is_eq_12_and_attraction_the_squared_gap() -> None:
    positions = places()
    gap = float(penalty().statistic(positions)) - 0.5
    protect, attract = penalty(), penalty(goal="attract")
    assert float(protect.value(positions)) == pytest.approx(0.01 / (0.0001 + gap**2))
    assert float(attract.value(positions)) == pytest.approx(gap**2)
    at = penalty(reference=float(penalty().statistic(positions)))
    assert float(at.value(positions)) == pytest.approx(100)  # never infinite


@pytest.mark.parametrize("goal", ["protect", "attract"])
def test_the_gradient_agrees_with_its_closed_form_and_with_finite_differences(goal: str) -> None:
    positions, chosen = places().requires_grad_(), penalty(goal=goal)
    (found,) = torch.autograd.grad(chosen.value(positions), positions)
    at = positions.detach().numpy()
    share = 1 / (1 + np.exp(-5.0 * (at.T @ WEIGHTS - 0.4)))
    gap = share.mean() - 0.5
    outer = -0.01 * 2 * gap / (0.0001 + gap**2) ** 2 if goal == "protect" else 2 * gap
    closed = outer * np.outer(WEIGHTS, 5.0 * share * (1 - share)) / at.shape[1]
    np.testing.assert_allclose(found.numpy(), closed, rtol=1e-9, atol=1e-15)
    step = 1e-6
    for a, i in ((0, 0), (1, 7), (2, 3), (3, 39)):
        move = torch.zeros_like(places())
        move[a, i] = step
        ends = [float(chosen.value(places() + sign * move)) for sign in (1, -1)]
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(closed[a, i], rel=1e-4, abs=1e-8)


def test_the_statistic_of_records_is_that_of_their_centres() -> None:
    shape = (3, 2, 4, 5)
    codes = np.array(list(np.ndindex(*shape)))[::7]
    positions = torch.from_numpy(centres(shape)[::7].T.astype(np.float64))
    assert penalty().of_records(codes, shape) == pytest.approx(
        float(penalty().statistic(positions)), rel=1e-6
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"weights": (0.0, 0.0)}, "weights: all are 0"),
        ({"weights": (1.0, float("nan"))}, "must be finite numbers"),
        ({"reference": float("inf")}, "must be finite numbers"),
        ({"strength": -1.0}, "strength: -1.0; give a number from 0 up"),
        ({"steepness": 0.0}, "steepness: 0.0; give a number above 0"),
        ({"goal": "hide"}, "goal: 'hide'; choose protect or attract"),
    ],
)
def test_wrong_penalties_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        penalty(**wrong)
