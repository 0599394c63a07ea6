"""How often intervals from replicate weights contain the private table's number, by class.

    python -m benchmarks.replicates                      # 60 releases at three epsilons, see --help
    python -m benchmarks.replicates --releases 5 --epsilon 1
    python -m benchmarks.replicates --write docs/benchmark

    python -m benchmarks.replicates --table pay fair --releases 8 --epsilon 1

Populations are the RAND table of `benchmarks.intervals`, the tables of `benchmarks.held_out`, on
none of which a default was chosen, and `incomes` of `benchmarks.incomes`, whose numbers and
districts are measured in bins with others. Each release is measured and generated anew with
simulated noise, and its replicates made as a release makes them; then a judge with a seed of its
own draws the statistics, other ones for each release. An interval is estimate +- t * deviation,
with Student's t of as many degrees as there are replicates, for DP noise alone: what is to be
contained is the private table's own number. Printed by class: the share of intervals that contain
it, with the deviation of that share over releases; the root of the mean squared error relative to
that of the deviations (both without the largest 2 %); and the share of statistics that have no
interval, since no replicate differs (most often no record is in the group).
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import f, t

from benchmarks import simulated
from benchmarks.comparison.runner import commit
from benchmarks.held_out import TABLES
from benchmarks.incomes import incomes
from benchmarks.intervals import GROUPS, NUMBERS, table_and_domain
from hallmark.mechanisms.arrays import AnyCodes, Floats, Mask
from hallmark.mechanisms.contract import Measurements, Mechanism, SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.inference.transcript import Transcribing
from hallmark.mechanisms.marginals.binning.mechanism import Binned
from hallmark.mechanisms.marginals.binning.plan import BinnedPlan
from hallmark.mechanisms.marginals.mechanism import Marginals
from hallmark.mechanisms.registry import MECHANISMS, planned
from hallmark.mechanisms.replicates.calibration import calibrated
from hallmark.mechanisms.replicates.pairs import PairTables
from hallmark.mechanisms.replicates.rerun import Rerunning
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.replicates.weights import Weighing, drawn
from hallmark.mechanisms.request import Request

CONFIDENCE = 0.95
JUDGE = 20_261_126
STATISTICS = 12  # of a class, for each release
LEAST_SHARE = 0.01  # of records in a range that a statistic is about
RARE = 10  # records
SHARE = Fraction(1, 40)  # of epsilon, for own cells where columns have bins
EXCLUSIVE = ("hlthg", "hlthf", "hlthp")  # of which at most one holds
DETERMINED = ("idp", "fmde")  # the second is 0 where the first holds

Statistic = Callable[[Floats], Floats]
"""From weights, shape (records, sets), to values, shape (values, sets)."""


@dataclass(frozen=True)
class Population:
    """A private table that the judge knows.

    Attributes:
        codes: shape (records, columns).
        numbers, groups: columns that are averaged, and those that divide records.
        bins: of the cells of columns that are measured in some with others, by name.
        tied: sets of columns that determine each other, of which a regression takes one.
    """

    domain: Domain
    codes: AnyCodes
    numbers: tuple[int, ...]
    groups: tuple[int, ...]
    tied: tuple[frozenset[int], ...] = ()
    bins: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def population(name: str) -> Population:
    """The RAND table, `benchmarks.incomes`, or one of `benchmarks.held_out`."""
    if name == "rand":
        codec, codes = table_and_domain()
        place = codec.names.index
        return Population(
            codec.domain,
            codes,
            tuple(map(place, NUMBERS)),
            tuple(map(place, GROUPS)),
            tuple(frozenset(map(place, names)) for names in (EXCLUSIVE, DETERMINED)),
        )
    if name == "incomes":
        made = incomes(np.random.default_rng([JUDGE, *name.encode()]))
        names = list(made.cells)
        numbers = [names.index(one) for one in made.bins if one != "district"]
        groups = [a for a, one in enumerate(names) if one not in made.bins]
        domain = Domain.coded(made.cells)
        return Population(domain, made.codes, tuple(numbers), tuple(groups), bins=made.bins)
    table = TABLES[name](np.random.default_rng([JUDGE, *name.encode()]))
    domain = Domain.coded({f"c{a}": cells for a, cells in enumerate(table.cells)})
    by_size = [
        [a for a, k in enumerate(table.cells) if (k > 3) == large] for large in (True, False)
    ]
    return Population(domain, table.codes, *map(tuple, by_size))


@dataclass(frozen=True)
class Judge:
    """Draws statistics, each of which can be computed from any weighted records."""

    of: Population
    rng: np.random.Generator

    @property
    def truth(self) -> AnyCodes:
        """The private table."""
        return self.of.codes

    def statistics(self) -> list[tuple[str, Callable[[AnyCodes], Statistic]]]:
        """The class of each, and what it is of given records."""
        drawn: list[tuple[str, Callable[[AnyCodes], Statistic]]] = []
        for _ in range(STATISTICS):
            drawn += [(f"shares, {ways}-way", _share(self._ranges(ways))) for ways in (1, 2, 3, 4)]
            for ways in (2, 3):
                if cell := self._rare(ways):
                    drawn.append((f"counts below 10, {ways}-way", _share(cell)))
            number, other = self._columns(self.of.numbers, 2)
            group, label = (self._columns(self.of.groups, 1)[0] for _ in range(2))
            outcome = self._columns(self.of.numbers, 1)[0]
            regressors, explaining = (self._others(one, 4) for one in (outcome, label))
            drawn += [
                ("means", _mean(number, [])),
                ("means in a group", _mean(number, [(group, np.arange(self._cells(group)) == 0)])),
                ("means in 2-way ranges", _mean(number, self._ranges(2))),
                ("correlations", _correlation(number, other)),
                ("Gini coefficients", _gini(number)),
                ("quantiles", _quantile(number, self.rng.uniform(0.2, 0.8))),
                ("ratios", _ratio(self._ranges(1), self._ranges(1))),
                ("OLS coefficients", _ols(outcome, regressors)),
                ("OLS interactions", _ols(outcome, regressors, interaction=True)),
                ("logistic coefficients", _logistic(label, explaining)),
                ("logistic interactions", _logistic(label, explaining, interaction=True)),
                ("odds ratios", _log_odds(*self.two_ranges())),
            ]
        return drawn

    def two_ranges(self) -> list[tuple[int, Mask]]:
        """Ranges of two columns, with enough records in, out, and in only one of them."""
        while True:
            one, other = self._ranges(2)
            inside, beside = (_inside([half], self.truth) for half in (one, other))
            shares = [
                np.mean(a * b) for a, b in product((inside, 1 - inside), (beside, 1 - beside))
            ]
            if min(shares) >= LEAST_SHARE:
                return [one, other]

    def _columns(self, among: Sequence[int], number: int) -> list[int]:
        return [int(c) for c in self.rng.choice(among, number, replace=False)]

    def _others(self, than: int, number: int) -> list[int]:
        """Columns beside this one, of those that determine each other at most one."""
        rest = [int(c) for c in self.rng.permutation(len(self.of.domain)) if c != than]
        taken = [than]
        for column in rest:
            if not any(column in ties and ties & set(taken) for ties in self.of.tied):
                taken.append(column)
        return taken[1 : number + 1]

    def _cells(self, column: int) -> int:
        return self.of.domain.shape[column]

    def _rare(self, number: int) -> list[tuple[int, Mask]]:
        """A cell of so many columns that 1 to 9 records are in; none if there seems to be none."""
        for _ in range(100):
            columns = self._columns(range(len(self.of.domain)), number)
            sizes = [self._cells(column) for column in columns]
            counts = np.bincount(np.ravel_multi_index(tuple(self.truth[:, columns].T), sizes))
            rare = np.flatnonzero((counts > 0) & (counts < RARE))
            if len(rare):
                cell = np.unravel_index(self.rng.choice(rare), sizes)
                return [
                    (column, np.arange(size) == code)
                    for column, size, code in zip(columns, sizes, cell, strict=True)
                ]
        return []

    def _ranges(self, number: int) -> list[tuple[int, Mask]]:
        """So many columns with a range of each, that together hold enough records."""
        while True:
            ranges = []
            for column in self._columns(range(len(self.of.domain)), number):
                cells = self._cells(column)
                first, last = sorted(self.rng.choice(cells + 1, 2, replace=False))
                inside = np.zeros(cells, dtype=np.bool_)
                inside[first:last] = True
                ranges.append((column, inside))
            share = _inside(ranges, self.truth).mean()
            if share >= LEAST_SHARE and not all(inside.all() for _, inside in ranges):
                return ranges


def _inside(ranges: Sequence[tuple[int, Mask]], codes: AnyCodes) -> Floats:
    held = [inside[codes[:, column]] for column, inside in ranges]
    return np.all(held, axis=0).astype(np.float64) if held else np.ones(len(codes))


def _share(ranges: Sequence[tuple[int, Mask]]) -> Callable[[AnyCodes], Statistic]:
    return lambda codes: lambda w: (_inside(ranges, codes) @ w / w.sum(axis=0))[None]


def _ratio(
    one: Sequence[tuple[int, Mask]], other: Sequence[tuple[int, Mask]]
) -> Callable[[AnyCodes], Statistic]:
    return lambda codes: lambda w: ((_inside(one, codes) @ w) / (_inside(other, codes) @ w))[None]


def _log_odds(one: tuple[int, Mask], other: tuple[int, Mask]) -> Callable[[AnyCodes], Statistic]:
    def of(codes: AnyCodes) -> Statistic:
        a, b = (_inside([half], codes) for half in (one, other))
        cells = np.array([a * b, (1 - a) * (1 - b), a * (1 - b), (1 - a) * b])

        def value(w: Floats) -> Floats:
            yes, no, more, less = np.log(np.maximum(cells @ w, 1e-9))
            return (yes + no - more - less)[None]

        return value

    return of


def _mean(number: int, ranges: Sequence[tuple[int, Mask]]) -> Callable[[AnyCodes], Statistic]:
    def of(codes: AnyCodes) -> Statistic:
        among = _inside(ranges, codes)
        return lambda w: ((among * codes[:, number]) @ w / (among @ w))[None]

    return of


def _correlation(one: int, other: int) -> Callable[[AnyCodes], Statistic]:
    def of(codes: AnyCodes) -> Statistic:
        x, y = codes[:, one].astype(np.float64), codes[:, other].astype(np.float64)

        def value(w: Floats) -> Floats:
            n = w.sum(axis=0)
            xm, ym, xx, yy, xy = (v @ w / n for v in (x, y, x * x, y * y, x * y))
            return ((xy - xm * ym) / np.sqrt((xx - xm**2) * (yy - ym**2)))[None]

        return value

    return of


def _gini(number: int) -> Callable[[AnyCodes], Statistic]:
    def of(codes: AnyCodes) -> Statistic:
        order = np.argsort(codes[:, number], kind="stable")
        values = codes[order, number].astype(np.float64)

        def value(w: Floats) -> Floats:
            weights = w[order]
            below = np.cumsum(weights, axis=0) - weights / 2
            total, mean = weights.sum(axis=0), (weights * values[:, None]).sum(axis=0)
            ranked = (weights * below * values[:, None]).sum(axis=0)
            return np.asarray(2 * ranked / (total * mean) - 1)[None]

        return value

    return of


def _quantile(number: int, share: float) -> Callable[[AnyCodes], Statistic]:
    """Interpolated within the cell, as an analyst of binned values does."""

    def of(codes: AnyCodes) -> Statistic:
        cells = np.eye(int(codes[:, number].max()) + 1)[codes[:, number]]

        def value(w: Floats) -> Floats:
            sums = cells.T @ w / w.sum(axis=0)
            found = np.cumsum(sums, axis=0)
            at = (found >= share - 1e-12).argmax(axis=0)
            every = np.arange(w.shape[1])
            height = np.maximum(sums[at, every], 1e-12)
            return (at + 1 - (found[at, every] - share) / height)[None]

        return value

    return of


def _design(codes: AnyCodes, regressors: Sequence[int], interaction: bool) -> Floats:
    """A constant, the regressors, and the product of the first two."""
    columns = [codes[:, column] / 10.0 for column in regressors]
    if interaction:
        columns.append(columns[0] * columns[1])
    return np.column_stack([np.ones(len(codes)), *columns])


def _reported(coefficients: Floats, interaction: bool) -> Floats:
    """The product's coefficient, or those of all regressors; shape (coefficients, sets)."""
    return coefficients[-1:] if interaction else coefficients[1:]


