"""Compose the audit record of a release from what was executed: plan, ledger, results, software.

Only public and paid-for quantities are at hand here: no task that calls this has the private data.
"""

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import numpy as np

from mechanisms.binning import BINS
from mechanisms.contract import Certificate, MarginalEstimate, SyntheticMeasure
from mechanisms.geometry.domain import Attribute
from mechanisms.privacy.accountant import bracket, pure_epsilon, rho
from mechanisms.privacy.events import Event, events_to_json
from mechanisms.privacy.ledger import AccountState, Entry
from mechanisms.privacy.rounding import decimal_above
from schemas.audit_privacy import (
    Account,
    Generator,
    Guarantee,
    LedgerEntry,
    MechanismRecord,
    NoiseRow,
    UnprotectedFact,
)
from schemas.audit_report import (
    AuditRecord,
    Check,
    Identity,
    Marginal,
    PostProcessing,
    ProtectedColumn,
    ProtectedData,
    Provenance,
    Signature,
    Step,
    Utility,
    ValidationRule,
)
from schemas.certificate import CertificateFile
from schemas.columns import Column, DateColumn, NumericColumn
from schemas.labels import NOT_RECORDED
from schemas.manifest import Software
from schemas.privacy_claim import Amount
from tasks.coding import Codec
from tasks.finalise import FinalFile, null_marker
from tasks.generate import MOVED, TOTALLED
from tasks.prepare import Prepared, privacy_claim
from tasks.validate import Rule

_RHO_DIGITS = 12  # rounded up; the exact sum of different noises may have hundreds


@dataclass(frozen=True, kw_only=True)
class Executed:
    """What a run did, as far as it is public: the sources of an audit record."""

    prepared: Prepared
    rules: Sequence[Rule]
    total: int | None  # number of private records where that is public
    events: tuple[Event, ...]  # as charged
    account: AccountState  # after the charge
    entries: Sequence[Entry]  # of the account
    synthetic: SyntheticMeasure
    certificate: Certificate
    final: FinalFile
    software: Software
    signature: Signature
    created: datetime


def audit_record(run: Executed) -> AuditRecord:
    """The whole public record of a run."""
    spec = run.prepared.spec
    return AuditRecord(
        identity=Identity(
            release_id=spec.release,
            title=spec.title,
            created=run.created,
            purpose=spec.description or NOT_RECORDED,
        ),
        signature=run.signature,
        protected=_protected(run),
        guarantee=_guarantee(run),
        account=_account(run),
        mechanism=_mechanism(run),
        post_processing=_post_processing(run),
        utility=_utility(run),
        provenance=Provenance(
            run=os.environ.get("PREFECT__FLOW_RUN_ID", NOT_RECORDED),
            finished=run.created,
            software=run.software,
            hardware=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            spec_digest=spec.digest(),
            spec=spec.content(),
            rules=tuple(
                ValidationRule(
                    column=rule.column, rule=rule.rule, consequence="refuses the release"
                )
                for rule in run.rules
            ),
        ),
    )


def _protected(run: Executed) -> ProtectedData:
    spec = run.prepared.spec
    return ProtectedData(
        dataset=f"{spec.title}; a record is {spec.data.record}",
        population=f"{spec.population.account}: {spec.population.description}".rstrip(": "),
        rows=NOT_RECORDED if run.total is None else run.total,
        rows_policy=(
            "not stated: neighbouring tables differ in their number of records"
            if run.total is None
            else "stated: under replace_one all neighbouring tables have as many records"
        ),
        exclusions=f"columns dropped unread: {', '.join(spec.data.ignore) or 'none'}",
        truncation=(
            "none: the unit is a record"
            if spec.privacy.person is None
            else f"the first {spec.privacy.max_records} records of a person, in the source's order"
        ),
        columns=tuple(_protected_column(run, codec) for codec in run.prepared.codec.codecs),
    )


def _protected_column(run: Executed, codec: Codec) -> ProtectedColumn:
    column = codec.column
    source = column.bound_source
    marker = null_marker(run.prepared) or "an empty field"
    return ProtectedColumn(
        name=codec.name,
        description=column.description,
        kind=column.type,
        domain=domain_in_words(column),
        cells=codec.attribute.cells,
        nulls=f"allowed, written {marker}" if column.nulls else "not allowed",
        outside=_outside(column),
        bound_kind=source.kind if source else "public",
        bound_source=source.reference if source else "two values, stated in the spec",
    )


