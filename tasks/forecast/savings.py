"""Which choices of the spec would meet its needs with less epsilon, and what the rest costs.

A small search over few choices: columns that no need asks about, the budget's shares for single
columns in detail and for the certificate, and more of it for the columns that needs are about. Each
is planned, and judged by the same forecasts as `needs`, so no private byte is read and nothing is
chosen by data. The best is taken, then the best beside it, until none saves two percent more.

It is no proof that nothing better exists. Where a mechanism chooses on answers what it measures,
nothing is sure enough to compare.

Oracle.  tests/tasks/forecast/test_savings.py: at the epsilon that is told, the changed spec meets
         the needs, and the unchanged one does not.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

from pydantic import ValidationError

from hallmark.mechanisms.inference.forecast import foreseen
from hallmark.schemas.needs import Need
from hallmark.schemas.question import QuestionError
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.forecast.least_epsilon import least_epsilon, with_noise
from hallmark.tasks.forecast.needs import need_forecasts
from hallmark.tasks.planning.prepare import at_epsilon, with_spec
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.questions.functions import measured

_SAVES = 0.98  # of the epsilon before: a change that saves less is not worth the trouble
_SHARES = (0.2, 0.5, 0.8)  # that priorities are given

Content = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Saving:
    """A change of the spec, and the least epsilon that meets the needs with it.

    Attributes:
        told: the change in words, with the keys of the spec.
        epsilon: with this change and those before it; to within 2 % of the last, else about.
    """

    told: str
    epsilon: Fraction

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"change": self.told, "epsilon": str(self.epsilon)}


@dataclass(frozen=True, kw_only=True)
class Savings:
    """What changes of the spec would save, one after the other.

    Attributes:
        epsilon: the least without any.
        each: what each would do alone, the best first.
        best: the changes that are best together, in order.
        refusal: why nothing is compared; empty if it is.
    """

    epsilon: Fraction
    each: tuple[Saving, ...] = ()
    best: tuple[Saving, ...] = ()
    refusal: str = ""

    @property
    def unneeded(self) -> float:
        """The share of epsilon that pays for what no need asks for, as far as was found."""
        return 1 - float(self.best[-1].epsilon / self.epsilon) if self.best else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "epsilon": str(self.epsilon),
            "each": [one.to_json() for one in self.each],
            "best": [one.to_json() for one in self.best],
            "unneeded": self.unneeded,
            "refusal": self.refusal,
        }


def savings(prepared: Prepared, needs: Sequence[Need], epsilon: Fraction) -> Savings:
    """What changes would save, where the needs that can be met are met from `epsilon` on."""
    now = at_epsilon(prepared, epsilon)
    _, complete = foreseen(now.ask, now.plan)
    if not complete:
        return Savings(
            epsilon=epsilon,
            refusal=f"{now.plan.mechanism} chooses on private answers what it measures, so plans "
            "with other shares cannot be compared",
        )
    told = need_forecasts(now, needs)
    met = [need for need, one in zip(needs, told, strict=True) if one.satisfied]
    candidates = list(_candidates(now, needs))
    content, least = now.spec.content(), epsilon
    each: tuple[Saving, ...] = ()
    best: list[Saving] = []
    while candidates:
        found = [
            (about, one)
            for one in candidates
            if (about := _about(now, one.apply(content), met, least)) is not None
        ]
        found.sort(key=lambda one: one[0])
        each = each or tuple(Saving(told=one.told, epsilon=about) for about, one in found)
        if not found or found[0][0] > _SAVES * least:
            break
        least, chosen = found[0]
        content = chosen.apply(content)
        best.append(Saving(told=chosen.told, epsilon=least))
        candidates = [one for one in candidates if one.key != chosen.key]
    if best:
        sure = _least(now, content, met, least)
        best = [] if sure is None else [*best[:-1], Saving(told=best[-1].told, epsilon=sure)]
    return Savings(epsilon=epsilon, each=each, best=tuple(best))


@dataclass(frozen=True)
class _Candidate:
    """A change of a spec's content; of those with one key, one can be made."""

    key: str
    told: str
    apply: Callable[[Content], Content]


