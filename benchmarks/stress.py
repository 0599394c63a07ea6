"""What pairs miss: tables made so that marginals of two columns do not tell their law.

    python -m benchmarks.stress --epsilon 1 10 --seeds 1 2

`xor3`, `xor4`: a column is the parity of two or three others, but for one record in twenty; every
pair (and triple) of them is even. `model`: a structural causal model whose effect is an interaction
of two causes. `subgroup`: one record in twenty-five, in two cells of a column, follows another law
than the rest. Each table has columns besides that have nothing to do with it, or little.

Every table is released (replace one, delta 1e-5; measured by SimulatedCurator, whose answers must
not be published) by privpgd with several selections. Printed are: the total variation of the
marginal that was made hard, for the released records, for the product of its margins, and for
another sample of the same law; how often a tree, learnt on released records, predicts the last of
its columns in new records, beside one learnt on the private records; the mean total variation of
all pairs; and CPU seconds.
"""

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks import simulated
from hallmark.mechanisms.arrays import Codes64, Floats
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.utility.pairs import mean_total_variation

ROWS = 20_000


@dataclass(frozen=True)
class Stress:
    """A law of records.

    Attributes:
        cells: of every column.
        hard: the marginal that pairs do not tell; its last column is the one to predict.
        codes: records drawn from it, shape (rows, columns).
    """

    cells: tuple[int, ...]
    hard: Clique
    codes: Codes64


def parity(causes: int, rng: np.random.Generator) -> Stress:
    """A column that is the parity of others, and six that depend on each other a little."""
    bits = rng.integers(2, size=(ROWS, causes))
    told = bits.sum(axis=1) % 2 ^ (rng.random(ROWS) < 0.05)
    codes = np.column_stack([bits, told, _others(6, rng)])
    return Stress((2,) * (causes + 1) + (4,) * 6, tuple(range(causes + 1)), codes)


def model(rng: np.random.Generator) -> Stress:
    """Pay rises with age for one kind of work and falls for the other, and region shifts both."""
    age, work, region = (
        rng.integers(8, size=ROWS),
        rng.integers(2, size=ROWS),
        _others(1, rng)[:, 0],
    )
    trend = np.where(work == 0, age - 3.5, 3.5 - age)
    pay = np.clip(np.round(3.5 + 0.8 * trend + 0.3 * region + rng.normal(size=ROWS)), 0, 7)
    codes = np.column_stack([age, work, pay.astype(np.int64), region, _others(5, rng)])
    return Stress((8, 2, 8, 4, *(4,) * 5), (0, 1, 2), codes)


def subgroup(rng: np.random.Generator) -> Stress:
    """In two of fifty areas, what goes with what is turned round."""
    area, first = rng.integers(50, size=ROWS), rng.integers(8, size=ROWS)
    second = np.clip(np.round(first + rng.normal(size=ROWS)), 0, 7).astype(np.int64)
    turned = np.where(area < 2, 7 - second, second)
    return Stress(
        (50, 8, 8, *(4,) * 5), (0, 1, 2), np.column_stack([area, first, turned, _others(5, rng)])
    )


def _others(columns: int, rng: np.random.Generator) -> Codes64:
    """Columns of four cells with one cause in common."""
    shared = rng.random((ROWS, 1))
    return np.floor((0.4 * shared + 0.6 * rng.random((ROWS, columns))) * 4).astype(np.int64)


TABLES = {
    "xor3": lambda rng: parity(2, rng),
    "xor4": lambda rng: parity(3, rng),
    "model": model,
    "subgroup": subgroup,
}


def selections(stress: Stress) -> Mapping[str, Mapping[str, Any]]:
    """What is measured: pairs, all marginals that may be hard, chosen ones, or the named one."""
    ways, names = len(stress.hard), [f"c{a}" for a in stress.hard]
    return {
        "default": {},
        "all pairs": {"ways": 2},
        f"all of {ways} columns": {"ways": ways},
        f"chosen of {ways} columns": {"method": "aim", "ways": ways, "rounds_cap": 25},
        "named": {"priorities": {"columns": names, "ways": ways, "share": 0.2}},
    }


def shares(codes: Codes64, clique: Clique, cells: tuple[int, ...]) -> Floats:
    """The marginal."""
    sizes = [cells[a] for a in clique]
    flat = np.ravel_multi_index([codes[:, a] for a in clique], sizes)
    return np.bincount(flat, minlength=int(np.prod(sizes))) / len(codes)


def variation(a: Floats, b: Floats) -> float:
    """Total variation."""
    return float(np.abs(a - b).sum() / 2)


def predicts(train: Codes64, test: Codes64, clique: Clique) -> float:
    """Share of new records whose last column of the clique a tree on the others tells."""
    *given, told = clique
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
    tree.fit(train[:, given], train[:, told])
    return float((tree.predict(test[:, given]) == test[:, told]).mean())


def released(stress: Stress, selection: Mapping[str, Any], epsilon: str, seed: int) -> Codes64:
    """Records of privpgd."""
    mechanism = MECHANISMS["privpgd"]
    domain = Domain.coded({f"c{a}": k for a, k in enumerate(stress.cells)})
    parameters = {"selection": selection} if selection else {}
    plan = mechanism.plan(simulated.asked(domain, stress.codes, epsilon, parameters=parameters))
    _, made = simulated.released(mechanism, plan, stress.codes, np.random.default_rng(seed))
    return made.codes.astype(np.int64)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--epsilon", nargs="*", default=["1"])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2])
    asked = parser.parse_args()
    for name in asked.tables:
        stress, fresh = (TABLES[name](np.random.default_rng(seed)) for seed in (1, 2))
        cells, hard = stress.cells, stress.hard
        truth = shares(stress.codes, hard, cells)
        margins = [shares(stress.codes, (a,), cells) for a in hard]
        product = reduce(np.multiply.outer, margins).ravel()
        print(
            f"{name:9} product of margins {variation(truth, product):.3f}"
            f"  another sample {variation(truth, shares(fresh.codes, hard, cells)):.3f}  predicted "
            f"{predicts(stress.codes, fresh.codes, hard):.3f}"
        )
        for epsilon in asked.epsilon:
            for what, selection in selections(stress).items():
                found = []
                for seed in asked.seeds:
                    begun = time.process_time()
                    codes = released(stress, selection, epsilon, seed)
                    spent = time.process_time() - begun
                    found.append(
                        (
                            variation(truth, shares(codes, hard, cells)),
                            predicts(codes, fresh.codes, hard),
                            mean_total_variation(stress.codes.T, codes.T, cells),
                            spent,
                        )
                    )
                hard_tv, right, pair_tv, seconds = np.mean(found, axis=0)
                print(
                    f"{name:9} eps {epsilon:4} {what:20} hard {hard_tv:.3f}  predicted "
                    f"{right:.3f}  pairs {pair_tv:.4f}  {seconds:.0f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
