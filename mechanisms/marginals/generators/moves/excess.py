"""Excess of a coded table over target marginals, and what changing a record does to its square.

The excess of a cell is its weighted surplus of records, w (count - rows target). A record that
changes leaves one cell and enters another in every clique that sees the change, so the weighted
squared error sum w (count - rows target)^2 changes by 2 sum (excess there - excess here + w).
Local searches rescore only those cells, with cliques of any order in one flat array.

Claim.   `score` and `score_block` are the exact change of the error that `move` and `move_block`
         then make; `error` is the error of a fresh count.
Oracle.  tests/mechanisms/marginals/generators/moves/test_excess.py recounts from scratch.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes, Counts, Table, Unsigned
from hallmark.mechanisms.compiled import compiled
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.privacy.cells import count_codes, marginal


class Layout(NamedTuple):
    """Where the cells of all cliques lie, for compiled code. A link is a clique of an attribute.

    Row (base, own, a_1, s_1, a_2, s_2, ...) of `links` says: in the clique of that link the cell
    of a record lies at base + own record[its attribute] + sum_j s_j record[a_j]. Rows of `cliques`
    say it without an attribute of their own: (base, a_1, s_1, ...). Where columns are to spare,
    the s_j are 0.

    Attributes:
        links: shape (links, 2 + 2 others).
        first: links of attribute a are first[a] to first[a + 1], shape (attributes + 1,).
        wide: from wide[a] on, its links have more than one other attribute, shape (attributes,).
        weight: of every link's clique, shape (links,).
        load: sum of these weights for every attribute, shape (attributes,).
        cliques: shape (cliques, 1 + 2 ways).
        clique_weight: shape (cliques,).
        seen, seen_first: cliques that see any attribute of block b are
            seen[seen_first[b] : seen_first[b + 1]].
        member, member_first: likewise the attributes of block b.
    """

    links: Unsigned
    first: Unsigned
    wide: Unsigned
    weight: Table
    load: Table
    cliques: Unsigned
    clique_weight: Table
    seen: Unsigned
    seen_first: Unsigned
    member: Unsigned
    member_first: Unsigned


def layout(
    shape: Sequence[int],
    cliques: Sequence[Clique],
    weights: Sequence[float],
    blocks: Sequence[Sequence[int]] = (),
) -> Layout:
    """The cells of the cliques one after another, each clique's in row-major order.

    Args:
        blocks: sets of attributes that a search changes together.
    """
    ways = max((len(clique) for clique in cliques), default=1)
    table = np.zeros((len(cliques), 1 + 2 * ways), dtype=np.uint64)
    end = 0
    for i, clique in enumerate(cliques):
        sizes = [shape[a] for a in clique]
        table[i, 0] = end
        table[i, 1 : 2 * len(clique) : 2] = clique
        table[i, 2 : 2 * len(clique) + 1 : 2] = [prod(sizes[j + 1 :]) for j in range(len(clique))]
        end += prod(sizes)
    links: list[tuple[int, int]] = []  # clique, and the attribute's place in it
    first, wide = [0], []
    for a in range(len(shape)):
        mine = [(i, clique.index(a)) for i, clique in enumerate(cliques) if a in clique]
        narrow = [link for link in mine if len(cliques[link[0]]) <= 2]
        wide.append(len(links) + len(narrow))
        links += narrow + [link for link in mine if len(cliques[link[0]]) > 2]
        first.append(len(links))
    rows = np.zeros((len(links), 2 + 2 * max(ways - 1, 1)), dtype=np.uint64)
    for row, (i, j) in zip(rows, links, strict=True):
        row[:2] = table[i, [0, 2 + 2 * j]]
        others = np.delete(table[i, 1:], [2 * j, 2 * j + 1])
        row[2 : 2 + len(others)] = others
    weight = np.asarray(weights, dtype=np.float64)
    of_link = weight[[i for i, _ in links]]
    seen = [[i for i, clique in enumerate(cliques) if set(clique) & set(b)] for b in blocks]
    return Layout(
        links=rows,
        first=np.array(first, dtype=np.uint64),
        wide=np.array(wide, dtype=np.uint64),
        weight=of_link,
        load=np.array([of_link[i:j].sum() for i, j in pairwise(first)]),
        cliques=table,
        clique_weight=weight,
        seen=_joined(seen),
        seen_first=_starts(seen),
        member=_joined(blocks),
        member_first=_starts(blocks),
    )


def excess(codes: AnyCodes, targets: Mapping[Clique, Table], weights: Sequence[float]) -> Table:
    """The excess of every cell, in the order of `layout` for the targets' cliques."""
    counted = _counted(codes, targets)
    return np.concatenate(
        [np.zeros(0)]
        + [
            weight * (table - len(codes) * target.ravel())
            for table, target, weight in zip(counted, targets.values(), weights, strict=True)
        ]
    )


