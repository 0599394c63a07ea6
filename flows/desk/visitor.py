"""Who sends a request to the desk."""

from dataclasses import dataclass

from fastapi import Request

from hallmark.tasks.people.actions import Actor
from hallmark.tasks.people.directory import Person
from hallmark.tasks.people.rights import Right


@dataclass(frozen=True)
class Visitor:
    """Somebody who is logged in, or whose program sends a request.

    Attributes:
        csrf: what forms carry; None for a program, which no other site can make send anything.
        secret: of the browser's session.
    """

    person: Person
    actor: Actor
    csrf: str | None = None
    secret: str | None = None

    @property
    def is_program(self) -> bool:
        """Whether a program sends it, with an access token."""
        return self.csrf is None

    def may(self, right: Right) -> bool:
        """Whether they have a right."""
        return right in self.person.rights

    @property
    def mends(self) -> bool:
        """Whether they write specs or run releases, and so are told what is wrong with a table."""
        return self.may(Right.PREPARE) or self.may(Right.RUN)


def visitor_of(request: Request) -> Visitor | None:
    """Who sent a request."""
    found: Visitor | None = request.scope.get("state", {}).get("visitor")
    return found


def logged_in(request: Request) -> Visitor:
    """Who sent a request to a route that is not open."""
    found = visitor_of(request)
    assert found is not None, "the entrance lets nobody else in"
    return found
