"""The mechanism contract: five stages of the same shape for every algorithm.

    plan(domain, budget, ...)              -> Plan               public; reads no private byte
    select(curator, plan)                  -> Selection          public choice, or private rounds
    measure(curator, plan, selection)      -> Measurements       the last private step
    generate(plan, measurements, ...)      -> SyntheticMeasure   post-processing
    certify(plan, measurements, synthetic) -> Certificate        post-processing

Only `select` and `measure` get a curator. All that passes between stages is public and pickles,
so that a stage may run on another machine.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import pi, sqrt
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.execution import INLINE, Execution
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calls import AllCalls, TablesByCall
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism
from hallmark.mechanisms.privacy.queries import GaussianNoise, HistogramQuery, LaplaceNoise
from hallmark.mechanisms.request import Request


@dataclass(frozen=True, kw_only=True)
class NoiseLine:
    """One line of a plan's noise table, for people and for the audit report."""

    query: str  # what is measured, such as "all 276 two-way marginals"
    cells: int  # number of noisy entries, or of choices
    family: str  # "discrete Laplace", "discrete Gaussian" or "exponential mechanism"
    parameter: str  # the exact noise parameter with its name, such as "sigma^2 = 36/5 records^2"
    standard_deviation: float  # of one entry, in `unit`
    sensitivity: str  # of the whole query with its norm, such as "L2 = sqrt(552) records"
    source: str  # where the sensitivity is proved
    unit: str = "records"  # of the standard deviation

    @classmethod
    def of(
        cls,
        query: HistogramQuery,
        what: str,
        entries: int,
        *,
        adjacency: Adjacency,
        unit: str = "records",
        times: int = 1,
    ) -> "NoiseLine":
        """The line of a query, or of so many alike, whose answers have so many `entries` in all."""
        transform = query.transform
        match query.noise:
            case LaplaceNoise(scale):
                family, parameter = "discrete Laplace", f"scale = {scale} {unit}"
                sensitivity = f"L1 = {times * transform.l1(adjacency)} {unit}"
            case GaussianNoise(sigma2):
                family, parameter = "discrete Gaussian", f"sigma^2 = {sigma2} {unit}^2"
                sensitivity = f"L2 = sqrt({times * transform.l2_squared(adjacency)}) {unit}"
        return cls(
            query=what,
            cells=entries,
            family=family,
            parameter=parameter,
            standard_deviation=sqrt(query.noise.variance),
            sensitivity=sensitivity,
            source=f"mechanisms/privacy/transforms.py, {type(transform).__name__}",
            unit=unit,
        )

    @classmethod
    def of_choices(
        cls, event: ExponentialMechanism, what: str, *, adjacency: Adjacency
    ) -> "NoiseLine":
        """The line of `event.times` private choices by how badly tables fit (`L1Score`).

        Each is a noisy maximum of misfits with Gumbel noise of scale 2 l1 / epsilon.
        """
        scale = 2 * adjacency.l1 / event.epsilon
        return cls(
            query=what,
            cells=event.times,
            family="exponential mechanism",
            parameter=f"epsilon = {event.epsilon} each",
            standard_deviation=pi / sqrt(6) * float(scale),
            sensitivity=f"{adjacency.l1} records of misfit",
            source="mechanisms/privacy/queries.py, L1Score",
        )


