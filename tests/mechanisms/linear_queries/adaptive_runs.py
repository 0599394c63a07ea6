"""Small universes, and runs of adaptive methods on them with real curators."""

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import count_codes, marginal
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.mechanisms.privacy.linear_queries import Block, EachCell, LinearQueries
from hallmark.mechanisms.privacy.queries import signed_misfits
from tests.builders.requests import request_on
from tests.mechanisms.marginals.selection.runs import ADD, PERSONS, REPLACE, curator_of

__all__ = ["ADD", "PERSONS", "REPLACE"]

BUDGET = Budget(epsilon=Fraction(1), delta=Fraction(1, 100_000))
PURE = Budget(epsilon=Fraction(1))
BUDGETS = (BUDGET, PURE)


def ways(shape: tuple[int, ...], *sizes: int) -> Universe:
    """All cells of all marginals of so many columns."""
    cliques = [c for size in sizes for c in combinations(range(len(shape)), size)]
    return of(
        shape,
        *(Block(marginal(c, shape), EachCell(prod(shape[a] for a in c))) for c in cliques),
    )


def of(shape: tuple[int, ...], *blocks: Block, unit: int = 1) -> Universe:
    return Universe(shape, LinearQueries(blocks, unit), tuple(np.arange(k) for k in shape))


def bits(rows: int, columns: int = 4, seed: int = 3) -> np.ndarray:
    """Records of dependent, uneven bits."""
    rng = np.random.default_rng(seed)
    likely = np.array([0.1, 0.85])[rng.integers(0, 2, rows)][:, None]
    return (rng.random((rows, columns)) < likely).astype(np.int64)


def planned(
    plan: Callable[..., Any],
    universe: Universe,
    *,
    budget: Budget = BUDGET,
    adjacency: Adjacency = REPLACE,
    expected: int = 1000,
    **given: Any,
) -> Any:
    return plan(
        universe,
        request_on(
            universe,
            budget=budget,
            adjacency=adjacency,
            expected_records=expected,
            parameters=given,
        ),
    )


def curator(
    folder: Path, codes: np.ndarray, method: Any, kind: type[Any] = Curator, **more: Any
) -> Any:
    url = f"sqlite:///{folder / 'ledger.db'}"
    return curator_of(url, codes, method.adjacency, method.budget, kind, **more)


def finished(method: Any, answers: tuple[Counts, ...], asked: Curator) -> Any:
    return method.distribution(answers, asked.total(), progress=lambda share, what: None)


def error(universe: Universe, codes: np.ndarray, answers: np.ndarray) -> float:
    """The largest of any query."""
    cells = [np.bincount(cells(codes), minlength=cells.size) for cells in universe.queries.maps]
    exact = universe.queries.answers([c.astype(np.int64) for c in cells])
    return float(np.abs(answers - exact / universe.queries.unit / len(codes)).max())


class Gone:
    """Records that nobody may look at any more."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def rows(self) -> int:
        return self._rows

    def count(self, maps: Any) -> list[Counts]:
        raise AssertionError("the private records were looked at again")


def law(scores: np.ndarray, sensitivity: int, epsilon: Fraction) -> np.ndarray:
    """Of the exponential mechanism, written out."""
    weights = np.exp(float(epsilon) * (scores - scores.max()) / (2 * sensitivity))
    found: np.ndarray = weights / weights.sum()
    return found


def losses(universe: Universe, pair: Any, reference: Counts, epsilon: Fraction, unit: int) -> Any:
    """Privacy loss of every choice between two tables, by brute force; shape (candidates,).

    Args:
        unit: the sensitivity that the scores are divided by.
    """
    laws = []
    for codes in pair:
        answers = universe.queries.answers(count_codes(codes, universe.queries.maps))
        laws.append(law(signed_misfits(answers, reference), unit, epsilon))
    return np.log(laws[0] / laws[1])


def told(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """As a report has them."""
    loaded: Mapping[str, Any] = json.loads(json.dumps(dict(parameters)))
    return loaded
