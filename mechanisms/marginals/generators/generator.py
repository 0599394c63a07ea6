"""What every generator of the marginal mechanisms is: from noisy marginals to a model, to records.

A generator only post-processes: it sees public evidence, never the private table. Any generator
goes with any selection; adaptive selections ask its models for the marginals that they estimate.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hallmark.mechanisms.arrays import Codes, Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.execution import INLINE, Execution, Progress
from hallmark.mechanisms.marginals.evidence import Evidence


class Model(Protocol):
    """A distribution over the domain, fitted to evidence."""

    @property
    def history(self) -> Mapping[str, Any]:
        """What the fit did, as plain JSON values (losses, rounds, residuals)."""
        ...

    def marginal(self, clique: Clique) -> Table:
        """The marginal of any clique as probabilities, shape (k_a for a in clique)."""
        ...

    def wanted(self, clique: Clique) -> Table:
        """What the records' marginal shall be, where the model is refined before it is sampled."""
        ...

    def records(
        self, rows: int, rng: np.random.Generator, progress: Progress
    ) -> tuple[Codes, Mapping[str, Any]]:
        """`rows` records, and what making them did.

        They obey the domain's rules as far as the generator can see to it; the release repairs
        the rest.
        """
        ...


class Generator(Protocol):
    """A way to fit models; frozen, with its settings as fields. Public."""

    @property
    def name(self) -> str:
        """As a release spec gives it."""
        ...

    @property
    def source(self) -> str:
        """Paper, or what it is where it is ours."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Every constant that shapes the result, as plain JSON values."""
        ...

    @property
    def takes_prior(self) -> bool:
        """Whether a public table helps it to fit; see `Evidence.prior`."""
        ...

    def memory(self, domain: Domain, cliques: Sequence[Clique], records: int) -> int:
        """Forecast of peak memory for fitting these cliques and drawing `records`, bytes.

        Raises:
            ValueError: the cliques make a model that is too large, or a device is not there; the
                message gives the size. Called before any budget is spent.
        """
        ...

    def admits(self, domain: Domain, cliques: Sequence[Clique], share: float) -> bool:
        """Whether a model of these cliques may be built when `share` of the budget is spent; the
        last one is the candidate.

        Adaptive selections leave out candidates that would make the model too large; a generator
        whose models do not grow admits all.
        """
        ...

    def fit(
        self,
        evidence: Evidence,
        *,
        rng: np.random.Generator,
        execution: Execution = INLINE,
        previous: Model | None = None,
        draft: bool = False,
    ) -> Model:
        """The model of the evidence.

        Args:
            previous: a model of part of the evidence, to start from.
            draft: a rough one will do, as for the next choice of an adaptive selection.
        """
        ...


@runtime_checkable
class Timed(Protocol):
    """A generator of which it is known how long it takes, on a core like that of docs/scale.md."""

    def seconds(
        self, domain: Domain, cliques: Sequence[Clique], batches: Sequence[int], signal: float
    ) -> tuple[float, float] | None:
        """CPU time to fit these cliques, and to draw batches of so many records.

        Args:
            signal: expected records by standard deviation of the noise in a cell.
        Returns:
            Seconds; None where nothing is known of them with these settings.
        """
        ...

    def draft_seconds(
        self, domain: Domain, cliques: Sequence[Clique], signal: float, candidates: int
    ) -> float | None:
        """CPU time of a round of an adaptive selection: a draft of these cliques, and `admits` of
        so many candidates. None where nothing is known of it with these settings."""
        ...
