"""Would `privpgd` do better if it measured something else for the same budget?

    python -m benchmarks.levers --data adult --epsilon 1 2.5 --seeds 1 2 3

Every line has privpgd's budget, and makes records as privpgd does; all but the last spend the same
in zCDP (the precisions 1/sigma^2 of all marginals that hold a record add up to the same sum):

    all pairs        what privpgd measures: all pairs in cells, and large ones in groups of cells
    cells alone      all pairs in cells
    second look      half of it on all pairs, then half where the fits of the first disagree
    within label     all other pairs of columns among the records of each value of the label: the
                     three-way marginals with the label, which add up to the pairs
    rounds           AIM's choice of pairs in place of all, by its own rounds and accounting

Answers come from the law of the noise by simulation and must not be published. Printed are the
six metrics and CPU seconds; the label is what the downstream error predicts.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from benchmarks import simulated
from benchmarks.comparison import ours
from benchmarks.comparison.scores import METRICS, score
from benchmarks.data import LABELS, Table, load
from hallmark.mechanisms.arrays import Codes64
from hallmark.mechanisms.domain.cliques import Clique, all_ways, cells
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.generators.noise_aware.latent_classes import LatentClasses
from hallmark.mechanisms.marginals.generators.noise_aware.noise_aware import (
    NoiseAware,
    NoiseAwareModel,
)
from hallmark.mechanisms.marginals.mechanism import evidence_of
from hallmark.mechanisms.marginals.plan import MarginalPlan
from hallmark.mechanisms.marginals.selection.design import Answer, Asked
from hallmark.mechanisms.marginals.selection.fixed import FixedDesign
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.replicates.simulated import SimulatedCurator

ADJACENCY = Adjacency(neighbours=Neighbours.ADD_REMOVE)
FIRST_LOOK = 0.5  # of the precision


def all_pairs(table: Table, plan: MarginalPlan, rng: np.random.Generator) -> Codes64:
    answers = _answers(table.train, plan.domain.shape, plan.design.first, rng)
    return _records(_model(plan.domain, answers), rng)


def second_look(table: Table, plan: MarginalPlan, rng: np.random.Generator) -> Codes64:
    """What is left goes where it brings precision closest to the disagreement of the fits."""
    once = [Asked(asked.clique, asked.sigma2 / Fraction(FIRST_LOOK)) for asked in plan.design.first]
    answers = _answers(table.train, plan.domain.shape, once, rng)
    model = _model(plan.domain, answers)
    spent = np.array([1 / float(asked.sigma2) for asked in once])
    wanted = np.array([_disagreement(model, asked.clique) for asked in once])
    added = _raised(spent, wanted, spent.sum() * (1 - FIRST_LOOK) / FIRST_LOOK)
    again = [
        Asked(asked.clique, Fraction(1 / precision))
        for asked, precision in zip(once, added, strict=True)
        if precision > spent.max() / 1000
    ]
    answers += _answers(table.train, plan.domain.shape, again, rng)
    return _records(_model(plan.domain, answers), rng)


def within_label(table: Table, plan: MarginalPlan, rng: np.random.Generator) -> Codes64:
    """A release for every value of the label; each record is in one of them."""
    others = [a for a in range(len(plan.domain)) if a != table.label]
    names = list(table.cells)
    domain = Domain.coded({names[a]: table.cells[names[a]] for a in others})
    pairs = all_ways(len(others), 2)
    assert isinstance(plan.design, FixedDesign)
    power = 2 * float(plan.design.emphasis)  # by which precision grows with cells
    weights = np.array([cells(pair, domain.shape) ** power for pair in pairs])
    precision = sum(1 / float(asked.sigma2) for asked in plan.design.first) / weights.sum()
    asked = [
        Asked(pair, Fraction(1 / (precision * weight)))
        for pair, weight in zip(pairs, weights, strict=True)
    ]
    parts = []
    for value in range(plan.domain.shape[table.label]):
        inside = table.train[table.train[:, table.label] == value][:, others]
        model = _model(domain, _answers(inside, domain.shape, asked, rng))
        parts.append(np.insert(_records(model, rng), table.label, value, axis=1))
    return np.concatenate(parts)


def rounds(table: Table, plan: MarginalPlan, rng: np.random.Generator) -> Codes64:
    synthetic, _ = ours.release(
        "privpgd",
        table.train,
        table.cells,
        budget=plan.budget,
        adjacency=ADJACENCY,
        parameters={"selection": {"method": "aim"}},
        seed=int(rng.integers(2**31)),
    )
    return np.asarray(synthetic.codes)


Lever = Callable[[Table, MarginalPlan, np.random.Generator], Codes64]
CELLS_ALONE = {"coarse": 0}
# With what each changes in privpgd's selection.
LEVERS: dict[str, tuple[Lever, dict[str, int]]] = {
    "all pairs": (all_pairs, {}),
    "cells alone": (all_pairs, CELLS_ALONE),
    "second look": (second_look, CELLS_ALONE),
    "within label": (within_label, CELLS_ALONE),
    "rounds": (rounds, {}),
}


def _answers(
    codes: Codes64, shape: Sequence[int], asked: Sequence[Asked], rng: np.random.Generator
) -> list[Answer]:
    curator = SimulatedCurator(codes=codes, adjacency=ADJACENCY, rng=rng)
    tables = curator.histograms("", [one.query(shape) for one in asked])
    return [Answer(one, table) for one, table in zip(asked, tables, strict=True)]


def _model(domain: Domain, answers: Sequence[Answer]) -> NoiseAwareModel:
    return NoiseAware().fit(
        evidence_of(domain, answers, None),
        rng=np.random.default_rng(0),
    )


def _records(model: NoiseAwareModel, rng: np.random.Generator) -> Codes64:
    rows = max(1, round(model.evidence.total))
    codes, _ = model.records(rows, rng, lambda share, doing: None)
    return np.asarray(codes)


def _disagreement(model: NoiseAwareModel, clique: Clique) -> float:
    """Mean total variation of the members to what they are averaged to."""
    fit = model.denoised
    assert isinstance(fit, LatentClasses)
    members = (
        LatentClasses(fit.shape, fit.weights[[k]], fit.profiles[[k]], (fit.steps[k],))
        for k in range(len(fit.weights))
    )
    mean = fit.marginal(clique)
    return float(np.mean([np.abs(one.marginal(clique) - mean).sum() / 2 for one in members]))


def _raised(spent: np.ndarray, wanted: np.ndarray, more: float) -> np.ndarray:
    """What to add to `spent`, `more` in all, so that it is `wanted` in proportion where it can."""
    low, high = 0.0, (spent.sum() + more) / wanted.min()
    for _ in range(100):
        level = (low + high) / 2
        above = np.maximum(level * wanted - spent, 0).sum() > more
        low, high = (low, level) if above else (level, high)
    return np.maximum(low * wanted - spent, 0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", choices=sorted(LABELS), nargs="*", default=sorted(LABELS))
    parser.add_argument("--epsilon", nargs="*", default=["0.2", "1", "2.5"])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1])
    parser.add_argument("--levers", choices=list(LEVERS), nargs="*", default=list(LEVERS))
    asked = parser.parse_args()
    print(
        f"{'table':8}  eps seed  {'measured':14}" + "".join(f"{n:>12}" for n in METRICS) + "    s"
    )
    for name in asked.data:
        table = load(name)
        for epsilon in asked.epsilon:
            for lever in asked.levers:
                spend, selection = LEVERS[lever]
                plan = MECHANISMS["privpgd"].plan(
                    simulated.asked(
                        Domain.coded(table.cells),
                        table.train,
                        epsilon,
                        adjacency=ADJACENCY,
                        parameters={"selection": selection},
                    )
                )
                assert isinstance(plan, MarginalPlan)
                for seed in asked.seeds:
                    start = time.process_time()
                    records = spend(table, plan, np.random.default_rng(seed))
                    seconds = time.process_time() - start
                    found = score(table, records)
                    print(
                        f"{name:8} {epsilon:>4} {seed:>4}  {lever:14}"
                        + "".join(f"{found[metric]:12.5f}" for metric in METRICS)
                        + f"{seconds:5.0f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
