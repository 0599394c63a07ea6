"""The documentation's own code runs as printed, and its tables say what the code says."""

import re
from itertools import takewhile
from pathlib import Path

import pandas as pd
import pytest

from hallmark.mechanisms.catalogue import CATALOGUE
from hallmark.mechanisms.linear_queries.mechanism import LinearQueryMechanism
from hallmark.mechanisms.marginals.mechanism import Marginals
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.schemas.rules.rules import parse_rule

DOCS = Path(__file__).parents[1] / "docs"


def test_the_notebook_of_the_wasserstein_family_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = re.findall(
        r"```python\n(.*?)```", (DOCS / "wasserstein.md").read_text(), re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "wasserstein.md", "exec"), {})
    assert 0 < float(capsys.readouterr().out) < 0.05


def rows(page: str, header: str) -> list[tuple[str, ...]]:
    """Rows of the page's table with this header, without the marks of code around cells."""
    _, _, table = (DOCS / page).read_text().partition(f"{header}\n")
    lines = takewhile(lambda line: line.startswith("|"), table.splitlines()[1:])
    return [tuple(cell.strip(" `") for cell in line.strip("|").split("|")) for line in lines]


@pytest.mark.parametrize("row", rows("rules.md", "| form | example | true where |"))
def test_every_form_of_a_rule_is_one(row: tuple[str, ...]) -> None:
    assert parse_rule(row[1]).columns()


@pytest.mark.parametrize("row", rows("rules.md", "| rule | record | |"))
def test_what_is_said_of_nulls_holds(row: tuple[str, ...]) -> None:
    text, record, outcome = row
    values = dict(pair.split(" = ") for pair in record.split(", "))
    frame = pd.DataFrame(
        {name: [float(value.replace("null", "nan"))] for name, value in values.items()}
    )
    assert outcome in ("broken", "obeyed")
    assert list(parse_rule(text).violations(frame)) == [outcome == "broken"]


def test_the_marginal_family_is_listed_with_its_halves() -> None:
    listed = {
        name: (re.findall(r"^[a-z-]+", selection), generator)
        for name, selection, generator in rows("marginals.md", "| name | selection | generator |")
    }
    assert listed == {
        name: ([mechanism.selection["method"]], mechanism.generator["method"])
        for name, mechanism in MECHANISMS.items()
        if isinstance(mechanism, Marginals)
    }


def test_the_page_of_linear_queries_has_every_method_and_those_that_need_a_certificate() -> None:
    methods = rows("linear-queries.md", "| mechanism | how | when to use it |")
    listed = {name for row in methods for name in re.findall(r"[a-z-]+", row[0])}
    assert listed == {name for name, entry in CATALOGUE.items() if entry.answers_queries}
    (only_choose,) = [
        re.findall(r"`([a-z-]+)`", row[0])
        for row in rows("linear-queries.md", "| mechanism | settings |")
        if row[1].startswith("certificate_share")
    ]
    assert set(only_choose) == {
        name
        for name, mechanism in MECHANISMS.items()
        if isinstance(mechanism, LinearQueryMechanism) and not mechanism.bounds_itself
    }
