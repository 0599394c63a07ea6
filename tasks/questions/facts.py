"""What a spec states of the private table without noise: edit rules and public totals.

Nobody checks it of the private table, so answers use it only where a reader asks for that.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.domain.totals import PublicTotals
from hallmark.mechanisms.inference.blue import LinearQuery
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.rule_tables import rules_on
from hallmark.tasks.planning.total_tables import total_cells

Fact = tuple[LinearQuery, float]
"""A query and its answer."""


@dataclass(frozen=True, eq=False)
class Facts:
    """Rules and totals on cells."""

    rules: Rules
    totals: PublicTotals

    @classmethod
    def of(cls, spec: ReleaseSpec, codec: TableCodec) -> "Facts":
        """All that the spec states."""
        return cls(rules_on(spec.rules, codec).rules, total_cells(spec, codec))

    def about(self, tables: Iterable[Clique]) -> Iterator[list[Fact]]:
        """Facts that tables of these columns may tell, those of the same columns together.

        Of the cells that rules forbid, those with the same value in one column count together: each
        cell by itself would hardly add to that, and take many times as long.
        """
        cliques = sorted(set(tables))
        for clique in cliques:
            if 1 <= len(clique) <= 2:
                yield list(self._forbidden(clique))
        for total in self.totals.totals:
            if any(set(total.columns) <= set(clique) for clique in cliques):
                inside = [(total.groups == group) for group in range(len(total.counts))]
                yield [
                    (LinearQuery(total.columns, held.astype(np.float64)), float(count))
                    for held, count in zip(inside, total.counts, strict=True)
                ]

    def _forbidden(self, clique: Clique) -> Iterator[Fact]:
        forbidden = ~self.rules.allowed(clique)
        for axis in range(len(clique)):
            others = tuple(other for other in range(len(clique)) if other != axis)
            for code in np.flatnonzero(forbidden.any(axis=others)):
                inside = np.zeros(forbidden.shape)
                here = (slice(None),) * axis + (code,)
                inside[here] = forbidden[here]
                yield LinearQuery(clique, inside), 0.0
