"""Small models, and the plain slow way to compute them: over the whole joint."""

import numpy as np

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from tests.mechanisms.marginals.domains import domain_of

SHAPE = (3, 2, 4, 2, 5, 2)

CASES: tuple[tuple[Clique, ...], ...] = (
    ((0,), (1,), (2,), (3,), (4,), (5,)),  # independent
    ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5)),  # chain
    ((0, 4), (0,), (4,), (2, 3)),  # two trees, and two attributes alone
    ((0, 1), (1, 2), (2, 3), (0, 3), (4, 5)),  # cycle
    ((0, 2), (2, 4), (0, 4), (0, 2, 3), (1, 5), (2,)),  # cliques within cliques
    ((0, 1, 2), (2, 3, 4), (0, 4, 5)),  # triples in a cycle
    ((0, 1, 2, 3, 4, 5), (1, 4)),  # the joint
)


def potentials_of(
    cliques: tuple[Clique, ...], rng: np.random.Generator, scale: float = 1.0
) -> list[Table]:
    return [scale * rng.normal(size=[SHAPE[a] for a in clique]) for clique in cliques]


def joint_of(
    cliques: tuple[Clique, ...],
    potentials: list[Table],
    zeros: dict[Clique, np.ndarray] | None = None,
    shape: tuple[int, ...] = SHAPE,
) -> Table:
    """The whole distribution."""
    log = np.zeros(shape)
    for clique, potential in zip(cliques, potentials, strict=True):
        log += over_all(clique, potential, shape)
    for clique, allowed in (zeros or {}).items():
        log = np.where(over_all(clique, allowed, shape), log, -np.inf)
    joint = np.exp(log - log.max())
    return joint / joint.sum()


def over_all(clique: Clique, table: np.ndarray, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """A table with axes for all attributes."""
    order = np.argsort(clique)
    return np.transpose(table, order).reshape(
        [k if a in clique else 1 for a, k in enumerate(shape)]
    )


def margin(joint: Table, clique: Clique) -> Table:
    """Axes in the order of the clique."""
    return np.einsum(joint, list(range(joint.ndim)), list(clique))


def evidence_of(
    joint: Table,
    cliques: tuple[Clique, ...],
    *,
    sigma: float = 0.0,
    total: float = 10_000.0,
    seed: int = 0,
    rules: Rules | None = None,
) -> Evidence:
    """Marginals of a joint with Gaussian noise."""
    rng = np.random.default_rng(seed)
    marginals = []
    for clique in cliques:
        counts = total * margin(joint, clique)
        marginals.append(
            NoisyMarginal(clique, counts + sigma * rng.normal(size=counts.shape), sigma)
        )
    return Evidence(domain_of(joint.shape, rules), tuple(marginals), total, True)
