"""Polish a coded table: a local search that lowers the squared error of all its marginals.

It takes a record and an attribute, proposes another record's code (or, one time in five, any code)
and keeps the change if the weighted squared error of the counts against their targets falls. Where
rules connect attributes, it also proposes to copy all of them from another record. Local search on
records is the idea of Liu, Tang, Vietri, Wu (2023), "Generating private synthetic data with genetic
algorithms", ICML; here there is one table, and every change that helps is kept at once.

A few sweeps of that bring the table near its targets, and hardly change what no target sees; then
few proposals help, and every entry takes its best code instead (`coordinate_search`), sweep by
sweep, until that gains little.

Claim.   The error never rises, the last one reported is that of the result, and all records of the
         result obey the rules.
Oracle.  tests/mechanisms/marginals/generators/moves/test_local_search.py recounts from scratch.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes, Codes, Table
from hallmark.mechanisms.compiled import compiled
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.rules import Rules, obeys
from hallmark.mechanisms.domain.rules.rules import joint_of
from hallmark.mechanisms.marginals.generators.moves.coordinate_search import (
    laid_out,
    lines,
    settle,
)
from hallmark.mechanisms.marginals.generators.moves.excess import (
    error,
    excess,
    layout,
    move,
    move_block,
    score,
    score_block,
)
from hallmark.mechanisms.marginals.generators.moves.valid_moves import ValidMoves, valid_moves

_BLOCK = 1 << 18  # proposals between two reports of progress
_ANY_CODE = 0.2  # share of proposals of a code drawn uniformly
_NEAR = 1 << 10  # records among which a donor is drawn: those that are in the cache already
_AT_RANDOM = 4  # sweeps
_MANY = 100_000  # records from which on they need be no nearer to the targets than ...
_NEARER = 0.006  # ... this share of the squared distance that as many independent draws have


def polish(
    codes: Codes,
    targets: Mapping[Clique, Table],
    *,
    weights: Mapping[Clique, float] | None = None,
    rules: Rules,
    sweeps: int,
    rng: np.random.Generator,
    report: Callable[[float], None] = lambda share: None,
    tolerance: float = 0.05,
) -> tuple[Codes, list[float]]:
    """Polished codes, and the error at the start, after every block of proposals, and after every
    sweep that settled entries.

    The error is the weighted mean over cliques of the squared L2 distance of probabilities.

    Args:
        codes: shape (rows, attributes), within the shape of the rules; not changed. Records that
            break rules are repaired first; their order must not mean anything.
        targets: probabilities, shape (k_a for a in clique); any real numbers.
        weights: of the cliques, positive; all 1 if None.
        rules: of the whole domain, with its shape. Determinations are settled by the records.
        sweeps: how many there are at most; a sweep visits as many entries as the table has.
        report: called with the share done, 1 at the end.
        tolerance: the search ends when a sweep lowers the error by less than this share of it; of
            many records, also when that is small beside the error of as many independent draws from
            the targets, which is 1 / rows at most.

    Raises:
        ValueError: a target has another shape than its clique, or a weight is not positive.
    """
    loads = _checked(codes, targets, weights, rules)
    # The fewest bytes: many records are read from memory once in every few proposals.
    least = np.min_scalar_type(max(rules.shape) - 1)
    polished = np.array(codes, dtype=least, order="C")
    if rules.determinations:
        rules = rules.settled(joint_of(polished, rules.shape))
    if rules:
        repaired = rules.repair(polished.astype(np.int32), rng)
        polished = np.ascontiguousarray(repaired, dtype=least)
    moves = valid_moves(rules)
    search = _Search(polished, targets, loads, rules.shape, moves, rng)
    search.at_random(
        min(sweeps, _AT_RANDOM), tolerance, lambda done: report(min(1.0, done / sweeps))
    )
    enough = _NEARER / len(polished) if len(polished) >= _MANY else 0.0
    for sweep in range(_AT_RANDOM, sweeps):
        before = search.history[-1]
        if before <= enough:
            break
        search.settle()
        if moves.blocks:  # no entry of theirs may change alone
            search.at_random(1, 0.0, lambda done: None)
        report((sweep + 1) / sweeps)
        if _share(before, search.history[-1]) < tolerance:
            break
    report(1.0)
    return search.codes.astype(np.int32), search.history


class _Search:
    """A table on its way to the targets.

    Attributes:
        codes: shape (rows, attributes).
        history: the error at the start and after every step.
    """

    def __init__(
        self,
        codes: AnyCodes,
        targets: Mapping[Clique, Table],
        loads: Sequence[float],
        shape: tuple[int, ...],
        moves: ValidMoves,
        rng: np.random.Generator,
    ) -> None:
        self.codes = codes
        self._targets, self._loads, self._moves = targets, loads, moves
        self._shape, self._rng = shape, rng
        self._over = excess(codes, targets, loads)
        self.history = [self._error(self._over)]

    def at_random(self, sweeps: int, tolerance: float, report: Callable[[float], None]) -> None:
        """Proposals for as many entries as so many sweeps have, in blocks; fewer where a sweep
        gains less than `tolerance`. `report` is told how many sweeps are done."""
        moves = self._moves
        place = layout(self._shape, tuple(self._targets), self._loads, moves.blocks)
        size = min(_BLOCK, self.codes.size)
        sweep = -(-self.codes.size // size)  # in blocks
        for block in range(1, sweeps * sweep + 1):
            drawn = _draw(size, len(self.codes), self._shape, len(moves.blocks), self._rng)
            _try(self.codes, self._over, place, moves.tables, moves.alone, *drawn)
            self.history.append(self._error(self._over))
            report(block / sweep)
            if block >= sweep and _share(self.history[-1 - sweep], self.history[-1]) < tolerance:
                break

    def settle(self) -> None:
        """Let every entry take its best code, unless that is not for the better: it rounds."""
        place = lines(self._shape, tuple(self._targets), self._loads)
        settled = self.codes.copy()
        settle(settled, laid_out(self._over, self._targets), place, self._moves)
        over = excess(settled, self._targets, self._loads)
        after = self._error(over)
        if after < self.history[-1]:
            self.codes, self._over = settled, over
        self.history.append(min(after, self.history[-1]))

    def _error(self, over: Table) -> float:
        scale = float(sum(self._loads)) * len(self.codes) ** 2 or 1.0
        return error(over, self._targets, self._loads) / scale


def _share(before: float, after: float) -> float:
    """The share of an error that is gone."""
    return (before - after) / before if before > 0 else 0.0


def _checked(
    codes: Codes,
    targets: Mapping[Clique, Table],
    weights: Mapping[Clique, float] | None,
    rules: Rules,
) -> list[float]:
    """The weights in the order of the targets."""
    if codes.ndim != 2 or codes.shape[1] != len(rules.shape) or len(codes) == 0:
        raise ValueError(
            f"codes: shape {codes.shape}, but the rules are about {len(rules.shape)} attributes, "
            "and one record is needed at least"
        )
    for clique, target in targets.items():
        expected = tuple(rules.shape[a] for a in clique)
        if target.shape != expected:
            raise ValueError(f"targets[{clique}]: shape {target.shape}, expected {expected}")
    if weights is None:
        return [1.0] * len(targets)
    loads = [float(weights.get(clique, np.nan)) for clique in targets]
    for clique, load in zip(targets, loads, strict=True):
        if not 0 < load < np.inf:
            raise ValueError(
                f"weights[{clique}]: {load:g}, but every target needs a positive number; leave a "
                "clique that should not count out of the targets"
            )
    return loads


def _draw(
    block: int, rows: int, shape: tuple[int, ...], blocks: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], ...]:
    """Proposals: record, what changes there, donor (or -1), and the code where there is none.

    They come in the order of the records, and donors are near, which the order of the records must
    not matter for: memory is then read in its order.
    """
    attributes = len(shape)
    sizes = np.array([*shape, *[1] * blocks], dtype=np.int32)
    unit = rng.integers(attributes + blocks, size=block, dtype=np.int32)
    code = (rng.random(block, dtype=np.float32) * sizes[unit]).astype(np.int32)
    record = np.sort(rng.integers(rows, size=block, dtype=np.int32))
    donor = (record + rng.integers(min(rows, _NEAR), size=block, dtype=np.int32)) % rows
    anything = rng.random(block, dtype=np.float32) < _ANY_CODE
    donor[anything & (unit < attributes)] = -1
    return record, unit, donor, code


@compiled()
def _try(codes, over, place, tables, alone, record, unit, donor, code):  # type: ignore[no-untyped-def]  # compiled, numba infers the types
    """Try the proposals in turn, in place. Units past the attributes are blocks."""
    attributes = codes.shape[1]
    for p in range(len(record)):
        row = codes[record[p]]
        a = np.uint64(unit[p])
        if a < attributes:
            new = code[p] if donor[p] < 0 else codes[donor[p], a]
            if (
                new != row[a]
                and score(over, place, row, a, new) < 0.0
                and alone[a]
                and obeys(row, a, new, tables)
            ):
                move(over, place, row, a, new)
        else:
            b = unit[p] - attributes
            other = codes[donor[p]]
            if score_block(over, place, row, other, b) < 0.0:
                move_block(over, place, row, other, b)