def _candidates(now: Prepared, needs: Sequence[Need]) -> Iterator[_Candidate]:
    spec = now.spec
    asked = [
        {measured(name, spec.lookups) for name in need.parsed.columns} & spec.columns.keys()
        for need in needs
    ]
    needed = [name for name in spec.columns if any(name in columns for columns in asked)]
    unneeded = [name for name in spec.columns if name not in needed]
    if unneeded and needed and not spec.mechanism.entry.answers_queries:
        yield _Candidate(
            "columns",
            f"leave out the columns that no need asks about: {', '.join(unneeded)}",
            partial(_without, columns=unneeded),
        )
    if spec.certificate.share:
        alone = {"confidence": str(spec.certificate.confidence)}
        yield _Candidate(
            "certificate",
            "certificate: {share: 0}",
            partial(_with, path=("certificate",), value=alone),
        )
    for parts in (2, 4) if spec.bins else ():
        share = str(spec.share_of_own_cells / parts)
        yield _Candidate(
            "binning",
            f"binning: {{share: {share}}}, for single columns in detail",
            partial(_with, path=("binning", "share"), value=share),
        )
    ways = max(map(len, asked), default=0)
    if spec.mechanism.entry.takes_bins and 0 < ways <= len(needed):
        for part in _SHARES:
            chosen = {"columns": needed, "ways": ways, "share": part}
            yield _Candidate(
                "priorities",
                f"mechanism: {{selection: {{priorities: {{columns: [{', '.join(needed)}], ways: "
                f"{ways}, share: {part}}}}}}}",
                partial(_with, path=("mechanism", "selection", "priorities"), value=chosen),
            )


def _with(content: Content, path: Sequence[str], value: object) -> Content:
    """The content with another value at a path of sections."""
    changed = deepcopy(content)
    section = changed
    for key in path[:-1]:
        if not isinstance(section.get(key), dict):
            section[key] = {}
        section = section[key]
    section[path[-1]] = value
    return changed


def _without(content: Content, columns: Sequence[str]) -> Content:
    """The content without some columns, and without what is said of them."""
    changed = deepcopy(content)
    gone = set(columns)
    spec = ReleaseSpec.model_validate(content)
    gone |= {name for name, lookup in spec.lookups.items() if lookup.of in gone}
    changed["columns"] = {n: c for n, c in changed["columns"].items() if n not in gone}
    data = changed["data"]
    data["ignore"] = [*data.get("ignore", []), *(n for n in columns if n not in spec.lookups)]
    rules = zip(changed.get("constraints", []), spec.rules, strict=True)
    changed["constraints"] = [one for one, rule in rules if gone.isdisjoint(rule.columns())]
    totals = changed.get("public_totals", [])
    changed["public_totals"] = [one for one in totals if gone.isdisjoint(one["columns"])]
    if "lookups" in changed:
        changed["lookups"] = {n: one for n, one in changed["lookups"].items() if n not in gone}
    if "columns" in changed.get("binning", {}):
        bins = changed["binning"]["columns"]
        changed["binning"]["columns"] = {n: k for n, k in bins.items() if n not in gone}
    if changed["output"].get("columns"):
        kept = [name for name in changed["output"]["columns"] if name not in gone]
        changed["output"]["columns"] = kept
    changed["questions"], changed["needs"] = [], []
    return changed


def _planned(now: Prepared, content: Content, epsilon: Fraction) -> Prepared:
    """Raises PlanRefused if there can be no such plan."""
    changed = _with(content, ("privacy", "epsilon"), str(epsilon))
    try:
        spec = ReleaseSpec.model_validate(changed)
    except ValidationError as error:
        raise PlanRefused(str(error)) from None
    return with_spec(now, spec)


def _excess(now: Prepared, content: Content, needs: Sequence[Need], epsilon: Fraction) -> float:
    try:
        other = _planned(now, content, epsilon)
        return max(one.excess for one in need_forecasts(other, needs))
    except (PlanRefused, QuestionError):
        return inf


def _about(
    now: Prepared, content: Content, needs: Sequence[Need], epsilon: Fraction
) -> Fraction | None:
    """About the least epsilon, from one plan; None where the needs are out of reach."""
    found = _excess(now, content, needs, epsilon)
    delta = now.spec.privacy.delta
    return None if found == inf else with_noise(epsilon, 1 / found, delta)


def _least(
    now: Prepared, content: Content, needs: Sequence[Need], start: Fraction
) -> Fraction | None:
    return least_epsilon(
        lambda epsilon: _excess(now, content, needs, epsilon),
        start,
        delta=now.spec.privacy.delta,
        even=all(need.is_even for need in needs),
    )
