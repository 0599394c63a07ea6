"""Who publishes, and what a reviewer is to know of the place where releases run.

All of it is stated by people: reports say so, and print "not recorded" for what nobody stated.
"""

from typing import Annotated, Literal

from pydantic import Field

from schemas.section import Section

Statement = Annotated[str, Field(min_length=1, max_length=5000)]
"""What a person states, in a few sentences."""


class Actor(Section):
    """Somebody who meets the data or the release, and what they see of it."""

    actor: Statement
    """who, such as the operator"""
    sees: Statement
    """what they see, and why they may"""


class Environment(Section):
    """Where releases run, and who can reach it."""

    host: Statement | None = None
    """what kind of machine, such as one server in the agency's own computing centre"""
    network: Statement | None = None
    """how it is cut off from other networks"""
    access: Statement | None = None
    """who may log in or read its disks, by role"""


class Agency(Section):
    """The publisher, as audit reports name it, and its place of work."""

    name: Statement | None = None
    """the agency, as it signs its publications"""
    kind: Literal["Government", "Industry", "Nonprofit"] | None = None
    """what it is, in the words of the public registry of deployments"""
    region: Statement | None = None
    """the region that its data describe, or whose law applies"""
    sector: Statement | None = None
    """the sector that its data describe, such as Government or Healthcare"""
    contact: Statement | None = None
    """whom people and reviewers can ask, with an address"""
    corrections: Statement | None = None
    """how somebody in the data, or a user, has a mistake corrected"""
    registry: Statement | None = None
    """where the agency registers its releases, as an address"""
    environment: Environment = Environment()
    """where releases run, and who can reach it"""
    key_custody: Statement | None = None
    """who keeps the signing key, where, and who may use it"""
    actors: tuple[Actor, ...] = ()
    """who meets the data or the release, and what each of them sees"""
    vulnerabilities: Statement | None = None
    """known weaknesses of the place, and whether they touch releases"""
    empirical_audit: Statement | None = None
    """attacks tried on the mechanism, on which data, with what result; or that none was tried"""
    retention: Statement | None = None
    """how long the ledger, the evidence and the private intermediates are kept"""
