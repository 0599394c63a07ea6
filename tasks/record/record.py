"""Compose the audit record of a release from what was executed: plan, ledger, results, software.

Only public and paid-for quantities are at hand here: no task that calls this has the private data.
What the run cannot know is taken from what people state in the spec and in the profile; what
nobody stated is "not recorded".
"""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hallmark.mechanisms.marginals.binning.mechanism import BINS
from hallmark.mechanisms.marginals.foretelling import FORETOLD
from hallmark.mechanisms.marginals.prior import LEANED
from hallmark.schemas.binning import two_ways
from hallmark.schemas.columns.columns import Column, DateColumn, NumericColumn
from hallmark.schemas.documents.audit_report import (
    Actor,
    Approval,
    AuditRecord,
    CodeFile,
    EarlierTables,
    Identity,
    Override,
    PostProcessing,
    ProtectedColumn,
    ProtectedData,
    Provenance,
    Stage,
    Step,
    Trust,
    ValidationRule,
)
from hallmark.schemas.documents.audit_utility import Check
from hallmark.schemas.documents.decisions import COUNTED
from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.schemas.documents.panel import PanelFile
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.generate import FACELESS, MOVED, TOTALLED
from hallmark.tasks.panel import PANEL
from hallmark.tasks.planning.coding import Codec
from hallmark.tasks.record.executed import Executed
from hallmark.tasks.record.record_privacy import account, guarantee, mechanism, weaknesses
from hallmark.tasks.record.record_utility import utility


def audit_record(run: Executed) -> AuditRecord:
    """The whole public record of a run."""
    overrides = [
        one for one in run.decisions if (one.outcome, one.decision) == (COUNTED, "override")
    ]
    return AuditRecord(
        identity=_identity(run),
        signature=run.signature,
        disclosure_gate=run.prepared.spec.approvals.joined(run.profile.approvals).disclosure,
        approvals=tuple(
            Approval.model_validate(decision)
            for decision in run.decisions
            if decision not in overrides
        ),
        overrides=tuple(
            Override(
                time=decision.decided,
                person=decision.person,
                what=f"approvals that were missing at the gate {decision.gate}",
                reason=decision.reason,
            )
            for decision in overrides
        ),
        protected=_protected(run),
        guarantee=guarantee(run),
        account=account(run),
        mechanism=mechanism(run),
        post_processing=_post_processing(run),
        utility=utility(run),
        trust=_trust(run),
        provenance=_provenance(run),
    )


def _identity(run: Executed) -> Identity:
    spec, agency, file = run.prepared.spec, run.profile.agency, run.prepared.certified
    about = spec.about
    return Identity(
        release_id=spec.release,
        title=spec.title,
        created=run.created,
        product="synthetic microdata"
        if file is None
        else f"certificate of {file.name}, whose records were made elsewhere",
        curator=agency.name or NOT_RECORDED,
        curator_kind=agency.kind or NOT_RECORDED,
        region=agency.region or NOT_RECORDED,
        sector=agency.sector or NOT_RECORDED,
        contact=agency.contact or NOT_RECORDED,
        corrections=agency.corrections or NOT_RECORDED,
        purpose=about.intended_use or spec.description or NOT_RECORDED,
        schedule="; ".join(filter(None, (about.schedule, about.period))) or NOT_RECORDED,
        data_source=about.data_source or NOT_RECORDED,
        embargo=f"not published before {spec.embargo.isoformat()}" if spec.embargo else "none",
        legal_basis=about.legal_basis or NOT_RECORDED,
        clearance=about.clearance or NOT_RECORDED,
        authorised_by=about.authorised_by or NOT_RECORDED,
        justification=about.justification or NOT_RECORDED,
        supersedes=about.supersedes or NOT_RECORDED,
        registry=agency.registry or NOT_RECORDED,
    )


