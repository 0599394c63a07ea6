"""`panel.json`: the release whose people a release of a panel goes on with, and how."""

from typing import Annotated, Final, Literal

from pydantic import Field

from hallmark.schemas.documents.labels import PublicSection, Shown
from hallmark.schemas.documents.ledger_anchor import Sha256

PANEL_FORMAT: Final = "hallmark-panel/1"


class PanelContinued(PublicSection):
    """The release of the period before, with the SHA-256 of its manifest."""

    release: Annotated[str, Shown("Release")]
    manifest: Annotated[Sha256, Shown("SHA-256 of its manifest")]


class PanelFile(PublicSection):
    """How the people of a release go on from the period before."""

    format: Annotated[Literal["hallmark-panel/1"], Shown("Format")] = PANEL_FORMAT
    continues: Annotated[PanelContinued | None, Shown("Goes on from")] = None
    continuing: Annotated[int, Field(ge=0), Shown("People who go on")] = 0
    new: Annotated[int, Field(ge=0), Shown("People who are new")]
    left: Annotated[int, Field(ge=0), Shown("People who have left")] = 0
    moved: Annotated[int, Field(ge=0), Shown("Records moved to obey rules with any past")] = 0
    differs: Annotated[
        float, Field(ge=0, le=1), Shown("Mean total variation of tables of who became what")
    ] = 0.0
