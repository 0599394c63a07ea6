"""Equal cells, private quantile bins, or the whole fine grid: which brings pairs closest?

    python -m benchmarks.binning --seeds 1 2 --bins 16

Eight columns of the census excerpts, four of them heavy-tailed on a grid of 128 equal cells, are
released by privpgd (replace one, measured by SimulatedCurator, whose answers must not be
published): on k equal cells a column, values spread evenly within; on k private quantile bins; and
on the grid itself. Printed are the mean sliced 1-Wasserstein distance and the mean total variation
of all pairs on the grid, those of pairs of one column with another merged to few cells, the mean
certified bound of the four columns, and CPU seconds.
"""

import argparse
import time
from fractions import Fraction

import numpy as np
import pandas as pd

from benchmarks import simulated
from benchmarks.data import excerpt
from hallmark.mechanisms.arrays import Codes64
from hallmark.mechanisms.contract import Mechanism
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.marginals.binning.bins import Bins, coarse_domain, equal_runs
from hallmark.mechanisms.marginals.binning.mechanism import Binned
from hallmark.mechanisms.marginals.binning.within import refined
from hallmark.mechanisms.marginals.mechanism import Marginals
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.utility import evaluate

LINES = {"PINCP": (-10_000, 630_000), "DENSITY": (0, 16_000), "PWGTP": (0, 640), "POVPIP": (0, 512)}
CATEGORIES = ("SEX", "MSP", "EDU", "OWN_RENT")
CELLS = 128


def table() -> tuple[Domain, Codes64]:
    """The columns on their grids, with null cells where the file has nulls."""
    read = excerpt("national2019")
    attributes, codes = [], []
    for name, (low, high) in LINES.items():
        values = pd.to_numeric(read[name], errors="coerce")
        cells = ((values - low) / (high - low) * CELLS).clip(0, CELLS - 1).fillna(CELLS)
        attributes.append(
            Attribute(
                name=name,
                kind=Kind.NUMERIC,
                positions=(np.arange(CELLS) + 0.5) / CELLS,
                widths=np.full(CELLS, 1 / CELLS),
                has_null=bool(values.isna().any()),
            )
        )
        codes.append(cells.to_numpy().astype(np.int64))
    for name in CATEGORIES:
        found, known = pd.factorize(read[name], sort=True)
        attributes.append(
            Attribute(
                name=name,
                kind=Kind.NOMINAL,
                positions=np.linspace(0, 1, len(known)),
                widths=np.zeros(len(known)),
            )
        )
        codes.append(found.astype(np.int64))
    return Domain(tuple(attributes)), np.column_stack(codes)


def released(
    mechanism: Mechanism, domain: Domain, codes: Codes64, epsilon: str, seed: int
) -> tuple[Codes64, float]:
    """Synthetic codes, and the mean bound of the heavy-tailed columns."""
    plan = mechanism.plan(simulated.asked(domain, codes, epsilon))
    rng = np.random.default_rng(seed)
    measured, made = simulated.released(mechanism, plan, codes, rng)
    certificate = mechanism.certify(plan, measured, made, confidence=0.95, rng=rng)
    bounds = [bound.value for bound in certificate.bounds if bound.target in LINES]
    return made.codes.astype(np.int64), float(np.mean(bounds))


def on_runs(
    mechanism: Mechanism, domain: Domain, codes: Codes64, epsilon: str, seed: int, bins: int
) -> tuple[Codes64, float]:
    """As `released`, on equal cells that are spread evenly over the grid."""
    runs: list[Bins] = [equal_runs(domain, column, bins) for column in range(len(LINES))]
    coarse = codes.copy()
    for run in runs:
        coarse[:, run.column] = run.table[codes[:, run.column]]
    made, bound = released(mechanism, coarse_domain(domain, runs), coarse, epsilon, seed)
    rng = np.random.default_rng(seed)
    for run in runs:
        made[:, run.column] = refined(made[:, run.column], run, np.ones(CELLS), rng)
    return made, bound


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--share", default="1/20")
    parser.add_argument("--bins", type=int, nargs="*", default=[16])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--no-grid", action="store_true", help="leave the fine grid out")
    asked = parser.parse_args()
    epsilon = asked.epsilon
    domain, codes = table()
    inner = MECHANISMS["privpgd"]
    assert isinstance(inner, Marginals)
    for seed in asked.seeds:
        runs = {"grid": lambda s: released(inner, domain, codes, epsilon, s)}
        if asked.no_grid:
            runs = {}
        for bins in asked.bins:
            binned = Binned(inner, Fraction(asked.share), dict.fromkeys(LINES, bins))
            runs[f"{bins} equal"] = lambda s, k=bins: on_runs(inner, domain, codes, epsilon, s, k)
            runs[f"{bins} quantile"] = lambda s, m=binned: released(m, domain, codes, epsilon, s)
        for what, run in runs.items():
            start = time.process_time()
            made, bound = run(seed)
            spent = time.process_time() - start
            found = evaluate(codes, made, domain.shape)
            print(
                f"{what:12} {seed}  SW1 {found.sw1:.4f}  TV {found.tv:.4f}  one-way TV "
                f"{found.tv1:.4f}  covariance {found.covariance_real:.4f}  counts {found.count:.4f}"
                f"  thresholds {found.thresh:.4f}  bound {bound:.4f}  {spent:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
