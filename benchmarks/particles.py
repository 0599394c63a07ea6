"""How long the particle generator takes at the paper's size, stage by stage, from a fraction of it.

    python -m benchmarks.particles
    python -m benchmarks.particles --device cuda --epochs 20 --out docs/marginals

The size: 100,000 particles, all 171 two-way marginals of 19 columns with the cells of a census
excerpt (32 at most), 1,750 iterations along 200 directions, 1,000 epochs along 10. All marginals
are projected for a few iterations and quantised, particles move for an epoch or more and are
finalised: what repeats is scaled up. Counts are noise around a skewed table: times do not depend on
them. On a CPU processor seconds are scaled, which other work on the machine disturbs little.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from hallmark.mechanisms.marginals.generators.device import chosen_device
from hallmark.mechanisms.marginals.generators.embedding import nearest_codes
from hallmark.mechanisms.marginals.generators.particles.descent import State, descend
from hallmark.mechanisms.marginals.generators.particles.particles import Particles
from hallmark.mechanisms.marginals.generators.particles.quantisation import Target
from hallmark.mechanisms.marginals.generators.particles.settings import Descent, Projection
from hallmark.mechanisms.marginals.generators.particles.targets import target_tables

SHAPE = (32, 2, 7, 5, 9, 21, 20, 3, 3, 13, 11, 7, 3, 3, 2, 2, 20, 32, 20)
RECORDS, SIGMA = 21_802, 73.0  # noise at epsilon 1 and delta 1e-5


@dataclass(frozen=True)
class Stage:
    """What a stage took, and what it would take in full."""

    name: str
    measured: float  # seconds
    share: float  # of the full work

    @property
    def full(self) -> float:
        return self.measured / self.share


def evidence() -> Evidence:
    """Noisy marginals of all pairs."""
    rng = np.random.default_rng(0)
    ones = [np.sort(rng.dirichlet(np.full(k, 0.7)))[::-1] for k in SHAPE]
    marginals = []
    for a, b in combinations(range(len(SHAPE)), 2):
        counts = RECORDS * np.outer(ones[a], ones[b]) + rng.normal(0, SIGMA, (SHAPE[a], SHAPE[b]))
        marginals.append(NoisyMarginal((a, b), counts, SIGMA))
    return Evidence(
        Domain.coded({f"x{i}": k for i, k in enumerate(SHAPE)}),
        tuple(marginals),
        float(RECORDS),
        True,
    )


def seconds(device: torch.device, work: Callable[[], Any]) -> tuple[float, Any]:
    """Of a processor, or of the clock where a GPU works; and the result."""
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    begun = clock()
    result = work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return clock() - begun, result


def stages(
    device: torch.device, particles: int, iterations: int, epochs: int
) -> tuple[list[Stage], Particles]:
    """Measured times of all stages."""
    known, projection, descent = evidence(), Projection(), Descent()

    def project(steps: int) -> Any:
        return target_tables(
            known,
            [None] * len(known.marginals),
            projection=replace(projection, iterations=steps),
            seed=0,
            device=device,
            known={},
            kept={},
            after_chunk=lambda state: None,
            report=lambda share: None,
        )

    project(1)  # loads what is loaded once
    once, _ = seconds(device, lambda: project(0))
    some, (tables, _) = seconds(device, lambda: project(iterations))
    quantised, targets = seconds(
        device,
        lambda: [
            Target.of(marginal.clique, table, particles, device=device)
            for marginal, table in zip(known.marginals, tables, strict=True)
        ],
    )
    rng = np.random.default_rng(1)
    state = State.at(rng.random((len(SHAPE), particles), dtype=np.float32), device)
    descend(state, targets[:5], descent=replace(descent, epochs=1), seed=0)  # the same
    state.epoch = 0
    moved, _ = seconds(
        device, lambda: descend(state, targets, descent=replace(descent, epochs=epochs), seed=1)
    )
    ended, _ = seconds(device, lambda: nearest_codes(state.positions.cpu().numpy(), SHAPE))
    return [
        Stage("projection: sorting the banks", once, 1.0),
        Stage("projection: iterations", some - once, iterations / projection.iterations),
        Stage("quantisation", quantised, 1.0),
        Stage("descent", moved, epochs / descent.epochs),
        Stage("finalisation", ended, 1.0),
    ], Particles(particles=particles)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--particles", type=int, default=100_000)
    parser.add_argument("--iterations", type=int, default=10, help="of 1,750")
    parser.add_argument("--epochs", type=int, default=2, help="of 1,000")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="cpu")
    parser.add_argument("--out", type=Path, help="folder for particles.json")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    device = chosen_device(arguments.device)
    found, generator = stages(device, arguments.particles, arguments.iterations, arguments.epochs)
    name = torch.cuda.get_device_name() if device.type == "cuda" else platform.machine()
    cliques = list(combinations(range(len(SHAPE)), 2))
    memory = generator.memory(evidence().domain, cliques, arguments.particles)
    print(
        f"{device.type} ({name}), {arguments.threads} thread(s), {arguments.particles:,} particles"
    )
    print(f"{'stage':32}{'measured s':>12}{'of the whole':>14}{'in full s':>12}")
    for stage in found:
        print(f"{stage.name:32}{stage.measured:12.2f}{stage.share:14.2%}{stage.full:12.0f}")
    total = sum(stage.full for stage in found)
    print(f"{'all':32}{'':12}{'':14}{total:12.0f}  = {total / 3600:.2f} h; memory {memory:,} bytes")
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "particles.json").write_text(
            json.dumps(
                {
                    "device": f"{device.type} ({name})",
                    "threads": arguments.threads,
                    "particles": arguments.particles,
                    "torch": torch.__version__,
                    "stages": [
                        {
                            "stage": stage.name,
                            "measured_s": round(stage.measured, 3),
                            "share": round(stage.share, 6),
                            "full_s": round(stage.full, 1),
                        }
                        for stage in found
                    ],
                    "memory_forecast_bytes": memory,
                },
                indent=1,
            )
            + "\n"
        )


if __name__ == "__main__":
    main()
