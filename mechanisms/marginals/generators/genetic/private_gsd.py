"""Private GSD: synthetic records by a genetic search, close to noisy marginals in L2.

A table of a fixed number of records evolves until its marginals stop coming closer to the noisy
ones in squared L2 distance of probabilities, summed over all cells of all measured marginals. No
model stands between marginals and records: cliques of any order are welcome, and more of them cost
time only.

Source.  Liu, Tang, Vietri, Wu (2023), "Generating private synthetic data with genetic algorithms",
         ICML, arXiv:2306.03257. What the paper leaves open follows the authors' published program:
         5 elites, 50 mutations and 50 crossovers a generation, one entry changed in each, an end as
         soon as as many generations as the table has records have lowered the fitness by less than
         1e-4 of it.
Claim.   The fitness never rises; records obey the domain's rules; the history's last fitness is
         that of the records.
Oracle.  tests/mechanisms/marginals/generators/genetic/test_private_gsd.py counts from scratch.

Where we leave the source:
- Only the cells that a change touches are rescored, compiled (`search`): a speed, not
  another search.
- The search only mends what was measured, so all else stays as its start has it by chance.
  Elites therefore start from columns drawn as they were measured, not from uniform ones, and the
  table has up to 8,000 records, as many as are expected, not 2,000; generations grow with it.
- Clipping to [0, 1] gives noisy tables more mass than 1 and so biases the result towards uniform.
  It is off; `clip` turns it on.
- Marginals with unequal noise may be weighted by inverse variance (`weighting`); equal weights, as
  published, otherwise.
- Elites start with records that obey the domain's rules; candidates that break a rule die; and
  crossovers may also copy all attributes that rules connect.
- More records than the table has are copies of them, as even in number as possible.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from hallmark.mechanisms.arrays import Codes, Table
from hallmark.mechanisms.domain.cliques import Clique, cells
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.execution import INLINE, Execution, Progress
from hallmark.mechanisms.geometry.simplex import onto_simplex
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from hallmark.mechanisms.marginals.generators.generator import Model
from hallmark.mechanisms.marginals.generators.genetic.search import (
    draw,
    generations,
    herd,
    place_of,
)
from hallmark.mechanisms.marginals.generators.history import thinned
from hallmark.mechanisms.marginals.generators.moves.excess import counts
from hallmark.mechanisms.marginals.generators.moves.valid_moves import settled_by, valid_moves
from hallmark.mechanisms.marginals.generators.rounding import repeated

_AT_ONCE = 256  # generations whose random numbers are drawn together
_POINTS = 200  # of the fitness curve in the history

Weighting = Literal["equal", "inverse-variance"]


@dataclass(frozen=True, eq=False)
class GeneticModel:
    """The fittest table.

    Attributes:
        codes: shape (rows, attributes).
        shape: cells of every attribute.
        history: generations, why they ended, and fitness over generations.
    """

    codes: Codes
    shape: tuple[int, ...]
    history: Mapping[str, Any]

    def marginal(self, clique: Clique) -> Table:
        """The table's marginal as probabilities, shape (k_a for a in clique)."""
        return counts(self.codes, clique, [self.shape[a] for a in clique]) / len(self.codes)

    def wanted(self, clique: Clique) -> Table:
        return self.marginal(clique)

    def records(
        self, rows: int, rng: np.random.Generator, progress: Progress
    ) -> tuple[Codes, Mapping[str, Any]]:
        """The table's records in random order, each as often as any other but for one.

        Which records appear once more than others, where `rows` is no multiple of the table's, is
        drawn without replacement.
        """
        progress(0.0, "repeating the table's records")
        return repeated(self.codes, rows, rng), {"table_rows": len(self.codes), "rows": rows}


