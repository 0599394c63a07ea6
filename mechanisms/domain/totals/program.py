"""Integer programs over the counts of a block's kinds: can the totals hold, and at what change.

Claim.   `feasible` finds counts that have all totals, or shows that there are none. `least_change`
         finds counts that have them with as few records moved as possible.
Proof.   Both are solved as integer programs to optimality (HiGHS, branch and bound), and the
         rounded solution is checked in whole numbers. Moved records leave one kind and enter
         another: x' = x + in - out, and as many come in as go out.
Oracle.  tests/mechanisms/domain/totals/test_program.py: all tables of small domains.

Only where branch and bound meets `MOST_NODES`, `feasible` refuses, and `least_change` gives the
best counts that it has, or else those of `feasible`.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from hallmark.mechanisms.arrays import Integers
from hallmark.mechanisms.domain.totals.blocks import Block

MOST_NODES = 10_000  # a count, not a time, so that a run that resumes ends with the same records
_OPTIMAL, _LIMIT, _INFEASIBLE = 0, 1, 2


class Undecided(ValueError):
    """Branch and bound ended without an answer."""


def feasible(block: Block) -> Integers | None:
    """Counts of kinds that have all totals of the block, shape (kinds,); None if there are none.

    Raises:
        Undecided: it cannot be told within `MOST_NODES` nodes.
    """
    kinds = block.matrix.shape[1]
    if kinds == 0:
        return None
    upper = np.full(kinds, float(block.records))
    return _solved(np.zeros(kinds), block.matrix, block.counts, upper)


def least_change(block: Block, counts: Integers) -> Integers:
    """Counts of kinds that have all totals, nearest to `counts` in the L1 norm, shape (kinds,).

    Args:
        counts: as many records as the totals count.
    Raises:
        ValueError: there are none (see `feasible`).
    """
    missing = block.counts - (block.matrix @ counts).round().astype(np.int64)
    if not missing.any():
        return counts
    entering = np.full(len(counts), float(block.records))
    try:
        change = _solved(
            np.ones(2 * len(counts)),
            csr_array(hstack([block.matrix, -block.matrix])),
            missing,
            np.concatenate([entering, counts.astype(np.float64)]),
        )
    except Undecided:
        found = feasible(block)
    else:
        found = None if change is None else counts + change[: len(counts)] - change[len(counts) :]
    if found is None:
        raise ValueError(
            "no table of records has all totals; see hallmark.mechanisms.domain.totals.check"
        )
    return found


def _solved(
    costs: NDArray[np.float64], matrix: csr_array, wanted: Integers, upper: NDArray[np.float64]
) -> Integers | None:
    """Cheapest whole numbers from 0 to `upper` that `matrix` takes to `wanted`, if there are any.

    Raises:
        Undecided: none was found within `MOST_NODES`.
    """
    # Here, since every plan imports this module, and few have totals.
    from scipy.optimize import Bounds, LinearConstraint, milp

    result = milp(
        costs,
        constraints=LinearConstraint(matrix, wanted, wanted),
        bounds=Bounds(0, upper),
        integrality=np.ones(len(costs)),
        options={"node_limit": MOST_NODES},
    )
    if result.status == _INFEASIBLE:
        return None
    if result.status not in (_OPTIMAL, _LIMIT) or result.x is None:
        raise Undecided("whether these totals can hold together could not be told")
    found = np.rint(result.x).astype(np.int64)
    if (found < 0).any() or not np.array_equal((matrix @ found).round().astype(np.int64), wanted):
        raise Undecided("the solver's counts do not have the totals")
    return found
