"""The privacy part of an audit record: the guarantee, the account, the noise, known weaknesses."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from fractions import Fraction

from hallmark.mechanisms.privacy.accountant import bracket, pure_epsilon, rho
from hallmark.mechanisms.privacy.events import events_to_json, is_adaptive
from hallmark.mechanisms.privacy.ledger.ledger import AccountState, Entry
from hallmark.mechanisms.privacy.rounding import decimal_above
from hallmark.mechanisms.privacy.trade_off import trade_off
from hallmark.schemas.about import Tuning
from hallmark.schemas.documents.audit_privacy import (
    Account,
    Generator,
    GroupFactor,
    Guarantee,
    LedgerEntry,
    MechanismRecord,
    NoiseRow,
    QueryFile,
    SeriesCharges,
)
from hallmark.schemas.documents.audit_report import Weakness
from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.schemas.documents.privacy_claim import Amount, PrivacyClaim, UnprotectedFact
from hallmark.schemas.exact import decimal
from hallmark.schemas.promise import promised, unprotected
from hallmark.tasks.record.executed import Executed
from hallmark.tasks.record.spending import split
from hallmark.tasks.reserve import RELEASE_FLOW

_RHO_DIGITS = 12  # rounded up; the exact sum of different noises may have hundreds
_RHO_DIGITS = 12  # of what a period has taken, rounded up
_EPSILON_DIGITS = 4  # of what an account comes to, rounded up
_GROUPS = (1, 2, 4, 8)  # units together


def guarantee(run: Executed) -> Guarantee:
    """What is promised, proven from the events that were charged."""
    spec = run.prepared.spec
    claim = promised(spec)
    proven = bracket(run.events, spec.privacy.delta)
    pure = pure_epsilon(run.events) is not None
    return Guarantee(
        claim=claim,
        variant="pure differential privacy" if pure else "approximate differential privacy",
        formal=claim.formal,
        rho=None if pure else decimal_above(rho(run.events), _RHO_DIGITS),
        delta_in_context=_delta_in_context(run, claim),
        accountant=f"{proven.method}; the smallest of its valid bounds",
        bracket=(proven.lower, proven.upper),
        cross_check=f"epsilon at most {proven.second:.6g} by {proven.second_method}; "
        "computed independently, it confirms no digit, and must not lie below the lower bound",
        curve=trade_off(run.events, run.prepared.plan.budget).points,
        curve_note=_about_curve(run),
        groups=tuple(
            GroupFactor(units=units, epsilon=group_epsilon, delta=group_delta)
            for units in _GROUPS
            for group_epsilon, group_delta in [claim.for_group(units)]
        ),
        groups_source="a chain of k neighbouring tables: epsilon times k, and delta times the sum "
        "of exp(i epsilon) over i below k (Vadhan 2017, The complexity of differential privacy, "
        "proof of Lemma 2.2)",
        parts="no smaller epsilon is claimed for a change of one attribute, or within one place, "
        "than for a change of the whole unit",
        unprotected=tuple(_unprotected(run)),
    )


def _delta_in_context(run: Executed, claim: PrivacyClaim) -> str:
    if claim.is_pure:
        return "delta is 0"
    expected = run.prepared.spec.data.expected_rows
    if run.total is None:
        number, what = expected, f"the {expected:,} records that the plan expected"
    else:
        number, what = run.total, f"the table's {run.total:,} records"
    return f"delta times {what} is {float(claim.delta * number):.3g}"


def _about_curve(run: Executed) -> str:
    if is_adaptive(run.events):
        return "noise was chosen after seeing answers, so the budget alone is proved"
    return "the accountant's bounds for the events charged, at other epsilons"


def _unprotected(run: Executed) -> Iterator[UnprotectedFact]:
    yield from unprotected(run.prepared.spec)
    yield UnprotectedFact(
        fact="the private table has at least one record, and is the same in all runs of this "
        "release that asked it something",
        why="a run that finds it otherwise is refused, so that there would be no release",
    )
    if run.prepared.public.tables:
        yield UnprotectedFact(
            fact="nothing that the spec declares public is a copy of the private table",
            why="a copy is refused, so that there would be no release; how much they have in "
            "common is not revealed",
        )
    for loss in run.losses:
        yield UnprotectedFact(
            fact="the account's ledger was restored from a copy and lacks entries that it had: "
            f"the draws of those entries are in no sum of this account ({loss.at:%Y-%m-%d})",
            why=f"as {loss.by} says: {loss.reason}",
        )
    if run.tables_shown:
        yield UnprotectedFact(
            fact="the private table changed while the release waited for approval; openings of "
            f"the plan's gate that show it: {run.tables_shown}",
            why="each differs from the opening before it only in the seal of the table",
        )
    if run.times is not None:
        yield UnprotectedFact(
            fact="the times of the run and of its stages, to the second, are those of a run on "
            "the private table",
            why="reviewers need them; how long a computation takes depends on the number of "
            "records and on their values, and is not covered. No finer times are published, and "
            "of each draw only the day",
        )


def account(run: Executed) -> Account:
    """The population's account, as the ledger has it after the charge."""
    state, spent, spec = run.account, run.prepared.plan.budget, run.prepared.spec
    return Account(
        name=state.name,
        authorised_by=_authorised_by(run),
        cap=Amount.model_validate(state.cap),
        previously_spent=Amount(
            epsilon=state.spent[0] - spent.epsilon, delta=state.spent[1] - spent.delta
        ),
        this_release=Amount.model_validate(spent),
        reserved=Amount(epsilon=state.reserved[0], delta=state.reserved[1]),
        remaining=Amount(epsilon=state.remaining[0], delta=state.remaining[1]),
        composition=_composition(state),
        composed=_composed(state),
        series=_series(state, run.prepared.period),
        split=split(run.prepared.plan, run.events),
        failed_runs=failed_runs(spec.release, run.entries, run.times.attempts if run.times else 1),
        tuning=NOT_RECORDED if spec.about.tuning is None else _tuning(spec.about.tuning),
        entries=tuple(
            LedgerEntry(
                time=datetime.fromisoformat(entry.at).astimezone(UTC).date(),
                release=entry.release or "",
                entry=entry.kind,
                epsilon=spent.epsilon,
                delta=spent.delta,
                digest=entry.hash if entry.hides else NOT_RECORDED,
            )
            for entry in run.entries
            if entry.release == spec.release and entry.kind in ("reserve", "charge")
        ),
    )


