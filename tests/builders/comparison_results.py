"""Results as tests need them."""

from dataclasses import replace
from typing import Any

from benchmarks.comparison.journal import Result

EXAMPLE = Result(
    data="adult",
    method="privpgd",
    parameters={},
    relation="add_remove",
    converted=False,
    epsilon="1",
    delta="1e-5",
    seed=1,
    status="done",
    metrics={"sw1": 0.002, "tv": 0.03},
    wall_s=20.0,
    cpu_s=10.0,
    peak_mib=400.0,
    seconds_cap=900.0,
    memory_cap_mib=8192.0,
    total="estimated",
    rows=100,
    facts={"versions": {"numpy": "2.4.6"}},
    date="2026-11-21T00:00:00+00:00",
    commit="abc",
)


def result(**changes: Any) -> Result:
    """The example, changed."""
    return replace(EXAMPLE, **changes)
