"""Clauses of an edit rule: statements that all hold if and only if the rule holds.

Claim.   A row is known to break the rule if and only if it is known to break one of its clauses.
         In three-valued logic (`rule_truth`), `and` is false if a part is, and `or` if all parts
         are; both distribute and obey De Morgan's laws as in two-valued logic. A chain of
         equivalences is false if some part is true and another false, that is, if some part
         implies another falsely; its negation is false if all are true or all are false.
Oracle.  tests/schemas/rules/test_rule_parts.py compares random rules with their clauses, row by
         row.
"""

from collections.abc import Iterator
from itertools import permutations, product

from hallmark.schemas.rules.rule_syntax import (
    And,
    ColumnName,
    Comparison,
    Equivalent,
    Expression,
    Implies,
    IsNull,
    Member,
    Not,
    Or,
    parts,
)

MOST_CLAUSES = 64  # of one statement; a statement that would have more is not split

Atom = Comparison | Member | IsNull
"""A statement that contains no other statement."""


def clauses(expression: Expression) -> tuple[Expression, ...]:
    """Statements that together are equivalent, each on as few columns as splitting achieves."""
    return tuple(dict.fromkeys(_split(expression, holds=True)))


def atoms(expression: Expression) -> Iterator[Atom]:
    """The comparisons, memberships and tests for null that a statement consists of."""
    if isinstance(expression, Comparison | Member | IsNull):
        yield expression
    for part in parts(expression):
        yield from atoms(part)


def compared(expression: Expression) -> Iterator[tuple[str, str]]:
    """Pairs of columns that the statement compares with each other."""
    for atom in atoms(expression):
        if isinstance(atom, Comparison) and isinstance(atom.right, ColumnName):
            yield atom.column, atom.right.name


def _split(expression: Expression, *, holds: bool) -> list[Expression]:
    """Clauses of the statement, or of its negation."""
    match expression:
        case Not(part):
            return _split(part, holds=not holds)
        case And(inner) if holds:
            return [clause for part in inner for clause in _split(part, holds=True)]
        case Or(inner) if not holds:
            return [clause for part in inner for clause in _split(part, holds=False)]
        case And(inner) | Or(inner):
            return _either([_split(part, holds=holds) for part in inner])
        case Implies(premise, conclusion) if holds:
            return _either([_split(premise, holds=False), _split(conclusion, holds=True)])
        case Implies(premise, conclusion):
            return [*_split(premise, holds=True), *_split(conclusion, holds=False)]
        case Equivalent(inner) if holds:
            return [
                clause
                for one, other in permutations(inner, 2)
                for clause in _split(Implies(one, other), holds=True)
            ]
        case Equivalent(inner):
            return [
                *_either([_split(part, holds=True) for part in inner]),
                *_either([_split(part, holds=False) for part in inner]),
            ]
    return [expression if holds else Not(expression)]


def _either(options: list[list[Expression]]) -> list[Expression]:
    """Clauses of a disjunction of conjunctions."""
    count = 1
    for option in options:
        count *= len(option)
    if count > MOST_CLAUSES:
        return [Or(tuple(_all(option) for option in options))]
    return [_any(choice) for choice in product(*options)]


def _all(inner: list[Expression]) -> Expression:
    return inner[0] if len(inner) == 1 else And(tuple(inner))


def _any(inner: tuple[Expression, ...]) -> Expression:
    flat = dict.fromkeys(
        part for one in inner for part in (one.parts if isinstance(one, Or) else (one,))
    )
    return next(iter(flat)) if len(flat) == 1 else Or(tuple(flat))
