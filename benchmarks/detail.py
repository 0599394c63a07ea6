"""What detail gains: released numbers against the private ones, in their own unit.

    python -m benchmarks.detail --data national ma adult --seeds 1 2

Tables with incomes are released by privpgd (replace one, epsilon 1, delta 1e-5; measured by
SimulatedCurator, whose answers must not be published) on cells alone, values spread evenly within
(detail 0), with detail, and with `detail: values` where a column can have it, at the default share
of epsilon or at others. Printed are, for numeric columns in the unit of
their public interval: the mean over pairs of the sliced 1-Wasserstein distance of values, and of
the middles of the cells that both tables lie in; the mean 1-Wasserstein distance of a column; how
well a tree tells released values of a column from private ones (area under the curve, worst
column); the mean bound. Then the mean total variation of all pairs of columns on the cells, and
CPU seconds. Below that, for incomes, of values other than 0 in the private and the released table:
the share of the 20 values that are the most frequent ones in the private table, and the share of
multiples of 100.
"""

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from pydantic import TypeAdapter
from scipy.stats import wasserstein_distance
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from benchmarks import simulated
from benchmarks.data import ROOT, adult, excerpt
from hallmark.mechanisms.arrays import Codes, Floats
from hallmark.mechanisms.marginals.binning.mechanism import Binned
from hallmark.mechanisms.marginals.mechanism import Marginals
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.utility.pairs import pair_differences
from hallmark.mechanisms.utility.sliced_pairs import directions
from hallmark.schemas.binning import default_share
from hallmark.schemas.columns.columns import Column, NumericColumn
from hallmark.schemas.loading import load_spec
from hallmark.tasks.planning.coding import TableCodec

SPEC = ROOT / "schemas/examples/nist-acs-2019.yaml"
MOST_ROWS = 20_000  # told apart by a tree
INCOMES = ("PINCP", "capital_gain", "capital_loss")
FREQUENT = 20
_ADULT = {  # public intervals and cells
    "age": [17, 20, 22, 24, 26, 28, 30, 33, 36, 39, 42, 45, 48, 51, 55, 60, 65, 70, 80, 91],
    "capital_gain": [0, 1, 2000, 3000, 4000, 5000, 7000, 10000, 15000, 20000, 30000, 100000],
    "capital_loss": [0, 1, 1000, 1500, 1750, 2000, 2250, 2500, 3000, 5000],
    "hours_per_week": [1, 10, 20, 25, 30, 35, 40, 41, 45, 50, 55, 60, 70, 100],
    "fnlwgt": [0, *range(25_000, 500_001, 25_000), 600_000, 800_000, 1_500_000],
}
_CATEGORIES = ("workclass", "education", "marital_status", "occupation", "sex", "income")
_PUBLIC = {"kind": "public", "reference": "codebook"}


@dataclass(frozen=True)
class Source:
    """A table as text, with the columns of a spec."""

    text: pd.DataFrame
    columns: Mapping[str, Column]


def source(name: str) -> Source:
    """One of the tables."""
    if name == "adult":
        text = adult().astype(str)
        columns: dict[str, Any] = {column: _numeric(edges) for column, edges in _ADULT.items()} | {
            column: {
                "type": "nominal",
                "categories": sorted(text[column].unique()),
                "outside": "refuse",
                "bound_source": _PUBLIC,
            }
            for column in _CATEGORIES
        }
        adapter = TypeAdapter[Column](Column)
        return Source(text, {n: adapter.validate_python(c) for n, c in columns.items()})
    spec = load_spec(SPEC)
    text = excerpt(f"{name}2019")
    left = {"INDP"} if name == "national" else {"INDP", "PUMA"}
    columns = spec.without_detail().columns
    return Source(text, {n: c for n, c in columns.items() if n not in left})


def _numeric(edges: list[int]) -> dict[str, Any]:
    return {
        "type": "numeric",
        "integer": True,
        "minimum": edges[0],
        "maximum": edges[-1] - 1,
        "edges": edges,
        "outside": "clamp",
        "bound_source": _PUBLIC,
    }


def with_detail(columns: Mapping[str, Column], detail: str) -> dict[str, Column]:
    """The columns, numbers with detail (16 where single values are too many to be counted)."""
    return {
        name: _detailed(column, detail) if isinstance(column, NumericColumn) else column
        for name, column in columns.items()
    }


def _detailed(column: NumericColumn, detail: str) -> NumericColumn:
    if detail == "0":
        return column
    given = column.model_dump(by_alias=True, exclude_none=True)
    if detail == "values":
        try:
            return NumericColumn.model_validate(given | {"detail": detail})
        except ValueError:
            detail = "16"
    return NumericColumn.model_validate(given | {"detail": int(detail)})


def values(frame: pd.DataFrame, columns: Mapping[str, Column]) -> Floats:
    """Numbers in shares of their public interval, NaN where one is null, shape (rows, numbers)."""
    found = []
    for name, column in columns.items():
        if isinstance(column, NumericColumn):
            low, high = float(column.minimum), float(column.maximum)
            numbers = pd.to_numeric(frame[name], errors="coerce").to_numpy(np.float64)
            found.append((np.clip(numbers, low, high) - low) / (high - low))
    return np.column_stack(found)


