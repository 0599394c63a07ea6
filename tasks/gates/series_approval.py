"""The plan of a series, approved once: whether it covers the plan of one of its periods.

People approve the plan of the series at the gate of the plan of one of its releases: what they see
there has its digest, too (`SeriesPlan`). A later period needs no approval of its plan if its spec
is the template filled in, its cost fits its share, code and cluster are those that were approved,
and everybody who approved would still count today. Otherwise it waits for an approval of its own,
and says what differs; that approval is then the one of the series.

Only runs of a calendar's entry with `plan_approved: once` ask for any of this: the plan of the
series is kept beside the spec of the period, where a run that goes on finds it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from hallmark.mechanisms.privacy.costs import cost
from hallmark.mechanisms.privacy.ledger.book import STATEMENTS
from hallmark.mechanisms.privacy.ledger.chain import Entry
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import known_as
from hallmark.schemas.documents.decisions import SeriesApproval, SignedDecision
from hallmark.schemas.documents.manifest import SERIES_PLAN_FILE
from hallmark.schemas.documents.series_plan import SERIES_PLAN, SeriesPlan
from hallmark.schemas.exact import decimal
from hallmark.schemas.given_files import MOST_DOCUMENT, bytes_of
from hallmark.schemas.profile import Profile
from hallmark.schemas.series import revision_of, siblings
from hallmark.schemas.templates import first_run
from hallmark.tasks.gates.approvals import profile_fault
from hallmark.tasks.gates.covered import LONG_AGO, misfits
from hallmark.tasks.gates.gate_history import History, approved_once, changed, missing
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.operator import operator
from hallmark.tasks.installation.workspace import Workspace, whole
from hallmark.tasks.job import Job
from hallmark.tasks.planning.instances import Instance
from hallmark.tasks.planning.prepared import Prepared


class NoSeriesPlan(SafeError):
    """A calendar's entry has no series whose plan could be approved once."""


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Whether the approval of a series covers the plan of a period.

    Attributes:
        approval: it does, by what was said there; else None.
        differs: why it does not; empty where nobody approved the series yet.
    """

    approval: SeriesApproval | None = None
    differs: tuple[str, ...] = ()


def keep_series_plan(due: Instance, book: Ledger) -> None:
    """Keep the plan of the series beside the spec of the period that a run of the calendar is
    about; where each period is approved by itself, and for a revision, none.

    Raises:
        NoSeriesPlan: the entry is to be approved once, and its account has planned no series.
    """
    file = _kept(due.prepared)
    if due.entry.plan_approved == "each" or due.revision:
        file.unlink(missing_ok=True)
        return
    plan = series_plan(due, book)
    with whole(file) as draft:
        draft.write_bytes(plan.canonical_bytes())


def series_plan(due: Instance, book: Ledger) -> SeriesPlan:
    """The plan of the series that a period of a calendar's entry belongs to.

    Raises:
        NoSeriesPlan: there is none that could be approved once.
    """
    prepared, spec, entry = due.prepared, due.prepared.spec, due.entry
    account = spec.population.account
    if spec.series is None:
        raise NoSeriesPlan(
            f"{entry.spec}: is to be approved once (plan_approved), but is about no series; add "
            'series: {period: "{period}"} to the spec, or let each period be approved'
        )
    shares = book.account(account).planned if book.has_account(account) else {}
    if not shares:
        raise NoSeriesPlan(
            f"{entry.spec}: is to be approved once (plan_approved), but its periods have no shares "
            f"of the account; plan the series first: hallmark ledger plan {account} --from "
            f"{spec.series.period} --periods N --reason WHY"
        )
    template = due.template
    if spec.category_files:
        template = spec.with_categories(template)
    embargo = entry.embargo
    public = {f"queries[{n}]": one for n, one in enumerate(prepared.public.queries)}
    if prepared.public.records is not None:
        public["public_data"] = prepared.public.records
    made = SeriesPlan(
        account=account,
        shares=dict(shares),
        template=template,
        embargo_days=None if embargo is None else embargo.days,
        embargo_at="00:00" if embargo is None else embargo.at,
        timezone=entry.timezone,
        public=public,
    )
    text = prepared.spec_file.decode()
    if made.filled_in(spec.series.period, first_run(text) or LONG_AGO) != text:
        raise NoSeriesPlan(
            f"{entry.spec}: is to be approved once (plan_approved), but names a file of categories "
            "by its {period}, so that nobody could know what is approved; name one file for all "
            "periods, or let each period be approved"
        )
    return made


def proposed(prepared: Prepared) -> SeriesPlan | None:
    """The plan of the series that the calendar keeps beside the spec of a period; None if none."""
    with suppress(OSError, ValidationError):
        return SeriesPlan.model_validate_json(_kept(prepared).read_bytes())
    return None


def coverage(
    job: Job, book: Ledger, known: Profile, seen: Mapping[str, str], required: Sequence[str]
) -> Coverage:
    """Whether the last approval of the series covers what is seen at the gate of a period's plan.

    Args:
        seen: without what only an approval of its own is about.
        required: roles that must approve.
    """
    spec = job.prepared.spec
    found = None if spec.series is None else _last_approval(job, book)
    if found is None:
        return Coverage()
    asked = next(one.opening for one in reversed(found.rounds) if one.opening.gate == "plan")
    carried = _carried(found)
    reasons = list(_reasons(job, asked.seen, seen, found.release))
    started = _as_started(job, book)
    approvals = [(signed, _fault(started, signed, known)) for signed in approved_once(carried)]
    reasons += [
        f"the approval by {signed.decision.person} no longer counts: {fault}"
        for signed, fault in approvals
        if fault
    ]
    if lacking := missing(required, [one.decision for one, fault in approvals if not fault]):
        reasons.append(f"no approval of the series by {', '.join(lacking)} counts")
    if reasons:
        return Coverage(differs=tuple(reasons))
    return Coverage(approval=carried)


def _as_started(job: Job, book: Ledger) -> History:
    """The history of the release, as if whoever runs it now had opened its gate."""
    history = History.in_ledger(book, job.release)
    return replace(history, starters=history.starters | {known_as(operator())})


def _fault(started: History, signed: SignedDecision, known: Profile) -> str:
    if known_as(signed.decision.person) in started.starters:
        return "they start this release themselves"
    return profile_fault(started, signed, known.approvers)


def _reasons(
    job: Job, approved: Mapping[str, str], seen: Mapping[str, str], release: str
) -> Iterator[str]:
    """How what is seen differs from what was approved at the gate of `release`."""
    prepared, spec = job.prepared, job.prepared.spec
    assert spec.series is not None, "a series was found"
    if revision_of(spec.release):
        yield "a revision of a period is approved by itself"
        return
    plan = _approved_plan(release, approved[SERIES_PLAN])
    if SERIES_PLAN not in seen:
        yield "it is not run by a calendar's entry that is approved once"
    text = prepared.spec_file.decode("utf-8", "replace")
    found = [] if plan is None else list(misfits(plan, text, spec, rho=_rho(prepared)))
    if SERIES_PLAN in seen and seen[SERIES_PLAN] != approved[SERIES_PLAN]:
        found += _changes(plan, proposed(prepared), spec.series.period)
        found = found or ["the plan of the series is not the one that was approved"]
    yield from found
    names = {"code", "cluster"} & {*approved, *seen}
    yield from (
        f"the {name} is not what was approved"
        for name in sorted(names)
        if approved.get(name) != seen.get(name)
    )


def _rho(prepared: Prepared) -> Fraction:
    return cost(prepared.plan.events).rho


def _changes(old: SeriesPlan | None, new: SeriesPlan | None, period: str) -> Iterator[str]:
    """What differs between two plans of a series, but for what `misfits` tells of the spec."""
    if old is None or new is None:
        return
    for one in sorted({*old.shares, *new.shares}):
        was, now = old.shares.get(one), new.shares.get(one)
        if was != now:
            before, after = ("none" if rho is None else decimal(rho) for rho in (was, now))
            yield (
                f"the ledger's plan is not the one that was approved: the share of {one} is rho "
                f"{after}, and was {before}"
            )
            break
    if old.public != new.public:
        yield f"public files have changed: {', '.join(changed(old.public, new.public))}"
    if old.template != new.template and old.filled_in(period, LONG_AGO) == new.filled_in(
        period, LONG_AGO
    ):
        yield f"the template is another one, which differs in other periods than {period}"


def _approved_plan(release: str, digest: str) -> SeriesPlan | None:
    """The plan of the series that was shown at the gate of a release; None if it is lost."""
    with suppress(OSError, ValidationError):
        content = bytes_of(Workspace.at(release).path / "plan" / SERIES_PLAN_FILE, MOST_DOCUMENT)
        if sha256(content).hexdigest() == digest:
            return SeriesPlan.model_validate_json(content)
    return None


def _last_approval(job: Job, book: Ledger) -> History | None:
    """The history of the release at whose gate the plan of the series was approved last.

    Another account is looked at where this one has none: that the account is another is told then.
    """
    own = job.prepared.spec.population.account
    for account in (own, *(name for name in book.account_names() if name != own)):
        if book.has_account(account) and (found := _approved_on(account, job, book)) is not None:
            return found
    return None


def _approved_on(account: str, job: Job, book: Ledger) -> History | None:
    spec = job.prepared.spec
    assert spec.series is not None, "it is about a series"
    form = siblings(spec.release, spec.series.period)
    said: dict[str, list[Entry]] = {}
    last: dict[str, int] = {}
    for entry in book.entries(account):
        name = entry.release or ""
        if entry.kind not in STATEMENTS or name == spec.release or not form.fullmatch(name):
            continue
        said.setdefault(name, []).append(entry)
        if entry.kind == "passage" and entry.payload.get("gate") == "plan":
            last[name] = entry.seq
    for name in sorted(last, key=lambda name: -last[name]):
        history = History.of(name, said[name])
        now = history.at("plan")
        if (
            now is not None
            and now.passage is not None
            and now.opening.series is None
            and SERIES_PLAN in now.opening.seen
        ):
            return history
    return None


def _carried(history: History) -> SeriesApproval:
    """Everything that was said up to the passage of the plan's gate."""
    upto = max(
        number
        for number, one in enumerate(history.rounds)
        if one.opening.gate == "plan" and one.passage is not None
    )
    links = (link for one in history.rounds[: upto + 1] for link in one.links)
    return SeriesApproval(release=history.release, said=tuple(links))


def _kept(prepared: Prepared) -> Path:
    return prepared.path.with_suffix(".series.json")
