"""The loss of a mixture against marginals: its sum, and its gradient."""

from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.marginals.cell_groups import merge, sizes_of
from hallmark.mechanisms.marginals.evidence import Coarse, Evidence, NoisyMarginal
from hallmark.mechanisms.marginals.generators.noise_aware.latent_classes import LatentClasses
from hallmark.mechanisms.marginals.generators.noise_aware.mixture_loss import Target, target_of
from tests.mechanisms.marginals.domains import domain_of

SHAPE = (3, 4, 2, 5)
PAIRS = tuple(combinations(range(4), 2))
TRIPLES = (*combinations(range(4), 3), (1, 3))
MIXED: tuple[Clique, ...] = ((0,), (0, 1), (1, 3), (0, 2, 3), (0, 1, 2, 3))


def joint(seed: int, classes: int = 2) -> np.ndarray:
    """A mixture of products as a whole table."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(classes, 5.0))
    profiles = [rng.dirichlet(np.full(k, 0.7), size=classes) for k in SHAPE]
    return np.einsum("r,ra,rb,rc,rd->abcd", weights, *profiles)


def over(table: np.ndarray, clique: Clique) -> np.ndarray:
    return table.sum(axis=tuple(a for a in range(table.ndim) if a not in clique))


def target(
    cliques: tuple[Clique, ...], sigmas: tuple[float, ...], groups: int | None = None
) -> Target:
    """With `groups`, every other table is measured in at most so many of every attribute, too."""
    table = joint(1)
    marginals = tuple(
        NoisyMarginal(
            c,
            over(table, c),
            s,
            Coarse(sizes_of(c, SHAPE, groups), 0.8) if groups and i % 2 else None,
        )
        for i, (c, s) in enumerate(zip(cliques, sigmas, strict=True))
    )
    given = Evidence(domain_of(SHAPE), marginals, 1.0, total_is_public=True)
    return target_of(given, {c: over(table, c) for c in cliques})


def mixture(seed: int, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Weights and profiles."""
    rng = np.random.default_rng(seed)
    profiles = [rng.dirichlet(np.ones(k), size=classes) for k in SHAPE]
    return rng.dirichlet(np.ones(classes)), np.hstack(profiles)


@pytest.mark.parametrize("groups", [None, 2])
@pytest.mark.parametrize("cliques", [PAIRS, MIXED, TRIPLES])
def test_the_loss_is_half_the_weighted_squared_error_of_all_marginals(
    cliques: tuple[Clique, ...], groups: int | None
) -> None:
    sigmas = tuple(1.0 + 0.5 * i for i in range(len(cliques)))
    goal, (weights, profiles) = target(cliques, sigmas, groups), mixture(3)
    model = LatentClasses(SHAPE, weights[None], profiles[None], (0,))
    expected = sum(
        0.5 / s**2 * ((model.marginal(c) - over(joint(1), c)) ** 2).sum()
        for c, s in zip(cliques, sigmas, strict=True)
    )
    finest = min(sigmas) if groups else 1.0  # weights are relative to the best
    expected *= finest**2
    for clique in cliques[1::2] if groups else ():
        misfit = merge(model.marginal(clique) - over(joint(1), clique), sizes_of(clique, SHAPE, 2))
        expected += 0.5 * (finest / 0.8) ** 2 * (misfit**2).sum()
    assert goal.squared_error(weights, profiles) == pytest.approx(expected)


@pytest.mark.parametrize("groups", [None, 2])
@pytest.mark.parametrize("cliques", [PAIRS, MIXED, TRIPLES])
def test_gradients_are_those_of_finite_differences(
    cliques: tuple[Clique, ...], groups: int | None
) -> None:
    goal = target(cliques, tuple(1.0 + 0.5 * i for i in range(len(cliques))), groups)
    weights, profiles = mixture(2)
    by_profile, by_weight = goal.gradients(weights, profiles)
    step = 1e-5
    for parameter, gradient in ((profiles, by_profile), (weights, by_weight)):
        for index in np.ndindex(parameter.shape):
            ends = []
            for sign in (1, -1):
                parameter[index] += sign * step
                ends.append(goal.squared_error(weights, profiles))
                parameter[index] -= sign * step
            found = (ends[0] - ends[1]) / (2 * step)
            assert gradient[index] == pytest.approx(found, abs=2e-6 * np.abs(gradient).max() + 1e-8)


def test_triples_that_would_take_much_memory_are_fitted_one_by_one_and_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def looked_at() -> tuple[Target, float, tuple[np.ndarray, np.ndarray]]:
        goal = target(TRIPLES, tuple(1.0 + 0.5 * i for i in range(len(TRIPLES))), 2)
        weights, profiles = mixture(4)
        return goal, goal.squared_error(weights, profiles), goal.gradients(weights, profiles)

    together, error, slopes = looked_at()
    monkeypatch.setattr(
        "hallmark.mechanisms.marginals.generators.noise_aware.mixture_loss._MOST_ENTRIES", 0
    )
    one_by_one, same, alike = looked_at()
    assert (together.triples is not None, together.others) == (True, {})
    assert (one_by_one.triples, len(one_by_one.others)) == (None, 4)
    assert same == pytest.approx(error, rel=1e-5)
    for own, other in zip(slopes, alike, strict=True):
        assert other == pytest.approx(own, rel=1e-4, abs=1e-7)
