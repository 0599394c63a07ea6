"""The page of the comparison, written from the results: tables in Markdown, and plots."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.comparison.journal import FOLDER, Result, commits, read
from benchmarks.comparison.methods import PEERS
from benchmarks.comparison.plots import plot_errors
from benchmarks.comparison.scores import METRICS
from benchmarks.comparison.summary import Row, best, ratio, rows, settings
from benchmarks.data import ROOT

PAGE = ROOT / "docs/benchmark"

_RELATIONS = {
    "add_remove": "a record is added or removed",
    "replace_one": "a record is replaced",
}

_HEAD = """# Hallmark beside published peers

This page is made by `python -m benchmarks.comparison report` from `benchmarks/comparison/results`,
one JSON line a run, each with its versions, times, date and commit. All numbers but those marked †
come from runs of the comparison itself.

**Data.** `adult` (15 columns, 39,073 records) and `acs_nat` (a national census excerpt, 19 columns,
21,802 records), coded to at most 32 cells a column. All methods get the same codes, the public
domain, δ = 10⁻⁵ and one thread; a fifth of the records is held out and seen by no method.

**Metrics**, all of which are better when smaller: error of gradient boosting that learnt on the
synthetic records, on the held-out ones; relative error of the covariance matrix; mean relative
error of 200 counting and 200 threshold queries on three columns each; mean sliced W1 distance, and
mean total variation, of all pairs of columns (`mechanisms/utility`).

**Relations.** An ε where a record may be replaced says more than one where it is added or removed,
so a peer is compared with ours at *its* relation. ⇄ marks a peer that protects the other relation
and was given as much less budget as that takes (the proof is in
`benchmarks/comparison/relations.py`).

**Numbers** are means ± standard deviations over seeds; `runs` counts those that made a table. The
best peer of each column is **bold**. Times are of the whole process, imports and compilation
included; CPU seconds are the ones to compare, since the machine was shared. † marks numbers copied
from the README of the benchmark data (one or two seeds, not repeated here, some metrics missing):
dpsynth and Private GSD had no package that could be installed by name.
"""


def write_report(folder: Path = PAGE, results: Path = FOLDER) -> list[Path]:
    """Write the page and its plots; returns their paths.

    Raises:
        ValueError: there are no results, or a line is not one.
    """
    found = list(read(results).values())
    if not found:
        raise ValueError(f"there are no results in {results}; run some first")
    folder.mkdir(parents=True, exist_ok=True)
    plots = {
        relation: plot_errors(found, relation, folder / f"{relation}.png")
        for relation in _RELATIONS
        if any(result.relation == relation for result in found)
    }
    page = folder / "README.md"
    page.write_text(markdown(found, {relation: path.name for relation, path in plots.items()}))
    return [page, *plots.values()]


def markdown(results: Sequence[Result], plots: dict[str, str]) -> str:
    """The page; `plots` are file names by relation."""
    parts = [_HEAD, "## In short\n", _IN_SHORT, _ratios(results)]
    for relation, words in _RELATIONS.items():
        here = [result for result in results if result.relation == relation]
        if not here:
            continue
        parts.append(f"## Where {words}\n")
        if relation in plots:
            parts.append(f"![Errors by epsilon, {words}]({plots[relation]})\n")
        for setting in settings(here):
            parts.append(f"### {setting.data}, ε = {setting.epsilon}\n")
            parts.append(_table(rows(here, setting)))
    parts.append("## The peers\n")
    parts.append(_peers(results))
    named = ", ".join(f"`{commit}`" for commit in commits(results) if commit != "none")
    parts.append(f"States of this repository that results come from: {named}.\n")
    return "\n".join(parts)


_IN_SHORT = """The best of ours relative to the best peer, each metric for itself: below 1, ours is
better than every peer.
"""


def _ratios(results: Sequence[Result]) -> str:
    body = []
    for setting in settings(results):
        found = rows(results, setting)
        ratios = [ratio(found, metric) for metric in METRICS]
        if any(value is not None for value in ratios):
            place = [setting.relation, setting.data, setting.epsilon]
            body.append([*place, *("–" if v is None else f"{v:.2f}" for v in ratios)])
    if not body:
        return "There is no setting yet with results of both.\n"
    return _grid(["relation", "data", "ε", *METRICS.values()], body)


def _table(found: Sequence[Row]) -> str:
    leaders = {metric: best(found, metric, ours=False) for metric in METRICS}
    body = []
    for row in found:
        cells = [
            _emphasised(str(row.metrics[metric]), row is leaders[metric])
            if metric in row.metrics
            else "–"
            for metric in METRICS
        ]
        if row.undone and not row.done:
            cells[0] = row.undone
        body.append([_name(row), _runs(row), *cells, _whole(row.cpu_s), _whole(row.peak_mib)])
    ratios = [ratio(found, metric) for metric in METRICS]
    if any(value is not None for value in ratios):
        shown = ["" if value is None else f"{value:.2f}" for value in ratios]
        body.append(["*best of ours / best peer*", "", *shown, "", ""])
    return _grid(["method", "runs", *METRICS.values(), "CPU s", "peak MiB"], body)


def _name(row: Row) -> str:
    marks = (" ⇄" if row.converted else "") + (" †" if row.reported else "")
    return (f"`{row.label}`" if row.ours else row.label) + marks


def _runs(row: Row) -> str:
    if row.reported:
        return "–"
    return str(row.done) if row.done == row.runs else f"{row.done} of {row.runs}"


def _peers(results: Iterable[Result]) -> str:
    body = []
    for name, method in PEERS.items():
        versions = sorted(
            {
                ", ".join(f"{package} {number}" for package, number in known.items())
                for result in results
                if result.method == name and (known := result.facts.get("versions"))
            }
        )
        protects = ", ".join(_RELATIONS[relation] for relation in method.relations)
        made_with = "; ".join(versions) or "–"
        body.append([name, made_with, protects, method.total, method.accounting])
    head = ["peer", "versions", "protects where", "number of records", "notes"]
    return _grid(head, body)


def _grid(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(_escaped(c) for c in line) + " |" for line in lines) + "\n"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


def _emphasised(text: str, strong: bool) -> str:
    return f"**{text}**" if strong else text


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"
