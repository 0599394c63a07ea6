"""Rules on cells, against every value of small columns and against the records of a real survey."""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from hallmark.mechanisms.domain.rules import check
from hallmark.mechanisms.domain.rules.rules import joint_of
from hallmark.schemas.columns.columns import Column
from hallmark.schemas.loading import load_spec
from hallmark.schemas.rules.rule_syntax import (
    And,
    ColumnName,
    Comparison,
    Equivalent,
    Expression,
    Implies,
    IsNull,
    Member,
    Not,
    Or,
    Value,
)
from hallmark.schemas.rules.rules import Rule, parse_rule
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.rule_tables import RuleCells, RuleTooWide, rules_on
from hallmark.tasks.planning.rule_values import decode
from tests import example

EXAMPLES = Path(__file__).parents[3] / "schemas/examples"

GRADES = ["low", "middle", "high"]  # not in alphabetic order
SPECS: dict[str, dict[str, Any]] = {
    "i": {"type": "numeric", "integer": True, "minimum": 0, "maximum": 7, "edges": [0, 3, 4, 7]},
    "j": {"type": "numeric", "integer": True, "minimum": 2, "maximum": 6, "cell_width": 3},
    "x": {"type": "numeric", "minimum": 0, "maximum": 4, "edges": [0, 1, 4]},
    "y": {"type": "numeric", "minimum": 1, "maximum": 5, "cells": 2},
    "u": {"type": "numeric", "step": "0.25", "minimum": 0, "maximum": 2, "edges": [0, 0.75, 2]},
    "v": {"type": "numeric", "step": "0.5", "minimum": 0, "maximum": 3, "cells": 4},
    "g": {"type": "ordinal", "categories": GRADES},
    "h": {"type": "ordinal", "categories": GRADES},
    "s": {"type": "nominal", "categories": ["p", "q"]},
    "d": {"type": "date", "minimum": "2000-01-30", "maximum": "2000-02-03", "cells": 2},
    "e": {"type": "date", "minimum": "2000-02-01", "maximum": "2000-02-02", "cells": 1},
}
CONSTANTS = {
    "i": ["0", "2", "2.5", "7", "9"],
    "j": ["2", "4", "6"],
    "x": ["0", "2", "4", "2.5"],
    "y": ["1", "2", "3"],
    "u": ["0", "0.3", "0.75", "2"],
    "v": ["0", "0.5", "1.75", "3"],
    "g": GRADES,
    "h": GRADES,
    "s": ["p", "q"],
    "d": ["2000-01-31", "2000-02-03"],
    "e": ["2000-02-01"],
}
ALIKE = ({"i", "j", "x", "y", "u", "v"}, {"g", "h"}, {"s"}, {"d", "e"})


def column(**spec: Any) -> Column:
    sound = {"outside": "refuse", "nulls": True, "bound_source": example.SOURCE}
    return TypeAdapter(Column).validate_python(sound | spec)


COLUMNS = {name: column(**spec) for name, spec in SPECS.items()}


def all_values(name: str) -> list[Any]:
    """Every value of whole columns; for real ones every quarter, finer than three of them need."""
    spec = SPECS[name]
    if "categories" in spec:
        return [*spec["categories"], None]
    if spec["type"] == "date":
        return [*pd.date_range(spec["minimum"], spec["maximum"]), pd.NaT]
    step = 1 if spec.get("integer") else float(spec.get("step", 0.125))
    return [*np.arange(spec["minimum"], spec["maximum"] + step / 2, step).tolist(), np.nan]


def a_statement(rng: np.random.Generator, names: list[str], depth: int = 2) -> Expression:
    kind = rng.integers(8 if depth else 3)
    name = str(rng.choice(names))

    def inner() -> Expression:
        return a_statement(rng, names, depth - 1)

    operators = ["=", "!="] if name == "s" else ["=", "!=", "<", "<=", ">", ">="]
    operator: Any = str(rng.choice(operators))
    match kind:
        case 0:
            return IsNull(name)
        case 1:
            (alike,) = (group for group in ALIKE if name in group)
            others = [other for other in names if other in alike]
            return Comparison(name, operator, ColumnName(str(rng.choice(others))))
        case 2:
            return Comparison(name, operator, Value(str(rng.choice(CONSTANTS[name]))))
        case 3:
            return Member(name, (Value(CONSTANTS[name][0]), Value(CONSTANTS[name][-1])))
        case 4:
            return Not(inner())
        case 5:
            return (And if rng.random() < 0.5 else Or)((inner(), inner()))
        case 6:
            return Implies(inner(), inner())
    return Equivalent((inner(), inner(), inner()))


