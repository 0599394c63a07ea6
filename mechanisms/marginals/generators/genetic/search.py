"""The genetic search of Private GSD, compiled: elites of tables, and candidates one change away.

A generation takes the best table and makes candidates of it, each with one change: a *mutation*
gives a random attribute of a random record a random code, a *crossover* gives it the code that a
random record of a random elite has there. The elites of the next generation are the fittest of
elites and candidates.

As all candidates, hence all later elites, are the best table of some generation with one change, a
candidate is scored by the cells that its change touches, and an elite's table is brought up to date
by replaying what the best table went through since; no table is copied and none is counted anew.

Claim.   The generations are those of a search that counts every candidate from scratch and sorts
         elites and candidates, elites first, by fitness (ties keep their order).
Oracle.  tests/mechanisms/marginals/generators/genetic/test_search.py holds that search.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Codes, Table
from hallmark.mechanisms.compiled import compiled
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.rules import obeys
from hallmark.mechanisms.marginals.generators.moves.excess import (
    Layout,
    error,
    excess,
    layout,
    move,
    move_block,
    score,
    score_block,
)
from hallmark.mechanisms.marginals.generators.moves.valid_moves import ValidMoves

_LOG = 1024  # changes of the best table that are remembered; older elites are copied whole


class Herd(NamedTuple):
    """Elites and the best of them, for compiled code. All arrays are changed in place.

    Slot s holds a table that equals the best one after `known[s]` of its changes, but for record
    `odd[s]` (none if negative), which was `even[s]` then. Errors are in records^2.

    Attributes:
        best: the best table, shape (rows, attributes).
        over: its excess.
        tables: shape (elites, rows, attributes).
        errors: of the tables, shape (elites,).
        order: slots, the fittest first, shape (elites,).
        known, odd: shape (elites,); even: shape (elites, attributes).
        log_record, log_codes: the latest changes of the best table, round and round; shapes
            (_LOG,) and (_LOG, attributes).
        changes: how many it had, shape (1,).
    """

    best: Codes
    over: Table
    tables: Codes
    errors: Table
    order: NDArray[np.int64]
    known: NDArray[np.int64]
    odd: NDArray[np.int64]
    even: Codes
    log_record: NDArray[np.int64]
    log_codes: Codes
    changes: NDArray[np.int64]

    @property
    def error(self) -> float:
        """Error of the best table, records^2."""
        return float(self.errors[self.order[0]])


class Proposals(NamedTuple):
    """Candidates of some generations. Units past the attributes are blocks.

    Attributes:
        record: which record changes; mutations come first; shape (generations, candidates).
        unit: which attribute changes, or with crossovers which block; same shape.
        code: the new code, shape (generations, mutations).
        elite: the rank of the donor's table, shape (generations, crossovers).
        donor: the record there, same shape.
    """

    record: NDArray[np.int32]
    unit: NDArray[np.int32]
    code: NDArray[np.int32]
    elite: NDArray[np.int32]
    donor: NDArray[np.int32]


def place_of(
    shape: Sequence[int],
    targets: Mapping[Clique, Table],
    weights: Sequence[float],
    moves: ValidMoves,
) -> Layout:
    """The layout that `herd` and `generations` need."""
    return layout(shape, tuple(targets), weights, moves.blocks)


def herd(tables: Codes, targets: Mapping[Clique, Table], weights: Sequence[float]) -> Herd:
    """The herd whose first elites are these tables, shape (elites, rows, attributes)."""
    errors = np.array(
        [error(excess(table, targets, weights), targets, weights) for table in tables]
    )
    order = np.argsort(errors, kind="stable")
    best = tables[order[0]].copy()
    elites, _, attributes = tables.shape
    known = np.full(elites, -2 * _LOG, dtype=np.int64)  # unlike the best table
    known[order[0]] = 0
    return Herd(
        best=best,
        over=excess(best, targets, weights),
        tables=np.array(tables, dtype=np.int32, order="C"),
        errors=errors,
        order=order.astype(np.int64),
        known=known,
        odd=np.full(elites, -1, dtype=np.int64),
        even=np.zeros((elites, attributes), dtype=np.int32),
        log_record=np.zeros(_LOG, dtype=np.int64),
        log_codes=np.zeros((_LOG, attributes), dtype=np.int32),
        changes=np.zeros(1, dtype=np.int64),
    )


def draw(
    generations: int,
    *,
    mutations: int,
    crossovers: int,
    rows: int,
    elites: int,
    shape: Sequence[int],
    blocks: int,
    rng: np.random.Generator,
) -> Proposals:
    """Uniform candidates."""
    attributes, mutants, crossed = len(shape), (generations, mutations), (generations, crossovers)
    sizes = np.array(shape, dtype=np.int32)
    mutated = rng.integers(attributes, size=mutants, dtype=np.int32)
    share = rng.random(mutants, dtype=np.float32)
    return Proposals(
        record=rng.integers(rows, size=(generations, mutations + crossovers), dtype=np.int32),
        unit=np.hstack([mutated, rng.integers(attributes + blocks, size=crossed, dtype=np.int32)]),
        code=(share * sizes[mutated]).astype(np.int32),
        elite=rng.integers(elites, size=crossed, dtype=np.int32),
        donor=rng.integers(rows, size=crossed, dtype=np.int32),
    )


@compiled()
def generations(herd, place, tables, alone, drawn):  # type: ignore[no-untyped-def]  # compiled, numba infers the types
    """Let the herd go through the generations that were drawn.

    Args:
        herd: a `Herd`; place: a `Layout`; drawn: the `Proposals`.
        tables, alone: of the `ValidMoves`; candidates that break a rule die.
    """
    best, over, order = herd.best, herd.over, herd.order
    elites, attributes = len(order), best.shape[1]
    candidates, mutations = drawn.record.shape[1], drawn.code.shape[1]
    heirs = np.empty(elites, dtype=np.int64)  # slots of old elites, then elites + candidates
    errors = np.empty(elites)
    born = np.empty((candidates, attributes), dtype=np.int32)  # the record that a candidate changed
    for g in range(drawn.record.shape[0]):
        least = herd.errors[order[0]]
        for k in range(elites):
            heirs[k] = order[k]
            errors[k] = herd.errors[order[k]]
        for c in range(candidates):
            record = best[drawn.record[g, c]]
            unit = drawn.unit[g, c]
            a = np.uint64(unit)
            new = np.int32(0)
            donor = record
            if c < mutations:
                new = drawn.code[g, c]
            else:
                donor = herd.tables[order[drawn.elite[g, c - mutations]]][
                    drawn.donor[g, c - mutations]
                ]
            if unit < attributes:
                if c >= mutations:
                    new = donor[a]
                change = 0.0
                if new != record[a]:
                    change = score(over, place, record, a, new)
            else:
                change = score_block(over, place, record, donor, unit - attributes)
            if not least + change < errors[elites - 1]:
                continue
            moved = unit < attributes and new != record[a]
            if moved and not (alone[a] and obeys(record, a, new, tables)):
                continue
            _copy(record, born[c])
            if unit < attributes:
                born[c, a] = new
            else:
                for m in range(
                    place.member_first[unit - attributes], place.member_first[unit - attributes + 1]
                ):
                    born[c, place.member[m]] = donor[place.member[m]]
            k = elites - 1
            while k > 0 and least + change < errors[k - 1]:
                heirs[k] = heirs[k - 1]
                errors[k] = errors[k - 1]
                k -= 1
            heirs[k] = elites + c
            errors[k] = least + change
        _succeed(herd, heirs, errors, drawn.record[g], born)
        if heirs[0] >= elites:
            c = heirs[0] - elites
            _improve(herd, place, drawn.record[g, c], drawn.unit[g, c], born[c])


@compiled()
def _succeed(herd, heirs, errors, record, born):  # type: ignore[no-untyped-def]
    """Put the heirs in the elites' places: those in slots stay, candidates take free slots."""
    elites = len(heirs)
    free = np.ones(elites, dtype=np.bool_)
    for k in range(elites):
        if heirs[k] < elites:
            free[heirs[k]] = False
    slot = 0
    for k in range(elites):
        if heirs[k] >= elites:
            while not free[slot]:
                slot += 1
            free[slot] = False
            c = heirs[k] - elites
            _catch_up(herd, slot)
            table = herd.tables[slot]
            herd.odd[slot] = record[c]
            _copy(table[record[c]], herd.even[slot])
            _copy(born[c], table[record[c]])
            herd.order[k] = slot
        else:
            herd.order[k] = heirs[k]
        herd.errors[herd.order[k]] = errors[k]


