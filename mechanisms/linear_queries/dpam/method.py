"""`dpam`: differentially private accelerated mirror descent, as what it is.

Every step of the paper's algorithm looks at the data only through P_n + xi_t, a noisy histogram.
All T of them together tell as much as their mean, one histogram with noise of variance sigma^2 / T,
which does not depend on T. So one histogram is released, and all steps are post-processing.

Claim.   `ask` is (epsilon, delta)-differentially private within the budget.
Proof.   One discrete Gaussian release of the histogram; `calibration`, or for the paper's constant
         the accountant, proves its cost: mechanisms/privacy/queries.py, HistogramQuery.
Source.  Micali, Lezane, Betken (2025), "Differentially private algorithms for linear queries via
         stochastic convex optimization", AISTATS, Algorithm 2 and Theorems 4 and 5.
Oracle.  tests/mechanisms/linear_queries/dpam/test_method.py: all neighbours, the accountant,
         limits, and errors beside those of `direct`.

What differs from the paper: one release rather than T; calibrated noise rather than its constant,
which is 2.4 to 2.9 times larger; and `iteration` for the errors of the printed step. The answers to
the queries on the noisy histogram itself have error O(w sqrt(log 1/delta) / (n epsilon)), and
Theorem 5 bounds that of DPAM by about the square root of this, which is more wherever it says
anything. The projection of the histogram, and `direct` all the more, are better at the same cost.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from typing import Any

import numpy as np

from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.execution import Progress
from hallmark.mechanisms.linear_queries.bounds import mirror_descent_rate
from hallmark.mechanisms.linear_queries.direct.certify import Measured
from hallmark.mechanisms.linear_queries.direct.linear_estimate import LinearEstimate
from hallmark.mechanisms.linear_queries.dpam.iteration import iterate
from hallmark.mechanisms.linear_queries.method import Distribution
from hallmark.mechanisms.linear_queries.settings import (
    MOST_CELLS,
    MOST_ROUNDS,
    one_of,
    positive,
    refuse,
    rounds,
    size_in_words,
)
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.linear_queries.weights import Weights
from hallmark.mechanisms.privacy.accountant import fits
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import gaussian_sigma2
from hallmark.mechanisms.privacy.calls import Histograms, TablesByCall
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.privacy.queries import GaussianNoise, HistogramQuery, Noise
from hallmark.mechanisms.privacy.rounding import decimal_above
from hallmark.mechanisms.request import Request, Requested

VARIANTS = ("corrected", "printed")
CONSTANTS = ("calibrated", "paper")

_WIDTH_DRAWS = 40  # of the Gaussian width
_SEED = 20250  # of its draws: public
_DIGITS = 6
_VECTORS = 12  # of the universe's cells that the iteration keeps

HISTOGRAM_CALL = "histogram"


@dataclass(frozen=True, eq=False, kw_only=True)
class Dpam(Requested):
    """One noisy histogram and the constants of its post-processing. Every field is public.

    Attributes:
        sigma2: noise parameter of every cell, records^2.
        budget: what the histogram may cost; epsilon and delta of the rule for T.
        width: the queries' Gaussian width w(Q), simulated.
        rule: T by the paper's rule, not rounded; None where the spec sets the number of steps.
        steps, alpha, printed: as in `iteration.iterate`.
        constant: how sigma2 was found.
    """

    universe: Universe
    sigma2: Fraction
    width: float
    rule: float | None
    steps: int
    alpha: float
    printed: bool
    constant: str

    @property
    def source(self) -> str:
        followed = "as printed" if self.printed else "with its step's sign and alpha corrected"
        return (
            "Micali, Lezane, Betken (2025), Differentially private algorithms for linear queries "
            f"via stochastic convex optimization, AISTATS, Algorithm 2, {followed}, as "
            "post-processing of one noisy histogram. Method direct is better at the same cost: the "
            "queries' answers on that histogram have about the square of the error that Theorem 5 "
            "proves for DPAM"
        )

    def smoothing(self, records: int) -> float:
        """sigma in shares of so many records: sqrt(T) times the noise of the histogram."""
        return sqrt(self.steps * float(self.sigma2)) / records

    @property
    def parameters(self) -> Mapping[str, Any]:
        found: dict[str, Any] = {
            "variant": VARIANTS[self.printed],
            "noise_constant": self.constant,
            "sigma2": str(self.sigma2),
            "iterations": self.steps,
            "alpha": self.alpha,
            "smoothing": self.smoothing(self.expected_records),
            "gaussian_width": self.width,
        }
        if self.rule is not None:
            found["iterations_by_rule"] = self.rule
            if self.rule < 1:
                found["note"] = (
                    "the paper's rule gives less than one step, since the histogram's noise is "
                    "larger than what the queries can tell apart: one step is taken"
                )
            elif self.rule > MOST_ROUNDS:
                found["note"] = (
                    f"the paper's rule gives {self.rule:,.0f} steps; {MOST_ROUNDS:,} are taken, "
                    "which costs no privacy and little accuracy"
                )
        return found

    @property
    def query(self) -> HistogramQuery:
        """The histogram of all cells of the universe."""
        shape = self.universe.shape
        return HistogramQuery(marginal(range(len(shape)), shape), GaussianNoise(self.sigma2))

    @property
    def events(self) -> tuple[Event, ...]:
        return (self.query.event(self.adjacency),)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        what = "the histogram of all combinations of the columns' cells"
        return (NoiseLine.of(self.query, what, self.universe.size, adjacency=self.adjacency),)

    @property
    def memory_bytes(self) -> int:
        return 8 * (_VECTORS * self.universe.size + 4 * self.universe.queries.size)

    def expected_error(self) -> tuple[float, str]:
        if self.printed:
            return self.universe.queries.width, (
                "the range of the queries: no theorem covers the step as it is printed"
            )
        rate = mirror_descent_rate(
            self.expected_records,
            float(self.budget.epsilon),
            self.budget.delta,
            self.width,
            log(max(self.universe.size, 2)),
        )
        statement = (
            "Theorem 5 of Micali, Lezane, Betken (2025) with its unknown constant set to 1: an "
            "order of magnitude, not a bound"
        )
        return min(rate, 2.0), statement

    def ask(self, curator: Histograms) -> TablesByCall:
        return {HISTOGRAM_CALL: tuple(curator.histograms(HISTOGRAM_CALL, [self.query]))}

    @property
    def total_noise(self) -> Noise | None:
        """See `Method`: the histogram tells the number of records."""
        return None

    def records(self, answers: TablesByCall, total: int | None) -> int:
        """The number of records, public or the sum of the histogram."""
        return max(total if total is not None else int(answers[HISTOGRAM_CALL][0].sum()), 1)

    def distribution(
        self, answers: TablesByCall, total: int | None, *, progress: Progress
    ) -> Distribution:
        table, records = answers[HISTOGRAM_CALL][0], self.records(answers, total)

        def report(share: float) -> None:
            progress(share, "mirror descent on the noisy histogram")

        shares = iterate(
            self.universe,
            table / records,
            steps=self.steps,
            alpha=self.alpha,
            sigma=self.smoothing(records),
            printed=self.printed,
            report=report,
        )
        return Weights(self.universe, shares / shares.sum())

    def measured(self, answers: TablesByCall) -> Measured:
        """See `SelfBounding`: the histogram, as for linear-queries."""
        everything = tuple(range(len(self.universe.shape)))
        estimate = LinearEstimate(self.universe, (everything,), np.array([1 / float(self.sigma2)]))
        return Measured(estimate, [self.query.noise], answers[HISTOGRAM_CALL])


def plan_dpam(universe: Universe, request: Request) -> Dpam:
    """DPAM with the paper's rules for T and alpha, where the parameters set none.

    `cliquewise` is read before, by `cliquewise.plan_dpam_or_cliquewise`.

    Raises:
        ValueError: a wrong parameter, no delta, queries that never change, or a universe whose
            histogram is all noise.
    """
    budget, expected_records = request.budget, request.expected_records
    parameters = request.parameters
    known = ("variant", "noise_constant", "iterations", "alpha", "cliquewise")
    refuse("dpam", universe, request, known)
    if budget.is_pure:
        raise ValueError(
            "privacy.delta: 0, but dpam measures a histogram with Gaussian noise, which needs "
            "delta > 0; set one well below 1/records (such as 1e-5), or choose linear-queries"
        )
    most = min(MOST_CELLS, expected_records**2)
    if universe.size > most:
        raise ValueError(
            f"mechanism.queries: they tell apart {size_in_words(universe)}, and dpam adds noise to "
            f"each; above {most:,}, for {expected_records:,} expected records, nothing but noise "
            "is left of them; choose linear-queries, which measures what the queries see"
        )
    printed = one_of(parameters, "variant", VARIANTS) == "printed"
    constant = one_of(parameters, "noise_constant", CONSTANTS)
    sigma2 = _sigma2(budget, request.adjacency, constant)
    width = gaussian_width(universe)
    rule = None
    if "iterations" in parameters:
        steps = rounds(parameters, "iterations", 1)
    else:
        rule = _rule(universe, request, width)
        steps = min(max(round(rule), 1), MOST_ROUNDS)
    alpha = 1 / sqrt(steps * log(max(universe.size, 2)))
    return Dpam(
        universe=universe,
        request=request,
        sigma2=sigma2,
        width=width,
        rule=rule,
        steps=steps,
        alpha=positive(parameters, "alpha", alpha),
        printed=printed,
        constant=constant,
    )


def gaussian_width(universe: Universe) -> float:
    """E max_q |<q, g>| for standard normal g, simulated."""
    rng = np.random.default_rng(_SEED)
    draws = [
        np.abs(universe.answers(rng.normal(size=universe.size))).max() for _ in range(_WIDTH_DRAWS)
    ]
    return float(np.mean(draws))


def _rule(universe: Universe, request: Request, width: float) -> float:
    """T = sqrt(log k / log(1/delta)) epsilon n / w(Q)."""
    budget = request.budget
    ratio = log(max(universe.size, 2)) / -log(float(budget.delta))
    return sqrt(ratio) * float(budget.epsilon) * request.expected_records / width


def calibrated(budget: Budget, adjacency: Adjacency, histograms: int = 1) -> Fraction:
    """Least sigma2 of each of so many histograms at which the budget pays for all of them."""
    return gaussian_sigma2(
        budget,
        l2_squared=adjacency.l2_squared,
        unit_moves=adjacency.unit_moves,
        count=histograms,
    ).value


def _sigma2(budget: Budget, adjacency: Adjacency, constant: str) -> Fraction:
    """Noise of the histogram: as little as the budget pays for, or 4 sqrt(log 1/delta) / epsilon
    for a sensitivity of sqrt(2), as the paper has it.

    Raises:
        ValueError: the paper's noise is not enough for this budget.
    """
    if constant == "calibrated":
        return calibrated(budget, adjacency)
    exponent = Fraction(-log(float(budget.delta)) * (1 + 1e-12))
    sigma2 = decimal_above(8 * adjacency.l2_squared * exponent / budget.epsilon**2, _DIGITS)
    marginal_event = HistogramQuery(marginal((0,), (1,)), GaussianNoise(sigma2)).event(adjacency)
    if not fits([marginal_event], budget):
        raise ValueError(
            f"mechanism.noise_constant: paper, but its noise is not enough for {budget}: the "
            "constant needs epsilon of at most about log(1/delta); leave it at calibrated"
        )
    return sigma2
