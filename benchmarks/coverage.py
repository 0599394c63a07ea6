"""How often certificates miss, and how much larger than the true loss they are.

    python -m benchmarks.coverage --runs 200 --out docs/wasserstein

Releases of census records (NIST excerpts of the ACS, national2019) by every mechanism, epsilon 1
under replace-one, certified at confidence 0.9. A release misses if any bound of its certificate is
below the true loss, which is exact for age x education and enclosed where incomes are compared. At
most 29 misses of 200 are plausible for that confidence (probability of more: 1.6 %); many fewer are
usual, as bounds add up terms that are seldom large together. Prints a table, writes coverage.json.
"""

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import simulated
from benchmarks.certified import CONFIDENCE, Tables, read
from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.blocks.marginals import over
from hallmark.mechanisms.catalogue import CATALOGUE
from hallmark.mechanisms.certificates.bracket import Bracket, enclose, maps_to_count
from hallmark.mechanisms.certificates.with_share import WithShare
from hallmark.mechanisms.compute import SERIAL, Serial
from hallmark.mechanisms.contract import Certificate, Mechanism
from hallmark.mechanisms.execution import Execution
from hallmark.mechanisms.privacy.cells import ArrayCounter
from hallmark.mechanisms.registry import MECHANISMS


@dataclass(frozen=True)
class Case:
    """A mechanism on the first columns of the table, compared on a grid of `fine` cells."""

    label: str
    mechanism: Mechanism
    columns: int = 2
    fine: int = 99
    delta: Fraction = Fraction(0)
    parameters: Mapping[str, Any] = field(default_factory=dict)


CASES = (
    *(
        Case(name, MECHANISMS[name])
        for name in ("pmm", "pmm-h", "psmm", "superregular", "adaptive-support")
    ),
    Case("sparse-lipschitz", MECHANISMS["sparse-lipschitz"], columns=3, fine=64),
    Case(
        "privpgd, share 1/5",
        WithShare(MECHANISMS["privpgd"], share=Fraction(1, 5)),
        columns=3,
        fine=64,
        delta=Fraction(1, 10**5),
    ),
)


@cache
def tables(columns: int) -> Tables:
    """The private records, and those of the year before."""
    return read("national2018", columns)


def release(case: Case, plan: Any, seed: int, kept: Path) -> tuple[Certificate, AnyCodes]:
    """One release's certificate and records."""
    rng = np.random.default_rng(seed)
    private = tables(case.columns).private
    answers, synthetic = simulated.released(case.mechanism, plan, private, rng)
    certificate = case.mechanism.certify(
        plan,
        answers,
        synthetic,
        confidence=CONFIDENCE,
        rng=rng,
        execution=Execution(compute=Serial(kept)),
    )
    return certificate, synthetic.codes


def family(case: Case, certificate: Certificate) -> Family:
    """All columns and sets of columns that the certificate compares, on a fine grid."""
    domain = tables(case.columns).domain
    named = dict.fromkeys(tuple(sorted(bound.columns)) for bound in certificate.bounds)
    sets = [tuple(domain.names.index(name) for name in columns) for columns in named if columns]
    return over(domain, sets, case.fine)


def run(case: Case, runs: int, kept: Path) -> dict[str, Any]:
    """Misses, and certificates against true losses, for the joint bound that is largest."""
    own = tables(case.columns)
    plan = case.mechanism.plan(
        simulated.asked(
            own.domain,
            own.private,
            1,
            delta=case.delta,
            parameters=case.parameters,
            public=own.public if CATALOGUE[case.mechanism.name].takes_public_data else None,
        )
    )
    missed, certified, low, high = 0, [], [], []
    for seed in range(runs):
        certificate, codes = release(case, plan, seed, kept)
        compared = family(case, certificate)
        private = ArrayCounter(own.private).count(list(maps_to_count(compared)))
        enclosed = enclose(compared, private, codes, compute=SERIAL)[-len(compared) :]
        truth: dict[frozenset[str], Bracket] = {
            frozenset(own.domain.names[column] for column in block.columns): bracket
            for block, bracket in zip(compared.blocks, enclosed, strict=True)
        }
        bounds = [bound for bound in certificate.bounds if bound.columns]
        missed += any(bound.value < truth[frozenset(bound.columns)].lower for bound in bounds)
        joint = [bound for bound in bounds if len(bound.columns) > 1]
        certified.append(max(bound.value for bound in joint))
        low.append(max(truth[frozenset(bound.columns)].lower for bound in joint))
        high.append(max(truth[frozenset(bound.columns)].upper for bound in joint))
    return {
        "columns": list(own.domain.names),
        "releases": runs,
        "missed": missed,
        "certificate": float(np.median(certified)),
        "true_low": float(np.median(low)),
        "true_high": float(np.median(high)),
        # The other end, certificate over true_low, says nothing where true_low is 0.
        "ratio_at_least": float(np.median(np.array(certified) / np.array(high))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("docs/wasserstein"))
    parser.add_argument("--cache", type=Path, default=Path("build/quantiles"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = {}
    for case in CASES:
        began = time.perf_counter()
        results[case.label] = run(case, arguments.runs, arguments.cache)
        seconds = time.perf_counter() - began
        print(f"{case.label:20s} {json.dumps(results[case.label])} [{seconds:.0f} s]", flush=True)
        (arguments.out / "coverage.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
