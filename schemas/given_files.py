"""Files that people name: regular ones alone, and no more of them than their kind can need.

A pipe in the place of a file keeps its reader waiting for ever, and a device may have no end. Links
are followed; what they lead to is what counts.
"""

import errno
import os
from io import BufferedReader
from pathlib import Path
from stat import S_ISDIR, S_ISREG

MOST_DOCUMENT = 2**26
"""Bytes of a document in JSON; the record of a release of a thousand columns has some 2^23."""

MOST_KEYS = 2**22
"""Bytes of a file of keys, certificates, signatures or time stamps; a key has some hundred."""


def opened(path: Path) -> BufferedReader:
    """The file at `path`, open at its start.

    Raises:
        OSError: there is none, it may not be read, or it is not a regular file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for its writer
    try:
        refuse_irregular(os.fstat(handle).st_mode)
        return os.fdopen(handle, "rb")
    except OSError:
        os.close(handle)
        raise


def bytes_of(path: Path, most: int) -> bytes:
    """All bytes of the file at `path`.

    Args:
        most: the bytes that it may have.
    Raises:
        OSError: as for `opened`, or it has more.
    """
    with opened(path) as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return found


def refuse_irregular(mode: int) -> None:
    """Refuse what is no regular file, by its mode as `os.stat` tells it.

    Raises:
        OSError: it is a folder, a pipe, a socket or a device.
    """
    if S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder, not a file")
    if not S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a regular file")
