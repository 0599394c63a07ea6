"""Which tables to measure with how much of the budget: the matrix mechanism on marginals.

The shares x_S of the budget give precisions w_S = x_S^r, with r = 1 for Gaussian noise (rho adds
up, and rho goes with the precision) and r = 2 for Laplace noise (epsilon adds up, and its square
goes with the precision). The variance of query q is

    v_q(x) = sum_A e_qA / tau_A(x),   tau_A = sum_S b_SA x_S^r       (`linear_estimate`)

and F_p(x) = (sum_q v_q^p)^(1/p) is minimised over shares that sum to 1: p = 1 is the mean squared
error, a large p comes near to the worst query's.

Claim.   For r = 1, F is convex and homogeneous of degree -1, so with d_S = -dF/dx_S the least value
         is at least F (2 - max_S d_S / F): `Shares.excess` is max_S d_S / F - 1, a proof. For r = 2
         the problem is not convex; where the search ends depends on where it starts.
Source.  Li, Miklau, Hay, McGregor, Rastogi (2015), "The matrix mechanism", VLDB Journal 24; Xiao
         et al. (2023), NeurIPS, for marginals. Multiplicative steps: Silvey, Titterington, Torsney
         (1978), Comm. Statistics A7; Yu (2010), Ann. Statist. 38, proves p = 1, r = 1 monotone.
Oracle.  tests/mechanisms/linear_queries/direct/test_optimise.py: a general solver, closed forms.

What differs: only marginals as they are (and blocks' own cells) are measured, not their parts, so
that every measurement is a table of counts; the optimum over those may be a little worse.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from scipy import sparse

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.linear_queries.direct.linear_estimate import (
    Asked,
    Part,
    needed,
    size_of,
    subsets,
)
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.linear_queries import EachCell

_STEPS = 400
_ENOUGH = 0.01  # of excess
_ROWS = 256  # of a block that stand for all, evenly chosen, where its queries differ
_GROUPED = 6  # digits to which energies of queries of one kind agree
_NOTHING = 1e-12  # of a query's energies, which is rounding


@dataclass(frozen=True, eq=False)
class Problem:
    """What shares are chosen for. Public.

    Attributes:
        asked: tables that may be measured.
        seen: b, sparse of shape (asked, parts): what a table of precision 1 tells of a part.
        energies: e, shape (kinds of queries, parts): variance at precision 1 of every part.
        counts: how many queries are of a kind, shape (kinds,).
    """

    asked: tuple[Asked, ...]
    seen: sparse.csr_array
    energies: sparse.csr_array
    counts: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Shares:
    """Shares of the budget, and how good they are.

    Attributes:
        values: nonnegative, summing to 1, shape (asked,).
        objective: F there.
        excess: for Gaussian noise, no shares have less than (1 - excess) F.
    """

    values: Floats
    objective: float
    excess: float


def problem(universe: Universe, asked: Sequence[Asked]) -> Problem:
    """The problem of these queries and tables; blocks' own cells are used where they are asked."""
    own = {block for block in asked if isinstance(block, int)}
    parts = needed(universe, own)
    place = {part: column for column, part in enumerate(parts)}
    rows = [_seen(universe, one, parts, place) for one in asked]
    kinds: dict[tuple[tuple[int, float], ...], float] = {}
    for block in range(len(universe.queries.blocks)):
        for kind, count in _kinds(universe, block, block in own, place).items():
            kinds[kind] = kinds.get(kind, 0.0) + count
    return Problem(
        tuple(asked),
        _sparse(rows, len(parts)),
        _sparse([dict(kind) for kind in kinds], len(parts)),
        np.array(list(kinds.values())),
    )


def optimise(task: Problem, *, norm: float, power: int = 1, start: Floats | None = None) -> Shares:
    """Shares that minimise F by multiplicative steps; the best that were seen.

    Args:
        norm: p.
        power: r.
        start: shares whose zeros stay; without it, equal ones.
    """
    shares = np.full(len(task.asked), 1 / len(task.asked)) if start is None else start / start.sum()
    best: Shares | None = None
    for _ in range(_STEPS):
        value, slopes = _objective(task, shares, norm, power)
        # At degree -r, sum_S x_S d_S = r F.
        excess = float(slopes.max()) / (power * value) - 1
        if best is None or value < best.objective:
            best = Shares(values=shares, objective=value, excess=excess)
        if excess <= _ENOUGH:
            break
        shares = shares * (slopes / slopes.max()) ** (1 / (norm + power))
        shares = shares / shares.sum()
    assert best is not None
    return best


