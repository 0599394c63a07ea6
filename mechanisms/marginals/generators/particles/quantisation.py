"""Quantisation: a probability table as equal atoms at cell centres, sorted along directions.

Atoms are kept as run lengths, so that to sort a target means to sort its cells.

Claim.   A table of m atoms is within cells / (2 m) of the probabilities in total variation.
Source.  Donhauser, Abad, Hulkund, Yang (2024), eq. (4) and (6). Theirs fills the records that
         flooring leaves by a draw; largest remainders need none.
Oracle.  tests/mechanisms/marginals/generators/particles/test_quantisation.py sorts repeated atoms.
"""

from dataclasses import dataclass

import numpy as np
import torch

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.marginals.generators.embedding import centres
from hallmark.mechanisms.marginals.generators.rounding import quantised


@dataclass(frozen=True, eq=False)
class Target:
    """What a marginal of the particles should be.

    Attributes:
        clique: its attributes.
        places: of the occupied cells, float32 of shape (cells, attributes).
        counts: atoms in each, int64 of shape (cells,).
        weight: of its distance in the loss.
    """

    clique: Clique
    places: torch.Tensor
    counts: torch.Tensor
    weight: float = 1.0

    @classmethod
    def of(
        cls,
        clique: Clique,
        table: Table,
        atoms: int,
        *,
        device: torch.device,
        weight: float = 1.0,
    ) -> "Target":
        """`table`, in probability, as so many atoms."""
        counts = quantised(table, atoms)
        occupied = np.flatnonzero(counts)
        return cls(
            clique,
            torch.as_tensor(centres(table.shape)[occupied], device=device),
            torch.as_tensor(counts[occupied], device=device),
            weight,
        )

    def runs(self, directions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Places of the cells along every direction, ascending, and the atoms in each.

        Both of shape (directions, cells).
        """
        along = directions @ self.places.T
        along, order = torch.sort(along, dim=1, stable=True)
        return along, self.counts[order]


def expanded(places: torch.Tensor, counts: torch.Tensor, rows: int, atoms: int) -> torch.Tensor:
    """Flat runs of so many rows as sorted atoms, shape (rows, atoms)."""
    if places.is_cuda:
        flat = torch.repeat_interleave(places, counts, output_size=rows * atoms)
    else:  # numpy is six times as fast here
        flat = torch.from_numpy(np.repeat(places.numpy(), counts.numpy()))
    return flat.view(rows, atoms)
