"""One-way certificates: coverage against an adversary, a broken twin, and every term by hand."""

import numpy as np
import pytest
from scipy.stats import binom, wasserstein_distance

from hallmark.mechanisms.certificates.simultaneous import PILOT
from hallmark.mechanisms.certificates.single_columns import (
    ColumnCertificate,
    ColumnErrors,
    ColumnEstimates,
    certify_single_columns,
    forecast_single_columns,
)
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.geometry.wasserstein import w1
from tests.builders.columns import nominal

FALSE_POSITIVE_RATE = 1e-6
RELEASES = 500
CONFIDENCE = 0.9


def numeric(levels: int, *, width: float = 0.0, has_null: bool = False) -> Attribute:
    return Attribute(
        name="age",
        kind=Kind.NUMERIC,
        positions=np.linspace(0, 1, levels),
        widths=np.full(levels, width),
        has_null=has_null,
        scale=120.0,
        unit="years",
    )


BINARY = Domain((numeric(2), nominal("sex", 2)))


def draw_errors(rng: np.random.Generator, draws: int, private: bool, size: float) -> ColumnErrors:
    """Errors of counts whose cells are disturbed independently, and of a separate total."""
    counts = tuple(np.rint(rng.laplace(scale=size * s, size=(draws, 2))) for s in (1.0, 4.0))
    total = np.rint(rng.laplace(scale=size, size=draws)) if private else np.zeros(draws)
    return ColumnErrors(counts=counts, total=total)


def misses(*, private: bool, understated: float = 1.0) -> int:
    """Releases in which some attribute's W1 exceeds its bound, for the worst synthetic table.

    The adversary knows the private table and picks, for each attribute, the end of it at which all
    synthetic records lie, so as to exceed the bound if that can be done.
    """
    rng = np.random.default_rng(11)
    true = np.array([40.0, 60.0])
    missed = 0
    for _ in range(RELEASES):
        own = draw_errors(rng, 1, private, 2.0)
        estimate = ColumnEstimates(
            counts=tuple(true + noise[0] for noise in own.counts),
            total=100.0 + float(own.total[0]),
        )
        fresh = draw_errors(rng, PILOT + 199, private, 2.0 * understated)
        exceeded = False
        for end in (0, 1):
            bounds = certify_single_columns(
                BINARY,
                estimate,
                fresh,
                np.full((5, 2), end),
                total_is_public=not private,
                confidence=CONFIDENCE,
            ).bounds
            exceeded |= any(true[1 - end] / 100 > bound.value + 1e-12 for bound in bounds)
        missed += exceeded
    return missed


