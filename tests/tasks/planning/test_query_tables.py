"""Queries of a spec against records in original units; files of queries; and what is refused."""

import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hallmark.mechanisms.linear_queries import kinds
from hallmark.mechanisms.linear_queries.workload import Workload
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.linear_queries import Boxes, EachCell
from hallmark.schemas.loading import load_spec
from hallmark.schemas.query_workload import MOST_COLUMNS
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.query_tables import QueryTables, query_tables
from hallmark.tasks.planning.requested import PlanRefused
from tests import example

FRAME = example.table(2000)


def write(folder: Path, *entries: dict[str, Any]) -> Path:
    return example.write(folder, 2, mechanism={"name": "privpgd", "queries": list(entries)})


def made(folder: Path, *entries: dict[str, Any]) -> QueryTables:
    spec = load_spec(write(folder, *entries))
    return query_tables(spec, TableCodec.of(spec.columns).domain, folder)


def answers(folder: Path, workload: Workload) -> list[float]:
    """Of the example's table, in the queries' own scale, as sums over all records."""
    codec = TableCodec.of(load_spec(folder / "spec.yaml").columns)
    text = FRAME.astype(object).where(FRAME.notna()).map(str, na_action="ignore").astype("str")
    text["since"] = FRAME["since"].dt.strftime("%Y-%m-%d")
    codes = codec.encode(text)
    exact = workload.queries.answers(count_codes(codes, workload.queries.maps))
    return (exact / workload.queries.unit).tolist()


AGE, INCOME, REGION, EMPLOYED = (FRAME[n] for n in ("age", "income", "region", "employed"))
CONDITIONS = {
    "age >= 20": AGE >= 20,
    "age >= 20 and age < 60": (AGE >= 20) & (AGE < 60),
    "age < 10 or age >= 90": (AGE < 10) | (AGE >= 90),
    'region = "01" and age <= 29': (REGION == "01") & (AGE <= 29),
    'region != "02"': REGION != "02",
    'region in {"01", "07"} and employed = true': REGION.isin(["01", "07"]) & (EMPLOYED == 1),
    "income < 50": INCOME < 50,  # not of a null
    "not (income < 50)": INCOME >= 50,
    "income is null or income < 50": INCOME.isna() | (INCOME < 50),
    "income is not null": INCOME.notna(),
    "employed = true => age >= 30": (EMPLOYED == 0) | (AGE >= 30),
    "employed = true <=> income >= 100": ((EMPLOYED == 1) == (INCOME >= 100)) & INCOME.notna(),
    "since < 2001-08-31": FRAME["since"] < pd.Timestamp("2001-08-31"),
    "age >= 40 and (income >= 0 or income is null)": AGE >= 40,
}


def test_a_condition_counts_the_records_that_are_known_to_fulfil_it(tmp_path: Path) -> None:
    workload = made(tmp_path, *({"where": text} for text in CONDITIONS)).workload
    labels = [workload.label(query) for query in range(workload.size)]
    assert sorted(labels) == sorted(CONDITIONS)
    found = dict(zip(labels, answers(tmp_path, workload), strict=True))
    for text, holds in CONDITIONS.items():
        assert found[text] == holds.sum(), text
        assert 0 < holds.sum() < len(FRAME)


def test_a_column_that_a_condition_does_not_depend_on_is_not_seen(tmp_path: Path) -> None:
    text = "age >= 40 and (income >= 0 or income is null)"
    workload = made(tmp_path, {"where": text}).workload
    assert workload.columns == (0,)
    assert isinstance(workload.queries.blocks[0].rows, Boxes)


def test_marginals_are_all_of_a_size_or_those_listed(tmp_path: Path) -> None:
    workload = made(tmp_path, {"marginals": {"ways": 2}}).workload
    assert len(workload.queries.blocks) == 10
    assert all(isinstance(block.rows, EachCell) for block in workload.queries.blocks)
    listed = made(tmp_path, {"marginals": {"columns": [["region", "age"], ["employed"]]}}).workload
    found = dict(zip(map(listed.label, range(listed.size)), answers(tmp_path, listed), strict=True))
    assert found["age 30 to 39, region = 02"] == (AGE.between(30, 39) & (REGION == "02")).sum()
    assert found["employed = 1"] == (EMPLOYED == 1).sum()


def test_prefixes_and_ranges_are_called_by_the_values_that_they_count(tmp_path: Path) -> None:
    workload = made(
        tmp_path, {"prefixes": {"columns": ["age"]}}, {"ranges": {"columns": ["income"]}},
        {"ranges": {"columns": ["age", "since"], "count": 5, "seed": 3}},
    ).workload  # fmt: skip
    labels = [workload.label(query) for query in range(workload.size)]
    found = dict(zip(labels, answers(tmp_path, workload), strict=True))
    assert labels[:3] == ["age 0 to 9", "age 0 to 19", "age 0 to 29"]
    assert found["age 0 to 29"] == (AGE < 30).sum()
    assert found["income 100 to 200"] == ((INCOME >= 100) & (INCOME < 200)).sum()
    assert found["income 0 to 400"] == INCOME.notna().sum()
    same = made(tmp_path, {"ranges": {"columns": ["age", "since"], "count": 5, "seed": 3}})
    assert [same.workload.label(i) for i in range(5)] == labels[-5:]
    other = made(tmp_path, {"ranges": {"columns": ["age", "since"], "count": 5}})
    assert [other.workload.label(i) for i in range(5)] != labels[-5:]


