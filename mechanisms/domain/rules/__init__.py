"""Edit rules on cells: which records are possible, and the nearest possible record to another.

`Rules` says which combinations of cells a valid record may have; it knows columns by position and
nothing of their names or units. `check` finds rules that contradict each other.
"""

from hallmark.mechanisms.domain.rules.contradictions import Contradiction, check
from hallmark.mechanisms.domain.rules.flat import FlatTables, obeys
from hallmark.mechanisms.domain.rules.rules import Rules
from hallmark.mechanisms.domain.rules.tables import Determination, Parts, RuleTable

__all__ = [
    "Contradiction",
    "Determination",
    "FlatTables",
    "Parts",
    "RuleTable",
    "Rules",
    "check",
    "obeys",
]
