"""The compiled search against the same search written plainly, on the same random numbers."""

import numpy as np
import pytest

from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.marginals.generators.genetic import search as gs
from hallmark.mechanisms.marginals.generators.moves.valid_moves import valid_moves

SHAPE = (3, 3, 2, 4)
CLIQUES = ((0, 1), (1, 2, 3), (0, 2), (3,))
WEIGHTS = (1.0, 0.5, 2.0, 1.0)
ROWS, ELITES, MUTATIONS, CROSSOVERS = 16, 3, 7, 6


def rules(which: str) -> Rules:
    if which == "none":
        return Rules(SHAPE)
    allowed = np.ones((2, 4), dtype=bool)
    allowed[0, 2:] = False
    return Rules(
        SHAPE,
        tables=(
            RuleTable("equivalent", (0, 1), np.eye(3, dtype=bool)),
            RuleTable("implied", (2, 3), allowed),
        ),
    )


def start(which: str, seed: int):
    """Elites and targets in small dyadic fractions, so that all arithmetic is exact."""
    rng = np.random.default_rng(seed)
    tables = rng.integers(SHAPE, size=(ELITES, ROWS, len(SHAPE)), dtype=np.int32)
    limits = rules(which)
    if limits:
        tables = limits.repair(tables.reshape(-1, len(SHAPE)), rng).reshape(tables.shape)
    targets = {c: rng.integers(-8, 64, size=[SHAPE[a] for a in c]) / 256 for c in CLIQUES}
    return tables, targets, limits, rng


def error(table: np.ndarray, targets: dict) -> float:
    total = 0.0
    for (clique, target), weight in zip(targets.items(), WEIGHTS, strict=True):
        counts = np.zeros(target.shape)
        np.add.at(counts, tuple(table[:, a] for a in clique), 1)
        total += weight * float(((counts - len(table) * target) ** 2).sum())
    return total


def plainly(elites: list, targets: dict, limits: Rules, drawn: gs.Proposals) -> list:
    """Every candidate is a table of its own, counted from scratch."""
    elites = sorted(elites, key=lambda table: error(table, targets))
    for g in range(len(drawn.record)):
        candidates = []
        for c in range(drawn.record.shape[1]):
            table = elites[0].copy()
            record, unit = table[drawn.record[g, c]], drawn.unit[g, c]
            block = [unit] if unit < len(SHAPE) else limits.components[unit - len(SHAPE)]
            if c < MUTATIONS:
                record[block] = drawn.code[g, c]
            else:
                k = c - MUTATIONS
                record[list(block)] = elites[drawn.elite[g, k]][drawn.donor[g, k], list(block)]
            if limits.obeyed(table).all():
                candidates.append(table)
        # Stable: ties keep their order, elites come first.
        elites = sorted([*elites, *candidates], key=lambda t: error(t, targets))[:ELITES]
    return elites


@pytest.mark.parametrize("log", [1024, 1])  # 1: slow elites are copied whole
@pytest.mark.parametrize("which", ["none", "rules"])
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))]
)
def test_generations_are_those_of_a_plain_search(
    which: str, seed: int, log: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gs, "_LOG", log)
    tables, targets, limits, rng = start(which, seed)
    moves = valid_moves(limits)
    place = gs.place_of(SHAPE, targets, WEIGHTS, moves)
    herd = gs.herd(tables, targets, WEIGHTS)
    plain = list(tables)
    for some in (1, 1, 40):
        drawn = gs.draw(
            some,
            mutations=MUTATIONS,
            crossovers=CROSSOVERS,
            rows=ROWS,
            elites=ELITES,
            shape=SHAPE,
            blocks=len(moves.blocks),
            rng=rng,
        )
        gs.generations(herd, place, moves.tables, moves.alone, drawn)
        plain = plainly(plain, targets, limits, drawn)
        np.testing.assert_array_equal(herd.best, plain[0])
        np.testing.assert_array_equal(herd.tables[herd.order], np.array(plain))
        np.testing.assert_array_equal(herd.errors[herd.order], [error(t, targets) for t in plain])
        assert herd.error == error(plain[0], targets)
    assert herd.changes[0] > 2  # so that elites fell behind the short log


def test_candidates_are_drawn_over_their_whole_range() -> None:
    drawn = gs.draw(
        400,
        mutations=MUTATIONS,
        crossovers=CROSSOVERS,
        rows=ROWS,
        elites=ELITES,
        shape=SHAPE,
        blocks=2,
        rng=np.random.default_rng(0),
    )
    assert set(drawn.record.ravel()) == set(range(ROWS))
    assert set(drawn.donor.ravel()) == set(range(ROWS))
    assert set(drawn.elite.ravel()) == set(range(ELITES))
    assert set(drawn.unit[:, :MUTATIONS].ravel()) == set(range(len(SHAPE)))
    assert set(drawn.unit[:, MUTATIONS:].ravel()) == set(range(len(SHAPE) + 2))
    for a, size in enumerate(SHAPE):
        assert set(drawn.code[drawn.unit[:, :MUTATIONS] == a]) == set(range(size))
