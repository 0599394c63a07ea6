"""Small universes with queries of every kind, and answers with the noise of a plan."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from hallmark.mechanisms.linear_queries.direct.linear_estimate import Asked, cells_of
from hallmark.mechanisms.linear_queries.direct.method import CALL
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.calls import TablesByCall
from hallmark.mechanisms.privacy.cells import CellMap, marginal
from hallmark.mechanisms.privacy.linear_queries import Block, Boxes, EachCell, Matrix
from hallmark.mechanisms.privacy.queries import HistogramQuery
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from tests.mechanisms.linear_queries.adaptive_runs import REPLACE, of

SHAPE = (2, 3, 4)
SUMS = CellMap((0, 1, 2), tuple(np.arange(k) for k in SHAPE), 7)  # fewer than 24 cells


def mixed(*, sums: bool = True) -> Universe:
    """Cells, boxes and a signed query on marginals; thresholds of a sum of all columns."""
    boxes = Boxes((3, 4), np.array([[0, 0], [1, 2], [0, 1]]), np.array([[3, 2], [3, 3], [2, 4]]))
    blocks = [
        Block(marginal((0, 2), SHAPE), EachCell(8)),
        Block(marginal((1, 2), SHAPE), boxes),
        Block(marginal((1,), SHAPE), Matrix(sparse.csr_array(np.array([[1, -1, 0]])))),
    ]
    if sums:
        above = np.tri(6, 7, dtype=np.int64)
        blocks.append(Block(SUMS, Matrix(sparse.csr_array(above))))
    return of(SHAPE, *blocks)


def records(shape: Sequence[int], rows: int, seed: int = 3) -> np.ndarray:
    """Of a distribution with dependent columns and empty cells."""
    rng = np.random.default_rng(seed)
    law = rng.gamma(0.3, size=int(np.prod(shape)))
    drawn = rng.choice(len(law), size=rows, p=law / law.sum())
    return np.stack(np.unravel_index(drawn, shape), axis=1)


def histogram(codes: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    cells = np.ravel_multi_index(tuple(codes.T), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).astype(np.float64)


def written(u: Universe) -> np.ndarray:
    """The matrix of queries by cells."""
    return np.stack([u.values(query) for query in range(u.queries.size)])


def tables(u: Universe, asked: Sequence[Asked]) -> list[np.ndarray]:
    """The matrices of measured tables by cells."""
    cells = np.indices(u.shape).reshape(len(u.shape), -1).T
    maps = [cells_of(u, one) for one in asked]
    return [(m(cells)[None, :] == np.arange(m.size)[:, None]).astype(float) for m in maps]


def noisy(
    queries: Sequence[HistogramQuery], codes: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """Answers as a curator gives them, with simulated noise: only for statistics of many runs."""
    return SimulatedCurator(codes=codes, adjacency=REPLACE, rng=rng).histograms(CALL, queries)


def run(method: Any, codes: np.ndarray, seed: int = 0) -> tuple[TablesByCall, Any]:
    """Answers with simulated noise, and the distribution made of them."""
    rng = np.random.default_rng(seed)
    asked: Any = SimulatedCurator(codes=codes, adjacency=method.adjacency, rng=rng)
    answers = method.ask(asked)
    return answers, method.distribution(answers, asked.total(), progress=quiet)


def quiet(share: float, what: str) -> None:
    assert 0 <= share <= 1
    assert what