def error(over: Table, targets: Mapping[Clique, Table], weights: Sequence[float]) -> float:
    """Sum over cells of w (count - rows target)^2, records^2, of their excess."""
    sizes = [target.size for target in targets.values()]
    return float((np.square(over) / np.repeat(np.asarray(weights, dtype=float), sizes)).sum())


def _counted(codes: AnyCodes, targets: Mapping[Clique, Table]) -> list[Counts]:
    shape = [0] * codes.shape[1]
    for clique, target in targets.items():
        for a, cells in zip(clique, target.shape, strict=True):
            shape[a] = cells
    return count_codes(codes, [marginal(clique, shape) for clique in targets])


def counts(codes: NDArray[np.integer], clique: Clique, shape: Sequence[int]) -> Table:
    """Records in every cell of a marginal of `shape`."""
    cells = np.ravel_multi_index(tuple(codes[:, a] for a in clique), tuple(shape))
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


# Inlined into the loops that call them, as a call would cost as much as the work.
@compiled(inline="always")
def score(over, place, record, a, new):  # type: ignore[no-untyped-def]  # compiled, numba infers the types
    """By how much the error rises if attribute `a` of the record becomes `new`, another code."""
    links = place.links
    here, there = np.uint64(record[a]), np.uint64(new)
    slope = place.load[a]
    for i in range(place.first[a], place.wide[a]):
        at = links[i, 0] + links[i, 3] * np.uint64(record[links[i, 2]])
        slope += over[at + there * links[i, 1]] - over[at + here * links[i, 1]]
    for i in range(place.wide[a], place.first[np.uint64(a + 1)]):
        at = links[i, 0]
        for j in range(2, links.shape[1], 2):
            at += links[i, j + 1] * np.uint64(record[links[i, j]])
        slope += over[at + there * links[i, 1]] - over[at + here * links[i, 1]]
    return 2.0 * slope


@compiled(inline="always")
def move(over, place, record, a, new):  # type: ignore[no-untyped-def]
    """Let attribute `a` of the record become `new`, another code."""
    links = place.links
    here, there = np.uint64(record[a]), np.uint64(new)
    for i in range(place.first[a], place.first[np.uint64(a + 1)]):
        at = links[i, 0]
        for j in range(2, links.shape[1], 2):
            at += links[i, j + 1] * np.uint64(record[links[i, j]])
        over[at + there * links[i, 1]] += place.weight[i]
        over[at + here * links[i, 1]] -= place.weight[i]
    record[a] = new


@compiled()
def score_block(over, place, record, donor, b):  # type: ignore[no-untyped-def]
    """By how much the error rises if the record takes all attributes of block `b` from `donor`."""
    slope = 0.0
    for k in range(place.seen_first[b], place.seen_first[b + 1]):
        here, there = _cells(place, record, donor, b, place.seen[k])
        if here != there:
            slope += over[there] - over[here] + place.clique_weight[place.seen[k]]
    return 2.0 * slope


@compiled()
def move_block(over, place, record, donor, b):  # type: ignore[no-untyped-def]
    """Let the record take all attributes of block `b` from `donor`."""
    for k in range(place.seen_first[b], place.seen_first[b + 1]):
        here, there = _cells(place, record, donor, b, place.seen[k])
        over[there] += place.clique_weight[place.seen[k]]
        over[here] -= place.clique_weight[place.seen[k]]
    for k in range(place.member_first[b], place.member_first[b + 1]):
        record[place.member[k]] = donor[place.member[k]]


@compiled()
def _cells(place, record, donor, b, i):  # type: ignore[no-untyped-def]
    """The record's cell of clique i, now and after the block."""
    cliques = place.cliques
    here = there = cliques[i, 0]
    for j in range(1, cliques.shape[1], 2):
        a = cliques[i, j]
        now = then = np.uint64(record[a])
        for k in range(place.member_first[b], place.member_first[b + 1]):
            if place.member[k] == a:
                then = np.uint64(donor[a])
        here += cliques[i, j + 1] * now
        there += cliques[i, j + 1] * then
    return here, there


def _starts(groups: Sequence[Sequence[int]]) -> Unsigned:
    return np.cumsum([0, *(len(group) for group in groups)], dtype=np.uint64)


def _joined(groups: Sequence[Sequence[int]]) -> Unsigned:
    return np.array([item for group in groups for item in group], dtype=np.uint64)
