"""Public totals on cells: how many records must lie where, whether that can be, and making it so.

`PublicTotals` says what was published; `check` finds totals that no table of records has under the
edit rules; `hold` moves as few records as possible, so that a table has them.
"""

from hallmark.mechanisms.domain.totals.blocks import TotalsTooWide
from hallmark.mechanisms.domain.totals.contradictions import TotalsContradict, check
from hallmark.mechanisms.domain.totals.repair import hold
from hallmark.mechanisms.domain.totals.totals import PublicTotal, PublicTotals

__all__ = [
    "PublicTotal",
    "PublicTotals",
    "TotalsContradict",
    "TotalsTooWide",
    "check",
    "hold",
]
