"""Certificates, true losses and their terms on census data, by grid and by public points.

    python -m benchmarks.certified --out docs/wasserstein

In kind Figures 1 and 2 of "Certified private data release for sparse Lipschitz functions" (AISTATS
2024), on the NIST excerpts of the ACS: private national2019, public national2018 or ma2018, pairs
of five columns (AGEP, EDU, PINCP, POVPIP, INDP) and of four (without INDP), epsilon 1 under
replace-one, certificates at confidence 0.9. "paper" is Algorithm 1 as printed: Haar noise along a
snake, path losses throughout. "house" is what `sparse-lipschitz` does. True losses are brackets
from a finer grid; they compare with the private data, which here are public.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from benchmarks import simulated
from benchmarks.data import EXCERPTS, ROOT
from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.blocks.marginals import marginals
from hallmark.mechanisms.certificates.family import certify_family
from hallmark.mechanisms.certificates.quantiles import conditional_rank
from hallmark.mechanisms.compute import Serial
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.line import path_loss
from hallmark.mechanisms.geometry.transport import transport
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.request import Request
from hallmark.mechanisms.wasserstein.sparse_lipschitz import SparseLipschitz
from hallmark.mechanisms.wasserstein.sparse_lipschitz.mechanism import CALL
from hallmark.schemas.loading import load_spec
from hallmark.schemas.table_sections import PublicData
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.public_data import read_public

SPEC = ROOT / "schemas/examples/sparse-lipschitz.yaml"
GRIDS = (5, 10, 15, 20, 25, 30)
POINTS = (50, 100, 250, 500, 1000, 2000, 4000)
GRID_OF_POINTS = 25
FINE = 64  # cells of the grid that true losses are bracketed on
CONFIDENCE = 0.9
DRAWS = 400  # of the paper's noise
ADJACENCY = Adjacency(neighbours=Neighbours.REPLACE_ONE)
BLUE, ORANGE, GREEN, GREY = "#1f5a99", "#c2571a", "#2a7f4f", "#777777"


@dataclass(frozen=True, eq=False)
class Tables:
    """Private and public records in codes of one domain."""

    domain: Domain
    private: AnyCodes
    public: AnyCodes

    def asked(self, parameters: Mapping[str, Any]) -> Request:
        """Of a mechanism that knows the public records: epsilon 1 for the private ones."""
        return simulated.asked(
            self.domain,
            self.private,
            1,
            delta=Fraction(0),
            adjacency=ADJACENCY,
            parameters=parameters,
            public=self.public,
        )

    def truth(self, synthetic: AnyCodes) -> tuple[float, float]:
        """Lower and upper bound of the largest two-way loss between private and `synthetic`."""
        bounds = []
        for block in marginals(self.domain, 2, FINE).blocks:
            shares = [
                np.bincount(block.cells(codes), minlength=block.space.size) / len(codes)
                for codes in (self.private, synthetic)
            ]
            moved = [block.distances_to_points(codes).mean() for codes in (self.private, synthetic)]
            middle = transport(block.space, shares[0] - shares[1])
            bounds.append((max(0.0, middle - sum(moved)), middle + sum(moved)))
        return max(low for low, _ in bounds), max(high for _, high in bounds)


def read(public: str, columns: int) -> Tables:
    """national2019 and a public table, the first of the example's columns."""
    spec = load_spec(SPEC)
    chosen = dict(list(spec.columns.items())[:columns])
    coded = [
        read_public(
            PublicData(source=f"{name}.csv.gz", reference="NIST excerpts", null_markers=("N",)),
            chosen,
            EXCERPTS,
        )
        for name in ("national2019", public)
    ]
    return Tables(TableCodec.of(chosen).domain, *coded)


