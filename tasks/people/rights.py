"""What the people of an installation may do: roles, and the rights that each has.

Roles are jobs at an agency. A right is what a page or an action asks for; nothing asks for a role.
To decide at a gate somebody needs a key that the profile lists as well: a role alone signs nothing.
"""

from collections.abc import Collection
from enum import StrEnum


class Right(StrEnum):
    """What somebody may be allowed to do."""

    SEE = "see"
    """states of releases, the calendar, what is published, metrics but for balances"""
    ACCOUNTS = "accounts"
    """balances of accounts, on their pages and in metrics"""
    REVIEW = "review"
    """plans, specs and staged releases that are not published, histories, comments"""
    DECIDE = "decide"
    """hand in signed decisions"""
    PREPARE = "prepare"
    """write specs, upload tables, forecast plans"""
    RUN = "run"
    """start, stop, resume, rehearse, schedule, reopen and withdraw releases"""
    BUDGET = "budget"
    """open accounts of privacy budget, and change their caps"""
    AUDIT = "audit"
    """the log of all actions"""
    MANAGE = "manage"
    """people, their roles, tokens of others"""


class Role(StrEnum):
    """A job; somebody may have several."""

    VIEWER = "viewer"
    MONITOR = "monitor"
    STEWARD = "steward"
    OPERATOR = "operator"
    REVIEWER = "reviewer"
    AUDITOR = "auditor"
    ADMINISTRATOR = "administrator"


_REVIEWING = frozenset({Right.SEE, Right.ACCOUNTS, Right.REVIEW})

RIGHTS: dict[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.SEE}),
    Role.MONITOR: frozenset({Right.SEE, Right.ACCOUNTS}),
    Role.STEWARD: _REVIEWING | {Right.DECIDE, Right.PREPARE, Right.BUDGET},
    Role.OPERATOR: _REVIEWING | {Right.PREPARE, Right.RUN},
    Role.REVIEWER: _REVIEWING | {Right.DECIDE},
    Role.AUDITOR: _REVIEWING | {Right.AUDIT},
    Role.ADMINISTRATOR: frozenset({Right.SEE, Right.AUDIT, Right.MANAGE}),
}


def rights_of(roles: Collection[Role]) -> frozenset[Right]:
    """All rights that somebody with these roles has."""
    return frozenset().union(*(RIGHTS[role] for role in roles))
