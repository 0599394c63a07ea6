"""Values that break the spec: for the steward, in the restricted workspace only.

Like the internal review, this is a different type from the public record, which no renderer of
public pages accepts.
"""

from typing import Annotated

from pydantic import AwareDatetime, Field

from hallmark.schemas.documents.labels import LabelledSection, Shown, Tag

_INTERNAL = Tag.INTERNAL


class OffendingValue(LabelledSection):
    """A value as in the source, and the number of rows that have it."""

    value: Annotated[str, Shown("Value", _INTERNAL, form="code")]
    rows: Annotated[int, Field(ge=1), Shown("Rows", _INTERNAL)]


class BrokenRule(LabelledSection):
    """A rule that some rows break."""

    column: Annotated[str, Shown("Column", form="code")]
    rule: Annotated[str, Shown("Rule")]
    mend: Annotated[str, Shown("Fix")]
    refuses: Annotated[bool, Shown("Stops the release")]
    rows: Annotated[int, Field(ge=0), Shown("Rows", _INTERNAL)]
    failing: Annotated[int, Field(ge=1), Shown("Failing rows", _INTERNAL)]
    values: Annotated[tuple[OffendingValue, ...], Shown("Most frequent values", _INTERNAL)]
    exact: Annotated[bool, Shown("All values were counted", _INTERNAL)]


class InternalValidation(LabelledSection):
    """All broken rules; those that stop the release come first."""

    release_id: Annotated[str, Shown("Release", form="code")]
    title: Annotated[str, Shown("Title")]
    created: Annotated[AwareDatetime, Shown("Created")]
    broken: Annotated[tuple[BrokenRule, ...], Shown("Broken rules")]
