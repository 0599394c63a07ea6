"""Small domains for tests, of so many cells a column, marginals of records, and noisy answers."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Domain, Kind
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from hallmark.mechanisms.replicates.simulated import SimulatedCurator


def domain_of(
    shape: Sequence[int], rules: Rules | None = None, kind: Kind = Kind.ORDINAL
) -> Domain:
    return Domain.coded({f"c{i}": k for i, k in enumerate(shape)}, kind=kind, rules=rules)


def marginal_of(codes: NDArray[np.integer], clique: Clique, shape: Sequence[int]) -> Table:
    """Shares of the records."""
    sizes = [shape[a] for a in clique]
    flat = np.ravel_multi_index([codes[:, a] for a in clique], sizes)
    return np.bincount(flat, minlength=prod(sizes)).reshape(sizes) / len(codes)


def evidence_of(
    codes: NDArray[np.integer],
    shape: Sequence[int],
    *,
    sigma: float,
    seed: int = 0,
    cliques: Iterable[Clique] | None = None,
    rules: Rules | None = None,
    kind: Kind = Kind.ORDINAL,
) -> Evidence:
    """Marginals of the records with Gaussian noise: all pairs unless said."""
    rng = np.random.default_rng(seed)
    marginals = []
    for clique in combinations(range(len(shape)), 2) if cliques is None else cliques:
        exact = marginal_of(codes, clique, shape) * len(codes)
        noise = sigma * rng.normal(size=exact.shape)
        marginals.append(NoisyMarginal(clique, exact + noise, sigma))
    return Evidence(domain_of(shape, rules, kind), tuple(marginals), float(len(codes)), True)


def measured(mechanism: Any, plan: Any, codes: NDArray[np.integer], seed: int = 2) -> Any:
    """Answers as the curator gives them, with noise that a seed fixes."""
    rng = np.random.default_rng(seed)
    curator = SimulatedCurator(codes=codes, adjacency=plan.adjacency, rng=rng)
    return mechanism.measure(curator, plan, mechanism.select(curator, plan))
