"""Secrets in files for their owner alone: keys, and passwords."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4


def write_secret(file: Path, content: bytes) -> None:
    """Write a new file.

    Raises:
        FileExistsError: there is one; it stays as it is.
    """
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
        handle.write(content)


def kept_secret(file: Path, fresh: Callable[[], bytes]) -> bytes:
    """What a file holds; where there is none, `fresh()`, written to it.

    The file appears whole or not at all, and of two processes that make it the first one wins.
    """
    if not file.exists():
        draft = file.with_name(f".{uuid4().hex}")
        write_secret(draft, fresh())
        with suppress(FileExistsError):
            os.link(draft, file)
        draft.unlink()
    return file.read_bytes()
