"""How often intervals of change contain the change from one real year to the next.

    python -m benchmarks.change                              # privpgd, 100 pairs of releases each
    python -m benchmarks.change --mechanism aim --epsilon 1 --releases 40
    python -m benchmarks.change --mechanism sparse-lipschitz --delta 0     # Laplace noise
    python -m benchmarks.change --null                       # both releases of the same year
    python -m benchmarks.change --write docs/benchmark
    python -m benchmarks.change --drawn 25 --releases 2 --mechanism aim mst  # small drawn tables

The tables are the records of Massachusetts in the census excerpts of 2018 and 2019, in eight
columns; no setting was chosen on them. Each release is measured by SimulatedCurator (whose answers
must not be published), with the plan and the transcript of a real one, and asked in words as
`hallmark compare` is; where no answer decides what is asked, its noise alone is drawn anew. A judge
draws the questions of every class with a seed of its own. Printed are the share of intervals of
change that contain the true change, with the deviation of that share over pairs of releases, how
many were unknown, and how many changes were told apart from noise.

With `--drawn`, so many pairs of small tables are drawn instead: 300 to 3,000 records in four to six
columns from a mixture of laws, and a second table of the same mixture in which a tenth of the
records moved into one cell of a column. Questions are drawn for each pair of tables anew.

For changes without a question, printed are how often any table was named that did not change (of
two releases of one year, with `--null`: of all tables), and how often each table was named.
"""

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from benchmarks import simulated
from benchmarks.data import excerpt
from benchmarks.reported import mixed, moved
from hallmark.mechanisms.arrays import AnyCodes, Counts
from hallmark.mechanisms.inference.blue import LinearQuery
from hallmark.mechanisms.inference.estimates import Estimates
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.inference.transcript import Transcribing, Transcript
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.queries import LaplaceNoise
from hallmark.mechanisms.privacy.simulation import (
    simulate_discrete_gaussian,
    simulate_discrete_laplace,
)
from hallmark.mechanisms.registry import MECHANISMS, planned
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.request import Request
from hallmark.schemas.columns.columns import Column, NumericColumn
from hallmark.schemas.loading import load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.changes.changes import Change, Comparing
from hallmark.tasks.changes.posing import posed
from hallmark.tasks.changes.shifts import shifts
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.questions.questioning import Questioning

SPEC = Path(__file__).parents[1] / "schemas/examples/nist-acs-2019.yaml"
COLUMNS = ("AGEP", "SEX", "MSP", "HISP", "OWN_RENT", "EDU", "PINCP", "POVPIP")
YEARS = (2018, 2019)
CONFIDENCE = 0.95
JUDGE = 20_261_129
DRAWN = 20_261_205  # small tables, on which no setting was chosen
_HALVES = ('SEX = "1"', 'SEX = "2"', 'OWN_RENT = "1"', 'OWN_RENT = "2"')