def release(
    tables: Tables, variant: str, k: int, points: int, seed: int, cache: Path
) -> dict[str, Any]:
    """One release: certificate with its terms, misfits, and the bracket of the true loss."""
    paper = {"noise": "paper", "loss": "L_T", "measure_discretisation": False}
    mechanism = SparseLipschitz()
    plan = mechanism.plan(
        tables.asked({"cells": k, "support_points": points} | (paper if variant == "paper" else {}))
    )
    rng = np.random.default_rng(seed)
    curator: Any = SimulatedCurator(codes=tables.private, adjacency=ADJACENCY, rng=rng)
    answers = mechanism.measure(curator, plan, None)
    synthetic = mechanism.generate(plan, answers, rows=None, rng=rng)
    estimate = plan.estimator.estimate(
        answers.tables[CALL][: len(plan.estimator.queries)], len(tables.private)
    )
    low, high = tables.truth(synthetic.codes)
    found = {"k": k, "points": points, "true_low": low, "true_high": high}
    if variant == "paper":
        return found | path_certificate(plan, estimate.tables, synthetic.codes, rng)
    distances = plan.discretisation.upper(
        answers.tables[CALL][len(plan.estimator.queries) :], confidence=0.995
    )
    certificate = certify_family(
        plan.estimator,
        estimate,
        synthetic.codes,
        confidence=CONFIDENCE + 0.005,
        compute=Serial(cache),
        distances=distances,
    )
    worst = certificate.bounds[0]
    return found | {"certificate": worst.value, "terms": dict(worst.terms)}


def path_certificate(
    plan: Any, estimates: tuple[NDArray[np.float64], ...], synthetic: AnyCodes, rng: Any
) -> dict[str, Any]:
    """The paper's certificate in path losses, with a valid rank instead of its quantile."""
    blocks, n = plan.family.blocks, plan.expected_records
    noise = np.zeros(DRAWS)
    for start in range(0, DRAWS, 50):
        errors = plan.estimator.simulate(50, rng).tables
        costs = [
            path_loss(b.space, e, surplus_cost=0.5) for b, e in zip(blocks, errors, strict=True)
        ]
        noise[start : start + 50] = np.max(costs, axis=0)
    misfits = []
    for block, estimate in zip(blocks, estimates, strict=True):
        share = np.bincount(block.cells(synthetic), minlength=block.space.size) / len(synthetic)
        misfits.append(float(path_loss(block.space, estimate - n * share, surplus_cost=0.5)) / n)
    released = max(float(b.distances_to_points(synthetic).mean()) for b in blocks)
    quantile = float(np.sort(noise)[conditional_rank(DRAWS, CONFIDENCE) - 1]) / n
    terms = {
        "discretisation": plan.family.radius,
        "privatisation": quantile,
        "projection": max(misfits),
        "rounding to records": released,
    }
    return {
        "certificate": min(1.0, sum(terms.values())),
        "terms": terms,
        "noise_mean": float(noise.mean()) / n,
        "noise_05": float(np.quantile(noise, 0.05)) / n,
        "noise_95": float(np.quantile(noise, 0.95)) / n,
    }