def _ols(
    outcome: int, regressors: Sequence[int], *, interaction: bool = False
) -> Callable[[AnyCodes], Statistic]:
    def of(codes: AnyCodes) -> Statistic:
        design = _design(codes, regressors, interaction)
        y = codes[:, outcome].astype(np.float64)

        def one(w: Floats) -> Floats:
            weighted = design * w[:, None]
            found = np.linalg.lstsq(weighted.T @ design, weighted.T @ y, rcond=None)[0]
            return np.asarray(found, dtype=np.float64)

        return lambda w: _reported(np.array([one(column) for column in w.T]).T, interaction)

    return of


def _logistic(
    label: int, regressors: Sequence[int], *, interaction: bool = False
) -> Callable[[AnyCodes], Statistic]:
    def of(codes: AnyCodes) -> Statistic:
        design = _design(codes, regressors, interaction)
        y = (codes[:, label] == 1).astype(np.float64)

        def one(w: Floats, start: Floats) -> Floats:
            found = start
            for _ in range(30):
                p = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
                curvature = (design * (w * p * (1 - p))[:, None]).T @ design
                ridge = 1e-6 * np.eye(len(found))
                step = np.linalg.solve(curvature + ridge, design.T @ (w * (y - p)))
                found = found + np.clip(step, -1, 1)
                if np.abs(step).max() < 1e-7:
                    break
            return found

        def value(w: Floats) -> Floats:
            first = one(w[:, 0], np.zeros(design.shape[1]))
            rest = [one(column, first) for column in w.T[1:]]
            return _reported(np.array([first, *rest]).T, interaction)

        return value

    return of


