"""Refuse a release in which something that is taken for public is a copy of the private table.

Where a table lies is known before anything is read (`tasks.spec.private_tables`). What is in it is
known once the private table was read, which is here, before anything is asked of it.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hallmark.tasks.discretize import all_records
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.installation.workspace import Workspace, is_rehearsal_home
from hallmark.tasks.spec.likeness import Likeness, likeness_of_codes
from hallmark.tasks.spec.prepare import Prepared
from hallmark.tasks.spec.private_tables import note


class CopyRefused(SafeError):
    """Something that is called public holds the private records; more is not told."""


def refuse_copies(prepared: Prepared, files: Sequence[Path], workspace: Workspace) -> None:
    """Note by what copies of the private table are known, and hold what is public against it.

    Args:
        files: the coded records, as `tasks.discretize` gives them.
    Raises:
        CopyRefused: one of the spec's public tables, or the file to certify, is a copy.
    """
    if is_rehearsal_home():
        return
    own = guarded("copies", workspace.path, _likeness)(prepared, files)
    note(workspace, prepared.spec, prepared.folder, own)
    for table in prepared.public_tables:
        if table.like.is_of(own):
            raise CopyRefused(
                f"{table.where} is a copy of the private table, and what is public may be released "
                "as it is; nothing was asked of the private table. Name a table that is published, "
                "or give the budget back with: hallmark ledger cancel "
                f"{prepared.spec.release} --reason WHY"
            )


def _likeness(prepared: Prepared, files: Sequence[Path]) -> Likeness:
    blocks = (np.load(file) for file in all_records(files))
    return likeness_of_codes(prepared.codec, blocks, prepared.source)
