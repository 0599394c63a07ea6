"""Certify an adaptive-support release: all columns jointly, and every column by itself.

Claim.   With probability at least `confidence` over the noise and the simulation together, all
         bounds of the certificate hold at once, for these synthetic records or any others.
Method.  Two joint bounds from the same noisy counts: one that rests on how few points are occupied,
         and where the grid is small enough one by exact transport. Both hold, each with its part
         of the failure probability, and the smaller is stated. A third part goes to the columns.
Proof.   adaptive_support.md, beside this file; ../../certificates/family.md and single_columns.md
         there.
Oracle.  tests/mechanisms/wasserstein/adaptive_support/test_mechanism.py simulates releases and
         counts misses.
"""

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.blocks.estimate import FamilyEstimator
from hallmark.mechanisms.blocks.marginals import whole
from hallmark.mechanisms.blocks.strategies.identity import Identity
from hallmark.mechanisms.certificates.family import FamilyCertificate, certify_family
from hallmark.mechanisms.certificates.joint import joint_bound, jointly, no_wider
from hallmark.mechanisms.certificates.single_columns import ASSUMPTIONS
from hallmark.mechanisms.compute import Compute
from hallmark.mechanisms.contract import Bound, Certificate, Measurements, SyntheticMeasure
from hallmark.mechanisms.privacy.queries import LaplaceNoise
from hallmark.mechanisms.wasserstein.adaptive_support.plan import AdaptiveSupportPlan, Answers
from hallmark.mechanisms.wasserstein.adaptive_support.single_columns import certify_columns
from hallmark.mechanisms.wasserstein.adaptive_support.support import NoisyCount, sparse_bound
from hallmark.mechanisms.wasserstein.single_histogram.settled_strategy import SettledStrategy

_SUPPORT = (
    "the noisy number of occupied points bounds how many counts the noise can have spoilt; the "
    "noise term is a rank of fresh simulations, simulation error included."
)
MOST_TRANSPORTED = 1024  # points of a grid for which exact transport is simulated as well


def certify(
    plan: AdaptiveSupportPlan,
    measurements: Measurements,
    synthetic: SyntheticMeasure,
    *,
    confidence: float,
    rng: np.random.Generator,
    compute: Compute,
) -> Certificate:
    """Bounds that hold jointly, for these synthetic records.

    Raises:
        ValueError: the confidence is outside (0, 1), or the records do not fit the domain.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"certificate.confidence: {confidence}; give a number between 0 and 1")
    answers = plan.answers(measurements)
    small = plan.candidates[answers.candidate].size <= MOST_TRANSPORTED
    groups = 3 if small else 2
    each = 1 - (1 - confidence) / groups
    joint = _by_support(plan, answers, synthetic.codes, confidence=each, rng=rng)
    basis = _SUPPORT
    if small:
        moved = _by_transport(plan, answers, synthetic.codes, confidence=each, compute=compute)
        if moved.bounds[0].value < joint.value:
            joint, basis = jointly(moved.bounds[0]), moved.method
    columns = certify_columns(plan, answers, synthetic.codes, confidence=each, rng=rng)
    return Certificate(
        confidence=confidence,
        bounds=(joint, *no_wider(columns.bounds, joint)),
        method=(
            f"{groups} groups of bounds, each at confidence {each:.6g}, so that all hold jointly "
            f"at {confidence:g}. All columns jointly: {basis} Column by column: {columns.method} "
            "Where the joint bound is smaller it is stated for the column too."
        ),
        assumptions=ASSUMPTIONS,
        measured=columns.measured,
    )


def _by_transport(
    plan: AdaptiveSupportPlan,
    answers: Answers,
    codes: AnyCodes,
    *,
    confidence: float,
    compute: Compute,
) -> FamilyCertificate:
    """The joint bound by exact transport of the noise."""
    grid = plan.candidates[answers.candidate]
    counts = Identity(size=grid.size, cell_noise=LaplaceNoise(plan.counts_scale))
    estimator = FamilyEstimator(
        whole(plan.domain, grid.k),
        (SettledStrategy(strategy=counts, total_scale=plan.total_scale),),
        plan.adjacency,
    )
    public = plan.total_scale is None
    total = () if public else (np.array([answers.total], dtype=np.int64),)
    estimate = estimator.estimate((*total, answers.histogram), answers.total if public else None)
    return certify_family(estimator, estimate, codes, confidence=confidence, compute=compute)


def _by_support(
    plan: AdaptiveSupportPlan,
    answers: Answers,
    codes: AnyCodes,
    *,
    confidence: float,
    rng: np.random.Generator,
) -> Bound:
    """The joint bound that rests on the number of occupied points."""
    grid = plan.candidates[answers.candidate]
    total: NoisyCount | int = answers.total
    if plan.total_scale is not None:
        total = NoisyCount(value=answers.total, scale=plan.total_scale)
    bound = sparse_bound(
        answers.histogram,
        np.bincount(grid.cells(codes), minlength=grid.size) / len(codes),
        scale=plan.counts_scale,
        support=NoisyCount(
            value=answers.occupied, scale=plan.size_scale, times=len(plan.candidates)
        ),
        total=total,
        confidence=confidence,
        rng=rng,
    )
    terms = {
        "discretisation": grid.radius,
        "rounding to records": float(grid.distances_to_points(codes).mean()),
    }
    if bound.records > 0:
        terms |= {
            "privatisation": bound.shortfall / bound.records,
            "projection": bound.misfit / bound.records,
        }
    return joint_bound(plan.domain, terms, complete=bound.records > 0)