def replicated(
    request: Request, mechanism: Mechanism, codes: AnyCodes, seed: int, replicates: int
) -> tuple[AnyCodes, Floats, dict[str, float]]:
    """Records of one simulated release, their weights (the released first), and CPU seconds."""
    plan = planned(mechanism, request)
    start = time.process_time()
    rng = np.random.default_rng([JUDGE, seed])
    curator = Transcribing(SimulatedCurator(codes=codes, adjacency=request.adjacency, rng=rng))
    measurements = mechanism.measure(curator, plan, mechanism.select(curator, plan))

    def generate(told: Measurements, rng: np.random.Generator) -> SyntheticMeasure:
        return mechanism.generate(plan, told, rows=None, rng=rng)

    released = generate(measurements, rng).codes
    made = time.process_time()
    bins = plan.bins_of_cells if isinstance(plan, BinnedPlan) else {}
    pairs = PairTables(tuple(range(len(request.domain))), request.domain.shape, bins)
    rerunning = Rerunning(
        mechanism=mechanism, plan=plan, records=released, pairs=pairs, generate=generate
    )
    streams = [np.random.default_rng([JUDGE, seed, number]) for number in range(replicates)]
    reruns = [rerunning.rerun(stream) for stream in streams]
    rerun = time.process_time()
    own = pairs.counts(released)
    transcript = curator.transcript
    calibration = calibrated(
        pairs,
        tuple(transcript.tables()),
        transcript.total,
        released=own,
        stood_for=own,
        reruns=reruns,
    )
    weighing = Weighing.of(pairs, released, weight=1.0, urgent=calibration.slopes)
    size = len(released)
    starts = np.column_stack([drawn(size, size, stream) for stream in streams])
    tables = [own + calibration.stretched(one.tables - own) for one in reruns]
    sets = weighing.weights(tables, starts)
    spent = {
        "release": made - start,
        "reruns": rerun - made,
        "weights": time.process_time() - rerun,
        "stretch": calibration.stretch,
        "steepest": float(calibration.slopes.max()),
    }
    return released, np.column_stack([np.ones(len(released)), sets]), spent


