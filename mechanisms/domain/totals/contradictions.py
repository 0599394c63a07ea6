"""Totals that no table of records has, alone or under the edit rules, by the smallest set of them.

Claim.   `check` passes where some table of valid records has all totals. Else it names totals and
         rules that cannot hold together, of which none can be spared.
Proof.   As for rules: one is dropped where the others contradict without it, and fewer of them
         allow more.
Oracle.  tests/mechanisms/domain/totals/test_contradictions.py: all tables of small domains.

What determines what, where a rule leaves it open, is settled only by noisy answers. So totals about
such columns are refused; for others that rules connect with such columns, `repair.hold` may still
find out that they cannot hold.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.domain.rules.contradictions import names_of, only
from hallmark.mechanisms.domain.totals.blocks import Block, blocks
from hallmark.mechanisms.domain.totals.program import Undecided, feasible
from hallmark.mechanisms.domain.totals.totals import PublicTotals

_LISTED = 3  # groups that a message names


class TotalsContradict(ValueError):
    """Totals that cannot hold together under the rules.

    Attributes:
        totals: a minimal set of them, by name.
        rules: the rules that this takes, by name.
    """

    def __init__(self, totals: tuple[str, ...], rules: tuple[str, ...], why: str) -> None:
        self.totals, self.rules, self._why = totals, rules, why
        super().__init__(why)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.totals, self.rules, self._why)


def check(totals: PublicTotals, rules: Rules, names: Sequence[str] | None = None) -> None:
    """Check that totals and rules can hold together.

    Args:
        rules: they do not contradict each other (`mechanisms.domain.rules.check`).
        names: of the columns, for messages.
    Raises:
        TotalsContradict: a `ValueError` that names a minimal set that cannot hold together.
        TotalsTooWide: totals hang together over too many joint cells.
    """
    for rule in rules.determinations:
        for total in totals.totals:
            if {rule.column, rule.other} & set(total.columns):
                raise TotalsContradict(
                    (total.name,),
                    (rule.name,),
                    f"{rule.name!r} does not say which value goes with which, so nobody can tell "
                    "whether the total can hold; say it in rules, or drop one of the two",
                )
    for block in blocks(totals, rules, names):
        try:
            impossible = feasible(block) is None
        except Undecided as error:
            raise TotalsContradict(
                tuple(total.name for total in block.totals), (), f"{error}; state fewer totals"
            ) from error
        if impossible:
            raise _contradiction(totals.only([total.name for total in block.totals]), rules)


def _contradiction(totals: PublicTotals, rules: Rules) -> TotalsContradict:
    kept_rules = () if _impossible(totals, only(rules, ())) else names_of(rules)
    kept = tuple(total.name for total in totals.totals)
    for name in kept:
        fewer = tuple(other for other in kept if other != name)
        if fewer and _impossible(totals.only(fewer), only(rules, kept_rules)):
            kept = fewer
    for name in kept_rules:
        fewer = tuple(other for other in kept_rules if other != name)
        if _impossible(totals.only(kept), only(rules, fewer)):
            kept_rules = fewer
    totals, rules = totals.only(kept), only(rules, kept_rules)
    because = f" under {', '.join(map(repr, kept_rules))}" if kept_rules else ""
    empty = [title for block in blocks(totals, rules) for title in _empty(block)]
    if len(kept) == 1 and empty:
        more = f" and {len(empty) - _LISTED} more" if len(empty) > _LISTED else ""
        why = f"no record can be one of those it counts{because}: "
        return TotalsContradict(kept, kept_rules, why + "; ".join(empty[:_LISTED]) + more)
    verb = "it" if len(kept) == 1 else "them all"
    return TotalsContradict(
        kept, kept_rules, f"no table of {totals.records} records has {verb}{because}"
    )


def _impossible(totals: PublicTotals, rules: Rules) -> bool:
    return any(_is_infeasible(block) for block in blocks(totals, rules))


def _is_infeasible(block: Block) -> bool:
    try:
        return feasible(block) is None
    except Undecided:  # it stays in the set that is named
        return False


def _empty(block: Block) -> list[str]:
    """Groups that hold records, though no valid record lies in them."""
    found = []
    kinds = block.kinds
    reached = (block.matrix @ np.ones(block.matrix.shape[1])) > 0 if (kinds >= 0).any() else None
    row = 0
    for total in block.totals:
        for title, count in zip(total.titles, total.counts, strict=True):
            if count > 0 and (reached is None or not reached[row]):
                found.append(f"{title}: {count}")
            row += 1
    return found
