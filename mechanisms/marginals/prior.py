"""A public table that a release may lean on: last year's, another region's, a published sample."""

from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Table
from hallmark.mechanisms.domain.cliques import Clique, cells
from hallmark.mechanisms.domain.domain import Domain

LEANED = "leaned_towards_the_public_table"
"""In the history: how far columns, and tables of several, leaned towards it; means, 0 to 1."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Public records.

    Attributes:
        domain: of the private table, too.
        codes: in its cells, shape (rows, attributes); at least one row.
    """

    domain: Domain
    codes: AnyCodes

    def table(self, clique: Clique) -> Table:
        """Probabilities, shape (k_a for a in clique)."""
        sizes = [self.domain.shape[a] for a in clique]
        places = np.ravel_multi_index([self.codes[:, a] for a in clique], sizes)
        counts = np.bincount(places, minlength=cells(clique, self.domain.shape))
        return np.asarray(counts.reshape(sizes) / len(self.codes))
