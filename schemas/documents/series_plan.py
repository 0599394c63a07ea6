"""`series-plan.json`: what people approve once for all periods of a series.

It holds everything that the plan of a period follows from, but for the period itself: the template
of the spec, when a period may be published, the share of the account's cap that each period has,
and digests of the public files that the spec only names. Approvers sign its SHA-256.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import Field

from hallmark.schemas.documents.labels import FORMAT_LABEL, PublicSection, Shown
from hallmark.schemas.documents.manifest import Sha256
from hallmark.schemas.exact import Exact
from hallmark.schemas.templates import Embargo, filled_in

SERIES_PLAN = "series plan"
"""The name of the plan of a series among what an approver sees."""


class SeriesPlan(PublicSection):
    """The plan of a series, for all periods that have a share."""

    format: Annotated[Literal["hallmark-series-plan/1"], FORMAT_LABEL] = "hallmark-series-plan/1"
    account: Annotated[str, Field(min_length=1), Shown("Account", form="code")]
    shares: Annotated[
        Mapping[str, Exact], Field(min_length=1), Shown("Share of each period (rho of zCDP)")
    ]
    template: Annotated[str, Field(min_length=1), Shown("Template of the spec, as published")]
    embargo_days: Annotated[int | None, Shown("Embargo", unit="days")] = None
    embargo_at: Annotated[str, Shown("Time of that day")] = "00:00"
    timezone: Annotated[str, Shown("Time zone")] = "UTC"
    public: Annotated[
        Mapping[str, Sha256], Shown("Public files that the spec names (SHA-256)")
    ] = {}

    def canonical_bytes(self) -> bytes:
        """The canonical JSON text, of which approvers see the SHA-256."""
        content = self.model_dump(mode="json")
        text = json.dumps(content, sort_keys=True, indent=2, ensure_ascii=True, allow_nan=False)
        return text.encode("ascii") + b"\n"

    def digest(self) -> str:
        """SHA-256 of the canonical text, in hexadecimal."""
        return sha256(self.canonical_bytes()).hexdigest()

    def filled_in(self, period: str, first: datetime) -> str:
        """The spec of a period, as it is published.

        Args:
            first: when its first run was scheduled for, from which its embargo is counted.
        """
        embargo = None
        if self.embargo_days is not None:
            embargo = Embargo(days=self.embargo_days, at=self.embargo_at)
        return filled_in(self.template, period, first, embargo, self.timezone)
