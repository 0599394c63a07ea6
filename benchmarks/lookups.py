"""What it gains to look a column up instead of measuring it.

    python -m benchmarks.lookups --data national ma --seeds 1

Tables are released under the example spec (privpgd, replace one, epsilon 1, delta 1e-5; measured by
SimulatedCurator, whose answers must not be published): as it is, with the density of an area looked
up, and with a column of 26 cells that measures it. Printed are: the k-marginal score of NIST's
judge, from 0 to 1000 (mean over pairs of columns but PUMA and INDP; 500 times 2 less the sum of
differences), over all pairs, those with density and those without; how well a tree tells released
densities from private ones (area under the curve, .5: it cannot); the share of released records
whose density is not that of their area; and CPU seconds.

Source. SDNist 2.4, its modules on the k-marginal and on bins: numbers in twentieths of the
private table, densities on 14 intervals.
"""

import argparse
import time
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from benchmarks import simulated
from benchmarks.data import excerpt
from benchmarks.detail import SPEC, told_apart
from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.schemas.columns.columns import NumericColumn
from hallmark.schemas.loading import load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.generate import synthetic_records
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.domains import domain_of
from hallmark.tasks.planning.looked_up import filled_in
from hallmark.tasks.planning.requested import mechanism_of

RANKED = ("AGEP", "POVPIP", "PINCP", "PWGTP", "WGTP")
DENSITIES = [0, 150, *np.logspace(1, np.log10(52_864.7 + 500), 21)[8:]]
EDGES = [
    "16.3",
    "50",
    "100",
    "200",
    "500",
    "1000",
    "1500",
    "2000",
    "2500",
    "3000",
    "3500",
    "4000",
    "5000",
    "6000",
    "8000",
    "10000",
    "12000",
    "14000",
    "16000",
    "20000",
    "25000",
    "30000",
    "35000",
    "40000",
    "45000",
    "50000",
    "52864.7",
]  # of cells of measured densities


def specs(text: pd.DataFrame) -> Iterator[tuple[str, ReleaseSpec]]:
    """The spec for a table with density looked up, and measured."""
    spec = load_spec(SPEC)
    areas = {code: code for code in sorted(text["PUMA"].unique())}
    area = spec.columns["PUMA"].model_copy(update={"categories": areas})
    data = spec.data.model_copy(update={"expected_rows": len(text)})
    spec = spec.model_copy(update={"columns": {**spec.columns, "PUMA": area}, "data": data})
    yield "looked up", spec
    density = NumericColumn.model_validate(
        {
            "type": "numeric",
            "minimum": EDGES[0],
            "maximum": EDGES[-1],
            "edges": EDGES,
            "outside": "clamp",
            "bound_source": {"kind": "public", "reference": "data dictionary"},
        }
    )
    columns = {**spec.columns, "DENSITY": density}
    yield "measured", spec.model_copy(update={"columns": columns, "lookups": {}})


def judged(real: pd.DataFrame, made: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables, with a null as N, in the cells of NIST's judge."""
    real, made = real.drop(columns=["PUMA", "INDP"]), made.drop(columns=["PUMA", "INDP"])
    for name in RANKED:
        numbers = pd.to_numeric(real[name], errors="coerce")
        low = numbers[numbers != 501] if name == "POVPIP" else numbers
        rank = (20 * low.rank(pct=True)).clip(upper=19).floordiv(1)
        ends = low.groupby(rank).max().to_numpy()[:-1]
        for table in (real, made):
            values = pd.to_numeric(table[name], errors="coerce")
            cells = np.searchsorted(ends, values.fillna(0)).astype(float)
            if name == "POVPIP":
                cells = np.where(values == 501, 20, cells)
            table[name] = np.where(values.isna(), -1, cells)
    for table in (real, made):
        table["DENSITY"] = pd.cut(table["DENSITY"].astype(float), DENSITIES, labels=False)
    return real, made


def scores(real: pd.DataFrame, made: pd.DataFrame) -> tuple[float, float, float]:
    """The k-marginal score over all pairs, over those with density, and over the others."""
    found: dict[bool, list[float]] = {True: [], False: []}
    for pair in combinations(real.columns, 2):
        one, other = (table.groupby(list(pair)).size() / len(table) for table in (real, made))
        found["DENSITY" in pair].append(one.subtract(other, fill_value=0).abs().sum())
    every = [*found[True], *found[False]]
    return _score(every), _score(found[True]), _score(found[False])


def _score(differences: list[float]) -> float:
    return 500 * (2 - float(np.mean(differences)))


def released(spec: ReleaseSpec, text: pd.DataFrame, seed: int) -> pd.DataFrame:
    """A table of records, with a null as N."""
    codec = TableCodec.of(spec.columns)
    codes = codec.encode(text[list(spec.columns)].where(lambda table: table != "N"))
    mechanism, rng = mechanism_of(spec), np.random.default_rng(seed)
    plan = mechanism.plan(
        simulated.asked(
            domain_of(spec), codes, spec.privacy.epsilon, parameters=spec.mechanism.parameters
        )
    )
    curator = SimulatedCurator(codes=codes, adjacency=plan.adjacency, rng=rng)
    measured = mechanism.measure(curator, plan, mechanism.select(curator, plan))
    made = synthetic_records(mechanism, plan, measured, rows=None, rng=lambda _: rng)
    frame = filled_in(spec, codec.decode(made.codes.astype(np.int32), rng))
    return frame.astype("string").astype(object).where(frame.notna(), "N")


def densities(table: pd.DataFrame) -> Floats:
    """Shape (records, 1)."""
    return table[["DENSITY"]].to_numpy(np.float64)


def main() -> None:
    """Release each table in both ways, and print the scores."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="*", default=["national", "ma"])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1])
    asked = parser.parse_args()
    for name in asked.data:
        text = excerpt(f"{name}2019")
        known = set(zip(text["PUMA"], text["DENSITY"].astype(float), strict=True))
        for how, spec in specs(text):
            for seed in asked.seeds:
                begun = time.process_time()
                made = released(spec, text, seed)[list(text.columns)]
                spent = time.process_time() - begun
                told = told_apart(densities(text), densities(made), np.random.default_rng(seed))
                pairs = zip(made["PUMA"], made["DENSITY"].astype(float), strict=True)
                wrong = np.mean([pair not in known for pair in pairs])
                every, density, others = scores(*judged(text, made))
                print(
                    f"{name:9} {how:10} {seed}  k-marginal {every:.1f}  with density "
                    f"{density:.1f}  others {others:.1f}  tree {told[0]:.3f}  impossible "
                    f"{wrong:.3f}  {spent:.0f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
