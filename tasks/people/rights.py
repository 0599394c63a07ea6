"""What the people of an installation may do: roles, and the rights that each has.

Roles are jobs at an agency. A right is what a page or an action asks for; nothing asks for a role.
To decide at a gate somebody needs a key that the profile lists as well: a role alone signs nothing.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import Self


class Right(StrEnum):
    """What somebody may be allowed to do.

    Attributes:
        words: the same, as it stands after "may" or "the right to".
    """

    words: str

    def __new__(cls, value: str, words: str) -> Self:
        """A right with its name and its words."""
        one = str.__new__(cls, value)
        one._value_ = value
        one.words = words
        return one

    SEE = "see", "see the states of releases, the calendar, keys and published files"
    ACCOUNTS = "accounts", "see the balances of accounts"
    REVIEW = "review", "review what is not published yet, and comment on it"
    DECIDE = "decide", "hand in signed decisions"
    PREPARE = "prepare", "write specs, upload tables, plan releases and ask for them"
    RUN = "run", "start, decline, stop, rehearse, reopen and give up releases"
    WITHDRAW = "withdraw", "withdraw published releases, for good"
    SCHEDULE = "schedule", "propose which releases recur, and when"
    BUDGET = "budget", "open accounts of privacy budget, change their caps, and plan series"
    AUDIT = "audit", "read and export the log of what people did"
    GOVERN = "govern", "propose changes of the profile, and approve changes that others propose"
    MANAGE = "manage", "manage people, their roles and access tokens, and allow uncharged looks"


class Role(StrEnum):
    """A job; somebody may have several."""

    VIEWER = "viewer"
    MONITOR = "monitor"
    STEWARD = "steward"
    OPERATOR = "operator"
    REVIEWER = "reviewer"
    AUDITOR = "auditor"
    ADMINISTRATOR = "administrator"
    GOVERNOR = "governor"


_REVIEWING = frozenset({Right.SEE, Right.ACCOUNTS, Right.REVIEW})

RIGHTS: dict[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.SEE}),
    Role.MONITOR: frozenset({Right.SEE, Right.ACCOUNTS}),
    Role.STEWARD: _REVIEWING | {Right.DECIDE, Right.PREPARE, Right.BUDGET},
    Role.OPERATOR: _REVIEWING | {Right.PREPARE, Right.RUN, Right.WITHDRAW, Right.SCHEDULE},
    Role.REVIEWER: _REVIEWING | {Right.DECIDE},
    Role.AUDITOR: _REVIEWING | {Right.AUDIT},
    Role.ADMINISTRATOR: frozenset({Right.SEE, Right.AUDIT, Right.MANAGE}),
    Role.GOVERNOR: frozenset(
        {Right.SEE, Right.AUDIT, Right.WITHDRAW, Right.SCHEDULE, Right.GOVERN}
    ),
}


BY_COMMAND_ALONE = frozenset({Role.GOVERNOR})
"""Roles that nobody gives at the desk, and whose holders nobody invites there: else an
administrator could become two people who approve each other's changes."""


def rights_of(roles: Collection[Role]) -> frozenset[Right]:
    """All rights that somebody with these roles has."""
    return frozenset().union(*(RIGHTS[role] for role in roles))


def roles_with(right: Right) -> list[Role]:
    """The roles that have a right."""
    return [role for role in Role if right in RIGHTS[role]]
