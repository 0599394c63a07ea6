"""Certify every column on all its cells, where the mechanism saw bins of some.

Columns with bins are estimated from their own histograms on all cells, the others from what the
mechanism measured. So no bound pays for the width of a bin, and synthetic records may lie anywhere
in theirs.

Claim.   As `certificates.single_columns`: with the certificate's confidence all bounds hold
         together.
Proof.   The estimates are linear in the noise, and single_columns.md asks only for the joint law of
         their errors. The bins follow from the histograms' noise, but that law does not depend on
         them: given the histograms, the noise of the mechanism's tables is fresh, and its law is
         the same for any bins, since estimates of the other columns and of the number of records
         are sums over the same numbers of cells with the same weights. Estimates of a column that
         joined its histogram to tables on its bins would have no such law, so none is joined.
Oracle.  tests/mechanisms/marginals/binning/test_mechanism.py counts misses against the true losses.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Counts, Floats
from hallmark.mechanisms.certificates.simultaneous import draws_needed
from hallmark.mechanisms.certificates.single_columns import (
    ASSUMPTIONS,
    ColumnErrors,
    ColumnEstimates,
    certify_single_columns,
)
from hallmark.mechanisms.contract import Certificate
from hallmark.mechanisms.marginals.binning.plan import BinnedPlan
from hallmark.mechanisms.marginals.mechanism import asked_first, single_columns
from hallmark.mechanisms.marginals.selection.design import Answer
from hallmark.mechanisms.marginals.single_columns import affordable_draws, simulate_errors
from hallmark.mechanisms.privacy.simulation import simulate_discrete_gaussian


def certify_cells(
    plan: BinnedPlan,
    answers: Sequence[Answer],
    total: int | None,
    histograms: Sequence[Counts],
    codes: AnyCodes,
    *,
    confidence: float,
    rng: np.random.Generator,
) -> Certificate:
    """Bounds on every one-way marginal that hold jointly, for these synthetic records.

    Args:
        answers: what the mechanism measured.
        total: number of records where it is public.
        histograms: noisy counts of all cells of the columns with bins.
        codes: synthetic records in cells.
    Raises:
        ValueError: the confidence is outside (0, 1), or the records do not fit the domain.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"certificate.confidence: {confidence}; give a number between 0 and 1")
    public, first = plan.adjacency.total_is_public, plan.inner.design.first
    on_bins, records = single_columns(plan.inner.domain, asked_first(answers), total)
    affordable = affordable_draws(plan.inner.domain.shape, first)
    draws = draws_needed(confidence, affordable=affordable)
    errors_on_bins, errors_of_total = simulate_errors(
        plan.inner.domain.shape,
        first,
        simulate_discrete_gaussian,
        total_is_public=public,
        draws=draws,
        rng=rng,
    )
    own = dict(zip(plan.columns, histograms, strict=True))
    own_errors = {
        column: simulate_discrete_gaussian(rng, plan.sigma2, (draws, len(counts)))
        for column, counts in own.items()
    }
    columns = certify_single_columns(
        plan.domain,
        ColumnEstimates(counts=_with_own(on_bins, own, np.array(records)), total=records),
        ColumnErrors(
            counts=_with_own(errors_on_bins, own_errors, errors_of_total), total=errors_of_total
        ),
        codes,
        total_is_public=public,
        confidence=confidence,
    )
    names = ", ".join(plan.domain.names[column] for column in plan.columns)
    return Certificate(
        confidence=confidence,
        bounds=columns.bounds,
        method=(
            f"Estimates: for {names}, the noisy histogram of all cells that chose the bins; for "
            "every other column, the inverse-variance mean over the marginals, of cells or of "
            "groups of them, that hold it and were asked before anything else was chosen; all "
            f"adjusted to the number of records. {columns.method}"
        ),
        assumptions=ASSUMPTIONS,
        measured=columns.measured,
    )


def _with_own(
    on_bins: Sequence[Floats], own: Mapping[int, Counts], total: Floats
) -> tuple[Floats, ...]:
    """The counts with those of all cells in the columns that have bins, adjusted to `total`.

    Shapes (..., cells of the column); `total` of shape (...).
    """
    counts = list(on_bins)
    for column, cells in own.items():
        missing = (total - cells.sum(axis=-1)) / cells.shape[-1]
        counts[column] = cells + missing[..., None]
    return tuple(counts)
