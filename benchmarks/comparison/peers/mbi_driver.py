"""MST and AIM on the estimation interface of mbi 2, whose package ships no mechanism.

Both protect a record that is added or removed: a marginal has L2 sensitivity 1, and the L1 misfit
of a marginal, by which they choose, sensitivity 1. The number of records is estimated from the
noisy marginals. Noise is continuous Gaussian; no claim is made of its floating-point arithmetic.

Source.  McKenna, Miklau, Sheldon (2021), "Winning the NIST contest", arXiv:2108.04978 (MST);
         McKenna, Mullins, Sheldon, Miklau (2022), "AIM", arXiv:2201.12677.
"""

import sys
from collections.abc import Mapping, Sequence
from itertools import combinations

import jax
import numpy as np
import pairs
from driver import Task, main
from mbi import Dataset, Domain, LinearMeasurement, estimation, junction_tree
from zcdp import rho as rho_of

_MODEL_MB = 80  # largest junction tree, as AIM's authors set it
_CELLS = 10_000  # of a marginal in AIM's workload
_AIM_STEPS, _MST_STEPS = 1_000, 5_000  # of mirror descent
# Code compiled for a round serves no later one, and each piece holds memory maps, of which Linux
# allows a process 65,530: it is dropped after so many rounds.
_KEPT_ROUNDS = 10

Clique = tuple[str, ...]


def mst(task: Task) -> np.ndarray:
    """A third of rho each for all columns, for choosing a spanning tree, and for its pairs."""
    share = rho_of(task.epsilon, task.delta) / 3
    rng = np.random.default_rng(task.seed)
    data, domain = _dataset(task)
    sigma = np.sqrt(len(domain) / (2 * share))
    columns = [_measured(data, (column,), sigma, rng) for column in domain]
    total = estimation.minimum_variance_unbiased_total(columns)
    mapping = {m.clique[0]: _merging(m, 3 * sigma) for m in columns}
    mapping = {column: map_ for column, map_ in mapping.items() if map_ is not None}
    columns = [m.compress(mapping, domain) for m in columns]
    data = data.compress(mapping)
    independent = _fitted(data.domain, columns, total, 1_000)
    tree = _spanning_tree(data, independent, share, rng)
    sigma = np.sqrt(len(tree) / (2 * share))
    branches = [_measured(data, pair, sigma, rng) for pair in tree]
    model = _fitted(data.domain, columns + branches, total, _MST_STEPS)
    return _codes(model.synthetic_data().decompress(mapping), task)


def aim(task: Task) -> np.ndarray:
    """Rounds that each choose and measure the worst marginal, of all pairs and single columns."""
    rho = rho_of(task.epsilon, task.delta)
    rng = np.random.default_rng(task.seed)
    data, domain = _dataset(task)
    workload = [pair for pair in combinations(domain, 2) if domain.size(pair) <= _CELLS]
    weights = _weights(workload)
    exact = {clique: data.project(clique).datavector() for clique in weights}
    rounds = 16 * len(domain)
    sigma, epsilon = np.sqrt(rounds / (1.8 * rho)), np.sqrt(0.8 * rho / rounds)
    measured = [_measured(data, (column,), sigma, rng) for column in domain]
    spent = len(measured) / (2 * sigma**2)
    model, last = _fitted(domain, measured, None, _AIM_STEPS), False
    while not last:
        if len(measured) % _KEPT_ROUNDS == 0:
            jax.clear_caches()
        if rho - spent < 2 * (1 / (2 * sigma**2) + epsilon**2 / 8):
            last, rest = True, rho - spent
            sigma, epsilon = np.sqrt(1 / (1.8 * rest)), np.sqrt(0.8 * rest)
        spent += 1 / (2 * sigma**2) + epsilon**2 / 8
        candidates = _small(weights, model, domain, _MODEL_MB * min(1.0, spent / rho))
        noise = np.sqrt(2 / np.pi) * sigma
        tables = {clique: table.ravel() for clique, table in pairs.tables(model).items()}
        scores = np.array(
            [weights[c] * (_l1(exact[c], tables[c]) - noise * domain.size(c)) for c in candidates]
        )
        sensitivity = max(weights[clique] for clique in candidates)
        chosen = candidates[_exponential(scores, epsilon / sensitivity, rng)]
        measured.append(_measured(data, chosen, sigma, rng))
        model = _fitted(domain, measured, None, _AIM_STEPS, warm_start=model)
        if _l1(tables[chosen], model.project(chosen).datavector()) <= noise * domain.size(chosen):
            sigma, epsilon = sigma / 2, epsilon * 2
        print(
            f"round {len(measured) - len(domain)}: {100 * min(1, spent / rho):.1f} % of the budget",
            file=sys.stderr,
            flush=True,
        )
    return _codes(model.synthetic_data(), task)