def test_misses_are_as_rare_as_stated_with_a_public_number_of_records() -> None:
    assert binom.sf(misses(private=False) - 1, RELEASES, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


def test_misses_are_as_rare_as_stated_with_a_private_number_of_records() -> None:
    assert binom.sf(misses(private=True) - 1, RELEASES, 1 - CONFIDENCE) > FALSE_POSITIVE_RATE


def test_a_twin_that_understates_the_noise_by_half_is_found_out() -> None:
    missed = misses(private=False, understated=0.5)
    assert binom.sf(missed - 1, RELEASES, 1 - CONFIDENCE) < FALSE_POSITIVE_RATE


def noiseless(domain: Domain, draws: int = PILOT + 99) -> ColumnErrors:
    return ColumnErrors(
        counts=tuple(np.zeros((draws, cells)) for cells in domain.shape), total=np.zeros(draws)
    )


def test_without_noise_the_bound_is_the_distance_itself() -> None:
    rng = np.random.default_rng(12)
    domain = Domain((numeric(5, has_null=True), nominal("sex", 4)))
    private, synthetic = (
        np.stack([rng.integers(0, cells, size=rows) for cells in domain.shape], axis=1)
        for rows in (30, 70)
    )
    counts = [np.bincount(private[:, a], minlength=domain.shape[a]) for a in range(2)]
    bounds = certify_single_columns(
        domain,
        ColumnEstimates(counts=tuple(c.astype(float) for c in counts), total=30.0),
        noiseless(domain),
        synthetic,
        total_is_public=True,
        confidence=0.9,
    ).bounds
    for a, bound in enumerate(bounds):
        released = np.bincount(synthetic[:, a], minlength=domain.shape[a]) / 70
        assert bound.value == pytest.approx(
            float(w1(domain.attributes[a], counts[a] / 30 - released))
        )


def certify_simple(
    attribute: Attribute, estimate: ColumnEstimates, total_noise: float = 0.0
) -> ColumnCertificate:
    """Certificate of one column, noise +-3 in its first two cells, all records in cell 0."""
    draws = PILOT + 99
    noise = np.zeros((draws, attribute.cells))
    noise[:, 0], noise[:, 1] = 3.0, -3.0
    errors = ColumnErrors(counts=(noise,), total=np.full(draws, total_noise))
    return certify_single_columns(
        Domain((attribute,)),
        estimate,
        errors,
        np.zeros((7, 1), dtype=int),
        total_is_public=total_noise == 0,
        confidence=0.9,
    )


def test_the_terms_are_named_and_sum_to_the_value_in_the_columns_unit() -> None:
    estimate = ColumnEstimates(counts=(np.array([70.0, 30.0]),), total=100.0, coarsening=(0.01,))
    certificate = certify_simple(numeric(2, width=0.02), estimate)
    (bound,), method = certificate.bounds, certificate.method
    assert bound.terms == pytest.approx(
        {"discretisation": 0.03, "privatisation": 0.03, "projection": 0.3}
    )
    assert bound.value == pytest.approx(0.36)
    assert (bound.target, bound.scale, bound.unit) == ("age", 120.0, "years")
    assert not bound.vacuous
    assert "90th smallest of 99" in method


def uneven() -> Attribute:
    """Two cells, [0, 0.2] and [0.2, 1]."""
    return Attribute(
        name="age",
        kind=Kind.NUMERIC,
        positions=np.array([0.1, 0.6]),
        widths=np.array([0.2, 0.8]),
    )


def test_discretisation_is_the_mean_width_of_the_cells_that_were_released() -> None:
    estimate = ColumnEstimates(counts=(np.array([70.0, 30.0]),), total=100.0)
    (bound,) = certify_simple(uneven(), estimate).bounds
    assert bound.terms["discretisation"] == pytest.approx(0.2)  # all records lie in the first cell
    # 30 of 100 records move by 0.5, and half their excess width of 0.6 comes on top.
    assert bound.terms["projection"] == pytest.approx(0.3 * (0.5 + 0.6 / 2))
    assert bound.terms["privatisation"] == pytest.approx(0.03 * (0.5 + 0.6 / 2))


def test_the_bound_covers_the_worst_values_within_their_cells() -> None:
    """Without noise: private values at the far ends of their cells, released ones at the near."""
    rng = np.random.default_rng(13)
    domain = Domain((uneven(),))
    for _ in range(200):
        ones, released_ones = rng.integers(0, 11, size=2)
        counts = np.array([10.0 - ones, float(ones)])
        codes = np.repeat([0, 1], [10 - released_ones, released_ones])[:, None]
        (bound,) = certify_single_columns(
            domain,
            ColumnEstimates(counts=(counts,), total=10.0),
            noiseless(domain),
            codes,
            total_is_public=True,
            confidence=0.9,
        ).bounds
        ends = np.array([0.2, 1.0]), np.array([0.0, 0.2])
        for private, drawn in (ends, ends[::-1]):
            actual = wasserstein_distance(
                private, drawn, counts, np.bincount(codes[:, 0], minlength=2)
            )
            assert actual <= bound.value + 1e-12


def test_the_estimates_carry_the_standard_deviation_of_their_noise() -> None:
    estimate = ColumnEstimates(counts=(np.array([70.0, 30.0]),), total=100.0)
    measured = certify_simple(numeric(2), estimate).measured["age"]
    assert measured.shares == pytest.approx([0.7, 0.3])
    assert measured.half_width == pytest.approx([1.96 * 0.03] * 2)


def test_a_private_number_of_records_enters_numerator_and_denominator() -> None:
    estimate = ColumnEstimates(counts=(np.array([50.0, 30.0]),), total=100.0)
    certificate = certify_simple(numeric(2), estimate, total_noise=4.0)
    (bound,), method = certificate.bounds, certificate.method
    # 3 records moved by 1, half of 4 for the wrong total, and at least 96 records.
    assert bound.terms["privatisation"] == pytest.approx((3 + 2) / 96)
    # From 80 counted to 100 synthetic records, surplus at the hub: 50 and 30 each move by 1/2.
    assert bound.terms["projection"] == pytest.approx((50 + 30) / 2 / 96)
    assert "private number of records" in method


@pytest.mark.parametrize("total", [0.0, 3.0, -8.0])
def test_too_few_records_make_the_bound_vacuous(total) -> None:
    estimate = ColumnEstimates(counts=(np.array([total, 0.0]),), total=total)
    (bound,) = certify_simple(numeric(2), estimate, total_noise=4.0).bounds
    assert bound.vacuous
    assert bound.value == 1.0


def test_a_bound_beyond_the_diameter_is_capped_and_marked() -> None:
    estimate = ColumnEstimates(counts=(np.array([0.0, 2.0]),), total=2.0)
    (bound,) = certify_simple(numeric(2), estimate).bounds
    assert bound.value == 1.0
    assert bound.vacuous


def test_the_forecast_is_discretisation_plus_privatisation() -> None:
    domain = Domain((numeric(2, width=0.02),))
    errors = ColumnErrors(
        counts=(np.tile([3.0, -3.0], (PILOT + 99, 1)),), total=np.zeros(PILOT + 99)
    )
    forecast = forecast_single_columns(
        domain, errors, expected_records=100, total_is_public=True, confidence=0.9
    )
    assert forecast == pytest.approx({"age": 0.05})


def certify_with(**changed: object) -> None:
    arguments = {
        "estimate": ColumnEstimates(counts=(np.ones(2), np.ones(2)), total=2.0),
        "errors": noiseless(BINARY),
        "synthetic_codes": np.zeros((3, 2), dtype=int),
    } | changed
    certify_single_columns(BINARY, **arguments, total_is_public=True, confidence=0.9)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"estimate": ColumnEstimates(counts=(np.ones(2), np.ones(3)), total=2.0)},
            r"estimates of \(2, 3\) cells for a domain of \(2, 2\) cells",
        ),
        (
            {
                "estimate": ColumnEstimates(
                    counts=(np.ones(2), np.ones(2)), total=2.0, coarsening=(0.1,)
                )
            },
            "1 coarsenings for 2 attributes",
        ),
        ({"synthetic_codes": np.zeros((3, 1), dtype=int)}, r"shape \(3, 1\): expected \(rows, 2\)"),
        ({"synthetic_codes": np.zeros((0, 2), dtype=int)}, "no synthetic record"),
    ],
)
def test_what_does_not_fit_the_domain_is_refused(changed, message) -> None:
    certify_with()
    with pytest.raises(ValueError, match=message):
        certify_with(**changed)
