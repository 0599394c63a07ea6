"""The joint estimate: linear, unbiased, and wrong by the same map of the noise alone."""

import pickle
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from hallmark.mechanisms.blocks.estimate import FamilyEstimate, FamilyEstimator
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.blocks.marginals import marginals, over
from hallmark.mechanisms.blocks.strategies.haar import haar, paper_haar, superregular
from hallmark.mechanisms.blocks.strategies.identity import Identity, identity
from hallmark.mechanisms.blocks.strategies.two_level import two_level
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.line import is_line
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise
from hallmark.mechanisms.privacy.simulation import (
    simulate_discrete_gaussian,
    simulate_discrete_laplace,
)
from tests.builders.codes import random_codes
from tests.builders.columns import line, nominal
from tests.mechanisms.blocks.strategies.measured import EPSILON, REMOVE, REPLACE, variance

FALSE_POSITIVE_RATE = 1e-6  # of all moments compared here, fewer than 10 000, together
DRAWS = 20_000
DEVIATIONS = norm.isf(FALSE_POSITIVE_RATE / 10_000 / 2)
MEAN_ERROR = DEVIATIONS / np.sqrt(DRAWS)
# Fourth moments are at most 8 sigma^4: discrete Laplace noise of variance 2v has 6 + 1/(2v).
COVARIANCE_ERROR = DEVIATIONS * np.sqrt(8 / DRAWS)

MIXED = Domain((line("x", 4, has_null=True), nominal("c", 3), line("y", 4, width=0.0)))
PAIRS = marginals(MIXED, 2, 2)
LINES = over(MIXED, [(2,), (1,)], 4)
MIXTURE = over(MIXED, [(2,), (0, 1), (1, 2)], 4)
MAKERS = {
    "identity": lambda space, a, e: identity(space.size, epsilon=e, adjacency=a),
    "haar": lambda space, a, e: haar(space.tree, epsilon=e, adjacency=a),
    "superregular": lambda space, a, e: superregular(space, epsilon=e, adjacency=a),
    "paper": lambda space, a, e: paper_haar(space, epsilon=e, adjacency=a),
    "gaussian": lambda space, a, e: Identity(
        size=space.size, cell_noise=GaussianNoise(9 / (2 * e))
    ),
    "two-level where lines": lambda space, a, e: (
        two_level(space, epsilon=e, adjacency=a)
        if is_line(space)
        else identity(space.size, epsilon=e, adjacency=a)
    ),
}
FAMILIES = {"pairs": PAIRS, "no column in common": LINES, "mixture": MIXTURE}


def made(
    noise: str, adjacency: Adjacency, family: Family = PAIRS, epsilon: Fraction = EPSILON
) -> FamilyEstimator:
    strategies = [MAKERS[noise](block.space, adjacency, epsilon) for block in family.blocks]
    return FamilyEstimator(family, tuple(strategies), adjacency)


def exact_answers(estimator: FamilyEstimator, codes: np.ndarray) -> list[np.ndarray]:
    return [query.transform(count_codes(codes, [query.cells])[0]) for query in estimator.queries]


def drawn(estimator: FamilyEstimator, rng: np.random.Generator, *batch: int) -> list[np.ndarray]:
    """Noise of every query's own law."""
    found = []
    for strategy in estimator.strategies:
        for noise, entries in strategy.noise:
            match noise:
                case LaplaceNoise(scale):
                    found.append(simulate_discrete_laplace(rng, scale, (*batch, entries)))
                case GaussianNoise(sigma2):
                    found.append(simulate_discrete_gaussian(rng, sigma2, (*batch, entries)))
    return found


def stacked(estimate: FamilyEstimate) -> np.ndarray:
    """All tables and the total in one vector, per leading axis."""
    return np.concatenate([*estimate.tables, estimate.total[..., None]], axis=-1)


def public(estimator: FamilyEstimator, rows: int) -> int | None:
    return rows if estimator.total_is_public else None


def moments(estimator: FamilyEstimator) -> np.ndarray:
    """Exact covariance of tables and total, from the unit vectors and the noise's variances."""
    noise = [own for strategy in estimator.strategies for own in strategy.noise]
    entries = [size for _, size in noise]
    units = np.split(np.eye(sum(entries)), np.cumsum(entries)[:-1], axis=1)
    matrix = stacked(estimator.estimate(units, public(estimator, 0)))
    variances = np.concatenate([np.full(size, variance(law)) for law, size in noise])
    return matrix.T * variances @ matrix


