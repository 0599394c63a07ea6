"""Hallmark: certified, differentially private synthetic data for statistical agencies.

A release answers questions:

    import hallmark

    hallmark.open("releases/rand-hie-2026").query("mean of mdvis by hlthp")
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hallmark.tasks.questions.release import OpenRelease

__all__ = ["open"]


def open(folder: str | Path) -> "OpenRelease":  # noqa: A001  # of a release, as one says
    """Open a release folder, to ask it questions; see `OpenRelease.query`.

    Raises:
        CannotAsk: the folder is not a release.
    """
    # Imported here: whatever imports a part of Hallmark imports this module first.
    from hallmark.tasks.questions.release import open_release

    return open_release(folder)