def made(bodies: list[Expression], names: list[str]) -> tuple[list[Rule], TableCodec, RuleCells]:
    columns = {name: COLUMNS[name] for name in names}
    rules = [Rule(f"rule {i}", body).bound_to(columns) for i, body in enumerate(bodies)]
    codec = TableCodec.of(columns)
    return rules, codec, rules_on(rules, codec)


@cache
def combinations(names: tuple[str, ...]) -> tuple[pd.DataFrame, tuple[np.ndarray, ...]]:
    """Every combination of the columns' values, and the cells that it is in, by column."""
    rows = pd.DataFrame(list(product(*map(all_values, names))), columns=list(names))
    codec = TableCodec.of({name: COLUMNS[name] for name in names})
    return rows, tuple(one.encode(rows[one.name]) for one in codec.codecs)


def broken_by(rules: list[Rule], codec: TableCodec) -> np.ndarray:
    """Which combinations of values break each rule, shape (rules, combinations)."""
    rows, _ = combinations(codec.names)
    return np.array([rule.violations(rows).to_numpy() for rule in rules])


def obeying_cells(broken: np.ndarray, codec: TableCodec) -> np.ndarray:
    """Whether some values in these cells obey all rules, one combination of values at a time."""
    _, codes = combinations(codec.names)
    found = np.zeros([one.attribute.cells for one in codec.codecs], dtype=np.bool_)
    found[tuple(code[~broken.any(axis=0)] for code in codes)] = True
    return found


SEEDS = [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))]
TUPLES = [["i"], ["x"], ["i", "j"], ["i", "x"], ["x", "y"], ["g", "h", "s"], ["d", "e", "s"],
          ["i", "g"], ["x", "s"], ["d", "i"], ["i", "j", "s"], ["i", "x", "g"],
          ["u"], ["u", "v"], ["i", "u"], ["u", "x"], ["j", "v", "u"]]  # fmt: skip


@pytest.mark.parametrize("names", TUPLES, ids="".join)
@pytest.mark.parametrize("seed", SEEDS)
def test_cells_are_allowed_exactly_where_values_in_them_obey(seed: int, names: list[str]) -> None:
    rng = np.random.default_rng(seed)
    bodies = [a_statement(rng, names) for _ in range(int(rng.integers(1, 4)))]
    rules, codec, cells = made(bodies, names)
    broken = broken_by(rules, codec)
    expected = obeying_cells(broken, codec)
    assert np.array_equal(cells.rules.allowed(range(len(names))), expected), bodies
    for rule, ever in zip(rules, broken.any(axis=1), strict=True):
        assert (rule.text in cells.useless) == (not ever)


@pytest.mark.parametrize("names", TUPLES, ids="".join)
@pytest.mark.parametrize("seed", SEEDS)
def test_decoded_records_stay_in_their_cells_and_break_nothing_that_their_cells_allow(
    seed: int, names: list[str]
) -> None:
    rng = np.random.default_rng(100 + seed)
    rules, codec, cells = made([a_statement(rng, names) for _ in range(2)], names)
    shape = [one.attribute.cells for one in codec.codecs]
    codes = np.column_stack([rng.integers(0, size, 200) for size in shape]).astype(np.int32)
    frame = decode(codec, codes, rules, cells, rng)
    again = np.column_stack([one.encode(frame[one.name]) for one in codec.codecs])
    assert np.array_equal(again, codes)
    broken = np.logical_or.reduce([rule.violations(frame).to_numpy() for rule in rules])
    assert np.array_equal(broken, ~obeying_cells(broken_by(rules, codec), codec)[tuple(codes.T)])


def test_tables_are_on_as_few_columns_as_the_rule_can_be_split_into() -> None:
    columns = {name: COLUMNS[name] for name in "igs"}
    text = "i < 3 <=> g is null <=> s is null"
    cells = rules_on([parse_rule(text).bound_to(columns)], TableCodec.of(columns))
    assert [table.columns for table in cells.rules.tables] == [(0, 1), (0, 2), (1, 2)]
    assert {table.name for table in cells.rules.tables} == {text}
    assert cells.rules.parts is None  # the cells of i end where the rule does
    assert cells.rules.ordered == (0, 1)
    assert cells.rules.nullable == (0, 1, 2)
    other = "i < 2 <=> g is null"
    cut = rules_on([parse_rule(other).bound_to(columns)], TableCodec.of(columns)).rules
    assert cut.parts is not None
    assert [len(part) for part in cut.parts.cells] == [5, 4, 3]


