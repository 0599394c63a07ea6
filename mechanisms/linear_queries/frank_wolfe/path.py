"""The path of Frank-Wolfe: a point q of the queries' convex hull, moved by every choice.

    q_t = (1 - step) q_(t-1) + step s_t q_(i_t),    q_0 = 0,

for the choice of query i_t with sign s_t; the distribution at q gives every cell its share of the
uniform one times exp(q / smoothing). So every q_t, and every mean of them, is a weighted sum of the
queries that were chosen (`combination`), and the choices alone tell it.

Oracle.  tests/mechanisms/linear_queries/frank_wolfe/test_path.py follows the recursion.
"""

from collections.abc import Sequence

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.linear_queries.questions import signed
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.linear_queries.weights import tilted


class CellPath:
    """q_t as a number for every cell of an enumerated universe."""

    def __init__(self, universe: Universe, smoothing: float, step: float) -> None:
        self._universe = universe
        self._smoothing, self._step = smoothing, step
        self._dual = np.zeros(universe.size)

    def move(self, query: int, sign: int) -> None:
        """One step towards a query or its negation."""
        self._dual *= 1 - self._step
        self._universe.add(self._dual, query, sign * self._step)

    def shares(self) -> Floats:
        """The distribution at q_t, shape (universe.size,)."""
        return tilted(self._universe.uniform, self._dual / self._smoothing)

    def answers(self) -> Floats:
        return self._universe.answers(self.shares())


def combination(chosen: Sequence[int], coefficients: Floats, queries: int) -> Floats:
    """Weights of all queries in a weighted sum of those chosen, shape (queries,)."""
    total = np.zeros(queries)
    for position, coefficient in zip(chosen, coefficients, strict=True):
        query, sign = signed(position, queries)
        total[query] += sign * coefficient
    return total


def coefficients(rounds: int, step: float, states: range) -> Floats:
    """Coefficients of every choice's query in the mean of q_t over t in `states`, in 1..rounds."""
    turns = np.arange(1, rounds + 1)
    total = np.zeros(rounds)
    for state in states:
        total += np.where(turns <= state, (1 - step) ** np.maximum(state - turns, 0.0), 0.0)
    return step * total / len(states)
