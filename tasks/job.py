"""A job: what is to be released, and where its traces go; it passes from stage to stage."""

from dataclasses import dataclass
from pathlib import Path

from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.prepared import Product


@dataclass(frozen=True, eq=False)
class Job:
    """A release, or a certificate alone, that a flow carries out. Public; pickles.

    Attributes:
        prepared: the spec with its plan.
        ledger: URL of the ledger that is charged.
        workspace: the release's restricted folder.
        out: folder in which the release folder is made.
        previous: folder of the release about the period before, if it belongs to a series.
    """

    prepared: Product
    ledger: str
    workspace: Workspace
    out: Path
    previous: Path | None = None

    @property
    def release(self) -> str:
        """Name of the release."""
        return self.prepared.spec.release

    @property
    def folder(self) -> Path:
        """The release folder."""
        return self.out / self.release
