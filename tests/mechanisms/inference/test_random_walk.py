"""Random walks seen through noise: against dense conditioning, closed forms, and drawn walks."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.inference import random_walk as module
from hallmark.mechanisms.inference.random_walk import Breaks, Joint, Track, Walk, walks

GRID = module._GRID
DIFFUSE = 1e4


def point(step: float, chance: float, last: float = 0.0) -> int:
    """The grid's point with these multiples of the noise."""
    there = (GRID.steps, step), (GRID.chance, chance), (GRID.last, last)
    (found,) = np.flatnonzero(np.all([np.isclose(axis, value) for axis, value in there], axis=0))
    return int(found)


def walk(track: Track, at: int, breaks: Breaks | None = None) -> Walk:
    """A walk whose step is known."""
    certain = np.zeros(len(GRID.steps))
    certain[at] = 1.0
    return Walk(track, breaks or Breaks.none(len(track.periods)), certain)


def drawn(
    rng: np.random.Generator,
    step: float,
    *,
    components: int,
    coordinates: int,
    periods: int = 10,
    jumps: Sequence[tuple[int, float]] = (),
) -> tuple[list[Track], list[Floats]]:
    """Walks with noise of variance 1, and what is true of them.

    Args:
        jumps: at which period, and how far each coordinate goes, up or down.
    """
    tracks, truths = [], []
    for _ in range(components):
        steps = rng.normal(size=(periods, coordinates)) * step**0.5
        steps[0] = 5 * rng.normal(size=coordinates)
        for at, far in jumps:
            steps[at] += far * rng.choice([-1.0, 1.0], size=coordinates)
        truth = steps.cumsum(axis=0)
        noisy = truth + rng.normal(size=truth.shape)
        tracks.append(Track(np.arange(periods), noisy, np.ones(periods), np.ones(periods)))
        truths.append(truth)
    return tracks, truths


UNEVEN = Track(
    np.array([0, 1, 4, 5, 6]),
    np.random.default_rng(0).normal(size=(5, 3)),
    np.array([1.0, 2.0, 0.5, 1.0, 3.0]),
    np.array([1.0, 0.5, 2.0, 1.0, 4.0]),
)
BROKEN = Breaks(np.array([0.0, 100.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 10.0, 0.0]))
POINTS = [point(0.1, 0.25), point(1.0, 0.12), point(0.01, 4.0), point(10.0, 1.0, 30.0)]


def dense(track: Track, at: int, breaks: Breaks, *, seen: int) -> tuple[Joint, Floats]:
    """Estimates by conditioning a dense normal law on the first periods; and the law of differences
    between what was measured."""
    steps = GRID.steps[at] * np.diff(track.periods) + breaks.steps
    steps[-1] += GRID.last[at]
    moved = np.concatenate([[DIFFUSE], steps]).cumsum()
    level = np.minimum(moved[:, None], moved)
    tables = level + np.diag(track.scales * GRID.chance[at] + breaks.periods)
    measured = tables + np.diag(track.variances)
    weights = tables[:, :seen] @ np.linalg.inv(measured[:seen, :seen])
    covariance = tables - weights @ tables[:seen]
    differing = np.diff(np.eye(len(track.periods)), axis=0)
    return Joint(weights, covariance), differing @ measured @ differing.T


@pytest.mark.parametrize("at", POINTS)
@pytest.mark.parametrize("breaks", [Breaks.none(5), BROKEN], ids=["steady", "broken"])
def test_estimates_are_those_of_dense_conditioning(at: int, breaks: Breaks):
    known = walk(UNEVEN, at, breaks)
    every, _ = dense(UNEVEN, at, breaks, seen=5)
    np.testing.assert_allclose(known.smoothed.weights, every.weights, atol=1e-3)
    np.testing.assert_allclose(known.smoothed.covariance, every.covariance, rtol=2e-3, atol=1e-3)
    before, _ = dense(UNEVEN, at, breaks, seen=4)
    np.testing.assert_allclose(known.foretold.weights[0, :4], before.weights[-1], atol=1e-3)
    assert known.foretold.weights[0, 4] == 0
    assert known.foretold.covariance[0, 0] == pytest.approx(before.covariance[-1, -1], rel=1e-3)


