"""The structure of a graphical model: its junction tree, and where edit rules forbid cells.

A rule is obeyed exactly by a model that has all the rule's columns in one clique of its tree. So
rules whose columns are in none get a clique of their own, small ones first, as long as the model
stays under its cap. What a rule says of fewer columns (a part of its columns in a clique) is used
in any case; records may still break a rule that has no clique, and are repaired by the release.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from hallmark.mechanisms.arrays import Mask
from hallmark.mechanisms.domain.cliques import Clique, cells
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.graphical_models.tree import JunctionTree, junction_tree

BYTES_A_CELL = 8  # float64


@dataclass(frozen=True, eq=False)
class Structure:
    """What a model of some cliques looks like.

    Attributes:
        tree: covers the cliques, all attributes, and the rules that have room.
        left_out: columns of rules that have no clique in the tree.
    """

    tree: JunctionTree
    left_out: tuple[Clique, ...]

    def zeros(self, rules: Rules) -> dict[Clique, Mask]:
        """Allowed cells of parts of the tree's cliques, where any is forbidden."""
        parts = {
            tuple(a for a in columns if a in clique)
            for clique in self.tree.cliques
            for columns in rule_columns(rules)
        }
        masks = {part: _allowed(rules, part) for part in sorted(parts) if part}
        return {part: mask for part, mask in masks.items() if not mask.all()}


def rule_columns(rules: Rules) -> tuple[Clique, ...]:
    """Columns of every rule, each set once; of undetermined functions, both columns."""
    tables = [*rules.tables, *(rules.parts.tables if rules.parts is not None else ())]
    columns = [table.columns for table in tables]
    columns += [(d.column, d.other) for d in rules.determinations]
    return tuple(dict.fromkeys(tuple(sorted(c)) for c in columns))


def structure(domain: Domain, cliques: Sequence[Clique], largest: int) -> Structure:
    """The structure of a model of `cliques` with as many rules as `largest` cells have room for."""
    shape = domain.shape
    kept, left_out = list(cliques), []
    tree = junction_tree(shape, kept)
    for columns in sorted(rule_columns(domain.rules), key=lambda c: (cells(c, shape), c)):
        if any(set(columns) <= set(clique) for clique in tree.cliques):
            continue
        larger = junction_tree(shape, [*kept, columns])
        if larger.cells(shape) <= largest:
            kept.append(columns)
            tree = larger
        else:
            left_out.append(columns)
    return Structure(tree, tuple(left_out))


@lru_cache(maxsize=256)
def _allowed(rules: Rules, part: Clique) -> Mask:
    """Kept, since an adaptive selection fits many models under the same rules."""
    return rules.allowed(part)
