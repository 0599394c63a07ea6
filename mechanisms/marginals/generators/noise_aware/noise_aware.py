"""Noise-aware generation, the house's default: denoise all marginals together, sample, polish.

    evidence -> latent classes (or singular values) -> targets -> records -> polished records

What the classes leave unexplained is added back to a measured marginal as far as it stands out of
the noise (`refinement`), so that strong dependence is not biased towards what a mixture can say,
and every attribute gets one margin, which all targets share. Records start as a sample of the
Chow-Liu tree of the targets, not of the classes: few classes that explain all pairs tie three
columns together in ways that no marginal asked for, and the polish leaves that alone. `epochs`
moves them by the particle descent of PrivPGD first; the polish fits their counts to the targets.
Where some pairs were not measured, it fits them to what the classes say, and to the product of
margins where nothing measured ties two columns together (`parts`): a sample's own error is as large
as what is left of dependence there.
Edit rules hold in all steps.

Source.  Donhauser, Abad, Hulkund, Yang (2024), "Privacy-preserving data release leveraging optimal
         transport and particle gradient descent", ICML, for measuring all marginals and moving
         records towards them; denoising (`latent_classes`, `shrinkage`, `refinement`) and polish
         (`local_search`) are ours.
Oracle.  tests/mechanisms/marginals/generators/noise_aware/test_noise_aware.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import combinations
from math import exp
from typing import Any, Literal, Protocol

import numpy as np

from hallmark.mechanisms.arrays import Codes, Table
from hallmark.mechanisms.domain.cliques import Clique, all_ways, cells
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.execution import INLINE, Execution, Progress
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from hallmark.mechanisms.marginals.generators.device import chosen_device
from hallmark.mechanisms.marginals.generators.generator import Model
from hallmark.mechanisms.marginals.generators.moves.local_search import polish
from hallmark.mechanisms.marginals.generators.moves.valid_moves import settled_by
from hallmark.mechanisms.marginals.generators.noise_aware.chow_liu import sample_tree, shrunk_pairs
from hallmark.mechanisms.marginals.generators.noise_aware.latent_classes import (
    LatentClasses,
    LatentClassFit,
    fit_latent_classes,
)
from hallmark.mechanisms.marginals.generators.noise_aware.leaning import Leaned, leaned
from hallmark.mechanisms.marginals.generators.noise_aware.mixture_loss import (
    COPIES,
    entries_of_triples,
)
from hallmark.mechanisms.marginals.generators.noise_aware.parts import parts_of
from hallmark.mechanisms.marginals.generators.noise_aware.refinement import (
    SILENT,
    raked,
    refined_each,
    refined_margin,
    tilted,
)
from hallmark.mechanisms.marginals.generators.noise_aware.shrinkage import Targets
from hallmark.mechanisms.marginals.generators.noise_aware.sorted_descent import Descent, descend
from hallmark.mechanisms.marginals.generators.rounding import repeated
from hallmark.mechanisms.marginals.prior import LEANED

Denoiser = Literal["latent-classes", "singular-values"]

_DRAFT = {  # of the classes, for the next round of a selection
    "members": 1,
    "patience": 2,
    "order": 0.0,  # few pairs are known yet, and what moves fast for them strays elsewhere
}
_TRUSTED_COLUMNS, _TRUSTED_TABLES = 5.0, 3.0  # of a prior: as many as are seen to lie at it
_UNMEASURED = 0.3  # weight of a pair in the polish, where it is the model's guess
_SPLIT_SEED = 20_261_127  # a model's targets are the same whenever they are asked for
_DENOISED = 0.4  # progress when the model is fitted
_BYTES_PER_CELL = 72  # counts, noise added, targets, and the polish's lines in two orders
_BYTES_PER_REFINED_CELL = 80  # of one table at a time, while it is refined
_BYTES_PER_ENTRY = 16  # of the records: codes, positions
# Seconds, fitted to the runs of docs/scale.md:
_PER_TABLE = 8e-5  # of a member: its own noise
_PER_CELL, _PER_SQUARE = 3.8e-8, 8e-11  # of a step and a class, by cells of all attributes
_PER_CUBE = 3e-10  # of a step and a class, by entries of all triples
_FEWEST_STEPS, _MOST_STEPS = 20, 740
_CLEAR_SIGNAL, _CLEAR_IN_A_CELL = 1260.0, 0.03
_PER_TARGET, _PER_TARGET_CELL = 1e-3, 5e-7
_PER_LINK, _PER_LINE_CELL = 2.5e-8, 5.5e-9  # of a record: tables of all entries, their cells
_SETTLED_FAST = 100_000  # records from which on a search ends the earlier the more there are
_SQUARES = 6  # matrices over all cells that a fit holds, float32


@dataclass(frozen=True, kw_only=True)
class NoiseAware:
    """The generator with its settings.

    Attributes:
        denoiser: latent classes for any marginals, or singular values where all pairs are measured.
        latent: constants of the latent classes.
        particles: at most so many records are moved by the descent.
        descent: of the particles; 0 epochs leave it out.
        sweeps: proposals of the polish per entry of the table; 0 leaves it out.
    """

    denoiser: Denoiser = "latent-classes"
    latent: LatentClassFit = field(default_factory=LatentClassFit)
    particles: int = 100_000
    descent: Descent = field(default_factory=Descent)
    sweeps: int = 60

    def __post_init__(self) -> None:
        if self.particles < 1:
            raise ValueError(f"particles: {self.particles}; use a whole number of at least 1")
        if self.sweeps < 0:
            raise ValueError(f"sweeps: {self.sweeps}; use a whole number, 0 leaves the polish out")

    name = "noise-aware"

    @property
    def source(self) -> str:
        denoised = "latent classes" if self.denoiser == "latent-classes" else "singular values"
        return f"our noise-aware generator: {denoised} denoise the marginals, local search polishes"

    @property
    def settings(self) -> Mapping[str, Any]:
        return asdict(self)

    @property
    def takes_prior(self) -> bool:
        """Where the covariances that correct its shares can be estimated."""
        return self.denoiser == "latent-classes" and self.latent.members > 1

    def memory(self, domain: Domain, cliques: Sequence[Clique], records: int) -> int:
        """Forecast of peak memory, bytes.

        Raises:
            ValueError: singular values are asked for where not all pairs are measured, or a
                device is not there.
        """
        if self.latent.device != "cpu":
            chosen_device(self.latent.device, "mechanism.generator.latent.device")
        if self.denoiser == "singular-values" and set(cliques) != set(all_ways(len(domain), 2)):
            raise ValueError(
                "mechanism.generator.denoiser: singular-values needs all two-way marginals and "
                "nothing else; use latent-classes, or selection all with ways 2"
            )
        entries = sum(domain.shape)
        sizes = {clique: cells(clique, domain.shape) for clique in _polished(domain, cliques)}
        widest = max((size for clique, size in sizes.items() if len(clique) > 2), default=0)
        fit = 4 * (_SQUARES * entries**2 + 8 * self.latent.classes * (entries + widest))
        fit += 4 * COPIES * entries_of_triples(domain.shape, cliques)
        tables = _BYTES_PER_CELL * sum(sizes.values())
        tables += _BYTES_PER_REFINED_CELL * max(sizes.values(), default=0)
        return fit + tables + _BYTES_PER_ENTRY * records * len(domain)

    def seconds(
        self, domain: Domain, cliques: Sequence[Clique], batches: Sequence[int], signal: float
    ) -> tuple[float, float] | None:
        """Forecast of the CPU time to fit and to draw; see `Timed.seconds` and docs/scale.md.

        A fit's steps are the more the less noise there is; a step takes matrices over all cells.
        What the polish of a record takes is the lines that it reads.
        """
        if self.denoiser == "singular-values":
            return None
        counts = sum(cells(clique, domain.shape) for clique in cliques)
        fit = _fit_seconds(self.latent, domain, cliques, signal)
        fit += _PER_TARGET * len(cliques) + _PER_TARGET_CELL * counts
        polished = _polished(domain, cliques)
        links = sum(len(clique) for clique in polished)
        lines = sum(domain.shape[a] for clique in polished for a in clique)
        drawn = 0.0
        for rows in batches:
            settled = lines * min(1.0, (_SETTLED_FAST / rows) ** 0.5)
            drawn += rows * (_PER_LINK * links + _PER_LINE_CELL * settled)
        return fit, drawn

    def draft_seconds(
        self, domain: Domain, cliques: Sequence[Clique], signal: float, candidates: int
    ) -> float | None:
        """See `Timed.draft_seconds`; a draft has no targets."""
        if self.denoiser == "singular-values":
            return None
        return _fit_seconds(self._latent(draft=True), domain, cliques, signal)

    def _latent(self, draft: bool) -> LatentClassFit:
        return LatentClassFit(**asdict(self.latent) | (_DRAFT if draft else {}))

    def admits(self, domain: Domain, cliques: Sequence[Clique], share: float) -> bool:
        """All: the model does not grow with the marginals."""
        return True

    def fit(
        self,
        evidence: Evidence,
        *,
        rng: np.random.Generator,
        execution: Execution = INLINE,
        previous: Model | None = None,
        draft: bool = False,
    ) -> "NoiseAwareModel":
        """The denoised marginals as a model that can be sampled."""
        execution.progress(0.0, "denoising the marginals")
        if self.denoiser == "singular-values":
            return NoiseAwareModel(self, evidence, shrunk_pairs(evidence))
        known = previous.denoised if isinstance(previous, NoiseAwareModel) else None
        classes = fit_latent_classes(
            evidence,
            self._latent(draft),
            rng=rng,
            previous=known if isinstance(known, LatentClasses) else None,
            report=lambda share: execution.progress(_DENOISED * share, "denoising the marginals"),
        )
        return NoiseAwareModel(self, evidence, classes)


def _polished(domain: Domain, cliques: Sequence[Clique]) -> list[Clique]:
    """What records are fitted to where these were measured: the other pairs, too."""
    return list(dict.fromkeys((*cliques, *all_ways(len(domain), 2))))


def _fit_seconds(
    latent: LatentClassFit, domain: Domain, cliques: Sequence[Clique], signal: float
) -> float:
    """CPU time of fitting latent classes."""
    entries, tables = sum(domain.shape), len(cliques)
    counts = sum(cells(clique, domain.shape) for clique in cliques)
    # In tables of many cells there is little to be learnt of each.
    clear = signal / _CLEAR_SIGNAL * min(1.0, signal * tables / (_CLEAR_IN_A_CELL * counts))
    steps = latent.patience * latent.check
    steps += round(_MOST_STEPS * (1 - exp(-clear))) + _FEWEST_STEPS
    step = latent.classes * (_PER_CELL * entries + _PER_SQUARE * entries**2)
    step += latent.classes * _PER_CUBE * entries_of_triples(domain.shape, cliques)
    return latent.members * (_PER_TABLE * tables + min(steps, latent.most_steps) * step)


class Denoised(Protocol):
    """Marginals that fit together."""

    def marginal(self, clique: Clique) -> Table: ...

    @property
    def covariances(self) -> Mapping[Clique, float]:
        """Of the noise in measured tables with these, in squared shares, where they are known."""
        ...

    @property
    def summary(self) -> Mapping[str, Any]:
        """What the fit did, as plain JSON values."""
        ...


@dataclass(frozen=True, eq=False)
class NoiseAwareModel:
    """Denoised evidence."""

    settings: NoiseAware
    evidence: Evidence
    denoised: Denoised

    @property
    def history(self) -> Mapping[str, Any]:
        if self.evidence.prior is None:
            return self.denoised.summary
        shares = {"columns": self._columns.shares, "tables": self._tables.shares}
        means = {what: float(own.mean()) for what, own in shares.items() if len(own)}
        return {**self.denoised.summary, LEANED: means}

    def marginal(self, clique: Clique) -> Table:
        return self.denoised.marginal(clique)

    @cached_property
    def rules(self) -> Rules:
        """The domain's, what determines what settled by the measured counts: the model blurs it."""
        return settled_by(self.evidence.domain.rules, self.evidence.marginals)

    @cached_property
    def targets(self) -> Mapping[Clique, Table]:
        """What the records' marginals shall be: denoised, and 0 where no record may be."""
        joint = self._joint
        tables = tilted(
            self._tables.tables, [self._measured[clique] for clique in joint], silent=SILENT
        )
        moved = dict(zip(joint, tables, strict=True))
        models = {
            clique: self._with_margins(moved[clique], clique)
            if clique in moved
            else self._raked(clique)
            for clique in self._measured
        }
        return dict(zip(models, self._refined(models), strict=True))

    def _refined(self, models: Mapping[Clique, Table]) -> list[Table]:
        """The models refined by the measured tables, as far as that stands a test.

        A table's noise may pass for what the model misses. So the measured tables are split: what
        one half makes of the models shows on the other one how much of it is true of each table.
        """
        measured = [self._measured[clique] for clique in models]
        rng = np.random.default_rng(_SPLIT_SEED)
        halves = [marginal.thinned(marginal.noise(rng), 1.0) for marginal in measured]
        seen, held = (list(half) for half in zip(*halves, strict=True))
        starts, tried = list(models.values()), self._refined_by(seen, models)
        shares = leaned(starts, tried, held, [0.0] * len(starts)).shares
        return [
            start + share * (table - start) if marginal.sigma else table
            for start, share, table, marginal in zip(
                starts, shares, self._refined_by(measured, models), measured, strict=True
            )
        ]

    def _refined_by(
        self, measured: Sequence[NoisyMarginal], models: Mapping[Clique, Table]
    ) -> list[Table]:
        return refined_each(
            list(models.values()),
            measured,
            [self._margins_of(clique) for clique in models],
            [self.rules.allowed(clique) for clique in models],
        )

    @cached_property
    def _measured(self) -> Mapping[Clique, NoisyMarginal]:
        return {m.clique: m.share(self.evidence.total) for m in self.evidence.marginals}

    @property
    def _joint(self) -> list[Clique]:
        """Measured marginals of several attributes."""
        return [clique for clique in self._measured if len(clique) > 1]

    @cached_property
    def _tables(self) -> Leaned:
        """The model of `_joint`, nearer to products of margins and to a prior, where these fit."""
        models = {clique: self._raked(clique) for clique in self._joint}
        covariances = dict(self.denoised.covariances)
        pairs = [clique for clique in models if len(clique) == 2 and clique in covariances]
        products = leaned(
            [models[pair] for pair in pairs],
            [self._with_margins(np.ones_like(models[pair]), pair) for pair in pairs],
            [self._measured[pair] for pair in pairs],
            [covariances[pair] for pair in pairs],
            doubted=SILENT,
        )
        models |= zip(pairs, products.tables, strict=True)
        for pair, share in zip(pairs, products.shares, strict=True):
            covariances[pair] *= 1 - share
        if (prior := self.evidence.prior) is None or not covariances:
            return Leaned(list(models.values()), np.zeros(len(models)))
        return leaned(
            list(models.values()),
            [self._with_margins(prior.table(clique), clique) for clique in models],
            [self._measured[clique] for clique in models],
            [covariances[clique] for clique in models],
            trusted=_TRUSTED_TABLES,
        )

    @cached_property
    def _margins(self) -> tuple[Table, ...]:
        """Margins of all attributes for all targets: the model's, refined by all measurements."""
        return tuple(
            refined_margin(model, measured, self.rules.allowed((a,)))
            for a, (model, measured) in enumerate(
                zip(
                    tilted(self._columns.tables, self._measured_columns),
                    self._measured_columns,
                    strict=True,
                )
            )
        )

    @cached_property
    def _measured_columns(self) -> list[NoisyMarginal]:
        """What was measured of every attribute; of one that was not, what the model says."""
        total, known = self.evidence.total, self.evidence.single_columns
        return [
            known[a].share(total) if a in known else NoisyMarginal((a,), self.marginal((a,)), 0.0)
            for a in range(len(self.evidence.domain))
        ]

    @cached_property
    def _columns(self) -> Leaned:
        """The model of all attributes, nearer to a prior, where this fits."""
        models = [self.marginal((a,)) for a in range(len(self.evidence.domain))]
        covariances = self.denoised.covariances
        if (prior := self.evidence.prior) is None or not covariances:
            return Leaned(models, np.zeros(len(models)))
        return leaned(
            models,
            [prior.table((a,)) for a in range(len(models))],
            self._measured_columns,
            [covariances.get((a,), 0.0) for a in range(len(models))],
            trusted=_TRUSTED_COLUMNS,
        )

    def _margins_of(self, clique: Clique) -> list[Table]:
        """Margins of the clique's attributes."""
        return [self._margins[a] for a in clique]

    def _raked(self, clique: Clique) -> Table:
        """What the model says of it, with these margins."""
        return self._with_margins(self.marginal(clique), clique)

    def _with_margins(self, table: Table, clique: Clique) -> Table:
        return raked(table, self._margins_of(clique), self.rules.allowed(clique))

    @cached_property
    def _parts(self) -> tuple[int, ...]:
        """Which attributes hang together; all, where nothing was measured of several."""
        size = len(self.evidence.domain)
        return parts_of(self.evidence) if self._joint else (0,) * size

    def wanted(self, clique: Clique) -> Table:
        """The target; of what was not measured, the model, as near to a prior as is usual, or the
        product of margins where nothing ties a pair together."""
        if clique in self.targets:
            return self.targets[clique]
        if len(clique) == 2 and len({self._parts[a] for a in clique}) > 1:
            shape = self.evidence.domain.shape
            model = self._with_margins(np.ones([shape[a] for a in clique]), clique)
        else:
            model = self._raked(clique)
        if (prior := self.evidence.prior) is None or not self._joint:
            return model
        public, share = self._with_margins(prior.table(clique), clique), self._tables.shares.mean()
        return np.asarray(model + share * (public - model))

    @cached_property
    def _pairs(self) -> Targets:
        """What is wanted of all pairs."""
        every = combinations(range(len(self.evidence.domain)), 2)
        return Targets(self._margins, {pair: self.wanted(pair) for pair in every})

    def records(
        self, rows: int, rng: np.random.Generator, progress: Progress
    ) -> tuple[Codes, Mapping[str, Any]]:
        """Sampled, moved where `descent.epochs` asks for it, repaired, and polished records."""
        generator, domain = self.settings, self.evidence.domain
        pairs: dict[Clique, Table] = {c: t for c, t in self.targets.items() if len(c) == 2}
        made: dict[str, Any] = {}
        codes = sample_tree(self._pairs, rows, rng)
        polishing = _DENOISED
        if generator.descent.epochs and pairs:
            polishing = 0.8
            particles = codes[: generator.particles]
            moved, made["descent_loss"] = descend(
                particles,
                pairs,
                domain.shape,
                descent=generator.descent,
                rng=rng,
                report=lambda share: progress(
                    _DENOISED + (polishing - _DENOISED) * share, "moving particles"
                ),
            )
            codes = repeated(moved, rows, rng)
        codes = self.rules.repair(codes, rng)
        if generator.sweeps:
            guessed: dict[Clique, Table] = {
                pair: table for pair, table in self._pairs.pairs.items() if pair not in self.targets
            }
            codes, errors = polish(
                codes,
                {**self.targets, **guessed},
                weights={**_weights(self.evidence), **dict.fromkeys(guessed, _UNMEASURED)},
                rules=self.rules,
                sweeps=generator.sweeps,
                rng=rng,
                report=lambda share: progress(
                    polishing + (1 - polishing) * share, "polishing records"
                ),
            )
            made["polish_squared_error"] = errors
        progress(1.0, "records generated")
        return codes, made


def _weights(evidence: Evidence) -> Mapping[Clique, float]:
    """Weights of the marginals in the polish: their precision, relative to the best."""
    return {
        m.clique: (evidence.finest / m.sigma) ** 2 if m.sigma else 1.0 for m in evidence.marginals
    }
