"""Plan PrivPGD: all two-way marginals with equal discrete Gaussian noise.

Claim.   The curator's answers to `PrivPGDPlan.queries` are (epsilon, delta)-differentially private
         under `PrivPGDPlan.adjacency`, within the budget.
Proof.   A unit changes one marginal by at most sqrt(l2_squared) in L2 norm (`adjacency`), hence K
         marginals stacked by at most sqrt(K l2_squared): Canonne, Kamath, Steinke (2020),
         arXiv:2004.00010, Theorem 14. The noise parameter comes from `calibration`, which proves
         on which side of the budget the cost of these very events lies.
Oracle.  tests/mechanisms/privpgd/test_plan.py enumerates all neighbours of small tables.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod, sqrt
from typing import Any

import numpy as np

from mechanisms.certificates.one_way import OneWayErrors, forecast_one_way
from mechanisms.certificates.simultaneous import PILOT
from mechanisms.contract import Forecast, NoiseLine
from mechanisms.geometry.domain import Domain
from mechanisms.geometry.wasserstein import w1
from mechanisms.privacy.adjacency import Adjacency
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.calibration import gaussian_sigma2
from mechanisms.privacy.cells import marginal
from mechanisms.privacy.events import Event, merged
from mechanisms.privacy.queries import GaussianNoise, HistogramQuery
from mechanisms.privpgd.one_ways import SIMULATION_BYTES, Clique, combine, gaussian_margins
from mechanisms.privpgd.parameters import Parameters, parse

FORECAST_CONFIDENCE = 0.95
MAX_CELLS = 2**27  # of all pair tables together: 1 GiB of counts, and some ten minutes of noise
_BYTES_PER_CELL = 40  # int64 counts, float64 tables and targets, and what the polish keeps
_BYTES_PER_ENTRY = 32  # of the particles: positions, two moments, gradient, codes


@dataclass(frozen=True, eq=False, kw_only=True)
class PrivPGDPlan:
    """What the curator will be asked, and what that costs. Every field is public.

    Attributes:
        sigma2: noise parameter of every count, records^2.
        settings: constants of the generator; they affect quality, not privacy.
    """

    domain: Domain
    adjacency: Adjacency
    budget: Budget
    expected_records: int
    sigma2: Fraction
    settings: Parameters

    @property
    def mechanism(self) -> str:
        return "privpgd"

    @property
    def source(self) -> str:
        return (
            "Donhauser, Abad, Hulkund, Yang (2024), Privacy-preserving data release leveraging "
            "optimal transport and particle gradient descent, ICML; with our denoising, tree start "
            "and polish"
        )

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Attributes of every marginal, in the order in which they are measured."""
        return cliques(self.domain)

    @cached_property
    def queries(self) -> tuple[HistogramQuery, ...]:
        """One query for every clique."""
        noise = GaussianNoise(self.sigma2)
        return tuple(
            HistogramQuery(marginal(clique, self.domain.shape), noise) for clique in self.cliques
        )

    @property
    def events(self) -> tuple[Event, ...]:
        return merged(query.event(self.adjacency) for query in self.queries)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        count = len(self.cliques)
        squared = self.adjacency.l2_squared
        what = f"all {count} two-way marginals" if len(self.domain) > 1 else "the only marginal"
        return (
            NoiseLine(
                query=what,
                cells=cells(self.domain),
                family="discrete Gaussian",
                parameter=f"sigma^2 = {self.sigma2} records^2",
                standard_deviation=sqrt(self.sigma2),
                sensitivity=f"L2 = sqrt({count * squared}) records",
                source=(
                    "Canonne, Kamath, Steinke 2020, Theorem 14; "
                    f"L2^2 = {squared} for each of the K = {count} under {self.adjacency}"
                ),
            ),
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        return asdict(self.settings) | {"sigma2": str(self.sigma2)}

    def forecast(self) -> Forecast:
        """Error of the one-way marginals to expect, and the certificates, from the noise alone."""
        errors = self._forecast_errors()
        records = max(self.expected_records, 1)
        means = [
            float(w1(attribute, counts).mean()) / records
            for attribute, counts in zip(self.domain.attributes, errors.counts, strict=True)
        ]
        size = cells(self.domain)
        return Forecast(
            metric="1-Wasserstein distance of a column's distribution, mean over the columns, as "
            "a share of the diameter",
            expected_error=min(1.0, float(np.mean(means))),
            statement="estimate: mean error of the measured one-way marginals, simulated with "
            "continuous Gaussian noise; fitting records to all pairs adds to it or takes from it",
            memory_bytes=size * _BYTES_PER_CELL
            + max(records * len(self.domain) * _BYTES_PER_ENTRY, SIMULATION_BYTES),
            per_attribute=forecast_one_way(
                self.domain,
                errors,
                expected_records=self.expected_records,
                total_is_public=self.adjacency.total_is_public,
                confidence=FORECAST_CONFIDENCE,
            ),
        )

    def _forecast_errors(self) -> OneWayErrors:
        shape, public = self.domain.shape, self.adjacency.total_is_public
        rng = np.random.default_rng(0)  # a forecast is the same each time it is asked for
        every = (
            gaussian_margins(clique, shape, sqrt(self.sigma2), PILOT + 199, rng)
            for clique in self.cliques
        )
        counts, total = combine(shape, every, total=0.0 if public else None)
        return OneWayErrors(counts=counts, total=total)


def cliques(domain: Domain) -> tuple[Clique, ...]:
    """All pairs of attributes; of a domain of one attribute, that one."""
    size = len(domain)
    return tuple(combinations(range(size), 2)) if size > 1 else ((0,),)


def cells(domain: Domain) -> int:
    """Cells of all marginals together."""
    return sum(prod(domain.shape[a] for a in clique) for clique in cliques(domain))


def make_plan(
    domain: Domain,
    *,
    budget: Budget,
    adjacency: Adjacency,
    expected_records: int,
    parameters: Mapping[str, Any],
) -> PrivPGDPlan:
    """The least noise within `budget`, the same on every count. Public.

    Raises:
        ValueError: no columns, a budget without delta, tables too large, an expected number of
            records below 1, or a wrong parameter.
    """
    settings = parse(parameters)
    if not len(domain):
        raise ValueError("columns: there is none; PrivPGD needs at least one")
    if expected_records < 1:
        raise ValueError(f"expected number of records: {expected_records}; give at least 1")
    if budget.is_pure:
        raise ValueError(
            "privacy.delta: 0, but PrivPGD adds Gaussian noise, which needs delta > 0; set one "
            "well below 1/records (such as 1e-5), or choose mechanism pmm"
        )
    size = cells(domain)
    if size > MAX_CELLS:
        widest = max(domain.attributes, key=lambda attribute: attribute.cells)
        raise ValueError(
            f"columns: their two-way marginals have {size:,} cells, more than {MAX_CELLS:,}; use "
            f"fewer columns or coarser cells ({widest.name} has the most, {widest.cells:,})"
        )
    calibration = gaussian_sigma2(
        budget,
        l2_squared=adjacency.l2_squared,
        unit_moves=adjacency.unit_moves,
        count=len(cliques(domain)),
    )
    return PrivPGDPlan(
        domain=domain,
        adjacency=adjacency,
        budget=budget,
        expected_records=expected_records,
        sigma2=calibration.value,
        settings=settings,
    )