@compiled()
def _catch_up(herd, slot):  # type: ignore[no-untyped-def]
    """Make the table of a slot that of the best."""
    table, now = herd.tables[slot], herd.changes[0]
    size = len(herd.log_record)
    if now - herd.known[slot] > size:
        for at in range(len(table)):
            _copy(herd.best[at], table[at])
    else:
        if herd.odd[slot] >= 0:
            _copy(herd.even[slot], table[herd.odd[slot]])
        for change in range(herd.known[slot], now):
            _copy(herd.log_codes[change % size], table[herd.log_record[change % size]])
    herd.known[slot] = now


@compiled()
def _improve(herd, place, at, unit, born):  # type: ignore[no-untyped-def]
    """Change the best table in one record."""
    record = herd.best[at]
    if unit < len(record):
        a = np.uint64(unit)
        move(herd.over, place, record, a, born[a])
    else:
        move_block(herd.over, place, record, born, unit - len(record))
    change = herd.changes[0] % len(herd.log_record)
    herd.log_record[change] = at
    _copy(record, herd.log_codes[change])
    herd.changes[0] += 1


@compiled()
def _copy(source, target):  # type: ignore[no-untyped-def]
    """Copy a record; a loop compiles much faster than an assignment of slices."""
    for j in range(len(source)):
        target[j] = source[j]
