"""The fit against general solvers over the whole joint."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.graphical_models.propagation import Propagation
from hallmark.mechanisms.graphical_models.tree import junction_tree
from hallmark.mechanisms.marginals.generators.graphical.descent import Fit, descend
from tests.mechanisms.marginals.generators.graphical.cases import joint_of, margin

SHAPE = (3, 2, 4)
CYCLE: tuple[Clique, ...] = ((0, 1), (1, 2), (0, 2), (2,))


def fitted(
    targets: list[np.ndarray], weights: list[float], passes: int = 2000
) -> tuple[Fit, Propagation]:
    propagation = Propagation(SHAPE, junction_tree(SHAPE, CYCLE), CYCLE, {})
    start = [np.zeros_like(target) for target in targets]
    return descend(propagation, targets, weights, start, passes=passes), propagation


@cache
def of_noise(seed: int, passes: int) -> Fit:
    """Of targets that no distribution has; tests of several numbers of passes look at the best."""
    return fitted(noisy_targets(seed, 0.05)[1], [400.0, 100.0, 400.0, 3600.0], passes)[0]


def noisy_targets(seed: int, sigma: float) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(24, 0.3)).reshape(SHAPE)
    targets = [margin(joint, clique) for clique in CYCLE]
    return joint, [target + sigma * rng.normal(size=target.shape) for target in targets]


def measuring() -> np.ndarray:
    """The matrix from the joint's cells to all measured ones."""
    cells = np.eye(24).reshape(24, *SHAPE)
    columns = [np.concatenate([margin(one, clique).ravel() for clique in CYCLE]) for one in cells]
    return np.array(columns).T


