"""How often intervals from noisy tables contain the private table's number, and how long they are.

    python -m benchmarks.intervals                       # 300 releases of each kind, 20 CPU minutes
    python -m benchmarks.intervals --releases 20 --epsilon 1
    python -m benchmarks.intervals --mechanism aim mst --releases 60   # chosen on answers
    python -m benchmarks.intervals --write docs/benchmark

The population is the RAND Health Insurance Experiment, on which no default was chosen. Each
release is measured anew (by SimulatedCurator, whose answers must not be published), with the plan,
the transcript and the estimates of a real one. A judge draws the questions of every class with a
seed of its own. Printed are the share of intervals that contain the truth, with the deviation of
that share over releases, and the mean length of the intervals relative to those from the best
single table.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
from statsmodels.datasets import randhie

from benchmarks import simulated
from hallmark.mechanisms.arrays import AnyCodes, Floats
from hallmark.mechanisms.inference.blue import NotMeasured
from hallmark.mechanisms.inference.estimates import Estimates
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.inference.transcript import Transcribing, Transcript
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.registry import MECHANISMS, planned
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.request import Request
from hallmark.schemas.loading import load_spec
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.questions.answers import first_order
from hallmark.tasks.questions.functions import Function, cells_between

SPEC = Path(__file__).parents[1] / "hallmark" / "schemas" / "examples" / "rand-hie.yaml"
CONFIDENCE = 0.95
JUDGE = 20_261_125
QUESTIONS = 12  # of a class
GROUPS = ("idp", "hlthg", "hlthf", "hlthp")  # columns with two cells
NUMBERS = ("mdvis", "lncoins", "lpi", "fmde", "disea")


@dataclass(frozen=True)
class Asked:
    """A question as linear queries, its truth, and whether an interval contains that.

    Attributes:
        pieces: whose sums over all records the answer is made of.
        judge: from estimates and the pieces' unit vectors: whether the truth lies inside, and the
            length; None where no finite interval is given.
    """

    kind: str
    pieces: tuple[Function, ...]
    judge: Callable[[Estimates, Sequence[Floats]], tuple[bool, float] | None]


def questions(codec: TableCodec, codes: AnyCodes, rng: np.random.Generator) -> list[Asked]:
    """The judge's questions: so many of every class, on columns and ranges that it draws."""

    def size(name: str) -> int:
        return codec.named(name).attribute.cells

    def part(name: str) -> Function:
        """Some range of the column's cells, at least one and not all."""
        first, last = sorted(rng.choice(size(name) + 1, 2, replace=False))
        if last - first == size(name):
            last -= 1
        return cells_between(codec, name, int(first), int(last) - 1)

    def two(names: Sequence[str]) -> tuple[str, str]:
        one, other = rng.choice(names, 2, replace=False)
        return str(one), str(other)

    def value(name: str) -> Function:
        column = codec.names.index(name)
        return Function((column,), np.arange(size(name), dtype=np.float64))

    def linear(kind: str, *pieces: Function) -> Asked:
        """The sum of the first piece less those of all others."""
        truth = pieces[0].of(codes).sum() - sum(piece.of(codes).sum() for piece in pieces[1:])

        def judge(found: Estimates, units: Sequence[Floats]) -> tuple[bool, float]:
            interval = found.interval(2 * units[0] - np.sum(units, axis=0), CONFIDENCE)
            return interval.low <= truth <= interval.high, interval.high - interval.low

        return Asked(kind, pieces, judge)

    def ratio(kind: str, above: Function, below: Function) -> Asked | None:
        if not below.of(codes).sum():
            return None
        truth = above.of(codes).sum() / below.of(codes).sum()

        def judge(found: Estimates, units: Sequence[Floats]) -> tuple[bool, float] | None:
            interval = found.ratio(units[0], units[1], CONFIDENCE)
            length = interval.high - interval.low
            return (interval.low <= truth <= interval.high, length) if np.isfinite(length) else None

        return Asked(kind, (above, below), judge)

    def contrast(kind: str, *pieces: Function) -> Asked | None:
        """The first ratio less the second, by linear approximation as `hallmark query` does."""
        up, down, other, below = (piece.of(codes).sum() for piece in pieces)
        if not (down and below):
            return None
        truth = up / down - other / below

        def judge(found: Estimates, units: Sequence[Floats]) -> tuple[bool, float] | None:
            interval = first_order("minus", found, units[:2], units[2:], CONFIDENCE)
            length = interval.high - interval.low
            return (interval.low <= truth <= interval.high, length) if np.isfinite(length) else None

        return Asked(kind, pieces, judge)

    def quantile(name: str, group: Function) -> Asked:
        share = float(rng.uniform(0.1, 0.9))
        pieces = tuple(
            group * cells_between(codec, name, 0, cell) + (group * all_of(name)).times(-share)
            for cell in range(size(name))
        )
        truth = next(k for k, piece in enumerate(pieces) if piece.of(codes).sum() >= -1e-9)

        def judge(found: Estimates, units: Sequence[Floats]) -> tuple[bool, float]:
            crossing = found.crossing(units, CONFIDENCE)
            return crossing.low <= truth <= crossing.high, float(crossing.high - crossing.low + 1)

        return Asked("quantiles in a group", pieces, judge)

    def all_of(name: str) -> Function:
        return cells_between(codec, name, 0, size(name) - 1)

    asked: list[Asked | None] = []
    for _ in range(QUESTIONS):
        one, other = two(codec.names)
        group, second = two(GROUPS)
        number = str(rng.choice(NUMBERS))
        inside = cells_between(codec, group, 0, 0)
        asked += [
            linear("counts of a range", part(one)),
            linear("counts of two ranges", part(one) * part(other)),
            linear("differences of counts", part(one) * inside, part(number) * inside)
            if one != group
            else None,
            ratio("means", value(number), all_of(number)),
            ratio("means in a group", value(number) * inside, all_of(number) * inside),
            contrast(
                "differences of means",
                value(number) * inside,
                all_of(number) * inside,
                value(number) * cells_between(codec, group, 1, 1),
                all_of(number) * cells_between(codec, group, 1, 1),
            ),
            ratio("shares in a group", part(number) * inside, all_of(number) * inside),
            ratio("ratios of counts", inside, cells_between(codec, second, 0, 0)),
            quantile(number, inside),
        ]
    return [one for one in asked if one is not None]


