"""Translate the linear queries of a spec into a workload on the cells of its columns.

A condition is evaluated on one value of every cell, which stands for all of them: conditions that
a cell does not decide were refused (`schemas.query_cuts`).

Oracle.  tests/tasks/planning/test_query_tables.py counts records in original units.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from io import BytesIO
from itertools import pairwise
from math import prod
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Mask
from hallmark.mechanisms.domain.cliques import all_ways
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.linear_queries import kinds
from hallmark.mechanisms.linear_queries.cell_names import CellNames
from hallmark.mechanisms.linear_queries.kinds import Part
from hallmark.mechanisms.linear_queries.workload import Workload
from hallmark.schemas.columns.columns import (
    BooleanColumn,
    Column,
    DateColumn,
    NominalColumn,
    NumericColumn,
    PlacesColumn,
)
from hallmark.schemas.columns.interval_columns import EPOCH
from hallmark.schemas.exact import decimal
from hallmark.schemas.given_files import bytes_of
from hallmark.schemas.query_workload import MatrixQueries, QueryEntry
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.rules.rule_parts import atoms, compared
from hallmark.schemas.rules.rule_syntax import Determines
from hallmark.schemas.rules.rule_truth import truth
from hallmark.schemas.rules.rules import Rule
from hallmark.tasks.planning.coding import Values
from hallmark.tasks.planning.likeness import Likeness
from hallmark.tasks.planning.private_tables import PublicTable, private_at, private_like, whose

_LARGEST = 2**30  # bytes of a matrix


@dataclass(frozen=True, eq=False)
class QueryTables:
    """The queries of a spec, with the SHA-256 of every file that they were read from."""

    workload: Workload | None = None  # None where it has none
    files: tuple[str, ...] = ()
    taken: tuple[PublicTable, ...] = ()  # for public: these files


def query_tables(spec: ReleaseSpec, domain: Domain, folder: Path) -> QueryTables:
    """The queries of the spec, which lies in `folder`.

    Raises:
        ValueError: an entry cannot be asked; the message begins with its place in the spec.
    """
    parts: list[Part] = []
    files: list[str] = []
    taken: list[PublicTable] = []
    for i, entry in enumerate(spec.mechanism.queries):
        place = f"mechanism.queries[{i}].{entry.kind}"
        try:
            if entry.matrix is None:
                parts += _parts(entry, spec, domain)
            else:
                path = folder / entry.matrix.file
                content = _public_content(path, spec, folder)
                files.append(hashlib.sha256(content).hexdigest())
                where = f"{place}: {entry.matrix.file}"
                taken.append(PublicTable(where, Likeness(frozenset(files[-1:]))))
                parts.append(_matrix(entry.matrix, content, domain))
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
    if not parts:
        return QueryTables()
    names = [cell_names(name, column) for name, column in spec.columns.items()]
    try:
        return QueryTables(Workload.of(domain, parts, names), tuple(files), tuple(taken))
    except ValueError as error:
        raise ValueError(f"mechanism.queries: {error}") from error


def cell_names(name: str, column: Column) -> CellNames:
    """What the cells of a column are called, the null cell last."""
    null = ("null",) if column.nulls else ()
    if isinstance(column, NumericColumn | DateColumn):
        firsts, lasts = zip(*_ends(column), strict=True)
        return CellNames(name, (*firsts, *null), (*lasts, *null))
    codes = (*column.codes, *null)
    is_listed = isinstance(column, NominalColumn | PlacesColumn | BooleanColumn)
    return CellNames(name, codes, codes, ordered=not is_listed)


def _ends(column: NumericColumn | DateColumn) -> Iterator[tuple[str, str]]:
    edges = column.exact_edges
    for low, high in pairwise(edges):
        if isinstance(column, DateColumn):
            days = (EPOCH + timedelta(days=int(day)) for day in (low, high - 1))
            first, last = (day.isoformat() for day in days)
            yield first, last
        else:
            yield decimal(low), decimal(high - 1 if column.integer else high)


def _parts(entry: QueryEntry, spec: ReleaseSpec, domain: Domain) -> tuple[Part, ...]:
    """The queries of an entry other than a matrix."""

    def positions(names: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(domain.names.index(name) for name in names)

    if entry.marginals is not None:
        listed = entry.marginals.columns
        ways = entry.marginals.ways or 0
        cliques = (
            all_ways(len(domain), ways) if listed is None else [positions(some) for some in listed]
        )
        return kinds.marginal_cells(domain, cliques)
    if entry.prefixes is not None:
        return (kinds.prefixes(domain, positions(entry.prefixes.columns)),)
    if entry.ranges is not None:
        columns, count = positions(entry.ranges.columns), entry.ranges.count
        if count is None:
            return (kinds.ranges(domain, columns),)
        rng = np.random.default_rng(entry.ranges.seed or 0)
        return (kinds.random_ranges(domain, columns, count, rng),)
    if entry.halfspaces is not None:
        rng = np.random.default_rng(entry.halfspaces.seed)
        columns = positions(entry.halfspaces.columns)
        return kinds.random_halfspaces(domain, columns, entry.halfspaces.count, rng)
    if entry.means is not None:
        return kinds.means(domain, positions(entry.means.columns))
    return (_condition(entry.condition(spec.columns), spec, domain),)


def _condition(rule: Rule, spec: ReleaseSpec, domain: Domain) -> Part:
    """A condition as a product of sets of cells where it is one, else on kinds of cells."""
    assert not isinstance(rule.body, Determines), "it was refused"
    names = sorted(rule.columns(), key=domain.names.index)
    values = {name: representatives(spec.columns[name]) for name in names}
    told = {name: _kinds(rule, name, values[name]) for name in names}
    firsts = [np.unique(told[name], return_index=True)[1] for name in names]
    shape = tuple(len(first) for first in firsts)
    if prod(shape) > kinds.MOST_CELLS:
        raise ValueError(
            f"tells {prod(shape):,} combinations of values apart, but at most "
            f"{kinds.MOST_CELLS:,} are counted; say it on fewer columns"
        )
    grid = np.meshgrid(*firsts, indexing="ij")
    frame = pd.DataFrame(
        {
            name: values[name].take(chosen.ravel()).reset_index(drop=True)
            for name, chosen in zip(names, grid, strict=True)
        }
    )
    holds: Mask = truth(rule.body, frame, rule.orders).true.reshape(shape)
    for axis, name in reversed(list(enumerate(names))):
        first = holds.take([0], axis=axis)
        if (holds == first).all():  # whatever the column's value is
            holds, names = first.squeeze(axis), [other for other in names if other != name]
    if not names:
        raise ValueError(
            f"{rule.text!r} holds for {'every record' if holds.all() else 'no record'}, whatever "
            "the data; correct it, or drop it"
        )
    cells = {domain.names.index(name): told[name] for name in names}
    axes = range(holds.ndim)
    sets = [np.asarray(holds.any(axis=tuple(a for a in axes if a != axis))) for axis in axes]
    if np.array_equal(reduce(np.logical_and.outer, sets), holds):
        inside = {
            column: np.flatnonzero(some[kind]).tolist()
            for (column, kind), some in zip(cells.items(), sets, strict=True)
        }
        return kinds.conjunction(domain, inside, rule.text)
    return kinds.condition(cells, holds, rule.text)


def representatives(column: Column) -> Values:
    """A value of every cell, in their order; the null last, where there is one."""
    if isinstance(column, NumericColumn):
        edges = column.exact_edges
        inner = edges[:-1]
        if not column.integer:
            inner = tuple((a + b) / 2 for a, b in pairwise(edges))
        values = pd.Series([float(value) for value in inner], dtype="float64")
    elif isinstance(column, DateColumn):
        days = [int(edge) for edge in column.exact_edges[:-1]]
        values = pd.Series(pd.Timestamp(EPOCH) + pd.to_timedelta(days, unit="D"))
    else:
        values = pd.Series(list(column.codes), dtype="object")
    if column.nulls:
        values = pd.concat([values, values.iloc[:1].mask([True])], ignore_index=True)
    return values


def _kinds(rule: Rule, name: str, values: Values) -> NDArray[np.int64]:
    """Numbers of a column's cells, equal where the statement does not tell them apart."""
    assert not isinstance(rule.body, Determines), "it was refused"
    if any(name in pair for pair in compared(rule.body)):
        return np.arange(len(values))
    frame = pd.DataFrame({name: values})
    answers = [truth(atom, frame, rule.orders) for atom in atoms(rule.body) if atom.column == name]
    keys = np.column_stack([side for one in answers for side in (one.true, one.false)])
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _public_content(path: Path, spec: ReleaseSpec, folder: Path) -> bytes:
    """The bytes of a file that is taken for public, and whose digest is published."""
    if (owner := private_at(str(path), spec, folder)) is not None:
        raise ValueError(f"is the private table of {whose(owner, spec)}; name a public file")
    try:
        content = bytes_of(path, _LARGEST)
    except OSError as error:
        raise ValueError(
            f"{path.name} cannot be read ({error.strerror}); fix the path, which is relative to "
            "the spec"
        ) from error
    like = Likeness(frozenset({hashlib.sha256(content).hexdigest()}))
    if (owner := private_like(like)) is not None:
        raise ValueError(f"is a copy of the private table of {whose(owner, spec)}; name another")
    return content


def _matrix(asked: MatrixQueries, content: bytes, domain: Domain) -> Part:
    columns = [domain.names.index(name) for name in asked.columns]
    return kinds.matrix(
        domain, columns, _numbers(asked.file, content), Path(asked.file).name, unit=asked.unit
    )


def _numbers(file: str, content: bytes) -> NDArray[np.float64]:
    try:
        if file.lower().endswith(".npy"):
            array = np.load(BytesIO(content), allow_pickle=False)
            if array.dtype.kind not in "biuf":
                raise ValueError(f"it holds {array.dtype}")
            return np.asarray(array, dtype=np.float64)
        if not content.strip():
            return np.empty((0, 0))
        return np.loadtxt(BytesIO(content), delimiter=",", ndmin=2, dtype=np.float64)
    except (ValueError, EOFError, MemoryError) as error:  # the last where a header lies
        wrong = str(error)
    # Raised outside the handler: what numpy says quotes the file, which may be no public one.
    place = re.search(r"(it holds \S+|at row \d+(, column \d+)?)", wrong)
    raise ValueError(
        f"{file} holds no matrix of numbers{f' ({place.group()})' if place else ''}; write a query "
        "a row and a number a cell, without a heading"
    )
