"""From a spec to a plan: everything about a release that is known before a private byte is read."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import ValidationError

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.batches import batch_sizes
from hallmark.mechanisms.certificates.alone import CertificateAlone, CertificateAlonePlan
from hallmark.mechanisms.certificates.with_share import WithShare
from hallmark.mechanisms.contract import Mechanism, Plan
from hallmark.mechanisms.domain.cliques import title
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.domain.rules import Contradiction, Rules, check
from hallmark.mechanisms.domain.totals import PublicTotals, TotalsContradict, TotalsTooWide
from hallmark.mechanisms.domain.totals import check as check_totals
from hallmark.mechanisms.inference.forecast import foreseen
from hallmark.mechanisms.marginals import Marginals
from hallmark.mechanisms.marginals.binning import Binned
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calls import AllCalls
from hallmark.mechanisms.registry import MECHANISMS, planned
from hallmark.mechanisms.replicates.calibration import untold
from hallmark.mechanisms.replicates.pairs import MOST_POSITIONS, PairTables
from hallmark.mechanisms.replicates.weights import memory_needed
from hallmark.mechanisms.request import Request
from hallmark.schemas.documents.certificate import CertifiedFile
from hallmark.schemas.loading import load_spec, located
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.spec_sections import Privacy
from hallmark.schemas.table_sections import PublicData
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import is_rehearsal_home
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.likeness import Likeness, likeness_of_codes
from hallmark.tasks.planning.outside_records import OutsideRecords, read_outside_records
from hallmark.tasks.planning.private_tables import PublicTable, private_at, private_like, whose
from hallmark.tasks.planning.public_data import PublicDataError, public_source, read_public
from hallmark.tasks.planning.query_tables import query_tables
from hallmark.tasks.planning.rule_tables import RuleTooWide, rule_cells
from hallmark.tasks.planning.total_tables import TotalRefused, total_cells
from hallmark.tasks.sources import Source, consistent, source_of

_BYTES_PER_WRITTEN_ENTRY = 50  # a value, its text, and what is read back
GRANTED_MARGINALS = 2  # columns certified jointly with a share, where the spec does not say


class PlanRefused(SafeError):
    """The mechanism cannot serve this spec; the message names the key and the fix."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A spec with its plan. Public; pickles, so that any stage may run on another machine."""

    spec: ReleaseSpec
    plan: Plan
    path: Path  # of the spec
    folder: Path  # at which relative sources start
    query_files: tuple[str, ...] = ()  # SHA-256 of every file of queries
    snapshot: str | None = None  # of a database, at which the private table is read
    public_records: str | None = None  # SHA-256 of the public table in cell codes
    public_tables: tuple[PublicTable, ...] = ()  # all that is taken for public

    @property
    def codec(self) -> TableCodec:
        return TableCodec.of(self.spec.columns)

    @property
    def given(self) -> OutsideRecords | None:
        """Records made elsewhere, where those are certified."""
        return None

    @property
    def certified(self) -> CertifiedFile | None:
        """What a certificate publishes of the file of these records."""
        return None if self.given is None else self.given.certified

    @property
    def pairs(self) -> PairTables:
        """Two-way tables of the released columns alone, from which replicate weights are made."""
        names = self.codec.names
        released = sorted(names.index(name) for name in self.spec.released_columns)
        return PairTables(tuple(released), self.plan.domain.shape)

    @property
    def memory(self) -> int:
        """Forecast of the peak memory of the largest stage, bytes."""
        rows, columns = self.spec.records or self.plan.expected_records, len(self.plan.domain)
        at_once = max(batch_sizes(rows, columns)) if self.plan.in_batches else rows
        stages = [self.plan.forecast().memory_bytes]
        if self.spec.mechanism.entry.makes_records:
            stages.append(_BYTES_PER_WRITTEN_ENTRY * at_once * columns)
        if self.spec.output.replicates is not None:
            stages.append(memory_needed(self.pairs, rows))
        return max(stages)

    @property
    def person(self) -> str | None:
        """The column that names the person a record belongs to; None where records are the unit."""
        return self.spec.privacy.person

    @property
    def spec_file(self) -> bytes:
        """The spec as it is published: with categories in place of the files that they are in."""
        raw = self.path.read_bytes()
        if not self.spec.category_files:
            return raw
        return self.spec.with_categories(raw.decode("utf-8-sig")).encode()

    @property
    def source(self) -> Source:
        spec = self.spec
        return source_of(
            spec.data, self.folder, spec.columns, person=self.person, snapshot=self.snapshot
        )

    @contextmanager
    def at_one_moment(self) -> Iterator[Self]:
        """The prepared spec, reading one state of the private table while the context is open."""
        with consistent(self.source) as source:
            database = source.database
            yield replace(self, snapshot=None if database is None else database.snapshot)

    def rng(self, purpose: str) -> np.random.Generator:
        """Generator of a post-processing step: the same for the same release, so that a resumed
        run ends in the same file. It never draws private noise, whose seed nobody may know."""
        seed = np.random.SeedSequence([*self.spec.release.encode(), 0, *purpose.encode()])
        return np.random.default_rng(seed)