def measured(name: str, request: Request, codes: AnyCodes, seed: int) -> Transcript:
    """The transcript of one simulated release."""
    mechanism = MECHANISMS[name]
    plan = planned(mechanism, request)
    rng = np.random.default_rng([JUDGE, seed])
    transcribing = Transcribing(SimulatedCurator(codes=codes, adjacency=request.adjacency, rng=rng))
    mechanism.measure(transcribing, plan, mechanism.select(transcribing, plan))
    return transcribing.transcript


def coverage(
    mechanism: str, request: Request, codec: TableCodec, codes: AnyCodes, releases: int
) -> dict[str, dict[str, float]]:
    """By class of questions: share covered, its deviation, relative length, and answers without an
    interval, since noise hides them or since nothing was measured."""
    asked = questions(codec, codes, np.random.default_rng(JUDGE))
    inside: dict[str, list[list[bool]]] = {}
    lengths: dict[str, list[float]] = {}
    unknown: dict[str, int] = {}
    solved: list[Estimates | None] = []
    first: tuple[MeasuredTable, ...] = ()
    for release in range(releases):
        transcript = measured(mechanism, request, codes, release)
        tables = tuple(transcript.tables())
        if release and not transcript.choices:  # weights depend on what is asked, not on answers
            now = [one and _of_other_answers(one, first, tables) for one in solved]
        else:
            first, estimator = tables, Estimator(tables, transcript.total)
            now = solved = [_estimates(estimator, one) for one in asked]
        told: dict[str, list[bool]] = {}
        for one, found in zip(asked, now, strict=True):
            verdict = one.judge(found, list(np.eye(len(one.pieces)))) if found else None
            if verdict is None:
                unknown[one.kind] = unknown.get(one.kind, 0) + 1
                continue
            told.setdefault(one.kind, []).append(verdict[0])
            if (
                release == 0
                and not transcript.choices
                and (best := best_alone(one, tables, transcript.total))
            ):
                lengths.setdefault(one.kind, []).append(verdict[1] / best)
        for kind, verdicts in told.items():
            inside.setdefault(kind, []).append(verdicts)
    return {
        kind: {
            "covered": float(np.mean([v for one in every for v in one])),
            "deviation": float(np.std([np.mean(one) for one in every]) / len(every) ** 0.5),
            "intervals": sum(len(one) for one in every),
            "unknown": unknown.get(kind, 0),
            "length": float(np.mean(lengths[kind])) if kind in lengths else float("nan"),
        }
        for kind, every in inside.items()
    }


