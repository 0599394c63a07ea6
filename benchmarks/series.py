"""What a series knows that single releases do not: levels, change, breaks.

    python -m benchmarks.series limits
    python -m benchmarks.series tables --epsilon 1 3 10    # write `benchmarks/series_data.py` first
    python -m benchmarks.series tables --of nlswork randhie anes rwm5yr wvs    # to judge by
    python -m benchmarks.series broken
    python -m benchmarks.series correlated

`limits`: drawn random walks of ten periods, 60 components of 8 coordinates, with steps of .1, .3, 1
and 3 in variances of the noise, at three noises; errors of the last level, and of the change to it,
in those of independent releases, beside the least that is possible where the step is known; the
share of intervals of 95 % that hold.

`tables`: wages of ten years, which the seventh raises by a quarter so that a column breaks, and the
General Social Survey of thirty. Each lifetime budget (delta 1e-5) is shared equally by zCDP; one
person may be in all periods. Every year is measured and released by privpgd (simulated: answers
must not be published) with and without what earlier years measured. Printed are root mean squares
over the cells of all two-way tables, in shares: of the noisy tables that records are made from and
of the records, the mean over the years from the second on, with the past as parts of without; of
change from year to year in smoothed tables, as parts of differences of noisy ones; the share of
intervals of 95 % for smoothed levels and changes that hold. Worst is the year in which the past
helped least, in the mean over the seeds.

`broken`: errors of the noisy tables that records are made from, with the past as parts of without,
the mean over the years from the fifth on and the worst of them, where the release of the year
before, or of three before, had the codes of all columns in reverse, or this year has.

`correlated`: the least deviation that noise correlated over ten periods could reach, as a part of
that of independent noise (lower bound of Li and Miklau 2013 for matrix mechanisms, "Optimal error
of query sets under the differentially-private matrix mechanism").
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, islice
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import simulated
from benchmarks.data import folder
from hallmark.mechanisms.arrays import Codes, Floats
from hallmark.mechanisms.contract import Measurements
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.earlier import Earlier, EarlierPeriod, EarlierTable
from hallmark.mechanisms.inference.random_walk import Track, walks
from hallmark.mechanisms.marginals.cell_groups import group_of
from hallmark.mechanisms.marginals.evidence import Evidence, pooled
from hallmark.mechanisms.marginals.foretelling import foretold
from hallmark.mechanisms.marginals.mechanism import answers_of, evidence_of
from hallmark.mechanisms.marginals.smoothing import smoothed
from hallmark.mechanisms.privacy.account_filter import gaussian_epsilon, implied_rho
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.request import Request

DELTA = Fraction(1, 100_000)
JUDGED = {
    "nlswork": ("year", ["rownames", "idcode"]),
    "randhie": ("year", ["rownames", "zper", "time"]),
    "anes": ("year", ["rownames", "uid"]),
    "rwm5yr": ("year", ["rownames", "id"]),
    "wvs": ("wave", ["rownames", "year"]),
}
"""Series on which nothing was chosen: the column of their periods, and such as are no data."""
Table = tuple[Domain, list[Codes]]


def limits() -> None:
    """How near estimates come to the least error, and whether intervals hold."""
    rng = np.random.default_rng(20_261_129)
    print("noise  step  level  least  change  least  hold: level  change")
    for noise in (0.1, 1.0, 10.0):
        for ratio in (0.1, 0.3, 1.0, 3.0):
            step = (ratio * noise) ** 0.5
            truths = [
                (rng.normal(size=(10, 8)) * step).cumsum(axis=0) + 50 * rng.normal(size=8)
                for _ in range(60)
            ]
            tracks = [
                Track(
                    np.arange(10),
                    truth + noise**0.5 * rng.normal(size=truth.shape),
                    np.full(10, noise),
                    np.ones(10),
                )
                for truth in truths
            ]
            off, moved, held = [], [], []
            for walk, truth in zip(walks(tracks), truths, strict=True):
                joint = walk.smoothed
                error = joint.weights @ walk.track.values - truth
                last = joint.covariance[-2:, -2:]
                variance = last[0, 0] + last[1, 1] - 2 * last[0, 1]
                change = error[-1] - error[-2]
                off.append(error[-1])
                moved.append(change)
                held.append(
                    [
                        (np.abs(error[-1]) < 1.96 * last[1, 1] ** 0.5).mean(),
                        (np.abs(change) < 1.96 * variance**0.5).mean(),
                    ]
                )
            ahead = ratio / 2 + (ratio**2 / 4 + ratio) ** 0.5
            least = (ahead / (1 + ahead)) ** 0.5, ((ratio - ratio**2 / (1 + ahead)) / 2) ** 0.5
            level, of_change = np.std(off) / noise**0.5, np.std(moved) / (2 * noise) ** 0.5
            hold = np.mean(held, axis=0)
            print(
                f"{noise:5g} {ratio:5g} {level:6.3f} {least[0]:6.3f} {of_change:7.3f} "
                f"{least[1]:6.3f} {hold[0]:12.3f} {hold[1]:7.3f}",
                flush=True,
            )


def correlated() -> None:
    """The lower bound for some workloads over ten periods."""
    periods = np.eye(10)
    change = np.diff(periods, axis=0)
    for name, asked in (
        ("change", change),
        ("levels and change", np.vstack([periods, change])),
        ("cumulative", np.tril(np.ones((10, 10)))),
        ("change in four periods", periods[4:] - periods[:-4]),
    ):
        gram = asked.T @ asked
        root = np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0)).sum()
        print(f"{name:24} {(root**2 / 10 / np.trace(gram)) ** 0.5:.2f}")


def domain(shape: Sequence[int], names: Sequence[str]) -> Domain:
    """Columns without order."""
    return Domain(
        tuple(
            Attribute(
                name=name,
                kind=Kind.NOMINAL,
                positions=(np.arange(k) + 0.5) / k,
                widths=np.zeros(k),
                has_null=False,
            )
            for name, k in zip(names, shape, strict=True)
        )
    )


def by_year(columns: Mapping[str, Codes], year: "pd.Series[int]") -> Table:
    """The years' codes in order."""
    shape = [int(codes.max()) + 1 for codes in columns.values()]
    codes = np.column_stack(list(columns.values())).astype(np.int32)
    years = [codes[(year == one).to_numpy()] for one in sorted(year.unique())]
    return domain(shape, list(columns)), years


