"""Where the desk keeps specs, and the tables that they are about."""

from pathlib import Path

from hallmark.tasks.installation.workspace import home, private_folder

PUBLIC = "public"
"""The folder, among the tables, of files that were declared public when they were uploaded."""


def specs_folder() -> Path:
    """Where specs that are written at the desk are kept."""
    return private_folder(home() / "specs")


def tables_folder() -> Path:
    """Where tables uploaded at the desk are kept, and relative sources of its specs start."""
    return private_folder(home() / "tables")


def public_folder() -> Path:
    """Where files are kept that were uploaded as public: codes, public tables, dictionaries."""
    return private_folder(tables_folder() / PUBLIC)


def calendar_folder() -> Path:
    """Where the specs of single periods are kept, by the name of the calendar's entry."""
    return private_folder(home() / "calendar")


def recurring_folder() -> Path:
    """Where it is kept what was scheduled at the desk to recur."""
    return private_folder(home() / "recurring")


def checked_spec(name: str) -> Path:
    """The spec that a check ordered at the desk reads, which nobody edits there."""
    return private_folder(home() / "checked") / f"{name}.yaml"


def ordered_spec(release: str) -> Path:
    """The spec that a run ordered at the desk reads, which nobody edits there."""
    return private_folder(home() / "ordered") / f"{release}.yaml"