@dataclass(frozen=True, eq=False)
class PreparedRelease(Prepared):
    """A release: records that a mechanism makes, with their certificate."""

    @property
    def mechanism(self) -> Mechanism:
        return mechanism_of(self.spec)


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedCertificate(Prepared):
    """A certificate alone, of the records in `file`, which somebody else made."""

    plan: CertificateAlonePlan
    file: OutsideRecords

    @property
    def given(self) -> OutsideRecords:
        return self.file

    @property
    def certifier(self) -> CertificateAlone:
        return _certifier_of(self.spec)


Product = PreparedRelease | PreparedCertificate
"""What can be carried out."""


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
        return _prepared(spec, path, folder or path.parent)
    except PlanRefused as error:
        raise PlanRefused(located(path, str(error))) from error


def at_epsilon(prepared: Prepared, epsilon: Fraction) -> Prepared:
    """The same release with another epsilon.

    Raises:
        PlanRefused: it cannot be planned with that.
    """
    try:
        privacy = Privacy.model_validate(prepared.spec.privacy.model_dump() | {"epsilon": epsilon})
    except ValidationError as error:
        raise PlanRefused(f"privacy.epsilon {error.errors()[0]['ctx']['error']}") from None
    spec = prepared.spec.model_copy(update={"privacy": privacy})
    return _prepared(spec, prepared.path, prepared.folder)


def _prepared(spec: ReleaseSpec, path: Path, folder: Path) -> Prepared:
    if (spec.rehearsal_of is not None) != is_rehearsal_home():
        raise PlanRefused(
            "rehearsal_of: is written by hallmark rehearse, into a spec that runs in a home of its "
            "own, where nothing is private; run hallmark rehearse on the release's spec"
        )
    makes_records = spec.mechanism.entry.makes_records
    mechanism = mechanism_of(spec) if makes_records else _certifier_of(spec)
    public, public_tables = None, list[PublicTable]()
    if spec.public_data is not None:
        public, taken = _public(spec, spec.public_data, folder)
        public_tables.append(taken)
    public_tables += _category_files(spec, folder)
    codec = TableCodec.of(spec.columns)
    try:
        attributes = codec.domain.attributes
    except ValueError as error:
        raise PlanRefused(_with_place(str(error), "columns")) from error
    rules = _rules(spec, codec)
    domain = Domain(attributes, rules=rules, totals=_totals(spec, codec, rules))
    try:
        asked = query_tables(spec, domain, folder)
        request = Request(
            domain=domain,
            budget=budget(spec),
            adjacency=adjacency(spec),
            expected_records=spec.data.expected_rows,
            made_records=spec.records,
            parameters=spec.mechanism.parameters | ({"queries": asked.workload} if asked else {}),
            public=public,
        )
        plan = planned(mechanism, request)
    except ValueError as error:
        raise PlanRefused(_with_place(str(error), "mechanism")) from error
    if not plan.events:
        raise PlanRefused(
            f"mechanism: {mechanism.name} would measure nothing of this table (its columns hold a "
            "single cell each, or depth is 0), so a release would say nothing; choose finer cells"
        )
    kind = PreparedRelease if makes_records else Prepared
    prepared = kind(
        spec,
        plan,
        path.absolute(),
        folder.absolute(),
        asked.files if asked else (),
        public_records=None if public is None else _digest(public),
        public_tables=(*public_tables, *(asked.taken if asked else ())),
    )
    if spec.output.replicates is not None:
        _refuse_replicates(prepared)
    return prepared


