"""Evidence: all that was measured of a table, as noisy marginals in a common form.

Claim.   Where a clique was measured more than once, its mean by inverse variance stands for all:
         it is sufficient for Gaussian noise.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechanisms.geometry.domain import Domain
from mechanisms.marginals.cliques import Clique

Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """A marginal with independent noise of mean 0 on every cell. Public.

    Attributes:
        clique: the attributes.
        counts: records, shape (k_a for a in clique); may be negative.
        sigma: standard deviation of the noise in one cell, records; 0 for a public marginal.
    """

    clique: Clique
    counts: Table
    sigma: float

    def margin(self, attribute: int) -> "NoisyMarginal":
        """Of one of its attributes: the same records, and the noise of all cells added up."""
        others = tuple(i for i, a in enumerate(self.clique) if a != attribute)
        counts = self.counts.sum(axis=others)
        return NoisyMarginal(
            (attribute,), counts, self.sigma * (self.counts.size / counts.size) ** 0.5
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a generator may know. Public.

    Attributes:
        domain: with the rules that records must obey.
        marginals: each clique once.
        total: number of records, public or estimated; at least 1.
        total_is_public: whether `total` is exact.
    """

    domain: Domain
    marginals: tuple[NoisyMarginal, ...]
    total: float
    total_is_public: bool

    @cached_property
    def by_clique(self) -> Mapping[Clique, NoisyMarginal]:
        """The marginals by their attributes."""
        return {marginal.clique: marginal for marginal in self.marginals}

    @cached_property
    def one_ways(self) -> Mapping[int, NoisyMarginal]:
        """What the marginals together say of every attribute that lies in one of them."""
        margins = pooled(m.margin(a) for m in self.marginals for a in m.clique)
        return {margin.clique[0]: margin for margin in margins}


def pooled(marginals: Iterable[NoisyMarginal]) -> tuple[NoisyMarginal, ...]:
    """The marginals with repetitions of a clique merged, in order of first appearance."""
    groups: dict[Clique, list[NoisyMarginal]] = {}
    for marginal in marginals:
        groups.setdefault(marginal.clique, []).append(marginal)
    return tuple(_merged(group) for group in groups.values())


def _merged(group: list[NoisyMarginal]) -> NoisyMarginal:
    exact = [marginal for marginal in group if marginal.sigma == 0]
    if len(group) == 1 or exact:
        return (exact or group)[0]
    weights = np.array([marginal.sigma**-2 for marginal in group])
    counts = sum(w * marginal.counts for w, marginal in zip(weights, group, strict=True))
    return NoisyMarginal(
        group[0].clique, np.asarray(counts / weights.sum()), float(weights.sum() ** -0.5)
    )
