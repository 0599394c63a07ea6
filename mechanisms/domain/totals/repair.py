"""Move as few records as possible, so that all totals hold and no rule is broken.

Claim.   `hold` returns valid records with all totals. In no other way do fewer of the given records
         change their cells in the columns of a block. What moves goes a short way: records and
         their new cells are matched at least total distance where that is a small program, else in
         the order of cells. Columns outside totals change only in moved records, and only where a
         rule asks for it, to the nearest valid record.
Proof.   How many leave and enter each kind of cell is the optimum of `program.least_change`; each
         record that leaves a kind enters another, so as many move as the optimum says. A joint cell
         is entered only where some valid record has it, so the other columns can follow.
Oracle.  tests/mechanisms/domain/totals/test_repair.py: all tables of small domains.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from hallmark.mechanisms.arrays import Codes, Floats, Integers
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.domain.totals.blocks import Block, blocks
from hallmark.mechanisms.domain.totals.program import least_change
from hallmark.mechanisms.domain.totals.totals import PublicTotals

MOST_PAIRS = 2**17  # of cells that records may leave and cells that they may enter
_CANDIDATES = 4  # records tried per way, of which one that stays valid takes it
_EQUAL = 1e-9  # distances that differ by less are ties


def hold(totals: PublicTotals, rules: Rules, codes: Codes, rng: np.random.Generator) -> Codes:
    """Valid records with all totals near the given ones, shape (n, attributes).

    Args:
        rules: with a table for every determination.
        codes: valid, and as many as the totals count.
    Raises:
        ValueError: there are none (see `check`), or not as many records as the totals count.
    """
    if len(codes) != totals.records:
        raise ValueError(f"the totals count {totals.records} records, but there are {len(codes)}")
    moved = codes.copy()
    for block in blocks(totals, rules):
        _move(block, rules, moved, rng)
    wrong = np.flatnonzero(~rules.valid(moved))
    if len(wrong):
        moved[wrong] = rules.repair(moved[wrong], rng, fixed=totals.columns)
    return moved


@dataclass(frozen=True, eq=False)
class _Ways:
    """Moves of records from joint cell to joint cell, one way a record."""

    sources: Integers
    targets: Integers


def _move(block: Block, rules: Rules, codes: Codes, rng: np.random.Generator) -> None:
    """Move records, in place, until the totals of the block hold."""
    joint = block.joint(codes)
    kinds = block.kinds[joint]
    assert (kinds >= 0).all(), "the records are valid"
    counts = np.bincount(kinds, minlength=block.matrix.shape[1])
    change = least_change(block, counts) - counts
    if not change.any():
        return
    ways = _ways(block, rules, joint, change, rng)
    rows, way = _candidates(joint, ways, rng)
    tried = codes[rows]
    tried[:, list(block.columns)] = block.codes(ways.targets[way])
    order = np.lexsort((np.arange(len(rows)), ~rules.valid(tried), way))
    first = order[np.unique(way[order], return_index=True)[1]]
    codes[rows[first]] = tried[first]


def _ways(
    block: Block, rules: Rules, joint: Integers, change: Integers, rng: np.random.Generator
) -> _Ways:
    """Ways that change the counts of kinds by `change`."""
    common = np.bincount(joint, minlength=len(block.kinds))
    possible = block.kinds >= 0
    changes = np.where(possible, change[block.kinds], 0)
    left, entered = np.flatnonzero((common > 0) & (changes < 0)), np.flatnonzero(changes > 0)
    if len(left) * len(entered) > MOST_PAIRS:
        return _in_order(block.kinds, left, entered, common, change, rng)
    entered = entered[np.argsort(block.kinds[entered], kind="stable")]
    kinds, starts = np.unique(block.kinds[entered], return_index=True)
    distances = _distances(block, rules, left, entered)
    shortest = np.minimum.reduceat(distances, starts, axis=1)
    flows = _matched(shortest, common[left], block.kinds[left], change[kinds], change)
    ends = np.append(starts[1:], len(entered))
    sources, targets = [], []
    for i, k in np.argwhere(flows > 0):
        near = distances[i, starts[k] : ends[k]] <= shortest[i, k] + _EQUAL
        cells = entered[starts[k] : ends[k]][near]
        sources.append(np.full(flows[i, k], left[i]))
        targets.append(_shared(int(flows[i, k]), cells, common, rng))
    return _Ways(np.concatenate(sources), np.concatenate(targets))


def _in_order(
    kinds: Integers,
    left: Integers,
    entered: Integers,
    common: Integers,
    change: Integers,
    rng: np.random.Generator,
) -> _Ways:
    """Ways between cells in their order, from and to cells of a kind in proportion."""
    sources, targets = [], []
    for kind in np.unique(kinds[left]):
        cells = left[kinds[left] == kind]
        drawn = rng.multivariate_hypergeometric(common[cells], -change[kind])
        sources.append(np.repeat(cells, drawn))
    for kind in np.unique(kinds[entered]):
        cells = entered[kinds[entered] == kind]
        targets.append(_shared(int(change[kind]), cells, common, rng))
    return _Ways(np.sort(np.concatenate(sources)), np.sort(np.concatenate(targets)))


def _matched(
    costs: Floats, held: Integers, kinds: Integers, entering: Integers, change: Integers
) -> Integers:
    """How many records go from each cell to each kind, at least total cost; shape as `costs`.

    The constraints on cells and on kinds are nested on either side, so that the vertices of the
    linear program are whole numbers.

    Args:
        costs: shape (cells, kinds entered).
        held: records in each cell.
        kinds: of each cell.
        entering: records that enter each of the kinds entered.
        change: of every kind.
    """
    n, m = costs.shape
    pairs = np.arange(n * m)
    ones = np.ones(n * m)
    from_cell = csr_array((ones, (pairs // m, pairs)), shape=(n, n * m))
    leaving, kind_of = np.unique(kinds, return_inverse=True)
    from_kind = csr_array((ones, (kind_of.reshape(-1)[pairs // m], pairs)))
    to_kind = csr_array((ones, (pairs % m, pairs)))
    from scipy.optimize import linprog  # here, as in `program`

    result = linprog(
        costs.ravel(),
        A_ub=from_cell,
        b_ub=held,
        A_eq=csr_array(vstack([from_kind, to_kind])),
        b_eq=np.concatenate([-change[leaving], entering]),
        method="highs-ds",  # the simplex method ends at a vertex
    )
    assert result.status == 0, "as many records leave as enter, and each kind holds those it loses"
    return np.rint(result.x).astype(np.int64).reshape(n, m)


def _distances(block: Block, rules: Rules, ones: Integers, others: Integers) -> Floats:
    """Distances between two lists of joint cells, as the repair of rules measures them.

    |a - b| / k between two of k ordered values, 1 for any other change of a column.
    """
    a, b = block.codes(ones), block.codes(others)
    distances = np.zeros((len(ones), len(others)))
    for j, (column, size) in enumerate(zip(block.columns, block.shape, strict=True)):
        one, other = a[:, j][:, None], b[:, j][None, :]
        way = np.where(one == other, 0.0, 1.0)
        if column in rules.ordered:
            levels = size - (column in rules.nullable)
            values = (one < levels) & (other < levels)
            way = np.where(values, np.abs(one - other) / max(levels, 1), way)
        distances += way
    return distances


def _shared(records: int, cells: Integers, common: Integers, rng: np.random.Generator) -> Integers:
    """Cells for so many records, at random in proportion to how common they are."""
    share = common[cells] / common[cells].sum() if common[cells].any() else None
    return rng.choice(cells, size=records, p=share)


def _candidates(
    joint: Integers, ways: _Ways, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Records that may take each way, and which way; some for every way, each for one way only."""
    shuffled = rng.permutation(len(joint))
    by_cell = shuffled[np.argsort(joint[shuffled], kind="stable")]
    by_source = np.argsort(ways.sources, kind="stable")
    cells, starts, wanted = np.unique(
        ways.sources[by_source], return_index=True, return_counts=True
    )
    low = np.searchsorted(joint[by_cell], cells, side="left")
    high = np.searchsorted(joint[by_cell], cells, side="right")
    rows, way = [], []
    for start, many, begin, end in zip(starts, wanted, low, high, strict=True):
        some = by_cell[begin : min(end, begin + _CANDIDATES * many)]
        rows.append(some)
        way.append(by_source[start + np.arange(len(some)) % many])
    return np.concatenate(rows), np.concatenate(way)
