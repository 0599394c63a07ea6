"""Where the desk keeps specs, and the tables that they are about."""

from pathlib import Path

from hallmark.tasks.installation.workspace import home, private_folder


def specs_folder() -> Path:
    """Where specs that are written at the desk are kept."""
    return private_folder(home() / "specs")


def tables_folder() -> Path:
    """Where tables uploaded at the desk are kept, and relative sources of its specs start."""
    return private_folder(home() / "tables")