def _dataset(task: Task) -> tuple[Dataset, Domain]:
    domain = Domain(tuple(task.cells), tuple(task.cells.values()))
    return Dataset(dict(zip(task.cells, task.train.T, strict=True)), domain), domain


def _codes(data: Dataset, task: Task) -> np.ndarray:
    columns = data.to_dict()
    return np.column_stack([columns[name] for name in task.cells])


def _measured(
    data: Dataset, clique: Clique, sigma: float, rng: np.random.Generator
) -> LinearMeasurement:
    exact = np.asarray(data.project(clique).datavector())
    return LinearMeasurement(exact + rng.normal(scale=sigma, size=exact.size), clique, sigma)


def _merging(measurement: LinearMeasurement, threshold: float) -> np.ndarray | None:
    """Map that merges all cells below the threshold into one; None where that merges nothing."""
    kept = np.asarray(measurement.noisy_measurement) >= threshold
    if (~kept).sum() < 2:
        return None
    return np.where(kept, np.cumsum(kept) - 1, kept.sum())


def _fitted(domain, measurements, total, steps, warm_start=None):
    return estimation.MirrorDescent().estimate(
        domain, measurements, known_total=total, iters=steps, warm_start=warm_start
    )


def _spanning_tree(data, independent, share: float, rng: np.random.Generator) -> list[Clique]:
    """Kruskal's algorithm, with every edge drawn by the exponential mechanism."""
    columns = tuple(data.domain)
    shares = {a: np.asarray(independent.project((a,)).datavector()) for a in columns}
    total = float(independent.total)
    misfit = {
        (a, b): _l1(
            data.project((a, b)).datavector(), np.outer(shares[a], shares[b]).ravel() / total
        )
        for a, b in combinations(columns, 2)
    }
    epsilon = np.sqrt(8 * share / (len(columns) - 1))
    component = {column: column for column in columns}
    tree: list[Clique] = []
    while len(tree) < len(columns) - 1:
        edges = [edge for edge in misfit if component[edge[0]] != component[edge[1]]]
        scores = np.array([misfit[edge] for edge in edges])
        a, b = edges[_exponential(scores, epsilon, rng)]
        tree.append((a, b))
        old, new = component[b], component[a]
        component = {c: new if root == old else root for c, root in component.items()}
    return tree


def _weights(workload: Sequence[Clique]) -> dict[Clique, int]:
    """Overlap with the workload of every clique in its downward closure."""
    closure = sorted({(a,) for pair in workload for a in pair}) + sorted(workload)
    return {c: sum(len(set(c) & set(pair)) for pair in workload) for c in closure}


def _small(weights: Mapping[Clique, int], model, domain: Domain, limit: float) -> list[Clique]:
    """Candidates that keep the junction tree below `limit` MB, and those that it holds anyway."""
    cliques = list(model.cliques)
    return [
        c
        for c in weights
        if any(set(c) <= set(clique) for clique in cliques)
        or junction_tree.hypothetical_model_size(domain, [*cliques, c]) <= limit
    ]


def _exponential(scores: np.ndarray, epsilon: float, rng: np.random.Generator) -> int:
    """Exponential mechanism for scores of sensitivity 1, by Gumbel noise."""
    return int(np.argmax(epsilon * scores / 2 + rng.gumbel(size=len(scores))))


def _l1(first, second) -> float:
    return float(np.abs(np.asarray(first) - np.asarray(second)).sum())


if __name__ == "__main__":
    main({"mst": mst, "aim": aim}, ("mbi", "jax", "numpy"))
