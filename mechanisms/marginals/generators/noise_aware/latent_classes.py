"""Latent classes: a mixture of product distributions fitted to noisy marginals of any order.

Model.   P(x) = sum_r w_r prod_a theta_ra(x_a). All its marginals are consistent, nonnegative and of
         low rank *together*, so dependence that is lost in the noise of one pair is found in what
         many pairs have in common. That is what shrinking every pair by itself cannot do.
Fit.     Least squares, weighted by precision (`mixture_loss`), by Adam on logits. What regularises
         is when it stops, and that is measured: noise is *thinned*, which splits y into independent
         y + t z and y - z / t (z fresh noise of y's own deviation); the fit sees the first and
         stops where its error on the second is least.
         Several members, each with a start and a split of its own, are averaged; that cancels the
         noise that the splits added, and averages over models as a posterior mean would.
Order.   Neighbouring cells of an ordered attribute are often alike. Beside every cell's own logit,
         each step between neighbours has one that moves all cells after it, and moves faster:
         early on, profiles are smooth, and what sets a cell apart comes when the marginals say so.
Source.  Lazarsfeld, Henry (1968), "Latent structure analysis", for the model; Leiner, Duan,
         Wasserman, Ramdas (2023), "Data fission: splitting a single data point", JASA, and Neufeld,
         Dharamshi, Gao, Witten (2024), "Data thinning", JMLR 25, for the split; Breiman (1996),
         "Bagging predictors", Machine Learning 24, for the members; Gertheiss, Tutz (2009),
         "Penalized regression with ordinal predictors", International Statistical Review 77, for
         differences of neighbours as what regularises. Together, for private marginals, and with
         steps that move faster in place of a penalty, they are ours.
Oracle.  tests/mechanisms/marginals/generators/noise_aware/test_latent_classes.py takes finite
         differences of the slopes, recovers a known mixture, and compares with the measured
         tables themselves, and with a fit that is not told the order.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from hallmark.mechanisms.arrays import Floats32, Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.evidence import Evidence
from hallmark.mechanisms.marginals.generators.device import Device
from hallmark.mechanisms.marginals.generators.noise_aware.covariances import Covariances
from hallmark.mechanisms.marginals.generators.noise_aware.mixture_loss import (
    Target,
    slices,
    target_of,
)

_MOMENTS = (0.9, 0.999)
_ADAM_EPSILON = 1e-10
_LONG = 32  # cells in a run of neighbours; in longer runs steps move less, or their ends would race
_LEAST_SHARE = 1e-4  # of a level in the logits that a fit starts from: more than none


@dataclass(frozen=True, kw_only=True)
class LatentClassFit:
    """Constants of the fit. The defaults were chosen by benchmarks/denoising.py and, as to classes,
    spread and patience, by the errors of finished records (benchmarks/comparison).

    Attributes:
        classes: of every member.
        members: fits that are averaged.
        thinning: variance of the noise that a member's split adds, as a share of the marginals'.
        spread: deviation of the logits that a member starts from.
        learning_rate: of Adam, on logits.
        order: how much faster steps between neighbouring cells move than cells; 0 leaves order out.
        check: steps between two looks at the held-out error.
        patience: looks without a gain after which a member stops.
        most_steps: of one member.
        device: where the largest products of matrices are taken; `auto` is a GPU where there is
            one.
    """

    classes: int = 70
    members: int = 12
    thinning: float = 0.1
    spread: float = 0.3
    learning_rate: float = 0.05
    order: float = 2.0
    check: int = 10
    patience: int = 6
    most_steps: int = 3000
    device: Device = "cpu"

    def __post_init__(self) -> None:
        for name in ("classes", "members", "check", "patience", "most_steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}; use a whole number of at least 1")
        for name in ("thinning", "spread", "learning_rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: {getattr(self, name)}; use a positive number")
        if self.device not in ("auto", "cpu", "cuda"):
            raise ValueError(f"device: {self.device!r}; choose auto, cpu or cuda")
        if not self.order >= 0:
            raise ValueError(f"order: {self.order}; use 0 or a positive number")


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """Fitted members, weighted equally.

    Attributes:
        shape: cells of every attribute.
        weights: of the classes, shape (members, classes); each row sums to 1.
        profiles: theta of all attributes side by side, shape (members, classes, sum of cells).
        steps: that every member took.
        unstopped: members that took all steps they may, so that nothing tells they were done.
        covariances: of the noise in the measured marginals, and in what they say together of every
            attribute, with what the members say of them, summed over cells, in squared shares; of
            one member nothing is known.
    """

    shape: tuple[int, ...]
    weights: Floats32
    profiles: Floats32
    steps: tuple[int, ...]
    unstopped: int = 0
    covariances: Mapping[Clique, float] = field(default_factory=dict)

    @property
    def summary(self) -> Mapping[str, Any]:
        """What the fit did."""
        return {
            "latent_class_steps": sum(self.steps) / len(self.steps),
            "members_not_stopped": self.unstopped,
        }

    @cached_property
    def _slices(self) -> tuple[slice, ...]:
        return slices(self.shape)

    def marginal(self, clique: Clique) -> Table:
        """Probabilities, shape (k_a for a in clique)."""
        parts = [self.profiles[:, :, self._slices[a]].reshape(-1, self.shape[a]) for a in clique]
        table = (self.weights / len(self.weights)).reshape(-1, 1) * parts[0]
        for part in parts[1:-1]:
            table = (table[:, :, None] * part[:, None, :]).reshape(len(part), -1)
        whole = table.sum(axis=0) if len(parts) == 1 else table.T @ parts[-1]
        probabilities = np.asarray(whole, dtype=np.float64).reshape([self.shape[a] for a in clique])
        return np.asarray(probabilities / probabilities.sum())


def neighbours(domain: Domain) -> NDArray[np.bool_]:
    """Which cells of all attributes, side by side, are the next after the one before them.

    Values in order are; categories without one, points of a metric and nulls are not.
    """
    linked = []
    for attribute in domain.attributes:
        places = np.arange(attribute.cells)
        linked.append((places > 0) & (places < attribute.levels) & attribute.kind.ordered)
    return np.concatenate(linked)


def fit_latent_classes(
    evidence: Evidence,
    settings: LatentClassFit,
    *,
    rng: np.random.Generator,
    previous: LatentClasses | None = None,
    report: Callable[[float], None] = lambda share: None,
) -> LatentClasses:
    """Members fitted to the evidence.

    Args:
        previous: members to start from, of as many classes; else each starts near independence.
        report: called with the share done.
    """
    # Of matrices of this size, threads cost more than they save; and with one, a result does not
    # depend on how many there are.
    with threadpool_limits(1, user_api="blas"):
        return _fitted(evidence, settings, rng, previous, report)


def _fitted(
    evidence: Evidence,
    settings: LatentClassFit,
    rng: np.random.Generator,
    previous: LatentClasses | None,
    report: Callable[[float], None],
) -> LatentClasses:
    shape, linked = evidence.domain.shape, neighbours(evidence.domain)
    start = _logits(evidence)
    fitted = []
    covariances = Covariances(settings.thinning**0.5)
    for member, source in enumerate(rng.spawn(settings.members)):
        noises = {m.clique: m.noise(source) for m in evidence.marginals}
        seen, held = _thinned(evidence, settings, noises)
        if previous is not None:
            known = member % len(previous.weights)
            logits = np.log(np.maximum(previous.profiles[known], _LEAST_SHARE**2))
            weights = np.log(np.maximum(previous.weights[known], _LEAST_SHARE**2))
        else:
            noise = source.normal(scale=settings.spread, size=(settings.classes, len(start)))
            logits, weights = start + noise, np.zeros(settings.classes)
        state = _State(
            shape, linked, settings.order, logits.astype(np.float32), weights.astype(np.float32)
        )
        own = _stopped(state, seen, held, settings)
        fitted.append(own)
        if settings.members > 1:
            alone = LatentClasses(shape, own.weights[None], own.profiles[None], (own.steps,))
            covariances.add(_in_shares(evidence, noises), alone.marginal)
        report((member + 1) / settings.members)
    return LatentClasses(
        shape=shape,
        weights=np.stack([member.weights for member in fitted]),
        profiles=np.stack([member.profiles for member in fitted]),
        steps=tuple(member.steps for member in fitted),
        unstopped=sum(not member.stopped for member in fitted),
        covariances=covariances.by_clique,
    )


def _in_shares(evidence: Evidence, noises: Mapping[Clique, Table]) -> Mapping[Clique, Table]:
    """The noise, and what it makes of every attribute's margin, as shares of all records."""
    drawn = tuple(replace(m, counts=noises[m.clique]) for m in evidence.marginals)
    columns = replace(evidence, marginals=drawn).single_columns
    every = dict(noises) | {(a,): margin.counts for a, margin in columns.items()}
    return {clique: noise / evidence.total for clique, noise in every.items()}


