"""What all methods that ask along a path promise: charges, resumed runs, limits, refusals."""

import pickle
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.cliquewise import Cliquewise
from hallmark.mechanisms.linear_queries.dpam.method import Dpam
from hallmark.mechanisms.linear_queries.frank_wolfe.dpfw import ITERATES
from hallmark.mechanisms.linear_queries.mechanism import LinearQueryMechanism
from hallmark.mechanisms.linear_queries.peers.fem import Fem
from hallmark.mechanisms.linear_queries.peers.mwem import Mwem
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.accountant import fits, pure_epsilon
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.events import merged
from hallmark.mechanisms.privacy.linear_queries import Block, EachCell
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from tests.mechanisms.linear_queries.adaptive_runs import (
    ADD,
    BUDGETS,
    PERSONS,
    PURE,
    REPLACE,
    Gone,
    bits,
    curator,
    error,
    finished,
    of,
    planned,
    told,
    ways,
)

PAIRS = ways((2, 2, 2), 2)
CLIQUES = ways((2, 2, 2), 1, 2)  # three cliques
INSIDE = {"cliquewise": True}
# As a spec has the method, with numbers of rounds that a few hundred records allow.
RUNS: Mapping[str, tuple[Universe, Mapping[str, Any]]] = {
    "dpfw": (ways((2, 2, 2, 2), 2), {"rounds": 12}),
    "dpfw cliquewise": (CLIQUES, {"rounds": 12, **INSIDE}),
    "dpam": (PAIRS, {"iterations": 12}),
    "dpam cliquewise": (CLIQUES, {"iterations": 12, **INSIDE}),
    "mwem-queries": (PAIRS, {"rounds": 2}),
    "dual-query": (PAIRS, {"rounds": 6, "samples": 4}),
    "dqrs": (PAIRS, {"rounds": 6, "samples": 4}),
    "fem": (PAIRS, {"rounds": 6, "samples": 3}),
    "sep-fem": (PAIRS, {"rounds": 6, "samples": 3}),
}
MORE = Fraction(101, 100)  # of epsilon


def plan(name: str, universe: Universe, **given: Any) -> Any:
    mechanism = MECHANISMS[name.split()[0]]
    assert isinstance(mechanism, LinearQueryMechanism)
    return planned(mechanism.plan_method, universe, **given)


def wasteful(method: Any) -> Any:
    """The method with a little more of epsilon for everything that it asks in rounds."""
    match method:
        case Cliquewise():
            return replace(method, methods=tuple(map(wasteful, method.methods)))
        case Dpam():
            return replace(method, sigma2=method.sigma2 / MORE**2)
        case Mwem():
            return replace(method, amount=method.amount.part(MORE**2))
    return replace(method, epsilon=method.epsilon * MORE)


@pytest.mark.parametrize(
    ("name", "budget", "adjacency"),
    [
        (name, budget, adjacency)
        for name, budget, adjacency in product(RUNS, BUDGETS, (REPLACE, ADD, PERSONS))
        if not (name.startswith("dpam") and budget.is_pure)  # Gaussian noise alone
    ],
    ids=str,
)
def test_a_run_charges_the_events_of_the_plan_and_uses_the_budget_up(
    tmp_path: Path, name: str, budget: Budget, adjacency: Adjacency
) -> None:
    universe, given = RUNS[name]
    method = plan(name, universe, budget=budget, adjacency=adjacency, **given)
    asked = curator(tmp_path, bits(300, len(universe.shape)), method)
    finished(method, method.ask(asked), asked)
    events = asked.ledger.events("r")
    asked.ledger.verify("people")
    assert set(merged(events)) == set(merged(method.events))
    assert fits(events, budget)
    if budget.is_pure:
        assert pure_epsilon(events) == budget.epsilon
    more = wasteful(method).events
    if isinstance(
        method, Fem | Mwem
    ):  # by sums of costs, which all of these methods are planned with
        more = tuple(replace(event, adaptive=True) for event in more)
    assert not fits(more, budget)


@pytest.mark.parametrize(
    ("name", "more"),
    [*((name, {}) for name in RUNS), *(("dpfw", {"iterate": iterate}) for iterate in ITERATES[1:])],
    ids=str,
)
def test_a_resumed_run_gives_the_same_without_looking_at_records(
    tmp_path: Path, name: str, more: Mapping[str, Any]
) -> None:
    universe, given = RUNS[name]
    method = plan(name, universe, adjacency=ADD, **given, **more)
    asked = curator(tmp_path, bits(300, len(universe.shape)), method)
    first = method.ask(asked)
    resumed = pickle.loads(pickle.dumps(method))
    again = resumed.ask(replace(asked, counter=Gone(300)))
    np.testing.assert_equal(first, again)
    made = [finished(m, a, asked) for m, a in ((method, first), (resumed, again))]
    np.testing.assert_array_equal(*(one.answers() for one in made))
    np.testing.assert_array_equal(*(one.cells(30, np.random.default_rng(1)) for one in made))