@cache
def simulated(noise: str, adjacency: Adjacency) -> np.ndarray:
    return stacked(made(noise, adjacency).simulate(DRAWS, np.random.default_rng(22)))


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE], ids=str)
@pytest.mark.parametrize("noise", MAKERS)
@pytest.mark.parametrize("name", FAMILIES)
def test_exact_answers_give_the_true_tables_and_total(name, noise, adjacency) -> None:
    estimator, codes = made(noise, adjacency, FAMILIES[name]), random_codes(MIXED.shape, 70, 21)
    found = estimator.estimate(exact_answers(estimator, codes), public(estimator, 70))
    truth = count_codes(codes, [block.cells for block in estimator.family.blocks])
    for table, counts in zip(found.tables, truth, strict=True):
        assert table == pytest.approx(counts, abs=1e-10)
    assert found.total == pytest.approx(70)


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE], ids=str)
@pytest.mark.parametrize("noise", MAKERS)
@pytest.mark.parametrize("name", FAMILIES)
def test_the_error_is_the_same_map_of_the_noise_alone(name, noise, adjacency) -> None:
    estimator, codes = made(noise, adjacency, FAMILIES[name]), random_codes(MIXED.shape, 70, 21)
    exact = exact_answers(estimator, codes)
    own = drawn(estimator, np.random.default_rng(23), 3)
    noisy = [answer + disturbance for answer, disturbance in zip(exact, own, strict=True)]
    found = stacked(estimator.estimate(noisy, public(estimator, 70)))
    truth = stacked(estimator.estimate(exact, public(estimator, 70)))
    error = stacked(estimator.estimate(own, public(estimator, 0)))
    assert np.abs(error).max() > 1
    assert found - truth == pytest.approx(error, abs=1e-9)


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE], ids=str)
@pytest.mark.parametrize("noise", MAKERS)
def test_batches_are_estimated_like_their_members(noise, adjacency) -> None:
    estimator = made(noise, adjacency, MIXTURE)
    own = drawn(estimator, np.random.default_rng(24), 3, 2)
    found = estimator.estimate(own, public(estimator, 70))
    assert [table.shape for table in found.tables] == [
        (3, 2, block.space.size) for block in MIXTURE.blocks
    ]
    assert found.total.shape == (3, 2)
    for position in np.ndindex(3, 2):
        alone = estimator.estimate([answer[position] for answer in own], public(estimator, 70))
        assert stacked(found)[position] == pytest.approx(stacked(alone), abs=1e-9)


@pytest.mark.parametrize("noise", MAKERS)
@pytest.mark.parametrize("name", FAMILIES)
def test_tables_sum_to_a_public_total_which_is_exact(name, noise) -> None:
    """Though the paper's noise leaks mass to the padding."""
    estimator = made(noise, REPLACE, FAMILIES[name])
    found = estimator.estimate(drawn(estimator, np.random.default_rng(25), 5), 70)
    assert (found.total == 70).all()
    for table in found.tables:
        assert table.sum(axis=-1) == pytest.approx(np.full(5, 70.0), abs=1e-9)
    errors = estimator.simulate(5, np.random.default_rng(26))
    assert (errors.total == 0).all()
    for table in errors.tables:
        assert table.sum(axis=-1) == pytest.approx(np.zeros(5), abs=1e-9)


@pytest.mark.parametrize("noise", MAKERS)
@pytest.mark.parametrize("name", FAMILIES)
def test_tables_agree_on_a_private_total_which_is_estimated(name, noise) -> None:
    estimator = made(noise, REMOVE, FAMILIES[name])
    assert not estimator.total_is_public
    own = drawn(estimator, np.random.default_rng(27), 5)
    found = estimator.estimate(own, None)
    assert (found.total != 0).any()
    for table in found.tables:
        assert table.sum(axis=-1) == pytest.approx(found.total, abs=1e-9)


def test_a_private_total_is_less_wrong_than_that_of_each_block_alone() -> None:
    estimator = made("identity", REMOVE)
    sizes = np.array([block.space.size for block in PAIRS.blocks])
    alone = sizes * variance(estimator.strategies[0].noise[0][0])
    assert moments(estimator)[-1, -1] == pytest.approx(1 / np.sum(1 / alone))


