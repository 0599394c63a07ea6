"""How a file writes numbers: the mark before its decimals, and what parts groups of thousands."""

import re
from dataclasses import dataclass
from functools import cached_property

DECIMAL_MARKS = (".", ",")
THOUSANDS = (".", ",", "'", "’", "_", " ", "\u00a0", "\u202f")
"""Signs that may stand between groups of three digits; the last two are spaces that do not break
a line."""


@dataclass(frozen=True)
class NumberMarks:
    """The marks of a column: `1.234,5` has the decimal mark `,` and the thousands sign `.`.

    A number may leave out its thousands signs, all or none: `1234,5` is read too, `12.34,5` is not.
    """

    decimal: str = "."
    thousands: str = ""

    @cached_property
    def pattern(self) -> str:
        """A regular expression, of Python and of RE2, that whole texts of numbers match."""
        mark = re.escape(self.decimal)
        digits = r"[0-9]+"
        if self.thousands:
            digits = rf"([0-9]{{1,3}}([{re.escape(self.thousands)}][0-9]{{3}})+|{digits})"
        return rf"^[+-]?({digits}({mark}[0-9]*)?|{mark}[0-9]+)([eE][+-]?[0-9]+)?$"

    def plain(self, text: str) -> str | None:
        """The number with a decimal point and no thousands sign; None where it is none."""
        if re.fullmatch(self.pattern, text) is None:
            return None
        if self.thousands:
            text = text.replace(self.thousands, "")
        return text.replace(self.decimal, ".")


PLAIN = NumberMarks()
"""The marks of Hallmark itself, of Parquet and of databases: 1234.5."""
