"""Results gathered for people: means over seeds, the best peer, and how ours compare with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from benchmarks.comparison.execution import DONE
from benchmarks.comparison.journal import REPORTED, Result
from benchmarks.comparison.scores import METRICS
from hallmark.mechanisms.registry import MECHANISMS


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over seeds; no deviation of a single value."""

    mean: float
    deviation: float | None

    def __str__(self) -> str:
        spread = "" if self.deviation is None else f" ± {self.deviation:.4f}"
        return f"{self.mean:.4f}{spread}"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What methods are compared at."""

    data: str
    relation: str
    epsilon: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """One method in one setting.

    Attributes:
        label: the method with its parameters.
        ours, reported, converted: what it is.
        runs, done: how many were started, and how many made a table.
        metrics: by name, over the runs that made one.
        cpu_s, wall_s, peak_mib: means over these.
        undone: why the others made none; empty where all did.
    """

    label: str
    ours: bool
    reported: bool
    converted: bool
    runs: int
    done: int
    metrics: Mapping[str, Spread]
    cpu_s: float | None
    wall_s: float | None
    peak_mib: float | None
    undone: str


def settings(results: Iterable[Result]) -> list[Setting]:
    """All settings that there are results of, by relation, table and epsilon."""
    found = {Setting(data=r.data, relation=r.relation, epsilon=r.epsilon) for r in results}
    return sorted(found, key=lambda s: (s.relation, s.data, float(s.epsilon)))


def rows(results: Iterable[Result], setting: Setting) -> list[Row]:
    """All methods of a setting: ours first, the smaller total variation first, failures last."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        at = Setting(data=result.data, relation=result.relation, epsilon=result.epsilon)
        if at == setting:
            groups.setdefault(result.label, []).append(result)
    found = [_row(label, group) for label, group in groups.items()]
    return sorted(found, key=lambda row: (not row.ours, _mean(row, "tv"), row.label))


def best(found: Sequence[Row], metric: str, *, ours: bool) -> Row | None:
    """The row of ours, or of the peers, with the smallest mean; None where none has the metric."""
    able = [row for row in found if row.ours == ours and metric in row.metrics]
    return min(able, key=lambda row: row.metrics[metric].mean, default=None)


def ratio(found: Sequence[Row], metric: str) -> float | None:
    """The best of ours relative to the best peer; below 1 where ours is better."""
    mine, theirs = best(found, metric, ours=True), best(found, metric, ours=False)
    if mine is None or theirs is None or theirs.metrics[metric].mean == 0:
        return None
    return mine.metrics[metric].mean / theirs.metrics[metric].mean


def _row(label: str, group: Sequence[Result]) -> Row:
    made = [result for result in group if result.status in (DONE, REPORTED)]
    metrics = {
        metric: _spread([r.metrics[metric] for r in made if metric in r.metrics])
        for metric in METRICS
        if any(metric in r.metrics for r in made)
    }
    return Row(
        label=label,
        ours=group[0].status != REPORTED and group[0].method in MECHANISMS,
        reported=any(result.status == REPORTED for result in group),
        converted=group[0].converted,
        runs=len(group),
        done=len(made),
        metrics=metrics,
        cpu_s=_average(r.cpu_s for r in made),
        wall_s=_average(r.wall_s for r in made),
        peak_mib=_average(r.peak_mib for r in made),
        undone="; ".join(sorted({_reason(r) for r in group if r not in made})),
    )


def _reason(result: Result) -> str:
    cap = f" within {result.seconds_cap / 60:.0f} CPU min" if result.seconds_cap else ""
    match result.status:
        case "did not finish":
            progress = f" ({result.detail})" if result.detail.startswith("round ") else ""
            return f"did not finish{cap}{progress}"
        case "out of memory":
            return f"took more than {(result.memory_cap_mib or 0) / 1024:.0f} GiB"
    return f"failed: {result.detail}"


def _spread(values: Sequence[float]) -> Spread:
    return Spread(fmean(values), stdev(values) if len(values) > 1 else None)


def _average(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _mean(row: Row, metric: str) -> float:
    return row.metrics[metric].mean if metric in row.metrics else float("inf")
