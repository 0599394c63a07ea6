"""The part of an audit record that says what changed since the period before, beyond the noise."""

from functools import partial
from typing import Annotated, Literal

from hallmark.schemas.documents.labels import PublicSection, Shown, Tag

_PAID = Tag.PAID
_share = partial(Shown, tag=_PAID, unit="share of records", sample="measured")


class ChangedCell(PublicSection):
    """A cell whose share of the records rose or fell, and the interval of its change."""

    column: Annotated[str, Shown("Column", form="code")]
    cell: Annotated[str, Shown("Cell")]
    told: Annotated[Literal["rose", "fell"], Shown("Rose or fell", _PAID)]
    before: Annotated[float, _share("Share before")]
    after: Annotated[float, _share("Share now")]
    low: Annotated[float, _share("Change, at least")]
    high: Annotated[float, _share("Change, at most")]


class ComparedTable(PublicSection):
    """The table of one column in both releases."""

    column: Annotated[str, Shown("Column", form="code")]
    finding: Annotated[Literal["changed", "nothing seen"], Shown("Finding", _PAID)]
    probability: Annotated[
        float,
        Shown("Probability of it without a change", _PAID, unit="from 0 to 1", sample="measured"),
    ]
    cells: Annotated[int, Shown("Cells", unit="cells")]
    told: Annotated[int, Shown("Cells that rose or fell", _PAID, unit="cells", sample="measured")]
    unseen: Annotated[float, _share("A change may be unseen up to")]
    seen_from: Annotated[float, _share("It would be seen from")]
    not_compared: Annotated[str, Shown("Cells not compared")] = ""
    basis: Annotated[Literal["exact", "nominal"], Shown("Rests on")] = "exact"


class NotCompared(PublicSection):
    """A column whose tables cannot be compared."""

    column: Annotated[str, Shown("Column", form="code")]
    why: Annotated[str, Shown("Why not")]


class Changed(PublicSection):
    """What changed since the release about the period before, from the noisy tables of both."""

    period: Annotated[str, Shown("Period")]
    earlier_period: Annotated[str, Shown("Compared with the period")] = ""
    release: Annotated[str, Shown("Compared with the release", form="code")] = ""
    measurements: Annotated[str, Shown("Digest of its noisy tables (SHA-256)", form="code")] = ""
    confidence: Annotated[float, Shown("Confidence of all findings together", form="percent")]
    tables: Annotated[tuple[ComparedTable, ...], Shown("Compared columns", _PAID)] = ()
    cells: Annotated[tuple[ChangedCell, ...], Shown("Cells that rose or fell", _PAID)] = ()
    untold: Annotated[tuple[NotCompared, ...], Shown("Columns not compared")] = ()
    notes: Annotated[tuple[str, ...], Shown("To be known of both tables")] = ()
    why_not: Annotated[str, Shown("Why nothing is compared")] = ""

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns that changed."""
        return tuple(one.column for one in self.tables if one.finding == "changed")

    @property
    def nothing_seen(self) -> tuple[ComparedTable, ...]:
        """The columns in which no change was told apart from noise."""
        return tuple(one for one in self.tables if one.finding == "nothing seen")
