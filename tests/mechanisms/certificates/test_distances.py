"""Distances of records from their points, read off the columns: bounds that hold, and forecasts."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.blocks.estimate import FamilyEstimate, FamilyEstimator
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.blocks.marginals import at_their_cells, over
from hallmark.mechanisms.blocks.strategies.identity import identity
from hallmark.mechanisms.certificates.distances import (
    MOST_THRESHOLDS,
    SummedDistances,
    column_offsets,
    excess,
    expected_distances,
    expected_shares,
    least_sums,
    thresholds,
)
from hallmark.mechanisms.certificates.measured_columns import MeasuredColumns
from hallmark.mechanisms.certificates.single_columns import ColumnErrors, ColumnEstimates
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.cells import count_codes
from tests.builders.codes import random_codes
from tests.builders.columns import line, nominal
from tests.builders.releases import ADD, PERSONS, REPLACE, WITH_PERSONS

FALSE_POSITIVE_RATE = 1e-6
RELEASES = 400
CONFIDENCE = 0.9
DRAWS = 300
EDGES = np.array([0.0, 0.01, 0.02, 0.05, 0.1, 0.3, 1.0])


def uneven(name: str, *, has_null: bool = False) -> Attribute:
    return Attribute(
        name=name,
        kind=Kind.NUMERIC,
        positions=(EDGES[1:] + EDGES[:-1]) / 2,
        widths=np.diff(EDGES),
        has_null=has_null,
    )


DOMAIN = Domain((uneven("x", has_null=True), nominal("c", 3), line("y", 8)))
PAIRS = over(DOMAIN, [(0, 1), (0, 2), (2, 1)], 3)


def made(family: Family, adjacency: Adjacency, scale: Fraction) -> FamilyEstimator:
    """Laplace noise of this scale on every count."""
    strategies = tuple(
        identity(block.space.size, epsilon=adjacency.l1 / scale, adjacency=adjacency)
        for block in family.blocks
    )
    return FamilyEstimator(family, strategies, adjacency)


def columns_of(
    adjacency: Adjacency, *, apart: tuple[int, ...] = (0, 2), scale: Fraction = Fraction(5)
) -> MeasuredColumns:
    own = made(at_their_cells(DOMAIN, apart), adjacency, scale) if apart else None
    return MeasuredColumns(made(PAIRS, adjacency, scale), own)


def truth(codes: np.ndarray) -> np.ndarray:
    return np.array([block.distances_to_points(codes).sum() for block in PAIRS.blocks])


def exact(estimator: FamilyEstimator | None, codes: np.ndarray) -> FamilyEstimate | None:
    if estimator is None:
        return None
    tables = count_codes(codes, [block.cells for block in estimator.family.blocks])
    return FamilyEstimate(
        tables=tuple(table.astype(float) for table in tables), total=np.array(float(len(codes)))
    )


def true_histograms(columns: MeasuredColumns, codes: np.ndarray) -> ColumnEstimates:
    estimate = exact(columns.marginals, codes)
    assert estimate is not None
    return columns.estimate(estimate, exact(columns.own, codes))


def noiseless(columns: MeasuredColumns) -> ColumnErrors:
    counts = tuple(np.zeros((DRAWS, DOMAIN.shape[column])) for column in columns.columns)
    return ColumnErrors(counts=counts, total=np.zeros(DRAWS))


def upper(columns: MeasuredColumns, errors: ColumnErrors, estimate: ColumnEstimates) -> np.ndarray:
    distances = SummedDistances(columns)
    assert [batch is errors for batch in distances.watch([errors])] == [True]
    return distances.upper(estimate, confidence=CONFIDENCE)


@pytest.mark.parametrize("apart", [(0, 2), (0,), (2,), ()], ids=str)
@pytest.mark.parametrize("adjacency", WITH_PERSONS, ids=str)
def test_without_noise_no_sum_is_understated(apart, adjacency) -> None:
    columns = columns_of(adjacency, apart=apart)
    for seed in range(5):
        codes = random_codes(DOMAIN.shape, 200, seed)
        found = upper(columns, noiseless(columns), true_histograms(columns, codes))
        assert (found >= truth(codes) - 1e-9).all()
        assert (found <= 200 * PAIRS.radius + 1e-9).all()


def test_without_noise_a_pair_with_categories_has_its_exact_sum() -> None:
    columns, codes = columns_of(REPLACE), random_codes(DOMAIN.shape, 200, 7)
    found = upper(columns, noiseless(columns), true_histograms(columns, codes))
    assert found[[0, 2]] == pytest.approx(truth(codes)[[0, 2]])


def test_of_a_column_whose_codes_are_merged_the_farthest_code_of_a_point_is_taken() -> None:
    columns = columns_of(REPLACE, apart=())
    assert columns.merged == (0, 2)
    codes = np.zeros((100, 3), dtype=int)
    far = column_offsets(PAIRS)[0][:5].max()  # of the codes up to 0.3, which share a point
    found = upper(columns, noiseless(columns), true_histograms(columns, codes))
    assert found[0] == pytest.approx(100 * far)


def test_the_split_of_the_largest_of_several_is_a_bound_at_every_threshold() -> None:
    rng = np.random.default_rng(8)
    one, other = rng.random((2, 50))
    for threshold in np.append(0.0, one):
        split = threshold + sum(np.maximum(o - threshold, 0) for o in (one, other))
        assert (np.maximum(one, other) <= split + 1e-12).all()


def test_many_offsets_are_split_at_some_of_them() -> None:
    offsets = np.random.default_rng(9).random(100)
    found = thresholds([offsets])
    assert len(found) == MOST_THRESHOLDS
    assert found[[0, -1]].tolist() == [0.0, offsets.max()]
    assert thresholds([offsets[:3]]).tolist() == [0.0, *sorted(offsets[:3])]


def test_the_least_bound_over_all_thresholds_is_taken() -> None:
    split = np.array([0.0, 0.1, 0.4])
    offsets = {c: np.array([0.1, 0.1, 0.1, 0.4]) for c in (0, 2)} | {1: np.zeros(4)}
    sums = {c: excess(o, split) @ np.array([30.0, 30.0, 30.0, 1.0]) for c, o in offsets.items()}
    found = least_sums(PAIRS, split, sums, 91.0)
    assert found == pytest.approx([9.1 + 0.3, 9.1 + 0.6, 9.1 + 0.3])


def misses(adjacency: Adjacency, *, understated: int = 1) -> int:
    """Releases in which some block's sum exceeds its bound, each with its own simulation.

    Categories beside a line leave nothing but the noise between sum and bound.
    """
    rng = np.random.default_rng(10)
    columns = columns_of(adjacency, scale=Fraction(40))
    codes = random_codes(DOMAIN.shape, 300, 11)
    true = truth(codes)
    exactly = true_histograms(columns, codes)
    missed = 0
    for _ in range(RELEASES):
        (noise,) = columns.errors(1, rng)
        estimate = ColumnEstimates(
            counts=tuple(c + n[0] for c, n in zip(exactly.counts, noise.counts, strict=True)),
            total=exactly.total + float(noise.total[0]),
        )
        distances = SummedDistances(columns)
        (drawn,) = columns.errors(DRAWS, rng)
        claimed = ColumnErrors(
            counts=tuple(noise / understated for noise in drawn.counts),
            total=drawn.total / understated,
        )
        assert list(distances.watch([claimed])) == [claimed]
        missed += bool((true > distances.upper(estimate, confidence=CONFIDENCE) + 1e-9).any())
    return missed


@pytest.mark.parametrize(
    "adjacency", [pytest.param(REPLACE, marks=pytest.mark.slow), ADD, PERSONS], ids=str
)
def test_misses_are_as_rare_as_stated(adjacency) -> None:
    assert binom.sf(misses(adjacency) - 1, RELEASES, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


def test_a_twin_that_understates_the_noise_is_found_out() -> None:
    missed = misses(REPLACE, understated=4)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) < FALSE_POSITIVE_RATE


# Forecasts


def test_shares_are_the_smaller_the_wider_a_cell_is_and_sum_to_one() -> None:
    shares = expected_shares(uneven("x", has_null=True))
    assert shares.sum() == pytest.approx(1)
    assert (np.diff(shares[:6]) <= 0).all()
    assert shares[6] == pytest.approx(1 / 7)
    gap = 0.01  # between the centres of the first two cells
    assert shares[0] / shares[5] == pytest.approx((0.7 + gap) / (0.01 + gap))


@pytest.mark.parametrize(
    "attribute", [line("x", 5), line("x", 5, width=0.0), nominal("c", 5), line("x", 1)]
)
def test_equal_cells_have_equal_shares(attribute) -> None:
    assert expected_shares(attribute) == pytest.approx(1 / attribute.levels)


def test_the_forecast_without_noise_is_twice_the_mean_distance() -> None:
    domain = Domain((line("x", 40), nominal("c", 2)))
    family = over(domain, [(0, 1)], 4)
    columns = MeasuredColumns(
        made(family, REPLACE, Fraction(1)),
        made(at_their_cells(domain, (0,)), REPLACE, Fraction(1)),
    )
    evenly = np.array([[code, 0] for code in range(40)])
    mean = family.blocks[0].distances_to_points(evenly).mean()
    assert expected_distances(columns, 0.0, 100).max() == pytest.approx(2 * mean)
    assert 2 * mean < expected_distances(columns, 1.0, 100).max() <= mean + family.radius
    unmeasured = MeasuredColumns(columns.marginals, None)
    assert expected_distances(unmeasured, 0.0, 100).max() == pytest.approx(mean + family.radius)