@pytest.mark.parametrize(
    ("name", "epsilon", "rows", "given", "most"),
    [
        ("dpfw", 1000, 3000, {"alpha": 0.01, "rounds": 120}, 0.04),
        ("dpfw cliquewise", 300, 3000, {"alpha": 0.004, "rounds": 400, **INSIDE}, 0.02),
        ("mwem-queries", 1000, 2000, {"rounds": 6}, 0.06),
        ("dual-query", 100, 2000, {"rounds": 60, "samples": 12}, 0.08),
        ("dqrs", 100, 2000, {"rounds": 60, "samples": 12}, 0.08),
        ("fem", 1000, 2000, {"rounds": 150, "samples": 10}, 0.12),
        ("sep-fem", 1000, 2000, {"rounds": 150, "samples": 10}, 0.12),
    ],
)
def test_with_a_large_budget_the_error_is_small(
    name: str, epsilon: int, rows: int, given: Mapping[str, Any], most: float
) -> None:
    universe = RUNS[name][0]
    codes = bits(rows, len(universe.shape))
    budget = Budget(epsilon=Fraction(epsilon))
    method = plan(name, universe, budget=budget, expected=rows, **given)
    asked: Any = SimulatedCurator(codes=codes, adjacency=REPLACE, rng=np.random.default_rng(0))
    found = finished(method, method.ask(asked), asked).answers()
    assert error(universe, codes, found) < most
    assert error(universe, codes, universe.answers(universe.uniform)) > 0.15


@pytest.mark.parametrize(
    ("name", "expected", "constants", "cells"),
    [
        (
            "dpfw",
            10_000,
            {"alpha": 0.01, "rounds": 1000, "iterate": "tail-average", "model": "cells"},
            [1, 1000],
        ),
        ("mwem-queries", 1000, {"rounds": 10}, [1, 10, 10]),
        ("mwem-queries", 1001, {"rounds": 30}, [1, 30, 30]),
        ("dual-query", 10_000, {"rounds": 60, "samples": 60}, [1, 59 * 60]),
        ("dqrs", 10_000, {"rounds": 120, "samples": 60}, [1, 119 * 60, 3952]),
        ("fem", 1000, {"rounds": 300, "samples": 20, "scale": 2.0}, [1, 300]),
        ("sep-fem", 1000, {"rounds": 300, "samples": 20, "scale": 0.5}, [1, 300]),
    ],
)
def test_defaults_and_what_is_told(
    name: str, expected: int, constants: Mapping[str, Any], cells: list[int]
) -> None:
    method = plan(name, RUNS[name][0], expected=expected, adjacency=ADD)
    found = told(method.parameters)
    assert {key: found[key] for key in constants} == constants
    assert [line.cells for line in method.noise] == cells
    expected_error, words = method.expected_error()
    assert 0 < expected_error <= 1
    assert words.startswith("an estimate")
    assert method.memory_bytes > 8 * method.universe.size