def wages() -> Table:
    """Ten years of wage statements; from the seventh on, wages are a quarter higher."""
    read = pd.read_csv(folder() / "wages.csv", dtype={"tax_form": str})
    year = read["tax_year"].astype(int)
    raised = read["wages"].astype(float) * np.where(year >= year.min() + 6, 1.25, 1.0)
    edges = [1e3, 3e3, 6e3, 1e4, 1.5e4, 2e4, 2.5e4, 3e4, 4e4, 5e4, 6e4, 8e4, 1e5, 1.5e5]
    largest = read["employer_id"].value_counts().index[:11]
    return by_year(
        {
            "wages": np.searchsorted(edges, raised),
            "employer": largest.get_indexer(read["employer_id"]) + 1,
            "form": pd.Categorical(read["tax_form"]).codes,
        },
        year,
    )


def survey() -> Table:
    """Thirty years of the General Social Survey."""
    read = pd.read_csv(folder() / "gss-wages.csv")
    income = read["realrinc"]
    edges = income.quantile(np.arange(0.1, 1, 0.1)).round(-3).unique()
    columns: dict[str, Codes] = {
        "income": np.where(income.isna(), len(edges) + 1, np.searchsorted(edges, income)),
        "age": (read["age"].fillna(95) // 10).astype(int).to_numpy() - 1,
        "children": read["childs"].fillna(9).astype(int).to_numpy(),
    }
    for name in ("occrecode", "wrkstat", "gender", "educcat", "maritalcat"):
        codes = pd.Categorical(read[name]).codes
        columns[name] = codes - codes.min()
    return by_year(columns, read["year"])


def judged(name: str) -> Table:
    """The first eight columns of the file that have two values and are neither identifiers nor
    times: numbers of more than twelve values in tenths, what is missing as a code of its own."""
    period, others = JUDGED[name]
    read = pd.read_csv(folder() / f"{name}.csv")
    columns: dict[str, Codes] = {}
    for column in read.columns.drop([period, *others]):
        values = read[column]
        if pd.api.types.is_numeric_dtype(values) and values.nunique() > 12:
            edges = values.quantile(np.arange(0.1, 1, 0.1)).unique()
            codes = np.where(values.isna(), -1, np.searchsorted(edges, values))
        else:
            codes = pd.Categorical(values).codes
        if values.nunique() > 1:
            columns[str(column)] = pd.factorize(codes, sort=True)[0]
    return by_year(dict(islice(columns.items(), 8)), read[period])


def shares(shape: Sequence[int], codes: Codes, pair: Clique) -> Floats:
    """The table of two columns."""
    sizes = shape[pair[0]], shape[pair[1]]
    places = np.ravel_multi_index((codes[:, pair[0]], codes[:, pair[1]]), sizes)
    return np.bincount(places, minlength=sizes[0] * sizes[1]).reshape(sizes) / len(codes)


def as_earlier(number: int, shape: Sequence[int], measured: Measurements) -> EarlierPeriod:
    """What a release has published: noisy tables of cells and of groups."""
    tables = []
    for one in answers_of(measured):
        counts, clique = one.table(shape), one.asked.clique
        groups = (group_of(shape[c], k) for c, k in zip(clique, counts.shape, strict=True))
        tables.append(EarlierTable(clique, tuple(groups), counts, one.sigma))
    assert measured.total is not None, "it is public"
    return EarlierPeriod(number, tuple(tables), float(measured.total))


def asked_of(columns: Domain, codes: Codes, epsilon: Fraction) -> Request:
    """All pairs in all years, so that they can be compared."""
    every = {"selection": {"method": "all"}}
    return simulated.asked(columns, codes, epsilon, parameters=every)


def helped(evidence: Evidence, earlier: Earlier) -> Evidence:
    """What records are made from."""
    known = foretold(evidence, earlier).marginals
    return replace(evidence, marginals=pooled((*evidence.marginals, *known)))


def squared(found: Sequence[Floats], truth: Sequence[Floats]) -> float:
    """Mean square of the differences of several tables."""
    return float(np.mean([np.square(a - b).mean() for a, b in zip(found, truth, strict=True)]))


def compare(name: str, table: Table, lifetime: str, seeds: int) -> None:
    """One line of the table."""
    columns, years = table
    pairs = list(combinations(range(len(columns.shape)), 2))
    rho = implied_rho(Budget(epsilon=Fraction(lifetime), delta=DELTA)) / len(years)
    epsilon = gaussian_epsilon(rho, DELTA)
    truths = [[shares(columns.shape, codes, pair) for pair in pairs] for codes in years]
    runs = [released(columns, years, truths, pairs, epsilon, seed) for seed in range(seeds)]
    each = np.mean([errors for errors, _ in runs], axis=0)
    told = np.mean([smooth for _, smooth in runs], axis=0)
    tables, records = (each[:, [1, 3]].mean(axis=0) / each[:, [0, 2]].mean(axis=0)) ** 0.5
    worst = ((each[:, [1, 3]] / each[:, [0, 2]]) ** 0.5).max(axis=0)
    print(
        f"{name:7} {lifetime:>4} {float(epsilon):6.3f} {tables:6.2f} {worst[0]:6.2f} "
        f"{records:8.2f} {worst[1]:6.2f} {(told[0] / told[1]) ** 0.5:7.2f} "
        f"{told[2]:12.3f} {told[3]:7.3f}",
        flush=True,
    )


def released(
    columns: Domain,
    years: Sequence[Codes],
    truths: Sequence[Sequence[Floats]],
    pairs: Sequence[Clique],
    epsilon: Fraction,
    seed: int,
) -> tuple[Floats, Floats]:
    """Mean square errors of every year but the first: of noisy tables and of records, each without
    and with the past; and of smoothed and noisy changes, with the intervals that hold."""
    shape, mechanism = columns.shape, MECHANISMS["privpgd"]
    noisy: list[list[Floats]] = []
    past: list[EarlierPeriod] = []
    errors: list[list[float]] = []
    for number, (codes, truth) in enumerate(zip(years, truths, strict=True)):
        request = asked_of(columns, codes, epsilon)
        plan: Any = mechanism.plan(request)
        rng = np.random.default_rng([seed, number])
        measured, alone = simulated.released(mechanism, plan, codes, rng)
        evidence = evidence_of(columns, answers_of(measured), measured.total)
        noisy.append([evidence.by_clique[p].counts / evidence.total for p in pairs])
        if past:
            earlier = Earlier(number, tuple(past))
            known = helped(evidence, earlier)
            learning: Any = mechanism.plan(replace(request, earlier=earlier))
            made = mechanism.generate(learning, measured, rows=None, rng=rng)
            errors.append(
                [
                    squared(noisy[-1], truth),
                    squared([known.by_clique[p].counts / known.total for p in pairs], truth),
                    squared([shares(shape, alone.codes, p) for p in pairs], truth),
                    squared([shares(shape, made.codes, p) for p in pairs], truth),
                ]
            )
        past.append(as_earlier(number, shape, measured))
    found = {one.columns: one for one in smoothed(past, shape)}
    told = []
    for i, pair in enumerate(pairs):
        one, truth_of = found[pair], np.array([truth[i] for truth in truths])
        off, raw = one.shares - truth_of, np.array([year[i] for year in noisy]) - truth_of
        moved = np.diff(off, axis=0)
        told.append(
            [
                np.square(moved).mean(),
                np.square(np.diff(raw, axis=0)).mean(),
                (np.abs(off) < 1.96 * one.deviations[:, None, None]).mean(),
                (np.abs(moved) < 1.96 * one.change_deviations[:, None, None]).mean(),
            ]
        )
    return np.array(errors), np.mean(told, axis=0)


def broken(name: str, table: Table, lifetime: str) -> None:
    """What one broken period costs: a line for each way."""
    columns, years = table
    shape = columns.shape
    pairs = list(combinations(range(len(shape)), 2))
    rho = implied_rho(Budget(epsilon=Fraction(lifetime), delta=DELTA)) / len(years)
    epsilon = gaussian_epsilon(rho, DELTA)
    turned = [np.array(shape, dtype=np.int32) - 1 - codes for codes in years]
    right, wrong = (
        [once(columns, y, epsilon, n) for n, y in enumerate(s)] for s in (years, turned)
    )
    ways = "as it was", "last year", "three years ago", "from this year on"
    told: dict[str, list[list[float]]] = {way: [] for way in ways}
    for now in range(4, len(years)):
        clean = [as_earlier(n, shape, one) for n, (one, _) in enumerate(right[:now])]
        for way in told:
            past, (_, evidence), codes = list(clean), right[now], years[now]
            if way == "from this year on":
                (_, evidence), codes = wrong[now], turned[now]
            elif way != "as it was":
                at = now - (1 if way == "last year" else 3)
                past[at] = as_earlier(at, shape, wrong[at][0])
            truth = [shares(shape, codes, p) for p in pairs]
            known = helped(evidence, Earlier(now, tuple(past)))
            told[way].append(
                [
                    squared([one.by_clique[p].counts / one.total for p in pairs], truth)
                    for one in (known, evidence)
                ]
            )
    for way, errors in told.items():
        with_it, without = np.sqrt(np.array(errors)).T
        mean = np.sqrt(np.mean(with_it**2) / np.mean(without**2))
        print(f"{name:7} {lifetime:>4} {way:18} {mean:5.2f} {(with_it / without).max():6.2f}")


def once(
    columns: Domain, codes: Codes, epsilon: Fraction, seed: int
) -> tuple[Measurements, Evidence]:
    """What a year's release measures."""
    mechanism = MECHANISMS["privpgd"]
    plan: Any = mechanism.plan(asked_of(columns, codes, epsilon))
    curator: Any = SimulatedCurator(
        codes=codes, adjacency=plan.adjacency, rng=np.random.default_rng(seed)
    )
    measured = mechanism.measure(curator, plan, mechanism.select(curator, plan))
    return measured, evidence_of(columns, answers_of(measured), measured.total)


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["limits", "tables", "broken", "correlated"])
    parser.add_argument("--epsilon", nargs="+", default=["1", "3", "10"])
    parser.add_argument("--of", nargs="+", default=["wages", "survey"])
    parser.add_argument("--seeds", type=int, default=2, help="how many releases of every year")
    asked = parser.parse_args()
    if asked.what == "limits":
        limits()
        return
    if asked.what == "correlated":
        correlated()
        return
    if asked.what == "tables":
        print("table   life   year tables  worst  records  worst  change  hold: level  change")
    else:
        print("table   life broken             tables  worst")
    for name in asked.of:
        table = {"wages": wages, "survey": survey}.get(name, lambda name=name: judged(name))()
        for epsilon in asked.epsilon:
            if asked.what == "tables":
                compare(name, table, epsilon, asked.seeds)
            else:
                broken(name, table, epsilon)


if __name__ == "__main__":
    main()
