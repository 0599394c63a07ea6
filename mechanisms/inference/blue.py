"""Best linear unbiased estimates of linear queries from all measured tables that inform them.

A query is a function of a record's codes, and its answer the sum over all records. An estimate is
a weighted sum of noisy answers. It is unbiased if the weights, as a function of a record's codes,
are the query; of these, the one of least variance is taken.

Claim.   `weights` gives weights W with `A' W = Q` and the least `sum (sigma W)^2`, for every query.
         So W'y has mean Q'x and the least variance of all linear unbiased estimates (Gauss-Markov).
How.     z = sigma W is the solution of least norm of L z = Q, where L takes answers to components
         of functions (`spaces`); it is found by conjugate gradients from z = 0, which stay within
         the range of L'. Components are scaled by what their precision would be if every table had
         a count for every combination of codes; where all have, L L' is the identity and the first
         step is exact: the closed form of ResidualPlanner. Tables of groups or of differences
         couple the components of their columns, and take some steps more. Tables that count the
         same, such as margins of several, have one set of weights, which they share out by their
         precision.
Source.  Xiao, He, Zhang, Kifer (2023), arXiv:2305.08175, for the residual spaces; Hestenes, Stiefel
         (1952) for conjugate gradients.
Oracle.  tests/mechanisms/inference/test_blue.py: generalised least squares with dense matrices.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
from scipy import sparse

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.cliques import Clique, downward_closure
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.inference.spaces import Components, centred, split

_TOLERANCE = 1e-11  # of the residual, relative to the query
_UNMEASURED = 1e-7  # a residual above this cannot be estimated
_MOST_STEPS = 3000
_ROUNDING = 1e-12  # components up to this share of their query's largest value are 0
_AT_ONCE = 2**24  # numbers in the largest arrays: 128 MiB


@dataclass(frozen=True, eq=False)
class LinearQuery:
    """A function of a record's codes, summed over all records.

    Attributes:
        columns: ascending; none for the number of records.
        values: by the codes of these columns, float64.
    """

    columns: Clique
    values: Floats


class NotMeasured(ValueError):
    """A query has parts that no measured table informs.

    Attributes:
        missing: sets of columns whose main effect or interaction is not measured.
    """

    def __init__(self, missing: Sequence[Clique]) -> None:
        super().__init__(f"nothing was measured of {len(missing)} effects or interactions")
        self.missing = tuple(missing)


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of noisy answers, for several queries.

    Attributes:
        tables: those with answers that count.
        by_table: for each, float64 of shape (answers, queries).
        constant: multiples of the number of records to be added, shape (queries,); 0 where that
            is estimated, too.
    """

    tables: tuple[MeasuredTable, ...]
    by_table: tuple[Floats, ...]
    constant: Floats


