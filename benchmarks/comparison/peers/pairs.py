"""Marginals of all pairs of columns of a model of mbi, from one calibrated junction tree.

Claim.   The tables that `model.project` gives, up to single precision.
Source.  Koller, Friedman (2009), "Probabilistic Graphical Models", Sections 10.2 and 10.3.4.
Oracle.  tests/benchmarks/comparison/test_pairs.py: mbi's own variable elimination.

`model.project` eliminates all other columns anew for every pair. A round of AIM asks for every
pair, which so took most of its time: minutes where cliques are large, seconds here.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from mbi import junction_tree

Clique = tuple[str, ...]


def tables(model) -> dict[Clique, np.ndarray]:
    """Tables of all single columns (a,) and pairs (a, b), in the order of the model's domain."""
    tree = _Calibrated(model)
    columns = tuple(model.domain)
    singles = {(a,): tree.law(tree.home(a), (a,)) for a in columns}
    found = {}
    for position, a in enumerate(columns):
        found.update(_pairs_of(a, columns[position + 1 :], tree))
    for a, b in combinations(columns, 2):
        if (a, b) not in found:  # in parts of the forest that know nothing of each other
            found[a, b] = np.outer(singles[a,], singles[b,]) / float(model.total)
    return singles | {pair: found[pair] for pair in combinations(columns, 2)}


class _Calibrated:
    """Nodes of the junction tree with their marginals."""

    def __init__(self, model) -> None:
        self._domain = model.domain
        cliques = [tuple(clique) for clique in model.cliques]
        self.tree = junction_tree.make_junction_tree(model.domain, cliques)[0]
        logs = {node: np.zeros([self.size((c,)) for c in node]) for node in self.tree}
        for clique in model.potentials.cliques:
            factor = model.potentials[clique]
            node = next(node for node in logs if set(clique) <= set(node))
            values = np.asarray(factor.values, dtype=float)
            logs[node] += self._spread(values, factor.domain.attributes, node)
        sent: dict[tuple[Clique, Clique], np.ndarray] = {}
        for i, j in junction_tree.message_passing_order(self.tree):
            shared = tuple(c for c in i if c in j)
            rest = logs[i] - self._spread(sent[j, i], shared, i) if (j, i) in sent else logs[i]
            sent[i, j] = _log_sum(rest, tuple(axis for axis, c in enumerate(i) if c not in j))
            logs[j] += self._spread(sent[i, j], shared, j)
        self._laws = {node: np.exp(log - log.max()) for node, log in logs.items()}
        for law in self._laws.values():
            law *= float(model.total) / law.sum()
        self._known: dict[tuple[Clique, Clique], np.ndarray] = {}

    def size(self, columns: Sequence[str]) -> int:
        return self._domain.size(tuple(columns))

    def home(self, column: str) -> Clique:
        """Smallest node that has the column."""
        return min((node for node in self._laws if column in node), key=self.size)

    def law(self, node: Clique, columns: Clique) -> np.ndarray:
        """Marginal over columns of a node, in their order."""
        if (node, columns) not in self._known:
            away = tuple(axis for axis, column in enumerate(node) if column not in columns)
            left = [column for column in node if column in columns]
            summed = self._laws[node].sum(axis=away)
            self._known[node, columns] = summed.transpose([left.index(c) for c in columns])
        return self._known[node, columns]

    def joint(
        self, a: str, new: Clique, node: Clique, told: np.ndarray | None, shared: Clique
    ) -> np.ndarray:
        """Table of (a, *new), for `new` of the node.

        Where `a` lies before the node, `told` is the table of (a, *shared) at its entrance: given
        the shared columns, the node's others are independent of `a`.
        """
        if a in node:
            return self.law(node, (a, *new))
        both = tuple(column for column in new if column in shared)
        only = tuple(column for column in shared if column not in new)
        fresh = tuple(column for column in new if column not in shared)
        law = self.law(node, both + only + fresh)
        law = law.reshape(self.size(both), self.size(only), self.size(fresh))
        mass = law.sum(axis=2, keepdims=True)
        given = np.divide(law, mass, out=np.zeros_like(law), where=mass > 0)
        cells = told.shape[0]
        places = [1 + shared.index(column) for column in both + only]
        before = told.transpose([0, *places]).reshape(cells, self.size(both), self.size(only))
        after = (before.transpose(1, 0, 2) @ given).transpose(1, 0, 2)
        order = both + fresh
        after = after.reshape([cells, *(self.size((column,)) for column in order)])
        return after.transpose([0, *(1 + order.index(column) for column in new)])

    def _spread(self, table: np.ndarray, columns: Clique, node: Clique) -> np.ndarray:
        """A table over some of a node's columns, to be added to one over all."""
        table = table.transpose(np.argsort([node.index(column) for column in columns]))
        return table.reshape([self.size((c,)) if c in columns else 1 for c in node])


def _pairs_of(a: str, later: Clique, known: _Calibrated) -> dict[Clique, np.ndarray]:
    """Tables (a, b) of every `later` b in a's part of the forest, told from node to node."""
    found = {}
    stack = [(known.home(a), None, None, ())]
    while stack:
        node, before, told, shared = stack.pop()
        for b in node:
            if b in later and b not in shared:
                found[a, b] = known.joint(a, (b,), node, told, shared)
        for neighbor in known.tree.neighbors(node):
            if neighbor != before:
                beyond = tuple(c for c in node if c in neighbor and c != a)
                passed = None if a in neighbor else known.joint(a, beyond, node, told, shared)
                stack.append((neighbor, node, passed, beyond))
    return found


def _log_sum(log: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Logarithm of the sum over axes of exponentials."""
    top = log.max(axis=axes, keepdims=True)
    return np.log(np.exp(log - top).sum(axis=axes)) + top.squeeze(axes)