def _objective(task: Problem, shares: Floats, norm: float, power: int) -> tuple[float, Floats]:
    """F and -dF/dx."""
    precision = task.seen.T @ shares**power
    variances = task.energies @ (1 / precision)
    largest = variances.max()
    relative = (task.counts * (variances / largest) ** norm).sum()
    value = float(largest * relative ** (1 / norm))
    # dF/dv_q = (v_q / F)^(p-1)
    pull = task.counts * (variances / value) ** (norm - 1)
    by_part = (task.energies.T @ pull) / precision**2
    return value, power * shares ** (power - 1) * (task.seen @ by_part)


def _seen(
    universe: Universe, asked: Asked, parts: Sequence[Part], place: dict[Part, int]
) -> dict[int, float]:
    if isinstance(asked, int):
        return {place[asked]: 1.0}
    found = subsets(asked) if 2 ** len(asked) < len(parts) else parts
    columns, size = set(asked), size_of(universe, asked)
    return {
        place[part]: size_of(universe, part) / size
        for part in found
        if not isinstance(part, int) and part in place and columns.issuperset(part)
    }


def _kinds(
    universe: Universe, block: int, own: bool, place: dict[Part, int]
) -> dict[tuple[tuple[int, float], ...], float]:
    """Kinds of a block's queries, as their energies by part, and how many there are of each."""
    rows, clique = universe.queries.blocks[block].rows, universe.cliques[block]
    unit, where = universe.queries.unit, universe.places[block]
    cells = universe.queries.blocks[block].cells.size
    if isinstance(rows, EachCell) and (own or where is None):
        chosen = np.zeros(1, dtype=np.int64)
    else:
        chosen = np.unique(np.linspace(0, rows.size - 1, min(rows.size, _ROWS)).astype(np.int64))
    kinds: dict[tuple[tuple[int, float], ...], float] = {}
    for row in chosen:
        values = rows.row(int(row)) / unit
        if own:
            found = {place[block]: cells * float(np.var(values))}
        else:
            table = values if where is None else values[where]
            found = _energies(universe, clique, table, place)
        least = _NOTHING * sum(found.values())
        kind = tuple(
            (part, float(f"{energy:.{_GROUPED}g}"))
            for part, energy in found.items()
            if energy > least
        )
        if kind:
            kinds[kind] = kinds.get(kind, 0.0) + rows.size / len(chosen)
    return kinds


def _energies(
    universe: Universe, clique: Clique, values: Floats, place: dict[Part, int]
) -> dict[int, float]:
    """Energies |P_A v|^2 / prod_{i not in A} n_i of a query with values v on a clique's cells."""
    shape = tuple(universe.shape[column] for column in clique)
    # Means over the columns outside A, less those of all smaller parts: squares of parts add up.
    squares: dict[Clique, float] = {}
    for part in subsets(clique):
        outside = tuple(axis for axis, column in enumerate(clique) if column not in part)
        means = values.reshape(shape).mean(axis=outside)
        rest = prod(shape) // size_of(universe, part)
        squares[part] = rest * float((means**2).sum()) - sum(squares[s] for s in subsets(part)[:-1])
    return {
        place[part]: max(square, 0.0) * size_of(universe, part) / prod(shape)
        for part, square in squares.items()
        if part
    }


def _sparse(rows: Sequence[dict[int, float]], columns: int) -> sparse.csr_array:
    lengths = np.cumsum([0, *(len(row) for row in rows)])
    indices = np.array([column for row in rows for column in row], dtype=np.int64)
    data = np.array([value for row in rows for value in row.values()], dtype=np.float64)
    return sparse.csr_array((data, indices, lengths), shape=(len(rows), columns))
