"""What every selection of marginals is: which marginals are asked, and in which order.

A design is public: it fixes all noise and all costs before a private byte is read, or bounds them
where they depend on answers. What it asks first does not depend on any answer, so the law of its
noise is known exactly; certificates rest on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from hallmark.mechanisms.arrays import Counts, Table
from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.domain.cliques import Clique, cells
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.cell_groups import Sizes, group_of, sizes_of
from hallmark.mechanisms.marginals.evidence import Evidence
from hallmark.mechanisms.marginals.generators.generator import Model
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.calls import MarginalRounds
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.privacy.queries import GaussianNoise, HistogramQuery

FIRST_CALL = "marginals"  # everything that is asked before any answer is seen


@dataclass(frozen=True)
class Asked:
    """One marginal to be measured with discrete Gaussian noise.

    Attributes:
        sigma2: noise parameter of every count, records^2.
        groups: where it is set, every attribute is counted in at most so many groups of
            neighbouring cells; a table of the clique's own cells is asked besides.
        adaptive: whether the noise, or that anything is asked, was chosen after seeing answers; a
            clique that was chosen so makes nothing adaptive (`privacy.events`).
    """

    clique: Clique
    sigma2: Fraction
    adaptive: bool = False
    groups: int | None = None

    def sizes(self, shape: Sequence[int]) -> Sizes:
        """Counts along every attribute of the clique."""
        own = tuple(shape[a] for a in self.clique)
        return own if self.groups is None else sizes_of(self.clique, shape, self.groups)

    def query(self, shape: Sequence[int]) -> HistogramQuery:
        """The histogram, as the curator is asked for it."""
        sizes = dict(zip(self.clique, self.sizes(shape), strict=True))
        cells = marginal(self.clique, [sizes.get(a, k) for a, k in enumerate(shape)])
        if self.groups is not None:
            cells = cells.after({a: (a, group_of(shape[a], k)) for a, k in sizes.items()})
        return HistogramQuery(cells, GaussianNoise(self.sigma2), adaptive=self.adaptive)


def columns(domain: Domain, sigma2: Fraction) -> tuple[Asked, ...]:
    """The one-way marginals of all attributes, with noise alike."""
    return tuple(Asked((a,), sigma2) for a in range(len(domain)))


def columns_and_largest(domain: Domain, cliques: Sequence[Clique], most: int) -> tuple[Clique, ...]:
    """The one-way marginals, and the `most` cliques of the most cells."""
    ones = tuple((a,) for a in range(len(domain)))
    by_size = sorted(cliques, key=lambda clique: -cells(clique, domain.shape))
    return tuple(dict.fromkeys((*ones, *by_size[:most])))


def line_of_columns(domain: Domain, asked: Sequence[Asked], adjacency: Adjacency) -> NoiseLine:
    """What the audit report says of `columns`."""
    return NoiseLine.of(
        asked[0].query(domain.shape),
        f"all {len(domain)} one-way marginals",
        sum(domain.shape),
        adjacency=adjacency,
        times=len(domain),
    )


@dataclass(frozen=True, eq=False)
class Answer:
    """What the curator answered; counts of shape (cells,) in C order.

    `call` is the curator's, under which the measurement log has the answer.
    """

    asked: Asked
    counts: Counts
    call: str = FIRST_CALL

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise in one count, records."""
        return float(self.asked.sigma2) ** 0.5

    def table(self, shape: Sequence[int]) -> Table:
        """The counts, shape (counts along each attribute)."""
        return self.counts.astype(np.float64).reshape(self.asked.sizes(shape))


@dataclass(frozen=True)
class Effort:
    """What the rounds of a selection take, all of them together, as far as can be expected. Public.

    Attributes:
        candidates: tables of the private data that are looked at for choices.
        cells: theirs.
        models: drafts that are fitted.
        tables: that are measured.
    """

    candidates: int = 0
    cells: int = 0
    models: int = 0
    tables: int = 0


class Modeller(Protocol):
    """Fits models to answers on behalf of a selection; deterministic, so that a run may resume."""

    def evidence(self, answers: Sequence[Answer], total: int | None) -> Evidence:
        """What the answers say."""
        ...

    def model(self, answers: Sequence[Answer], total: int | None, previous: Model | None) -> Model:
        """A draft of the generator's model."""
        ...

    def admits(self, cliques: Sequence[Clique], share: float) -> bool:
        """Whether the generator can add the last clique; see `Generator.admits`."""
        ...


class Design(Protocol):
    """A selection with its noise, made for one domain and budget. Frozen; every field is public."""

    @property
    def name(self) -> str:
        """As a release spec gives it."""
        ...

    @property
    def source(self) -> str:
        """Paper and statement."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Every constant that shapes it, as plain JSON values."""
        ...

    @property
    def first(self) -> tuple[Asked, ...]:
        """What is asked in one call before any answer is seen; it covers all attributes."""
        ...

    @property
    def largest(self) -> tuple[Clique, ...]:
        """All cliques that may ever be measured, or as many of the largest as there may be: what
        memory is forecast for. Those of `first` come first."""
        ...

    @property
    def effort(self) -> Effort:
        """What the rounds after `first` take: what time is forecast for."""
        ...

    @property
    def events(self) -> tuple[Event, ...]:
        """What a complete run charges; an upper bound where that depends on answers."""
        ...

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        """The noise table for the audit report, one line per kind of query."""
        ...

    def rounds(
        self, curator: MarginalRounds, first: Sequence[Answer], modeller: Modeller
    ) -> tuple[Answer, ...]:
        """Everything that is asked after `first`: choices and the marginals that were chosen.

        A replay of the same answers asks the same questions, bit by bit.
        """
        ...