def _composition(state: AccountState) -> str:
    """How the budgets of several releases compose, and what is proved of that."""
    if state.composition == "sum":
        return "basic composition: epsilons and deltas add up"
    epsilon, delta = (decimal(part) for part in state.taken)
    if state.presence is not None:
        return (
            "zero-concentrated differential privacy, for a series: releases are about one "
            f"{state.presence.length} each, and what is authorised covers what one unit may have "
            f"in {state.presence}, however releases were chosen after seeing earlier answers. "
            "What one unit has in more periods than that is covered part by part. Budgets of all "
            f"periods add up to epsilon {epsilon}, delta {delta}"
        )
    return (
        "zero-concentrated differential privacy: a filter at one Renyi order admits releases, so "
        "that all together keep to what is authorised, however they were chosen after seeing "
        "earlier answers. The epsilon of all releases so far is proved if no size was chosen in "
        f"that way; their budgets add up to epsilon {epsilon}, delta {delta}"
    )


def _composed(state: AccountState) -> Fraction | None:
    """What all releases so far come to, where that is not the sum of their budgets."""
    if state.composition == "sum" or not state.composed:
        return None
    return decimal_above(Fraction(state.composed), _EPSILON_DIGITS)


def _series(state: AccountState, about: str | None) -> SeriesCharges | None:
    """What the periods of the account's series have taken; None where it keeps none."""
    if state.presence is None or about is None:
        return None
    return SeriesCharges(
        period=about,
        most=state.presence.most,
        pattern=state.presence.pattern,
        # Rounded up: a composition of many draws is a ratio of hundreds of digits.
        taken={
            name: decimal_above(rho, _RHO_DIGITS) for name, rho in state.by_period.items() if rho
        },
    )


