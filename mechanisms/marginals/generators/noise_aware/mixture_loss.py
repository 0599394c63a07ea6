"""The loss of a mixture of product distributions against noisy marginals, and its gradient.

Loss.    Half the weighted squares of what the mixture's marginals have more than the measured ones,
         in cells and, where these were measured, in groups of cells. Weights are precisions
         relative to the best: then it is the likelihood, where noise is Gaussian.
Speed.   All pairs are one symmetric matrix over the cells of all attributes, side by side, so that
         they cost two products of matrices; triples are one for every cell of their first
         attribute, where that fits memory; groups are those of merged profiles.
Oracle.  tests/mechanisms/marginals/generators/noise_aware/test_mixture_loss.py takes finite
         differences, and sums the squares table by table.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Floats32, Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.marginals.cell_groups import Sizes, group_of, merge, spread
from hallmark.mechanisms.marginals.evidence import Evidence
from hallmark.mechanisms.marginals.generators.device import Device
from hallmark.mechanisms.marginals.generators.noise_aware.pairs_on_device import PairsOnDevice

_MOST_ENTRIES = 2**22  # of the matrices of triples: 16 MiB, of which a fit holds `COPIES`
COPIES = 7
_EXACT = 10.0  # weight of an exact marginal, beside 1 of the best measured: it leads, but not alone


def entries_of_triples(shape: Sequence[int], cliques: Iterable[Clique]) -> int:
    """Entries of their matrices, at most; 0 where there is no triple, or they are too many, so that
    triples are fitted one by one."""
    entries = sum(shape) ** 3
    return entries if entries <= _MOST_ENTRIES and any(len(c) == 3 for c in cliques) else 0


def slices(shape: Sequence[int]) -> tuple[slice, ...]:
    """Where each attribute's cells lie when all stand side by side."""
    ends = np.cumsum(shape).tolist()
    return tuple(slice(end - k, end) for end, k in zip(ends, shape, strict=True))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two-way tables to be fitted: one symmetric matrix over the cells of all attributes.

    Attributes:
        tables: probabilities; 0 where no pair was measured.
        precision: weights of the entries, likewise.
    """

    tables: Floats32
    precision: Floats32

    def misfits(self, weights: Floats32, profiles: Floats32) -> Floats32:
        """What a mixture has more than the tables."""
        excess = profiles.T @ (weights[:, None] * profiles)
        excess -= self.tables  # in place: of many cells, passes over memory cost most
        return excess

    def squared_error(self, weights: Floats32, profiles: Floats32) -> float:
        """Half the weighted squares of the misfits of all pairs."""
        misfits = self.misfits(weights, profiles)
        return 0.25 * float(np.vdot(misfits * self.precision, misfits))  # each pair is there twice

    def gradient(self, weights: Floats32, profiles: Floats32) -> Floats32:
        """Gradient of `squared_error` in the profiles, per unit of a class's weight."""
        slopes = self.misfits(weights, profiles)
        slopes *= self.precision
        return profiles @ slopes


@dataclass(frozen=True, eq=False)
class Triples:
    """Three-way tables to be fitted: for each cell of a first attribute, one symmetric matrix over
    the cells of all.

    Attributes:
        first: the cells of first attributes, by their place among all.
        tables: probabilities, shape (first, cells, cells); 0 where no triple was measured.
        precision: weights of the entries, likewise.
    """

    first: NDArray[np.int64]
    tables: Floats32
    precision: Floats32

    def squared_error(self, weights: Floats32, profiles: Floats32) -> float:
        """Half the weighted squares of the misfits of all triples."""
        misfits = self._misfits(weights, profiles)
        return 0.25 * float(np.vdot(misfits * self.precision, misfits))  # each is there twice

    def gradient(self, weights: Floats32, profiles: Floats32) -> Floats32:
        """Gradient of `squared_error` in the profiles, per unit of a class's weight."""
        slopes = self._misfits(weights, profiles)
        slopes *= self.precision
        pulled = profiles @ slopes  # (first, classes, cells)
        gradient = np.einsum("kg,gke->ke", profiles[:, self.first], pulled)
        gradient[:, self.first] += 0.5 * np.einsum("gke,ke->kg", pulled, profiles)
        return np.asarray(gradient)

    def _misfits(self, weights: Floats32, profiles: Floats32) -> Floats32:
        """What a mixture has more than the tables."""
        shares = (weights[:, None] * profiles[:, self.first]).T  # (first, classes)
        excess = (profiles.T[None] * shares[:, None, :]) @ profiles
        excess -= self.tables
        return np.asarray(excess)


