"""What the command line shows of a plan."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from flows.screen import line, table


def print_plan(summary: Mapping[str, Any]) -> None:
    """A plan, as `tasks.summary.plan_summary` makes it."""
    privacy, forecast = summary["privacy"], summary["forecast"]
    line((summary["title"], "bold"), f" ({summary['release']})")
    line(f"mechanism  {summary['mechanism']}: {summary['source']}")
    line(f"protects   {privacy['unit']}, under {privacy['neighbours']}")
    low, high = privacy["proven_epsilon"]
    line(
        f"cost       epsilon {privacy['epsilon']}, delta {privacy['delta']} of account "
        f"{summary['account']}"
    )
    line(
        f"           proven between {low:.6g} and {high:.6g}; second accountant: at most "
        f"{privacy['cross_check_epsilon']:.6g}"
    )
    line(f"settings   {'; '.join(_settings(summary['parameters']))}")
    table(
        ("measured", "entries", "noise", "std. deviation"),
        (
            (
                drawn["query"],
                str(drawn["cells"]),
                _short(f"{drawn['family']}, {drawn['parameter']}"),
                f"{drawn['standard_deviation']:.4g} {drawn['unit']}",
            )
            for drawn in summary["noise"]
        ),
        title="Noise",
    )
    if forecast["per_attribute"]:
        table(
            ("column", "share of diameter", "in its unit"),
            (
                (one["column"], f"{one['bound']:.4f}", f"{one['in_unit']:.4g} {one['unit']}")
                for one in forecast["per_attribute"]
            ),
            title="Forecast certificate, 1-Wasserstein",
        )
    line(
        f"forecast   {forecast['metric']}: {forecast['expected_error']:.4g} "
        f"({forecast['statement']})"
    )
    line(f"memory     {forecast['memory_bytes'] / 2**20:.0f} MiB at the peak")
    for total in summary["public_totals"]:
        line(f"total      {total['total']}, held exactly; from {total['reference']}")
    for warning in summary["warnings"]:
        line(("warning", "yellow"), f"    {warning}")


def _settings(parameters: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """The parameters that fit on a line each, as `name value`; all of them are in --json."""
    for name, value in parameters.items():
        words = f"{within}{name.replace('_', ' ')} "
        if isinstance(value, Mapping):
            yield from _settings(value, words)
            continue
        shown = _short(", ".join(map(str, value)) if isinstance(value, list) else str(value))
        if len(shown) <= 40:
            yield words + shown


def _short(text: str) -> str:
    """The text with its long fractions as decimals; they are exact in --json."""
    return re.sub(
        r"(\d+)/(\d+)",
        lambda part: part[0] if len(part[0]) <= 12 else f"{int(part[1]) / int(part[2]):.6g}",
        text,
    )
