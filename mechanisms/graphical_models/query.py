"""Marginals of any attributes of a calibrated junction tree, inside its cliques or across them.

Adaptive selections ask for all their candidates in every round, so what many answers share is kept:
sums within a clique, and messages between cliques about a single attribute.

Claim.   `Query.marginal` is the exact marginal of the distribution that the tree's clique
         marginals define, to float accuracy.
Source.  Koller, Friedman (2009), "Probabilistic graphical models", section 10.3.3: queries outside
         a clique are answered on the subtree that connects their attributes.
Oracle.  tests/mechanisms/graphical_models/test_query.py sums the whole joint.
"""

from math import prod

import numpy as np

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.graphical_models.propagation import Calibrated, Scope, summed


class Query:
    """Answers for one calibrated tree."""

    def __init__(self, calibrated: Calibrated) -> None:
        tree = calibrated.tree
        self._cliques = tree.cliques
        self._tables = calibrated.tables
        self._cells = {
            a: k
            for clique, table in zip(tree.cliques, calibrated.tables, strict=True)
            for a, k in zip(clique, table.shape, strict=True)
        }
        self._edges: list[dict[int, Scope]] = [{} for _ in tree.cliques]  # neighbour -> separator
        for child, parent in enumerate(tree.parents):
            if parent is not None:
                scope = (tree.separators[child], calibrated.separators[child])
                self._edges[child][parent] = self._edges[parent][child] = scope
        self._sides: dict[tuple[int, int | None], frozenset[int]] = {}
        self._messages: dict[tuple[int, int, int], Scope] = {}
        self._sums: dict[tuple[int, Clique], Table] = {}
        self._room = self._most = sum(table.size for table in self._tables)

    def marginal(self, clique: Clique) -> Table:
        """Probabilities, shape (k_a for a in clique)."""
        left = frozenset(clique)
        result: Scope = ((), np.ones(()))
        while left:
            # Attributes in separate trees are independent: each tree gives a factor.
            root = self._root(left)
            part = self._towards(root, None, left & self._side(root, None))
            result = _product(result, part, (*result[0], *part[0]))
            left -= set(part[0])
        return summed(result[1], result[0], clique)

    def _root(self, wanted: frozenset[int]) -> int:
        """The clique of the first attribute's tree to which least has to be told."""
        first = min(wanted)
        holds = next(i for i, clique in enumerate(self._cliques) if first in clique)
        tree = [i for i, c in enumerate(self._cliques) if c[0] in self._side(holds, None)]
        inside = [i for i in tree if wanted & self._side(holds, None) <= set(self._cliques[i])]
        if inside:
            return min(inside, key=lambda i: self._tables[i].size)
        return min(tree, key=lambda i: (self._told(i, None, wanted), self._tables[i].size))

    def _told(self, node: int, target: int | None, wanted: frozenset[int]) -> int:
        """Cells of the messages that meet in a node."""
        total = 0
        for other in self._speakers(node, target, wanted):
            shared = self._edges[node][other][0]
            carried = (wanted & self._side(other, node)).union(shared)
            total += prod(self._cells[a] for a in carried) + self._told(other, node, wanted)
        return total

    def _speakers(self, node: int, target: int | None, wanted: frozenset[int]) -> list[int]:
        """Neighbours, but for the target, with wanted attributes that the node does not have."""
        return [
            other
            for other, (shared, _) in self._edges[node].items()
            if other != target and not (wanted & self._side(other, node)) <= set(shared)
        ]

    def _towards(self, node: int, target: int | None, wanted: frozenset[int]) -> Scope:
        """The law of wanted attributes on the node's side, given what it shares with the target.

        For a root, without a target, their joint law.
        """
        shared, edge = ((), np.ones(())) if target is None else self._edges[node][target]
        carried = (wanted & self._side(node, target)).difference(shared)
        key = (node, target, min(carried)) if target is not None and len(carried) == 1 else None
        if key is not None and key in self._messages:
            return self._messages[key]
        branches = [
            self._towards(other, node, wanted) for other in self._speakers(node, target, wanted)
        ]
        kept = carried.union(shared)
        needed = kept.union(*(axes for axes, _ in branches))
        start = tuple(a for a in self._cliques[node] if a in needed)
        scope = (start, self._inside(node, start))
        while branches:
            # First the branch that leaves least behind.
            steps = [self._axes(scope[0], i, branches, kept) for i in range(len(branches))]
            best = min(range(len(steps)), key=lambda i: prod(self._cells[a] for a in steps[i]))
            scope = _product(scope, branches.pop(best), steps[best])
        order = (*shared, *(a for a in scope[0] if a not in shared))
        table = summed(scope[1], scope[0], order)
        if shared:
            given = edge.reshape((*edge.shape, *[1] * (table.ndim - edge.ndim)))
            table = np.divide(table, given, out=np.zeros_like(table), where=given > 0)
        if key is not None:
            self._make_room(table)
            self._messages[key] = (order, table)
        return order, table

    def _axes(
        self, axes: Clique, chosen: int, branches: list[Scope], kept: frozenset[int]
    ) -> Clique:
        """Attributes that are left when a branch has been multiplied in."""
        needed = kept.union(*(b for i, (b, _) in enumerate(branches) if i != chosen))
        return tuple(a for a in dict.fromkeys((*axes, *branches[chosen][0])) if a in needed)

    def _inside(self, node: int, part: Clique) -> Table:
        """A clique's table summed to some of its attributes, in the clique's order."""
        clique = self._cliques[node]
        if part == clique:
            return self._tables[node]
        key = (node, part)
        if key not in self._sums:
            # The longest axis is summed first, so that what is kept on the way is small.
            dropped = min(set(clique) - set(part), key=lambda a: (self._cells[a], a))
            larger = tuple(a for a in clique if a in part or a == dropped)
            found = summed(self._inside(node, larger), larger, part)
            self._make_room(found)
            self._sums[key] = found
        return self._sums[key]

    def _make_room(self, table: Table) -> None:
        """Forget what is kept where it would take more than the model itself."""
        self._room -= table.size
        if self._room < 0:
            self._sums.clear()
            self._messages.clear()
            self._room = self._most - table.size

    def _side(self, node: int, target: int | None) -> frozenset[int]:
        """Attributes on the node's side of the edge to the target, or of its whole tree."""
        key = (node, target)
        if key not in self._sides:
            self._sides[key] = frozenset(self._cliques[node]).union(
                *(self._side(other, node) for other in self._edges[node] if other != target)
            )
        return self._sides[key]


def _product(one: Scope, other: Scope, kept: Clique) -> Scope:
    """Product of two tables, summed to the attributes that are kept, as a batch of matrices."""
    (axes, table), (others, factor) = one, other
    both = [a for a in axes if a in others]
    batch = [a for a in both if a in kept]
    inner = [a for a in both if a not in kept]
    rows = [a for a in axes if a not in others and a in kept]
    columns = [a for a in others if a not in axes and a in kept]
    left = summed(table, axes, (*batch, *rows, *inner))
    right = summed(factor, others, (*batch, *inner, *columns))
    size = dict(zip((*axes, *others), (*table.shape, *factor.shape), strict=True))
    b, r, i, c = (prod(size[a] for a in group) for group in (batch, rows, inner, columns))
    result = np.matmul(left.reshape(b, r, i), right.reshape(b, i, c))
    order = (*batch, *rows, *columns)
    return kept, summed(result.reshape([size[a] for a in order]), order, kept)
