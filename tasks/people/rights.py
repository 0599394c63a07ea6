"""What the people of an installation may do: roles, and the rights that each has.

Roles are jobs at an agency. A right is what a page or an action asks for; nothing asks for a role.
To decide at a gate somebody needs a key that the profile lists as well: a role alone signs nothing.
"""

from collections.abc import Collection
from enum import StrEnum


class Right(StrEnum):
    """What somebody may be allowed to do."""

    SEE = "see"
    """states and histories of releases, the calendar, what is published, metrics"""
    REVIEW = "review"
    """plans, specs and staged releases that are not published, accounts, comments"""
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
    STEWARD = "steward"
    OPERATOR = "operator"
    REVIEWER = "reviewer"
    AUDITOR = "auditor"
    ADMINISTRATOR = "administrator"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.SEE}),
    Role.STEWARD: frozenset({Right.SEE, Right.REVIEW, Right.DECIDE, Right.PREPARE, Right.BUDGET}),
    Role.OPERATOR: frozenset({Right.SEE, Right.REVIEW, Right.PREPARE, Right.RUN}),
    Role.REVIEWER: frozenset({Right.SEE, Right.REVIEW, Right.DECIDE}),
    Role.AUDITOR: frozenset({Right.SEE, Right.REVIEW, Right.AUDIT}),
    Role.ADMINISTRATOR: frozenset({Right.SEE, Right.AUDIT, Right.MANAGE}),
}


def rights_of(roles: Collection[Role]) -> frozenset[Right]:
    """All rights that somebody with these roles has."""
    return frozenset().union(*(RIGHTS[role] for role in roles))
