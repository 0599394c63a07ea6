"""Junction trees: how large a graphical model is, and along which tree it is computed.

Claim.   The cliques of `junction_tree` cover the given ones and all attributes, none lies in
         another, parents come first, and every attribute's cliques are connected in the tree.
Source.  Lauritzen, Spiegelhalter (1988), J. Royal Statistical Society B 50(2), for the trees;
         greedy elimination by least table as in Koller, Friedman (2009), "Probabilistic graphical
         models", section 9.4.3.
Oracle.  tests/mechanisms/graphical_models/test_tree.py checks random graphs, and the
         sizes against those of an independent library.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from hallmark.mechanisms.domain.cliques import Clique


@dataclass(frozen=True)
class JunctionTree:
    """A forest of cliques.

    Attributes:
        cliques: largest sets of attributes that are modelled jointly.
        parents: index of each one's parent, which comes earlier; None for a root.
        separators: what each one shares with its parent; empty for a root.
    """

    cliques: tuple[Clique, ...]
    parents: tuple[int | None, ...]
    separators: tuple[Clique, ...]

    def cells(self, shape: Sequence[int]) -> int:
        """Cells of all cliques' tables together."""
        return sum(prod(shape[a] for a in clique) for clique in self.cliques)

    def largest(self, shape: Sequence[int]) -> Clique:
        """The clique of most cells."""
        return max(self.cliques, key=lambda clique: prod(shape[a] for a in clique))


def junction_tree(shape: Sequence[int], cliques: Iterable[Clique]) -> JunctionTree:
    """A tree for a model of these cliques, small by a greedy rule; attributes in none are alone."""
    neighbours = [0] * len(shape)
    for clique in cliques:
        mask = sum(1 << a for a in clique)
        for a in clique:
            neighbours[a] |= mask & ~(1 << a)
    return _of_graph(tuple(shape), tuple(neighbours))


@lru_cache(maxsize=1024)
def _of_graph(shape: tuple[int, ...], graph: tuple[int, ...]) -> JunctionTree:
    """The junction tree of a graph, given by each attribute's neighbours as bits."""
    eliminated = _elimination(shape, graph)
    cliques: list[int] = []
    parents: list[int | None] = []
    separators: list[int] = []
    home: dict[int, int] = {}  # attribute -> the clique that it was added with
    turn = {a: i for i, (a, _) in enumerate(eliminated)}
    for a, shared in reversed(eliminated):
        if shared:
            host = home[min(_bits(shared), key=turn.__getitem__)]
            if cliques[host] == shared:  # the new clique holds the old one
                cliques[host] |= 1 << a
                home[a] = host
                continue
            parents.append(host)
        else:
            parents.append(None)
        home[a] = len(cliques)
        cliques.append(shared | 1 << a)
        separators.append(shared)
    return JunctionTree(tuple(map(_bits, cliques)), tuple(parents), tuple(map(_bits, separators)))


def _elimination(shape: tuple[int, ...], graph: tuple[int, ...]) -> list[tuple[int, int]]:
    """Attributes in the order of elimination, each with its neighbours then.

    Next is always the attribute whose table, with its neighbours, has fewest cells; the first one
    in case of a tie.
    """
    neighbours = dict(enumerate(graph))
    cost = {a: shape[a] * prod(shape[b] for b in _bits(graph[a])) for a in neighbours}
    order: list[tuple[int, int]] = []
    while neighbours:
        a = min(neighbours, key=cost.__getitem__)
        shared = neighbours.pop(a)
        order.append((a, shared))
        for b in _bits(shared):
            neighbours[b] = (neighbours[b] | shared) & ~(1 << a | 1 << b)
            cost[b] = shape[b] * prod(shape[c] for c in _bits(neighbours[b]))
    return order


def _bits(mask: int) -> Clique:
    """Positions of the bits that are set, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)