def plot_grids(results: dict[str, Any], path: Path) -> None:
    """Certificate and bracket by grid, one panel a pair of tables."""
    figure, panels = plt.subplots(1, len(results), figsize=(3.6 * len(results), 3.6), sharey=True)
    for panel, (title, entry) in zip(np.atleast_1d(panels), results.items(), strict=True):
        for variant, colour in (("paper", ORANGE), ("house", BLUE)):
            rows = entry[variant]
            ks = [row["k"] for row in rows]
            panel.plot(
                ks,
                [row["certificate"] for row in rows],
                "o-",
                ms=3,
                color=colour,
                label=f"certificate, {variant}",
            )
            panel.fill_between(
                ks,
                [row["true_low"] for row in rows],
                [row["true_high"] for row in rows],
                color=colour,
                alpha=0.25,
                lw=0,
                label=f"true loss, {variant}",
            )
        low, high = entry["raw"]
        panel.axhspan(low, high, color=GREY, alpha=0.3, lw=0, label="true loss, raw public table")
        panel.set_title(title, fontsize=9)
        panel.set_xlabel("cells k of a column")
        panel.set_yscale("log")
        panel.spines[["top", "right"]].set_visible(False)
    np.atleast_1d(panels)[0].set_ylabel("largest two-way $W_1$, share of the diameter")
    np.atleast_1d(panels)[0].legend(fontsize=7, frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def plot_terms(results: dict[str, Any], path: Path) -> None:
    """Terms of both certificates by grid, and the true loss by number of public points."""
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.8))
    entry = next(iter(results["grids"].values()))
    names = ("discretisation", "rounding to records", "privatisation", "projection")
    colours = (GREY, "#bbbbbb", BLUE, GREEN)
    for panel, variant in zip(panels[:2], ("paper", "house"), strict=True):
        ks = [row["k"] for row in entry[variant]]
        stacked = [[row["terms"][name] for row in entry[variant]] for name in names]
        panel.stackplot(ks, stacked, labels=names, colors=colours, lw=0)
        panel.set_title(f"terms of the certificate, {variant}", fontsize=9)
        panel.set_xlabel("cells k of a column")
        panel.set_ylim(0, 0.4 if variant == "paper" else None)
        panel.legend(fontsize=7, frameon=False, loc="upper center")
    rows = results["points"]
    points = [row["points"] for row in rows]
    panels[2].plot(
        points,
        [row["terms"]["projection"] for row in rows],
        "o-",
        ms=3,
        color=BLUE,
        label="distance from the noisy marginals",
    )
    panels[2].axhline(
        results["noise_mean"],
        color=GREEN,
        ls="--",
        lw=1,
        label="that of the private table, on average",
    )
    panels[2].fill_between(
        points,
        [row["true_low"] for row in rows],
        [row["true_high"] for row in rows],
        color=ORANGE,
        alpha=0.3,
        lw=0,
        label="true loss",
    )
    panels[2].set_xscale("log")
    panels[2].set_yscale("log")
    panels[2].set_xlabel("public points")
    panels[2].set_title(f"k = {GRID_OF_POINTS}, house", fontsize=9)
    panels[2].legend(fontsize=7, frameon=False)
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/wasserstein"))
    parser.add_argument("--cache", type=Path, default=Path("build/quantiles"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"grids": {}, "points": []}
    for public in ("national2018", "ma2018"):
        for columns in (5, 4):
            tables = read(public, columns)
            entry: dict[str, Any] = {"raw": tables.truth(tables.public)}
            for variant in ("paper", "house"):
                entry[variant] = []
                for k in GRIDS:
                    row = release(tables, variant, k, 4000, 1, arguments.cache)
                    entry[variant].append(row)
                    print(public, columns, variant, json.dumps(row), flush=True)
            results["grids"][f"public {public}, d = {columns}"] = entry
            write(results, arguments.out)
    tables = read("ma2018", 5)
    for points in POINTS:
        row = release(tables, "house", GRID_OF_POINTS, points, 1, arguments.cache)
        results["points"].append(row)
        print("points", json.dumps(row), flush=True)
    results["noise_mean"] = private_misfit(tables)
    write(results, arguments.out)
    plot_terms(results, arguments.out / "terms.png")


def private_misfit(tables: Tables) -> float:
    """Distance of the private table from its own noisy marginals, U_T(0, eta) / n, on average."""
    plan = SparseLipschitz().plan(tables.asked({"cells": GRID_OF_POINTS}))
    errors = plan.estimator.simulate(10, np.random.default_rng(0)).tables
    costs = [
        [transport(block.space, row) for row in error]
        for block, error in zip(plan.family.blocks, errors, strict=True)
    ]
    return float(np.max(costs, axis=0).mean()) / len(tables.private)


def write(results: dict[str, Any], out: Path) -> None:
    (out / "certified.json").write_text(json.dumps(results, indent=1))
    plot_grids(results["grids"], out / "certified.png")


if __name__ == "__main__":
    main()