@pytest.mark.parametrize("breaks", [Breaks.none(5), BROKEN], ids=["steady", "broken"])
def test_the_evidence_is_the_density_of_the_differences(breaks: Breaks):
    differences = np.diff(UNEVEN.values, axis=0)
    known = [
        sum(multivariate_normal(cov=law).logpdf(one) for one in differences.T)
        for at in POINTS
        for _, law in [dense(UNEVEN, at, breaks, seen=5)]
    ]
    found = UNEVEN.evidence(breaks)[POINTS]
    np.testing.assert_allclose(found - found[0], np.array(known) - known[0], rtol=1e-6)


@pytest.mark.parametrize("ratio", [0.1, 1.0])
def test_a_long_walk_has_the_variance_of_the_kalman_filter(ratio: float):
    track = Track(np.arange(80), np.zeros((80, 1)), np.ones(80), np.ones(80))
    chance = 0.25
    noise = 1 + chance  # of the level
    ahead = ratio / 2 + (ratio**2 / 4 + ratio * noise) ** 0.5
    level, kept = ahead * noise / (ahead + noise), chance / noise
    known = walk(track, point(ratio, chance))
    last = (1 - kept) ** 2 * level + kept
    assert known.smoothed.covariance[-1, -1] == pytest.approx(last, rel=1e-6)
    assert known.foretold.covariance[0, 0] == pytest.approx(ahead + chance, rel=1e-6)


def change(joint: Joint, values: Floats, truth: Floats) -> tuple[Floats, float]:
    """Errors of the last change, and their stated variance."""
    estimates = joint.weights @ values
    errors = np.diff(estimates, axis=0)[-1] - np.diff(truth, axis=0)[-1]
    last = joint.covariance[-2:, -2:]
    return errors, float(last[0, 0] + last[1, 1] - 2 * last[0, 1])


@pytest.mark.parametrize(
    "ratio", [0.1, *(pytest.param(one, marks=pytest.mark.slow) for one in (0.3, 1.0)), 3.0]
)
def test_estimates_are_nearly_as_exact_as_if_the_step_were_known_and_intervals_hold(ratio: float):
    """320 coordinates: the figures of seeds differ by some hundredths."""
    tracks, truths = drawn(np.random.default_rng(7), ratio, components=40, coordinates=8)
    levels, changes, held = [], [], []
    for one, truth in zip(walks(tracks), truths, strict=True):
        joint = one.smoothed
        off = joint.weights[-1] @ one.track.values - truth[-1]
        moved, variance = change(joint, one.track.values, truth)
        levels.append(off)
        changes.append(moved)
        held.append([np.abs(off) < 1.96 * joint.covariance[-1, -1] ** 0.5,
                     np.abs(moved) < 1.96 * variance**0.5])  # fmt: skip
    ahead = ratio / 2 + (ratio**2 / 4 + ratio) ** 0.5
    level = (ahead / (ahead + 1)) ** 0.5
    step = (ratio - ratio**2 / (ahead + 1)) ** 0.5
    assert np.std(levels) < 1.1 * level
    assert np.std(changes) < 1.1 * step
    # Within four deviations of 95 % of 320; or more, where chance, of which there is none, might
    # have been at work.
    assert (np.mean(held, axis=(0, 2)) > 0.90).all()


