"""Weights on given points whose marginals are nearest to noisy ones: step 3 of the papers.

    minimise over alpha >= 0, sum alpha = 1:   max over blocks b of  G_b(v_b - T_b alpha)

Each loss G is the cheapest flow on a graph over the block's points: on the graph of the space (U_T,
exact W1), along its path (L_T), or along its tree (L_tree). So all three are one linear program,
with a flow on every block and one row per node; only the graphs differ. The cheaper ones to solve
are upper bounds of the first.

Claim.   `Weights.loss` is the loss of `Weights.shares`, evaluated anew; nothing rests on what the
         solver says of itself. Any weights can be certified.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), eq. (16)
         and Section 5.4, which calls U_T intractable; with given points it is a program of
         (blocks * edges + points) variables.
Oracle.  tests/mechanisms/blocks/test_programs.py: dense programs at small size.
"""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import sparse

from hallmark.mechanisms.arrays import AnyCodes, Floats, Integers
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.geometry.line import path_loss, tree_loss
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.transport import transport

Loss = Literal["U_T", "L_tree", "L_T"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Support:
    """Distinct points of the product of all blocks, and the records that stand for them. Public.

    Attributes:
        codes: one record for each, shape (size, attributes).
        points: for every block, the point that each falls on, shape (size,).
        start: shares of the records that it was made of, shape (size,), summing to 1.
    """

    codes: AnyCodes
    points: tuple[Integers, ...]
    start: Floats

    @property
    def size(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, family: Family, codes: AnyCodes) -> "Support":
        """The distinct points that some records fall on, with how often they do."""
        points = np.stack([block.cells(codes) for block in family.blocks], axis=1)
        _, first, count = np.unique(points, axis=0, return_index=True, return_counts=True)
        order = np.argsort(first)
        first, count = first[order], count[order]
        return cls(
            codes=codes[first], points=tuple(points[first].T.copy()), start=count / len(codes)
        )

    def shares(self, family: Family, weights: Floats) -> tuple[Floats, ...]:
        """T alpha: for every block the distribution over its points, shape (size of the block,)."""
        return tuple(
            np.bincount(points, weights=weights, minlength=block.space.size).astype(np.float64)
            for block, points in zip(family.blocks, self.points, strict=True)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Program:
    """Weights on `support` whose blocks are nearest to `targets` in the largest loss of a block.

    Attributes:
        targets: for every block, shares of the records, shape (size of the block,), summing to 1.
    """

    family: Family
    support: Support
    targets: tuple[Floats, ...]
    loss: Loss

    def loss_of(self, weights: Floats) -> float:
        """The largest loss of a block, evaluated exactly."""
        shares = self.support.shares(self.family, weights)
        triples = zip(self.family.blocks, self.targets, shares, strict=True)
        return max(evaluate(self.loss, b.space, target - share) for b, target, share in triples)

    @cached_property
    def graphs(self) -> tuple["Graph", ...]:
        """For every block, the graph that the loss is a flow on."""
        return tuple(graph(block.space, self.loss) for block in self.family.blocks)


@dataclass(frozen=True, eq=False, kw_only=True)
class Weights:
    """Weights found, and the evidence for them.

    Attributes:
        shares: nonnegative, shape (support size,), summing to 1.
        loss: of these weights, evaluated anew.
        bound: what the solver shows that no weights can be below; -inf where it shows nothing.
        seconds: that the solver took.
        status: what the solver says.
    """

    shares: Floats
    loss: float
    bound: float
    seconds: float
    status: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Graph:
    """Undirected edges between nodes, the first of which are the points in some order.

    Attributes:
        places: node of every point.
        nodes: how many nodes.
        tails, heads: ends of the edges.
        lengths: of the edges, in units of distance.
    """

    places: Integers
    nodes: int
    tails: Integers
    heads: Integers
    lengths: Floats


def evaluate(loss: Loss, space: FiniteSpace, difference: Floats) -> float:
    """The loss of a difference of total 0, exactly."""
    match loss:
        case "U_T":
            return float(transport(space, difference))
        case "L_T":
            return float(path_loss(space, difference))
        case "L_tree":
            return float(tree_loss(space, difference))


def graph(space: FiniteSpace, loss: Loss) -> Graph:
    """The graph whose cheapest flow is the loss."""
    match loss:
        case "U_T":
            return Graph(
                places=space.places,
                nodes=space.nodes,
                tails=space.tails.astype(np.int64),
                heads=space.heads.astype(np.int64),
                lengths=np.asarray(space.lengths * space.unit, dtype=np.float64),
            )
        case "L_T":
            return Graph(
                places=np.arange(space.size),
                nodes=space.size,
                tails=space.order[:-1],
                heads=space.order[1:],
                lengths=space.gaps,
            )
        case "L_tree":
            return _tree_graph(space)


def solve(program: Program, *, time_limit: float = 120.0) -> Weights:
    """Nearly optimal weights by an interior-point method, or the start where it finds no better.

    Args:
        time_limit: seconds; what is found by then is evaluated like anything else.
    """
    began = time.perf_counter()
    size, graphs = program.support.size, program.graphs
    flows = [2 * len(g.tails) for g in graphs]
    balance, right = [], []
    for b, (g, target) in enumerate(zip(graphs, program.targets, strict=True)):
        rows = np.zeros(g.nodes)
        rows[g.places] = target
        row = [_incidence(program, b), *(None for _ in graphs), None]
        row[1 + b] = _divergence(g)
        balance.append(row)
        right.append(rows)
    cost_rows = [
        [None, *(None for _ in graphs), sparse.csr_array(np.array([[-1.0]]))] for _ in graphs
    ]
    for b, g in enumerate(graphs):
        cost_rows[b][1 + b] = sparse.csr_array(np.tile(g.lengths, 2)[None])
    unit = [sparse.csr_array(np.ones((1, size)))] + [sparse.csr_array((1, f)) for f in flows]
    equal = sparse.block_array([*balance, [*unit, sparse.csr_array((1, 1))]], format="csr")
    below = sparse.block_array([[sparse.csr_array((1, size)), *row[1:]] for row in cost_rows])
    objective = np.zeros(size + sum(flows) + 1)
    objective[-1] = 1.0
    from scipy.optimize import linprog  # here, as it takes long to import

    found = linprog(
        objective,
        A_ub=below.tocsr(),
        b_ub=np.zeros(len(graphs)),
        A_eq=equal,
        b_eq=np.concatenate([*right, [1.0]]),
        method="highs-ipm",
        options={"time_limit": time_limit},
    )
    start = program.support.start
    shares = start if found.x is None else np.maximum(found.x[:size], 0.0)
    shares = shares / shares.sum() if shares.sum() > 0 else start
    loss, at_start = program.loss_of(shares), program.loss_of(start)
    if at_start < loss:
        shares, loss = start, at_start
    return Weights(
        shares=shares,
        loss=loss,
        bound=float(found.fun) if found.status == 0 else -np.inf,
        seconds=time.perf_counter() - began,
        status=str(found.message),
    )


def _incidence(program: Program, block: int) -> sparse.csr_array:
    """Weights to the nodes of a block's graph."""
    g, points = program.graphs[block], program.support.points[block]
    size = program.support.size
    return sparse.csr_array(
        (np.ones(size), (g.places[points], np.arange(size))), shape=(g.nodes, size)
    )


def _divergence(g: Graph) -> sparse.csr_array:
    """Flows on both directions of every edge to what they bring to each node."""
    edges = np.arange(len(g.tails))
    forth = sparse.csr_array(
        (
            np.concatenate([-np.ones(len(edges)), np.ones(len(edges))]),
            (np.concatenate([g.tails, g.heads]), np.tile(edges, 2)),
        ),
        shape=(g.nodes, len(edges)),
    )
    return sparse.hstack([forth, -forth], format="csr")


def _tree_graph(space: FiniteSpace) -> Graph:
    """Leaves first, then the nodes of all levels; half the diameters' difference is an edge."""
    tree = space.tree
    counts = [len(nodes) for nodes in tree.levels]
    first = np.concatenate([[space.size], space.size + np.cumsum(counts)]).astype(np.int64)
    tails, heads, lengths = [], [], []
    for level, (nodes, diameters) in enumerate(zip(tree.levels, tree.diameters, strict=True)):
        children = nodes[:, [0, 1, 1, 2]].reshape(-1, 2)
        parents = np.repeat(first[level] + np.arange(len(nodes)), 2)
        widest = np.repeat(diameters, 2)
        leaf = children[:, 1] - children[:, 0] == 1
        own = np.empty(len(children), dtype=np.int64)
        own[leaf] = children[leaf, 0]
        inner = np.zeros(len(children))
        if not leaf.all():  # the next level holds just these, in the same order
            own[~leaf] = first[level + 1] + np.arange(int((~leaf).sum()))
            inner[~leaf] = tree.diameters[level + 1]
        tails.append(own)
        heads.append(parents)
        lengths.append((widest - inner) / 2)
    places = np.empty(space.size, dtype=np.int64)
    places[tree.order] = np.arange(space.size)
    empty = np.zeros(0, dtype=np.int64)
    return Graph(
        places=places,
        nodes=int(first[-1]),
        tails=np.concatenate([empty, *tails]),
        heads=np.concatenate([empty, *heads]),
        lengths=np.concatenate([np.zeros(0), *lengths]),
    )
