"""Whole releases that answer linear queries, under an edit rule, and plans of every method.

That each method runs from its plan to a certificate, with and without rules, is tested without a
flow: tests/mechanisms/linear_queries/test_mechanism.py.
"""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hallmark.mechanisms.linear_queries.mechanism import LinearQueryMechanism
from hallmark.mechanisms.linear_queries.plan import LinearQueryPlan
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.schemas.documents.manifest import ANSWERS_FILE, CERTIFICATE_FILE
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.tasks.generate import MOVED
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.publish import Published
from tests import example
from tests.flows.runs import release, sound, spent

ROWS = 400
RULES = [
    {"rule": "age < 20 => employed = false", "source": "tests"},
    # Edges of cells are no edges of the rule, so it holds within cells as well.
    {"rule": "age < 15 <=> income is null", "source": "tests"},
]
QUERIES: list[dict[str, Any]] = [
    {"marginals": {"columns": [["age", "employed"], ["employed", "region"]]}},
    {"where": "age >= 60 and region = '01'"},
]
SEPARABLE = [{"marginals": {"columns": [["age", "employed", "region"]]}}]
# As few rounds as tell that all of them are taken.
FEW: dict[str, dict[str, Any]] = {
    "dpfw": {"rounds": 6},
    "mwem-queries": {"rounds": 4},
    "fem": {"rounds": 8},
    "sep-fem": {"rounds": 8, "queries": SEPARABLE},
    "dual-query": {"rounds": 20},
    "dqrs": {"rounds": 20},
}
NAMES = [name for name, one in MECHANISMS.items() if isinstance(one, LinearQueryMechanism)]

pytestmark = pytest.mark.usefixtures("prefect", "home")


def write(folder: Path, name: str, rows: int = ROWS, **changes: Any) -> Path:
    """A spec of this method on a table whose columns but age, income, region and employed are
    ignored; `changes` replaces sections, parameters of the mechanism among them."""
    mechanism = {"queries": QUERIES, **changes.pop("mechanism", FEW.get(name, {}))}
    sections = example.only(folder, "age", "income", "region", "employed") | {
        "mechanism": {"name": name, **mechanism},
        "constraints": RULES,
        "privacy": example.spec(folder / "table.csv")["privacy"],
    }
    sections["data"]["expected_rows"] = rows
    return example.write(folder, rows, **(sections | changes))


def answers_of(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / ANSWERS_FILE, index_col="number")


@pytest.mark.parametrize("name", NAMES)
def test_a_spec_of_every_method_is_planned(name: str, tmp_path: Path) -> None:
    plan = prepare(write(tmp_path, name)).plan
    assert isinstance(plan, LinearQueryPlan)
    assert plan.mechanism == name
    assert plan.method.expected_records == ROWS


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dpam", "sep-fem"])
def test_a_release_has_its_answers_with_bounds_and_breaks_no_rule(
    name: str, tmp_path: Path
) -> None:
    example.open_account()
    spec = write(tmp_path, name)
    check(spec, release(spec), asks=FEW.get(name, {}).get("queries", QUERIES))


@pytest.mark.parametrize("name", [pytest.param("linear-queries", marks=pytest.mark.slow), "dpfw"])
def test_a_release_that_fails_after_it_measured_resumes_with_the_same_answers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example.open_account()
    spec = write(tmp_path, name)

    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("the power is cut")

    with monkeypatch.context() as patch:
        patch.setattr("hallmark.flows.release.certify", fails)
        with pytest.raises(RuntimeError, match="the power is cut"):
            release(spec)
    ledger = Ledger(ledger_url())
    drawn = [(one.call, one.request) for one in ledger.calls("test-release")]
    assert drawn
    kept = Workspace.of("test-release").path / "synthetic.npz"
    made = np.load(kept)["answers"]

    published = release(spec, resume=True)
    assert [(one.call, one.request) for one in ledger.calls("test-release")] == drawn
    np.testing.assert_allclose(answers_of(Path(published.folder)).answer, made, atol=1e-12)
    check(spec, published)


def check(spec: Path, published: Published, *, asks: Sequence[Mapping[str, Any]] = QUERIES) -> None:
    """What holds for every release of these queries: what was spent, bounds, rules, and answers of
    the published file itself."""
    record, folder = sound(published), Path(published.folder)
    assert spent() == (Fraction(1), Fraction(1, 100_000))
    answers, workload = answers_of(folder), prepare(spec).plan.workload  # type: ignore[attr-defined]
    assert answers.columns.tolist() == ["query", "answer", "largest_error", "answer_of_records"]
    assert len(answers) == workload.size
    certificate = json.loads((folder / CERTIFICATE_FILE).read_text())
    largest = max(bound["value"] * bound["scale"] for bound in certificate["bounds"])
    assert (answers.largest_error > 0).all()
    assert answers.largest_error.max() <= largest + 1e-12

    # The last column is what the published file says itself.
    table = pd.read_csv(folder / "data.csv", dtype=str, keep_default_na=False)
    age = pd.to_numeric(table["age"])
    if "where" in asks[-1]:
        share = ((age >= 60) & (table["region"] == "01")).mean()
        assert answers.answer_of_records.iloc[-1] == pytest.approx(share, abs=1e-12)
    assert not ((age < 20) & (table["employed"] == "1")).any()
    assert ((age < 15) == (table["income"] == "NA")).all()

    assert all(check["held"] for check in record["post_processing"]["constraints"])
    # No record had to be moved for it: no method makes any that breaks a rule.
    assert record["mechanism"]["generator"]["facts"][MOVED] == 0


