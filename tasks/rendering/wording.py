"""Numbers and promises in words.

A bound is printed rounded away from what it promises: an upper bound is never shown smaller than
it is. Everything said about a person follows from the claim alone.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from schemas.privacy_claim import Amount, PrivacyClaim

_EXP_LIMIT = 25  # exp beyond this is "more than ten billion": no need of its digits
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Topic:
    """One question of the plain-language page, with its answer in paragraphs."""

    question: str
    answer: tuple[str, ...]


def number(value: float, digits: int = 4, *, up: bool = False) -> str:
    """A number with `digits` significant digits; `up` never rounds it down.

    Thousands are set apart by commas; very large and very small numbers get a power of ten.
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "unbounded"
    # repr, not the binary expansion: 0.1 is the tenth that was meant, and rounds up to 0.1
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
    """A rational in decimals where that is exact and short, else as a ratio with its decimals."""
    decimal = number(float(value), 6)
    if value.denominator == 1:
        return f"{value.numerator:,}"
    if "×" not in decimal and Fraction(decimal.replace(",", "")) == value:
        return decimal
    return f"{value} (about {decimal})"


def amount(value: Amount) -> str:
    """An (epsilon, delta), such as `ε 1, δ 0.00001`."""
    return f"ε {exact(value.epsilon)}, δ {exact(value.delta)}"


def moment(value: datetime) -> str:
    """A moment in UTC, such as `2026-03-01 09:30 UTC`."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def neighbours_in_words(claim: PrivacyClaim) -> str:
    """What the neighbouring relation lets change."""
    what = "one record" if claim.unit == "record" else "all records of one person"
    if claim.neighbours == "replace_one":
        return f"{what} replaced by any other; the number of records is not hidden"
    return f"{what} added or taken away; the number of records is protected too"


def odds_factor(epsilon: Fraction) -> str:
    """exp(epsilon), rounded up to three digits."""
    if epsilon > _EXP_LIMIT:
        return "more than ten billion"
    return number(math.exp(float(epsilon)) * (1 + 1e-12), 3, up=True)


def best_guess(claim: PrivacyClaim) -> float:
    """Largest chance of telling two equally likely neighbouring tables apart.

    Source: Kairouz, Oh, Viswanath (2015), "The composition theorem for differential privacy",
    arXiv:1311.0776, Theorem 2.1: false alarm + exp(epsilon) * miss >= 1 - delta, and the same with
    the two exchanged, so that both errors average to at least (1 - delta) / (1 + exp(epsilon)).
    """
    epsilon, delta = float(claim.epsilon), float(claim.delta)
    if epsilon > _EXP_LIMIT:
        return 1.0
    return 1 - (1 - delta) / (1 + math.exp(epsilon))


def plain_language(
    claim: PrivacyClaim, total: Amount, exceptions: Sequence[str]
) -> tuple[Topic, ...]:
    """What a person in the data risks.

    Args:
        claim: the release's claim.
        total: what all releases of the account so far, this one included, have spent.
        exceptions: facts told or used outside the guarantee, each a sentence.
    """
    return (
        Topic("What was published?", tuple(_published())),
        Topic("What is promised to you?", tuple(_promise(claim))),
        Topic("How strong is that?", tuple(_strength(claim))),
        Topic("What is not promised?", tuple(_limits(claim, exceptions))),
        Topic("And together with other releases?", tuple(_together(claim, total))),
    )


def _published() -> Iterator[str]:
    yield (
        "A table of invented rows. A computer program drew them so that, taken together, they "
        "resemble the original table. No row was copied from it. A row may still look like a real "
        "person; how much that can owe to the person's own data is what the promise limits."
    )


def _promise(claim: PrivacyClaim) -> Iterator[str]:
    person = claim.unit == "person"
    yours = "all of your records together" if person else "any one record about you"
    world = (
        "had been replaced by others, however different"
        if claim.neighbours == "replace_one"
        else "had never been collected"
    )
    tail = "" if claim.is_pure else ", apart from a small slack (see below)"
    yield (
        f"Random noise was mixed into everything that was learnt from the original table. Whatever "
        f"somebody concludes from the release, they would have been nearly as likely to conclude "
        f"if {yours} {world}: at most {odds_factor(claim.epsilon)} times as likely in the one case "
        f"as in the other{tail}. This holds whatever else they know about you, "
        f"and however much computing they do."
    )
    yield f"The unit of the promise is {claim.unit_in_words}."
    if person:
        yield (
            f"At most {claim.records_per_unit} records of a person were used; others were left out "
            "before anything was computed."
        )
    else:
        epsilon, delta = claim.for_group(2)
        slack = "" if claim.is_pure else f" and the slack becomes {number(delta, 3, up=True)}"
        yield (
            "If several records are about you, the promise is weaker for all of them together: "
            f"for two, the factor becomes {odds_factor(epsilon)}{slack}."
        )


def _strength(claim: PrivacyClaim) -> Iterator[str]:
    guess = best_guess(claim)
    pair = (
        "which of two records, equally likely beforehand, was yours"
        if claim.neighbours == "replace_one"
        else "whether your data were in the table at all, when both are equally likely beforehand"
    )
    if claim.unit == "person" and claim.neighbours == "replace_one":
        pair = "which of two sets of records, equally likely beforehand, was yours"
    yield (
        f"Take an attacker who knows everybody else's data and wants to tell {pair}. Guessing "
        f"blindly is right in 50 % of cases. With the release, even the best attack is right in at "
        f"most {percent(guess, 3, up=True)}. Real attackers know less."
    )
    if claim.epsilon <= _EXP_LIMIT:
        factor = odds_factor(claim.epsilon)
        start = "In odds: " if claim.is_pure else "In odds, leaving the slack aside: "
        yield (
            f"{start}a suspicion that stood at 1 to 100 can rise to at most {factor} to 100, or "
            f"fall to 1 to {number(100 * math.exp(float(claim.epsilon)), 3, up=True)}."
        )
    if guess > 0.99:
        yield (
            "At this epsilon the promise by itself excludes little. What protects people then is "
            "what is known of actual attacks, not this number."
        )
    if not claim.is_pure:
        yield (
            f"The slack, called delta, is {exact(claim.delta)}: a chance may differ by that much "
            f"more than the factor allows. It is no prediction that anybody's data will be "
            f"revealed."
        )


def _limits(claim: PrivacyClaim, exceptions: Sequence[str]) -> Iterator[str]:
    yield (
        "The release is meant to teach something about the population. If it shows, say, that a "
        "trade harms the lungs, that may be concluded of everybody in the trade, whether or not "
        "they are in the table."
    )
    group = "persons" if claim.unit == "person" else "records"
    epsilon, _ = claim.for_group(4)
    yield (
        f"Facts shared by a group, such as a household, are protected less than one of its "
        f"{group}: for four, the factor is {odds_factor(epsilon)}."
    )
    if exceptions:
        yield "Not covered by the promise, because told or used exactly: " + " ".join(exceptions)


def _together(claim: PrivacyClaim, total: Amount) -> Iterator[str]:
    if total.epsilon <= claim.epsilon:
        yield (
            "This is the only release on this account so far. Each further one would add to what "
            "can be concluded, which is why the account has a cap."
        )
        return
    yield (
        f"All releases on this account so far add up to {amount(total)}, a factor of at most "
        f"{odds_factor(total.epsilon)} for all of them together. Data about you that others hold "
        "and publish are not counted."
    )
