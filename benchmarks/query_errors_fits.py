"""How errors depend on records, epsilon and queries: fitted exponents beside those of theorems.

Least squares of the logarithm of a run's error on logarithms of n and epsilon over the grid, and
apart from that on the logarithm of log(2 |Q|), or of the queries' Gaussian width w, over random
workloads of one law at one n and epsilon. Standard errors are the usual ones of least squares.

Theorems are those of Micali, Lezane, Betken (2025), on the records at hand. The exponents of MWEM
are those of its row in their Table 1; the others' rows are garbled in our text of the paper, and
left out. One release of noisy tables has noise in proportion to 1 / (n epsilon).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

import numpy as np

from benchmarks.query_errors_methods import PRINTED, THEOREM_1, THEOREM_3
from hallmark.mechanisms.linear_queries.bounds import frank_wolfe_rate, mirror_descent_rate

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Slope:
    """An exponent and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.error:.2f}"


def largest(line: Line) -> float:
    """What most theorems bound."""
    return line["largest_error"]


def gap(line: Line) -> float:
    """The Frank-Wolfe gap of a uniform iterate, which Theorem 1 bounds."""
    return line["facts"]["gap"]


def log_queries(line: Line) -> float:
    """Of queries and their negations."""
    return log(2 * line["count"])


def width(line: Line) -> float:
    """The queries' Gaussian width, which Theorem 5 has in place of their number."""
    return line["facts"]["gaussian_width"]


@dataclass(frozen=True, kw_only=True)
class Law:
    """What is claimed of a method, and what it is compared with.

    Attributes:
        title: for the table.
        method, parameters: whose runs are fitted.
        n, epsilon, queries: exponents that are claimed; None where nothing is.
        error: of a line, what is fitted.
        size: of a line, what the error is a power of beside n and epsilon; `of_size` in words.
    """

    title: str
    method: str
    parameters: Mapping[str, Any]
    n: float | None = None
    epsilon: float | None = None
    queries: float | None = None
    error: Callable[[Line], float] = largest
    size: Callable[[Line], float] = log_queries
    of_size: str = "log 2\\|Q\\|"

    def runs(self, lines: Iterable[Line]) -> list[Line]:
        """Those of the lines that are fitted."""
        asked = (self.method, self.parameters)
        return [line for line in lines if (line["method"], line["parameters"]) == asked]


GAP = Law(
    title="Theorem 1: the gap of `dpfw`, α = .05", method="dpfw", parameters=THEOREM_1,
    n=-1 / 2, epsilon=-1 / 2, queries=1 / 2, error=gap,
)  # fmt: skip
FRANK_WOLFE = Law(
    title="Theorem 3: `dpfw`, the paper's α and T", method="dpfw", parameters=THEOREM_3,
    n=-2 / 5, epsilon=-2 / 5, queries=2 / 5,
)  # fmt: skip
MIRROR_DESCENT = Law(
    title="Theorem 5: `dpam`", method="dpam", parameters={},
    n=-1 / 2, epsilon=-1 / 2, queries=1 / 2, size=width, of_size="w",
)  # fmt: skip
LAWS = (
    GAP,
    FRANK_WOLFE,
    Law(title="`dpfw`, our α, T and iterate", method="dpfw", parameters={}),
    Law(title="`dpfw` as printed", method="dpfw", parameters=PRINTED["dpfw"],
        n=-2 / 5, epsilon=-2 / 5, queries=2 / 5),
    MIRROR_DESCENT,
    Law(title="`dpam` as printed", method="dpam", parameters=PRINTED["dpam"],
        n=-1 / 2, epsilon=-1 / 2, queries=1 / 2, size=width, of_size="w"),
    Law(title="`linear-queries`", method="linear-queries", parameters={}, n=-1, epsilon=-1),
    Law(title="`mwem-queries`", method="mwem-queries", parameters={},
        n=-1 / 2, epsilon=-1 / 2, queries=1 / 2),
    *(Law(title=f"`{method}`", method=method, parameters={})
      for method in ("dual-query", "dqrs", "fem", "sep-fem")),
)  # fmt: skip


def theorem_1(line: Line) -> float:
    """Rate of the Frank-Wolfe gap on the records at hand, its constant set to 1."""
    top = log(1 / line["delta"]) ** 0.25 * log_queries(line) ** 0.5
    bottom = line["facts"]["alpha"] ** 0.25 * (line["n"] * line["epsilon"]) ** 0.5
    return float(top / bottom)


def theorem_3(line: Line) -> float:
    """See `bounds.frank_wolfe_rate`."""
    return frank_wolfe_rate(
        line["n"], line["epsilon"], Fraction(line["delta"]), 2 * line["count"], log(line["cells"])
    )


def theorem_5(line: Line) -> float:
    """See `bounds.mirror_descent_rate`."""
    return mirror_descent_rate(
        line["n"], line["epsilon"], Fraction(line["delta"]), width(line), log(line["cells"])
    )


RATES = ((GAP, theorem_1), (FRANK_WOLFE, theorem_3), (MIRROR_DESCENT, theorem_5))


def by_records(law: Law, lines: Sequence[Line]) -> list[Slope] | None:
    """Exponents of n and epsilon, fitted together; None where the runs do not tell them."""
    runs = law.runs(lines)
    return least_squares(
        [[log(line["n"]), log(line["epsilon"])] for line in runs],
        [log(law.error(line)) for line in runs],
    )


def by_queries(law: Law, lines: Sequence[Line]) -> list[Slope] | None:
    """Exponent of the workload's size; None where the runs do not tell it."""
    runs = law.runs(lines)
    return least_squares(
        [[log(law.size(line))] for line in runs], [log(law.error(line)) for line in runs]
    )


def least_squares(
    regressors: Sequence[Sequence[float]], values: Sequence[float]
) -> list[Slope] | None:
    """Slopes, beside a constant, of a linear fit; None where it is not determined."""
    design = np.array([[1.0, *row] for row in regressors])
    freedom = len(values) - (design.shape[1] if len(values) else 0)
    if freedom < 1 or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    found = np.linalg.lstsq(design, np.array(values))[0]
    residuals = np.array(values) - design @ found
    spread = residuals @ residuals / freedom
    errors = np.sqrt(spread * np.diag(np.linalg.inv(design.T @ design)))
    return [Slope(float(b), float(e)) for b, e in zip(found[1:], errors[1:], strict=True)]