def _thinned(
    evidence: Evidence, settings: LatentClassFit, noises: Mapping[Clique, Table]
) -> tuple[Target, Target]:
    """The marginals as two independent copies: one to fit, one to stop by.

    Args:
        noises: of the marginals' own law, records.
    """
    copies = [
        marginal.thinned(noises[marginal.clique], settings.thinning**0.5)
        for marginal in evidence.marginals
    ]
    seen, held = (
        {copy.clique: copy.counts / evidence.total for copy in one}
        for one in zip(*copies, strict=True)
    )
    return (
        target_of(evidence, seen, settings.device),
        target_of(evidence, held, settings.device),
    )


class _Adam:
    """Moments of one array of parameters (Kingma, Ba 2015, Algorithm 1)."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.first = np.zeros(shape, dtype=np.float32)
        self.second = np.zeros(shape, dtype=np.float32)
        self.steps = 0

    def move(self, slopes: Floats32, rate: float) -> Floats32:
        """How far to go against these slopes."""
        self.steps += 1
        beta1, beta2 = _MOMENTS
        self.first += np.float32(1 - beta1) * (slopes - self.first)
        self.second += np.float32(1 - beta2) * (slopes * slopes - self.second)
        scale = rate * np.sqrt(1 - beta2**self.steps) / (1 - beta1**self.steps)
        deviation = np.sqrt(self.second) + np.float32(_ADAM_EPSILON)
        return np.asarray(np.float32(scale) * self.first / deviation)


class _State:
    """Logits of one member, with the moments of Adam.

    A logit is the sum of a parameter of its cell's own and of one for every step from neighbour to
    neighbour up to it.

    Attributes:
        parameters: logits of profiles, shape (classes, cells), and of weights, shape (classes,).
        run_first, run_last: ends of the run of neighbours that every cell is in, shape (cells,).
        rates: learning rates of the steps, relative to those of cells, shape (cells,); 0 where
            there is none.
    """

    def __init__(
        self,
        shape: Sequence[int],
        linked: NDArray[np.bool_],
        order: float,
        logits: Floats32,
        weights: Floats32,
    ) -> None:
        self.starts = np.array([s.start for s in slices(shape)])
        self.cells = np.array(shape)
        self.parameters = (logits, weights)
        runs = np.flatnonzero(~linked)
        run = np.cumsum(~linked) - 1
        self.run_first = runs[run]
        self.run_last = np.append(runs[1:], len(linked))[run] - 1
        lengths = self.run_last - self.run_first + 1
        self.rates = (order * np.minimum(1, _LONG / lengths) * linked).astype(np.float32)
        self.of_cells, self.of_steps = _Adam(logits.shape), _Adam(logits.shape)
        self.of_weights = _Adam(weights.shape)

    @property
    def step(self) -> int:
        """Steps taken."""
        return self.of_cells.steps

    def distribution(self) -> tuple[Floats32, Floats32]:
        """Weights (classes,) and profiles (classes, cells) that the logits stand for."""
        logits, weights = self.parameters
        highest = np.maximum.reduceat(logits, self.starts, axis=1)
        odds = np.exp(logits - np.repeat(highest, self.cells, axis=1))
        sums = np.add.reduceat(odds, self.starts, axis=1)
        profiles = odds / np.repeat(sums, self.cells, axis=1)
        shares = np.exp(weights - weights.max())
        return shares / shares.sum(), profiles

    def slopes(
        self, target: Target, weights: Floats32, profiles: Floats32
    ) -> tuple[Floats32, Floats32]:
        """Gradients of the target's error in the logits of profiles and of weights, where they
        stand for this distribution."""
        by_profile, by_weight = target.gradients(weights, profiles)
        inner = np.add.reduceat(by_profile * profiles, self.starts, axis=1)
        by_cell = profiles * (by_profile - np.repeat(inner, self.cells, axis=1))
        return by_cell, weights * (by_weight - float(weights @ by_weight))

    def descend(self, slopes: tuple[Floats32, Floats32], rate: float) -> None:
        """One step of Adam against the slopes of logits and of weights."""
        by_cell, by_weight = slopes
        logits, weights = self.parameters
        move = self.of_cells.move(by_cell, rate)
        if self.rates.any():
            sums = np.cumsum(self.rates * self.of_steps.move(self._by_step(by_cell), rate), axis=1)
            move += sums - sums[:, self.run_first]
        logits -= move
        weights -= self.of_weights.move(by_weight, rate)

    def _by_step(self, by_cell: Floats32) -> Floats32:
        """Slopes of the steps: a step to a cell moves it and all after it in its run."""
        sums = np.cumsum(by_cell, axis=1)
        return np.asarray((sums[:, self.run_last] - sums + by_cell) * (self.rates > 0))


class _Member(NamedTuple):
    """One fit: its distribution, where that was, and whether the held-out error ended it."""

    weights: Floats32
    profiles: Floats32
    steps: int
    stopped: bool


def _stopped(state: _State, seen: Target, held: Target, settings: LatentClassFit) -> _Member:
    """The member where the held-out error was least."""
    best: _Member | None = None
    least, waited = np.inf, 0
    for weights, profiles in _path(state, seen, settings):
        error = held.squared_error(weights, profiles)
        if error < least:
            best, least, waited = _Member(weights, profiles, state.step, False), error, 0
        else:
            waited += 1
            if best is not None and waited >= settings.patience:
                return best._replace(stopped=True)
    if best is None:
        raise RuntimeError("mechanism.generator: the fit of latent classes has no finite error")
    return best


def _path(
    state: _State, seen: Target, settings: LatentClassFit
) -> Iterator[tuple[Floats32, Floats32]]:
    """Distributions after every few steps."""
    for _ in range(0, settings.most_steps, settings.check):
        for _ in range(settings.check):
            weights, profiles = state.distribution()
            state.descend(state.slopes(seen, weights, profiles), settings.learning_rate)
        yield state.distribution()


def _logits(evidence: Evidence) -> NDArray[np.float64]:
    """Logits of every attribute's measured cells, side by side; uniform if it was not measured."""
    logits = []
    for attribute, size in enumerate(evidence.domain.shape):
        measured = evidence.single_columns.get(attribute)
        positive = np.maximum(measured.counts, 0.0) if measured else np.zeros(size)
        total = positive.sum()
        shares = positive / total if total > 0 else np.full(size, 1 / size)
        logits.append(np.log(np.maximum(shares, _LEAST_SHARE)))
    return np.concatenate(logits)
