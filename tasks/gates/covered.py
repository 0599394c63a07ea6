"""Whether a spec is one that the plan of a series covers, from the texts of both alone."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from hallmark.schemas.documents.decisions import SeriesApproval, SignedDecision
from hallmark.schemas.documents.series_plan import SeriesPlan
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.templates import first_run
from hallmark.schemas.visible import visible
from hallmark.tasks.gates.gate_history import approved_once

LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
"""When the first run of a period was, where its spec does not say so."""
_MOST_KEYS = 5  # that are told to differ
_MOST_CHARACTERS = 60  # of a value that differs


def misfits(plan: SeriesPlan, text: str, spec: ReleaseSpec, *, rho: Fraction) -> Iterator[str]:
    """Why a period's spec is not one that the plan of a series covers; nothing if it is.

    Args:
        text: of the spec, as it is published.
        spec: the same, as it was read.
        rho: the most that its draws cost, in zCDP.
    """
    if spec.series is None:
        yield "the spec is about no period of a series"
        return
    period = spec.series.period
    if spec.population.account != plan.account:
        yield f"it is paid by account {spec.population.account}, and approved was {plan.account}"
    share = plan.shares.get(period)
    if share is None:
        yield f"period {period} has no share in the plan that was approved"
    elif rho > share:
        yield (
            f"it costs rho {float(rho):.4g}, and the share of {period} that was approved is "
            f"{float(share):.4g}"
        )
    first = first_run(text)
    if plan.embargo_days is not None and first is None:
        yield "it has no embargo that is counted from its first run, as was approved"
    expected = plan.filled_in(period, first or LONG_AGO)
    if text != expected:
        keys = list(_differing(_content(expected), _content(text)))
        told = ", ".join(keys[:_MOST_KEYS]) or "comments or layout"
        more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
        yield (
            f"its spec is not the template that was approved, filled in with {period}: {told}{more}"
        )


def who_approved(carried: SeriesApproval) -> str:
    """The people who approved the plan of a series, in words."""
    people: Sequence[SignedDecision] = approved_once(carried)
    return ", ".join(
        f"{one.decision.person} ({one.decision.role}, {one.decision.decided:%Y-%m-%d})"
        for one in people
    )


def _content(text: str) -> Any:
    try:
        return YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError):
        return text


def _differing(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """Places at which two contents differ, with what stands there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _differing(
                old.get(key), new.get(key), f"{place}.{key}" if place else f"{key}"
            )
    elif old != new:
        yield f"{place or 'the whole spec'} ({_short(new)}, approved was {_short(old)})"


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    text = visible(str(value))
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