def coverage(
    request: Request, mechanism: Mechanism, private: Population, releases: int, replicates: int
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """By class: share covered, its deviation, error relative to the deviation, and the share of
    statistics without an interval, since no replicate differs; and means of what was spent."""
    inside: dict[str, list[float]] = {}
    pooled: dict[str, list[tuple[float, float]]] = {}
    missing: dict[str, list[float]] = {}
    spent: list[dict[str, float]] = []
    critical = float(t.isf((1 - CONFIDENCE) / 2, replicates))
    for release in range(releases):
        records, weights, costs = replicated(request, mechanism, private.codes, release, replicates)
        spent.append(costs)
        verdicts: dict[str, list[bool]] = {}
        judge = Judge(private, np.random.default_rng([JUDGE, release]))
        for kind, statistic in judge.statistics():
            truth = statistic(private.codes)(np.ones((len(private.codes), 1)))[:, 0]
            with np.errstate(all="ignore"):
                values = statistic(records)(weights)
            for own, row in zip(truth, values, strict=True):
                told = verdicts.setdefault(kind, [])
                if not np.isfinite(row).all():
                    told.append(False)
                    continue
                error = float(row[0] - own)
                deviation = float(np.sqrt(np.mean((row[1:] - row[0]) ** 2)))
                is_told = deviation > 1e-9 * abs(float(row[0]))
                missing.setdefault(kind, []).append(float(not is_told))
                if is_told:
                    told.append(abs(error) <= critical * deviation)
                    pooled.setdefault(kind, []).append((error, deviation))
        for chance in _independence_tests(judge, records, weights, replicates):
            verdicts.setdefault("chi-square tests not rejecting", []).append(chance >= 0.05)
        for kind, told in verdicts.items():
            if told:
                inside.setdefault(kind, []).append(float(np.mean(told)))
    found = {}
    for kind, shares in inside.items():
        found[kind] = {
            "covered": float(np.mean(shares)),
            "deviation": float(np.std(shares) / len(shares) ** 0.5),
        }
        if kind in pooled:
            errors, deviations = (np.abs(part) for part in np.array(pooled[kind]).T)
            found[kind]["error"] = _root(errors) / max(_root(deviations), 1e-300)
            found[kind]["without"] = float(np.mean(missing[kind]))
    return found, {key: float(np.mean([one[key] for one in spent])) for key in spent[0]}


def _root(values: Floats) -> float:
    kept = np.sort(values)[: max(1, int(0.98 * len(values)))]
    return float(np.sqrt(np.mean(kept**2)))


def _independence_tests(
    judge: Judge, records: AnyCodes, weights: Floats, replicates: int
) -> list[float]:
    """Chances of tests whether two-way tables of ranges are as they are in the private table.

    The hypothesis is true: the four cells of two ranges have the private table's odds ratio. Tested
    by Wald's chi-square with one degree, with the replicates' variance (as `svychisq` does).
    """
    chances = []
    for _ in range(STATISTICS):
        statistic = _log_odds(*judge.two_ranges())
        truth = float(statistic(judge.truth)(np.ones((len(judge.truth), 1)))[0, 0])
        row = statistic(records)(weights)[0]
        variance = float(np.mean((row[1:] - row[0]) ** 2))
        miss = (float(row[0]) - truth) ** 2
        chances.append(
            float(f.sf(miss / variance, 1, replicates)) if variance else float(miss <= 1e-18)
        )
    return chances


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all kinds of release, and print or write a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    epsilons = [Fraction(1, 2), Fraction(1), Fraction(5, 2)]
    parser.add_argument("--epsilon", nargs="+", default=epsilons, type=Fraction)
    parser.add_argument("--mechanism", nargs="+", default=["privpgd"])
    parser.add_argument(
        "--table", nargs="+", default=["rand"], choices=["rand", "incomes", *TABLES]
    )
    parser.add_argument("--releases", type=int, default=60)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--write", type=Path, help="folder for replicates.json")
    options = parser.parse_args(arguments)
    results = []
    for name, mechanism, epsilon in product(options.table, options.mechanism, options.epsilon):
        private = population(name)
        request = simulated.asked(private.domain, private.codes, epsilon)
        made_by = MECHANISMS[mechanism]
        if private.bins:
            assert isinstance(made_by, Marginals), "others have no bins"
            levels = {one: (of,) for one, of in private.bins.items()}
            made_by = Binned(made_by, SHARE, levels)
        found, spent = coverage(request, made_by, private, options.releases, options.replicates)
        results.append(
            {
                "table": name,
                "mechanism": mechanism,
                "epsilon": float(epsilon),
                "neighbours": "replace_one",
                "releases": options.releases,
                "replicates": options.replicates,
                "classes": found,
                "spent": spent,
            }
        )
        print(f"\n{name}, {mechanism}, epsilon {float(epsilon):g}, {options.releases} releases")
        for kind, row in found.items():
            more = f"  error / deviation {row['error']:.2f}" if "error" in row else ""
            more += f"  without {row['without']:.2f}" if row.get("without") else ""
            print(f"  {kind:32} {row['covered']:.3f} ± {row['deviation']:.3f}{more}")
        print("  " + ", ".join(f"{key} {value:.2f}" for key, value in spent.items()), flush=True)
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        told = {
            "confidence": CONFIDENCE,
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "commit": commit(),
            "results": results,
        }
        (options.write / "replicates.json").write_text(json.dumps(told, indent=1) + "\n")
        draw(told, options.write / "replicates.png")


def draw(told: Mapping[str, Any], path: Path) -> None:
    """Coverage by class, a mark for each epsilon, with twice the deviation over releases."""
    results = told["results"]
    kinds = list(results[0]["classes"])
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    axes.axvspan(0.92, 0.98, color="0.92", label="goal: .92 to .98")
    axes.axvline(told["confidence"], color="0.6", linewidth=1)
    for number, result in enumerate(results):
        heights = np.arange(len(kinds)) + 0.22 * (number - (len(results) - 1) / 2)
        rows = [result["classes"][kind] for kind in kinds]
        axes.errorbar(
            [row["covered"] for row in rows],
            heights,
            xerr=[2 * row["deviation"] for row in rows],
            fmt="o",
            markersize=4,
            label=f"{result['mechanism']}, epsilon {result['epsilon']:g}",
        )
    axes.set_yticks(range(len(kinds)), kinds)
    axes.invert_yaxis()
    axes.set_xlim(0.8, 1.0)
    axes.set_xlabel(
        f"share of nominal {100 * told['confidence']:g} % intervals that contain the private "
        f"table's number, ± 2 deviations\n{told['date']}, commit {told['commit'][:9]}, "
        f"{results[0]['releases']} releases each, {results[0]['replicates']} replicates"
    )
    axes.legend(loc="lower left", fontsize="small")
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
