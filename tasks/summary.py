"""A plan as plain JSON values: what a release will cost and how good it will be."""

from dataclasses import asdict
from typing import Any

from mechanisms.privacy.accountant import bracket
from tasks.prepare import Prepared, privacy_claim


def plan_summary(prepared: Prepared) -> dict[str, Any]:
    """Cost, noise, forecasts and warnings of a plan. Reads no private byte."""
    plan, spec = prepared.plan, prepared.spec
    forecast = plan.forecast()
    proven = bracket(plan.events, spec.privacy.delta)
    return {
        "release": spec.release,
        "title": spec.title,
        "account": spec.population.account,
        "mechanism": plan.mechanism,
        "source": plan.source,
        "privacy": {
            "neighbours": spec.privacy.neighbours,
            "unit": privacy_claim(prepared).unit_in_words,
            "records_per_unit": spec.privacy.max_records,
            "epsilon": str(spec.privacy.epsilon),
            "delta": str(spec.privacy.delta),
            "proven_epsilon": [proven.lower, proven.upper],
            "cross_check_epsilon": proven.second,
        },
        "expected_records": plan.expected_records,
        "parameters": dict(plan.parameters),
        "noise": [asdict(line) for line in plan.noise],
        "forecast": {
            "metric": forecast.metric,
            "expected_error": forecast.expected_error,
            "statement": forecast.statement,
            "memory_bytes": forecast.memory_bytes,
            "per_attribute": [
                {
                    "column": codec.name,
                    "bound": forecast.per_attribute[codec.name],
                    "in_unit": forecast.per_attribute[codec.name] * codec.attribute.scale,
                    "unit": codec.attribute.unit,
                }
                for codec in prepared.codec.codecs
                if codec.name in forecast.per_attribute
            ],
        },
        "warnings": [*spec.warnings(), *_unenforced(prepared)],
    }


def _unenforced(prepared: Prepared) -> list[str]:
    """Rules that may stop the publishing, since they are checked but not enforced."""
    return [
        f"constraints: {prepared.plan.mechanism} does not enforce {constraint.rule!r}; if a "
        "synthetic record breaks it, publishing stops after the budget is spent, until the spec "
        "says if_broken: report and the run is resumed"
        for constraint in prepared.spec.constraints
        if constraint.if_broken == "block"
    ]
