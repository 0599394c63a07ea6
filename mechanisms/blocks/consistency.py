"""Make tables that share columns agree on their common marginals.

Claim.   `Consistency` is the orthogonal projection onto the tables whose common marginals agree;
         true tables stay as they are, and noise shrinks.
Proof.   A table g_S is the sum, over subsets A of its columns S, of effects e_A (functions of the
         columns in A that sum to zero along each of them), lifted to S by repetition. These are
         orthogonal, of squared norm w |e_A|^2 with w the number of cells of S per cell of A.
         The marginal over A of g_S is w times the effects of A's subsets, lifted and summed; so the
         marginals agree if and only if E_A = w_(S,A) e_A is the same in all tables S that hold A.
         Least squares then asks for the E that minimises sum_S |E - E_A^S|^2 / w_(S,A), which is
         sum_S e_A^S / sum_S (1 / w_(S,A)).
Oracle.  tests/mechanisms/blocks/test_consistency.py: least squares with explicit constraints.
"""

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.blocks.family import Family

Columns = tuple[int, ...]


class Consistency:
    """The projection for the blocks of one family; linear. Pickles."""

    def __init__(self, family: Family) -> None:
        self._columns = [block.columns for block in family.blocks]
        self._shapes = [block.shape for block in family.blocks]
        sets = [frozenset(columns) for columns in self._columns]
        shared = {
            frozenset(effect)
            for a, b in combinations(sets, 2)
            for size in range(len(a & b) + 1)
            for effect in combinations(sorted(a & b), size)
        }
        self._shared = sorted(shared, key=lambda effect: (len(effect), sorted(effect)))

    def __call__(self, tables: Sequence[Floats]) -> tuple[Floats, ...]:
        """Consistent tables, from one of shape (..., size) for every block."""
        boxes = [
            table.reshape(*table.shape[:-1], *shape)
            for table, shape in zip(tables, self._shapes, strict=True)
        ]
        means: list[dict[frozenset[int], Floats]] = [{} for _ in boxes]
        changed = [box.copy() for box in boxes]
        for effect in self._shared:
            holders = [b for b, columns in enumerate(self._columns) if effect <= set(columns)]
            weights = [self._cells_per_cell(b, effect) for b in holders]
            own = [self._effect(boxes[b], b, effect, means[b]) for b in holders]
            # Blocks may list shared columns in different orders: sum over sorted columns.
            sums = [self._sorted(e, b, effect) for e, b in zip(own, holders, strict=True)]
            common = np.sum(sums, axis=0) / sum(1 / w for w in weights)
            for b, e, w in zip(holders, own, weights, strict=True):
                changed[b] += self._unsorted(common / w, b, effect) - e
        return tuple(box.reshape(table.shape) for box, table in zip(changed, tables, strict=True))

    def _cells_per_cell(self, block: int, effect: frozenset[int]) -> int:
        pairs = zip(self._columns[block], self._shapes[block], strict=True)
        return prod(size for column, size in pairs if column not in effect)

    def _effect(
        self, box: Floats, block: int, effect: frozenset[int], known: dict[frozenset[int], Floats]
    ) -> Floats:
        """The effect of a block's table, with axes of length 1 where it does not depend on it."""
        lead = box.ndim - len(self._columns[block])
        others = tuple(
            lead + i for i, column in enumerate(self._columns[block]) if column not in effect
        )
        found = box.mean(axis=others, keepdims=True)
        for size in range(len(effect)):
            for smaller in combinations(sorted(effect), size):
                found = found - known[frozenset(smaller)]
        known[effect] = found
        return found

    def _sorted(self, effect: Floats, block: int, columns: frozenset[int]) -> Floats:
        """The array with one axis for each column of the effect, in ascending order."""
        own = self._columns[block]
        lead = effect.ndim - len(own)
        sizes = [n for n, c in zip(effect.shape[lead:], own, strict=True) if c in columns]
        order = np.argsort([column for column in own if column in columns])
        kept = effect.reshape((*effect.shape[:lead], *sizes))
        return kept.transpose((*range(lead), *(lead + order)))

    def _unsorted(self, effect: Floats, block: int, columns: frozenset[int]) -> Floats:
        """The inverse of `_sorted`."""
        own = self._columns[block]
        lead = effect.ndim - len(columns)
        order = np.argsort(np.argsort([column for column in own if column in columns]))
        placed = effect.transpose((*range(lead), *(lead + order)))
        sizes = iter(placed.shape[lead:])
        return placed.reshape(
            (*placed.shape[:lead], *(next(sizes) if column in columns else 1 for column in own))
        )
