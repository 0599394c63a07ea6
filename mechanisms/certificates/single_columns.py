"""Certify every 1-way marginal of a release in exact 1-Wasserstein distance.

Claim.   With probability at least `confidence` over the noise and the simulation together, for
         every attribute at once, W1(private marginal, released marginal) <= its bound's value.
Proof.   single_columns.md, beside this file. It holds for every synthetic table, however it was
         made.
Oracle.  tests/mechanisms/certificates/test_single_columns.py simulates releases and counts misses.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.certificates.simultaneous import (
    SimultaneousQuantiles,
    simultaneous_quantiles,
)
from hallmark.mechanisms.contract import Bound, MarginalEstimate
from hallmark.mechanisms.domain.domain import Attribute, Domain
from hallmark.mechanisms.geometry.wasserstein import RADIUS, w1
from hallmark.mechanisms.privacy.cells import count_codes, marginal

METRIC = "1-Wasserstein distance of the column's distribution"
ASSUMPTIONS = (
    "The private table is what is counted: after values outside the public domain were treated by "
    "the stated rules and, where a person may own several records, after truncation.",
    "It has at least one record.",
)
"""What whoever relies on the bounds has to accept."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnEstimates:
    """Linear estimates of the one-way histograms, before any clipping. Public.

    Attributes:
        counts: per attribute, records, shape (cells,); the mean over the noise is a histogram at
            distance at most `coarsening` from the private one.
        total: estimate of the number of records; exact where that is public.
        coarsening: per attribute, in W1 per record; empty means that all are unbiased.
    """

    counts: tuple[NDArray[np.float64], ...]
    total: float
    coarsening: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnErrors:
    """Errors of the same estimator, from independent fresh draws of the noise alone.

    Attributes:
        counts: per attribute, records, shape (draws, cells).
        total: records, shape (draws,); all 0 where the number of records is public.
    """

    counts: tuple[NDArray[np.float64], ...]
    total: NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnCertificate:
    """One bound per attribute, jointly valid; the method in words; and the estimates themselves."""

    bounds: tuple[Bound, ...]
    method: str
    measured: Mapping[str, MarginalEstimate]


def certify_single_columns(
    domain: Domain,
    estimate: ColumnEstimates,
    errors: ColumnErrors | Iterable[ColumnErrors],
    synthetic_codes: NDArray[np.integer],
    *,
    total_is_public: bool,
    confidence: float,
) -> ColumnCertificate:
    """Bounds on the distance of every released one-way marginal from the private one.

    Args:
        errors: simulated errors, in one piece or in batches that are drawn as they are used;
            `simultaneous.draws_needed(confidence)` of them are a good number.
        synthetic_codes: the released records, shape (rows, attributes), rows >= 1.
        total_is_public: whether `estimate.total` is the exact number of records.
    Raises:
        ValueError: shapes do not fit the domain, there is no synthetic record, or there are too
            few draws for the confidence.
    """
    _check(domain, estimate, synthetic_codes)
    spread = _Spread(estimate)
    quantiles = _quantiles(
        domain, spread.watch(errors), total_is_public=total_is_public, confidence=confidence
    )
    # The private number of records, or a lower bound that holds with the same event.
    records = estimate.total - (0.0 if total_is_public else float(quantiles.values[-1]))
    bounds = []
    single = [marginal((position,), domain.shape) for position in range(len(domain))]
    counts = count_codes(synthetic_codes, single)
    for position, (attribute, rows) in enumerate(zip(domain.attributes, counts, strict=True)):
        released = rows / len(synthetic_codes)
        misfit = estimate.counts[position] - estimate.total * released
        terms = {"discretisation": _discretisation(attribute, estimate, position, released)}
        if records > 0:
            terms["privatisation"] = float(quantiles.values[position]) / records
            terms["projection"] = float(_deviation(attribute, misfit)) / records
        bounds.append(
            Bound.of_terms(
                attribute.name,
                (attribute.name,),
                METRIC,
                terms,
                complete=records > 0,
                scale=attribute.scale,
                unit=attribute.distance_unit,
            )
        )
    return ColumnCertificate(
        bounds=tuple(bounds),
        method=_method(quantiles, confidence, total_is_public),
        measured=spread.measured(domain),
    )


def forecast_single_columns(
    domain: Domain,
    errors: ColumnErrors | Iterable[ColumnErrors],
    *,
    expected_records: int,
    total_is_public: bool,
    confidence: float,
    coarsening: tuple[float, ...] = (),
) -> Mapping[str, float]:
    """Discretisation plus privatisation that `certify_single_columns` will state, by attribute.

    Computed from public quantities, as if records were spread evenly over the cells; the projection
    term, known only after the release, comes on top. Arguments as there; `coarsening` as in
    `ColumnEstimates`.
    """
    quantiles = _quantiles(domain, errors, total_is_public=total_is_public, confidence=confidence)
    records = expected_records - (0.0 if total_is_public else float(quantiles.values[-1]))
    estimate = ColumnEstimates(counts=(), total=float(expected_records), coarsening=coarsening)
    forecast = {}
    for position, attribute in enumerate(domain.attributes):
        noise = float(quantiles.values[position]) / records if records > 0 else 1.0
        evenly = np.full(attribute.cells, 1 / attribute.cells)
        cells = _discretisation(attribute, estimate, position, evenly)
        forecast[attribute.name] = min(1.0, cells + noise)
    return forecast


