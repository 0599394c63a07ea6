"""What a release means for a person in the data, in plain language.

Every statement about a person follows from the claim, the noise and the account in the record.
Bounds are rounded away from what they promise.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hallmark.mechanisms.privacy.trade_off import TradeOff
from hallmark.schemas.documents.audit_privacy import Guarantee
from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.certificate import CertifiedFile
from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.schemas.documents.privacy_claim import Amount, PrivacyClaim
from hallmark.tasks.rendering.attacks import attacks_on
from hallmark.tasks.rendering.changes import changes_in_words
from hallmark.tasks.rendering.wording import amount, exact, number, percent

_EXP_LIMIT = 25  # exp of more than this is "more than ten billion", without digits


@dataclass(frozen=True)
class Topic:
    """One question of the plain-language page, with its answer in paragraphs."""

    question: str
    answer: tuple[str, ...]
    named: bool = False  # whether each paragraph starts with its subject and a colon


_TERMS = {
    "discretisation": "a value is known only up to its cell, so it may be anywhere in it",
    "privatisation": "the noise that protects people, at its worst within the confidence",
    "projection": "the distance of the records from the noisy answers: no table of records has "
    "exactly these answers, since noise makes some negative and some contradictory, so a generator "
    "found a table near them",
    "rounding to records": "a distribution had to be turned into whole records",
    "number of records": "the number of private records is itself known only with noise",
}


def terms_in_words(names: Sequence[str]) -> list[tuple[str, str]]:
    """The meanings of a bound's terms, each with its name; unknown terms are left out."""
    return [(name, _TERMS[name]) for name in names if name in _TERMS]


def exceptions_in_words(record: AuditRecord) -> list[str]:
    """Sentences about what is outside the guarantee."""
    learnt = [c.name for c in record.protected.columns if c.bound_kind == "private_estimate"]
    facts = [fact.fact for fact in record.guarantee.unprotected]
    sentences = [f"{fact[:1].upper()}{fact[1:].rstrip('.')}." for fact in facts]
    if learnt:
        sentences.insert(
            0,
            f"The bounds of {', '.join(learnt)} were read off the private data without a charge: "
            "the guarantee does not cover what they reveal.",
        )
    return sentences


def for_people(record: AuditRecord) -> tuple[Topic, ...]:
    """The whole page for a person in the data."""
    identity = record.identity
    before, now = record.account.previously_spent, record.account.this_release
    total = Amount(epsilon=before.epsilon + now.epsilon, delta=before.delta + now.delta)
    promises = plain_language(record.guarantee, total, exceptions_in_words(record))
    published, *others = promises
    if record.utility.certificate.file is not None:
        published = Topic(published.question, tuple(_certified(record.utility.certificate.file)))
    return (
        Topic("What was done with your data?", tuple(_done(record))),
        published,
        *others,
        Topic(
            "What risk remains, in the words of disclosure control?",
            tuple(_disclosure_control(record)),
            named=True,
        ),
        *_since(record),
        Topic(
            "Whom can you ask?",
            (
                _stated("Contact", identity.contact, "not recorded."),
                _stated("To have a mistake corrected", identity.corrections, "not recorded."),
                _stated("Legal basis", identity.legal_basis),
                _stated("Public registry of such releases", identity.registry),
            ),
            named=True,
        ),
    )


def _stated(what: str, said: str, otherwise: str = "not recorded. You may ask for it.") -> str:
    return f"{what}: {said if said != NOT_RECORDED else otherwise}"


def _done(record: AuditRecord) -> Iterator[str]:
    protected, identity = record.protected, record.identity
    curator = "The agency" if identity.curator == NOT_RECORDED else identity.curator
    columns = [column.description or column.name for column in protected.columns]
    names = f"{', '.join(columns[:-1])} and {columns[-1]}" if len(columns) > 1 else columns[0]
    yield (
        f"{curator} holds a table: {protected.dataset}. From each record this release used: "
        f"{names}."
    )
    given = record.utility.certificate.file
    from_them = (
        "From the noisy answers, and from public information, it drew new, invented records"
        if given is None
        else "It compared a file of records made elsewhere with the noisy answers"
    )
    yield (
        "A program asked a limited number of questions about the table as a whole, such as how "
        "often combinations of these values occur, and mixed random noise into every answer. "
        f"{from_them}; it did not look at your data again for that."
    )
    if identity.purpose != NOT_RECORDED:
        what = "The invented records are" if given is None else "The comparison is"
        yield f"{what} published for this purpose: {identity.purpose}."


