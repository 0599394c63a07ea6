"""Answer linear queries by a distribution, draw records from it, and bound the largest error.

Claim.   A run is differentially private within its budget (`plan`). With the stated confidence, no
         query's answer from the distribution, or from the records, is further from the private one
         than the certificate says.
Proof.   A method that measures what it answers bounds its own errors; for one that only chooses,
         the worst query is found and measured (`worst_query`). The records' own distance from the
         distribution is computed, as both are public.
Oracle.  tests/mechanisms/linear_queries/test_mechanism.py counts misses over many releases.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.contract import (
    Bound,
    Certificate,
    Measurements,
    QueryAnswers,
    SyntheticMeasure,
)
from hallmark.mechanisms.execution import INLINE, Execution, silent
from hallmark.mechanisms.linear_queries.asking import UniverseCurator
from hallmark.mechanisms.linear_queries.direct.certify import (
    SelfBounding,
    farthest,
    query_bounds,
)
from hallmark.mechanisms.linear_queries.levels import records_of
from hallmark.mechanisms.linear_queries.merging import merged_universe
from hallmark.mechanisms.linear_queries.method import ErrorBounds, Method
from hallmark.mechanisms.linear_queries.plan import LARGEST_ERROR, WIDEST_RANGE, LinearQueryPlan
from hallmark.mechanisms.linear_queries.spending import Amount
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.linear_queries.workload import Workload
from hallmark.mechanisms.linear_queries.worst_query import WorstQuery
from hallmark.mechanisms.privacy.accountant import fits
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import largest_rho
from hallmark.mechanisms.privacy.calls import RefreshedRounds
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.privacy.linear_queries import LinearQueries
from hallmark.mechanisms.request import Request

SHARE = Fraction(1, 10)  # of epsilon, for the certificate of methods that only choose
ANSWERS = "answers"  # of the distribution, which records are made of and certificates are about


@dataclass(frozen=True)
class LinearQueryMechanism:
    """A method for linear queries as a mechanism of the house.

    Parameters of a spec: `queries` (a `Workload`), `certificate_share` where the method does not
    bound its own errors (1/10 of epsilon; 0 for none), and the method's own.

    Attributes:
        name: as a release spec gives it.
        plan_method: plans the method on a universe.
        bounds_itself: whether the method measures what it answers.
    """

    name: str
    plan_method: Callable[[Universe, Request], Method]
    bounds_itself: bool

    def plan(self, request: Request) -> LinearQueryPlan:
        """Merge what no query tells apart, plan the method, and leave the certificate its share.

        Raises:
            ValueError: there are no queries, or what the method refuses.
        """
        domain, budget, parameters = request.domain, request.budget, request.parameters
        workload = parameters.get("queries")
        if not isinstance(workload, Workload):
            raise ValueError(
                f"mechanism.queries: missing; list what {self.name} is to answer, such as "
                "[{marginals: {ways: 2}}]"
            )
        share = Fraction(0) if self.bounds_itself else _share(parameters)
        own = {"queries"} if self.bounds_itself else {"queries", "certificate_share"}
        universe, columns = merged_universe(
            domain.shape, workload.queries, rules=domain.rules, names=domain.names
        )
        asked = replace(
            request,
            budget=replace(budget, epsilon=(1 - share) * budget.epsilon),
            parameters={key: value for key, value in parameters.items() if key not in own},
        )
        method = self.plan_method(universe, asked)
        plan = LinearQueryPlan(
            mechanism=self.name,
            request=request,
            workload=workload,
            method=method,
            columns=columns,
            share=share,
            worst=_worst(method, budget, share) if share else None,
        )
        assert fits(plan.events, budget), "what is planned fits the budget"
        return plan

    def select(self, curator: RefreshedRounds, plan: LinearQueryPlan) -> None:
        """No selection beforehand: methods choose and measure in turn."""

    def measure(
        self, curator: RefreshedRounds, plan: LinearQueryPlan, selection: None
    ) -> Measurements:
        """All that the method asks, then the worst query of the distribution made of it."""
        total = curator.total()
        asked = UniverseCurator(curator, plan.method.universe, plan.columns)
        tables = plan.method.ask(asked)
        if plan.worst:
            made = plan.method.distribution(tables, total, progress=silent)
            records = plan.method.records(tables, total)
            tables = {**tables, **plan.worst.ask(asked, made.answers(), records)}
        return Measurements(tables=tables, total=total)

    def generate(
        self,
        plan: LinearQueryPlan,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> SyntheticMeasure:
        """Records whose answers are nearly those of the distribution.

        Columns that no query sees are spread evenly over their cells, as are merged cells, as far
        as edit rules let them.
        """
        if rows is not None and rows < 1:
            raise ValueError(f"output.rows: {rows}; ask for at least 1")
        tables, total = measurements.tables, measurements.total
        made = plan.method.distribution(tables, total, progress=execution.progress)
        records = plan.method.records(tables, total)
        cells = made.cells(rows or records, rng)
        execution.progress(1.0, "records made")
        return SyntheticMeasure(
            codes=records_of(plan.domain, plan.columns, plan.method.universe.levels, cells, rng),
            history={
                "measured_records": records,
                "universe": plan.method.universe.size,
                **made.history,
            },
            kept={ANSWERS: made.answers()},
        )

    def certify(
        self,
        plan: LinearQueryPlan,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> Certificate:
        """Bounds on the largest error of any query, of the distribution and of the records."""
        tables, total = measurements.tables, measurements.total
        made = synthetic.kept[ANSWERS]
        drawn = answers_of(plan.workload, synthetic.codes)
        if plan.worst:
            records = plan.method.records(tables, total)
            terms = plan.worst.bound(tables, made, records, confidence=confidence)
            found = ErrorBounds(
                each=np.minimum(sum(terms.values()), farthest(plan.workload.queries, made)),
                terms=terms,
                how="the query that fits worst is chosen and measured (McSherry, Talwar 2007)",
            )
        elif isinstance(plan.method, SelfBounding):
            found = query_bounds(
                plan.method.measured(tables), total, made, confidence=confidence, rng=rng
            )
        else:
            found = _nothing_known(plan.workload.queries, made)
        rounding = {"rounding to records": float(np.abs(drawn - made).max())}
        queries = f"all {plan.workload.size:,} queries"
        return Certificate(
            confidence=confidence,
            bounds=(
                _bound(f"{queries}, on the records", {**found.terms, **rounding}, plan.width),
                _bound(f"{queries}, as released in answers.csv", found.terms, plan.width),
            ),
            method=found.how,
            assumptions=(
                "Records outside the public domain count where the spec puts them.",
                "Queries are as the spec defines them, on cells.",
            ),
            cost=Budget(epsilon=plan.share * plan.budget.epsilon) if plan.worst else None,
            answers=QueryAnswers(
                labels=tuple(map(plan.workload.label, range(plan.workload.size))),
                distribution=made,
                records=drawn,
                bounds=found.each,
            ),
        )


def answers_of(workload: Workload, codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Answers of records, as means, shape (queries,)."""
    queries = workload.queries
    tables = [np.bincount(cells(codes), minlength=cells.size) for cells in queries.maps]
    return queries.answers(tables) / (queries.unit * len(codes))


