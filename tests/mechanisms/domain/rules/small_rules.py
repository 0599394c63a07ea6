"""Small random rules, and the slow oracle: all records, one by one."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.domain.rules import Parts, Rules, RuleTable

Generator = np.random.Generator


def random_rules(rng: Generator, *, parts: bool = False, share: float = 0.6) -> Rules:
    """Three to five columns of up to five cells, with tables on one to three of them."""
    columns = int(rng.integers(3, 6))
    shape = tuple(int(size) for size in rng.integers(1, 6, columns))
    ordered = tuple(int(c) for c in range(columns) if rng.random() < 0.5)
    nullable = tuple(int(c) for c in range(columns) if shape[c] > 1 and rng.random() < 0.5)
    cells = tuple(
        np.sort(np.concatenate([np.arange(size), rng.integers(size, size=rng.integers(0, 3))]))
        for size in shape
    )
    fine = [len(part) for part in cells]
    return Rules(
        shape,
        random_tables(rng, shape, share),
        ordered=ordered,
        nullable=nullable,
        parts=Parts(cells, random_tables(rng, fine, share)) if parts else None,
    )


def random_tables(rng: Generator, shape: NDArray | tuple | list, share: float) -> tuple:
    tables = []
    for number in range(int(rng.integers(1, 5))):
        some = rng.choice(len(shape), size=min(len(shape), int(rng.integers(1, 4))), replace=False)
        columns = tuple(sorted(int(c) for c in some))
        allowed = rng.random([shape[c] for c in columns]) < share
        tables.append(RuleTable(f"rule {number}", columns, allowed))
    return tuple(tables)


def records(shape: tuple[int, ...]) -> NDArray[np.int32]:
    """All records."""
    return np.array(list(product(*map(range, shape))), dtype=np.int32)


def truly_valid(rules: Rules) -> NDArray[np.bool_]:
    """Whether each of `records(rules.shape)` has values that obey every table, one by one."""
    cells = rules.parts.cells if rules.parts else [np.arange(size) for size in rules.shape]
    fine = rules.parts.tables if rules.parts else ()
    good = np.zeros(rules.shape, dtype=np.bool_)
    for parts in product(*(range(len(part)) for part in cells)):
        record = tuple(int(cells[c][part]) for c, part in enumerate(parts))
        if all(t.allowed[tuple(parts[c] for c in t.columns)] for t in fine) and all(
            t.allowed[tuple(record[c] for c in t.columns)] for t in rules.tables
        ):
            good[record] = True
    return good.ravel()


def distance(rules: Rules, one: NDArray, other: NDArray) -> float:
    """How far a record moves, as `Rules.repair` says."""
    total = 0.0
    for c, (a, b) in enumerate(zip(one, other, strict=True)):
        levels = rules.shape[c] - (c in rules.nullable)
        both_values = c in rules.ordered and a < levels and b < levels
        total += abs(int(a) - int(b)) / levels if both_values else float(a != b)
    return total
