"""How much of a disk people may fill, and what must be free on it for a run to begin and go on."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hallmark.mechanisms.privacy.accountant import BudgetExceeded
from hallmark.mechanisms.privacy.ledger.errors import LedgerError
from hallmark.tasks.installation.errors import SafeError

GIB = 2**30
UPLOAD = "HALLMARK_UPLOAD_GIB"
"""Variable: the largest table that people may upload, GiB."""
SPARE = "HALLMARK_SPARE_DISK_GIB"
"""Variable: what uploads leave free on the disk for releases that run, GiB."""

LEAST = 64 * 2**20  # bytes with which a run begins
_HARDLY = 2**20  # bytes: less is no room for a note of the run, nor for the orchestrator's
FREE_SOME = (
    "Free some space there, then run again (a release: with --resume, which draws and charges "
    "nothing twice)"
)
"""What to do where a disk is full."""

_DEFAULTS = {UPLOAD: 4.0, SPARE: 2.0}


class DiskFull(SafeError):
    """Too little would be left of the disk."""


def allowed(variable: str) -> int:
    """The bytes that a setting allows, `UPLOAD` or `SPARE`.

    Raises:
        SafeError: it is no number of GiB.
    """
    said = os.environ.get(variable)
    if not said:
        return int(_DEFAULTS[variable] * GIB)
    try:
        gib = float(said)
        if 0 <= gib < 2**20:
            return int(gib * GIB)
    except ValueError:
        pass
    raise SafeError(f"{variable} is {said!r}; set it to a number of GiB, such as 4 or 0.5")


def refuse_full(folder: Path | str, more: int = 0) -> None:
    """Refuse to write `more` bytes into a folder if too little would be left on its disk.

    Raises:
        DiskFull: it would.
    """
    spare, free = allowed(SPARE), shutil.disk_usage(folder).free
    if free - more < spare:
        raise DiskFull(
            f"the disk has too little room: {size_in_words(free)} are free, and "
            f"{size_in_words(spare)} of them are kept for releases that run ({SPARE}). Remove "
            "tables or old workspaces, or ask whoever runs this installation; nothing was kept"
        )


def refuse_cramped(*folders: Path) -> None:
    """Refuse to begin a run where disks have too little room for its notes and the orchestrator's.

    Args:
        folders: in which it will write; they need not exist yet.
    Raises:
        DiskFull: one has.
    """
    for folder in folders:
        free = _free(folder)
        if free < LEAST:
            raise DiskFull(
                f"the disk of {folder} has too little room: {size_in_words(free)} are free, and a "
                f"run begins with {size_in_words(LEAST)} at least. {FREE_SOME}"
            )


@contextmanager
def blaming_full_disks(*folders: Path) -> Iterator[None]:
    """Say that a disk is full, and what to do, where a run fails for it.

    Raised outside the handler, without what was raised first: that may quote anything.

    Args:
        folders: whose disks are looked at where the error does not say so, such as a database's.
    Raises:
        DiskFull: in place of an error that is not ours.
    """
    try:
        yield
        return
    except (SafeError, LedgerError, BudgetExceeded):
        raise
    except Exception as error:
        full, kind = full_by(error) or full_now(*folders), type(error).__name__
        if full is None:
            raise
    raise DiskFull(
        f"the disk of {full} is full, and the run failed ({kind}: No space left on device). "
        f"{FREE_SOME}"
    )


def full_by(error: BaseException) -> Path | None:
    """The folder whose disk is full, as an error of the system says; None where it says not so."""
    if not isinstance(error, OSError) or error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return None
    written = error.filename2 or error.filename  # of two names, as of a copy, the second one
    return _there(Path(os.fsdecode(written)).parent) if written else None


def full_now(*folders: Path) -> Path | None:
    """A folder on whose disk hardly a byte is free; None where there is none.

    Libraries say of a full disk whatever failed for it, so this is asked after a failure.
    """
    return next((folder for folder in folders if _free(folder) < _HARDLY), None)


def _free(folder: Path) -> int:
    return shutil.disk_usage(_there(folder)).free


def _there(folder: Path) -> Path:
    """The folder, or the first above it that exists."""
    return next(one for one in (folder, *folder.absolute().parents) if one.exists())


def size_in_words(number: int) -> str:
    """A number of bytes for people, such as `64 KiB`."""
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.4g} {unit}"
        number /= 1024  # type: ignore[assignment]  # a number of the next unit
    return f"{number:.4g} GiB"