def _disclosure_control(record: AuditRecord) -> Iterator[str]:
    claim, noise = record.guarantee.claim, record.mechanism.noise
    attacks = attacks_on(record.guarantee)
    guess = percent(attacks.best_guess(), 3, up=True)
    # Changing a value in a record is one replacement, but two steps of adding or removing.
    steps = 1 if claim.neighbours == "replace_one" else 2
    detail = percent(attacks.best_guess(steps), 3, up=True)
    if record.utility.certificate.file is None:
        yield (
            "Identification: no published row is anybody's record, so there is no row in which to "
            "find you. A row can agree with your record by chance, and a row like yours could "
            "appear just as well without you, up to the factor above."
        )
    else:
        yield (
            "Identification: no row was published here. This certificate does not say what the "
            "rows of the file may reveal about you; whoever made them is responsible for that."
        )
    yield (
        "Learning something about you: suppose somebody knows everything about you except one "
        "detail, and thinks two values of it equally likely. With what your record adds, their "
        f"guess is right in at most {detail} of cases; a coin toss is right in 50 %. This does not "
        "count what the table as a whole teaches about people like you, which would be known "
        "without you."
    )
    if claim.neighbours == "add_remove":
        yield (
            "Finding out whether you are in the data: the same bound holds, at most "
            f"{guess} of cases."
        )
    else:
        yield (
            "Finding out whether you are in the data: somebody can tell whether the table contains "
            + (
                f"your record or another in at most {guess} of cases. The number of records is "
                "public."
                if claim.unit == "record"
                else f"your records or another person's in at most {guess} of cases."
            )
        )
    least = min(
        (n.standard_deviation for n in noise if n.unit == "records" and "discrete" in n.family),
        default=0.0,
    )
    if least >= 2:
        yield (
            "Small groups: the least noise on a count has a standard deviation of "
            f"{number(least, 3)} records. By such a count alone, somebody can tell a group of up "
            f"to about {math.floor(least / 2)} records from an empty one in about two cases of "
            "three, at most; a coin toss is right in one of two."
        )
    yield (
        "Comparing tables: subtracting one release from another reveals no more than all releases "
        "on the account together, and a cap limits what these reveal."
    )


def odds_factor(epsilon: Fraction) -> str:
    """exp(epsilon), rounded up to three digits."""
    if epsilon > _EXP_LIMIT:
        return "more than ten billion"
    return number(math.exp(float(epsilon)) * (1 + 1e-12), 3, up=True)


def plain_language(
    guarantee: Guarantee, total: Amount, exceptions: Sequence[str]
) -> tuple[Topic, ...]:
    """Questions and answers about the risk of a person in the data.

    Args:
        guarantee: of the release.
        total: what all releases of the account so far, this one included, have spent.
        exceptions: sentences about facts revealed or used outside the guarantee.
    """
    claim, attacks = guarantee.claim, attacks_on(guarantee)
    return (
        Topic("What was published?", tuple(_published())),
        Topic("What is promised to you?", tuple(_promise(claim))),
        Topic("How strong is that?", tuple(_strength(claim, attacks))),
        Topic("What is not promised?", tuple(_limits(claim, attacks, exceptions))),
        Topic("And together with other releases?", tuple(_together(claim, total))),
    )


def _since(record: AuditRecord) -> Iterator[Topic]:
    """What the table as a whole tells of the time since the period before."""
    if (changed := record.utility.changed) is not None:
        yield Topic("What changed since the period before?", tuple(changes_in_words(changed)))


