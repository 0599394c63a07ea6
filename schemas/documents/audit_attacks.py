"""The part of an audit record on attacks that were run on the mechanism, with made-up tables."""

from datetime import date
from typing import Annotated

from pydantic import Field

from hallmark.schemas.documents.labels import PublicSection, Shown
from hallmark.schemas.documents.manifest import Sha256

_Share = Annotated[float, Field(ge=0, le=1)]


class TriedAttack(PublicSection):
    """What an attack on tables that differ in some privacy units came to."""

    units: Annotated[
        int, Field(ge=1), Shown("Units in which tables differ", unit="units of privacy")
    ]
    runs: Annotated[int, Field(ge=1), Shown("Guesses", unit="runs")]
    right: Annotated[int, Field(ge=0), Shown("Right", unit="runs")]
    least: Annotated[_Share, Shown("Surely right at least", form="percent")]
    allowed: Annotated[_Share, Shown("Allowed at most", form="percent")]

    @property
    def broken(self) -> bool:
        """Whether less noise is drawn than is stated."""
        return self.least > self.allowed


class AttackAudit(PublicSection):
    """Attacks on a spec's mechanism, and the code that drew its noise."""

    hallmark: Annotated[str, Shown("Hallmark version audited")]
    commit: Annotated[str, Shown("Code commit audited", form="code")] = ""
    code: Annotated[Sha256, Shown("Digest of the code audited (SHA-256)", form="code")]
    ran: Annotated[date, Shown("Audited on")]
    confidence: Annotated[_Share, Shown("Confidence of all lower bounds", form="percent")]
    attacks: Annotated[tuple[TriedAttack, ...], Field(min_length=1), Shown("Attacks")]