def test_means_are_of_positions_between_the_bounds(tmp_path: Path) -> None:
    workload = made(tmp_path, {"means": {"columns": ["age", "income"]}}).workload
    age, income = answers(tmp_path, workload)
    assert age / len(FRAME) == pytest.approx((AGE // 10 * 10 + 4.5).mean() / 99, abs=1e-5)
    cells = np.minimum(INCOME // 50, 7) * 50 + 25
    assert income / len(FRAME) == pytest.approx(cells.fillna(0).sum() / len(FRAME) / 400, abs=1e-5)


def test_halfspaces_are_drawn_by_seed(tmp_path: Path) -> None:
    entry = {"columns": ["age", "income"], "count": 4, "seed": 1}
    one, same = (made(tmp_path, {"halfspaces": entry}).workload for _ in range(2))
    other = made(tmp_path, {"halfspaces": {**entry, "seed": 2}}).workload
    assert one.size == 4
    assert one.queries.digest == same.queries.digest != other.queries.digest


@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_a_matrix_is_read_beside_the_spec_and_told_by_its_digest(kind: str, tmp_path: Path) -> None:
    values = np.array([[1, 0, 0, -0.5, 0, 0], [0, 0.25, 0, 0, 0, 0]])
    path = tmp_path / f"q.{kind}"
    if kind == "csv":
        np.savetxt(path, values, delimiter=",")
    else:
        np.save(path, values)
    entry = {"matrix": {"columns": ["employed", "region"], "file": path.name}}
    tables = made(tmp_path, entry)
    assert tables.files == (hashlib.sha256(path.read_bytes()).hexdigest(),)
    first = ((EMPLOYED == 0) & (REGION == "01")).sum()
    last = ((EMPLOYED == 1) & (REGION == "01")).sum()
    second = ((EMPLOYED == 0) & (REGION == "02")).sum()
    assert answers(tmp_path, tables.workload) == [first - last / 2, second / 4]
    assert tables.workload.label(1) == f"q.{kind}, row 2"


def refusal(folder: Path, *entries: dict[str, Any]) -> str:
    with pytest.raises(PlanRefused) as caught:
        prepare(write(folder, *entries))
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "q.csv cannot be read (No such file or directory); fix the path"),
        ("1,0\n", "has 2 numbers a row, but region have 3 = 3 cells"),
        ("1,0,x\n", "q.csv holds no matrix of numbers"),
        ("1,0\n1\n", "q.csv holds no matrix of numbers"),
        ("", "holds no query"),
        ("1,0,0\n0,2,0\n", "row 2, number 2 is 2, outside [-1, 1]"),
        ("1,0,nan\n", "row 1, number 3 is nan"),
    ],
)
def test_a_wrong_file_is_refused_at_its_place(
    content: str | None, words: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "q.csv").write_text(content)
    entry = {"matrix": {"columns": ["region"], "file": "q.csv"}}
    said = refusal(tmp_path, {"means": {"columns": ["age"]}}, entry)
    assert re.search(r"spec.yaml:\d+: mechanism.queries\[1\].matrix: ", said)
    assert words in said


def test_files_with_pickles_texts_or_the_private_table_are_refused(tmp_path: Path) -> None:
    entry = {"matrix": {"columns": ["region"], "file": "q.npy"}}
    np.save(tmp_path / "q.npy", np.array([{"a": 1}]), allow_pickle=True)
    assert "holds no matrix of numbers" in refusal(tmp_path, entry)
    np.save(tmp_path / "q.npy", np.array([["a", "b", "c"]]))
    assert "it holds <U1" in refusal(tmp_path, entry)
    (tmp_path / "link.csv").symlink_to(tmp_path / "table.csv")
    for name in ("table.csv", "link.csv"):
        private = {"matrix": {"columns": ["region"], "file": name}}
        assert "is the private table of this release" in refusal(tmp_path, private)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"where": "age >= 0"}, "queries[0].where: 'age >= 0' holds for every record, whatever"),
        ({"where": "age < 0"}, "queries[0].where: 'age < 0' holds for no record"),
        ({"where": 'region = "01" and region = "02"'}, "holds for no record"),
    ],
)
def test_what_says_nothing_or_is_too_much_is_refused(
    entry: dict[str, Any], words: str, tmp_path: Path
) -> None:
    assert words in refusal(tmp_path, entry)


def test_mechanisms_that_answer_no_queries_refuse_them(tmp_path: Path) -> None:
    assert ": mechanism.queries" in refusal(tmp_path, {"means": {"columns": ["age"]}})


def test_without_queries_there_is_no_table(tmp_path: Path) -> None:
    spec = load_spec(example.write(tmp_path, 2))
    assert query_tables(spec, TableCodec.of(spec.columns).domain, tmp_path).workload is None
    assert prepare(tmp_path / "spec.yaml").public.queries == ()


def test_the_spec_and_the_queries_agree_on_how_many_columns_a_product_has() -> None:
    assert MOST_COLUMNS == kinds.MOST_AXES