def questions(of: "Year", rng: np.random.Generator, number: int) -> dict[str, list[str]]:
    """The judge's questions, so many of every class, about columns and codes that it draws."""
    spec, columns = of.spec, list(of.spec.columns)
    numbers = [name for name, one in spec.columns.items() if isinstance(one, NumericColumn)]

    def condition(name: str) -> str:
        column = spec.columns[name]
        if isinstance(column, NumericColumn):
            edge = rng.choice([int(one) for one in column.exact_edges[1:-1]])
            return f"{name} {rng.choice(['<', '>='])} {edge}"
        codes = list(column.codes)
        some = rng.choice(codes, rng.integers(1, max(2, len(codes) // 2 + 1)), replace=False)
        return f"{name} in {{{', '.join(sorted(some))}}}"

    def two() -> list[str]:
        return [condition(str(name)) for name in rng.choice(columns, 2, replace=False)]

    asked: dict[str, list[str]] = defaultdict(list)
    for _ in range(number):
        one, other = two()
        asked["counts of one column"].append(f"count where {condition(str(rng.choice(columns)))}")
        asked["counts of two columns"].append(f"count where {one} and {other}")
        asked["shares in a group"].append(f"share of {one} where {other}")
        numeric, half = str(rng.choice(numbers)), str(rng.choice(of.halves))
        asked["means"].append(f"mean of {numeric}")
        asked["means in a group"].append(
            f"mean of {numeric} where {condition(_other(rng, columns, numeric))}"
        )
        asked["sums in a group"].append(f"sum of {numeric} where {half}")
        asked["ratios of counts"].append(f"count where {one} over count where {other}")
        asked["quantiles in a group"].append(
            f"quantile {rng.uniform(0.1, 0.9):.2f} of {numeric} where {half}"
        )
        first, second = of.halves[:2] if rng.random() < 0.5 else of.halves[2:]
        asked["differences of means"].append(
            f"mean of {numeric} where {first} minus mean of {numeric} where {second}"
        )
    return asked


def _other(rng: np.random.Generator, columns: Sequence[str], name: str) -> str:
    return str(rng.choice([one for one in columns if one != name]))


@dataclass(frozen=True)
class Setting:
    """How both years are released."""

    mechanism: str
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours

    def __str__(self) -> str:
        return (
            f"{self.mechanism}, epsilon {float(self.epsilon):g}, delta {float(self.delta):g}, "
            f"{self.neighbours.value}"
        )


@dataclass(frozen=True, eq=False)
class Year:
    """A year's table in cell codes, and conditions that halve it, two on each of two columns."""

    spec: ReleaseSpec
    codes: AnyCodes
    halves: Sequence[str]

    @classmethod
    def of(cls, year: int) -> "Year":
        """The records of a year in the columns that both have."""
        given = load_spec(SPEC)
        columns = {name: given.without_detail().columns[name] for name in COLUMNS}
        output = given.output.model_copy(update={"columns": None})
        spec = given.model_copy(
            update={"columns": columns, "lookups": {}, "output": output, "rules": ()}
        )
        text = excerpt(f"ma{year}")[list(COLUMNS)]
        return cls(spec, TableCodec.of(columns).encode(text.mask(text == "N")), _HALVES)

    def asking(self, estimator: Estimator) -> Questioning:
        """What answers questions about a release of this year, beside the private records."""
        return Questioning(self.spec, estimator, self.codes)


def drawn(number: int) -> tuple[Year, Year]:
    """Two small tables of a mixture of laws, of which the later one has something changed."""
    rng = np.random.default_rng([DRAWN, number])
    sizes = np.array([2, 2, *rng.integers(6, 13, 2), *rng.integers(3, 7, rng.integers(3))])
    first, second = (int(one) for one in rng.integers(300, 3_001, 2))
    codes = mixed(rng, sizes, first + second)
    column = int(rng.integers(len(sizes)))
    later = moved(codes[first:], column, int(rng.integers(sizes[column])), second // 10)
    source = {"outside": "refuse", "bound_source": {"kind": "public", "reference": "drawn"}}
    columns: dict[str, Any] = {
        f"c{place}": {"type": "nominal", "categories": list(map(str, range(size))), **source}
        for place, size in enumerate(sizes)
    }
    for place in (2, 3):
        columns[f"c{place}"] = {
            "type": "numeric", "minimum": 0, "maximum": 10 * int(sizes[place]), "cell_width": 10,
            **source,
        }  # fmt: skip
    halves = tuple(f'c{place} = "{code}"' for place in (0, 1) for code in (0, 1))
    spec = load_spec(SPEC).model_copy(
        update={
            "columns": TypeAdapter(dict[str, Column]).validate_python(columns),
            "lookups": {},
            "rules": (),
        }
    )
    return Year(spec, codes[:first], halves), Year(spec, later, halves)


@dataclass(frozen=True, eq=False)
class Redrawn(Estimator):
    """The estimator of a release whose noise can be drawn again, where no answer decided what was
    asked: weights stay as they are, and every table's answers are its counts with fresh noise.

    Attributes:
        codes: the private records.
        rng: of the noise.
    """

    codes: AnyCodes
    rng: np.random.Generator
    _known: dict[bytes, Estimates] = field(default_factory=dict)
    _counts: dict[int, Counts] = field(default_factory=dict)

    def estimates(self, queries: Sequence[LinearQuery]) -> Estimates:
        asked = sha256()
        for query in queries:
            asked.update(repr(query.columns).encode() + query.values.tobytes())
        if (key := asked.digest()) not in self._known:
            self._known[key] = super().estimates(queries)
        found = self._known[key]
        tables = tuple(self._again(table) for table in found.weights.tables)
        again = replace(found, weights=replace(found.weights, tables=tables))
        vars(again)["covariance"] = found.covariance  # of the same weights and noise
        return again

    def _again(self, table: MeasuredTable) -> MeasuredTable:
        if id(table) not in self._counts:
            (cells,) = count_codes(self.codes, [table.cells])
            counted = table.sums.entry >= 0
            self._counts[id(table)] = np.bincount(
                table.sums.entry[counted],
                weights=(cells * table.sums.weight)[counted],
                minlength=table.sums.entries,
            ).astype(np.int64)
        counts = self._counts[id(table)]
        draw = (
            simulate_discrete_laplace
            if isinstance(table.noise, LaplaceNoise)
            else simulate_discrete_gaussian
        )
        return replace(table, answers=counts + draw(self.rng, table.noise.parameter, counts.shape))


def releases_of(
    mechanism: str, requests: Sequence[Request], years: Sequence[Year], pairs: int
) -> Iterator[tuple[Questioning, Questioning]]:
    """Pairs of releases, measured anew or, where answers decide nothing, with noise drawn anew."""
    for pair in range(pairs):
        both = [
            transcript(mechanism, request, year.codes, pair, place)
            for place, (request, year) in enumerate(zip(requests, years, strict=True))
        ]
        if any(adaptive for one in both for _, adaptive in one.histograms()):
            before, after = (
                year.asking(Estimator.of(one)) for year, one in zip(years, both, strict=True)
            )
            yield before, after
            continue
        redrawn = [
            Redrawn(
                tuple(one.tables()), one.total, year.codes, np.random.default_rng([JUDGE, place])
            )
            for place, (one, year) in enumerate(zip(both, years, strict=True))
        ]
        before, after = (year.asking(one) for year, one in zip(years, redrawn, strict=True))
        for _ in range(pairs):
            yield before, after
        return


def transcript(mechanism: str, request: Request, codes: AnyCodes, *seed: int) -> Transcript:
    """The transcript of one simulated release."""
    how = MECHANISMS[mechanism]
    plan = planned(how, request)
    rng = np.random.default_rng([JUDGE, *seed])
    transcribing = Transcribing(SimulatedCurator(codes=codes, adjacency=request.adjacency, rng=rng))
    how.measure(transcribing, plan, how.select(transcribing, plan))
    return transcribing.transcript


@dataclass(frozen=True, eq=False)
class Truth:
    """The change between the private tables: one number or, of quantiles, the least and the
    greatest that it may be, as values lie in their cells; and the relative change."""

    least: float
    greatest: float
    relative: float

    @classmethod
    def of(cls, comparing: Comparing) -> "Truth":
        """From answers beside which records, here the private ones, tell theirs."""
        question = comparing.question
        told = [
            of.answer(question, confidence=CONFIDENCE).answers[0].of_records
            for of in (comparing.before, comparing.after)
        ]
        before, after = (float("nan") if one is None else one for one in told)
        relative = after / before - 1 if before > 0 else float("nan")
        if question.first.kind != "quantile":
            return cls(after - before, after - before, relative)
        assert question.first.column is not None, "a quantile has a column"
        lows, highs = comparing.after.ends(question.first.column)
        cells = [int(np.argmin(np.abs((lows + highs) / 2 - one))) for one in (before, after)]
        return cls(lows[cells[1]] - highs[cells[0]], highs[cells[1]] - lows[cells[0]], relative)

    def is_in(self, found: Change) -> bool:
        """Whether the interval of change contains the change, wherever values lie in cells."""
        assert found.low is not None and found.high is not None, "tables answered"  # noqa: PT018
        slack = 1e-9 * max(1.0, abs(self.least), abs(self.greatest))
        return found.low - slack <= self.least and self.greatest <= found.high + slack


def coverage(
    setting: Setting, cases: Sequence[Sequence[Year]], releases: int, number: int
) -> dict[str, dict[str, float]]:
    """By class of questions: share covered, its deviation over pairs, unknown and told changes.

    Args:
        cases: tables of two years, each with questions of its own.
        releases: pairs for each.
        number: of questions of every class.
    """
    held: dict[str, list[list[bool]]] = defaultdict(list)
    counts: Counter[tuple[str, str]] = Counter()
    for case, years in enumerate(cases):
        asked = questions(years[0], np.random.default_rng([JUDGE, case] if case else JUDGE), number)
        requests = [request(of, setting) for of in years]
        truths: dict[str, Truth] = {}
        for before, after in releases_of(setting.mechanism, requests, years, releases):
            verdicts: dict[str, list[bool]] = defaultdict(list)
            for kind, text in ((kind, text) for kind, texts in asked.items() for text in texts):
                comparing = posed(text, before, after, {}).comparing
                if text not in truths:
                    truths[text] = Truth.of(comparing)
                (found,) = comparing.changes(CONFIDENCE)
                judge(kind, found, truths[text], verdicts, counts)
            for kind, told in verdicts.items():
                held[kind].append(told)
    return {
        kind: {
            "covered": float(np.mean([one for every in told for one in every])),
            "deviation": float(np.std([np.mean(every) for every in told]) / len(told) ** 0.5),
            "intervals": sum(map(len, told)),
            "unknown": counts[kind, "unknown"],
            "told": counts[kind, "told"],
        }
        for kind, told in held.items()
    }


def judge(
    kind: str,
    found: Change,
    truth: Truth,
    verdicts: dict[str, list[bool]],
    counts: Counter[tuple[str, str]],
) -> None:
    """Count one change, and its relative change, by the class of its question."""
    if found.low is None or found.high is None or not np.isfinite(found.high - found.low):
        counts[kind, "unknown"] += 1
        return
    if found.basis == "records":
        return
    for one in (kind, "all"):
        verdicts[one].append(truth.is_in(found))
    counts[kind, "told"] += found.is_told
    if found.relative is not None and np.isfinite(found.relative.high - found.relative.low):
        is_in = found.relative.low <= truth.relative <= found.relative.high
        verdicts[f"relative: {kind}"].append(is_in)


def request(of: Year, setting: Setting) -> Request:
    """What the mechanism is asked for."""
    domain = TableCodec.of(of.spec.columns).domain
    return simulated.asked(
        domain,
        of.codes,
        setting.epsilon,
        delta=setting.delta,
        adjacency=Adjacency(neighbours=setting.neighbours),
    )


def named(setting: Setting, years: Sequence[Year], releases: int) -> dict[str, float]:
    """How often each table was named as changed, and any at all (`any`)."""
    requests = [request(of, setting) for of in years]
    counts: Counter[str] = Counter()
    for before, after in releases_of(setting.mechanism, requests, years, releases):
        found = shifts(before, after, {}, confidence=CONFIDENCE, within=0.01)
        changed = [one.columns[0] for one in found.tables if one.changed]
        counts.update(changed)
        counts["any"] += bool(changed)
    return {name: counts[name] / releases for name in (*COLUMNS, "any")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all kinds of release, and print or write a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    epsilons = [Fraction(1, 2), Fraction(2)]
    parser.add_argument("--epsilon", nargs="+", default=epsilons, type=Fraction)
    parser.add_argument("--mechanism", nargs="+", default=["privpgd"])
    relations = [one.value for one in Neighbours]
    parser.add_argument("--neighbours", nargs="+", default=relations, choices=relations)
    parser.add_argument("--delta", default=simulated.DELTA, type=Fraction)
    parser.add_argument("--releases", type=int, default=100, help="pairs of releases")
    parser.add_argument("--questions", type=int, default=8, help="of every class")
    parser.add_argument("--null", action="store_true", help="both releases of the same year")
    parser.add_argument("--drawn", type=int, help="so many pairs of drawn tables instead")
    parser.add_argument("--write", type=Path, help="folder for change.json")
    options = parser.parse_args(arguments)
    if options.drawn:
        cases: list[Sequence[Year]] = [drawn(number) for number in range(options.drawn)]
    else:
        tables = {year: Year.of(year) for year in YEARS}
        cases = [[tables[YEARS[0]], tables[YEARS[0 if options.null else 1]]]]
    results: list[Mapping[str, object]] = []
    for mechanism, epsilon, relation in product(
        options.mechanism, options.epsilon, map(Neighbours, options.neighbours)
    ):
        start = time.process_time()
        setting = Setting(mechanism, epsilon, options.delta, relation)
        print(f"\n{setting}", flush=True)
        tables_named = {} if options.drawn else named(setting, cases[0], options.releases)
        print("  named: " + ", ".join(f"{k} {v:.2f}" for k, v in tables_named.items()))
        found = (
            {} if options.null else coverage(setting, cases, options.releases, options.questions)
        )
        for kind, row in found.items():
            print(
                f"  {kind:34} {row['covered']:.3f} ± {row['deviation']:.3f}  of "
                f"{row['intervals']}  unknown {row['unknown']}  told {row['told']}"
            )
        print(f"  {time.process_time() - start:.0f} CPU s", flush=True)
        results.append(
            {
                "mechanism": mechanism,
                "epsilon": float(epsilon),
                "delta": float(options.delta),
                "neighbours": relation.value,
                "releases": options.releases,
                "null": options.null,
                "named": tables_named,
                "classes": found,
            }
        )
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"confidence": CONFIDENCE, "results": results}, indent=1) + "\n"
        (options.write / "change.json").write_text(text)


if __name__ == "__main__":
    main()