def prepare_certificate(path: Path, file: Path, folder: Path | None = None) -> PreparedCertificate:
    """The plan to certify the records in `file`, which is read and checked; see `prepare`.

    Raises:
        PlanRefused: also where the spec's mechanism makes records of its own.
        OutsideRecordsRefused: the file cannot be certified under this spec.
    """
    prepared = prepare(path, folder)
    if isinstance(prepared, PreparedRelease):
        raise PlanRefused(
            f"mechanism.name: {prepared.mechanism.name} makes records of its own and certifies "
            f"them: hallmark release {path}. To certify records made elsewhere, write a spec with "
            "mechanism: {name: certify}, a release id of its own and a budget for the certificate"
        )
    given, _ = read_outside_records(prepared.spec, file, prepared.folder)
    taken = PublicTable(str(file), given.like)
    own = {**vars(prepared), "public_tables": (*prepared.public_tables, taken)}
    return PreparedCertificate(**own, file=given)


def as_release(prepared: Prepared) -> PreparedRelease:
    """The prepared spec as one that makes records, so that it needs no file of records.

    Raises:
        PlanRefused: the spec makes no records, and certifies those of a file.
    """
    if isinstance(prepared, PreparedRelease):
        return prepared
    raise PlanRefused(
        f"mechanism.name: {prepared.spec.mechanism.name} makes no records, it certifies those of a "
        f"file: hallmark certify {prepared.path.name} FILE; or choose a mechanism that makes some"
    )


def _refuse_replicates(prepared: Prepared) -> None:
    """Return unless replicate weights are asked for that cannot be made, or not be trusted."""
    spec, plan = prepared.spec, prepared.plan
    columns, rows = len(spec.released_columns), spec.records or plan.expected_records
    if columns < 2:
        raise PlanRefused(
            "output.replicates: weights come from two-way tables, so at least two columns must be "
            "published; publish another, or leave it out"
        )
    if rows * columns * (columns - 1) // 2 > MOST_POSITIONS:
        raise PlanRefused(
            f"output.replicates: {rows:,} records of {columns} columns are too many for replicate "
            "weights; publish fewer records (output.rows) or columns (output.columns), or leave "
            "it out"
        )
    transcript, _ = foreseen(partial(ask_all, prepared), plan)
    if (pair := untold(prepared.pairs, tuple(transcript.tables()))) is not None:
        raise PlanRefused(
            f"output.replicates: {plan.mechanism} does not measure "
            f"{title(pair, prepared.codec.names)} for certain, so nothing would tell how far the "
            "records are from the private table there; measure all pairs on own cells, as privpgd "
            "does unless its selection, or the columns' bins, detail or groups, say otherwise, or "
            "leave it out"
        )


def ask_all(prepared: Prepared, curator: AllCalls) -> None:
    """Everything that the release, or the certificate alone, asks of a curator."""
    plan = prepared.plan
    if isinstance(prepared, PreparedCertificate):
        prepared.certifier.measure(curator, prepared.plan)
    else:
        mechanism = mechanism_of(prepared.spec)
        mechanism.measure(curator, plan, mechanism.select(curator, plan))


def _rules(spec: ReleaseSpec, codec: TableCodec) -> Rules:
    """The edit rules on cells, which no mechanism can be asked to obey if they contradict."""
    try:
        rules = rule_cells(spec, codec).rules
        check(rules, codec.names)
    except RuleTooWide as error:
        raise PlanRefused(f"{_places(spec, [error.rule])}: {error}") from error
    except Contradiction as error:
        raise PlanRefused(
            f"{_places(spec, error.rules)}: {error}; correct one of them, or widen the columns' "
            "domains"
        ) from error
    return rules


