"""Generator: a graphical model of the measured marginals, and records drawn along its tree.

Of all distributions that fit the noisy marginals best, the model is the one of most entropy: what
was not measured together is independent given what was. Its cost is its junction tree, whose size
is known beforehand; cliques that would make it too large are refused before any budget is spent.
Records drawn at random miss the model's own pairs by chance; `sweeps` polishes that away.

Claim.   Records obey every rule whose columns lie together in a clique of the tree (all others are
         named in the history and left to the repair of the release), and the same evidence and
         `rng` give the same records.
Source.  McKenna, Sheldon, Miklau (2019), "Graphical-model based estimation and inference for
         differential privacy", ICML; McKenna, Mullins, Sheldon, Miklau (2022), "AIM", PVLDB 15(11),
         for the cap that grows with the budget spent. Inference and fit are our own, in numpy: the
         library of the paper's authors compiles anew for every set of cliques, which takes longer
         than a whole fit does here, and an adaptive selection has a new set in every round.
Oracle.  tests/mechanisms/marginals/generators/graphical/test_model.py: closed forms, brute force
         over small domains, and the library of the paper's authors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Codes, Mask, Table
from hallmark.mechanisms.domain.cliques import Clique, all_ways, cells, title
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.execution import INLINE, Execution, Progress
from hallmark.mechanisms.graphical_models.propagation import Calibrated, Propagation
from hallmark.mechanisms.graphical_models.query import Query
from hallmark.mechanisms.graphical_models.sampling import sample
from hallmark.mechanisms.graphical_models.structure import (
    BYTES_A_CELL,
    Structure,
    rule_columns,
    structure,
)
from hallmark.mechanisms.graphical_models.tree import junction_tree
from hallmark.mechanisms.marginals.evidence import Evidence
from hallmark.mechanisms.marginals.generators.generator import Model
from hallmark.mechanisms.marginals.generators.graphical.descent import Fit, descend
from hallmark.mechanisms.marginals.generators.history import thinned
from hallmark.mechanisms.marginals.generators.moves.local_search import polish

_EXACT = 0.1  # standard deviation of a public marginal, in units of the least one of the noisy
_LOSSES = 20  # kept in the history
_NAMED = 6  # columns in a message
_SMALLER = 1 / 27  # a fit that goes on from another starts with so much of its last step
# Seconds: of a pass; of an entry that is drawn; of a column in a junction tree.
_PER_CLIQUE, _PER_CELL, _PER_ENTRY, _PER_TREE = 2.5e-5, 1e-8, 1e-7, 2e-5
_RULES = 2  # rules have room in one part out of so many of the cap, before anything is measured
# Memory of tables: of the tree (the model before, the one now, the one tried, and what answers to
# queries across cliques keep and pass through), of its largest clique (products, sums), and of the
# measured cliques. Queries of three attributes and more may pass through larger ones.
_TREES, _LARGEST, _MEASURED = 6, 6, 20
_RECORD = 96  # bytes of a record while it is drawn, beyond its codes
_POLISHED = 4  # tables of every marginal that records are polished to: target, excess, counts
_PROPOSALS = 2**23  # bytes of those that the polish tries at once
_DRAWN = 0.2  # progress when records are drawn that will be polished


@dataclass(frozen=True, eq=False)
class GraphicalFit:
    """A fitted model.

    Attributes:
        domain: of its records.
        potentials: natural logarithms of its factors, by clique.
        calibrated: its distribution.
        size: see `descent.Fit`.
        history: what the fit did, and how good it is proved to be.
        sweeps: see `GraphicalModel`.
    """

    domain: Domain
    potentials: Mapping[Clique, Table]
    calibrated: Calibrated
    size: float
    history: Mapping[str, Any]
    sweeps: int

    def marginal(self, clique: Clique) -> Table:
        """See `Model.marginal`; across cliques of the tree it costs more."""
        return self._query.marginal(clique)

    def wanted(self, clique: Clique) -> Table:
        return self.marginal(clique)

    def records(
        self, rows: int, rng: np.random.Generator, progress: Progress
    ) -> tuple[Codes, Mapping[str, Any]]:
        """See `Model.records`."""
        drawn = _DRAWN if self.sweeps else 1.0
        codes = sample(
            self.calibrated, rows, rng, lambda share: progress(drawn * share, "drawing records")
        )
        if not self.sweeps:
            return codes, {}
        wanted = _polished(self.domain, tuple(self.potentials))
        codes, errors = polish(
            codes,
            {clique: self.marginal(clique) for clique in wanted},
            rules=self.domain.rules,
            sweeps=self.sweeps,
            rng=rng,
            report=lambda share: progress(drawn + (1 - drawn) * share, "polishing records"),
        )
        return codes, {"polish_squared_error": errors}

    @cached_property
    def _query(self) -> Query:
        return Query(self.calibrated)


@dataclass(frozen=True, kw_only=True)
class GraphicalModel:
    """The generator.

    Attributes:
        iterations: runs of inference that a fit may take, about; it ends earlier when it stands.
        draft_iterations: the same of a draft.
        max_model_bytes: cap on the tables of the junction tree, as AIM counts a model's size.
        sweeps: proposals per entry of the table that bring the records closer to the model's pairs
            and measured marginals (`moves.local_search`); 0 leaves them as they were drawn.
    """

    iterations: int = 1_000
    draft_iterations: int = 300
    max_model_bytes: int = 2**25
    sweeps: int = 0

    name = "graphical-model"
    takes_prior = False
    source = (
        "a graphical model: McKenna, Sheldon, Miklau (2019), Graphical-model based estimation and "
        "inference for differential privacy, ICML"
    )

    def __post_init__(self) -> None:
        for field, least in (
            ("iterations", 1),
            ("draft_iterations", 1),
            ("max_model_bytes", BYTES_A_CELL),
            ("sweeps", 0),
        ):
            if getattr(self, field) < least:
                raise ValueError(
                    f"{field}: {getattr(self, field)}; give a whole number of at least {least}"
                )

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `Generator.settings`."""
        return asdict(self)

    def memory(self, domain: Domain, cliques: Sequence[Clique], records: int) -> int:
        """See `Generator.memory`.

        Raises:
            ValueError: the model's tables would take more than `max_model_bytes`.
        """
        tree = self._structure(domain, cliques, self._most_cells).tree
        largest = cells(tree.largest(domain.shape), domain.shape)
        measured = sum(cells(clique, domain.shape) for clique in cliques)
        tables = _TREES * tree.cells(domain.shape) + _LARGEST * largest + _MEASURED * measured
        codes = 4 * records * len(domain)
        drawing = tables * BYTES_A_CELL + codes + _RECORD * records
        if not self.sweeps:
            return drawing
        wanted = sum(cells(clique, domain.shape) for clique in _polished(domain, cliques))
        return drawing + _POLISHED * wanted * BYTES_A_CELL + codes + _PROPOSALS

    def seconds(
        self, domain: Domain, cliques: Sequence[Clique], batches: Sequence[int], signal: float
    ) -> tuple[float, float] | None:
        """See `Timed.seconds`: a fit takes all its passes, as almost every one does. Nothing
        is known of the polish."""
        if self.sweeps:
            return None
        fit = self.iterations * self._pass_seconds(domain, cliques)
        return fit, _PER_ENTRY * sum(batches) * len(domain)

    def draft_seconds(
        self, domain: Domain, cliques: Sequence[Clique], signal: float, candidates: int
    ) -> float:
        """See `Timed.draft_seconds`."""
        draft = self.draft_iterations * self._pass_seconds(domain, cliques)
        return draft + _PER_TREE * candidates * len(domain)

    def _pass_seconds(self, domain: Domain, cliques: Sequence[Clique]) -> float:
        entries = self._structure(domain, cliques, self._most_cells).tree.cells(domain.shape)
        return _PER_CLIQUE * len(cliques) + _PER_CELL * entries

    def admits(self, domain: Domain, cliques: Sequence[Clique], share: float) -> bool:
        """See `Generator.admits`; the last clique is the candidate, the others are in the model.

        As in AIM, the model may fill as much of its cap as was spent of the budget, and a candidate
        within another clique is always admitted. The cap counts from the least model on, that of
        the columns alone and of the rules, so that they never take the measurements' room.
        """
        if not cliques or any(set(cliques[-1]) <= set(clique) for clique in cliques[:-1]):
            return True
        least = structure(domain, (), self._most_cells // _RULES)
        rules = [c for c in rule_columns(domain.rules) if c not in least.left_out]
        start = least.tree.cells(domain.shape)
        size = junction_tree(domain.shape, [*cliques, *rules]).cells(domain.shape)
        return size <= start + share * (self._most_cells - start)

    def fit(
        self,
        evidence: Evidence,
        *,
        rng: np.random.Generator,
        execution: Execution = INLINE,
        previous: Model | None = None,
        draft: bool = False,
    ) -> GraphicalFit:
        """See `Generator.fit`; `rng` is not used.

        Functions between columns that rules leave open are settled by a model without them, and
        hold in the model that is returned, unless it is a draft.

        A fit that stalls is begun anew, from nothing.

        Raises:
            ValueError: the model is twice as large as `memory` allows, or the rules allow no
                record.
            RuntimeError: the fit stalls from nothing, too.
        """
        domain = evidence.domain
        # Twice: a greedy tree of part of an admitted model may be larger than that model's.
        plan = self._structure(domain, list(evidence.by_clique), 2 * self._most_cells)
        rules = domain.rules
        passes = self.draft_iterations if draft else self.iterations
        before = _from(previous, domain)
        stages = 2 if rules.determinations and not draft else 1
        passes = -(-passes // stages)
        history: dict[str, Any] = {
            "loss": "mean squared residual of the measured cells, in variances of their noise",
            "losses": [],
            "passes": 0,
            "stalled_and_begun_anew": 0,
        }
        for stage in range(stages):
            if stage and before is not None:
                rules = rules.settled(before.marginal)

            def report(share: float, stage: int = stage) -> None:
                execution.progress((stage + share) / stages, "fitting the graphical model")

            found = _fitted(evidence, plan, rules, passes, before, report)
            if found.stalled and before is not None:
                history["stalled_and_begun_anew"] += 1
                history["passes"] += found.passes
                found = _fitted(evidence, plan, rules, passes, None, report)
            if found.stalled:
                raise RuntimeError(_not_fitted(found))
            history["losses"] += thinned(found.losses, _LOSSES // stages)
            history["passes"] += found.passes
            history |= {
                "excess_at_most": float(f"{found.excess:.4g}"),
                "converged": found.converged,
            }
            before = GraphicalFit(
                domain,
                dict(zip(evidence.by_clique, found.potentials, strict=True)),
                found.calibrated,
                found.size,
                history | _described(domain, plan),
                self.sweeps,
            )
        assert before is not None
        return before

    @property
    def _most_cells(self) -> int:
        return self.max_model_bytes // BYTES_A_CELL

    def _structure(self, domain: Domain, cliques: Sequence[Clique], most: int) -> Structure:
        """The structure with room for rules under the cap; refused above `most` cells."""
        tree = junction_tree(domain.shape, cliques)
        size = tree.cells(domain.shape)
        if size > most:
            largest = tree.largest(domain.shape)
            raise ValueError(
                f"mechanism.generator: a {self.name} of these {len(cliques)} marginals takes "
                f"{_bytes(size * BYTES_A_CELL)} ({size:,} cells), above max_model_bytes = "
                f"{_bytes(self.max_model_bytes)}; the columns {_named(largest, domain)} hang "
                f"together in {cells(largest, domain.shape):,} of them; measure fewer marginals "
                "among these, give the columns coarser grids, raise max_model_bytes, or take "
                "another generator"
            )
        return structure(domain, cliques, self._most_cells)


def _fitted(
    evidence: Evidence,
    plan: Structure,
    rules: Rules,
    passes: int,
    before: GraphicalFit | None,
    report: Callable[[float], None],
) -> Fit:
    shape = evidence.domain.shape
    zeros = plan.zeros(rules)
    propagation = Propagation(shape, plan.tree, list(evidence.by_clique), zeros)
    exact = _EXACT * evidence.finest
    known = before.potentials if before is not None else {}
    return descend(
        propagation,
        [
            _possible(marginal.counts / evidence.total, marginal.clique, zeros)
            for marginal in evidence.marginals
        ],
        [(evidence.total / (marginal.sigma or exact)) ** 2 for marginal in evidence.marginals],
        [
            known.get(marginal.clique, np.zeros_like(marginal.counts))
            for marginal in evidence.marginals
        ],
        passes=passes,
        size=before.size * _SMALLER if before is not None else None,
        report=report,
    )


def _not_fitted(found: Fit) -> str:
    return (
        f"mechanism.generator: the fit of the graphical model stalled after {found.passes} runs of "
        f"inference at a mean squared residual of {found.losses[-1]:.3g} variances of the noise, "
        f"which may be {found.excess:.3g} too high; nothing is chosen or released by such a model. "
        "What was measured is kept, and nothing more was spent: go on with a version in which this "
        "is fixed, or choose another generator for a release under a new name"
    )


def _possible(target: Table, clique: Clique, zeros: Mapping[Clique, Mask]) -> Table:
    """The target with 0 where no record may be: what was measured there is noise alone."""
    for part, allowed in zeros.items():
        if set(part) <= set(clique):
            inside = [a for a in clique if a in part]
            mask = np.transpose(allowed, [part.index(a) for a in inside])
            spread = [n if a in part else 1 for a, n in zip(clique, target.shape, strict=True)]
            target = np.where(mask.reshape(spread), target, 0.0)
    return target


def _from(previous: Model | None, domain: Domain) -> GraphicalFit | None:
    """The model to start from, if it is one of this generator."""
    if isinstance(previous, GraphicalFit) and previous.domain.shape == domain.shape:
        return previous
    return None


def _polished(domain: Domain, measured: Sequence[Clique]) -> tuple[Clique, ...]:
    """What records are polished to: all pairs, and what was measured."""
    return tuple(dict.fromkeys((*measured, *all_ways(len(domain), 2))))


def _described(domain: Domain, plan: Structure) -> dict[str, Any]:
    largest = plan.tree.largest(domain.shape)
    return {
        "model_cells": plan.tree.cells(domain.shape),
        "model_cliques": len(plan.tree.cliques),
        "largest_clique": title(largest, domain.names),
        "largest_clique_cells": cells(largest, domain.shape),
        "rules_left_to_repair": [title(columns, domain.names) for columns in plan.left_out],
    }


def _named(clique: Clique, domain: Domain) -> str:
    """The clique for people, cut where it is long."""
    more = len(clique) - _NAMED
    return title(clique[:_NAMED], domain.names) + (f" and {more} more" if more > 0 else "")


def _bytes(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.1f} MiB"