def _outside(column: Column) -> str:
    match column.outside:
        case "refuse":
            return "refuses the release"
        case "clamp":
            return "moved to the nearer bound"
        case "catch_all":
            other = getattr(column, "other", None)
            return f"counted as {str(other).lower() if isinstance(other, bool) else other}"


def domain_in_words(column: Column) -> str:
    """The public domain of a column, such as `0 to 77 visits` or `4 categories`."""
    if isinstance(column, NumericColumn | DateColumn):
        unit = column.unit if isinstance(column, NumericColumn) else ""
        return f"{' to '.join(column.ends)} {unit}".rstrip()
    return f"{len(column.codes)} categories"


def _guarantee(run: Executed) -> Guarantee:
    spec = run.prepared.spec
    proven = bracket(run.events, spec.privacy.delta)
    pure = pure_epsilon(run.events) is not None
    facts = [
        UnprotectedFact(
            fact=f"every row passed the {len(run.rules)} rules of the validation",
            why="a release exists only because they held; which rules is public, no count is",
        )
    ]
    if run.total is not None:
        facts.append(
            UnprotectedFact(
                fact=f"the private table has {run.total} records",
                why="it is the same for all neighbouring tables under replace_one",
            )
        )
    facts += [
        UnprotectedFact(
            fact=f"public total, {total.title}: the released file has the stated counts",
            why=f"they are public constants, not read from the private data: {total.reference}",
        )
        for total in spec.public_totals
    ]
    facts += [
        UnprotectedFact(
            fact=f"the bounds of {name} were estimated from the private data",
            why=f"without a charge, so the guarantee does not cover them; accepted by {accepted}",
        )
        for name, accepted in _estimated_bounds(run)
    ]
    return Guarantee(
        claim=privacy_claim(run.prepared),
        variant="pure differential privacy" if pure else "approximate differential privacy",
        rho=None if pure else decimal_above(rho(run.events), _RHO_DIGITS),
        accountant=f"{proven.method}; the smallest of its valid bounds",
        bracket=(proven.lower, proven.upper),
        cross_check=f"epsilon at most {proven.second:.6g} by {proven.second_method}",
        unprotected=tuple(facts),
    )


def _estimated_bounds(run: Executed) -> Iterator[tuple[str, str | None]]:
    """Columns whose public domain is not public, and who accepted that."""
    for name, column in run.prepared.spec.columns.items():
        source = column.bound_source
        if source is not None and source.kind == "private_estimate":
            yield name, source.accepted_by


def _account(run: Executed) -> Account:
    state, spent = run.account, run.prepared.plan.budget
    return Account(
        name=state.name,
        authorised_by=str(run.entries[0].payload.get("by", NOT_RECORDED)),
        cap=Amount.model_validate(state.cap),
        previously_spent=Amount(
            epsilon=state.spent[0] + state.reserved[0] - spent.epsilon,
            delta=state.spent[1] + state.reserved[1] - spent.delta,
        ),
        this_release=Amount.model_validate(spent),
        remaining=Amount(epsilon=state.remaining[0], delta=state.remaining[1]),
        failed_runs="a run that fails before its first draw spends nothing; after it, the whole "
        "reservation counts as spent, and resuming spends no more",
        entries=tuple(
            LedgerEntry(
                time=datetime.fromisoformat(entry.at),
                release=entry.release or "",
                entry=entry.kind,
                epsilon=spent.epsilon,
                delta=spent.delta,
                digest=entry.hash,
            )
            for entry in run.entries
            if entry.release == run.prepared.spec.release and entry.kind in ("reserve", "charge")
        ),
    )


def _mechanism(run: Executed) -> MechanismRecord:
    plan = run.prepared.plan
    forecast = plan.forecast()
    return MechanismRecord(
        name=plan.mechanism,
        paper=plan.source,
        parameters=dict(plan.parameters),
        noise=tuple(NoiseRow.model_validate(line, from_attributes=True) for line in plan.noise),
        events=tuple(events_to_json(run.events)),
        forecast=f"{forecast.metric}: {forecast.expected_error:.4g} ({forecast.statement})",
        generator=Generator.from_history(run.synthetic.history),
        noise_source="OpenDP: exact sampling of discrete noise from the operating system's "
        "cryptographic generator, applied to integer counts",
    )