@dataclass(frozen=True, kw_only=True)
class Seconds:
    """CPU time of a mechanism's stages on a core like that of docs/scale.md, seconds."""

    count: float  # the private table
    fit: float
    make: float  # all records
    certify: float


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a plan expects of its release; computed from public quantities only."""

    metric: str  # the loss, in words
    expected_error: float  # forecast of that loss
    statement: str  # what the number is: a proven bound on the mean, or an estimate
    memory_bytes: int  # peak of the largest stage
    seconds: Seconds | None = None  # None where nothing tells how long the mechanism takes
    per_attribute: Mapping[str, float] = field(default_factory=dict)  # forecast certificate
    jointly: Mapping[tuple[str, ...], float] = field(default_factory=dict)  # by their columns


class Plan(Protocol):
    """What the curator will be asked and what that costs. Every field is public."""

    @property
    def mechanism(self) -> str: ...
    @property
    def source(self) -> str:
        """Paper and statement that the mechanism implements."""
        ...

    @property
    def domain(self) -> Domain: ...
    @property
    def adjacency(self) -> Adjacency: ...
    @property
    def budget(self) -> Budget: ...
    @property
    def expected_records(self) -> int: ...
    @property
    def events(self) -> tuple[Event, ...]:
        """All events that a complete run charges (an upper bound for adaptive mechanisms)."""
        ...

    @property
    def noise(self) -> tuple[NoiseLine, ...]: ...
    @property
    def parameters(self) -> Mapping[str, Any]:
        """Every constant that shapes the release, as plain JSON values."""
        ...

    @property
    def in_batches(self) -> bool:
        """Whether the records may be made in batches that do not know of each other (`Fitting`)."""
        ...

    def forecast(self) -> Forecast: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Measurements:
    """Noisy answers by the curator's call.

    Attributes:
        tables: by the call's name, in the order of the calls.
        total: number of records where that is public, else None.
    """

    tables: TablesByCall
    total: int | None

    def with_call(self, call: str, tables: Iterable[Counts]) -> Self:
        """These measurements with the answers of one more call."""
        return replace(self, tables={**self.tables, call: tuple(tables)})


@dataclass(frozen=True, eq=False, kw_only=True)
class SyntheticMeasure:
    """Equally weighted synthetic records.

    Attributes:
        codes: shape (rows, attributes), cell codes in the domain's order.
        history: what the generator did, as plain JSON values (losses, residuals, rounds).
        kept: arrays that `certify` would otherwise compute once more, by name; not published.
    """

    codes: NDArray[np.int32]
    history: Mapping[str, Any] = field(default_factory=dict)
    kept: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Bound:
    """One certified loss: with the certificate's confidence, `loss <= value`.

    `terms` names the parts that `value` is the sum of (discretisation, privatisation, projection,
    rounding, ...); all in the metric's own scale, where the diameter (or whatever else `share_of`
    names) is 1, and no bound is more.
    """

    target: str  # what is compared: a column's name, or "all columns jointly"
    columns: tuple[str, ...]  # whose joint distribution it is; none for the worst of several
    metric: str  # the loss, in words
    value: float
    terms: Mapping[str, float]
    scale: float = 1.0  # multiply `value` by this to get ...
    unit: str = ""  # ... this unit; a share of `share_of` where there is none
    vacuous: bool = False  # the bound is no better than the diameter
    share_of: str = "the diameter"  # what `value` is a share of

    @classmethod
    def of_terms(
        cls,
        target: str,
        columns: tuple[str, ...],
        metric: str,
        terms: Mapping[str, float],
        *,
        complete: bool = True,
        scale: float = 1.0,
        unit: str = "",
        share_of: str = "the diameter",
    ) -> "Bound":
        """The sum of `terms`, or the diameter where they add up to more or are not `complete`."""
        assert unit or scale == 1.0, f"{target}: a bound that is no share needs its unit"
        value = min(1.0, sum(terms.values())) if complete else 1.0
        return cls(
            target=target,
            columns=columns,
            metric=metric,
            value=value,
            terms=terms,
            scale=scale,
            unit=unit,
            vacuous=value >= 1.0,
            share_of=share_of,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class MarginalEstimate:
    """A column's own distribution as the noisy measurements have it, for pictures.

    Attributes:
        shares: of all records, float64 of shape (cells,); may be negative.
        half_width: 1.96 standard deviations of the noise in each share, shape (cells,).
    """

    shares: NDArray[np.float64]
    half_width: NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class QueryAnswers:
    """Answers of a workload of linear queries, to be released beside the records.

    Attributes:
        labels: what each asks, for people.
        distribution: answers of the distribution that records are drawn from, shape (queries,).
        records: answers of the records, shape (queries,).
        bounds: how far each answer of the distribution is from the private one at most, all of
            them together with the certificate's confidence, shape (queries,).
    """

    labels: tuple[str, ...]
    distribution: NDArray[np.float64]
    records: NDArray[np.float64]
    bounds: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Bounds that hold jointly with probability at least `confidence`, from released numbers only.

    `cost` is the budget spent on the certificate beyond the mechanism's own measurements.
    `measured` holds, by attribute, the linear estimates that the bounds rest on; `answers` those of
    the workload, where the mechanism answers one.
    """

    confidence: float
    bounds: tuple[Bound, ...]
    method: str  # how the quantile was found and corrected, with sample sizes and source
    assumptions: tuple[str, ...]  # what the reader must accept, such as clamping to public bounds
    cost: Budget | None = None
    measured: Mapping[str, MarginalEstimate] = field(default_factory=dict)
    answers: QueryAnswers | None = None


class Fit(Protocol):
    """What records are drawn from, batch by batch. Public; pickles, and draws on any worker."""

    @property
    def rows(self) -> int:
        """How many records were measured, 1 at least."""
        ...

    def batch(self, rows: int, rng: np.random.Generator) -> SyntheticMeasure:
        """One of several batches of a table, independent of the others."""
        ...


@runtime_checkable
class Fitting(Protocol):
    """A mechanism whose fit can be had by itself, where `Plan.in_batches` says so."""

    def fit(
        self,
        plan: Any,
        measurements: Measurements,
        *,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> Fit: ...


class Mechanism(Protocol):
    """An algorithm of the house; stateless, so one instance serves all releases."""

    @property
    def name(self) -> str:
        """As a release spec gives it."""
        ...

    def plan(self, request: Request) -> Plan:
        """Choose queries and noise within the request's budget. No private byte is read.

        Raises:
            ValueError: the parameters or the domain do not suit this mechanism; the message says
                which and how to fix it.
        """
        ...

    def select(self, curator: AllCalls, plan: Any) -> Any: ...

    def measure(self, curator: AllCalls, plan: Any, selection: Any) -> Measurements: ...

    def generate(
        self,
        plan: Any,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> SyntheticMeasure:
        """Synthetic records; `rows=None` asks for as many as were measured.

        Long generators leave their state in the checkpoint, and go on from there after a crash.
        """
        ...

    def certify(
        self,
        plan: Any,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> Certificate: ...
