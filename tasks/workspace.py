"""Where private intermediates live: one restricted folder a release, and nothing outside it.

The home folder (`HALLMARK_HOME`, by default `~/.hallmark`) and everything in it is readable by its
owner alone. It holds the default ledger, the orchestrator's own database (which sees no private
value) and, for each release, a workspace with coded records and internal reviews.
"""

import os
from dataclasses import dataclass
from pathlib import Path

PRIVATE_MODE = 0o700


def home() -> Path:
    """The home folder, created with mode 0700 where it does not exist."""
    folder = Path(os.environ.get("HALLMARK_HOME") or Path.home() / ".hallmark").expanduser()
    return private_folder(folder.resolve())


def ledger_url() -> str:
    """SQLAlchemy URL of the ledger: `HALLMARK_LEDGER`, else an SQLite file in the home folder."""
    return os.environ.get("HALLMARK_LEDGER") or f"sqlite:///{home() / 'ledger.db'}"


@dataclass(frozen=True)
class Workspace:
    """The restricted folder of one release."""

    path: Path

    @classmethod
    def of(cls, release: str) -> "Workspace":
        """The workspace of `release` under the home folder, created with mode 0700."""
        return cls(private_folder(home() / "work" / release))

    @property
    def codes(self) -> Path:
        """Folder of coded private records, one file a partition."""
        return private_folder(self.path / "codes")

    @property
    def staging(self) -> Path:
        """Folder in which a release is assembled before it is published."""
        return private_folder(self.path / "staging")

    @property
    def scratch(self) -> Path:
        """Where workers spill what does not fit in their memory."""
        return private_folder(self.path / "scratch")

    @property
    def findings(self) -> Path:
        """Internal findings of the validation, with counts of failing rows."""
        return self.path / "validation.json"

    @property
    def review(self) -> Path:
        """The internal review report, which compares with the private data."""
        return self.path / "internal-review.html"


def private_folder(folder: Path) -> Path:
    """`folder`, created where it does not exist, readable by its owner alone."""
    folder.mkdir(mode=PRIVATE_MODE, parents=True, exist_ok=True)
    folder.chmod(PRIVATE_MODE)
    return folder
