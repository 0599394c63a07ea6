"""What people state about a release: its purpose, its legal basis, how it was prepared.

No run can know these things. Audit reports print them as statements by a person, or "not recorded"
if nobody made one. None of them changes which questions the private data are asked.
"""

from collections.abc import Iterator
from typing import Literal

from hallmark.schemas.agency import Statement
from hallmark.schemas.section import Problem, Section


class Tuning(Section):
    """What the parameters of the release were tuned on."""

    on: Literal["nothing", "public", "synthetic", "private"]
    """what the parameters were tuned on: nothing, public, synthetic or private data"""
    details: Statement | None = None
    """which data and which parameters; for private data, also the privacy cost and the account"""

    def _problems(self) -> Iterator[Problem]:
        if self.on == "private" and self.details is None:
            what = "is missing; say which parameters saw the private data, and at what privacy cost"
            yield Problem(("details",), what)


class About(Section):
    """Statements about one release; all are optional."""

    intended_use: Statement | None = None
    """what the release is meant for, and who is meant to use it"""
    supported_uses: Statement | None = None
    """analyses that the release is fit for"""
    unsupported_uses: Statement | None = None
    """analyses that the release is not fit for"""
    known_biases: Statement | None = None
    """biases that users should know about, beyond those that the run itself records"""
    schedule: Literal["one-shot", "periodic"] | None = None
    """one-shot, or periodic if there is a release in every period"""
    period: Statement | None = None
    """how often data are released, and how the budget is shared among the periods; or what is
    planned for the data"""
    data_source: Literal["static", "growing"] | None = None
    """static, or growing if records are added over time"""
    legal_basis: Statement | None = None
    """the law or decision that allows the release"""
    clearance: Statement | None = None
    """the number of the disclosure clearance, or that none is needed"""
    authorised_by: Statement | None = None
    """which office authorised the release, and when"""
    supersedes: Statement | None = None
    """the release that this one replaces, or none"""
    asset: Statement | None = None
    """the private table's entry in the agency's data catalogue"""
    snapshot: Statement | None = None
    """the date or time of the private table's contents"""
    collection: Statement | None = None
    """how the data were collected, edited and imputed, and who saw the raw data"""
    tuning: Tuning | None = None
    """what the parameters were tuned on: {on: public, details: ...}"""
    justification: Statement | None = None
    """why the unit, the budget and the mechanism were chosen"""