@dataclass(frozen=True, kw_only=True)
class PrivateGSD:
    """The generator.

    Attributes:
        rows: records of the table that evolves, at most: as many as the evidence speaks of, where
            these are fewer. More of them follow small cells better and take longer in proportion.
            Published: 2,000.
        elites: tables that survive a generation.
        mutations, crossovers: candidates of each kind in a generation.
        generations: at most so many. Published: 300,000.
        draft_generations: at most so many for a rough model.
        tolerance: the search ends when `rows` generations lower the fitness by less than this
            share of it.
        clip: whether noisy marginals are clipped to [0, 1]. Published: yes.
        weighting: "equal", as published, or "inverse-variance" of noise and of rounding to `rows`.
    """

    rows: int = 8_000
    elites: int = 5
    mutations: int = 50
    crossovers: int = 50
    generations: int = 1_200_000
    draft_generations: int = 40_000
    tolerance: float = 1e-4
    clip: bool = False
    weighting: Weighting = "equal"

    takes_prior = False

    def __post_init__(self) -> None:
        for name, least in (
            ("rows", 1),
            ("elites", 1),
            ("mutations", 0),
            ("crossovers", 0),
            ("generations", 1),
            ("draft_generations", 1),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: {getattr(self, name)} is less than {least}")
        if self.mutations + self.crossovers == 0:
            raise ValueError("mutations: 0, and crossovers too; a generation needs candidates")
        if not 0 <= self.tolerance < 1:
            raise ValueError(f"tolerance: {self.tolerance:g} is not in [0, 1)")
        if self.weighting not in ("equal", "inverse-variance"):
            raise ValueError(
                f"weighting: {self.weighting!r} is neither 'equal' nor 'inverse-variance'"
            )

    @property
    def name(self) -> str:
        """As a release spec gives it."""
        return "private-gsd"

    @property
    def source(self) -> str:
        """Paper."""
        return (
            "Private GSD: Liu, Tang, Vietri, Wu (2023), Generating private synthetic data with "
            "genetic algorithms, ICML"
        )

    @property
    def settings(self) -> Mapping[str, Any]:
        """Every constant that shapes the result."""
        return asdict(self)

    def memory(self, domain: Domain, cliques: Sequence[Clique], records: int) -> int:
        """Forecast of peak memory, bytes: targets and excess, the elites, the records."""
        flat = sum(cells(clique, domain.shape) for clique in cliques)
        attributes = len(domain.attributes)
        tables = (3 * self.elites + 2) * self.rows * attributes * 4
        drawn = _AT_ONCE * (3 * self.mutations + 5 * self.crossovers) * 8
        return 5 * flat * 8 + tables + drawn + 2 * records * (attributes * 4 + 8)

    def admits(self, domain: Domain, cliques: Sequence[Clique], share: float) -> bool:
        """True: the model is a table of `rows` records whatever the cliques."""
        return True

    def fit(
        self,
        evidence: Evidence,
        *,
        rng: np.random.Generator,
        execution: Execution = INLINE,
        previous: Model | None = None,
        draft: bool = False,
    ) -> GeneticModel:
        """The fittest table for the evidence.

        Args:
            previous: if it is a table too, it is the first elite; others start at random.
            draft: stop after `draft_generations`.
        """
        shape, marginals = evidence.domain.shape, evidence.marginals
        rows = min(self.rows, round(evidence.total))
        targets = {m.clique: self._target(m, evidence.total) for m in marginals}
        weights = self._weights(marginals, evidence.total / rows)
        rules = settled_by(evidence.domain.rules, marginals)
        moves = valid_moves(rules)
        tables = _independent(evidence, (self.elites, rows), rng)
        if isinstance(previous, GeneticModel):
            tables[0] = repeated(previous.codes, rows, rng)
        if rules:
            tables = rules.repair(tables.reshape(-1, len(shape)), rng).reshape(tables.shape)
        place = place_of(shape, targets, weights, moves)
        elite = herd(tables, targets, weights)
        most = self.draft_generations if draft else self.generations
        curve = [(0, elite.error)]
        done, checked = 0, 0
        ended = "generations"
        while done < most:
            until = min(most, (done // rows + 1) * rows)
            while done < until:
                some = min(_AT_ONCE, until - done)
                drawn = draw(
                    some,
                    mutations=self.mutations,
                    crossovers=self.crossovers,
                    rows=rows,
                    elites=self.elites,
                    shape=shape,
                    blocks=len(moves.blocks),
                    rng=rng,
                )
                generations(elite, place, moves.tables, moves.alone, drawn)
                done += some
                curve.append((done, elite.error))
            execution.progress(done / most, "evolving a table of records")
            # As published, the first look is after two rounds.
            if done >= 2 * rows and done % rows == 0:
                before = curve[checked][1]
                if elite.error == 0 or before - elite.error < self.tolerance * before:
                    ended = "tolerance"
                    break
                checked = len(curve) - 1
        history = {
            "generations": done,
            "ended": ended,
            "changes": int(elite.changes[0]),
            "fitness": [
                [generation, error / rows**2] for generation, error in thinned(curve, _POINTS)
            ],
        }
        return GeneticModel(elite.best, shape, history)

    def _target(self, marginal: NoisyMarginal, total: float) -> Table:
        """Probabilities that the table's marginal should have."""
        probabilities = marginal.counts / total
        return np.clip(probabilities, 0.0, 1.0) if self.clip else probabilities

    def _weights(self, marginals: Sequence[NoisyMarginal], each: float) -> list[float]:
        """Weights of the marginals, of mean 1, where a record of the table stands for `each`."""
        if self.weighting == "equal" or not marginals:
            return [1.0] * len(marginals)
        # A table of few records rounds: exact marginals have no infinite weight.
        rounding = each**2 / 12
        weights = np.array([1 / (marginal.sigma**2 + rounding) for marginal in marginals])
        return [float(weight) for weight in weights / weights.mean()]


def _independent(evidence: Evidence, size: tuple[int, int], rng: np.random.Generator) -> Codes:
    """Records whose columns are independent, each with its measured shares; uniform ones where
    nothing of it was measured. Shape (*size, attributes)."""
    shape, measured = evidence.domain.shape, evidence.single_columns
    codes = np.empty((*size, len(shape)), dtype=np.int32)
    for a, k in enumerate(shape):
        shares = measured[a].counts / evidence.total if a in measured else np.full(k, 1 / k)
        codes[..., a] = rng.choice(k, size=size, p=onto_simplex(shares))
    return codes