@dataclass(frozen=True, eq=False)
class Other:
    """One marginal, as `Target` has it; `table` has the shape of its clique."""

    table: Floats32
    precision: float
    coarse: tuple[Sizes, float] | None

    def weighted(self, misfits: Floats32) -> Floats32:
        """Gradient of half the weighted squares of misfits of cells and of groups; both flat."""
        slopes = np.float32(self.precision) * misfits
        if self.coarse is not None:
            sizes, precision = self.coarse
            sums = merge(misfits.reshape(self.table.shape), sizes)
            slopes += np.float32(precision) * spread(sums, self.table.shape).ravel()
        return slopes


@dataclass(frozen=True, eq=False)
class Target:
    """Marginals to be fitted, as probabilities, with weights.

    Attributes:
        where: cells of each attribute, where those of all stand side by side.
        pairs: all two-way tables.
        groups: which cells every group holds, 0 or 1, shape (groups of all attributes, cells).
        coarse: all two-way tables that are measured in groups, too; None where none is.
        triples, coarse_triples: all three-way tables, likewise; None where there is none, or where
            they would take too much memory.
        others: tables of other orders, by clique, with their weights and, where they are measured
            in groups, too, the sizes and the weights of these.
    """

    where: tuple[slice, ...]
    pairs: Pairs | PairsOnDevice
    groups: Floats32
    coarse: Pairs | None
    triples: Triples | None
    coarse_triples: Triples | None
    others: Mapping[Clique, Other]

    def squared_error(self, weights: Floats32, profiles: Floats32) -> float:
        """Half the weighted squared error of all marginals.

        Args:
            weights: of the classes, shape (classes,).
            profiles: of all attributes side by side, shape (classes, cells).
        """
        error = self.pairs.squared_error(weights, profiles)
        if self.triples is not None:
            error += self.triples.squared_error(weights, profiles)
        for coarse in (self.coarse, self.coarse_triples):
            if coarse is not None:
                error += coarse.squared_error(weights, profiles @ self.groups.T)
        for clique, other in self.others.items():
            misfit = weights @ _product([profiles[:, self.where[a]] for a in clique])
            misfit -= other.table.ravel()
            error += 0.5 * float(other.weighted(misfit) @ misfit)
        return error

    def gradients(self, weights: Floats32, profiles: Floats32) -> tuple[Floats32, Floats32]:
        """Gradients of `squared_error` in the profiles, shape (classes, cells), and the weights."""
        pulled = self.pairs.gradient(weights, profiles)  # (classes, cells)
        if self.coarse is not None:  # a mixture's groups are those of its profiles
            merged = profiles @ self.groups.T
            pulled += self.coarse.gradient(weights, merged) @ self.groups
        by_profile = weights[:, None] * pulled
        by_weight = 0.5 * (pulled * profiles).sum(axis=1)
        if self.triples is not None:
            pulled = self.triples.gradient(weights, profiles)
            if self.coarse_triples is not None:
                merged = profiles @ self.groups.T
                pulled += self.coarse_triples.gradient(weights, merged) @ self.groups
            by_profile += weights[:, None] * pulled
            by_weight += (pulled * profiles).sum(axis=1) / 3
        for clique, other in self.others.items():
            factors = [profiles[:, self.where[a]] for a in clique]
            misfit = other.weighted(weights @ _product(factors) - other.table.ravel())
            for position, a in enumerate(clique):
                own = _contracted(misfit, factors, position)
                by_profile[:, self.where[a]] += weights[:, None] * own
                if position == 0:
                    by_weight = by_weight + (own * factors[0]).sum(axis=1)
        return by_profile, by_weight


