"""Certify every column on all its own cells, where the mechanism saw bins of some.

Where own cells are all values, it is certified on the pieces that hold them; no bound rests on the
counts of values.

Columns with private bins are estimated from their own histograms, those with public bins from these
and from what the mechanism measured (`joined`), the others from what the mechanism measured. So no
bound pays for the width of a bin, and synthetic records may lie anywhere in theirs.

Claim.   As `certificates.single_columns`: with the certificate's confidence all bounds hold
         together.
Proof.   The estimates are linear in the noise, and single_columns.md asks only for the joint law of
         their errors. Private bins follow from the histograms' noise, but that law does not depend
         on them: given the histograms, the noise of the mechanism's tables is fresh, and its law is
         the same for any bins, since estimates of the other columns and of the number of records
         are sums over the same numbers of cells with the same weights. Estimates of a column that
         joined its histogram to tables on its private bins would have no such law, so none is
         joined; public bins depend on no noise.
Oracle.  tests/mechanisms/marginals/binning/test_mechanism.py counts misses against the true losses.
"""

from dataclasses import replace

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.certificates.single_columns import (
    ASSUMPTIONS,
    certify_single_columns,
)
from hallmark.mechanisms.contract import Certificate, Measurements
from hallmark.mechanisms.marginals.binning.plan import CALL, BinnedPlan
from hallmark.mechanisms.marginals.mechanism import column_estimates
from hallmark.mechanisms.privacy.simulation import simulate_discrete_gaussian


def certify_cells(
    plan: BinnedPlan,
    measurements: Measurements,
    codes: AnyCodes,
    *,
    confidence: float,
    rng: np.random.Generator,
) -> Certificate:
    """Bounds on every one-way marginal that hold jointly, for these synthetic records.

    The estimates for pictures are of bins where an ordered column has public ones, since these
    are known better than its own cells.

    Args:
        codes: synthetic records in cells.
    Raises:
        ValueError: the confidence is outside (0, 1), or the records do not fit the domain.
    """
    on_bins, off = column_estimates(plan.inner, measurements, confidence=confidence, rng=rng)
    histograms, draws = measurements.tables[CALL], len(off.total)
    own_errors = [
        simulate_discrete_gaussian(rng, plan.sigma2, (draws, len(counts))) for counts in histograms
    ]
    counts = plan.on_cells(on_bins.counts, histograms, np.array(on_bins.total))
    errors = plan.on_cells(off.counts, own_errors, off.total)
    grids = plan.two_grids
    columns = certify_single_columns(
        grids.domain,
        replace(on_bins, counts=grids.counts(counts)),
        replace(off, counts=grids.counts(errors)),
        grids.codes(plan.in_pieces(codes)),
        total_is_public=plan.adjacency.total_is_public,
        confidence=confidence,
    )
    smaller = grids.smaller(columns.bounds, lambda bound: bound.value)
    return Certificate(
        confidence=confidence,
        bounds=tuple(
            replace(bound, target=name, columns=(name,))
            for name, bound in zip(plan.domain.names, smaller, strict=True)
        ),
        method=f"Estimates: {_sources(plan)}; all adjusted to the number of records. "
        f"{columns.method}",
        assumptions=ASSUMPTIONS,
        measured=grids.shared(columns.measured),
    )


def _sources(plan: BinnedPlan) -> str:
    names = plan.domain.names
    private = ", ".join(names[c] for c in plan.columns if c in plan.chosen_later)
    public = ", ".join(names[c] for c in plan.public)
    told = "the inverse-variance mean over the marginals, of cells or of groups of them, that hold "
    parts = []
    if private:
        parts.append(f"for {private}, the noisy histogram of all cells that chose the bins")
    if public:
        parts.append(
            f"for {public}, the noisy histogram of all cells, with the sums of bins at their "
            "inverse-variance mean with those of the marginals that hold the column (of numbers "
            "and dates, the smaller of two bounds is stated, on all cells and on these bins)"
        )
    parts.append(f"for every other column, {told}it and were asked before anything else was chosen")
    return "; ".join(parts)
