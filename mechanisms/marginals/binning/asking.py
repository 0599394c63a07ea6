"""A curator that is asked about bins while the private records have cells.

Claim.   What it asks is charged as what a curator of records in bins would be asked, and differs
         in the log wherever the bins differ.
Proof.   A map from bins joined to the map from cells to bins is a map from records to cells, about
         which sensitivities are stated (`privacy.adjacency`). The log's key has its tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.marginals.binning.bins import Bins
from hallmark.mechanisms.privacy.calls import MarginalRounds
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism
from hallmark.mechanisms.privacy.queries import HistogramQuery, L1Score, Score


@dataclass(frozen=True)
class BinnedCurator:
    """Asks `curator` what it is asked, in cells.

    Attributes:
        chosen: whether answers chose some of the bins.
    """

    curator: MarginalRounds
    bins: tuple[Bins, ...]
    chosen: bool

    def total(self) -> int | None:
        """See `Curator.total`."""
        return self.curator.total()

    def drawn(self) -> Mapping[str, tuple[Event, ...]]:
        """See `Curator.drawn`."""
        return self.curator.drawn()

    def histograms(self, call: str, queries: Sequence[HistogramQuery]) -> list[Counts]:
        """See `Curator.histograms`."""
        return self.curator.histograms(
            call,
            [
                replace(
                    query,
                    cells=self._on_cells(query.cells),
                    cells_chosen=query.cells_chosen or self.chosen,
                )
                for query in queries
            ],
        )

    def choose(self, call: str, candidates: Sequence[Score], event: ExponentialMechanism) -> int:
        """See `Curator.choose`."""
        scores = [self._score(score) for score in candidates]
        return self.curator.choose(call, scores, event)

    def choose_several(
        self, call: str, candidates: Sequence[Score], event: ExponentialMechanism
    ) -> list[int]:
        """See `Curator.choose_several`."""
        return self.curator.choose_several(call, [self._score(one) for one in candidates], event)

    def _score(self, score: Score) -> L1Score:
        if not isinstance(score, L1Score):
            raise TypeError(f"{type(score).__name__}: only misfits are asked about bins")
        return replace(score, cells=self._on_cells(score.cells))

    def _on_cells(self, cells: CellMap) -> CellMap:
        return cells.after({bins.column: (bins.column, bins.table) for bins in self.bins})
