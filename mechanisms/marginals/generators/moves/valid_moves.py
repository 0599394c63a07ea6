"""Valid moves: how a search over records changes them one by one and never breaks a rule.

A record that obeys all rules may take one other code where the tables of that attribute allow it,
or all attributes of a component of rules from another valid record. The second kind is needed where
codes determine each other: there no single change is allowed, yet all valid records are reached.

Claim.   From valid records, such moves lead to valid records only.
Proof.   Rules connect attributes of one component only. A single change that obeys all tables which
         touch it obeys all tables. Tables over cells may fail to say whether cells hold values that
         obey together (`Parts`); there a table over the whole component, made exactly, stands in,
         or, if it were too large, the attributes change with their component only.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.domain.rules import FlatTables, Rules, RuleTable
from hallmark.mechanisms.marginals.evidence import NoisyMarginal

_MOST_CELLS = 1 << 16  # of the table that stands in for the parts of a component


@dataclass(frozen=True, eq=False)
class ValidMoves:
    """What a search may change.

    Attributes:
        tables: what a change of one attribute must obey, for `mechanisms.domain.rules.obeys`.
        alone: attributes that may change alone where the tables allow it, shape (attributes,).
        blocks: sets of attributes that may be copied together from a valid record.
    """

    tables: FlatTables
    alone: NDArray[np.bool_]
    blocks: tuple[tuple[int, ...], ...]


def valid_moves(rules: Rules) -> ValidMoves:
    """The moves that rules leave; without rules, any single change.

    Raises:
        ValueError: there are determinations that are not settled yet.
    """
    if rules.determinations:
        raise ValueError(
            f"{rules.determinations[0].name}: which value goes with which is not settled; "
            "call Rules.settled first"
        )
    alone = np.ones(len(rules.shape), dtype=np.bool_)
    exact = []
    if rules.parts is not None:
        touched = {column for table in rules.parts.tables for column in table.columns}
        for component in rules.components:
            if touched.isdisjoint(component):
                continue
            if prod(rules.shape[column] for column in component) <= _MOST_CELLS:
                exact.append(RuleTable("parts", component, rules.allowed(component)))
            else:
                alone[list(component)] = False
    tables = replace(rules, tables=(*rules.tables, *exact), parts=None).compiled()
    return ValidMoves(tables, alone, rules.components)


def settled_by(rules: Rules, marginals: Iterable[NoisyMarginal]) -> Rules:
    """The rules with determinations settled by what was measured of the two columns.

    Of several marginals that hold both, the one whose pair is least noisy decides; where there is
    none, the first allowed value wins.
    """
    if not rules.determinations:
        return rules
    known = tuple(marginals)

    def joint(pair: tuple[int, int]) -> Table:
        holding = [marginal for marginal in known if set(pair) <= set(marginal.clique)]
        if not holding:
            return np.ones([rules.shape[column] for column in pair])
        first, second = (rules.shape[column] for column in pair)
        best = min(holding, key=lambda m: m.sigma**2 * m.counts.size / (first * second))
        rest = tuple(axis for axis, a in enumerate(best.clique) if a not in pair)
        table = best.counts.sum(axis=rest)
        return table if pair[0] < pair[1] else table.T

    return rules.settled(joint)