def _authorised_by(run: Executed) -> str:
    """Who set the cap that holds now, when, and why."""
    entry = [entry for entry in run.entries if entry.kind in ("open", "cap")][-1]
    by, reason = entry.payload.get("by"), entry.payload.get("reason")
    return f"{by}, {entry.at[:10]}: {reason}" if by else NOT_RECORDED


def failed_runs(release: str, entries: Iterable[Entry], runs: int) -> str:
    """What is told of a release's runs before this one.

    Args:
        entries: of the account.
        runs: how many read the private table, this one included.
    """
    given_back = [entry for entry in entries if entry.release == release and entry.kind == "cancel"]
    before = (
        "no earlier run of this release got as far as reading the private table"
        if runs == 1
        else f"earlier runs of this release that read the private table: {runs - 1}"
    )
    # Why a run by itself ended is for the operator: that it was the table's fault is an exact fact.
    returned = "".join(
        f"; on {entry.at[:10]} its budget was given back unused"
        + (f" ({entry.payload['reason']})" if entry.payload["by"] != RELEASE_FLOW else "")
        for entry in given_back
    )
    return (
        f"{before}{returned}. A run that fails before its first draw spends nothing; after it, the "
        "whole reservation counts as spent, and resuming spends no more"
    )


def _tuning(tuning: Tuning) -> str:
    on = "nothing" if tuning.on == "nothing" else f"{tuning.on} data"
    return f"{on}: {tuning.details}" if tuning.details else on


def mechanism(run: Executed) -> MechanismRecord:
    """How the noise was made, and how the records came from it."""
    plan, spec = run.prepared.plan, run.prepared.spec
    forecast = plan.forecast()
    files = [entry.matrix.file for entry in spec.mechanism.queries if entry.matrix is not None]
    return MechanismRecord(
        name=plan.mechanism,
        paper=plan.source,
        parameters=dict(plan.parameters),
        noise=tuple(NoiseRow.model_validate(line) for line in plan.noise),
        events=tuple(events_to_json(run.events)),
        query_files=tuple(
            QueryFile(file=file, sha256=digest)
            for file, digest in zip(files, run.prepared.public.queries, strict=True)
        ),
        forecast=f"{forecast.metric}: {forecast.expected_error:.4g} ({forecast.statement})",
        generator=Generator.from_history(run.synthetic.history),
        noise_source="OpenDP: exact sampling of discrete noise from the operating system's "
        "cryptographic generator, applied to integer counts",
    )


def weaknesses(run: Executed) -> Iterator[Weakness]:
    """Ways in which such software has failed before, and what is known of them here."""
    yield Weakness(
        weakness="Noise in floating point, whose last digits can give the true value away "
        "(Mironov 2012)",
        applies="no",
        why="noise is drawn in exact integer arithmetic and added to integers; floating-point "
        "numbers appear only after it",
    )
    yield Weakness(
        weakness="Random numbers that can be predicted or repeated",
        applies="no",
        why="noise comes from the operating system's cryptographic generator; it has no seed that "
        "anybody could keep",
    )
    yield Weakness(
        weakness="Noise drawn again for the same question, which averages away",
        applies="in part" if run.losses else "no",
        why="a draw is logged with its charge before anybody sees it, and every later run reads "
        "the log; nothing is drawn on a ledger that lacks what was anchored or published"
        + (", but entries of this account were given up as lost" if run.losses else ""),
    )
    yield Weakness(
        weakness="Running times that depend on the data",
        applies="in part",
        why="nobody outside can ask questions and time the answers, but the sampler takes longer "
        "for larger noise, and times of the run are in this record",
    )
    if run.rules:
        yield Weakness(
            weakness="Refusals that depend on the data",
            applies="in part",
            why="rows that break a rule stop a release, so a release shows that there were none; "
            "people who write specs are told which rules a table breaks, and the desk limits how "
            "often",
        )
    yield Weakness(
        weakness="Private intermediates left behind",
        applies="in part",
        why="coded records lie in a folder of the operator's account alone and are deleted when "
        "the run ends; the internal review, counts of rows that break rules, a page of the values "
        "that do and details of failures stay there, until `hallmark forget` removes them",
    )
