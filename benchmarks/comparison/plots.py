"""Pictures of the comparison: every metric against epsilon, one line a method."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from benchmarks.comparison.journal import Result
from benchmarks.comparison.scores import METRICS
from benchmarks.comparison.summary import Row, rows, settings


def plot_errors(results: Sequence[Result], relation: str, path: Path) -> Path:
    """Errors of all methods at one relation; tables from top to bottom, metrics from the left.

    Ours are solid, peers dashed, numbers that were only reported hollow. Bars are one standard
    deviation over seeds.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator

    here = [result for result in results if result.relation == relation]
    tables = sorted({result.data for result in here})
    first = {row.label: row.ours for setting in settings(here) for row in rows(here, setting)}
    labels = sorted(first, key=lambda label: (not first[label], label))
    # Every strong colour of the map has a pale one of its hue beside it: strong ones come first.
    strong_first = (*range(0, 20, 2), *range(1, 20, 2))
    palette = [plt.get_cmap("tab20")(place) for place in strong_first]
    colours = dict(zip(labels, cycle(palette), strict=False))
    figure, axes = plt.subplots(
        len(tables), len(METRICS), figsize=(3.2 * len(METRICS), 3 * len(tables)), squeeze=False
    )
    lines = {}
    for line, data in enumerate(tables):
        found = {
            setting.epsilon: rows(here, setting)
            for setting in settings(here)
            if setting.data == data
        }
        for axis, (metric, title) in zip(axes[line], METRICS.items(), strict=True):
            for label in labels:
                points = _points(found, label, metric)
                if points:
                    lines[label] = _draw(axis, points, colours[label])
            axis.set(xscale="log", yscale="log", title=f"{data}: {title}", xlabel="ε")
            ticks = sorted(float(epsilon) for epsilon in found)
            axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axis.xaxis.minorticks_off()
            axis.yaxis.set_minor_locator(LogLocator(subs=(1.5, 2, 3, 5, 7)))
            for kind in (axis.yaxis.set_major_formatter, axis.yaxis.set_minor_formatter):
                kind(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.tick_params(which="both", labelsize=7)
            axis.grid(alpha=0.3, which="both")
            axis.title.set_fontsize(9)
    named = [label for label in labels if label in lines]
    figure.legend([lines[label] for label in named], named, loc="lower center", ncols=5, fontsize=8)
    figure.tight_layout(rect=(0, 0.03 + 0.03 * -(-len(lines) // 5), 1, 1))
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return path


def _points(
    found: dict[str, list[Row]], label: str, metric: str
) -> list[tuple[float, float, float, Row]]:
    """Epsilon, mean, deviation and row, ascending."""
    points = [
        (float(epsilon), row.metrics[metric].mean, row.metrics[metric].deviation or 0.0, row)
        for epsilon, at in found.items()
        for row in at
        if row.label == label and metric in row.metrics and row.metrics[metric].mean > 0
    ]
    return sorted(points, key=lambda point: point[0])


def _draw(axis: Any, points: Sequence[tuple[float, float, float, Row]], colour: Any) -> Any:
    row = points[0][3]
    return axis.errorbar(
        [point[0] for point in points],
        [point[1] for point in points],
        yerr=[point[2] for point in points],
        color=colour,
        linestyle="-" if row.ours else "--",
        marker="o",
        markersize=4,
        markerfacecolor="white" if row.reported else colour,
        linewidth=1.8 if row.ours else 1.1,
        zorder=3 if row.ours else 2,
    )