def _totals(spec: ReleaseSpec, codec: TableCodec, rules: Rules) -> PublicTotals:
    """The public totals on cells, which some table that obeys the rules must have."""
    try:
        totals = total_cells(spec, codec)
        check_totals(totals, rules, codec.names)
    except TotalRefused as error:
        raise PlanRefused(str(error)) from error
    except TotalsTooWide as error:
        raise PlanRefused(f"{', '.join(error.totals)}: {error}") from error
    except TotalsContradict as error:
        where = ", ".join([*error.totals, *filter(None, [_places(spec, error.rules)])])
        raise PlanRefused(f"{where}: {error}; correct one of them") from error
    return totals


def _places(spec: ReleaseSpec, rules: Collection[str]) -> str:
    """Where the spec states these rules."""
    numbers = (i for i, constraint in enumerate(spec.constraints) if constraint.rule in rules)
    return ", ".join(f"constraints[{i}]" for i in numbers)


def _public(spec: ReleaseSpec, table: PublicData, folder: Path) -> tuple[AnyCodes, PublicTable]:
    """The public table, whose records may be released as they are."""
    where = f"public_data.source: {table.source}"
    mend = "name a table that is published"
    if (owner := private_at(table.located(folder), spec, folder)) is not None:
        raise PlanRefused(f"{where} is the private table of {whose(owner, spec)}; {mend}")
    try:
        public = read_public(table, spec.columns, folder)
        source = public_source(table, spec.columns, folder)
        like = likeness_of_codes(TableCodec.of(spec.columns), public, source)
    except PublicDataError as error:
        raise PlanRefused(str(error)) from error
    if (owner := private_like(like)) is not None:
        raise PlanRefused(f"{where} is a copy of the private table of {whose(owner, spec)}; {mend}")
    return public, PublicTable(where, like)


def _category_files(spec: ReleaseSpec, folder: Path) -> Iterator[PublicTable]:
    """The files that categories were read from, which are published with the spec."""
    for one in spec.category_files:
        where = f"columns.{one.column}.{one.key}.file: {one.file}"
        like = Likeness(frozenset({one.sha256}))
        owner = private_at(str(folder / one.file), spec, folder) or private_like(like)
        if owner is not None:
            raise PlanRefused(
                f"{where} is the private table of {whose(owner, spec)}; name a public file"
            )
        yield PublicTable(where, like)


def _digest(records: AnyCodes) -> str:
    return sha256(np.ascontiguousarray(records, dtype="<i4").tobytes()).hexdigest()


def _with_place(message: str, section: str) -> str:
    """The message with the section that it is about, where it does not name one itself."""
    named = message.partition(":")[0].partition(".")[0]
    return message if named in ReleaseSpec.model_fields else f"{section}: {message}"


def mechanism_of(spec: ReleaseSpec) -> Mechanism:
    """The mechanism that the spec names, with shares for bins and certificate where it has them."""
    mechanism, certificate = MECHANISMS[spec.mechanism.name], spec.certificate
    if spec.bins:
        assert isinstance(mechanism, Marginals), "the spec was checked"
        mechanism = Binned(
            mechanism, share=spec.share_of_own_cells, bins=spec.bins, kinds=spec.kinds
        )
    if not certificate.share:
        return mechanism
    return WithShare(
        mechanism,
        share=certificate.share,
        marginals=certificate.marginals or GRANTED_MARGINALS,
        cells=certificate.cells,
    )


def _certifier_of(spec: ReleaseSpec) -> CertificateAlone:
    return CertificateAlone(marginals=spec.certificate.marginals, cells=spec.certificate.cells)


def budget(spec: ReleaseSpec) -> Budget:
    """The budget that the spec asks for."""
    return Budget(epsilon=spec.privacy.epsilon, delta=spec.privacy.delta)


def adjacency(spec: ReleaseSpec) -> Adjacency:
    """The neighbouring relation and unit that the spec protects."""
    privacy = spec.privacy
    return Adjacency(
        neighbours=Neighbours(privacy.neighbours),
        records=privacy.max_records,
        person=privacy.person,
    )