def _published() -> Iterator[str]:
    yield (
        "A table of invented rows. A computer program drew them so that, taken together, they "
        "resemble the original table. No row was copied from it. A row may still look like a real "
        "person; the promise limits how much the person's own data can have to do with that."
    )


def _certified(file: CertifiedFile) -> Iterator[str]:
    yield (
        f"A certificate: bounds on how far the records in {file.name}, taken together, are from "
        "the original table. Somebody else made those records; the promise below is only about the "
        "certificate, and does not limit what the records may reveal about you."
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
        f"if {yours} {world}: at most {odds_factor(claim.epsilon)} times as likely in one case as "
        f"in the other{tail}. This holds whatever else they know about you, and however much "
        f"computing power they use."
    )
    yield f"The unit of the promise is {claim.unit_in_words}."
    if person:
        yield (
            f"At most {claim.records_per_unit} records of each person were used; others were left "
            "out before anything was computed."
        )
    else:
        epsilon, delta = claim.for_group(2)
        slack = "" if claim.is_pure else f" and the slack becomes {number(delta, 3, up=True)}"
        yield (
            "If several records are about you, the promise for all of them together is weaker: "
            f"for two, the factor becomes {odds_factor(epsilon)}{slack}."
        )


def _strength(claim: PrivacyClaim, attacks: TradeOff) -> Iterator[str]:
    guess = attacks.best_guess()
    pair = (
        "which of two records, equally likely beforehand, was yours"
        if claim.neighbours == "replace_one"
        else "whether your data were in the table at all, when both are equally likely beforehand"
    )
    if claim.unit == "person" and claim.neighbours == "replace_one":
        pair = "which of two sets of records, equally likely beforehand, was yours"
    yield (
        f"Suppose an attacker knows everybody else's data and wants to find out {pair}. A blind "
        f"guess is right in 50 % of cases. With the release, even the best attack is right in at "
        f"most {percent(guess, 3, up=True)}."
    )
    replaced = claim.neighbours == "replace_one"
    yours = "your records" if claim.unit == "person" else "your record"
    few, some = (number(1000 * attacks.power(chance), 3, up=True) for chance in (0.01, 0.1))
    yield (
        "Whatever is guessed about you: an attack that would be right in 10 of 1,000 cases with "
        f"{'others in place of' if replaced else 'a table that lacks'} {yours} is right in at most "
        f"{few} of 1,000, and one that would be right in 100 in at most {some}."
    )
    if guess > 0.99:
        yield (
            "At this epsilon the promise by itself excludes little. Confidence that people are "
            "protected then rests on what is known about actual attacks, not on this number."
        )
    if not claim.is_pure:
        yield (
            f"The slack, called delta, is {exact(claim.delta)}: a probability may differ by that "
            f"much more than the factor allows. It does not predict that anybody's data will be "
            f"revealed."
        )


def _limits(claim: PrivacyClaim, attacks: TradeOff, exceptions: Sequence[str]) -> Iterator[str]:
    yield (
        "The release is meant to teach something about the population. If it shows, for example, "
        "that a trade harms the lungs, people may conclude that about everybody in the trade, "
        "whether or not they are in the table."
    )
    group = "persons" if claim.unit == "person" else "records"
    yield (
        f"Facts shared by a group, such as a household, are protected less than those of one of "
        f"its {group}: for four, the best attack is right in at most "
        f"{percent(attacks.best_guess(4), 3, up=True)} of cases where a coin is right in 50 %."
    )
    if exceptions:
        yield "Not covered by the promise, because revealed or used exactly: " + " ".join(
            exceptions
        )


def _together(claim: PrivacyClaim, total: Amount) -> Iterator[str]:
    if total.epsilon <= claim.epsilon:
        yield (
            "This is the only release on this account so far. Each further release would add to "
            "what can be concluded, which is why the account has a cap."
        )
        return
    yield (
        f"All releases on this account so far add up to {amount(total)}, a factor of at most "
        f"{odds_factor(total.epsilon)} for all of them together. This does not count data about "
        "you that others hold and publish."
    )
