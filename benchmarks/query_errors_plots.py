"""Pictures of measured errors of linear queries: along one term at a time, and beside theorems."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from benchmarks.query_errors_fits import RATES, Line
from benchmarks.query_errors_methods import METHODS
from benchmarks.query_errors_tables import at_base

COLOURS = (
    "#1f5a99", "#3aa0c9", "#2a7f4f", "#c2571a", "#8a5aa8", "#c65f9c", "#b58900", "#777777",
)  # fmt: skip
SHADES = ("#9ecae1", "#4292c6", "#08519c", "#08306b")  # of epsilons, the largest darkest


def plot_errors(done: Sequence[Line], path: Path) -> None:
    """Largest errors of all methods with their defaults, means over seeds."""
    plain = [line for line in done if not line["parameters"]]
    random = [line for line in at_base(plain, "queries") if line["queries"].endswith("random")]
    panels = (
        ("n", "records n", "d = 8, three-way, ε = 1", at_base(plain, "n")),
        ("epsilon", "ε", "d = 8, three-way, n = 10,000", at_base(plain, "epsilon")),
        ("count", "random conjunctions", "d = 8, n = 10,000, ε = 1", random),
        ("d", "binary columns d", "three-way, n = 10,000, ε = 1", at_base(plain, "d")),
    )
    figure, axes = plt.subplots(1, len(panels), figsize=(15, 4.2), constrained_layout=True)
    for axis, (name, label, title, lines) in zip(axes, panels, strict=True):
        for method, colour in zip(METHODS, COLOURS, strict=True):
            own = [line for line in lines if line["method"] == method]
            places = sorted({line[name] for line in own})
            errors = [
                np.mean([line["largest_error"] for line in own if line[name] == place])
                for place in places
            ]
            axis.plot(places, errors, "o-", ms=3.5, color=colour, label=method)
        axis.set(yscale="log", xscale="linear" if name == "d" else "log", xlabel=label)
        places = sorted({line[name] for line in lines})
        axis.set_xticks(places, [f"{place:,g}" for place in places])
        axis.xaxis.minorticks_off()
        _dress(axis, title)
    axes[0].set_ylabel("largest error of the released answers")
    axes[0].legend(fontsize=7, frameon=False)
    _save(figure, path)


def plot_laws(grid: Sequence[Line], path: Path) -> None:
    """What each theorem bounds against n epsilon, with its rate at constant 1."""
    figure, axes = plt.subplots(
        1, len(RATES), figsize=(4.6 * len(RATES), 4), constrained_layout=True
    )
    for axis, (law, rate) in zip(axes, RATES, strict=True):
        runs = sorted(law.runs(grid), key=lambda line: line["n"] * line["epsilon"])
        scale = [line["n"] * line["epsilon"] for line in runs]
        axis.loglog(scale, [rate(line) for line in runs], "k--", lw=1, label="rate, constant 1")
        for epsilon, shade in zip(sorted({one["epsilon"] for one in runs}), SHADES, strict=True):
            some = [line for line in runs if line["epsilon"] == epsilon]
            at, errors = [line["n"] * epsilon for line in some], [law.error(line) for line in some]
            axis.loglog(at, errors, "o", ms=4, color=shade, label=f"ε = {epsilon:g}")
        axis.set_xlabel("n ε")
        _dress(axis, law.title.replace("`", ""))
        axis.legend(fontsize=7, frameon=False)
    axes[0].set_ylabel("measured")
    _save(figure, path)


def _dress(axis: Any, title: str) -> None:
    axis.set_title(title, fontsize=9)
    axis.grid(alpha=0.3, which="both")
    axis.spines[["top", "right"]].set_visible(False)


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(figure)
