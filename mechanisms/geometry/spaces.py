"""Finite metric spaces of diameter at most 1, as graphs whose shortest paths are the distances.

One type serves product grids, lists of places and any other finite metric: exact transport needs
the graph, noise along a path needs `order`, hierarchical noise needs `tree`.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.geometry.trees import BinaryTree


@dataclass(frozen=True, eq=False, kw_only=True)
class FiniteSpace:
    """The points 0..size-1 with their distances. Public.

    Attributes:
        places: node of the graph that each point lies at, int64 of shape (size,); other nodes carry
            no mass.
        nodes: number of nodes of the graph.
        tails, heads: ends of every undirected edge, once, int32 of shape (edges,).
        lengths: of the edges, whole multiples of `unit`, int64 of shape (edges,).
        unit: distance that a length of 1 stands for.
        order: a path through all points, int64 of shape (size,), a permutation.
        gaps: distances between consecutive points of the path, float64 of shape (size - 1,).
        tree: a binary tree over the points.
    """

    places: NDArray[np.int64]
    nodes: int
    tails: NDArray[np.int32]
    heads: NDArray[np.int32]
    lengths: NDArray[np.int64]
    unit: float
    order: NDArray[np.int64]
    gaps: NDArray[np.float64]
    tree: BinaryTree

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.places)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all that defines the space: equal digests, equal spaces."""
        sha = hashlib.sha256(f"{self.nodes} {self.unit!r} {self.tree.digest}".encode())
        for array in (self.places, self.tails, self.heads, self.lengths, self.order):
            sha.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        sha.update(np.ascontiguousarray(self.gaps, dtype="<f8").tobytes())
        return sha.hexdigest()