def _quantiles(
    domain: Domain,
    errors: ColumnErrors | Iterable[ColumnErrors],
    *,
    total_is_public: bool,
    confidence: float,
) -> SimultaneousQuantiles:
    batches = (errors,) if isinstance(errors, ColumnErrors) else errors
    return simultaneous_quantiles(
        (_statistics(domain, batch, total_is_public) for batch in batches), confidence=confidence
    )


def _statistics(domain: Domain, errors: ColumnErrors, total_is_public: bool) -> NDArray[np.float64]:
    """Per draw: the noise in every marginal and, where private, in the number of records."""
    columns = [
        _deviation(attribute, noise)
        for attribute, noise in zip(domain.attributes, errors.counts, strict=True)
    ]
    if not total_is_public:
        columns = [
            column + _largest_deviation(attribute) * np.abs(errors.total)
            for attribute, column in zip(domain.attributes, columns, strict=True)
        ]
        columns.append(errors.total)
    return np.stack(columns, axis=1)


def _widths(attribute: Attribute) -> NDArray[np.float64]:
    """Widths of all cells; the null cell has none."""
    return np.append(attribute.widths, 0.0) if attribute.has_null else attribute.widths


def _excess_widths(attribute: Attribute) -> NDArray[np.float64]:
    """Widths beyond the narrowest cell's: all zero where the cells are equally wide."""
    widths = _widths(attribute)
    return widths - widths.min(initial=np.inf)


def _deviation(attribute: Attribute, difference: NDArray[np.float64]) -> NDArray[np.float64]:
    """The seminorm of single_columns.md: W1 between cells, and half the change in mean width."""
    change = np.abs(difference @ _excess_widths(attribute))
    return np.asarray(w1(attribute, difference) + change / 2, dtype=np.float64)


def _largest_deviation(attribute: Attribute) -> float:
    """A bound on the seminorm of every probability vector."""
    return RADIUS + float(_excess_widths(attribute).max(initial=0.0)) / 2


def _discretisation(
    attribute: Attribute,
    estimate: ColumnEstimates,
    position: int,
    released: NDArray[np.float64],
) -> float:
    """Mean width of the cells that released values lie in, and cell to interval where coarser."""
    width = float(released @ _widths(attribute))
    if not estimate.coarsening or not estimate.coarsening[position]:
        return width
    # Within a coarser interval the mean width may differ as much as widths do.
    return width + estimate.coarsening[position] + _largest_deviation(attribute) - RADIUS


class _Spread:
    """Watches simulated errors go by, for the error bands of the estimated shares."""

    def __init__(self, estimate: ColumnEstimates) -> None:
        self._total = max(estimate.total, 1.0)
        self._shares = [counts / self._total for counts in estimate.counts]
        self._squares = [np.zeros_like(shares) for shares in self._shares]
        self._draws = 0

    def watch(self, errors: ColumnErrors | Iterable[ColumnErrors]) -> Iterator[ColumnErrors]:
        for batch in (errors,) if isinstance(errors, ColumnErrors) else errors:
            self._draws += len(batch.total)
            for squares, shares, noise in zip(
                self._squares, self._shares, batch.counts, strict=True
            ):
                # To first order, a share errs by its count's noise less its part in the total's.
                squares += ((noise - batch.total[:, None] * shares) ** 2).sum(axis=0)
            yield batch

    def measured(self, domain: Domain) -> Mapping[str, MarginalEstimate]:
        return {
            attribute.name: MarginalEstimate(
                shares=shares, half_width=1.96 * np.sqrt(squares / self._draws) / self._total
            )
            for attribute, shares, squares in zip(
                domain.attributes, self._shares, self._squares, strict=True
            )
        }


def _method(quantiles: SimultaneousQuantiles, confidence: float, total_is_public: bool) -> str:
    private = (
        ""
        if total_is_public
        else " The same event bounds the private number of records, by which errors are divided."
    )
    return (
        "Exact 1-Wasserstein distances of one-way marginals from cumulative sums. The noise term "
        f"is the {quantiles.rank}th smallest of {quantiles.draws} fresh simulations of the "
        "largest standardised error over all columns, a rank at which all columns hold jointly "
        f"with probability at least {confidence:g}, simulation error included.{private}"
    )


def _check(domain: Domain, estimate: ColumnEstimates, synthetic_codes: NDArray[np.integer]) -> None:
    shape = tuple(len(counts) for counts in estimate.counts)
    if shape != domain.shape:
        raise ValueError(f"estimates of {shape} cells for a domain of {domain.shape} cells")
    if len(estimate.coarsening) not in (0, len(domain)):
        raise ValueError(
            f"{len(estimate.coarsening)} coarsenings for {len(domain)} attributes; give all or none"
        )
    if synthetic_codes.ndim != 2 or synthetic_codes.shape[1] != len(domain):
        raise ValueError(
            f"synthetic codes of shape {synthetic_codes.shape}: expected (rows, {len(domain)})"
        )
    if len(synthetic_codes) == 0:
        raise ValueError("no synthetic record: a distribution without records has no distance")
