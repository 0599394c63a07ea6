"""The list of queries in a spec: what it may say, and every refusal with its place and fix."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hallmark.schemas.columns.columns import NumericColumn
from hallmark.schemas.loading import load_spec
from hallmark.schemas.query_cuts import cell_problems
from hallmark.schemas.query_workload import KINDS, QueryEntry
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.rules.rules import parse_condition
from tests import example
from tests.builders.wages import problems

ONE_OF_EACH: list[dict[str, Any]] = [
    {"marginals": {"ways": 2}},
    {"prefixes": {"columns": ["age", "since"]}},
    {"ranges": {"columns": ["age", "income"], "count": 20, "seed": 1}},
    {"where": 'age >= 20 and region in {"01", "02"} or income is null'},
    {"halfspaces": {"columns": ["age", "employed"], "count": 3}},
    {"means": {"columns": ["income"]}},
    {"matrix": {"columns": ["region", "employed"], "file": "q.csv", "unit": 4}},
]


def written(folder: Path, *entries: dict[str, Any]) -> Path:
    mechanism = {"name": "privpgd", "queries": list(entries)}
    return example.write(folder, 2, mechanism=mechanism)


def load(folder: Path, *entries: dict[str, Any]) -> ReleaseSpec:
    return load_spec(written(folder, *entries))


def refusals(folder: Path, *entries: dict[str, Any]) -> list[str]:
    return [problem.partition(": ")[2] for problem in problems(written(folder, *entries))]


def test_every_kind_is_read_and_reads_back(tmp_path: Path) -> None:
    spec = load(tmp_path, *ONE_OF_EACH)
    assert [entry.kind for entry in spec.mechanism.queries] == list(KINDS)
    assert ReleaseSpec.model_validate_json(spec.canonical_json()) == spec
    assert "queries" not in spec.mechanism.parameters
    assert spec.mechanism.queries[3].touched() == ("age", "region", "income")


def test_specs_without_queries_say_nothing_of_them(tmp_path: Path) -> None:
    spec = load_spec(example.write(tmp_path, 2))
    assert spec.content()["mechanism"] == {"name": "privpgd"}


def test_queries_and_their_files_count_in_the_privacy_digest(tmp_path: Path) -> None:
    one, other = (load(tmp_path, {"prefixes": {"columns": [name]}}) for name in ("age", "since"))
    files = (one.privacy_digest(query_files=[sha]) for sha in ("ab", "cd"))
    assert len({one.privacy_digest(), other.privacy_digest(), *files}) == 4
    assert one.privacy_digest(query_files=[]) == one.privacy_digest()


PLACE = "mechanism.queries[0]"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, f"{PLACE}: is empty; an entry has one of marginals, prefixes, ranges, where,"),
        (
            {"marginals": {"ways": 1}, "means": {"columns": ["age"]}},
            f"{PLACE}: has marginals and means; an entry has one of",
        ),
        ({"marginal": {"ways": 1}}, "marginal: is not a key of the spec; did you mean marginals?"),
        ({"marginals": {}}, f"{PLACE}.marginals: needs either ways"),
        ({"marginals": {"ways": 2, "columns": [["age"]]}}, f"{PLACE}.marginals: needs either"),
        ({"marginals": {"ways": 6}}, "marginals.ways: is 6, but there are only 5 columns"),
        ({"marginals": {"ways": 0}}, "marginals.ways: is 0; give at least 1"),
        (
            {"marginals": {"columns": [["age"], ["age", "regoin"]]}},
            f"{PLACE}.marginals.columns[1][1]: there is no column regoin; did you mean region?",
        ),
        (
            {"marginals": {"columns": [["age", "age"]]}},
            "marginals.columns[0]: lists age more than once",
        ),
        ({"prefixes": {"columns": []}}, "prefixes.columns: is empty; list at least one"),
        ({"prefixes": {}}, "prefixes.columns: is missing; add columns with an order"),
        (
            {"prefixes": {"columns": ["region"]}},
            f"{PLACE}.prefixes.columns[0]: region is nominal and has no order, so it has no pref",
        ),
        ({"ranges": {"columns": ["age"], "seed": 3}}, "ranges.seed: is for random ranges; add"),
        ({"ranges": {"columns": ["age"], "count": 0}}, "ranges.count: is 0; give at least 1"),
        (
            {"ranges": {"columns": ["age"], "cuont": 5}},
            "ranges.cuont: is not a key of the spec; did you mean count?",
        ),
        (
            {"ranges": {"columns": ["age", "income", "since", "employed", "a", "b"]}},
            "ranges.columns: lists 6, but a product has at most 5",
        ),
        ({"halfspaces": {"columns": ["age"]}}, "halfspaces.count: is missing; add the number"),
        ({"means": {"columns": ["Age"]}}, "means.columns[0]: there is no column Age; did you mean"),
        ({"means": {"columns": ["region"]}}, "means.columns[0]: region is nominal"),
        (
            {"matrix": {"columns": ["age"], "file": "q.xlsx"}},
            "matrix.file: is 'q.xlsx'; give a file whose name ends in .csv or .npy",
        ),
        ({"matrix": {"columns": ["age"], "file": "q.csv", "unit": 0}}, "matrix.unit: is 0; give"),
        ({"where": "age >="}, f"{PLACE}.where: the rule ends too early, but"),
        ({"where": "age determines income"}, "where: the condition is about several records"),
        ({"where": "agee < 20"}, "where: there is no column agee; did you mean age?"),
        ({"where": 'region = "03"'}, "where: '03' is not a category of region; give one"),
        (
            {"where": "age >= 18"},
            "where: age >= 18 cuts a cell of age in two, but a query sees only whole cells; write "
            "age < or >= one of the nearest edges, 10 and 20, or",
        ),
        ({"where": "age > 20"}, "where: age > 20 cuts a cell of age in two, but a query"),
        ({"where": "age = 20"}, "where: age = 20 cuts a cell"),
        ({"where": "not (age in {20, 5})"}, "where: age = 20 cuts a cell"),
        (
            {"where": "since <= 2000-12-31"},
            "one of the nearest edges, 2000-01-01 and 2001-08-31",
        ),
        (
            {"where": "income > 100"},
            "income > 100 distinguishes single numbers, but a cell of income holds its lower "
            "edge and numbers above it; write income < or >= one",
        ),
        ({"where": "income = 100"}, "distinguishes single numbers,"),
        ({"where": "income < 120"}, "one of the nearest edges, 100 and 150"),
        ({"where": "income < 400"}, "income < 400 cuts a cell of income in two"),
        ({"where": "income < age"}, "where: compares income with age, but cells of income hold"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_refused_at_its_place(
    entry: dict[str, Any], words: str, tmp_path: Path
) -> None:
    problems = refusals(tmp_path, entry)
    assert any(words in problem for problem in problems), problems


def test_a_list_of_no_query_is_as_good_as_none(tmp_path: Path) -> None:
    assert load(tmp_path).content()["mechanism"] == {"name": "privpgd"}


def test_every_wrong_entry_is_told(tmp_path: Path) -> None:
    wrong = [{"where": "age > 20"}, {"means": {"columns": ["age"]}}, {"where": "income < age"}]
    assert [problem[:20] for problem in refusals(tmp_path, *wrong)] == [
        "mechanism.queries[0]", "mechanism.queries[2]", "mechanism.queries[2]"
    ]  # fmt: skip


def column(integer: bool) -> NumericColumn:
    return NumericColumn.model_validate(
        {
            "type": "numeric", "integer": integer, "minimum": 0, "maximum": 6,
            "edges": [0, 2, 3, 6], "outside": "clamp",
            "bound_source": {"kind": "public", "reference": "tests"},
        }
    )  # fmt: skip


@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "=", "!="])
def test_a_comparison_is_refused_exactly_where_values_of_a_cell_differ_on_it(
    operator: str, integer: bool
) -> None:
    one = column(integer)
    step = Fraction(1) if integer else Fraction(1, 4)
    values = [i * step for i in range(int(6 / step) + 1)]
    edges = list(one.exact_edges)
    cells = [[v for v in values if low <= v < high] for low, high in pairwise(edges)]
    cells[-1] = [v for v in values if v >= edges[-2]]
    for tenth in range(-10, 75, 5):
        text = f"x {operator} {tenth / 10}"
        condition = parse_condition(text)
        found = list(cell_problems(condition, {"x": one}))
        told = [
            set(condition.holds(pd.DataFrame({"x": [float(v) for v in cell]})).tolist())
            for cell in cells
        ]
        mixed = any(len(answers) > 1 for answers in told)
        nothing = integer and tenth % 10  # between whole numbers `=` may be refused needlessly
        assert bool(found) == mixed or (nothing and operator in ("=", "!=")), text


def test_columns_whose_cells_are_single_values_can_be_compared() -> None:
    single = column(True).model_copy(update={"given_edges": tuple(map(Fraction, range(8)))})
    condition = parse_condition("x < y")
    assert not list(cell_problems(condition, {"x": single, "y": single}))
    assert len(list(cell_problems(condition, {"x": single, "y": column(True)}))) == 1


def test_an_entry_stands_alone() -> None:
    assert QueryEntry.model_validate({"where": "x < 3"}).touched() == ("x",)
