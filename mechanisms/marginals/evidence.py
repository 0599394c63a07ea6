"""Evidence: all that was measured of a table, as noisy marginals in a common form.

Claim.   Where a clique was measured more than once, in cells or in groups of them, the estimate of
         least variance stands for all: it is sufficient for Gaussian noise.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.cell_groups import Sizes, cells_of, joined, merge, moved_to
from hallmark.mechanisms.marginals.prior import Prior


@dataclass(frozen=True)
class Coarse:
    """Groups of cells of which more is known than their cells say. Public.

    Attributes:
        sizes: groups of every attribute, see `cell_groups`.
        sigma: standard deviation of independent noise, records, with which the sum of every group
            was measured besides its cells.
    """

    sizes: Sizes
    sigma: float


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """A marginal with noise of mean 0 on every cell. Public.

    Attributes:
        clique: the attributes.
        counts: records, shape (k_a for a in clique); may be negative.
        sigma: standard deviation of independent noise in one cell, records; 0 for a public
            marginal.
        coarse: what was measured in groups, too: `counts` is the estimate of least variance from
            both, so its precision matrix is the sum of theirs.
    """

    clique: Clique
    counts: Table
    sigma: float
    coarse: Coarse | None = None

    def margin(self, attribute: int) -> "NoisyMarginal":
        """The margin of one attribute: the same records, with the noise of all cells added up.

        Groups of an attribute whose sums differ in variance, as they do where they are not equally
        large, share the mean.
        """
        axis = self.clique.index(attribute)
        others = tuple(i for i in range(len(self.clique)) if i != axis)
        counts = self.counts.sum(axis=others)
        sigma = self.sigma * (self.counts.size / counts.size) ** 0.5
        if self.coarse is None:
            return NoisyMarginal((attribute,), counts, sigma)
        variance = self.group_variances(self.coarse.sizes).sum(axis=others)
        if len(variance) == len(counts):  # every cell is a group
            return NoisyMarginal((attribute,), counts, float(variance.mean() ** 0.5))
        own = sigma**2 * cells_of(counts.shape, variance.shape)  # as the cells alone tell it
        more = float((1 / variance - 1 / own).mean())
        return NoisyMarginal((attribute,), counts, sigma, Coarse(variance.shape, more**-0.5))

    def deviation(self, direction: Table) -> float:
        """Standard deviation of the noise in the sum of cells times `direction`, records."""
        white = self.sigma**2 * float(np.square(direction).sum())
        if self.coarse is None:
            return white**0.5
        sizes = self.coarse.sizes
        cells = cells_of(direction.shape, sizes)
        less = self.sigma**2 * cells - self.group_variances(sizes)
        along = np.square(merge(direction, sizes) / cells)  # the part that moves whole groups
        return float((white - (along * less).sum()) ** 0.5)

    def noise(self, rng: np.random.Generator) -> Table:
        """A draw of Gaussian noise with the covariance of the counts', records."""
        cells = rng.normal(size=self.counts.shape) * self.sigma
        if self.coarse is None:
            return cells
        groups = rng.normal(size=self.coarse.sizes) * self.coarse.sigma
        return with_groups(
            NoisyMarginal(self.clique, cells, self.sigma), groups, self.coarse
        ).counts

    def thinned(self, noise: Table, step: float) -> tuple["NoisyMarginal", "NoisyMarginal"]:
        """Two independent copies: y + step * noise, and y - noise / step.

        Args:
            noise: a draw of the counts' own law, independent of them (`noise`).
        Source. Neufeld, Dharamshi, Gao, Witten (2024), "Data thinning", JMLR 25.
        """
        return self._blurred(step, noise), self._blurred(-1 / step, noise)

    def _blurred(self, step: float, noise: Table) -> "NoisyMarginal":
        times = (1 + step**2) ** 0.5
        return NoisyMarginal(
            self.clique,
            self.counts + step * noise,
            times * self.sigma,
            self.coarse and Coarse(self.coarse.sizes, times * self.coarse.sigma),
        )

    def grouped(self) -> "NoisyMarginal":
        """The sums of its groups; where these are not equally large, with the mean variance."""
        assert self.coarse is not None, "it has groups"
        sizes = self.coarse.sizes
        variance = self.group_variances(sizes).mean()
        return NoisyMarginal(self.clique, merge(self.counts, sizes), float(variance**0.5))

    def share(self, total: float) -> "NoisyMarginal":
        """The marginal in shares of `total` records."""
        coarse = self.coarse and Coarse(self.coarse.sizes, self.coarse.sigma / total)
        return NoisyMarginal(self.clique, self.counts / total, self.sigma / total, coarse)

    def group_variances(self, sizes: Sizes) -> Table:
        """Noise variances of the sums of groups, measured or added up, records^2, shape `sizes`."""
        own = self.sigma**2 * cells_of(self.counts.shape, sizes)
        if self.coarse is None:
            return own
        assert self.coarse.sizes == sizes, "a table has one kind of groups"
        return np.asarray(1 / (1 / own + self.coarse.sigma**-2))


def with_groups(marginal: NoisyMarginal, sums: Table, coarse: Coarse) -> NoisyMarginal:
    """A marginal of cells, with noisy sums of their groups that were measured besides."""
    assert marginal.coarse is None, "nothing is known of its groups yet"
    counts = joined(marginal.counts, marginal.sigma**2, sums, coarse.sigma**2, coarse.sizes)
    return replace(marginal, counts=counts, coarse=coarse)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a generator may know. Public.

    Attributes:
        domain: with the rules that records must obey.
        marginals: each clique once.
        total: number of records, public or estimated; at least 1.
        total_is_public: whether `total` is exact.
        prior: a public table of another population, or another time, if there is one.
    """

    domain: Domain
    marginals: tuple[NoisyMarginal, ...]
    total: float
    total_is_public: bool
    prior: Prior | None = None

    @cached_property
    def finest(self) -> float:
        """The least deviation of a noisy marginal, records; 1 where none is noisy."""
        return min((m.sigma for m in self.marginals if m.sigma), default=1.0)

    @cached_property
    def by_clique(self) -> Mapping[Clique, NoisyMarginal]:
        """The marginals by their attributes."""
        return {marginal.clique: marginal for marginal in self.marginals}

    @cached_property
    def single_columns(self) -> Mapping[int, NoisyMarginal]:
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
    """One marginal of a clique for several: their precision matrices add up."""
    exact = [marginal for marginal in group if marginal.sigma == 0]
    if len(group) == 1 or exact:
        return (exact or group)[0]
    weights = np.array([marginal.sigma**-2 for marginal in group])
    counts = sum(w * marginal.counts for w, marginal in zip(weights, group, strict=True))
    cells = NoisyMarginal(
        group[0].clique, np.asarray(counts / weights.sum()), float(weights.sum() ** -0.5)
    )
    coarse = [marginal.coarse for marginal in group if marginal.coarse is not None]
    if not coarse:
        return cells
    (sizes,) = {one.sizes for one in coarse}
    precisions = [1 / marginal.group_variances(sizes) for marginal in group]
    sums = sum(p * merge(m.counts, sizes) for p, m in zip(precisions, group, strict=True))
    return replace(
        cells,
        counts=moved_to(cells.counts, np.asarray(sums / sum(precisions)), sizes),
        coarse=Coarse(sizes, sum(one.sigma**-2 for one in coarse) ** -0.5),
    )