def _nothing_known(queries: LinearQueries, made: NDArray[np.float64]) -> ErrorBounds:
    """Where the certificate was granted nothing."""
    most = farthest(queries, made)
    terms = {"range of the queries, as the certificate has no share": float(most.max())}
    return ErrorBounds(each=most, terms=terms, how="the queries' own range")


def _share(parameters: Mapping[str, Any]) -> Fraction:
    """The share of epsilon for the certificate.

    Raises:
        ValueError: it is no number in [0, 1).
    """
    given = parameters.get("certificate_share", SHARE)
    try:
        share = Fraction(str(given))
    except ValueError:
        share = Fraction(-1)
    if isinstance(given, bool) or not 0 <= share < 1:
        raise ValueError(
            f"mechanism.certificate_share: {given!r}; give a share of epsilon below 1, such as "
            "1/10, or 0 for no certificate"
        )
    return share


def _worst(method: Method, budget: Budget, share: Fraction) -> WorstQuery:
    """The certificate's part: what is left of the budget beside the method."""

    def costing(amount: Amount) -> WorstQuery:
        return WorstQuery(method.universe, method.adjacency, amount, method.total_noise)

    def events_at(rho: Fraction) -> tuple[Event, ...]:
        return (*method.events, *costing(Amount(rho, pure=False)).events)

    pure = costing(Amount(share * budget.epsilon, pure=True))
    if budget.is_pure:
        return pure
    found = [pure] if fits([*method.events, *pure.events], budget) else []
    try:
        rho = largest_rho(events_at, budget).value
    except ValueError:  # beside few choices, which add their epsilons up, zCDP may have no room
        if not found:
            raise
    else:
        found.append(costing(Amount(rho, pure=False)))
    return max(found, key=lambda worst: worst.choice.epsilon)


def _bound(target: str, terms: Mapping[str, float], width: float) -> Bound:
    """Terms in the queries' own scale, as shares of the widest query's range."""
    return Bound.of_terms(
        target,
        (),
        LARGEST_ERROR,
        {name: term / width for name, term in terms.items()},
        scale=width,
        unit="mean of a record",
        share_of=WIDEST_RANGE,
    )