class Blue:
    """Finds the weights of best linear unbiased estimates."""

    def __init__(self, tables: Sequence[MeasuredTable], *, total_is_public: bool) -> None:
        """Take tables whose columns have few enough combinations of codes to be written out."""
        self._seen = tuple(_Seen(of) for of in _alike(tables))
        self._total_is_public = total_is_public

    def weights(self, queries: Sequence[LinearQuery]) -> Weights:
        """Weights of least variance, for each of the queries.

        Raises:
            NotMeasured: a query has no linear unbiased estimate.
        """
        asked, constant = self._components(queries)
        if not asked:
            return Weights((), (), constant)
        coupled = self._coupled(asked)
        scales = {part: self._scale(part) for part in coupled}
        unseen = [part for part in asked if not scales[part] or not self._told_apart(part, asked)]
        if unseen:
            raise NotMeasured(unseen)
        seen = [one.within(coupled) for one in self._seen if coupled & one.own]
        system = _System(tuple(seen), scales)
        shapes = {part: self._shape(part) for part in coupled}
        numbers = sum(one.cells for one in seen)
        numbers += sum(prod(shape) for shape in shapes.values())
        at_once = max(1, _AT_ONCE // max(1, numbers))
        by_batch = []
        for first in range(0, len(queries), at_once):
            batch = slice(first, first + at_once)
            width = len(queries[batch])
            wanted = {
                part: asked[part][..., batch] if part in asked else np.zeros((*shape, width))
                for part, shape in shapes.items()
            }
            by_batch.append(system.least_norm(wanted))
        by_table = tuple(np.concatenate(w, axis=1) for w in zip(*by_batch, strict=True))
        if self._total_is_public:
            # The tables' own estimate of the total is left out, and replaced by the public one.
            for one, w in zip(seen, by_table, strict=True):
                constant = constant - (one.by_codes.T @ w).mean(axis=0)
        return Weights(
            tuple(table for one in seen for table in one.tables),
            tuple(
                w for one, of_all in zip(seen, by_table, strict=True) for w in one.shares(of_all)
            ),
            constant,
        )

    def _components(self, queries: Sequence[LinearQuery]) -> tuple[dict[Clique, Floats], Floats]:
        """Components of all queries, without those that are 0; and multiples of a public total."""
        components: dict[Clique, Floats] = {}
        for position, query in enumerate(queries):
            rounding = _ROUNDING * np.abs(query.values).max()
            for part, values in split(query.values[..., None], query.columns).items():
                if np.abs(values).max() > rounding:
                    shape = (*values.shape[:-1], len(queries))
                    components.setdefault(part, np.zeros(shape))[..., position] = values[..., 0]
        constant = np.zeros(len(queries))
        if self._total_is_public and () in components:
            constant = components.pop(())
        return components, constant

    def _coupled(self, asked: Iterable[Clique]) -> set[Clique]:
        """The components asked for, and all that tables without a count for every cell tie to
        them."""
        coupled, grows = set(asked), True
        while grows:
            tied = [
                one.own - coupled for one in self._seen if not one.is_complete and coupled & one.own
            ]
            more = set().union(*tied) - ({()} if self._total_is_public else set())
            coupled, grows = coupled | more, bool(more)
        return coupled

    def _told_apart(self, part: Clique, asked: Components) -> bool:
        """Whether a component is the same for all codes of a column that no table with all of its
        columns tells apart; else there is no need to look for weights."""
        holders = [one for one in self._seen if part in one.own]
        if any(one.is_complete for one in holders):
            return True
        values = asked[part]
        for axis, column in enumerate(part):
            tables = [one.tables[0].tables[one.columns.index(column)] for one in holders]
            _, firsts, classes = np.unique(
                np.stack(tables), axis=1, return_index=True, return_inverse=True
            )
            if len(firsts) < len(classes):
                alike = np.take(np.take(values, firsts, axis=axis), classes, axis=axis)
                if np.abs(alike - values).max() > _UNMEASURED * np.abs(values).max():
                    return False
        return True

    def _scale(self, part: Clique) -> float:
        """Deviation of a component if every table had a count for every cell; 0 if unseen."""
        precision = sum(one.precision(part) for one in self._seen if part in one.own)
        return precision**-0.5 if precision else 0.0

    def _shape(self, part: Clique) -> tuple[int, ...]:
        seen = next(one for one in self._seen if part in one.own)
        return tuple(
            k for column, k in zip(seen.columns, seen.shape, strict=True) if column in part
        )


@dataclass(frozen=True, eq=False)
class _Seen:
    """Tables that count the same, and the components that they tell of."""

    tables: tuple[MeasuredTable, ...]
    only: frozenset[Clique] | None = None

    def within(self, components: "set[Clique]") -> "_Seen":
        """The same with only some of its components."""
        return replace(self, only=frozenset(self.own & components))

    @cached_property
    def columns(self) -> Clique:
        return self.tables[0].columns

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return self.tables[0].shape

    @cached_property
    def cells(self) -> int:
        """Combinations of codes."""
        return prod(self.shape)

    @cached_property
    def by_codes(self) -> sparse.csr_array:
        """As of each of the tables."""
        return self.tables[0].by_codes

    @cached_property
    def _of_codes(self) -> sparse.csc_array:
        return self.by_codes.T  # which makes a new array each time

    @cached_property
    def sigma(self) -> float:
        """Standard deviation of the noise in an answer, if each is the best mean of all tables."""
        sigmas = [one.sigma for one in self.tables]
        return sigmas[0] if len(sigmas) == 1 else sum(sigma**-2 for sigma in sigmas) ** -0.5

    def shares(self, weights: Floats) -> Iterator[Floats]:
        """The weights of each table's answers, of those of their best mean."""
        for one in self.tables:
            yield weights if len(self.tables) == 1 else weights * (self.sigma / one.sigma) ** 2

    @cached_property
    def own(self) -> frozenset[Clique]:
        """The components, by their columns."""
        return self.only or frozenset({(), *downward_closure([self.columns])})

    @cached_property
    def is_complete(self) -> bool:
        """Whether every combination of codes is counted, by itself."""
        matrix = self.by_codes
        square = matrix.shape[0] == matrix.shape[1] == matrix.nnz
        return bool(
            square and (matrix.data == 1).all() and (np.bincount(matrix.indices) == 1).all()
        )

    def components(self, scaled: Floats) -> dict[Clique, Floats]:
        """The function of codes that weights `scaled / sigma` of the answers, shape (answers,
        queries), come to."""
        values = self._of_codes @ (scaled / self.sigma)
        of_all = split(values.reshape(*self.shape, -1), self.columns)
        return {part: of_all[part] for part in self.own}

    def adjoint(self, components: Components) -> Floats:
        """The transpose of `components`; of components with mean 0 along every column."""
        values: Floats = np.zeros(())
        for part, shape, share in self._spread:
            component = components[part]
            values = values + share * component.reshape(*shape, component.shape[-1])
        values = np.broadcast_to(values, (*self.shape, values.shape[-1]))
        return np.asarray(self.by_codes @ values.reshape(self.cells, -1)) / self.sigma

    @cached_property
    def _spread(self) -> Sequence[tuple[Clique, tuple[int, ...], float]]:
        """Of each component: its shape as a function of all columns, with axes of length 1 for
        those that it does not depend on, and the share of all combinations that it tells apart."""
        found = []
        for part in self.own:
            axes = zip(self.columns, self.shape, strict=True)
            shape = tuple(k if column in part else 1 for column, k in axes)
            found.append((part, shape, prod(shape) / self.cells))
        return found

    def precision(self, part: Clique) -> float:
        """A component's precision if every combination of codes were counted by itself."""
        others = (k for c, k in zip(self.columns, self.shape, strict=True) if c not in part)
        return 1 / (self.sigma**2 * prod(others))


def _alike(tables: Sequence[MeasuredTable]) -> Iterator[tuple[MeasuredTable, ...]]:
    """The tables, those together that count the same, in the order of the first of each."""
    groups: dict[tuple[str, bytes, bytes], list[MeasuredTable]] = {}
    for one in tables:
        counted = one.sums.entry.tobytes(), one.sums.weight.tobytes()
        groups.setdefault((one.cells.digest, *counted), []).append(one)
    return map(tuple, groups.values())


@dataclass(frozen=True, eq=False)
class _System:
    """The map L from scaled weights of all answers to scaled components."""

    seen: tuple[_Seen, ...]
    scales: Mapping[Clique, float]

    def least_norm(self, wanted: Components) -> tuple[Floats, ...]:
        """Weights of the answers of each table, shape (answers, queries).

        Raises:
            NotMeasured: no weights give the components that are wanted.
        """
        target = {part: self.scales[part] * values for part, values in wanted.items()}
        goal = _norm2(target)
        residual, gradient = target, self._adjoint(target)
        scaled, direction = [np.zeros_like(z) for z in gradient], gradient
        size = start = _sum_of_squares(gradient)
        rest, smallest = goal, np.full_like(goal, np.inf)
        for _ in range(_MOST_STEPS):
            left = (rest > _TOLERANCE**2 * goal) & (size > _TOLERANCE**4 * start)
            if not left.any():
                break
            image = self._forward(direction)
            curvature = _norm2(image)
            # It grows by rounding alone, where none is left.
            moves = left & (curvature > 0) & (rest <= smallest)
            if not moves.any():
                break
            smallest = rest
            step = np.where(moves, size / np.where(moves, curvature, 1.0), 0.0)
            for z, p in zip(scaled, direction, strict=True):
                z += step * p
            for part, values in residual.items():
                values -= step * image[part]
            rest, gradient = _norm2(residual), self._adjoint(residual)
            before, size = size, _sum_of_squares(gradient)
            turn = np.where(moves, size / np.where(moves, before, 1.0), 0.0)
            for g, p in zip(gradient, direction, strict=True):
                p *= turn
                p += g
        missing = {
            part: float((_norm2({part: values}) / np.where(goal > 0, goal, 1.0)).max())
            for part, values in residual.items()
        }
        if max(missing.values()) > _UNMEASURED**2:
            raise NotMeasured([part for part, rest in missing.items() if rest > _UNMEASURED**2])
        return tuple(z / one.sigma for z, one in zip(scaled, self.seen, strict=True))

    def _adjoint(self, components: Components) -> list[Floats]:
        scaled = {part: self.scales[part] * centred(u) for part, u in components.items()}
        return [one.adjoint(scaled) for one in self.seen]

    def _forward(self, scaled: Sequence[Floats]) -> dict[Clique, Floats]:
        total: dict[Clique, Floats] = {}
        for one, z in zip(self.seen, scaled, strict=True):
            for part, component in one.components(z).items():
                total[part] = total[part] + component if part in total else component
        return {part: self.scales[part] * values for part, values in total.items()}


def _norm2(components: Components) -> Floats:
    return _sum_of_squares(components.values())


def _sum_of_squares(arrays: Iterable[Floats]) -> Floats:
    """The sum of squares by query, over all arrays of shape (..., queries)."""
    each = [np.square(one).reshape(-1, one.shape[-1]).sum(axis=0) for one in arrays]
    return np.asarray(sum(each))
