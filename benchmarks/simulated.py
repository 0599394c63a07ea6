"""A curator's answers without a ledger, for measuring quality: the law of a release's noise, drawn
by simulation. Nothing that it answers may be published."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mechanisms.privacy.adjacency import Adjacency
from mechanisms.privacy.cells import ArrayCounter, Codes, Counts
from mechanisms.privacy.queries import GaussianNoise, HistogramQuery, LaplaceNoise
from mechanisms.privacy.simulation import simulate_discrete_gaussian, simulate_discrete_laplace


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedCurator:
    """Answers histogram queries on `codes`, shape (n, attributes), as often as it is asked."""

    codes: Codes
    adjacency: Adjacency
    rng: np.random.Generator

    def total(self) -> int | None:
        """Number of records where it is public."""
        return len(self.codes) if self.adjacency.total_is_public else None

    def histograms(self, call: str, queries: Sequence[HistogramQuery]) -> list[Counts]:
        """Noisy answers, one int64 array a query."""
        maps = {query.cells.digest: query.cells for query in queries}
        counts = ArrayCounter(self.codes).count(list(maps.values()))
        tables = dict(zip(maps, counts, strict=True))
        return [self._noisy(query, tables[query.cells.digest]) for query in queries]

    def _noisy(self, query: HistogramQuery, counts: Counts) -> Counts:
        exact = query.transform(counts)
        match query.noise:
            case LaplaceNoise(scale):
                return exact + simulate_discrete_laplace(self.rng, scale, len(exact))
            case GaussianNoise(sigma2):
                return exact + simulate_discrete_gaussian(self.rng, sigma2, len(exact))