LARGE = ways((2,) * 30, 1)
CONSTANT = of((1, 2), Block(marginal((0,), (1, 2)), EachCell(1)))
PAPER = {"constants": "paper"}
FIELD = {"model": "random-field"}


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("dpfw", {"rounds": 0}, "mechanism.rounds: 0; give a whole number of at least 1"),
        ("dpfw", {"rounds": 10**9}, "give at most 4,000, since every further round"),
        ("dpfw", {"rounds": 2.5}, "mechanism.rounds: 2.5"),
        ("dpfw", {"alpha": 0}, "mechanism.alpha: 0; give a positive number"),
        ("dpfw", {"alpha": "small"}, "mechanism.alpha: 'small'"),
        ("dpfw", {"iterate": "best"}, "choose tail-average or mean or last or uniform"),
        ("dpfw", {"constants": "theirs"}, "mechanism.constants: 'theirs'; choose ours or paper"),
        ("dpfw", {"noise": "less"}, "mechanism.noise: 'less'"),
        ("dpfw", {"model": "tree"}, "mechanism.model: 'tree'"),
        ("dpfw", {**FIELD, "iterate": "mean"}, "a mean of random fields is none"),
        ("dpfw", {**FIELD, "max_model_bytes": 40}, "mechanism.max_model_bytes: 40, but"),
        ("dpfw", {"gamma": 1}, "mechanism.gamma: dpfw has no such parameter; it knows alpha"),
        ("dpfw", {**PAPER, "budget": PURE}, "constants need delta > 0"),
        ("dpfw", {"noise": "paper", "budget": PURE}, "noise need delta > 0"),
        ("dpfw", {"expected": 0}, "give at least 1"),
        ("dpfw", {"universe": CONSTANT}, "known without the data"),
        (
            "dpfw",
            {"universe": LARGE, "model": "cells"},
            "dpfw with model: cells keeps a number for each of at most 4,194,304",
        ),
        ("dpfw", {"universe": ways((2,) * 90, 1), "noise": "paper"}, "drowns every answer"),
        ("dpfw", {"cliquewise": "yes"}, "mechanism.cliquewise: 'yes'; give true or false"),
        ("dpfw", {"rounds": 0, **INSIDE}, "mechanism.rounds: 0; give a whole number"),
        ("dpfw", {"gamma": 1, **INSIDE}, "it knows alpha, cliquewise, constants"),
        ("dpfw", {"expected": 0, **INSIDE}, "give at least 1"),
        (
            "dpfw",
            {"universe": ways((2, 2048, 2048), 2), **INSIDE},
            "mechanism.cliquewise: true, but a graphical model of the workload's marginals takes "
            "8,388,608 cells, of which there may be 4,194,304; the columns column 1 x column 2 x "
            "column 3 hang together in 8,388,608 of them",
        ),
        (
            "dpfw",
            {"universe": ways((16,) * 8, 2), **INSIDE},
            "x column 6 and 2 more hang together in 4,294,967,296 of them; ask for fewer",
        ),
        ("dpam", {"budget": PURE}, "privacy.delta: 0, but dpam measures a histogram"),
        (
            "dpam",
            {"expected": 2},
            "and dpam adds noise to each; above 4, for 2 expected records, nothing but noise is "
            "left of them; choose linear-queries",
        ),
        ("dpam", {"steps": 3}, "mechanism.steps: dpam has no such parameter"),
        ("dpam", {"variant": "best"}, "mechanism.variant: 'best'; choose corrected or"),
        ("dpam", {"iterations": 0}, "mechanism.iterations: 0; give a whole number"),
        ("dpam", {"alpha": -1}, "mechanism.alpha: -1; give a positive number"),
        (
            "dpam",
            {
                "noise_constant": "paper",
                "budget": Budget(epsilon=Fraction(200), delta=Fraction(1, 100_000)),
            },
            "mechanism.noise_constant: paper, but its noise is not enough",
        ),
        ("dpam", {"budget": PURE, **INSIDE}, "privacy.delta: 0, but dpam measures a histogram"),
        (
            "dpam",
            {"expected": 1, "universe": CLIQUES, **INSIDE},
            "combinations of cells, 2 (column 1) x 2 (column 2), and dpam",
        ),
        (
            "dpam",
            {"universe": ways((4096, 2048), 2), **INSIDE},
            "graphical model of the workload's marginals takes 8,388,608 cells",
        ),
        ("mwem-queries", {"rounds": 0}, "mechanism.rounds: 0"),
        ("mwem-queries", {"rounds": 5000}, "at most 4,000"),
        (
            "mwem-queries",
            {"alpha": 1},
            "mechanism.alpha: mwem-queries has no such parameter; it knows rounds",
        ),
        ("mwem-queries", {"budget": PURE, "expected": 0}, "give at least 1"),
        ("mwem-queries", {"universe": LARGE}, "mwem-queries keeps a number for each"),
        *(
            (name, given, words)
            for name in ("dual-query", "dqrs")
            for given, words in (
                ({"rounds": 1}, "round 1 looks at no data"),
                ({"samples": 0}, "mechanism.samples: 0"),
                ({"eta": 1}, "has no such parameter; it knows rounds, samples"),
                ({"universe": LARGE}, f"{name} keeps a number for each"),
            )
        ),
        ("fem", {"scale": -1}, "mechanism.scale: -1; give a positive number"),
        ("fem", {"samples": 10**5}, "mechanism.samples: 100,000"),
        ("fem", {"seed": 1}, "mechanism.seed: fem has no such parameter"),
        ("fem", {"universe": LARGE}, "fem keeps a number for each"),
        (
            "sep-fem",
            {"universe": of((2, 2), Block(marginal((0,), (2, 2)), EachCell(2)))},
            "choose fem",
        ),
    ],
)
def test_what_cannot_work_is_refused(name: str, given: Mapping[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        plan(name, **{"universe": PAIRS, **given})