@pytest.mark.parametrize("far", [2, 5, 30])
def test_a_jump_of_all_costs_next_to_nothing_in_the_period_in_which_it_comes(far: int):
    tracks, truths = drawn(
        np.random.default_rng(8), 0.1, components=40, coordinates=8, jumps=[(9, far)]
    )
    errors = [
        one.smoothed.weights[-1] @ one.track.values - truth[-1]
        for one, truth in zip(walks(tracks), truths, strict=True)
    ]
    assert np.std(errors) < 1.03


def test_a_lasting_break_and_a_passing_one_are_told():
    rng = np.random.default_rng(9)
    steady, _ = drawn(rng, 0.1, components=20, coordinates=8)
    (lasting,), _ = drawn(rng, 0.1, components=1, coordinates=8, jumps=[(5, 15)])
    (passing,), _ = drawn(rng, 0.1, components=1, coordinates=8)
    passing.values[5] += 15 * rng.choice([-1.0, 1.0], size=8)
    *others, first, second = walks([*steady, lasting, passing])
    assert not any(one.broken for one in others)
    assert (first.broken, first.passing) == ((5,), ())
    assert (second.broken, second.passing) == ((5,), (5,))
    # What passes is told by its own period alone, and tells nothing of others.
    np.testing.assert_allclose(second.smoothed.weights[5, 5], 1, atol=0.1)
    assert np.abs(np.delete(second.smoothed.weights[:, 5], 5)).max() < 0.1


def test_one_jump_in_the_last_period_is_told():
    rng = np.random.default_rng(10)
    steady, _ = drawn(rng, 0.1, components=20, coordinates=8)
    (jumped,), _ = drawn(rng, 0.1, components=1, coordinates=8, jumps=[(9, 10)])
    *others, last = walks([*steady, jumped])
    assert last.broken == (9,)
    assert last.jumped > 0.99
    assert not any(one.broken for one in others)


def test_a_component_of_one_period_is_what_was_measured():
    (one,) = walks([Track(np.array([3]), np.array([[1.0, 2.0]]), np.array([4.0]), np.ones(1))])
    np.testing.assert_allclose(one.smoothed.weights, [[1.0]])
    np.testing.assert_allclose(one.smoothed.covariance, [[4.0]])


def test_few_components_lean_on_what_is_told_of_all():
    """Two periods of one coordinate say little of a step; forty others say that it is small."""
    rng = np.random.default_rng(11)
    many, _ = drawn(rng, 0.01, components=40, coordinates=8)
    short = Track(np.arange(2), np.array([[0.0], [3.0]]), np.ones(2), np.ones(2))
    alone, among = walks([short])[0], walks([*many, short])[-1]
    assert among.probabilities @ GRID.steps < alone.probabilities @ GRID.steps / 2


def test_chance_that_noise_hides_in_each_component_is_told_by_all():
    """Tables that differ by chance alone, under thirty times as much noise."""
    rng = np.random.default_rng(12)
    noise, held = 30.0, []
    tracks, truths = [], []
    for _ in range(120):
        truth = 50 * rng.normal(size=8) + rng.normal(size=(10, 8))
        noisy = truth + noise**0.5 * rng.normal(size=truth.shape)
        tracks.append(Track(np.arange(10), noisy, np.full(10, noise), np.ones(10)))
        truths.append(truth)
    for one, truth in zip(walks(tracks), truths, strict=True):
        moved, variance = change(one.smoothed, one.track.values, truth)
        held.append(np.abs(moved) < 1.96 * variance**0.5)
    assert 0.92 < np.mean(held) < 0.98


def test_a_break_of_many_is_believed_to_those_that_show_it_less():
    rng = np.random.default_rng(13)
    many, _ = drawn(rng, 0.01, components=12, coordinates=2, jumps=[(5, 6)])
    (alone,), _ = drawn(rng, 0.01, components=1, coordinates=2, jumps=[(5, 1.5)])
    steady, _ = drawn(rng, 0.01, components=12, coordinates=2)
    assert walks([*steady, alone])[-1].broken == ()
    assert walks([*many, alone])[-1].broken == (5,)
