"""Belief propagation: the marginals of a graphical model from its potentials, exactly.

A model is the normalised product of exp(potential) over cliques and of 0/1 factors (structural
zeros). Messages run along a junction tree to its roots and back; after that every clique of the
tree holds its marginal.

Numerics. Tables are multiplied as numbers, several times faster than adding logarithms; where a
          clique's product underflows as a whole, all are formed anew from logarithms. Axes are
          kept in one order throughout, long ones last, where numpy sums and multiplies fast.

Claim.   `calibrate` gives the marginals of the model to float accuracy, also where potentials
         are -inf or span more than the range of a float; `response` is the derivative of
         `marginals` along a direction in the potentials.
Source.  Jensen, Lauritzen, Olesen (1990), Computational Statistics Quarterly 5, for the schedule.
         The derivative of a marginal is a covariance: E[f 1_x] - E[f] P(x).
Oracle.  tests/mechanisms/graphical_models/test_propagation.py sums the whole joint,
         takes finite differences, and compares with an independent library.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from string import ascii_letters

import numpy as np

from hallmark.mechanisms.arrays import Mask, Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.graphical_models.tree import JunctionTree

Scope = tuple[Clique, Table]
"""The attributes of a table's axes, and the table."""

# Cells of a message below the second number are left out, as if they had underflowed; where a
# clique's product has no cell above the first, they may matter, and logarithms are used.
_LEAST, _NOTHING = 1e-200, 1e-290


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A distribution as the marginals of a junction tree's cliques.

    Attributes:
        tree: its cliques and separators name the axes of the tables, in their order.
        tables: probabilities of every clique.
        separators: probabilities of what each clique shares with its parent; shape () for roots.
    """

    tree: JunctionTree
    tables: tuple[Table, ...]
    separators: tuple[Table, ...]


@dataclass(frozen=True)
class _Step:
    """One factor of a clique's product: `source` is a clique of `_local`, or a child's index."""

    source: Clique | int
    spread: tuple[int, ...]  # shape that broadcasts over the clique's axes


class Propagation:
    """The schedule for one set of cliques; made once, run for many potentials."""

    def __init__(
        self,
        shape: Sequence[int],
        tree: JunctionTree,
        cliques: Sequence[Clique],
        zeros: Mapping[Clique, Mask],
    ) -> None:
        """
        Args:
            tree: every clique of `cliques` and of `zeros` lies in one of its cliques.
            cliques: those of the potentials; axes of potentials and marginals are in their order.
            zeros: which cells of some cliques may hold probability.
        """
        self._shape = tuple(shape)
        self._cliques = tuple(cliques)
        self._tree = JunctionTree(
            tuple(map(self._arranged, tree.cliques)),
            tree.parents,
            tuple(map(self._arranged, tree.separators)),
        )
        self._children: list[list[int]] = [[] for _ in tree.cliques]
        for child, parent in enumerate(tree.parents):
            if parent is not None:
                self._children[parent].append(child)
        self._zeros: dict[Clique, Mask] = {}
        for clique, allowed in zeros.items():
            arranged = self._arranged(clique)
            mask = np.transpose(allowed, [clique.index(a) for a in arranged])
            self._zeros[arranged] = mask & self._zeros.get(arranged, np.True_)
        # A clique within another one is added to that one's table, not to the tree's.
        parts = sorted(
            {*map(self._arranged, cliques), *self._zeros},
            key=lambda clique: (len(clique), self._cells(clique), clique),
        )
        self._parts = tuple(parts)
        self._host: dict[Clique, Clique] = {}
        for i, part in enumerate(parts):
            within = [other for other in parts[i + 1 :] if set(part) < set(other)]
            if within:
                self._host[part] = min(within, key=self._cells)
        self._local: list[list[Clique]] = [[] for _ in tree.cliques]
        for part in parts:
            if part not in self._host:
                self._local[self._home(part)].append(part)
        self._steps = [self._schedule(node) for node in range(len(tree.cliques))]

    def calibrate(self, potentials: Sequence[Table]) -> Calibrated:
        """The distribution of these potentials, natural logarithms in the order of `cliques`.

        Raises:
            ValueError: the zeros leave no cell with probability.
        """
        logs = self._folded(potentials, masked=True)
        laws = self._laws(logs)
        if laws is None:
            laws = self._laws_from_logarithms(logs)
        tree, separators = self._tree, list[Table]()
        for node, clique in enumerate(tree.cliques):
            parent, separator = tree.parents[node], tree.separators[node]
            shared = np.ones(())
            if parent is not None:
                shared = summed(laws[parent], tree.cliques[parent], separator)
                laws[node] *= shared.reshape(self._spread(separator, clique))
            separators.append(shared)
        return Calibrated(tree, tuple(laws), tuple(separators))

    def marginals(self, calibrated: Calibrated) -> list[Table]:
        """Marginals of `cliques`, in order."""
        return self._contracted(calibrated.tables)

    def response(self, calibrated: Calibrated, direction: Sequence[Table]) -> list[Table]:
        """How the marginals change, to first order, as the potentials move along `direction`."""
        tree = self._tree
        values = self._folded(direction, masked=False)
        changes: list[Table] = [np.empty(())] * len(tree.cliques)
        means: dict[int, Table] = {}  # of all that lies beyond a separator, given its cell
        for node in reversed(range(len(tree.cliques))):
            clique, separator = tree.cliques[node], tree.separators[node]
            change = np.zeros([self._shape[a] for a in clique])
            for step in self._steps[node]:
                source = step.source
                change += (means[source] if isinstance(source, int) else values[source]).reshape(
                    step.spread
                )
            change *= calibrated.tables[node]
            changes[node] = change
            if separator:
                means[node] = _ratio(summed(change, clique, separator), calibrated.separators[node])
        for node, clique in enumerate(tree.cliques):
            parent, separator = tree.parents[node], tree.separators[node]
            table = calibrated.tables[node]
            if parent is None:
                changes[node] -= changes[node].sum() * table
                continue
            missing = summed(changes[parent], tree.cliques[parent], separator)
            missing -= summed(changes[node], clique, separator)
            shift = _ratio(missing, calibrated.separators[node])
            changes[node] += shift.reshape(self._spread(separator, clique)) * table
        return self._contracted(changes)

    def highest(self, values: Sequence[Table]) -> float:
        """The largest sum of the values of a record's cells, over all records that may be.

        Args:
            values: of the cells of `cliques`, finite.
        Raises:
            ValueError: the zeros leave no record at all.
        """
        logs, messages = self._folded(values, masked=True), dict[int, Table]()
        total = 0.0
        for node in reversed(range(len(self._tree.cliques))):
            clique, separator = self._tree.cliques[node], self._tree.separators[node]
            summed_up = self._product_of_logarithms(node, logs, messages)
            outside = tuple(i for i, a in enumerate(clique) if a not in separator)
            messages[node] = summed_up.max(axis=outside)
            if self._tree.parents[node] is None:
                total += float(messages[node])
        if not total > -np.inf:
            raise ValueError("the structural zeros allow no record at all")
        return total

    def _folded(self, tables: Sequence[Table], *, masked: bool) -> dict[Clique, Table]:
        """Sums of tables (and of the logarithms of zeros) by clique that lies in no other."""
        sums: dict[Clique, Table] = {
            part: np.zeros([self._shape[a] for a in part]) for part in self._parts
        }
        for clique, table in zip(self._cliques, tables, strict=True):
            part = self._arranged(clique)
            sums[part] += np.transpose(table, [clique.index(a) for a in part])
        for part in self._parts:
            if masked and part in self._zeros:
                sums[part][~self._zeros[part]] = -np.inf
            if part in self._host:
                host = self._host[part]
                sums[host] += sums.pop(part).reshape(self._spread(part, host))
        return sums

    def _contracted(self, tables: Sequence[Table]) -> list[Table]:
        """Tables of the tree's cliques summed to `cliques`."""
        found: dict[Clique, Table] = {}
        for node, local in enumerate(self._local):
            for part in local:
                found[part] = summed(tables[node], self._tree.cliques[node], part)
        for part in reversed(self._parts):
            if part in self._host:
                host = self._host[part]
                found[part] = summed(found[host], host, part)
        return [
            np.transpose(found[part], [part.index(a) for a in clique])
            for clique in self._cliques
            for part in (self._arranged(clique),)
        ]

    def _laws(self, logs: Mapping[Clique, Table]) -> list[Table] | None:
        """Every clique's law given its separator's cell; None where too much underflows."""
        tree = self._tree
        factors = {part: _scaled(log) for part, log in logs.items()}
        laws: list[Table] = [np.empty(())] * len(tree.cliques)
        messages: dict[int, Table] = {}
        for node in reversed(range(len(tree.cliques))):
            clique, separator = tree.cliques[node], tree.separators[node]
            full = [self._shape[a] for a in clique]
            law: Table = np.ones([1] * len(full))
            for step in self._steps[node]:
                source = step.source
                factor = messages[source] if isinstance(source, int) else factors[source]
                law = law * factor.reshape(step.spread)
            top = law.max()
            if not top > _LEAST:
                return None
            laws[node] = np.divide(law, top, out=np.empty(full))
            message = summed(laws[node], clique, separator)
            message = np.where(message > _NOTHING, message, 0.0)
            inverse = _ratio(np.ones_like(message), message)
            laws[node] *= inverse.reshape(self._spread(separator, clique))
            messages[node] = message / message.max()
        return laws

    def _laws_from_logarithms(self, logs: Mapping[Clique, Table]) -> list[Table]:
        """The laws computed without underflow, which is slower."""
        tree = self._tree
        laws: list[Table] = [np.empty(())] * len(tree.cliques)
        messages: dict[int, Table] = {}
        for node in reversed(range(len(tree.cliques))):
            clique, separator = tree.cliques[node], tree.separators[node]
            log = self._product_of_logarithms(node, logs, messages)
            outside = tuple(i for i, a in enumerate(clique) if a not in separator)
            top = log.max(axis=outside)
            spread = self._spread(separator, clique)
            law = np.exp(log - np.where(top > -np.inf, top, 0.0).reshape(spread))
            message = summed(law, clique, separator)
            laws[node] = law * _ratio(np.ones_like(message), message).reshape(spread)
            with np.errstate(divide="ignore"):
                messages[node] = np.log(message) + top
            if not messages[node].max() > -np.inf:
                raise ValueError("the structural zeros allow no record at all")
        return laws

    def _product_of_logarithms(
        self, node: int, logs: Mapping[Clique, Table], messages: Mapping[int, Table]
    ) -> Table:
        """A clique's factors and its children's messages, added up."""
        log = np.zeros([self._shape[a] for a in self._tree.cliques[node]])
        for step in self._steps[node]:
            source = step.source
            factor = messages[source] if isinstance(source, int) else logs[source]
            log += factor.reshape(step.spread)
        return log

    def _schedule(self, node: int) -> list[_Step]:
        """Factors in an order in which the product grows late, so that most of it is small."""
        clique = self._tree.cliques[node]
        left: list[tuple[Clique | int, Clique]] = [(part, part) for part in self._local[node]]
        left += [(child, self._tree.separators[child]) for child in self._children[node]]
        steps, covered = [], set[int]()
        while left:
            source, part = min(left, key=lambda item: self._cells(covered.union(item[1])))
            left.remove((source, part))
            covered.update(part)
            steps.append(_Step(source, self._spread(part, clique)))
        return steps

    def _home(self, part: Clique) -> int:
        """The smallest clique of the tree that holds this one."""
        holds = [i for i, c in enumerate(self._tree.cliques) if set(part) <= set(c)]
        return min(holds, key=lambda i: self._cells(self._tree.cliques[i]))

    def _arranged(self, clique: Clique) -> Clique:
        """The clique's attributes, ordered so that those with most cells come last."""
        return tuple(sorted(clique, key=lambda a: (self._shape[a], a)))

    def _spread(self, part: Clique, clique: Clique) -> tuple[int, ...]:
        """Shape of a part's table that broadcasts over the clique's."""
        return tuple(self._shape[a] if a in part else 1 for a in clique)

    def _cells(self, clique: Sequence[int] | set[int]) -> int:
        return prod(self._shape[a] for a in clique)


def summed(table: Table, clique: Clique, part: Clique) -> Table:
    """A clique's table summed to some of its attributes, in the order of `part`."""
    return table if part == clique else contracted([(clique, table)], part)


def contracted(scopes: Sequence[Scope], kept: Clique) -> Table:
    """Product of tables, summed to the attributes that are kept, in their order."""
    attributes = dict.fromkeys(a for axes, _ in scopes for a in axes)
    letter = dict(zip(attributes, ascii_letters[: len(attributes)], strict=True))
    inputs = ",".join("".join(letter[a] for a in axes) for axes, _ in scopes)
    output = "".join(letter[a] for a in kept)
    result: Table = np.einsum(f"{inputs}->{output}", *(table for _, table in scopes))
    return result


def _scaled(log: Table) -> Table:
    """Exponentials, the largest 1; all 0 where all are -inf."""
    top = log.max()
    return np.exp(log - top) if top > -np.inf else np.zeros_like(log)


def _ratio(numerator: Table, denominator: Table) -> Table:
    """Quotient, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
