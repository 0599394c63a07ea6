"""From a spec to a plan: everything about a release that is known before a private byte is read."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from pydantic import ValidationError

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.certificates.alone import CertificateAlonePlan
from hallmark.mechanisms.contract import Plan
from hallmark.mechanisms.domain.cliques import title
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.earlier import Earlier
from hallmark.mechanisms.inference.forecast import foreseen
from hallmark.mechanisms.linear_queries.workload import Workload
from hallmark.mechanisms.marginals.mechanism import Marginals
from hallmark.mechanisms.registry import MECHANISMS, planned
from hallmark.mechanisms.replicates.calibration import untold
from hallmark.mechanisms.replicates.pairs import MOST_POSITIONS
from hallmark.mechanisms.request import Request
from hallmark.schemas.loading import load_spec, located
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.spec_sections import Privacy
from hallmark.schemas.spec_warnings import about_large_delta
from hallmark.tasks.installation.workspace import is_rehearsal_home
from hallmark.tasks.planning.domains import domain_of
from hallmark.tasks.planning.prepared import (
    EarlierRelease,
    PlannedCertificate,
    Prepared,
    PreparedRelease,
    PublicInputs,
)
from hallmark.tasks.planning.public_data import category_files, public_records
from hallmark.tasks.planning.query_tables import query_tables
from hallmark.tasks.planning.requested import (
    PlanRefused,
    adjacency,
    budget,
    certifier_of,
    mechanism_of,
)


def prepare(path: Path, folder: Path | None = None) -> Prepared:
    """The plan of the spec in the file `path`. Reads no private byte; data need not exist yet.

    Args:
        folder: where relative sources start; the folder of the spec where it is not given.
    Raises:
        SpecError: the spec is wrong; says where and how to fix it.
        PlanRefused: the mechanism's parameters, the domain or the budget do not fit; likewise.
    """
    spec = load_spec(path, folder)
    try:
        return _prepared(spec, path.absolute(), (folder or path.parent).absolute())
    except PlanRefused as error:
        raise PlanRefused(located(path, str(error))) from error


def learning(
    prepared: PreparedRelease, earlier: Earlier, releases: tuple[EarlierRelease, ...]
) -> PreparedRelease:
    """The same release, with what earlier periods measured; it asks the same of the private table.

    Args:
        releases: that measured it.
    """
    learned = _prepared(prepared.spec, prepared.path, prepared.folder, earlier)
    assert isinstance(learned, PreparedRelease), "it was one before"
    assert learned.binding == prepared.binding, "the past changes no question"
    return replace(learned, public=replace(learned.public, earlier=releases))


def at_epsilon(prepared: Prepared, epsilon: Fraction) -> Prepared:
    """The same release with another epsilon.

    Raises:
        PlanRefused: it cannot be planned with that.
    """
    try:
        privacy = Privacy.model_validate(prepared.spec.privacy.model_dump() | {"epsilon": epsilon})
    except ValidationError as error:
        raise PlanRefused(f"privacy.epsilon {error.errors()[0]['ctx']['error']}") from None
    return with_spec(prepared, prepared.spec.model_copy(update={"privacy": privacy}))


def with_spec(prepared: Prepared, spec: ReleaseSpec) -> Prepared:
    """The plan of another spec in the same place.

    Raises:
        PlanRefused: it cannot be planned.
    """
    return _prepared(spec, prepared.path, prepared.folder)


def _prepared(
    spec: ReleaseSpec, path: Path, folder: Path, earlier: Earlier | None = None
) -> Prepared:
    if (spec.rehearsal_of is not None) != is_rehearsal_home():
        raise PlanRefused(
            "rehearsal_of: is written by hallmark rehearse, into a spec that runs in a home of its "
            "own, where nothing is private; run hallmark rehearse on the release's spec"
        )
    large = about_large_delta(spec.data, spec.privacy)
    if large is not None and spec.privacy.large_delta is None:
        raise PlanRefused(
            f"{large}. Give a smaller delta; or, if it is meant, say in privacy.large_delta who "
            "accepts that, and why"
        )
    records = public_records(spec, folder)
    tables = [*([] if records is None else [records.table]), *category_files(spec, folder)]
    domain = domain_of(spec)
    try:
        queries = query_tables(spec, domain, folder)
        codes = None if records is None else records.codes
        plan = _plan(spec, domain, queries.workload, codes, earlier)
    except ValueError as error:
        raise PlanRefused(_with_place(str(error))) from error
    public = PublicInputs(
        records=None if records is None else records.sha256,
        queries=queries.files,
        tables=(*tables, *queries.taken),
    )
    if isinstance(plan, CertificateAlonePlan):
        return PlannedCertificate(spec, plan, path.absolute(), folder.absolute(), public)
    prepared = PreparedRelease(spec, plan, path.absolute(), folder.absolute(), public)
    if spec.series is not None and spec.series.learn:
        _refuse_learning(spec)
    if spec.output.face_privacy is not None and len(prepared.batches) > 1:
        raise PlanRefused(
            f"output.face_privacy: {prepared.rows:,} records are made in batches that do not know "
            "of each other's combinations; publish fewer records (output.rows), or leave it out"
        )
    if spec.series is not None and spec.series.panel is not None and len(prepared.batches) > 1:
        raise PlanRefused(
            f"series.panel: {prepared.rows:,} records are made in batches that do not know of each "
            "other's pasts; leave it out"
        )
    if spec.output.replicates is not None:
        _refuse_replicates(prepared)
    return prepared


def _plan(
    spec: ReleaseSpec,
    domain: Domain,
    workload: Workload | None,
    public: AnyCodes | None,
    earlier: Earlier | None,
) -> Plan:
    """The plan of what the spec asks for.

    Raises:
        PlanRefused: it would measure nothing.
        ValueError: the mechanism cannot serve it.
    """
    makes_records = spec.mechanism.entry.makes_records
    mechanism = mechanism_of(spec) if makes_records else certifier_of(spec)
    queries = {} if workload is None else {"queries": workload}
    request = Request(
        domain=domain,
        budget=budget(spec),
        adjacency=adjacency(spec),
        expected_records=spec.data.expected_rows,
        made_records=spec.records,
        parameters=spec.mechanism.parameters | queries,
        public=public,
        earlier=earlier,
    )
    plan = planned(mechanism, request)
    if not plan.events:
        raise PlanRefused(
            f"mechanism: {mechanism.name} would measure nothing of this table (its columns hold a "
            "single cell each, or depth is 0), so a release would say nothing; choose finer cells"
        )
    return plan


def _with_place(message: str) -> str:
    """The message with the section that it is about, which is the mechanism unless it says so."""
    named = message.partition(":")[0].partition(".")[0]
    return message if named in ReleaseSpec.model_fields else f"mechanism: {message}"


def _refuse_learning(spec: ReleaseSpec) -> None:
    """Refuse to learn from earlier periods where nothing would come of it.

    Raises:
        PlanRefused: says why.
    """
    if not isinstance(MECHANISMS[spec.mechanism.name], Marginals):
        raise PlanRefused(
            f"series.learn: {spec.mechanism.name} makes records from other things than noisy "
            "marginals; leave it out, or choose a mechanism of marginals, such as privpgd"
        )
    if spec.binning is not None and spec.binning.columns:
        raise PlanRefused(
            "series.learn: bins that noise chooses differ from period to period, so tables over "
            "them cannot be carried forward; give the columns public groups (detail), or leave it "
            "out"
        )
    if spec.output.replicates is not None:
        raise PlanRefused(
            "series.learn: replicate weights do not know of earlier periods yet, and would be too "
            "wide; leave out one of the two"
        )


def _refuse_replicates(release: PreparedRelease) -> None:
    """Refuse replicate weights that cannot be computed or trusted.

    Raises:
        PlanRefused: says why.
    """
    if not isinstance(MECHANISMS[release.spec.mechanism.name], Marginals):
        raise PlanRefused(
            f"output.replicates: weights for records by {release.plan.mechanism} did not hold in "
            "trials; leave it out, or choose a mechanism of marginals, such as privpgd"
        )
    if len(release.spec.released_columns) < 2:
        raise PlanRefused(
            "output.replicates: weights come from two-way tables, so at least two columns must be "
            "published; publish another, or leave it out"
        )
    pairs = release.pairs
    if release.rows * pairs.number > MOST_POSITIONS:
        raise PlanRefused(
            f"output.replicates: {release.rows:,} records of {len(pairs.columns)} columns are too "
            "many for replicate weights; publish fewer records (output.rows) or columns "
            "(output.columns), or leave it out"
        )
    transcript, _ = foreseen(release.ask, release.plan)
    if (pair := untold(pairs, tuple(transcript.tables()))) is not None:
        raise PlanRefused(
            f"output.replicates: {release.plan.mechanism} does not measure "
            f"{title(pair, release.codec.names)} for certain, so nothing would tell how far the "
            "records are from the private table there; measure all pairs (privpgd, of a wide table "
            "with mechanism.selection: all), without bins that noise chooses; or leave it out"
        )