LONG = {  # four columns of a hundred cells: 10^8 combinations
    f"c{i}": {
        "type": "numeric", "integer": True, "minimum": 0, "maximum": 99, "cell_width": 1,
        "outside": "clamp", "bound_source": example.SOURCE,
    }
    for i in range(4)
}  # fmt: skip


def wide(folder: Path, name: str, ways: int = 2) -> Path:
    """A spec over the columns of `LONG`."""
    path = write(
        folder,
        name,
        columns=LONG,
        constraints=[],
        mechanism={"queries": [{"marginals": {"ways": ways}}]},
    )
    rng = np.random.default_rng(0)
    table = pd.DataFrame({c: rng.integers(0, 100, ROWS) for c in LONG})
    table.assign(since="", person="").to_csv(folder / "table.csv", index=False)
    return path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "mwem-queries",
            r":\d+: mechanism\.queries: they tell apart 100,000,000 combinations of cells, 100 "
            r"\(c0\) x 100 \(c1\) .* and mwem-queries keeps a number for each of at most 4,194,304"
            r"; ask about fewer columns.* or choose linear-queries, or dpfw",
        ),
        ("dpam", r":\d+: mechanism\.queries: they tell apart 100,000,000 .* above 160,000"),
        ("dual-query", "100,000,000 combinations of cells"),
        ("dqrs", "100,000,000 combinations of cells"),
        ("fem", "100,000,000 combinations of cells"),
        ("sep-fem", "100,000,000 combinations of cells"),
    ],
)
def test_a_universe_that_is_too_large_is_refused_with_its_size(
    name: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(PlanRefused, match=words):
        prepare(wide(tmp_path, name))


def test_what_is_refused_reserves_nothing(tmp_path: Path) -> None:
    example.open_account()
    with pytest.raises(PlanRefused, match="100,000,000 combinations of cells"):
        release(wide(tmp_path, "mwem-queries"))
    ledger = Ledger(ledger_url())
    assert ledger.reservation("test-release") is None
    assert ledger.account("test-people").spent == (0, 0)


def test_a_query_that_sees_too_many_cells_is_refused_with_their_number(tmp_path: Path) -> None:
    with pytest.raises(PlanRefused, match=r"sees 100 x 100 x 100 x 100 = 100,000,000 cells"):
        prepare(wide(tmp_path, "dpfw", ways=4))


MATRIX = {"queries": [{"matrix": {"columns": ["region"], "file": "queries.csv"}}]}


@pytest.mark.parametrize(
    ("name", "given", "matrix", "words"),
    [
        # a matrix that holds no queries, by its place
        (
            "linear-queries",
            MATRIX,
            "0,1,0.5\n0,-1.5,1\n",
            r"mechanism\.queries\[0\]\.matrix: row 2, number 2 is -1\.5, outside \[-1, 1\]; divide",
        ),
        ("linear-queries", MATRIX, "0,1\n", r"has 2 numbers a row, but region have 3 = 3 cells"),
        ("linear-queries", MATRIX, "0,nan,1\n", r"row 1, number 2 is nan; give a number"),
        ("linear-queries", MATRIX, "", r"holds no query; give one a row"),
        ("linear-queries", MATRIX, "a,b,c\n", r"queries\.csv holds no matrix of numbers"),
        # a class in which nothing is asked
        (
            "linear-queries",
            MATRIX,
            "1,1,1\n",
            r"mechanism\.queries: every query gives all records the same value",
        ),
        ("linear-queries", {"queries": []}, "", r"mechanism\.queries"),
        (
            "linear-queries",
            {"queries": [{"where": "age >= 20 and age < 20"}]},
            "",
            r"holds for no record, whatever",
        ),
        # a number of rounds that makes no sense
        ("dpfw", {"rounds": 0}, "", r"mechanism\.rounds: is 0; give a whole number of at least 1"),
        (
            "dpfw",
            {"rounds": 10**9},
            "",
            r"mechanism\.rounds: 1,000,000,000; give at most 4,000, since every further round",
        ),
        ("dpfw", {"alpha": 0}, "", r"mechanism\.alpha: is 0; give a positive number"),
        ("dpam", {"iterations": 10**9}, "", r"mechanism\.iterations: 1,000,000,000; give at most"),
        ("mwem-queries", {"rounds": 2.5}, "", r"mechanism\.rounds: is 2\.5; give a whole number"),
        ("dual-query", {"rounds": 1}, "", r"mechanism\.rounds: 1, but round 1 looks at no data"),
        ("dqrs", {"samples": 0}, "", r"mechanism\.samples: is 0"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_key(
    name: str, given: dict[str, Any], matrix: str, words: str, tmp_path: Path
) -> None:
    spec = write(tmp_path, name, mechanism=given)
    (tmp_path / "queries.csv").write_text(matrix)
    with pytest.raises((PlanRefused, SpecError), match=words):
        prepare(spec)


@pytest.mark.parametrize(
    ("rows", "taken", "words"),
    [(1, 1, "less than one round"), (10**12, 4000, r"rule gives [\d,]+ rounds; 4,000 are taken")],
)
def test_a_paper_rule_that_gives_no_number_of_rounds_is_explained(
    rows: int, taken: int, words: str, tmp_path: Path
) -> None:
    privacy = {**example.spec(tmp_path / "table.csv")["privacy"], "large_delta": "for the test"}
    spec = write(
        tmp_path, "dpfw", mechanism={"constants": "paper"}, privacy=privacy,
        data={**example.spec(tmp_path / "table.csv")["data"], "expected_rows": rows,
              "ignore": ["since", "person"]},
    )  # fmt: skip
    parameters = prepare(spec).plan.parameters
    assert parameters["rounds"] == taken
    assert pd.Series([parameters["note"]]).str.contains(words).all()
    assert load_spec(spec).data.expected_rows == rows
