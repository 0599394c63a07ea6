"""Whether forecasts of needs hold: on five public tables, against simulated releases of them.

    HALLMARK_BENCHMARK_DATA=... python -m benchmarks.needs          # 20 CPU minutes
    python -m benchmarks.needs --table nist-acs --mechanism privpgd
    python -m benchmarks.needs --write needs.json

A judge draws twenty needs a table from the language of questions, with a seed of its own, before
anything is planned. A need states what somebody would know from last year: the share of records in
the smallest group that matters (the smallest of at least a fiftieth of the table), and roughly its
answer, both to two digits. Each mechanism's plan forecasts how wide that group's interval is; then
the mechanism runs with its true law of noise (`SimulatedCurator`) on the table, and the judge takes
the median width of that group's interval. It also counts how often a need was kept that was
forecast to be `met` or `expected`, or `missed`.

For `--solve`, the judge looks for the least epsilon by halving, with releases alone: the median
width of several at each epsilon, with the same seeds.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import floor, inf, isfinite, log10, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.need_tables import TABLES, JudgedTable
from hallmark.mechanisms.arrays import AnyCodes, Counts
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.transcript import Transcribing, Transcript
from hallmark.mechanisms.privacy.queries import HistogramQuery
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.schemas.columns.category_columns import CategoryColumn
from hallmark.schemas.columns.columns import NumericColumn
from hallmark.schemas.needs import Need
from hallmark.schemas.question import QuestionError
from hallmark.tasks.forecast.needs import need_forecasts
from hallmark.tasks.forecast.solution import solved
from hallmark.tasks.planning.prepare import at_epsilon
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.questions.questioning import Questioning
from hallmark.tasks.record.kept import kept_needs

JUDGE = 20_261_129
NEEDS = 20  # of a table
RELEASES = 5
SMALLEST = 0.02  # share of the records, below which no group matters
ALL, PURE = {"epsilon": "1", "delta": "1e-5"}, {"epsilon": "1"}
QUERIES = [{"marginals": {"ways": 2}}]
OF_ALL = ("privpgd", "privpgd-paper", "private-gsd")
OF_FEW = ("pmm", "pmm-h", "psmm", "sparse-lipschitz", "linear-queries")
SOLVED = (("nist-acs", "privpgd"), ("adult", "private-gsd"), ("cps-wages", "pmm"))
KINDS = (
    "count by", "count where", "share by", "share", "mean by", "mean", "sum by", "quantile",
    "median by", "difference of shares", "ratio of counts",
)  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """What became of a need."""

    kind: str
    question: str
    outlook: str
    predicted: float | None
    realised: float | None
    kept: int
    releases: int

    @property
    def ratio(self) -> float | None:
        """The forecast as a multiple of what came of it."""
        return self.predicted / self.realised if self.predicted and self.realised else None


def drawn(of: Prepared, rng: np.random.Generator) -> Iterator[tuple[str, str, float]]:
    """Kinds, questions and how precise their answers must be, without end."""
    columns = of.spec.columns
    numbers = [n for n, one in columns.items() if isinstance(one, NumericColumn)]
    groups = [n for n, one in columns.items() if isinstance(one, CategoryColumn)]
    groups += [n for n in columns if n not in numbers and n not in groups]  # yes or no

    def condition(name: str) -> str:
        column = columns[name]
        if isinstance(column, NumericColumn):
            edges = of.codec.named(name).column.edges
            return f"`{name}` >= {float(edges[int(rng.integers(1, len(edges) - 1))]):g}"
        if isinstance(column, CategoryColumn):
            return f'`{name}` = "{rng.choice(list(column.categories))}"'
        return f"`{name}` = true"

    def other(names: Sequence[str], than: str) -> str:
        left = [one for one in names if one != than]
        return str(rng.choice(left)) if left else than

    while True:
        kind = str(rng.choice(KINDS))
        group, number = str(rng.choice(groups)), str(rng.choice(numbers))
        about = condition(other(list(columns), group))
        width = float(rng.choice([0.005, 0.01, 0.02, 0.05]))
        span = float(columns[number].maximum - columns[number].minimum)  # type: ignore[union-attr]
        records = width * of.plan.expected_records
        match kind:
            case "count by":
                yield kind, f"count by `{group}`", records
            case "count where":
                yield kind, f"count where {about} by `{group}`", records
            case "share by":
                yield kind, f"share of {about} by `{group}`", width
            case "share":
                yield kind, f"share of {about}", width
            case "mean by":
                yield kind, f"mean of `{number}` by `{group}`", width * span
            case "mean":
                yield kind, f"mean of `{number}`", width * span
            case "sum by":
                yield kind, f"sum of `{number}` by `{group}`", records * span / 2
            case "quantile":
                part = float(rng.choice([0.1, 0.25, 0.75, 0.9]))
                yield kind, f"quantile {part} of `{number}`", 2 * width * span
            case "median by":
                yield kind, f"median of `{number}` by `{group}`", 2 * width * span
            case "difference of shares":
                second = condition(group)
                about = condition(other(list(columns), group))
                yield (
                    kind,
                    f"share of {about} where {second} minus share of {about}",
                    width,
                )
            case "ratio of counts":
                yield kind, f"count where {condition(group)} over count where {about}", 2 * width


class _Exact(SimulatedCurator):
    """A curator without noise, from which the judge knows what somebody would know."""

    def _noisy(self, query: HistogramQuery, counts: Counts) -> Counts:
        return query.transform(counts)


def transcript(of: Prepared, codes: AnyCodes, seed: int | None) -> Transcript:
    """Of a simulated release; of one without noise where there is no seed."""
    kind = _Exact if seed is None else SimulatedCurator
    rng = np.random.default_rng([JUDGE, seed or 0])
    transcribing = Transcribing(kind(codes=codes, adjacency=of.plan.adjacency, rng=rng))
    of.ask(transcribing)
    return transcribing.transcript


def stated(
    asking: Questioning, total: int, question: str, within: float
) -> tuple[Need, int] | None:
    """The need, and which group it is about; None where nobody could mean it."""
    try:
        bound = asking.bound(question)
        answering = asking.answering(bound)
        groups = list(answering.equations(bound))
    except QuestionError:
        return None
    sizes = [answering.records_behind(bound, one) for one in groups]
    counts = not isfinite(sizes[0])
    large = [size for size in sizes if size >= SMALLEST * total]
    if not large:
        return None
    at = sizes.index(min(large))
    told: dict[str, Any] = {"question": question, "within": f"{within:.3g}", "stated_by": "judge"}
    simple = bound.compared is None and bound.first.kind in ("share", "mean")
    simple |= bound.compared is not None and bound.compared[0] == "over"
    if not counts:
        told["smallest_group"] = _two_digits_below(min(large) / total)
    if simple:
        found, _ = answering.interval(bound, groups[at].estimates, groups[at].rows, 0.95)
        told["about"] = f"{found.estimate:.2g}"
    return Need.model_validate(told), -1 if counts else at


def _two_digits_below(share: float) -> str:
    """A share as somebody states the least that there is: rounded down."""
    step = 10.0 ** (floor(log10(share)) - 1)
    return f"{floor(share / step * (1 + 1e-9)) * step:.2g}"


def width_of(asking: Questioning, need: Need, group: int) -> float:
    """Half of the group's interval; of the widest group's where it is none."""
    question = asking.bound(need.question)
    try:
        answers = asking.answer(question, confidence=float(need.confidence)).answers
    except QuestionError:
        return inf
    chosen = answers if group < 0 else [answers[group]]
    widths = [
        inf if one.low is None or one.high is None else (one.high - one.low) / 2 for one in chosen
    ]
    return max(widths)


def judged(of: Prepared, codes: AnyCodes, releases: int, seed: int) -> list[Judged]:
    """All needs of a table."""
    rng = np.random.default_rng([JUDGE, seed])
    exact = Questioning(of.spec, Estimator.of(transcript(of, codes, None)))
    chosen: dict[str, tuple[str, Need, int]] = {}
    for kind, question, within in drawn(of, rng):
        if question not in chosen and (one := stated(exact, len(codes), question, within)):
            chosen[question] = kind, *one
        if len(chosen) == NEEDS:
            break
    needs = [need for _, need, _ in chosen.values()]
    forecasts = list(need_forecasts(of, needs))
    widths: list[list[float]] = [[] for _ in needs]
    kept = [0] * len(needs)
    spec = of.spec.model_copy(update={"needs": tuple(needs)})
    for release in range(releases):
        told = transcript(of, codes, release)
        asking = Questioning(of.spec, Estimator.of(told))
        for at, (_, need, group) in enumerate(chosen.values()):
            widths[at].append(width_of(asking, need, group))
        for at, one in enumerate(kept_needs(spec, of.codec, told)):
            kept[at] += one.is_kept
    return [
        Judged(
            kind,
            need.question,
            told.outlook,
            told.half_width,
            middle if isfinite(middle := float(np.median(wide))) else None,
            times,
            releases,
        )
        for (kind, need, _), told, wide, times in zip(
            chosen.values(), forecasts, widths, kept, strict=True
        )
    ]


def least_of_releases(of: Prepared, need: Need, group: int, codes: AnyCodes) -> float:
    """The least epsilon at which the median width of nine releases is narrow enough."""

    @cache
    def width(epsilon: Fraction) -> float:
        try:
            other = at_epsilon(of, epsilon)
        except PlanRefused:
            return inf
        tables = (Estimator.of(transcript(other, codes, seed)) for seed in range(9))
        wide = [width_of(Questioning(of.spec, one), need, group) for one in tables]
        return float(np.median(wide))

    low, high = Fraction(1, 1000), Fraction(100)
    while high / low > Fraction(1005, 1000):
        middle = Fraction(f"{sqrt(low * high):.4g}")
        if width(middle) <= float(need.half_width):
            high = middle
        else:
            low = middle
    return float(high)


def solutions(of: Prepared, codes: AnyCodes, seed: int) -> Iterator[dict[str, Any]]:
    """Least epsilons of a count, a share and a mean, as solved and as found by releases."""
    rng = np.random.default_rng([JUDGE, seed])
    exact = Questioning(of.spec, Estimator.of(transcript(of, codes, None)))
    wanted = ["count by", "share by", "mean by"]
    for kind, question, within in drawn(of, rng):
        if not wanted:
            return
        if kind not in wanted or not (one := stated(exact, len(codes), question, within)):
            continue
        need, group = one
        wanted.remove(kind)
        start = time.process_time()
        solution = solved(of, [need]).epsilon
        took = time.process_time() - start
        if solution is None:
            continue
        found = least_of_releases(of, need, group, codes)
        yield {
            "need": f"{need.question} within {need.within}",
            "solved": float(solution),
            "by_releases": found,
            "seconds": round(took, 1),
        }


def summary(found: Sequence[Judged]) -> dict[str, Any]:
    """By kind of forecast: how far from what came of it, and how often needs were kept."""
    ratios: defaultdict[str, list[float]] = defaultdict(list)
    kept: defaultdict[str, list[int]] = defaultdict(list)
    for one in found:
        if one.ratio is not None:
            ratios[one.kind].append(one.ratio)
        kept[one.outlook] += [one.kept, one.releases]
    return {
        "within_10_percent": [
            sum(abs(one - 1) <= 0.1 for every in ratios.values() for one in every),
            sum(map(len, ratios.values())),
        ],
        "ratios": {kind: [round(one, 3) for one in every] for kind, every in ratios.items()},
        "kept": {outlook: [sum(n[::2]), sum(n[1::2])] for outlook, n in kept.items()},
        "untold": sum(one.predicted is None for one in found),
        "untold_but_answered": sum(
            one.predicted is None and one.realised is not None for one in found
        ),
    }


def _spec_of(name: str) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    if name == "linear-queries":
        return {"name": name, "queries": QUERIES}, ALL
    return {"name": name}, ALL if name in OF_ALL else PURE


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge all tables and mechanisms, and print or write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--table", nargs="+", default=[one.name for one in TABLES])
    parser.add_argument("--mechanism", nargs="+", default=[*OF_ALL, *OF_FEW])
    parser.add_argument("--releases", type=int, default=RELEASES)
    parser.add_argument("--solve", action="store_true", help="judge least epsilons as well")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args(arguments)
    results, solved_ones = [], []
    for seed, table in enumerate(TABLES):
        for name in options.mechanism if table.name in options.table else ():
            start = time.process_time()
            of, codes = _prepared(table, name)
            found = judged(of, codes, options.releases, seed)
            told = summary(found)
            results.append({"table": table.name, "mechanism": name} | told)
            print(
                table.name,
                name,
                json.dumps(told),
                f"{time.process_time() - start:.0f} CPU s",
                flush=True,
            )
            for one in found:
                print(f"    {one.ratio or 0:.3f} {one.outlook:10} {one.kept} {one.question}")
            if options.solve and (table.name, name) in SOLVED:
                for one in solutions(of, codes, seed):
                    print("   ", json.dumps(one), flush=True)
                    solved_ones.append({"table": table.name, "mechanism": name} | one)
    if options.write:
        text = json.dumps({"needs": results, "solved": solved_ones}, indent=1)
        options.write.write_text(text + "\n")


def _prepared(table: JudgedTable, mechanism: str) -> tuple[Prepared, AnyCodes]:
    chosen, privacy = _spec_of(mechanism)
    with TemporaryDirectory() as folder:
        of, frame = table.prepared(Path(folder), chosen, privacy, few=mechanism not in OF_ALL)
    return of, of.codec.encode(frame)


if __name__ == "__main__":
    main()
