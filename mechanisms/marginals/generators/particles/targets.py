"""Targets of the particles: evidence as probability tables, one a marginal.

Noisy marginals are projected, many of one shape at a time. Public ones (no noise) are taken as they
are. Then cells that rules forbid lose their mass, which the others share in proportion.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Mask, Table
from hallmark.mechanisms.domain.cliques import Clique, title
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from hallmark.mechanisms.marginals.generators.particles.projection import project
from hallmark.mechanisms.marginals.generators.particles.settings import Projection

_TABLES_AT_ONCE = 16
_CELLS_AT_ONCE = 1 << 14  # of all tables that are projected together on a CPU
_CELLS_AT_ONCE_GPU = 1 << 20


def allowed_cells(domain: Domain, clique: Clique) -> Mask | None:
    """Cells that some valid record has, of the marginal's shape; None where no rule tells.

    Raises:
        ValueError: no cell is.
    """
    if not domain.rules:
        return None
    mask = domain.rules.allowed(clique)
    if not mask.any():
        raise ValueError(
            f"rules: they allow no combination of {title(clique, domain.names)}; at least two of "
            "them contradict each other"
        )
    return None if mask.all() else mask


def without_forbidden(table: Table, mask: Mask | None) -> Table:
    """Probabilities on the allowed cells alone; uniform there if all mass was elsewhere."""
    if mask is None:
        return table
    kept = np.where(mask, table, 0.0)
    mass = kept.sum()
    return kept / mass if mass > 0 else mask / mask.sum()


def exact(counts: Table) -> Table:
    """A public marginal as probabilities.

    Raises:
        ValueError: a count is negative, or all are 0.
    """
    if counts.min() < 0 or not counts.sum() > 0:
        raise ValueError("a public marginal has a negative count, or none above 0")
    return counts / counts.sum()


def loss_weights(marginals: Sequence[NoisyMarginal], cap: float) -> list[float]:
    """Weights of the marginals' distances: inverse variance beside the median, at most `cap`.

    All 1 where all noise is equal, as in the paper. Public marginals weigh `cap`; where there is
    nothing else, 1.
    """
    variances = [marginal.sigma**2 for marginal in marginals if marginal.sigma]
    if not variances:
        return [1.0] * len(marginals)
    reference = float(np.median(variances))
    return [
        min(cap, reference / marginal.sigma**2) if marginal.sigma else cap for marginal in marginals
    ]


def chunks(marginals: Sequence[NoisyMarginal], *, cells: int) -> list[list[int]]:
    """Positions of noisy marginals to be projected together: of one shape, so many cells in all."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, marginal in enumerate(marginals):
        if marginal.sigma:
            groups.setdefault(marginal.counts.shape, []).append(i)
    found = []
    for shape, group in groups.items():
        size = max(1, min(_TABLES_AT_ONCE, cells // prod(shape)))
        found += [group[start : start + size] for start in range(0, len(group), size)]
    return found


def target_tables(
    evidence: Evidence,
    masks: Sequence[Mask | None],
    *,
    projection: Projection,
    seed: int,
    device: torch.device,
    known: Mapping[Clique, Table],
    kept: Mapping[str, NDArray[Any]],
    after_chunk: Callable[[Mapping[str, NDArray[Any]]], None],
    report: Callable[[float], None],
) -> tuple[list[Table], dict[str, NDArray[Any]]]:
    """Probability tables of all marginals, and what an interrupted run needs of them.

    Args:
        masks: allowed cells of every marginal.
        known: tables that need no projection any more.
        kept: what an earlier run handed to `after_chunk` last.
        after_chunk: called with all that was projected so far.
        report: called with the share done.
    """
    marginals = evidence.marginals
    tables: dict[int, Table] = {}
    for i, marginal in enumerate(marginals):
        if marginal.sigma == 0:
            tables[i] = exact(marginal.counts)
        elif marginal.clique in known:
            tables[i] = known[marginal.clique]
    open_ones = [i for i in range(len(marginals)) if i not in tables]
    limit = _CELLS_AT_ONCE if device.type == "cpu" else _CELLS_AT_ONCE_GPU
    plan = [
        [open_ones[i] for i in chunk]
        for chunk in chunks([marginals[i] for i in open_ones], cells=limit)
    ]
    work = np.cumsum([0.0] + [sum(marginals[i].counts.size for i in chunk) for chunk in plan])
    projected: dict[str, NDArray[Any]] = {}
    for number, chunk in enumerate(plan):
        name = f"projected/{number}"
        begun, length = work[number] / work[-1], (work[number + 1] - work[number]) / work[-1]

        def report_chunk(share: float, begun: float = begun, length: float = length) -> None:
            report(begun + share * length)

        if name in kept:
            projected[name] = kept[name]
        else:
            signed = np.stack([marginals[i].counts for i in chunk]) / evidence.total
            projected[name], _ = project(
                signed,
                projection=projection,
                rng=np.random.default_rng([seed, 1, number]),
                device=device,
                report=report_chunk,
            )
            after_chunk(projected)
        tables.update(zip(chunk, projected[name], strict=True))
    return [without_forbidden(tables[i], mask) for i, mask in enumerate(masks)], projected