def _estimates(estimator: Estimator, one: Asked) -> Estimates | None:
    """The estimates of a question's pieces; None where nothing was measured of one."""
    try:
        return estimator.estimates([piece.query() for piece in one.pieces])
    except NotMeasured:
        return None


def _of_other_answers(
    found: Estimates, tables: Sequence[MeasuredTable], others: Sequence[MeasuredTable]
) -> Estimates:
    """The estimates with the answers of other tables, each in the place of one of `tables`."""
    place = {id(table): position for position, table in enumerate(tables)}
    mine = tuple(others[place[id(table)]] for table in found.weights.tables)
    return replace(found, weights=replace(found.weights, tables=mine))


def best_alone(one: Asked, tables: Sequence[MeasuredTable], total: int | None) -> float | None:
    """Length of the interval from the single table that gives the shortest."""
    found = []
    touched = {column for piece in one.pieces for column in piece.columns}
    for table in tables:
        if not touched <= set(table.columns):
            continue
        try:
            estimates = Estimator((table,), total).estimates([p.query() for p in one.pieces])
        except NotMeasured:
            continue
        verdict = one.judge(estimates, list(np.eye(len(one.pieces))))
        found += [verdict[1]] if verdict else []
    return min(found, default=None)


def table_and_domain() -> tuple[TableCodec, AnyCodes]:
    """The columns of the example spec, and the table in their cell codes."""
    codec = TableCodec.of(load_spec(SPEC).columns)
    frame = randhie.load_pandas().data.astype(dict.fromkeys(GROUPS, "int64")).astype("str")
    return codec, codec.encode(frame)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all kinds of release, and print or write a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    epsilons = [Fraction(1, 2), Fraction(1), Fraction(5, 2)]
    parser.add_argument("--epsilon", nargs="+", default=epsilons, type=Fraction)
    parser.add_argument("--mechanism", nargs="+", default=["privpgd"])
    parser.add_argument("--releases", type=int, default=300)
    parser.add_argument("--write", type=Path, help="folder for coverage.json")
    options = parser.parse_args(arguments)
    codec, codes = table_and_domain()
    results = []
    for mechanism, epsilon, relation in product(options.mechanism, options.epsilon, Neighbours):
        start = time.process_time()
        adjacency = Adjacency(neighbours=relation)
        request = simulated.asked(codec.domain, codes, epsilon, adjacency=adjacency)
        found = coverage(mechanism, request, codec, codes, options.releases)
        results.append(
            {
                "mechanism": mechanism,
                "epsilon": float(epsilon),
                "neighbours": relation.value,
                "releases": options.releases,
                "classes": found,
            }
        )
        print(
            f"\n{mechanism}, epsilon {float(epsilon):g}, {relation.value}, "
            f"{options.releases} releases"
        )
        for kind, row in found.items():
            print(
                f"  {kind:24} {row['covered']:.3f} ± {row['deviation']:.3f}"
                f"  length {row['length']:.2f}  unknown {row['unknown']}"
            )
        print(f"  {time.process_time() - start:.0f} CPU s", flush=True)
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"confidence": CONFIDENCE, "results": results}, indent=1) + "\n"
        (options.write / "coverage.json").write_text(text)


if __name__ == "__main__":
    main()
