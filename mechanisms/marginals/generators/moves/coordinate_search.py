"""Settle a coded table: every entry in turn takes the code with which the error is least.

What the error would be with each code of an attribute is a sum over the cliques that hold it, of
the line of excesses that the record's other codes select there (`excess`). Every clique is laid out
once for each of its attributes, with that attribute's cells side by side, so that a line is read
from memory as one: trying all codes costs no more than trying one.

Far from the targets this is too eager: it fits single cells at the cost of what no clique sees, so
a search at random comes first (`local_search`), after which few entries change.

Claim.   Each change lowers the weighted squared error, but for rounding to 32 bits, and records go
         on obeying the rules.
Source.  Coordinate descent; Besag (1986), "On the statistical analysis of dirty pictures", JRSS B
         48(3), for settling the sites of a random field one by one.
Oracle.  tests/mechanisms/marginals/generators/moves/test_coordinate_search.py tries every code of
         every entry by hand.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Floats32, Integers, Table
from hallmark.mechanisms.compiled import compiled
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.rules import obeys
from hallmark.mechanisms.marginals.generators.moves.valid_moves import ValidMoves

_BUNDLE = 8  # cells of a line that are summed together
_CACHE_LINE = 16  # of these numbers
_MARGIN = np.float32(1e-3)  # of a change's own weight that it must gain: rounding gains less


class Lines(NamedTuple):
    """The cliques, each laid out once for every attribute of it. A link is such a layout.

    Row l of `strides` says: the cell of a record lies at starts[l] + sum_j strides[l, j]
    record[members[clique, j]], and the stride of the link's own attribute is 1.

    Attributes:
        starts: shape (links,).
        strides: shape (links, ways); 0 beyond a clique's own attributes.
        clique: of every link, shape (links,); a clique's links follow each other.
        links_from: first link of every clique, shape (cliques + 1,).
        members: attributes of every clique, shape (cliques, ways).
        own, own_from: links of attribute a are own[own_from[a] : own_from[a + 1]], those of pairs
            first.
        wide: from own[wide[a]] on they are of other cliques than pairs.
        pairs: for a link of a pair its start, the other attribute and that one's stride, and start
            and stride of this attribute in the other's link, in the order of `own`, shape
            (links, 5).
        pair_weight: likewise, shape (links,).
        weight: of every clique, shape (cliques,).
        load: sum of these for every attribute, shape (attributes,).
        sizes: cells of every attribute.
    """

    starts: Integers
    strides: Integers
    clique: Integers
    links_from: Integers
    members: Integers
    own: Integers
    own_from: Integers
    wide: Integers
    pairs: Integers
    pair_weight: Floats32
    weight: Floats32
    load: Floats32
    sizes: Integers


def lines(shape: Sequence[int], cliques: Sequence[Clique], weights: Sequence[float]) -> Lines:
    """The layout for cliques of attributes with `shape` cells, all of them weighted."""
    ways = max((len(clique) for clique in cliques), default=1)
    members = np.zeros((len(cliques), ways), dtype=np.int64)
    starts: list[int] = []
    strides: list[list[int]] = []
    of: list[int] = []  # clique of every link
    own: list[list[int]] = [[] for _ in shape]
    end = 0
    for i, clique in enumerate(cliques):
        members[i, : len(clique)] = clique
        for a in clique:
            sizes = [*(shape[other] for other in clique if other != a), _padded(shape[a])]
            order = [*(other for other in clique if other != a), a]
            step = {b: prod(sizes[j + 1 :]) for j, b in enumerate(order)}
            own[a].append(len(starts))
            starts.append(end)
            strides.append([step[b] for b in clique] + [0] * (ways - len(clique)))
            of.append(i)
            end += prod(sizes)
    weight = np.asarray(weights, dtype=np.float32)
    narrow = [[link for link in links if len(cliques[of[link]]) == 2] for links in own]
    own = [
        few + [link for link in links if link not in few]
        for few, links in zip(narrow, own, strict=True)
    ]
    own_from = np.cumsum([0, *(len(links) for links in own)])
    pairs = np.zeros((len(starts), 5), dtype=np.int64)
    pair_weight = np.zeros(len(starts), dtype=np.float32)
    links_from = np.cumsum([0, *(len(clique) for clique in cliques)])
    for a, few in enumerate(narrow):
        for k, link in enumerate(few, start=int(own_from[a])):
            clique = cliques[of[link]]
            here = clique.index(a)
            there = 1 - here
            twin = int(links_from[of[link]]) + there
            pairs[k, :3] = starts[link], clique[there], strides[link][there]
            pairs[k, 3:] = starts[twin], strides[twin][here]
            pair_weight[k] = weight[of[link]]
    return Lines(
        starts=np.array(starts, dtype=np.int64),
        strides=np.array(strides, dtype=np.int64).reshape(-1, ways),
        clique=np.array(of, dtype=np.int64),
        links_from=links_from,
        members=members,
        own=np.array([link for links in own for link in links], dtype=np.int64),
        own_from=own_from,
        wide=own_from[:-1] + [len(few) for few in narrow],
        pairs=pairs,
        pair_weight=pair_weight,
        weight=weight,
        load=np.array([sum(weight[of[link]] for link in links) for links in own], np.float32),
        sizes=np.array(shape, dtype=np.int64),
    )


def _padded(cells: int) -> int:
    """The length of a line of so many cells: whole bundles."""
    return -(-cells // _BUNDLE) * _BUNDLE


def laid_out(over: Table, targets: Mapping[Clique, Table]) -> Floats32:
    """The excess of all cells, which is given clique by clique, link by link."""
    shapes = [target.shape for target in targets.values()]
    size = sum(prod(shape) // k * _padded(k) for shape in shapes for k in shape)
    found = _aligned(size)
    start = end = 0
    for shape in shapes:
        table = over[start : start + prod(shape)].reshape(shape)
        start += table.size
        for axis, k in enumerate(shape):
            lines_of = found[end : end + table.size // k * _padded(k)].reshape(-1, _padded(k))
            end += lines_of.size
            lines_of[:, :k] = np.moveaxis(table, axis, -1).reshape(-1, k)
    return found


def _aligned(size: int) -> Floats32:
    """Zeros from the start of a cache line on: a line of 16 cells would else lie in two."""
    room = np.zeros(size + _CACHE_LINE, dtype=np.float32)
    skipped = -(room.ctypes.data // room.itemsize) % _CACHE_LINE
    return room[skipped : skipped + size]


def settle(codes: AnyCodes, over: Floats32, place: Lines, moves: ValidMoves) -> None:
    """Let every entry take its best allowed code, in place, and keep the excess.

    Args:
        codes: shape (rows, attributes), in C order; all records obey the rules.
        over: as `laid_out` makes it.
        moves: what may change alone, and what it must obey.
    """
    _settle(codes, over, place, moves.tables, moves.alone)


@compiled()
def _settle(codes, over, place, tables, alone):  # type: ignore[no-untyped-def]  # compiled, numba infers the types
    slopes, pairs = np.empty(place.sizes.max() + _BUNDLE, np.float32), place.pairs
    for record in range(codes.shape[0]):
        row = codes[record]
        for a in range(codes.shape[1]):
            if not alone[a] or place.own_from[a] == place.own_from[a + 1]:
                continue
            size = place.sizes[a]
            for at in range(0, size, _BUNDLE):
                _sum_bundle(over, pairs, place.own_from[a], place.wide[a], row, at, slopes)
            for k in range(place.wide[a], place.own_from[a + 1]):
                start = _cell(place, place.own[k], row) - np.int64(row[a])
                for i in range(size):
                    slopes[i] += over[start + i]
            here = np.int64(row[a])
            limit = slopes[here] - (1 + _MARGIN) * place.load[a]
            while True:
                new = np.argmin(slopes[:size])
                if not slopes[new] < limit:
                    break
                if obeys(row, a, new, tables):
                    _move(over, place, row, a, new)
                    break
                slopes[new] = np.inf


@compiled(inline="always")
def _sum_bundle(over, pairs, first, last, row, at, slopes):  # type: ignore[no-untyped-def]  # compiled, as above
    """Sums of a bundle of codes over the links of pairs, one by one in registers."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.float32(0)
    for k in range(first, last):
        i = np.uint64(pairs[k, 0] + pairs[k, 2] * np.int64(row[pairs[k, 1]]) + at)
        s0 += over[i]
        s1 += over[i + np.uint64(1)]
        s2 += over[i + np.uint64(2)]
        s3 += over[i + np.uint64(3)]
        s4 += over[i + np.uint64(4)]
        s5 += over[i + np.uint64(5)]
        s6 += over[i + np.uint64(6)]
        s7 += over[i + np.uint64(7)]
    slopes[at : at + _BUNDLE] = (s0, s1, s2, s3, s4, s5, s6, s7)