def assert_tables_agree_on_their_columns(estimate: FamilyEstimate, family: Family) -> None:
    margins: dict[int, list[np.ndarray]] = {}
    for block, table in zip(family.blocks, estimate.tables, strict=True):
        box = table.reshape(-1, *block.shape)
        for axis, column in enumerate(block.columns):
            others = tuple(1 + i for i in range(len(block.shape)) if i != axis)
            margins.setdefault(column, []).append(box.sum(axis=others))
    for first, *rest in margins.values():
        for other in rest:
            assert other == pytest.approx(first, abs=1e-9)


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE], ids=str)
@pytest.mark.parametrize("noise", MAKERS)
def test_estimates_and_errors_are_consistent(noise, adjacency) -> None:
    estimator = made(noise, adjacency)
    own = drawn(estimator, np.random.default_rng(28), 4)
    assert_tables_agree_on_their_columns(estimator.estimate(own, public(estimator, 70)), PAIRS)
    assert_tables_agree_on_their_columns(estimator.simulate(4, np.random.default_rng(29)), PAIRS)


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE], ids=str)
@pytest.mark.parametrize("noise", MAKERS)
def test_simulated_errors_are_none_on_average(noise, adjacency) -> None:
    errors, expected = simulated(noise, adjacency), moments(made(noise, adjacency))
    mean, deviations = errors.mean(axis=0), np.sqrt(np.diag(expected))
    allowed = MEAN_ERROR * deviations + 1e-9  # a public total has no error at all
    assert (np.abs(mean) < allowed).all()
    assert (np.abs(mean + deviations / 10) > allowed).any()  # so small a bias is caught


def mistake(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest, relative to both errors' standard deviations; a public total has none."""
    deviations = np.sqrt(np.diag(expected).clip(1e-12))
    return float((np.abs(found - expected) / np.outer(deviations, deviations)).max())


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE], ids=str)
@pytest.mark.parametrize("noise", MAKERS)
def test_simulated_errors_have_the_covariance_of_the_noise_put_through_the_estimate(
    noise, adjacency
) -> None:
    errors, expected = simulated(noise, adjacency), moments(made(noise, adjacency))
    found = errors.T @ errors / DRAWS
    assert mistake(found, expected) < COVARIANCE_ERROR
    assert mistake(found * 0.9**2, expected) > COVARIANCE_ERROR  # a tenth too small is caught


@pytest.mark.parametrize("sizes", [(6, 6, 6), (9, 6, 7), (9, 6), ()])
def test_strategies_of_other_sizes_than_the_blocks_are_refused(sizes) -> None:
    assert [block.space.size for block in PAIRS.blocks] == [9, 6, 6]
    strategies = tuple(identity(size, epsilon=EPSILON, adjacency=REPLACE) for size in sizes)
    with pytest.raises(
        ValueError, match=r"blocks of \[9, 6, 6\] points need strategies of the sam"
    ):
        FamilyEstimator(PAIRS, strategies, REPLACE)


def test_digests_tell_laws_apart_and_survive_pickling() -> None:
    estimators = [
        *(made(noise, a) for noise in MAKERS for a in (REPLACE, REMOVE) if "two" not in noise),
        made("identity", REPLACE, epsilon=EPSILON / 2),  # another scale
        made("haar", REPLACE, epsilon=EPSILON / 2),
        made("identity", REPLACE, LINES),
        made("identity", REPLACE, over(MIXED, [(1,), (2,)], 4)),  # another order
        made("identity", REPLACE, over(MIXED, [(2,), (1,)], 2)),  # another grid
        made("identity", REPLACE, over(MIXED, [(0,), (1,)], 4)),  # other columns
    ]
    digests = [estimator.digest for estimator in estimators]
    assert len(set(digests)) == len(digests)
    assert [estimator.digest for estimator in pickle.loads(pickle.dumps(estimators))] == digests
    assert made("haar", REMOVE).digest == made("haar", REMOVE).digest


def test_it_matters_to_the_digest_which_columns_blocks_share() -> None:
    """What they share shapes the law, though spaces and strategies are the same."""
    alike = Domain((nominal("a", 2), nominal("b", 2), nominal("c", 2)))
    chain, other = (over(alike, [(0, 1), last], 1) for last in [(1, 2), (0, 2)])
    assert made("identity", REPLACE, chain).digest != made("identity", REPLACE, other).digest


def test_it_matters_to_the_digest_whether_the_total_is_public() -> None:
    strategies = made("gaussian", REPLACE).strategies
    one, other = (FamilyEstimator(PAIRS, strategies, a) for a in (REPLACE, REMOVE))
    assert one.digest != other.digest