def _trust(run: Executed) -> Trust:
    agency = run.profile.agency
    place = agency.environment
    return Trust(
        actors=tuple(map(Actor.model_validate, agency.actors)) or NOT_RECORDED,
        environment=place.host or NOT_RECORDED,
        network=place.network or NOT_RECORDED,
        access=place.access or NOT_RECORDED,
        key_custody=agency.key_custody or NOT_RECORDED,
        weaknesses=tuple(weaknesses(run)),
        vulnerabilities=agency.vulnerabilities or NOT_RECORDED,
        empirical_audit=agency.empirical_audit or NOT_RECORDED,
        attacks=run.attacks,
        retention=agency.retention or NOT_RECORDED,
    )


def _provenance(run: Executed) -> Provenance:
    spec, times = run.prepared.spec, run.times
    return Provenance(
        run=run.run or NOT_RECORDED,
        deployment=run.deployment or "none: started by hand",
        started=times.started if times else NOT_RECORDED,
        finished=run.created,
        attempts=times.attempts if times else NOT_RECORDED,
        operator=run.operator,
        software=run.software,
        hardware=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        container=run.container or NOT_RECORDED,
        spec_digest=spec.digest(),
        spec=spec.content(),
        rules=tuple(
            ValidationRule(column=rule.column, rule=rule.rule, consequence="refuses the release")
            for rule in run.rules
        ),
        stages=tuple(map(Stage.model_validate, times.stages if times else ())),
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
        truncation=truncation_in_words(spec),
        asset=spec.about.asset or NOT_RECORDED,
        snapshot=spec.about.snapshot or NOT_RECORDED,
        collection=spec.about.collection or NOT_RECORDED,
        columns=tuple(_protected_column(run, codec) for codec in run.prepared.codec.codecs),
        code_files=tuple(
            CodeFile(key=".".join(map(str, one.path)), file=one.file, sha256=one.sha256)
            for one in spec.category_files
        ),
    )


def truncation_in_words(spec: ReleaseSpec) -> str:
    """Which records of a person are kept, and that no bound covers the others."""
    if spec.privacy.person is None:
        return "none: the unit is a record"
    records = spec.privacy.max_records
    order = "by a digest of each" if spec.data.in_database else "in the source's order"
    return (
        f"the first {records} records of a person, {order}; the others are not measured, and no "
        "certificate or error bound covers them"
    )


