"""Certify single columns from a histogram over a grid of many points.

Method.  A column's count is a sum of r noisy counts, so its error is a sum of r independent
         discrete Laplace variables: the difference of two negative binomial ones. It is drawn as
         such, with no table over the grid, one column at a time, and every column has its share
         of the failure probability.
Proof.   adaptive_support.md, beside this file, and ../../certificates/single_columns.md.
Oracle.  tests/mechanisms/wasserstein/adaptive_support/test_single_columns.py: laws of the sums, and
         misses.
"""

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.certificates.simultaneous import draws_needed
from hallmark.mechanisms.certificates.single_columns import (
    ColumnCertificate,
    ColumnErrors,
    ColumnEstimates,
    certify_single_columns,
)
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.simulation import (
    simulate_discrete_laplace,
    simulate_laplace_sums,
)
from hallmark.mechanisms.wasserstein.adaptive_support.plan import AdaptiveSupportPlan, Answers


def certify_columns(
    plan: AdaptiveSupportPlan,
    answers: Answers,
    codes: AnyCodes,
    *,
    confidence: float,
    rng: np.random.Generator,
) -> ColumnCertificate:
    """Bounds on every column's distribution that hold jointly; arguments as of a certificate."""
    grid = plan.candidates[answers.candidate]
    each = 1 - (1 - confidence) / len(plan.domain)
    columns = []
    for position, attribute in enumerate(plan.domain.attributes):
        margin = grid.margin(position, answers.histogram)
        noise = simulate_laplace_sums(
            rng, plan.counts_scale, grid.size // len(margin), (draws_needed(each), len(margin))
        )
        totals = np.zeros(len(noise), dtype=np.int64)
        if plan.total_scale is not None:
            totals = simulate_discrete_laplace(rng, plan.total_scale, len(noise))
        errors = grid.one_way(position, settled(noise, totals))
        columns.append(
            certify_single_columns(
                Domain((attribute,)),
                ColumnEstimates(
                    counts=(grid.one_way(position, settled(margin, np.array(answers.total))),),
                    total=float(answers.total),
                    coarsening=(grid.coarsening[position],),
                ),
                ColumnErrors(counts=(errors,), total=totals.astype(np.float64)),
                codes[:, position : position + 1],
                total_is_public=plan.total_scale is None,
                confidence=each,
            )
        )
    return ColumnCertificate(
        bounds=tuple(bound for column in columns for bound in column.bounds),
        method=f"One column at a time, each at confidence {each:.6g}. {columns[0].method}",
        measured={name: shown for column in columns for name, shown in column.measured.items()},
    )


def settled(counts: NDArray[np.number], total: NDArray[np.int64]) -> NDArray[np.float64]:
    """Counts shifted by a constant so that they sum to the total; shapes (..., cells) and (...)."""
    missing = total - counts.sum(axis=-1)
    return np.asarray(counts + missing[..., None] / counts.shape[-1], dtype=np.float64)