def _post_processing(run: Executed) -> PostProcessing:
    total = len(run.synthetic.codes)
    return PostProcessing(
        steps=tuple(_steps(run)),
        constraints=tuple(
            Check(
                rule=result.rule,
                held=result.violations == 0,
                detail=f"{result.violations} of {total} synthetic records break it"
                if result.violations
                else "",
            )
            for result in run.final.rules
        ),
        totals=tuple(
            Check(
                rule=f"{title}, in every data file",
                held=True,
                detail=f"held exactly; published in: {total.reference}",
            )
            for title, total in zip(run.final.totals, run.prepared.spec.public_totals, strict=True)
        ),
        final_checks=tuple(
            Check(rule=f"{path.name}: every value lies in its public domain", held=True)
            for path in run.final.files
        ),
    )


def _steps(run: Executed) -> Iterator[Step]:
    yield Step(step=f"{run.prepared.plan.mechanism}: records from noisy measurements")
    starts = run.synthetic.history.get(BINS, {})
    if starts:
        yield Step(
            step="records in private quantile bins given cells there, in the proportions of the "
            "noisy histograms that chose the bins",
            effect="; ".join(
                f"bins of {codec.name} from {', '.join(_first_values(codec, starts[codec.name]))}"
                for codec in run.prepared.codec.codecs
                if codec.name in starts
            ),
        )
    moved = run.synthetic.history.get(MOVED)
    if moved is not None:
        yield Step(
            step="records that break an edit rule moved to the nearest that break none",
            effect=f"{moved} of {len(run.synthetic.codes)} records",
        )
    totalled = run.synthetic.history.get(TOTALLED)
    if totalled is not None:
        yield Step(
            step="as few records as possible moved to other cells, so that all public totals hold",
            effect=f"{totalled} of {len(run.synthetic.codes)} records",
        )
    within = " that obey the edit rules" if moved is not None else ""
    yield Step(step=f"values{within} drawn uniformly within the records' cells, in original units")


def _first_values(codec: Codec, cells: Sequence[int]) -> Iterator[str]:
    """The lower ends of cells of an interval, for people."""
    column = codec.column
    assert isinstance(column, NumericColumn | DateColumn), "only intervals have bins"
    for low in np.asarray(column.edges)[list(cells)]:
        is_date = isinstance(column, DateColumn)
        yield str(np.datetime64(int(low), "D")) if is_date else f"{low:.10g}"


def _utility(run: Executed) -> Utility:
    released = run.prepared.spec.released_columns
    return Utility(
        certificate=CertificateFile.model_validate(run.certificate),
        rows=run.final.rows,
        band="noisy measurement plus or minus 1.96 standard deviations of its noise: a cell by "
        "itself lies in its band with 95% probability",
        marginals=tuple(
            _marginal(run, index, codec)
            for index, codec in enumerate(run.prepared.codec.codecs)
            if codec.name in released
        ),
    )


def _marginal(run: Executed, index: int, codec: Codec) -> Marginal:
    attribute: Attribute = codec.attribute
    counts = np.bincount(run.synthetic.codes[:, index], minlength=attribute.cells)
    measured: MarginalEstimate | None = run.certificate.measured.get(attribute.name)
    column = codec.column
    return Marginal(
        column=codec.name,
        kind=attribute.kind.value,
        unit=attribute.unit,
        cells=cell_labels(codec),
        has_null=attribute.has_null,
        ends=column.ends if isinstance(column, NumericColumn | DateColumn) else None,
        synthetic=tuple(counts / max(counts.sum(), 1)),
        measured=() if measured is None else tuple(measured.shares.tolist()),
        half_width=() if measured is None else tuple(measured.half_width.tolist()),
    )


def cell_labels(codec: Codec) -> tuple[str, ...]:
    """What every cell of a column holds, for people; the null cell comes last."""
    column = codec.column
    if isinstance(column, NumericColumn):
        last = 1 if column.integer else 0
        # Ten digits: with the six of a plain `g`, cells of large sums would look alike.
        labels = [
            f"{low:.10g}"
            if column.integer and high - low == 1
            else f"{low:.10g} to {high - last:.10g}"
            for low, high in pairwise(column.edges)
        ]
    elif isinstance(column, DateColumn):
        days = np.asarray(column.edges).astype("datetime64[D]")
        labels = [f"{a} to {b - 1}" for a, b in pairwise(days)]
    else:
        labels = [label or code for code, label in zip(column.codes, column.labels, strict=True)]
    return (*labels, "null") if column.nulls else tuple(labels)
