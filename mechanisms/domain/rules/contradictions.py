"""Rules that contradict each other, told by the smallest set of them that does.

Claim.   `check` passes where some record obeys all rules and no column is left with its null alone.
         Else it names rules that no record obeys together (or that leave a column its null alone),
         of which none can be spared.
Proof.   A rule is dropped where the others contradict without it. What stays contradicts at the
         end, and any proper part of it was seen not to, since fewer rules allow more.
Oracle.  tests/mechanisms/domain/rules/test_contradictions.py: all records of small domains.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from hallmark.mechanisms.domain.rules.rules import Rules


class Contradiction(ValueError):
    """Rules that no record obeys together, or that leave a column nothing but its null.

    Attributes:
        rules: a minimal set of them, by name.
        column: position of the column that is left its null alone; None where no record is left.
    """

    def __init__(self, rules: tuple[str, ...], column: int | None = None, named: str = "") -> None:
        self.rules, self.column, self._named = rules, column, named
        quoted, alone = ", ".join(repr(rule) for rule in rules), len(rules) == 1
        if column is not None:
            verb = "leaves" if alone else "leave"
            super().__init__(f"{quoted}: {verb} {named} no value but null")
        elif alone:
            super().__init__(f"{quoted}: no record obeys it")
        else:
            super().__init__(f"{quoted}: contradict each other, for no record obeys all of them")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rules, self.column, self._named)


def check(rules: Rules, names: Sequence[str] | None = None) -> None:
    """Check that rules and columns can hold together.

    Args:
        names: of the columns, for messages.
    Raises:
        Contradiction: a `ValueError` that names a minimal set of rules that cannot hold together.
    """
    if not rules.allowed(()):
        raise Contradiction(_minimal(rules, lambda some: not some.allowed(())))
    for column in sorted(column for component in rules.components for column in component):
        if column not in rules.nullable or rules.shape[column] == 1:
            continue

        def emptied(some: Rules, column: int = column) -> bool:
            return not some.allowed((column,))[:-1].any()

        if emptied(rules):
            named = f"column {column}" if names is None else names[column]
            raise Contradiction(_minimal(rules, emptied), column, named)


def _minimal(rules: Rules, wrong: Callable[[Rules], bool]) -> tuple[str, ...]:
    """A minimal set of rules, by name in their order, that is still `wrong`."""
    kept = list(names_of(rules))
    for name in tuple(kept):
        fewer = [other for other in kept if other != name]
        if wrong(only(rules, fewer)):
            kept = fewer
    return tuple(kept)


def names_of(rules: Rules) -> tuple[str, ...]:
    """Names of the rules that have tables, in their order."""
    tables = (*rules.tables, *(rules.parts.tables if rules.parts else ()))
    return tuple(dict.fromkeys(table.name for table in tables))


def only(rules: Rules, names: Collection[str]) -> Rules:
    """The rules with the tables of these names alone."""
    parts = rules.parts
    if parts is not None:
        parts = replace(parts, tables=tuple(t for t in parts.tables if t.name in names))
    tables = tuple(table for table in rules.tables if table.name in names)
    return replace(rules, tables=tables, parts=parts)
