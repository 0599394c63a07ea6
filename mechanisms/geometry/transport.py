"""Exact 1-Wasserstein distances on finite spaces, as minimum-cost flows.

A space is a graph whose shortest paths are the distances, so W1 is the cost of the cheapest flow
that carries the positive part of a difference to its negative part. Supplies and costs are
integers, for which the solver's optimum is exact.

Claim.   `hub_transport` is the largest integral of f dw over f with |f| <= radius that differ by at
         most the distance between any two points: a seminorm, and W1 where the mass is zero.
         `transport` is W1. Masses that are whole multiples of one power of two, and fewer than
         `FlowSolver.most_mass` of them in all, are taken as they are. Others are rounded, by which
         the cost is off by at most size / most_mass of all |w|, times the radius if that is more
         than 1; most_mass is at most 2^50, and 2^40 where distances are multiples of 2^-20.
Source.  Villani (2009), Optimal Transport, Theorem 5.10 and Remark 6.5 (Kantorovich-Rubinstein).
Proof.   The surplus settles at a hub at distance `radius` of all points. The dual of that flow has
         the f above as its potentials, if these are 0 at the hub. With radius >= 1/2 no way through
         the hub is shorter than the diameter 1, so mass zero meets the distances of the space.
         Rounding changes masses by half a unit each, which moves to or from the hub or, where there
         is none, a point at distance 1 at most; and a unit is at most 2 / most_mass of all |w|.
Oracle.  tests/mechanisms/geometry/test_transport.py: POT, linear programs, and closed forms.
"""

from dataclasses import dataclass, replace
from math import ceil, frexp

import numpy as np
from numpy.typing import NDArray
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

from hallmark.mechanisms.arrays import Floats, Integers
from hallmark.mechanisms.geometry.line import (
    is_line,
    path_loss,
    refuse_surplus,
    signed_masses,
    surplus,
    tree_loss,
)
from hallmark.mechanisms.geometry.spaces import FiniteSpace

Nodes = NDArray[np.int32]

HUB_RADIUS = 0.5  # the least for which a hub shortens no distance; probabilities never cost more
MOST_FLOW_POINTS = 6000  # beyond, `transport_cost` is bounded along the tree
MOST_BITS = 50  # of all masses together; a float has 53
SOLVER_BITS = 62  # what costs times masses, and masses through one node, must fit into


def transport(space: FiniteSpace, differences: NDArray[np.number]) -> Floats:
    """W1 between two measures on a space, in mass times distance; (..., size) to (...).

    Several differences are solved one after the other, and the solver does not let other threads
    run: use several processes.

    Args:
        differences: signed masses of mass zero.
    Raises:
        ValueError: the space has no points, the last axis is not its points, an entry is not
            finite, or a difference has a mass other than zero.
        RuntimeError: the solver failed.
    """
    masses = signed_masses(space, differences)
    refuse_surplus(masses)
    if is_line(space):
        return path_loss(space, masses)
    return _costs(network(space), space.places, masses, settled_at=int(space.places[0]))


def hub_transport(
    space: FiniteSpace, differences: NDArray[np.number], *, radius: float = HUB_RADIUS
) -> Floats:
    """W1 with what is left over settled at a hub, in mass times distance; (..., size) to (...).

    Every point lies at distance `radius` of the hub, rounded up to a whole number of half units of
    the space (1/2 and 1 are exact on the house's grids and metrics).

    Args:
        differences: signed masses of any mass.
        radius: at least 1/2.
    Raises:
        ValueError: the space has no points, the last axis is not its points, an entry is not
            finite, or the radius is less than 1/2.
        RuntimeError: the solver failed.
    """
    masses = signed_masses(space, differences)
    with_hub = network_with_hub(space, radius)
    return _costs(with_hub, space.places, masses, settled_at=space.nodes)


def transport_cost(space: FiniteSpace, differences: Floats) -> Floats:
    """W1 with any surplus settled at a hub at distance 1/2, or a bound on it; (n, size) to (n,).

    Exact up to `MOST_FLOW_POINTS` points, along the space's tree beyond. A seminorm either way.
    """
    if not is_small(space):
        return tree_loss(space, differences, surplus_cost=HUB_RADIUS)
    if not surplus(differences).any():
        return transport(space, differences)  # the hub is no shortcut, and slows the solver
    return hub_transport(space, differences)


def is_small(space: FiniteSpace) -> bool:
    """Whether flows on a space are affordable, so that `transport_cost` is exact."""
    return space.size <= MOST_FLOW_POINTS


