"""What people state about a release: what it is for, on which legal basis, how it was prepared.

No run can know these things. Audit reports print them as stated by a person, and "not recorded"
where nobody did. None of them changes what the private data are asked.
"""

from typing import Literal, Self

from pydantic import model_validator

from schemas.agency import Statement
from schemas.section import Problem, Section, refuse


class Tuning(Section):
    """What the parameters of the release were tuned on."""

    on: Literal["nothing", "public", "synthetic", "private"]
    """nothing, public data, synthetic data, or private data"""
    details: Statement | None = None
    """which data and which parameters; for private data, with the privacy cost and its account"""

    @model_validator(mode="after")
    def _private_tuning_has_a_cost(self) -> Self:
        if self.on == "private" and self.details is None:
            what = "is missing; say which parameters saw the private data, and at what privacy cost"
            refuse(type(self), [Problem(("details",), what)])
        return self


class About(Section):
    """Statements about one release; each may be left out."""

    intended_use: Statement | None = None
    """what the release is meant for, and for whom"""
    supported_uses: Statement | None = None
    """analyses that it is fit for"""
    unsupported_uses: Statement | None = None
    """analyses that it is not fit for"""
    known_biases: Statement | None = None
    """biases that users should know of, beyond those that the run itself records"""
    schedule: Literal["one-shot", "periodic"] | None = None
    """one-shot, or periodic where there is a release each period"""
    period: Statement | None = None
    """how often, and how the budget is shared over the periods; or plans for the data's future"""
    data_source: Literal["static", "growing"] | None = None
    """static, or growing where records come in over time"""
    legal_basis: Statement | None = None
    """the law or decision that allows the release"""
    clearance: Statement | None = None
    """the number of the disclosure clearance, or that none is needed"""
    authorised_by: Statement | None = None
    """who authorised the release, by office, and when"""
    supersedes: Statement | None = None
    """the release that this one replaces, or none"""
    asset: Statement | None = None
    """the private table in the agency's catalogue of data"""
    snapshot: Statement | None = None
    """the time at which the private table was drawn"""
    collection: Statement | None = None
    """how the data were collected, edited and imputed before, and who saw them raw"""
    tuning: Tuning | None = None
    """what the parameters were tuned on: {on: public, details: ...}"""
    justification: Statement | None = None
    """why the unit, the budget and the mechanism were chosen"""
