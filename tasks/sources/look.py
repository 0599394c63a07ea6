"""Look at the beginning of a file that somebody uploaded, in a process of its own (`apart`)."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hallmark.tasks.installation.errors import PrivateFact
from hallmark.tasks.sources.apart import asked_apart

if TYPE_CHECKING:
    from hallmark.tasks.sources.beginning import Look


class LookRefused(PrivateFact):
    """A file cannot be looked at; the message quotes nothing of it."""


def look(file: Path, form: Mapping[str, Any] | None = None) -> "Look":
    """What the beginning of a file shows.

    Args:
        form: keys of the section `data` that say how it is written; guessed where there are none.
    Raises:
        LookRefused: it took too much memory or time, or broke the reader.
    """
    from hallmark.tasks.sources.beginning import Look

    found = asked_apart(_seen, Look.__module__, {"path": str(file.absolute()), "form": form})
    if found is None:
        raise LookRefused(
            f"{file.name} cannot be looked at: it took too much memory or time, or is so damaged "
            "that its reader broke. Save it again, or as CSV, and upload it again"
        )
    return Look(**found)


def _seen(asked: Mapping[str, Any]) -> Any:
    from hallmark.tasks.sources.beginning import beginning

    return asdict(beginning(asked["path"], asked["form"]))
