"""Change between two releases of the same table: questions asked of both, and what moved at all."""

from hallmark.tasks.changes.changes import Change, Changes
from hallmark.tasks.changes.common_cells import NotComparable
from hallmark.tasks.changes.shifts import Shift, ShiftedTable, Shifts

__all__ = ["Change", "Changes", "NotComparable", "Shift", "ShiftedTable", "Shifts"]
