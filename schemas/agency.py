"""Who publishes, and what a reviewer should know about the place where releases run.

People state all of it: reports say so, and print "not recorded" for anything nobody stated.
"""

from typing import Annotated, Literal

from pydantic import Field

from hallmark.schemas.section import Section

Statement = Annotated[str, Field(min_length=1, max_length=5000)]
"""What a person states, in a few sentences."""


class Actor(Section):
    """Somebody who handles the data or the release, and what they see."""

    actor: Statement
    """the person or role, such as the operator"""
    sees: Statement
    """what they see, and why they are allowed to"""


class Environment(Section):
    """Where releases run, and who can reach it."""

    host: Statement | None = None
    """what kind of machine, such as one server in the agency's own computing centre"""
    network: Statement | None = None
    """how the machine is separated from other networks"""
    access: Statement | None = None
    """which roles may log in or read the disks"""


class Agency(Section):
    """The publisher, as audit reports name it, and where it runs releases."""

    name: Statement | None = None
    """the name of the agency, as on its publications"""
    kind: Literal["Government", "Industry", "Nonprofit"] | None = None
    """the kind of organisation, as the public registry of deployments classifies it"""
    region: Statement | None = None
    """the region that the data describe, or whose law applies"""
    sector: Statement | None = None
    """the sector that the data describe, such as Government or Healthcare"""
    contact: Statement | None = None
    """whom the public and reviewers can ask, with an address"""
    corrections: Statement | None = None
    """how a user, or a person in the data, can have a mistake corrected"""
    registry: Statement | None = None
    """the address at which the agency registers its releases"""
    environment: Environment = Environment()
    """where releases run, and who can reach it"""
    key_custody: Statement | None = None
    """who keeps the signing key, where, and who may use it"""
    actors: tuple[Actor, ...] = ()
    """who handles the data or the release, and what each of them sees"""
    vulnerabilities: Statement | None = None
    """known weaknesses of the environment, and whether they affect releases"""
    empirical_audit: Statement | None = None
    """attacks tried on the mechanism, with the data used and the results; or that none was tried"""
    retention: Statement | None = None
    """how long the ledger, the evidence and the private intermediate files are kept"""
