"""How far a protected statistic goes as its penalty grows, and what that costs all others.

    python -m benchmarks.protected_statistic --out docs/marginals

Claim.   Like Figure 3 of the paper: the absolute error of one smoothed threshold statistic grows
         with the strength of its penalty, while the error of prediction, of random counting and of
         random threshold queries stay near those without, up to a strength where they too give.
Source.  Donhauser, Abad, Hulkund, Yang (2024), "Privacy-preserving data release leveraging
         optimal transport and particle gradient descent", ICML, section 4.4 and Appendix B.

Eleven columns of Adult, replace-one; epsilon 2 and delta 8e-6 for all pairs, epsilon 0.5 and delta
2e-6 for the statistic's own noisy value, whose threshold is the median along a direction that is
drawn once. The descent is short and unmasked, which ends as near as the paper's on such tables.
Noise is simulated: nothing here may be published. Prints a table; writes protected-statistic.json
and .png.
"""

import argparse
import json
import time
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from benchmarks.data import load
from hallmark.mechanisms.arrays import Codes64
from hallmark.mechanisms.domain.cliques import cells
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from hallmark.mechanisms.marginals.generators.particles.particles import Particles
from hallmark.mechanisms.marginals.generators.particles.penalty import Penalty
from hallmark.mechanisms.marginals.generators.particles.settings import Descent, Projection
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import gaussian_sigma2
from hallmark.mechanisms.utility.coded import by_column
from hallmark.mechanisms.utility.counting_queries import counting_error
from hallmark.mechanisms.utility.downstream import Label, downstream_error
from hallmark.mechanisms.utility.threshold_queries import threshold_error

COLUMNS = (
    "age",
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "hours-per-week",
    "native-country",
    "income>50K",
)
MARGINALS = Budget(epsilon=Fraction(2), delta=Fraction(8, 1_000_000))
STATISTIC = Budget(epsilon=Fraction(1, 2), delta=Fraction(2, 1_000_000))
STRENGTHS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
GENERATOR = Particles(
    particles=5000,
    projection=Projection(iterations=150, directions=50, bank=500, decay_every=10),
    descent=Descent(epochs=60, directions=4, decay_every=3, masked=0.0, adam_epsilon=0.03),
    device="cpu",
)
LINES = {
    "statistic": "the protected statistic",
    "downstream": "prediction of income",
    "count": "counting queries",
    "threshold": "threshold queries",
}


def measured(codes: Codes64, shape: dict[str, int], rng: np.random.Generator) -> Evidence:
    """All pairs with simulated Gaussian noise."""
    sizes = list(shape.values())
    pairs = list(combinations(range(len(sizes)), 2))
    calibration = gaussian_sigma2(MARGINALS, l2_squared=2, unit_moves=2, count=len(pairs))
    sigma = float(calibration.value) ** 0.5
    marginals = []
    for a, b in pairs:
        flat = codes[:, a] * sizes[b] + codes[:, b]
        counts = np.bincount(flat, minlength=cells((a, b), sizes)).reshape(sizes[a], sizes[b])
        marginals.append(NoisyMarginal((a, b), counts + rng.normal(0, sigma, counts.shape), sigma))
    return Evidence(Domain.coded(shape), tuple(marginals), float(len(codes)), True)


def statistic(codes: Codes64, shape: tuple[int, ...]) -> Penalty:
    """Half of the records lie beyond its hyperplane; the label plays no part in it."""
    weights = np.random.default_rng(12).standard_normal(len(shape))
    weights[-1] = 0
    weights /= np.linalg.norm(weights)
    along = ((codes + 0.5) / np.array(shape)) @ weights
    return Penalty(
        weights=tuple(map(float, weights)),
        threshold=float(np.median(along)),
        reference=0.0,
        strength=0.0,
    )


def run(seeds: int, say: Any) -> list[dict[str, float]]:
    """One row a seed and strength."""
    table = load("adult")
    shape = {name: table.cells[name] for name in COLUMNS}
    sizes = tuple(shape.values())
    chosen = [list(table.cells).index(name) for name in COLUMNS]
    train, test = table.train[:, chosen], table.test[:, chosen]
    plain = statistic(train, sizes)
    exact = plain.of_records(train, sizes)
    # A record that is replaced changes the sum of sigmoids by at most 1.
    calibration = gaussian_sigma2(STATISTIC, l2_squared=1, unit_moves=1, count=1)
    spread = float(calibration.value) ** 0.5 / len(train)
    rows = []
    for seed in range(seeds):
        rng = np.random.default_rng([7, seed])
        evidence = measured(train, shape, rng)
        reference = exact + rng.normal(0, spread)
        for strength in STRENGTHS:
            penalty = replace(plain, reference=reference, strength=strength)
            model = replace(GENERATOR, penalties=(penalty,)).fit(
                evidence, rng=np.random.default_rng([8, seed])
            )
            real, synthetic = by_column(train, sizes), by_column(model.codes, sizes)
            count = counting_error(real, synthetic, sizes, rng=np.random.default_rng(11))
            assert count is not None
            threshold = threshold_error(real, synthetic, sizes, rng=np.random.default_rng(12))
            row = {
                "seed": seed,
                "strength": strength,
                "statistic": abs(plain.of_records(model.codes, sizes) - exact),
                "downstream": downstream_error(model.codes, test, Label(column=len(sizes) - 1)),
                "count": count.absolute,
                "threshold": threshold.absolute,
            }
            say(row)
            rows.append(row)
    return rows


def draw(rows: list[dict[str, float]], path: Path) -> None:
    """Errors by strength: means with the range over the seeds."""
    figure, axes = plt.subplots(1, len(LINES), figsize=(13, 3), layout="constrained")
    frame = pd.DataFrame(rows)
    places = np.arange(len(STRENGTHS))
    for axis, (column, title) in zip(axes, LINES.items(), strict=True):
        found = frame.groupby("strength")[column].agg(["mean", "min", "max"])
        axis.plot(places, found["mean"], marker="o", color="#1f5a99")
        axis.fill_between(places, found["min"], found["max"], color="#1f5a99", alpha=0.2, lw=0)
        axis.set_xticks(places, [f"{strength:g}" for strength in STRENGTHS], rotation=45)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("strength")
        axis.set_title(title, fontsize=10)
    axes[0].set_ylabel("absolute error")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("docs/marginals"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    begun = time.process_time()
    print("seed  strength" + "".join(f"{name:>12}" for name in LINES))
    rows = run(
        arguments.seeds,
        lambda row: print(
            f"{row['seed']:4}  {row['strength']:8g}"
            + "".join(f"{row[name]:12.5f}" for name in LINES),
            flush=True,
        ),
    )
    print(f"{time.process_time() - begun:.0f} processor seconds")
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "protected-statistic.json").write_text(
        json.dumps(
            [row | {name: float(f"{row[name]:.4g}") for name in LINES} for row in rows],
            indent=1,
        )
        + "\n"
    )
    draw(rows, arguments.out / "protected-statistic.png")


if __name__ == "__main__":
    main()
