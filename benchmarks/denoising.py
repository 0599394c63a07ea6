"""How close denoised pairs are to the private ones, before any record is made.

    python -m benchmarks.denoising --epsilon 0.2 1 2.5 --seeds 1 2
    python -m benchmarks.denoising --data adult --variants "latent classes" "one member"

All pairs are measured (by SimulatedCurator, whose answers must not be published), and every variant
turns the same noisy tables into probabilities; printed are the mean total variation and the mean
sliced 1-Wasserstein distance of all pairs to the private ones, and the CPU seconds of the fit. The
settings of `latent_classes.LatentClassFit` and of privpgd's selection were chosen by this program.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from itertools import product

import numpy as np

from benchmarks import simulated
from benchmarks.data import LABELS, load
from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.domain.cliques import Clique, all_ways
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.evidence import Evidence
from hallmark.mechanisms.marginals.generators.noise_aware.latent_classes import LatentClassFit
from hallmark.mechanisms.marginals.generators.noise_aware.noise_aware import NoiseAware
from hallmark.mechanisms.marginals.mechanism import Marginals, answers_of, evidence_of
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.utility.sliced_pairs import sliced_w1_of_pair

Tables = Mapping[Clique, Table]


def fitted(generator: NoiseAware, *, refined: bool = True) -> Callable[[Evidence], Tables]:
    """The pairs as the generator denoises them, refined by the measured ones or not."""

    def denoise(evidence: Evidence) -> Tables:
        rng = np.random.default_rng(0)
        model = generator.fit(evidence, rng=rng)
        if refined:
            return model.targets
        return {m.clique: model.marginal(m.clique) for m in evidence.marginals}

    return denoise


def clipped(evidence: Evidence) -> Tables:
    """The measured pairs without negative counts, as shares."""
    positive = {m.clique: np.maximum(m.counts, 0.0) for m in evidence.marginals}
    return {clique: counts / counts.sum() for clique, counts in positive.items()}


VARIANTS: Mapping[str, Callable[[Evidence], Tables]] = {
    "measured, clipped": clipped,
    "singular values": fitted(NoiseAware(denoiser="singular-values"), refined=False),
    "latent classes": fitted(NoiseAware(), refined=False),
    "order left out": fitted(NoiseAware(latent=LatentClassFit(order=0)), refined=False),
    "latent classes, refined": fitted(NoiseAware()),
    "one member": fitted(NoiseAware(latent=LatentClassFit(members=1)), refined=False),
    "20 classes": fitted(NoiseAware(latent=LatentClassFit(classes=20)), refined=False),
    "200 classes": fitted(NoiseAware(latent=LatentClassFit(classes=200)), refined=False),
    "a quarter thinned": fitted(NoiseAware(latent=LatentClassFit(thinning=0.25)), refined=False),
}


def measured(
    name: str, epsilon: str, relation: str, selection: Mapping[str, float], seed: int
) -> Evidence:
    """Noisy pairs of a table, selected with these settings."""
    table = load(name)
    adjacency = Adjacency(neighbours=Neighbours(relation))
    mechanism = Marginals("all pairs", {"method": "all"}, {"method": "noise-aware"})
    plan = mechanism.plan(
        simulated.asked(
            Domain.coded(table.cells),
            table.train,
            epsilon,
            adjacency=adjacency,
            parameters={"selection": selection},
        )
    )
    curator = SimulatedCurator(
        codes=table.train, adjacency=adjacency, rng=np.random.default_rng(seed)
    )
    answers = mechanism.measure(curator, plan, ())
    return evidence_of(plan.domain, answers_of(answers), answers.total)


def truth(name: str) -> Tables:
    """The private pairs, as shares."""
    table = load(name)
    sizes, codes = tuple(table.cells.values()), table.train
    return {
        (a, b): np.histogram2d(
            codes[:, a], codes[:, b], bins=(np.arange(sizes[a] + 1), np.arange(sizes[b] + 1))
        )[0]
        / len(codes)
        for a, b in all_ways(len(sizes), 2)
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", choices=sorted(LABELS), nargs="*", default=sorted(LABELS))
    parser.add_argument("--epsilon", nargs="*", default=["0.2", "1", "2.5"])
    parser.add_argument("--relation", choices=[n.value for n in Neighbours], default="replace_one")
    parser.add_argument("--emphasis", type=float, nargs="*", default=[0, 0.2])
    parser.add_argument("--coarse", type=float, nargs="*", default=[0, 0.15])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1])
    parser.add_argument("--variants", choices=list(VARIANTS), nargs="*", default=list(VARIANTS))
    asked = parser.parse_args()
    print(f"{'table':8}  eps emph coarse seed  {'variant':28}      TV      SW1      s")
    for name in asked.data:
        private = truth(name)
        for epsilon, emphasis, coarse, seed in product(
            asked.epsilon, asked.emphasis, asked.coarse, asked.seeds
        ):
            selection = {"emphasis": emphasis, "coarse": coarse}
            evidence = measured(name, epsilon, asked.relation, selection, seed)
            for variant in asked.variants:
                start = time.process_time()
                found = VARIANTS[variant](evidence)
                seconds = time.process_time() - start
                tv = np.mean([np.abs(found[c] - private[c]).sum() / 2 for c in private])
                sw1 = np.mean(
                    [
                        sliced_w1_of_pair((found[c] - private[c]).ravel(), t.shape)
                        for c, t in private.items()
                    ]
                )
                print(
                    f"{name:8} {epsilon:>4} {emphasis:>4} {coarse:>6} {seed:>4}  {variant:28} "
                    f"{tv:7.4f} {sw1:8.5f} {seconds:6.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