@compiled(inline="always")
def _cell(place, link, row):  # type: ignore[no-untyped-def]  # compiled, as above
    at = place.starts[link]
    clique = place.clique[link]
    for j in range(place.members.shape[1]):
        at += place.strides[link, j] * np.int64(row[place.members[clique, j]])
    return at


@compiled()
def _move(over, place, row, a, new):  # type: ignore[no-untyped-def]  # compiled, as above
    """Let attribute `a` of the record become `new`, in all layouts of all cliques that hold it."""
    old = np.int64(row[a])
    change = np.int64(new) - old
    pairs = place.pairs
    for k in range(place.own_from[a], place.wide[a]):
        weight, other = place.pair_weight[k], np.int64(row[pairs[k, 1]])
        here = pairs[k, 0] + pairs[k, 2] * other + old
        there = pairs[k, 3] + pairs[k, 4] * old + other
        over[here] -= weight
        over[here + change] += weight
        over[there] -= weight
        over[there + pairs[k, 4] * change] += weight
    for k in range(place.wide[a], place.own_from[a + 1]):
        clique = place.clique[place.own[k]]
        for link in range(place.links_from[clique], place.links_from[clique + 1]):
            here, step = _cell(place, link, row), np.int64(0)
            for j in range(place.members.shape[1]):
                # Beyond a clique's own attributes strides are 0.
                if place.members[clique, j] == a and place.strides[link, j] > 0:
                    step = place.strides[link, j]
            over[here] -= place.weight[clique]
            over[here + change * step] += place.weight[clique]
    row[a] = new
