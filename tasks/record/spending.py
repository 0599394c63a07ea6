"""How the budget of a release was split over purposes, from the events that were charged.

Shares are of the one currency in which the costs of all draws add up exactly: epsilon where all
draws are purely private, else rho of zero-concentrated differential privacy.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from hallmark.mechanisms.certificates.alone import CertificateAlonePlan
from hallmark.mechanisms.certificates.with_share import PlanWithShare
from hallmark.mechanisms.contract import Plan
from hallmark.mechanisms.linear_queries.plan import LinearQueryPlan
from hallmark.mechanisms.marginals.binning.plan import BinnedPlan
from hallmark.mechanisms.privacy.accountant import pure_epsilon, rho
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism
from hallmark.schemas.documents.audit_privacy import BudgetPart


def split(plan: Plan, charged: Sequence[Event]) -> tuple[BudgetPart, ...]:
    """What each purpose took, largest first. Equal draws are told apart by the plan alone."""
    left = _counted(charged)
    parts: list[tuple[str, Counter[Event]]] = []
    for purpose, events in _set_aside(plan):
        own = _counted(events) & left
        left -= own
        parts.append((purpose, own))
    choices: Counter[Event] = Counter()
    for event, draws in left.items():
        if isinstance(event, ExponentialMechanism):
            choices[event] = draws
    parts += [
        ("choosing what to measure", choices),
        ("measuring what the records are made of", left - choices),
    ]
    whole, currency = _cost(_counted(charged))
    if not whole:
        return ()
    made = [
        BudgetPart(
            purpose=purpose,
            draws=own.total(),
            share=float(_cost(own, currency)[0] / whole),
            remark=f"share of {currency}",
        )
        for purpose, own in parts
        if own
    ]
    return tuple(sorted(made, key=lambda part: -part.share))


def _set_aside(plan: Plan) -> Iterator[tuple[str, Iterable[Event]]]:
    """Purposes that a plan sets budget aside for, beside its mechanism's own."""
    match plan:
        case CertificateAlonePlan():
            yield "marginals for the certificate alone", plan.events
        case PlanWithShare():
            yield "marginals for the certificate alone", plan.measured.events
            yield from _set_aside(plan.inner)
        case BinnedPlan():
            yield (
                "columns by themselves, on their own cells",
                (q.event(plan.adjacency) for q in (*plan.queries, *plan.value_queries)),
            )
        case LinearQueryPlan() if plan.worst:
            yield "the worst query, for the certificate", plan.worst.events


def _counted(events: Iterable[Event]) -> Counter[Event]:
    draws: Counter[Event] = Counter()
    for event in events:
        draws[replace(event, times=1)] += event.times
    return draws


def _cost(draws: Counter[Event], currency: str | None = None) -> tuple[Fraction, str]:
    events = [replace(event, times=times) for event, times in draws.items()]
    pure = pure_epsilon(events)
    if currency != "rho" and pure is not None:
        return pure, "epsilon"
    return rho(events), "rho"