def middles(codes: Codes, codec: TableCodec) -> Floats:
    """As `values`, of the middles of cells."""
    found = []
    for place, one in enumerate(codec.codecs):
        if isinstance(one.column, NumericColumn):
            known = np.append(one.attribute.positions, np.nan)
            found.append(known[codes[:, place]])
    return np.column_stack(found)


def sliced(real: Floats, made: Floats) -> float:
    """Mean sliced W1 of pairs of numbers, among records that have both."""
    found = []
    for a, b in combinations(range(real.shape[1]), 2):
        pair = [t[:, [a, b]][~np.isnan(t[:, [a, b]]).any(axis=1)] for t in (real, made)]
        every = [wasserstein_distance(pair[0] @ d, pair[1] @ d) for d in directions()[:30]]
        found.append(np.mean(every))
    return float(np.mean(found))


def single(real: Floats, made: Floats) -> float:
    """Mean W1 of a column."""
    pairs = [[t[:, a][~np.isnan(t[:, a])] for t in (real, made)] for a in range(real.shape[1])]
    return float(np.mean([wasserstein_distance(*pair) for pair in pairs]))


def told_apart(real: Floats, made: Floats, rng: np.random.Generator) -> Floats:
    """For every column, the area under the curve of a tree that sees it alone."""
    found = []
    for a in range(real.shape[1]):
        pair = [t[:, a][~np.isnan(t[:, a])] for t in (real, made)]
        size = min(MOST_ROWS, *map(len, pair))
        seen = np.concatenate([rng.choice(one, size, replace=False) for one in pair])[:, None]
        label = np.repeat([0, 1], size)
        tree = DecisionTreeClassifier(max_leaf_nodes=256, min_samples_leaf=20, random_state=0)
        chance = cross_val_predict(tree, seen, label, cv=3, method="predict_proba")[:, 1]
        found.append(roc_auc_score(label, chance))
    return np.array(found)


def digits(real: "pd.Series[Any]", released: "pd.Series[Any]") -> str:
    """Shares of frequent values and of multiples of 100, private / released."""
    one, other = (pd.to_numeric(t, errors="coerce").dropna() for t in (real, released))
    one, other = one[one != 0], other[other != 0]
    frequent = one.value_counts().index[:FREQUENT]
    shares = [(t.isin(frequent).mean(), (t % 100 == 0).mean()) for t in (one, other)]
    (often, round_), (often_made, round_made) = shares
    return (
        f"the {FREQUENT} most frequent {often:.3f} / {often_made:.3f}  multiples of 100 "
        f"{round_:.3f} / {round_made:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="*", default=["national", "ma", "adult"])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--detail", nargs="*", default=["0", "16", "64", "values"])
    parser.add_argument("--share", type=Fraction, help="instead of the default")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2])
    asked = parser.parse_args()
    inner = MECHANISMS["privpgd"]
    assert isinstance(inner, Marginals)
    for name in asked.data:
        table = source(name)
        cells = TableCodec.of(table.columns)
        real_cells = cells.encode(table.text[list(table.columns)].where(lambda t: t != "N"))
        real = values(table.text, table.columns)
        for detail, seed in ((d, n) for d in asked.detail for n in asked.seeds):
            columns = with_detail(table.columns, detail)
            codec = TableCodec.of(columns)
            bins = {n: c.groups_of_cells for n, c in columns.items() if c.groups_of_cells}
            kinds = {n: columns[n].kinds_of_cells for n in bins}
            pieces = {n: c.pieces_of_cells for n, c in columns.items() if c.pieces_of_cells}
            share = asked.share or default_share(columns)
            mechanism = Binned(inner, share, bins, kinds, pieces) if bins else inner
            codes = codec.encode(table.text[list(columns)].where(lambda t: t != "N"))
            begun = time.process_time()
            plan = mechanism.plan(simulated.asked(codec.domain, codes, asked.epsilon))
            rng = np.random.default_rng(seed)
            measured, made = simulated.released(mechanism, plan, codes, rng)
            certificate = mechanism.certify(plan, measured, made, confidence=0.95, rng=rng)
            spent = time.process_time() - begun
            frame = codec.decode(made.codes, rng)
            released = values(frame, columns)
            coarse = cells.encode(frame.astype("string").astype(object).where(frame.notna(), None))
            numbers = [n for n, c in columns.items() if isinstance(c, NumericColumn)]
            bounds = [b.value for b in certificate.bounds if b.target in numbers]
            tv = np.mean(
                [
                    np.abs(difference).sum() / 2
                    for _, difference in pair_differences(
                        real_cells.T, coarse.T, cells.domain.shape
                    )
                ]
            )
            apart = told_apart(real, released, np.random.default_rng(seed))
            print(
                f"{name:9} {detail:6} {seed}  SW1 values {sliced(real, released):.5f} cells "
                f"{sliced(middles(real_cells, cells), middles(coarse, cells)):.5f}  W1 "
                f"{single(real, released):.5f}  tree {apart.max():.3f} {numbers[apart.argmax()]:8} "
                f"mean {apart.mean():.3f}  bound {np.mean(bounds):.4f}  TV {tv:.4f}  {spent:.0f} s",
                flush=True,
            )
            for income in (one for one in INCOMES if one in columns):
                print(f"    {income}: {digits(table.text[income], frame[income])}", flush=True)


if __name__ == "__main__":
    main()