def target_of(evidence: Evidence, tables: Mapping[Clique, Table], device: Device = "cpu") -> Target:
    """What a fit is to have of `tables`, probabilities by clique, as precise as the evidence.

    Args:
        device: where products of matrices over all cells are taken.
    """
    shape, where = evidence.domain.shape, slices(evidence.domain.shape)
    pairs = np.zeros((sum(shape), sum(shape)), dtype=np.float32)
    precision = np.zeros_like(pairs)
    groups, runs = _groups(evidence)
    coarse = np.zeros((len(groups), len(groups)), dtype=np.float32)
    others = {}
    triples = _Building(where, evidence) if entries_of_triples(shape, tables) else None
    coarse_triples = _Building(runs, evidence)
    for marginal in evidence.marginals:
        weight = (evidence.finest / marginal.sigma) ** 2 if marginal.sigma else _EXACT
        more = (evidence.finest / marginal.coarse.sigma) ** 2 if marginal.coarse else 0.0
        table = tables[marginal.clique].astype(np.float32)
        if len(marginal.clique) == 2:
            rows, columns = (where[a] for a in marginal.clique)
            pairs[rows, columns], pairs[columns, rows] = table, table.T
            precision[rows, columns] = precision[columns, rows] = weight
            rows, columns = (runs[a] for a in marginal.clique)
            coarse[rows, columns] = coarse[columns, rows] = more
        elif len(marginal.clique) == 3 and triples is not None:
            triples.add(marginal.clique, table, weight)
            if marginal.coarse:
                sums = merge(table, marginal.coarse.sizes).astype(np.float32)
                coarse_triples.add(marginal.clique, sums, more)
        else:
            sizes = (marginal.coarse.sizes, more) if marginal.coarse else None
            others[marginal.clique] = Other(table, weight, sizes)
    sums = np.asarray(groups @ pairs @ groups.T, dtype=np.float32)
    return Target(
        where=where,
        pairs=Pairs(pairs, precision)
        if device == "cpu"
        else PairsOnDevice(pairs, precision, device),
        groups=groups,
        coarse=Pairs(sums, coarse) if coarse.any() else None,
        triples=triples.built() if triples is not None else None,
        coarse_triples=coarse_triples.built(),
        others=others,
    )


class _Building:
    """Triples, one by one, over cells that lie where `where` says."""

    def __init__(self, where: tuple[slice, ...], evidence: Evidence) -> None:
        self._where, self._size = where, where[-1].stop
        leads = {m.clique[0] for m in evidence.marginals if len(m.clique) == 3}
        cells = [np.arange(where[a].start, where[a].stop) for a in sorted(leads)]
        self._first = np.concatenate(cells) if cells else np.zeros(0, dtype=np.int64)
        self._arrays: tuple[Floats32, Floats32] | None = None

    def add(self, clique: Clique, table: Floats32, weight: float) -> None:
        if self._arrays is None:
            shape = (len(self._first), self._size, self._size)
            self._arrays = (np.zeros(shape, np.float32), np.zeros(shape, np.float32))
        lead, rows, columns = (self._where[a] for a in clique)
        own = slice(*np.searchsorted(self._first, (lead.start, lead.stop)))
        for array, values in zip(self._arrays, (table, np.full_like(table, weight)), strict=True):
            array[own, rows, columns] = values
            array[own, columns, rows] = np.swapaxes(values, 1, 2)

    def built(self) -> Triples | None:
        return None if self._arrays is None else Triples(self._first, *self._arrays)


def _groups(evidence: Evidence) -> tuple[Floats32, tuple[slice, ...]]:
    """Which cells every group of pairs holds, and where the groups of each attribute lie; an
    attribute has as many as the coarse tables of pairs and triples give it, or none."""
    shape = evidence.domain.shape
    sizes = [0] * len(shape)
    for marginal in evidence.marginals:
        if marginal.coarse is not None and len(marginal.clique) in (2, 3):
            for a, groups in zip(marginal.clique, marginal.coarse.sizes, strict=True):
                sizes[a] = groups
    matrix = np.zeros((sum(sizes), sum(shape)), dtype=np.float32)
    runs = slices(sizes)
    for run, cells, k, groups in zip(runs, slices(shape), shape, sizes, strict=True):
        if groups:
            matrix[run, cells] = group_of(k, groups) == np.arange(groups)[:, None]
    return matrix, runs


def _product(factors: Sequence[Floats32]) -> Floats32:
    """Row-wise tensor products, shape (classes, product of cells)."""
    table = factors[0]
    for factor in factors[1:]:
        table = (table[:, :, None] * factor[:, None, :]).reshape(len(factor), -1)
    return table


def _contracted(table: Floats32, factors: Sequence[Floats32], kept: int) -> Floats32:
    """`table` against the factors of all attributes but one, shape (classes, its cells)."""
    cells = [factor.shape[1] for factor in factors]
    moved = np.moveaxis(table.reshape(cells), kept, 0).reshape(cells[kept], -1)
    others = [factor for position, factor in enumerate(factors) if position != kept]
    if not others:
        return np.broadcast_to(moved[:, 0], (len(factors[0]), cells[kept]))
    return np.asarray(_product(others) @ moved.T)
