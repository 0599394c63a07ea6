"""Small universes with queries of every kind, and answers with the noise of a plan."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy import sparse

from hallmark.mechanisms.linear_queries.direct.linear_estimate import Asked, cells_of
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import CellMap, marginal
from hallmark.mechanisms.privacy.linear_queries import Block, Boxes, EachCell, LinearQueries, Matrix
from hallmark.mechanisms.privacy.queries import GaussianNoise, HistogramQuery
from hallmark.mechanisms.privacy.simulation import (
    simulate_discrete_gaussian,
    simulate_discrete_laplace,
)

BUDGET = Budget(epsilon=Fraction(1), delta=Fraction(1, 100_000))
PURE = Budget(epsilon=Fraction(1))
REPLACE = Adjacency(neighbours=Neighbours.REPLACE_ONE)
ADD = Adjacency(neighbours=Neighbours.ADD_REMOVE)
PERSONS = Adjacency(neighbours=Neighbours.ADD_REMOVE, records=2, person="id")

SHAPE = (2, 3, 4)
SUMS = CellMap((0, 1, 2), tuple(np.arange(k) for k in SHAPE), 7)  # fewer than 24 cells


def universe(shape: Sequence[int], blocks: Sequence[Block], unit: int = 1) -> Universe:
    levels = tuple(np.arange(k) for k in shape)
    return Universe(tuple(shape), LinearQueries(tuple(blocks), unit), levels)


def ways(columns: int, size: int, cells: int = 2) -> Universe:
    """All marginals of so many columns."""
    shape = (cells,) * columns
    cliques = combinations(range(columns), size)
    return universe(shape, [Block(marginal(c, shape), EachCell(cells**size)) for c in cliques])


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
    return universe(SHAPE, blocks)


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
    answers = []
    for query in queries:
        exact = np.bincount(query.cells(codes), minlength=query.cells.size)
        if isinstance(query.noise, GaussianNoise):
            drawn = simulate_discrete_gaussian(rng, query.noise.sigma2, len(exact))
        else:
            drawn = simulate_discrete_laplace(rng, query.noise.scale, len(exact))
        answers.append(exact + drawn)
    return answers


def quiet(share: float, what: str) -> None:
    assert 0 <= share <= 1
    assert what
