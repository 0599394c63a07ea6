"""A spec with its plan: what can be known of a release before a private byte is read."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hallmark.mechanisms.batches import batch_sizes
from hallmark.mechanisms.certificates.alone import CertificateAlone, CertificateAlonePlan
from hallmark.mechanisms.contract import Mechanism, Plan
from hallmark.mechanisms.marginals.binning.plan import BinnedPlan
from hallmark.mechanisms.privacy.calls import AllCalls
from hallmark.mechanisms.replicates.pairs import PairTables
from hallmark.mechanisms.replicates.weights import memory_needed
from hallmark.schemas.documents.certificate import CertifiedFile
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.outside_records import OutsideRecords, read_outside_records
from hallmark.tasks.planning.private_tables import PublicTable
from hallmark.tasks.planning.requested import PlanRefused, certifier_of, mechanism_of
from hallmark.tasks.sources import Source, source_of

_BYTES_PER_WRITTEN_ENTRY = 50  # a value, its text, and what is read back


def stage_rng(release: str, purpose: str) -> np.random.Generator:
    """Generator of a post-processing step: the same for the same release, so that a resumed run
    ends in the same file. It never draws private noise, whose seed nobody may know."""
    seed = np.random.SeedSequence([*release.encode(), 0, *purpose.encode()])
    return np.random.default_rng(seed)


@dataclass(frozen=True)
class EarlierRelease:
    """A release about an earlier period, whose noisy tables help.

    Attributes:
        measurements: SHA-256 of the file that has them.
        unlike: columns whose tables do not help, since their codes meant something else.
        recoded: columns whose codes became those of this period by the spec's public map.
    """

    release: str
    measurements: str
    unlike: tuple[str, ...]
    recoded: tuple[str, ...]


@dataclass(frozen=True)
class PublicInputs:
    """Everything but the spec itself that a plan takes for public.

    Attributes:
        records: SHA-256 of the public table in cell codes; None where there is none.
        queries: SHA-256 of every file of queries.
        tables: where each stands in the spec, and what it is known by.
        earlier: releases about earlier periods that help, the earliest first.
    """

    records: str | None = None
    queries: tuple[str, ...] = ()
    tables: tuple[PublicTable, ...] = ()
    earlier: tuple[EarlierRelease, ...] = ()


@dataclass(frozen=True, eq=False)
class Prepared(ABC):
    """A spec with its plan. Public; pickles, so that any stage may run on another machine."""

    spec: ReleaseSpec
    plan: Plan
    path: Path  # of the spec
    folder: Path  # at which relative sources start
    public: PublicInputs

    @abstractmethod
    def ask(self, curator: AllCalls) -> None:
        """Ask a curator everything that is measured."""

    @abstractmethod
    def releasing(self) -> "PreparedRelease":
        """The release, if the spec makes records.

        Raises:
            PlanRefused: it makes none, and certifies those of a file.
        """

    @abstractmethod
    def certifying(self, file: Path) -> "PreparedCertificate":
        """The certificate of the records in `file`, which is read and checked.

        Raises:
            PlanRefused: the spec's mechanism makes records of its own.
            OutsideRecordsRefused: the file cannot be certified under this spec.
        """

    @property
    def codec(self) -> TableCodec:
        return TableCodec.of(self.spec.columns)

    @property
    def period(self) -> str | None:
        """The period of a series that it is about."""
        return None if self.spec.series is None else self.spec.series.period

    @property
    def given(self) -> OutsideRecords | None:
        """Records made elsewhere, where those are certified."""
        return None

    @property
    def certified(self) -> CertifiedFile | None:
        """What a certificate publishes of the file of these records."""
        return None if self.given is None else self.given.certified

    @property
    def binding(self) -> str:
        """Digest of all that the questions to the private table depend on."""
        return self.spec.privacy_digest(
            self.public.records,
            self.public.queries,
            certified=None if self.given is None else self.given.sha256,
        )

    @property
    def person(self) -> str | None:
        """The column that names the person a record belongs to; None where records are the unit."""
        return self.spec.privacy.person

    @property
    def source(self) -> Source:
        """Where the private table is, and how to read it."""
        return source_of(
            self.spec.data,
            self.folder,
            self.spec.columns,
            person=self.person,
            optional=self.spec.lookups,
        )

    @property
    def spec_file(self) -> bytes:
        """The spec as it is published: with what files list in place of their names."""
        raw = self.path.read_bytes()
        if not self.spec.category_files:
            return raw
        return self.spec.with_categories(raw.decode("utf-8-sig")).encode()

    def rng(self, purpose: str) -> np.random.Generator:
        """Generator of a post-processing step (`stage_rng`)."""
        return stage_rng(self.spec.release, purpose)

    @property
    def pairs(self) -> PairTables:
        """Two-way tables of the released columns alone, from which replicate weights are made."""
        names = self.codec.names
        released = sorted(names.index(name) for name in self.spec.released_columns)
        bins = self.plan.bins_of_cells if isinstance(self.plan, BinnedPlan) else {}
        return PairTables(tuple(released), self.plan.domain.shape, bins)

    @property
    def rows(self) -> int:
        """How many records are to be made; as many as are expected where the spec does not say."""
        return self.spec.records or self.plan.expected_records

    @property
    def batches(self) -> Sequence[int]:
        """How many records are made at a time; all at once where they may not be parted."""
        if not self.plan.in_batches:
            return [self.rows]
        return batch_sizes(self.rows, len(self.plan.domain))

    @property
    def memory(self) -> int:
        """Forecast of the peak memory of the largest stage, bytes."""
        stages = [self.plan.forecast().memory_bytes]
        if self.spec.mechanism.entry.makes_records:
            stages.append(_BYTES_PER_WRITTEN_ENTRY * max(self.batches) * len(self.plan.domain))
        if self.spec.output.replicates is not None:
            stages.append(memory_needed(self.pairs, self.rows))
        return max(stages)


@dataclass(frozen=True, eq=False)
class PreparedRelease(Prepared):
    """A release: records that a mechanism makes, with their certificate."""

    @property
    def mechanism(self) -> Mechanism:
        """What makes and certifies them."""
        return mechanism_of(self.spec)

    def ask(self, curator: AllCalls) -> None:
        mechanism = self.mechanism
        mechanism.measure(curator, self.plan, mechanism.select(curator, self.plan))

    def releasing(self) -> "PreparedRelease":
        return self

    def certifying(self, file: Path) -> "PreparedCertificate":
        raise PlanRefused(
            f"mechanism.name: {self.mechanism.name} makes records of its own and certifies them: "
            f"hallmark release {self.path}. To certify records made elsewhere, write a spec with "
            "mechanism: {name: certify}, a release id of its own and a budget for the certificate"
        )


@dataclass(frozen=True, eq=False)
class PlannedCertificate(Prepared):
    """A certificate alone, of records that are still to be named."""

    plan: CertificateAlonePlan

    @property
    def certifier(self) -> CertificateAlone:
        """What certifies them."""
        return certifier_of(self.spec)

    def ask(self, curator: AllCalls) -> None:
        self.certifier.measure(curator, self.plan)

    def releasing(self) -> PreparedRelease:
        raise PlanRefused(
            f"mechanism.name: {self.spec.mechanism.name} makes no records, it certifies those of a "
            f"file: hallmark certify {self.path.name} FILE; or choose a mechanism that makes some"
        )

    def certifying(self, file: Path) -> "PreparedCertificate":
        given, _ = read_outside_records(self.spec, file, self.folder)
        tables = (*self.public.tables, PublicTable(str(file), given.like))
        public = replace(self.public, tables=tables)
        return PreparedCertificate(self.spec, self.plan, self.path, self.folder, public, given)


@dataclass(frozen=True, eq=False)
class PreparedCertificate(PlannedCertificate):
    """A certificate alone, of the records in a file that somebody else made."""

    file: OutsideRecords

    @property
    def given(self) -> OutsideRecords:
        return self.file


Product = PreparedRelease | PreparedCertificate
"""What can be carried out."""
