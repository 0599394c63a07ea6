"""Refuse a release in which something declared public is a copy of the private table.

The place of a table is known before anything is read (`tasks.planning.private_tables`). Its content
is known once the private table has been read, which is here, before it is asked anything.
"""

from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import Workspace, is_rehearsal_home
from hallmark.tasks.planning.likeness import Likeness
from hallmark.tasks.planning.prepare import Prepared
from hallmark.tasks.planning.private_tables import note


class CopyRefused(SafeError):
    """Something declared public contains the private records; the message reveals no more."""


def refuse_copies(prepared: Prepared, own: Likeness, workspace: Workspace) -> None:
    """Record how to recognise copies of the private table, and compare public tables with it.

    Args:
        own: what the private table is known by.
    Raises:
        CopyRefused: one of the spec's public tables, or the file to certify, is a copy.
    """
    if is_rehearsal_home():
        return
    note(workspace, prepared.spec, prepared.folder, own)
    for table in prepared.public_tables:
        if table.like.is_of(own):
            raise CopyRefused(
                f"{table.where} is a copy of the private table, but public tables may be released "
                "unchanged; the private table was asked nothing. Name a published table, or give "
                "the budget back with: hallmark ledger cancel "
                f"{prepared.spec.release} --reason WHY"
            )
