"""Numbers as text for people.

A bound is printed rounded away from what it promises: an upper bound is never shown smaller than
it is.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from hallmark.schemas.documents.certificate import CertificateFile
from hallmark.schemas.documents.privacy_claim import Amount, PrivacyClaim

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = 4, *, up: bool = False) -> str:
    """A number with `digits` significant digits; `up` never rounds it down.

    Thousands are separated by commas; very large and very small numbers have a power of ten.
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "unbounded"
    # repr, not the binary expansion: 0.1 means one tenth, and rounds up to 0.1
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_HALF_EVEN)
    rounded = context.create_decimal(Decimal(repr(float(value)))).normalize()
    exponent = rounded.adjusted()
    if -5 <= exponent < 10:
        return f"{rounded:,f}"
    mantissa = rounded.scaleb(-exponent).normalize()
    return f"{mantissa:f} × 10{str(exponent).translate(_SUPERSCRIPT)}"


def percent(share: float, digits: int = 3, *, up: bool = False) -> str:
    """A share as a percentage, such as `12.3 %`."""
    return f"{number(float(Decimal(repr(float(share))) * 100), digits, up=up)} %"


def exact(value: Fraction) -> str:
    """A rational number in decimals if these are exact and short, else as a ratio with decimals."""
    decimal = number(float(value), 12)
    if value.denominator == 1:
        return f"{value.numerator:,}"
    if "×" not in decimal and Fraction(decimal.replace(",", "")) == value:
        return decimal
    return f"{value} (about {number(float(value), 6)})"


def amount(value: Amount) -> str:
    """An (epsilon, delta), such as `ε 1, δ 0.00001`."""
    return f"ε {exact(value.epsilon)}, δ {exact(value.delta)}"


def certificate_in_words(certificate: CertificateFile) -> str:
    """A sentence about a certificate: its largest meaningful bound, and how many bounds say
    nothing."""
    told = [bound for bound in certificate.bounds if not bound.vacuous]
    empty = [bound for bound in certificate.bounds if bound.vacuous]
    # The largest of several marginals is as vacuous as one of them, and counts with it.
    named = [bound.target for bound in empty if bound.columns] or [one.target for one in empty]
    nothing = f"nothing is certified about {listed(named)}, where the bound is the largest possible"
    if not told:
        return nothing
    worst = max(told, key=lambda bound: bound.value)
    said = (
        f"with {percent(certificate.confidence, 12)} confidence, each of {len(told)} certified "
        f"losses is at most {percent(worst.value, up=True)} of the largest possible (that bound: "
        f"{worst.target})"
    )
    return f"{said}; {len(named)} more: {nothing}" if named else said


def duration(seconds: float) -> str:
    """A length of time, to two digits or so: "40 s", "12 min", "3.5 h"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.{0 if seconds >= 36_000 else 1}f} h"


def listed(names: Sequence[str], most: int = 5) -> str:
    """The names, or the first few and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def moment(value: datetime) -> str:
    """A moment in UTC, such as `2026-03-01 09:30 UTC`."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def neighbours_in_words(claim: PrivacyClaim) -> str:
    """What changes between neighbouring tables, in words."""
    what = "one record" if claim.unit == "record" else "all records of one person"
    if claim.neighbours == "add_remove":
        return f"{what} added or removed; the number of records is also protected"
    if claim.unit == "person":
        return f"{what} replaced by any others, more or fewer; the number of records is protected"
    return f"{what} replaced by any other; the number of records is not hidden"