def _protected_column(run: Executed, codec: Codec) -> ProtectedColumn:
    column = codec.column
    source = column.bound_source
    marker = run.prepared.spec.null_marker(codec.name) or "an empty field"
    return ProtectedColumn(
        name=codec.name,
        description=column.description,
        kind=column.type,
        domain=domain_in_words(column),
        cells=codec.attribute.cells,
        nulls=f"allowed, written {marker}" if column.nulls else "not allowed",
        recode=column.recoded_by,
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


def _post_processing(run: Executed) -> PostProcessing:
    total = len(run.synthetic.codes)
    return PostProcessing(
        steps=tuple(_steps(run)),
        earlier=tuple(
            EarlierTables(release=one.release, measurements=one.measurements)
            for one in run.prepared.public.earlier
        ),
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


def _carried_forward(run: Executed, told: Mapping[str, Any]) -> Step:
    """What earlier periods of the series did to the model of the marginals."""
    names = {"1": "single columns", "2": "pairs"}
    left = (
        f"{100 * share:.0f} % for {names.get(kind, f'interactions of {kind} columns')}"
        for kind, share in told["noise"].items()
    )
    broken = ", ".join(told["broken"])
    releases = run.prepared.public.earlier
    unlike = sorted({name for one in releases for name in one.unlike})
    recoded = sorted({name for one in releases for name in one.recoded})
    return Step(
        step="noisy tables of earlier periods carried forward as random walks, and counted besides "
        f"those of this release: {', '.join(one.release for one in releases) or 'there were none'}"
        + (f"; codes of {', '.join(recoded)} by the spec's public map" if recoded else "")
        + (
            f"; not those of {', '.join(unlike)}, which had other codes or were not there"
            if unlike
            else ""
        ),
        effect=(f"variance of the noise left: {', '.join(left)}" if told["noise"] else "")
        + (f"; unlike what they made probable: {broken}" if broken else ""),
    )


def _linked(told: Mapping[str, Any]) -> Step:
    """How people go on from the period before."""
    panel = PanelFile.model_validate(told)
    assert panel.continues is not None, "there is a period before"
    return Step(
        step="records linked to those of the period before, whose values columns about that period "
        f"took over: release {panel.continues.release}",
        effect=f"{panel.continuing:,} people go on, {panel.new:,} are new, {panel.left:,} have "
        "left; two-way tables with these columns changed by "
        f"{100 * panel.differs:.2g} % of the records on average"
        + (f"; {panel.moved:,} records moved to obey rules with any past" if panel.moved else ""),
    )


def _steps(run: Executed) -> Iterator[Step]:
    if file := run.prepared.certified:
        yield Step(
            step=f"distances of the records in {file.name}, which were made elsewhere, "
            "from the noisy measurements"
        )
        return
    yield Step(step=f"{run.prepared.plan.mechanism}: records from noisy measurements")
    public, leaned = run.prepared.spec.public_data, run.synthetic.history.get(LEANED)
    if public is not None and leaned is not None:
        names = {"columns": "single columns", "tables": "tables of several"}
        shares = (f"{100 * share:.0f} % for {names[what]}" for what, share in leaned.items())
        yield Step(
            step="the model of the marginals leaned towards the public table, as far as the noisy "
            f"measurements agree with it: {public.reference}",
            effect=f"on average by {', '.join(shares)}",
        )
    if (told := run.synthetic.history.get(FORETOLD)) is not None:
        yield _carried_forward(run, told)
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
    detailed = two_ways(run.prepared.spec.columns)
    valued = run.prepared.spec.pieces
    if detailed:
        yield Step(
            step="records in shared cells or groups given own cells there, as the noisy histograms "
            "of own cells have them (noise smoothed away, spikes and rounding kept)",
            effect=f"columns {', '.join(detailed)}"
            + (f"; single values of {', '.join(valued)} that stand out" if valued else ""),
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
    if (told := run.synthetic.history.get(PANEL)) is not None:
        yield _linked(told)
    faces, wanted = run.synthetic.history.get(FACELESS), run.prepared.spec.output.face_privacy
    if faces is not None and wanted is not None:
        yield Step(
            step=f"records with a combination of {', '.join(wanted.columns)} that fewer than "
            f"{wanted.least} had, given the nearest that is not so rare; nobody is protected more "
            "by it",
            effect=f"{faces['records']} of {len(run.synthetic.codes)} records; the distribution of "
            f"no column changed by more than {100 * faces['largest_change']:.2g} % of the records",
        )
    within = " that obey the edit rules" if moved is not None else ""
    yield Step(step=f"values{within} drawn uniformly within the records' cells, in original units")
    for name, lookup in run.prepared.spec.published_lookups.items():
        yield Step(
            step=f"{name} looked up from {lookup.of}, and not measured, in public values: "
            f"{lookup.reference}"
        )
    if (asked := run.prepared.spec.output.replicates) is not None:
        yield Step(
            step="replicate weights of the records: the mechanism run again on the released "
            "records with simulated noise, and calibrated to the error that the noisy tables show",
            effect=f"{asked.number} for the noise, and {asked.number} for noise and sampling",
        )


def _first_values(codec: Codec, cells: Sequence[int]) -> Iterator[str]:
    """The lower ends of cells of an interval, for people."""
    column = codec.column
    assert isinstance(column, NumericColumn | DateColumn), "only intervals have bins"
    for low in np.asarray(column.edges)[list(cells)]:
        is_date = isinstance(column, DateColumn)
        yield str(np.datetime64(int(low), "D")) if is_date else f"{low:.10g}"