def test_a_determination_is_kept_for_the_records_to_settle() -> None:
    columns = {name: COLUMNS[name] for name in "igs"}
    rules = [parse_rule("s determines g").bound_to(columns)]
    (one,) = rules_on(rules, TableCodec.of(columns)).rules.determinations
    assert (one.name, one.column, one.other) == ("s determines g", 2, 1)


def test_a_rule_that_needs_too_large_a_table_is_refused_with_its_size() -> None:
    wide = {"type": "numeric", "minimum": 0, "maximum": 1}
    columns = {name: column(cells=4095, **wide) for name in "ab"} | {"g": COLUMNS["g"]}
    text = "a = b or g is null"
    with pytest.raises(RuleTooWide, match=r"kinds of values .* at most 16,777,216") as refused:
        rules_on([parse_rule(text).bound_to(columns)], TableCodec.of(columns))
    assert refused.value.rule == text
    assert "(a) x " in str(refused.value)
    # Compared with constants alone, three such columns are no trouble.
    split = "a < 0.5 and b < 0.5 and g is null"
    rules_on([parse_rule(split).bound_to(columns)], TableCodec.of(columns))


def nist() -> tuple[Any, TableCodec, RuleCells]:
    spec = load_spec(EXAMPLES / "nist-acs-2019.yaml")
    codec = TableCodec.of(spec.columns)
    return spec, codec, rules_on(spec.rules, codec)


def test_the_rules_of_the_census_example_do_not_contradict_and_cut_no_cell() -> None:
    _, codec, cells = nist()
    check(cells.rules, codec.names)
    assert cells.rules.parts is None
    assert cells.rules.dead_cells() == {}
    assert cells.useless == ()
    names = [[codec.names[c] for c in part] for part in cells.rules.components]
    assert [part[:2] for part in names] == [["AGEP", "MSP"], ["NOC", "NPF"]]
    assert [len(part) for part in names] == [10, 5]


def test_every_real_record_is_allowed_and_repaired_strangers_break_no_rule() -> None:
    spec, codec, cells = nist()
    table = pd.read_csv(EXAMPLES / spec.data.source, dtype=str, keep_default_na=False)
    codes = codec.encode(table.mask(table == "N"))
    assert cells.rules.valid(codes).all()
    settled = cells.rules.settled(joint_of(codes, cells.rules.shape))
    assert settled.valid(codes).all()
    rng = np.random.default_rng(4)
    strangers = np.column_stack([rng.permutation(column) for column in codes.T]).astype(np.int32)
    assert not settled.valid(strangers).all()
    frame = decode(codec, cells.rules.repair(strangers, rng), spec.rules, cells, rng)
    assert {rule.text: int(rule.violations(frame).sum()) for rule in spec.rules} == {
        rule.text: 0 for rule in spec.rules
    }


@pytest.mark.parametrize("order", [("code", "sector"), ("sector", "code")])
def test_groups_named_by_another_columns_codes_say_what_their_column_determines(
    order: tuple[str, str],
) -> None:
    groups = [{"x": ["a", "b", "c"], "y": ["d"]}, {"q": ["a", "c"], "r": ["b"], "p": ["d"]}]
    columns = {
        "code": column(type="nominal", categories=list("abcd"), groups=groups),
        "sector": column(type="nominal", categories=["p", "q", "r", "s"]),
        "x": COLUMNS["x"],
    }
    rules = [
        parse_rule(text).bound_to(columns)
        for text in ("code determines sector", 'x > 2 => sector = "q"')
    ]
    codec = TableCodec.of({name: columns[name] for name in (*order, "x")})
    made_of = rules_on(rules, codec).rules
    assert made_of.determinations == ()
    allowed = made_of.allowed((0, 1))
    allowed = allowed if order[0] == "code" else allowed.T
    expected = np.ones((5, 5), dtype=bool)  # nulls say nothing
    expected[:4, :4] = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]
    assert (allowed == expected).all()


def test_groups_of_other_names_say_nothing() -> None:
    columns = {
        "code": column(
            type="nominal", categories=list("abcd"), groups={"x": ["a", "b"], "p": ["c", "d"]}
        ),
        "sector": column(type="nominal", categories=["p", "q"]),
    }
    rule = parse_rule("code determines sector").bound_to(columns)
    made_of = rules_on([rule], TableCodec.of(columns)).rules
    assert len(made_of.determinations) == 1
    assert not made_of.tables
