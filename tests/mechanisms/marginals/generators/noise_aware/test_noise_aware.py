"""Noise-aware generation: targets, rules in every record, drafts, and what is refused."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.domain.rules.tables import Determination, RuleTable
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from hallmark.mechanisms.marginals.generators.noise_aware.latent_classes import LatentClassFit
from hallmark.mechanisms.marginals.generators.noise_aware.noise_aware import (
    NoiseAware,
    NoiseAwareModel,
)
from hallmark.mechanisms.marginals.generators.noise_aware.sorted_descent import Descent
from tests.mechanisms.marginals.domains import domain_of, evidence_of, marginal_of

SHAPE = (5, 4, 3, 6)
PAIRS = tuple(combinations(range(4), 2))
QUICK = NoiseAware(latent=LatentClassFit(classes=10, members=2))
NOT_TOGETHER = RuleTable(
    "c0 = 0 => c1 = 0", (0, 1), np.array([[True] + [False] * 3] + [[True] * 4] * 4)
)
DETERMINES = Determination("c3 determines c2", 3, 2)
RULES = Rules(SHAPE, (NOT_TOGETHER,), (DETERMINES,), ordered=(0, 1, 2, 3))


def table(rows: int = 4000) -> np.ndarray:
    """Records that obey both rules."""
    rng = np.random.default_rng(0)
    codes = np.floor((0.6 * rng.random((rows, 1)) + 0.4 * rng.random((rows, 4))) * SHAPE).astype(
        np.int64
    )
    codes[codes[:, 0] == 0, 1] = 0
    codes[:, 2] = np.array([2, 0, 1, 1, 0, 2])[codes[:, 3]]
    return codes


def counted(codes: np.ndarray, clique: Clique) -> np.ndarray:
    return len(codes) * marginal_of(codes, clique, SHAPE)


def evidence(
    *, sigma: float = 20.0, ruled: bool = False, cliques: tuple[Clique, ...] = PAIRS
) -> Evidence:
    rules = RULES if ruled else None
    return evidence_of(table(), SHAPE, sigma=sigma, seed=1, cliques=cliques, rules=rules)


def fit(generator: NoiseAware, given: Evidence, **changes: object) -> NoiseAwareModel:
    return generator.fit(given, rng=np.random.default_rng(2), **changes)  # type: ignore[arg-type]  # previous and draft


def records(model: NoiseAwareModel, rows: int = 4000) -> tuple[np.ndarray, dict[str, object]]:
    codes, made = model.records(rows, np.random.default_rng(3), lambda share, doing: None)
    return codes, dict(made)


def variation(codes: np.ndarray, cliques: tuple[Clique, ...] = PAIRS) -> float:
    """Mean total variation to the private marginals."""
    private = table()
    return float(
        np.mean(
            [
                np.abs(counted(codes, c) / len(codes) - counted(private, c) / 4000).sum() / 2
                for c in cliques
            ]
        )
    )


@pytest.mark.parametrize("denoiser", ["latent-classes", "singular-values"])
@pytest.mark.parametrize("epochs", [0, 5])
def test_records_have_the_marginals_that_were_measured(denoiser: str, epochs: int) -> None:
    generator = replace(QUICK, denoiser=denoiser, descent=Descent(epochs=epochs))
    codes, made = records(fit(generator, evidence()))
    shuffled = np.random.default_rng(4).permuted(table(), axis=0)
    assert variation(codes) < 0.25 * variation(shuffled)
    errors = made["polish_squared_error"]
    assert isinstance(errors, list)
    assert errors[-1] < errors[0]
    assert ("descent_loss" in made) == (epochs > 0)


def test_all_records_obey_the_rules_of_the_domain() -> None:
    given = evidence(ruled=True)
    model = fit(QUICK, given)
    codes, _ = records(model, rows=1500)
    assert given.domain.rules.valid(codes).all()
    assert all(len(np.unique(codes[codes[:, 3] == code, 2])) <= 1 for code in range(6))
    np.testing.assert_array_equal(  # settled by the counts, not by the model that blurs them
        [codes[codes[:, 3] == c, 2][0] for c in range(6)], [2, 0, 1, 1, 0, 2]
    )
    assert not model.targets[0, 1][0, 1:].any()
    free, _ = records(fit(QUICK, evidence()), rows=1500)
    assert not given.domain.rules.valid(free).all()  # the check can fail


def test_targets_are_distributions_and_follow_what_stands_out_of_the_noise() -> None:
    precise = fit(replace(QUICK, latent=LatentClassFit(classes=1, members=1)), evidence(sigma=1.0))
    private = table()
    for clique, target in precise.targets.items():
        assert target.min() >= 0
        assert target.sum() == pytest.approx(1)
        truth = counted(private, clique) / 4000
        # One class is independence: all of the dependence is residual.
        assert np.abs(target - truth).sum() < 0.25 * np.abs(precise.marginal(clique) - truth).sum()


@pytest.mark.parametrize("denoiser", ["latent-classes", "singular-values"])
def test_a_public_marginal_is_its_own_target(denoiser: str) -> None:
    given = evidence()
    public = NoisyMarginal((0, 1), counted(table(), (0, 1)), 0.0)
    known = replace(given, marginals=(public, *given.marginals[1:]))
    targets = fit(replace(QUICK, denoiser=denoiser), known).targets
    np.testing.assert_allclose(targets[0, 1], public.counts / 4000, atol=1e-9)
    np.testing.assert_allclose(targets[0, 2].sum(axis=1), public.counts.sum(axis=1) / 4000)


@pytest.mark.parametrize("cliques", [((0, 1, 2), (3,)), ((0,), (1,), (2, 3)), ((0, 1, 2, 3),)])
def test_marginals_of_any_order_will_do(cliques: tuple[Clique, ...]) -> None:
    codes, _ = records(fit(QUICK, evidence(cliques=cliques, sigma=5.0)))
    shuffled = np.random.default_rng(4).integers(SHAPE, size=(4000, 4))
    assert variation(codes, cliques) < 0.4 * variation(shuffled, cliques)


def test_pairs_that_nothing_ties_together_are_products_and_records_have_them() -> None:
    """Of two pairs of equal columns, the pairs across were not measured; a sample of records would
    be off by what 4,000 draws are."""
    rng, shape = np.random.default_rng(8), (8, 8, 8, 8)
    ends = rng.integers(8, size=(4000, 2))
    codes = ends[:, [0, 0, 1, 1]]
    cliques: tuple[Clique, ...] = ((0,), (1,), (2,), (3,), (0, 1), (2, 3))
    model = fit(QUICK, evidence_of(codes, shape, sigma=5.0, seed=1, cliques=cliques))
    made, _ = records(model)
    for pair in ((0, 2), (1, 3)):
        product = np.outer(*(model.wanted((a,)) for a in pair))
        assert model.wanted(pair) == pytest.approx(product, abs=1e-9)
        off = np.abs(marginal_of(made, pair, shape) - product).sum() / 2
        sampled = np.abs(rng.multinomial(4000, product.ravel()) / 4000 - product.ravel()).sum() / 2
        assert off < 0.5 * sampled
    assert np.abs(marginal_of(made, (0, 1), shape) - np.eye(8) / 8).sum() / 2 < 0.05


def test_a_draft_goes_on_from_an_earlier_model() -> None:
    first = fit(QUICK, evidence())
    draft = fit(QUICK, evidence(), previous=first, draft=True)
    assert draft.marginal((0, 1)).sum() == pytest.approx(1)
    gap = np.abs(draft.marginal((0, 1)) - first.marginal((0, 1))).sum()
    assert gap < 0.1


def test_a_seed_gives_the_same_records() -> None:
    one, two = (records(fit(QUICK, evidence()), rows=500)[0] for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_singular_values_need_all_pairs_and_nothing_else() -> None:
    generator = NoiseAware(denoiser="singular-values")
    assert generator.memory(domain_of(SHAPE), PAIRS, 1000) > 0
    with pytest.raises(ValueError, match=r"generator\.denoiser: singular-values needs all two-way"):
        generator.memory(domain_of(SHAPE), ((0, 1), (2,)), 1000)


def test_batches_make_a_table_as_near_the_truth_and_keep_rare_cells() -> None:
    model = fit(QUICK, evidence(ruled=True))
    whole, _ = records(model)
    made = np.concatenate(
        [
            model.records(400, np.random.default_rng([4, number]), lambda share, doing: None)[0]
            for number in range(10)
        ]
    )
    determined = model.evidence.domain.rules.settled(lambda pair: counted(table(), pair))
    assert determined.valid(made).all()
    assert variation(made) < 1.1 * variation(whole)
    # Below half a record a batch: rounding to the nearest would leave them out of every batch.
    rare = {c: (t > 0.1 / 400) & (t < 0.5 / 400) for c, t in model.targets.items() if len(c) == 2}
    wanted = sum(model.targets[c][cells].sum() for c, cells in rare.items())
    found = sum(counted(made, c)[cells].sum() / 4000 for c, cells in rare.items())
    assert 0.7 * wanted < found < 2 * wanted