@dataclass(frozen=True, eq=False, kw_only=True)
class Network:
    """A minimum-cost flow problem but for the supplies. Arcs take any amount of flow.

    Attributes:
        nodes: how many; those of the space come first.
        tails, heads: of every arc, int32 of shape (arcs,).
        costs: of a unit of mass along every arc, nonnegative int64 of shape (arcs,).
        unit: distance that a cost of 1 stands for.
        reach: no cheapest way between two nodes is longer; a distance.
    """

    nodes: int
    tails: Nodes
    heads: Nodes
    costs: Integers
    unit: float
    reach: float

    def with_node(self, tails: Nodes, heads: Nodes, costs: Integers) -> "Network":
        """One node more, number `nodes`, and arcs that lead to or from it."""
        return replace(
            self,
            nodes=self.nodes + 1,
            tails=np.concatenate([self.tails, tails]),
            heads=np.concatenate([self.heads, heads]),
            costs=np.concatenate([self.costs, costs]),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Flow:
    """An optimal flow; that it is one, the solver has proved by prices, in integers.

    Attributes:
        cost: masses times distance.
        amounts: along every arc, int64 of shape (arcs,).
    """

    cost: float
    amounts: Integers


class FlowSolver:
    """Solves one network for one vector of supplies after the other. Not for several threads."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._arcs = np.arange(len(network.tails), dtype=np.int32)
        self._nodes = np.arange(network.nodes, dtype=np.int32)
        self._solver = SimpleMinCostFlow()
        self._solver.add_arcs_with_capacity_and_unit_cost(
            network.tails, network.heads, np.zeros_like(network.costs), network.costs
        )
        degrees = np.bincount(np.concatenate([network.tails, network.heads]), minlength=1)
        longest = ceil(network.reach / network.unit)
        bits = SOLVER_BITS - max(int(degrees.max()), longest).bit_length()
        self.most_mass = 1 << min(MOST_BITS, bits)  # sum of |supplies| for which nothing overflows

    def solve(self, supplies: Integers) -> Flow:
        """The cheapest flow that leaves every node by what it is supplied.

        Args:
            supplies: sum to 0, their absolute values to `most_mass` at most; shape (nodes,).
        Raises:
            RuntimeError: the solver found no optimum; the message holds its status.
        """
        if not supplies.any():
            return Flow(cost=0.0, amounts=np.zeros_like(self._network.costs))
        moved = np.full_like(self._network.costs, np.maximum(supplies, 0).sum())
        self._solver.set_arc_capacities(self._arcs, moved)
        self._solver.set_nodes_supplies(self._nodes, supplies)
        status = self._solver.solve()
        if status != self._solver.OPTIMAL:
            raise RuntimeError(
                f"minimum-cost flow over {self._network.nodes} nodes: status {status.name}"
            )
        return Flow(
            cost=self._solver.optimal_cost() * self._network.unit,
            amounts=np.asarray(self._solver.flows(self._arcs), dtype=np.int64),
        )


def network(space: FiniteSpace) -> Network:
    """The graph of the space, each edge as an arc both ways."""
    return Network(
        nodes=space.nodes,
        tails=np.concatenate([space.tails, space.heads]),
        heads=np.concatenate([space.heads, space.tails]),
        costs=np.concatenate([space.lengths, space.lengths]),
        unit=space.unit,
        reach=1.0,
    )


def network_with_hub(space: FiniteSpace, radius: float) -> Network:
    """The graph and one more node, the last, joined to every point by an edge of length `radius`.

    Raises:
        ValueError: the radius is less than 1/2.
    """
    if not radius >= HUB_RADIUS:
        raise ValueError(f"radius {radius}: a hub nearer than 1/2 would shorten distances")
    plain = network(space)
    # In half units 1/2 is a whole number wherever 1 is one in units; 1e-9 is rounding of floats.
    half = plain.unit / 2
    length = ceil(radius / half - 1e-9)
    points = space.places.astype(np.int32)
    hub = np.full_like(points, plain.nodes)
    finer = replace(plain, costs=2 * plain.costs, unit=half, reach=max(plain.reach, length * half))
    return finer.with_node(
        np.concatenate([points, hub]),
        np.concatenate([hub, points]),
        np.full(2 * space.size, length, dtype=np.int64),
    )


def whole_masses(masses: Floats, most: int) -> tuple[Integers, float]:
    """Masses as whole multiples of a power of two, rounded, and that power; shape (size,).

    The power is the least for which the absolute masses sum to less than `most` multiples.
    """
    _, exponent = frexp(float(np.abs(masses).sum()))
    shift = most.bit_length() - 1 - exponent
    return np.rint(np.ldexp(masses, shift)).astype(np.int64), 2.0**-shift


def _costs(network: Network, places: Integers, masses: Floats, *, settled_at: int) -> Floats:
    """Least costs for the rows, (..., size) to (...), what they sum to settled at one node."""
    solver = FlowSolver(network)
    rows = masses.reshape(-1, masses.shape[-1])
    costs = np.zeros(len(rows))
    for i, row in enumerate(rows):
        supplies = np.zeros(network.nodes, dtype=np.int64)
        supplies[places], unit = whole_masses(row, solver.most_mass)
        supplies[settled_at] -= supplies.sum()
        costs[i] = solver.solve(supplies).cost * unit
    return costs.reshape(masses.shape[:-1])