@pytest.mark.parametrize("sigma", [1e-3, 0.02, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_is_the_least_of_any_distribution(seed: int, sigma: float) -> None:
    _, targets = noisy_targets(seed, sigma)
    weights = [sigma**-2, (2 * sigma) ** -2, sigma**-2, (sigma / 3) ** -2]
    fit, propagation = fitted(targets, weights)
    scale = np.concatenate([np.full(t.size, w**0.5) for t, w in zip(targets, weights, strict=True)])
    matrix, target = measuring(), np.concatenate([t.ravel() for t in targets])
    total = 1e4 * scale.max()  # an equation with so much weight makes probabilities sum to 1
    best, _ = nnls(
        np.vstack([scale[:, None] * matrix, np.full(24, total)]), np.append(scale * target, total)
    )
    least = np.square(scale * (matrix @ best - target)).mean()
    assert fit.losses[-1] == pytest.approx(least, rel=2e-3, abs=2e-3)
    found = np.concatenate([m.ravel() for m in propagation.marginals(fit.calibrated)])
    assert np.abs(scale * (found - matrix @ best)).max() < 0.15  # in standard deviations
    assert fit.losses[0] > 2 * least + 1  # there was something to find


def test_the_model_has_the_most_entropy_of_all_with_its_marginals() -> None:
    joint, targets = noisy_targets(3, 0.0)
    fit, _ = fitted(targets, [1e6] * 4)
    matrix = measuring()
    wanted = np.concatenate([target.ravel() for target in targets])

    def dual(multipliers: np.ndarray) -> tuple[float, np.ndarray]:
        exponents = multipliers @ matrix
        top = exponents.max()
        law = np.exp(exponents - top)
        value = np.log(law.sum()) + top - multipliers @ wanted
        return float(value), matrix @ (law / law.sum()) - wanted

    solution = minimize(dual, np.zeros(len(wanted)), jac=True, method="BFGS", tol=1e-10)
    law = np.exp(solution.x @ matrix - (solution.x @ matrix).max())
    found = joint_of(CYCLE, fit.potentials, shape=SHAPE)
    np.testing.assert_allclose(found.ravel(), law / law.sum(), atol=2e-4)
    assert np.abs(found - joint).max() > 5e-3  # the joint itself is another one


def test_a_fit_that_cannot_become_better_ends() -> None:
    joint, _ = noisy_targets(3, 0.0)
    for start in (joint, np.full(SHAPE, 1 / 24)):  # reached on the way, and stood on from the start
        wanted = [margin(start, clique) for clique in CYCLE]
        fit, _ = fitted(wanted, [1e6] * 4, passes=100_000)
        assert fit.passes < 1_000
        assert fit.losses[-1] < 1e-8


def test_the_loss_never_rises_and_a_second_fit_goes_on_from_the_first() -> None:
    _, targets = noisy_targets(4, 0.05)
    weights = [400.0] * 4
    short, propagation = fitted(targets, weights, passes=12)
    assert all(
        later <= earlier for earlier, later in zip(short.losses, short.losses[1:], strict=False)
    )
    longer = descend(propagation, targets, weights, short.potentials, passes=2000, size=short.size)
    assert longer.losses[0] == short.losses[-1]
    assert longer.losses[-1] <= short.losses[-1]
    once, _ = fitted(targets, weights)
    assert longer.losses[-1] == pytest.approx(once.losses[-1], abs=2e-3)


def stood_on(fit: Fit, propagation: Propagation, targets: list[np.ndarray]) -> Fit:
    """A fit that begins where nothing is left to find, so that no step helps."""
    while fit.size * 1e6 > 1e-8:
        fit = descend(propagation, targets, [1e6] * 4, fit.potentials, passes=2000, size=fit.size)
    return fit


def test_a_fit_takes_steps_that_help_though_an_earlier_one_ended_where_none_did() -> None:
    joint, _ = noisy_targets(3, 0.0)
    first = [margin(joint, clique) for clique in CYCLE]
    fit, propagation = fitted(first, [1e6] * 4)
    stood = stood_on(fit, propagation, first)
    _, targets = noisy_targets(6, 0.0)
    after = descend(
        propagation, targets, [1e6] * 4, stood.potentials, passes=2000, size=stood.size / 27
    )
    assert after.losses[0] > 1e3
    assert after.losses[-1] < 0.1
    assert after.converged


@pytest.mark.parametrize("passes", [1, 10, 30, 2000])
@pytest.mark.parametrize("seed", range(3))
def test_no_distribution_has_a_loss_that_is_lower_by_more_than_the_excess(
    seed: int, passes: int
) -> None:
    fit, best = of_noise(seed, passes), of_noise(seed, 20_000)
    above = fit.losses[-1] - best.losses[-1]  # by so much at least
    assert above <= fit.excess + 1e-9
    assert fit.excess <= fit.losses[-1]
    assert (fit.excess < 0.1 and fit.converged) == (passes == 2000)
    assert fit.stands == (passes == 2000)


def test_a_fit_that_cannot_leave_its_start_has_stalled() -> None:
    _, targets = noisy_targets(4, 0.01)
    propagation = Propagation(SHAPE, junction_tree(SHAPE, CYCLE), CYCLE, {})
    cornered = [np.zeros_like(target) for target in targets]
    for potential in cornered:
        potential.flat[0] = 1e6  # one cell holds everything, and no step brings another one back
    for passes in (40, 2000):
        fit = descend(propagation, targets, [1e4] * 4, cornered, passes=passes)
        assert fit.stalled
        assert not fit.converged
    assert not fitted(targets, [1e4] * 4)[0].stalled


def test_targets_that_contradict_each_other_leave_a_loss_and_are_fitted_all_the_same() -> None:
    _, one = noisy_targets(7, 0.0)
    _, other = noisy_targets(8, 0.0)
    fit, _ = fitted([*one[:2], *other[2:]], [1e8] * 4, passes=20_000)
    assert fit.losses[-1] > 1e4
    assert fit.stands
    assert not fit.stalled


def test_passes_are_counted_and_progress_is_told() -> None:
    _, targets = noisy_targets(5, 0.05)
    propagation = Propagation(SHAPE, junction_tree(SHAPE, CYCLE), CYCLE, {})
    start = [np.zeros_like(target) for target in targets]
    shares: list[float] = []
    fit = descend(propagation, targets, [1e6] * 4, start, passes=60, report=shares.append)
    assert 60 <= fit.passes < 60 + 30  # a step that has begun is finished
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert not any(potential.any() for potential in start)


def test_nothing_measured_is_uniform() -> None:
    propagation = Propagation(SHAPE, junction_tree(SHAPE, ()), (), {})
    fit = descend(propagation, [], [], [], passes=10)
    for table in fit.calibrated.tables:
        np.testing.assert_allclose(table, 1 / table.size)
