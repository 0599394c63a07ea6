"""Cliques: the attributes of a marginal, and how many cells it has."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import prod

Clique = tuple[int, ...]
"""Ascending positions of attributes in the domain; at least one."""


def cells(clique: Clique, shape: Sequence[int]) -> int:
    """Cells of the marginal over `clique`, of a domain with `shape` cells an attribute."""
    return prod(shape[a] for a in clique)


def all_ways(attributes: int, ways: int) -> tuple[Clique, ...]:
    """All cliques of `ways` attributes; of a domain of fewer, the one of all."""
    return tuple(combinations(range(attributes), min(ways, attributes)))


def downward_closure(cliques: Iterable[Clique]) -> tuple[Clique, ...]:
    """All non-empty subsets of the cliques, small ones first, each once."""
    parts = {
        part
        for clique in cliques
        for size in range(1, len(clique) + 1)
        for part in combinations(clique, size)
    }
    return tuple(sorted(parts, key=lambda part: (len(part), part)))


def title(clique: Clique, names: Sequence[str]) -> str:
    """The clique for people, such as `age x sex`."""
    return " x ".join(names[a] for a in clique)
