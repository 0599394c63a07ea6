"""Checkpoints: what a long fit leaves behind, so that a killed run goes on from there.

Claim.   A file is either whole or absent, and is used only by a fit with the same key. The key is a
         digest of all that the fit's result depends on, so a stale file changes nothing.

What is kept is public: it follows from noisy answers.
"""

import os
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
_KEY = "checkpoint_key"


class Checkpoint(Protocol):
    """One place for the state of one fit at a time."""

    def load(self, key: str) -> Arrays | None:
        """What was saved last, if it was under this key."""
        ...

    def due(self) -> bool:
        """Whether enough time has passed since the last one."""
        ...

    def save(self, key: str, state: Arrays) -> None:
        """Keep this instead of all that was kept before."""
        ...


class FileCheckpoint:
    """A checkpoint in one npz file, written at most once in so many seconds."""

    def __init__(self, path: Path, *, seconds: float = 60.0) -> None:
        self._path = path
        self._seconds = seconds
        self._saved = time.monotonic()

    def load(self, key: str) -> Arrays | None:
        """What the file holds, if it is readable and of this key."""
        try:
            with np.load(self._path, allow_pickle=False) as kept:
                if str(kept[_KEY]) != key:
                    return None
                return {name: kept[name] for name in kept.files if name != _KEY}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None  # none yet, or not one of ours: the fit starts from its beginning

    def due(self) -> bool:
        """Whether the time has passed since the last save, or since the start."""
        return time.monotonic() - self._saved >= self._seconds

    def save(self, key: str, state: Arrays) -> None:
        """Write beside the file, then put it in its place."""
        arrays: dict[str, Any] = {**state, _KEY: np.array(key)}
        with NamedTemporaryFile(
            dir=self._path.parent, prefix=self._path.stem, suffix=".part", delete=False
        ) as draft:
            try:
                np.savez(draft, **arrays)
                draft.flush()
                os.fsync(draft.fileno())
                os.replace(draft.name, self._path)
            except BaseException:
                Path(draft.name).unlink(missing_ok=True)
                raise
        self._saved = time.monotonic()
