"""A plan as plain JSON values: what a release will cost and how good it will be."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from hallmark.mechanisms.privacy.accountant import bracket
from hallmark.mechanisms.privacy.trade_off import trade_off
from hallmark.schemas.needs import Need
from hallmark.schemas.promise import promised
from hallmark.schemas.rules.rule_syntax import Determines
from hallmark.tasks.forecast.needs import need_forecasts
from hallmark.tasks.forecast.questions import precisions
from hallmark.tasks.forecast.time import time_forecast
from hallmark.tasks.forecast.verdict import about_nothing, in_words, verdicts
from hallmark.tasks.planning.coding import cell_labels
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.rule_tables import rules_on
from hallmark.tasks.planning.rule_values import holds_several
from hallmark.tasks.rendering.wording import listed


def plan_summary(prepared: Prepared, needs: Sequence[Need] = ()) -> dict[str, Any]:
    """Cost, noise, forecasts and warnings of a plan. Reads no private byte.

    Args:
        needs: beside those of the spec.
    Raises:
        QuestionError: a need does not suit the columns.
    """
    plan, spec = prepared.plan, prepared.spec
    forecast = plan.forecast()
    told = verdicts(prepared, forecast)
    proven = bracket(plan.events, spec.privacy.delta)
    attacks = trade_off(plan.events, plan.budget)
    return {
        "release": spec.release,
        "title": spec.title,
        "account": spec.population.account,
        "mechanism": plan.mechanism,
        "source": plan.source,
        "privacy": {
            "neighbours": spec.privacy.neighbours,
            "unit": promised(spec).unit_in_words,
            "records_per_unit": spec.privacy.max_records,
            "epsilon": str(spec.privacy.epsilon),
            "delta": str(spec.privacy.delta),
            "proven_epsilon": [proven.lower, proven.upper],
            "cross_check_epsilon": proven.second,
        },
        "attacks": {
            "best_guess": attacks.best_guess(),
            "best_guess_of_four": attacks.best_guess(4),
            "of_one_percent": attacks.power(0.01),
        },
        "expected_records": plan.expected_records,
        "parameters": dict(plan.parameters),
        "noise": [asdict(line) for line in plan.noise],
        "forecast": {
            "metric": forecast.metric,
            "expected_error": forecast.expected_error,
            "statement": forecast.statement,
            "memory_bytes": prepared.memory,
            "time": None if (time := time_forecast(prepared, forecast)) is None else asdict(time),
            "per_attribute": [
                {
                    "column": codec.name,
                    "bound": forecast.per_attribute[codec.name],
                    "in_unit": forecast.per_attribute[codec.name] * codec.attribute.scale,
                    "unit": codec.attribute.distance_unit,
                }
                for codec in prepared.codec.codecs
                if codec.name in forecast.per_attribute
            ],
        },
        "public_totals": [
            {"total": total.title, "reference": total.reference} for total in spec.public_totals
        ],
        "lookups": [
            {"column": name, "of": lookup.of, "reference": lookup.reference}
            for name, lookup in spec.lookups.items()
        ],
        "recodes": [
            {"column": name, "rule": column.recoded_by}
            for name, column in spec.columns.items()
            if column.recoded_by
        ],
        "verdicts": [{**asdict(one), "vacuous": one.vacuous} for one in told],
        "verdict": in_words(told),
        "questions": [asdict(one) for one in precisions(prepared, spec.questions)],
        "needs": [one.to_json() for one in need_forecasts(prepared, (*spec.needs, *needs))],
        "warnings": [*spec.warnings(), *about_nothing(told), *_about_rules(prepared)],
    }


def _about_rules(prepared: Prepared) -> Iterator[str]:
    """What the edit rules make impossible or certain, and rules that say less or more than meant.

    Every synthetic record obeys the rules, so this holds of any release.
    """
    spec, codec = prepared.spec, prepared.codec
    cells = rules_on(spec.rules, codec)
    for index, dead in cells.rules.dead_cells().items():
        column = codec.codecs[index]
        labels = cell_labels(column)
        left = [label for cell, label in enumerate(labels) if cell not in dead]
        if len(left) == 1:
            yield f"constraints: they leave {column.name} only {left[0]}, which is certain then"
        else:
            yield (
                f"constraints: no record that obeys them has {column.name} "
                f"{listed([labels[cell] for cell in dead])}; the release will have none"
            )
    for i, rule in enumerate(spec.rules):
        if rule.text in cells.useless:
            yield (
                f"constraints[{i}]: {rule.text!r} is certain: no values of these columns break it, "
                "so it changes nothing"
            )
        if not isinstance(rule.body, Determines):
            continue
        other = codec.names.index(rule.body.other)
        parts = cells.rules.parts
        if parts is not None and len(parts.cells[other]) > cells.rules.shape[other]:
            yield (
                f"constraints[{i}]: {rule.text!r} gives records one value of {rule.body.other}, "
                "but other rules cut its cells, so that records may need different ones and break "
                "them; cut its cells where these rules do"
            )
        if holds_several(codec, rule.body.column):
            yield (
                f"constraints[{i}]: {rule.text!r} is enforced for whole cells of "
                f"{rule.body.column}, so all values of a cell go with one {rule.body.other}; cut "
                f"its cells where {rule.body.other} changes"
            )
