"""Folders that are read only if their files are those that were signed."""

from pathlib import Path

from hallmark.schemas.documents.manifest import Manifest
from hallmark.schemas.visible import visible
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.verification.documents import read_manifest
from hallmark.tasks.verification.verify import verify_files


class NotAsSigned(SafeError):
    """A release folder does not hold the files that were signed."""


def as_signed(folder: Path) -> Manifest:
    """The manifest of a release folder, once all files are those that it lists.

    Raises:
        NotAsSigned: some are not.
    """
    found = verify_files(folder)
    if not found.ok:
        faults = "; ".join(f"{one.name}: {one.detail}" for one in found.checks if not one.ok)
        raise NotAsSigned(
            f"{folder} is not as it was signed ({visible(faults)}); get it anew from whoever "
            "published it"
        )
    return read_manifest(folder)
