"""How a file writes numbers: the decimal mark and the thousands separator."""

import re
from dataclasses import dataclass
from functools import cached_property

DECIMAL_MARKS = (".", ",")
THOUSANDS = (".", ",", "'", "’", "_", " ", "\u00a0", "\u202f")
"""Characters that may separate groups of three digits; the last two are non-breaking spaces."""


@dataclass(frozen=True)
class NumberMarks:
    """The marks of a column: `1.234,5` has the decimal mark `,` and the thousands separator `.`.

    A number has all of its thousands separators or none: `1234,5` is read too, `12.34,5` is not.
    """

    decimal: str = "."
    thousands: str = ""

    @cached_property
    def pattern(self) -> str:
        """A regular expression (for Python and RE2) that matches exactly the texts of numbers."""
        mark = re.escape(self.decimal)
        digits = r"[0-9]+"
        if self.thousands:
            digits = rf"([0-9]{{1,3}}([{re.escape(self.thousands)}][0-9]{{3}})+|{digits})"
        return rf"^[+-]?({digits}({mark}[0-9]*)?|{mark}[0-9]+)([eE][+-]?[0-9]+)?$"

    def plain(self, text: str) -> str | None:
        """The number with a decimal point and no thousands separators; None if it is not one."""
        if re.fullmatch(self.pattern, text) is None:
            return None
        if self.thousands:
            text = text.replace(self.thousands, "")
        return text.replace(self.decimal, ".")


PLAIN = NumberMarks()
"""The marks that Hallmark uses itself, and for Parquet and databases: 1234.5."""
