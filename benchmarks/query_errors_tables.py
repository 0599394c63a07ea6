"""Tables of the page about measured errors of linear queries, in Markdown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import comb, log
from typing import Any

import numpy as np

from benchmarks.query_errors_fits import LAWS, Line, Slope, by_queries, by_records
from benchmarks.query_errors_methods import LABELS, VARIANTS
from benchmarks.query_errors_runs import DONE, key

DASH, NOT_RUN = "–", "not run"
BASE = {"data": "binary", "d": 8, "n": 10_000, "epsilon": 1.0, "queries": "3-way"}


def at_base(lines: Iterable[Line], *free: str) -> list[Line]:
    """Runs at the point that all parts share, but for some of its terms."""
    fixed = {name: value for name, value in BASE.items() if name not in free}
    return [line for line in lines if all(line[name] == value for name, value in fixed.items())]


def finished(lines: Iterable[Line]) -> list[Line]:
    """Runs with a result."""
    return [line for line in lines if line["status"] == DONE]


def ended(line: Line) -> str:
    """How a run without numbers ended: what a plan says cannot be done was refused."""
    return "refused" if line.get("detail", "").startswith("ValueError: ") else str(line["status"])


def by_columns(runs: Sequence[Line], data: str) -> str:
    """Errors and costs for each number of binary columns of a table."""
    parts = []
    of_table = (line for line in at_base(runs, "d", "data") if line["data"] == data)
    here = [line for line in of_table if not line["parameters"]]
    for columns, lines in groupby(sorted(here, key=lambda one: one["d"]), lambda one: one["d"]):
        some = list(lines)
        count = comb(columns, 3) * 8
        head = f"### d = {columns}: {2**columns:,} cells, {count:,} queries"
        parts += [head, costs(some, _absent(some))]
    return "\n\n".join(parts)


def costs(runs: Sequence[Line], absent: Iterable[str] = ()) -> str:
    """Errors, bounds, times and memory, a row a method; then those of which there is no run."""
    head = ("method", "runs", "largest", "mean", "certified", "forecast", "CPU s", "peak MiB")
    names = ("largest_error", "mean_error", "certified", "forecast")
    body = []
    for label, lines in _labelled(runs).items():
        done = finished(lines)
        shown = [_share(_mean(done, name)) for name in names] if done else [DASH] * len(names)
        if not done:
            shown[0] = ended(lines[0])
        body.append((label, str(len(lines)), *shown, *_spent(lines)))
    body += [(label, "0", NOT_RUN, *[DASH] * (len(head) - 3)) for label in absent]
    if even := finished(runs):
        errors = [_share(_mean(even, f"uniform_{which}_error")) for which in ("largest", "mean")]
        body.append(("*the uniform distribution*", "", *errors, "", "", "", ""))
    return _table(head, body)


def by_budget(grid: Sequence[Line]) -> str:
    """Errors by records and epsilon."""
    heads = {n: f"n = {n:,}" for n in sorted({line["n"] for line in grid})}
    parts = []
    for epsilon in sorted({line["epsilon"] for line in grid}):
        here = [line for line in grid if line["epsilon"] == epsilon and not _is_variant(line)]
        parts += [f"**ε = {epsilon:g}**", _errors_by(here, "n", heads)]
    return "\n\n".join(parts)


def by_workload(runs: Sequence[Line]) -> str:
    """Errors by workload, marginals first."""
    here = [line for line in at_base(runs, "queries") if not _is_variant(line)]
    sizes = {line["queries"]: line["count"] for line in finished(here)}
    heads = {
        name: name if name.endswith("random") else f"{name} ({sizes[name]:,})"
        for name in sorted(sizes, key=lambda name: (name.endswith("random"), sizes[name]))
    }
    return _errors_by(here, "queries", heads)


def by_table(runs: Sequence[Line], tables: Sequence[str]) -> str:
    """Errors by epsilon, and costs at epsilon 1, for each of the categorical tables."""
    parts = []
    for data in tables:
        here = [line for line in runs if line["data"] == data]
        if not finished(here):
            continue
        epsilons = sorted({line["epsilon"] for line in here})
        body = []
        for label, lines in _labelled(here).items():
            errors = [_both([r for r in lines if r["epsilon"] == epsilon]) for epsilon in epsilons]
            at = [line for line in lines if line["epsilon"] == BASE["epsilon"]]
            body.append((label, *errors, *_spent(at)))
        body += [(label, *[NOT_RUN] * len(epsilons), DASH, DASH) for label in _absent(here)]
        one = finished(here)[0]
        even = " / ".join(_share(one[f"uniform_{which}_error"]) for which in ("largest", "mean"))
        body.append(("*the uniform distribution*", *[even] * len(epsilons), "", ""))
        parts += [
            f"**{data}**: n = {one['n']:,}, {one['cells']:,} cells, {one['count']:,} queries",
            _table(("method", *(f"ε = {e:g}" for e in epsilons), "CPU s", "peak MiB"), body),
        ]
    return "\n\n".join(parts) or "Not run yet."


def failures(runs: Sequence[Line]) -> str:
    """What did not end well, and how far it came."""
    told = []
    for line in runs:
        if line["status"] == DONE:
            continue
        stages = ", ".join(f"{name} {value:.0f} s" for name, value in line["seconds"].items())
        why = line.get("detail") or (
            f"stopped after {line['limit_s']:.0f} CPU s; stages that it finished: {stages}"
        )
        where = f"{line['data']}, d = {line['d']}, ε = {line['epsilon']:g}, {line['queries']}"
        told.append(f"- `{line['method']}` {ended(line)} at {where}: {why}.")
    return "\n".join(told) if told else "Every run finished."


def missing(asked: Mapping[str, Sequence[Line]], run: Iterable[Line]) -> str:
    """Cases that were not run, counted by method, for each part that has some.

    Args:
        asked: the terms of all cases of every part.
    """
    known, told = set(map(key, run)), []
    for part, cases in asked.items():
        counts = Counter(case["method"] for case in cases if key(case) not in known)
        if counts:
            named = ", ".join(f"`{method}` {count}" for method, count in counts.items())
            told.append(f"- *{part}*: {counts.total()} of {len(cases)} ({named}).")
    return "\n".join(told) if told else "Everything was run."


def slopes(grid: Sequence[Line], enough: float, random: Sequence[Line]) -> str:
    """Fitted exponents beside claimed ones.

    Args:
        enough: records times epsilon from which on exponents are fitted once more.
        random: runs on random workloads, for the exponent of their size.
    """
    large = [line for line in grid if line["n"] * line["epsilon"] >= enough]
    body = []
    for law in LAWS:
        cells = [law.title]
        for points in (grid, large):
            cells += _beside(by_records(law, points), (law.n, law.epsilon))
        (size,) = _beside(by_queries(law, random), (law.queries,))
        body.append((*cells, f"{law.of_size}: {size}, {len(law.runs(random))} runs"))
    head = ("method", "n", "ε", f"n, where nε ≥ {enough:,}", "ε, there", "queries")
    return _table(head, body)


def ratios(grid: Sequence[Line], runs: Sequence[Line]) -> str:
    """Forecasts and certificates over measured errors, and how often certificates held."""
    everywhere, body = _labelled(finished(runs)), []
    for label, lines in _labelled(grid).items():
        if _is_variant(lines[0]):
            continue
        all_runs = everywhere[label]
        held = sum(line["covered"] for line in all_runs)
        body.append(
            (label, _spread(lines, "forecast"), _spread(lines, "certified"),
             f"{held} of {len(all_runs)}")
        )  # fmt: skip
    return _table(("method", "forecast", "certified", "held"), body)


def _labelled(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """Runs by the method's label, in the page's order."""
    lines = list(lines)
    found = {
        label: [line for line in lines if (line["method"], line["parameters"]) == (method, given)]
        for label, method, given in LABELS
    }
    return {label: some for label, some in found.items() if some}


def _absent(lines: Iterable[Line]) -> list[str]:
    """Labels of methods with their defaults that have no run among these."""
    found = {line["method"] for line in lines}
    return [label for label, method, given in LABELS if not given and method not in found]


def _is_variant(line: Line) -> bool:
    return (line["method"], line["parameters"]) in VARIANTS


def _errors_by(runs: Sequence[Line], name: str, heads: Mapping[Any, str]) -> str:
    """Largest and mean errors, a row a method, a column a value."""
    body = [
        (label, *(_both([line for line in lines if line[name] == value]) for value in heads))
        for label, lines in _labelled(runs).items()
    ]
    return _table(("method", *heads.values()), body)


def _both(lines: Sequence[Line]) -> str:
    """Largest / mean error, means over runs."""
    done = finished(lines)
    if not done:
        return ended(lines[0]) if lines else DASH
    return f"{_share(_mean(done, 'largest_error'))} / {_share(_mean(done, 'mean_error'))}"


def _spent(lines: Sequence[Line]) -> tuple[str, str]:
    """Mean processor seconds, and the largest peak."""
    known = [line for line in lines if "cpu_s" in line]
    if not known:
        return DASH, DASH
    return f"{_mean(known, 'cpu_s'):.1f}", f"{max(line['peak_mib'] for line in known):.0f}"


def _spread(lines: Sequence[Line], name: str) -> str:
    """Of a bound's ratio to the measured error: geometric mean, least and largest."""
    found = [line[name] / line["largest_error"] for line in lines]
    middle = np.exp(np.mean([log(ratio) for ratio in found]))
    return f"{middle:.2g} ({min(found):.2g} to {max(found):.2g})"


def _beside(found: Sequence[Slope] | None, claimed: Sequence[float | None]) -> list[str]:
    """Fitted exponents, each with what is claimed in brackets."""
    told = [DASH if exponent is None else f"{exponent:.2g}" for exponent in claimed]
    fitted = [DASH] * len(told) if found is None else list(map(str, found))
    return [f"{slope} ({exponent})" for slope, exponent in zip(fitted, told, strict=True)]


def _mean(lines: Sequence[Line], name: str) -> float:
    return float(np.mean([line[name] for line in lines]))


def _share(value: float) -> str:
    """To two digits, without the zero before the point."""
    digits = np.format_float_positional(value, 2, unique=False, fractional=False, trim="-")
    return digits.lstrip("0")


def _table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
