"""The documentation's own code runs as printed."""

import re
from itertools import takewhile
from pathlib import Path

import pandas as pd
import pytest

from schemas.rules import parse_rule

DOCS = Path(__file__).parents[1] / "docs"
RULES = (DOCS / "rules.md").read_text()


def test_the_notebook_of_the_wasserstein_family_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = re.findall(
        r"```python\n(.*?)```", (DOCS / "wasserstein.md").read_text(), re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "wasserstein.md", "exec"), {})
    assert 0 < float(capsys.readouterr().out) < 0.05


def rows(header: str) -> list[tuple[str, ...]]:
    """Rows of the table of docs/rules.md with this header, without the marks of code."""
    _, _, table = RULES.partition(f"{header}\n")
    lines = takewhile(lambda line: line.startswith("|"), table.splitlines()[1:])
    return [tuple(cell.strip(" `") for cell in line.strip("|").split("|")) for line in lines]


@pytest.mark.parametrize("row", rows("| form | example | true where |"))
def test_every_form_of_a_rule_is_one(row: tuple[str, ...]) -> None:
    assert parse_rule(row[1]).columns()


@pytest.mark.parametrize("row", rows("| rule | record | |"))
def test_what_is_said_of_nulls_holds(row: tuple[str, ...]) -> None:
    text, record, outcome = row
    values = dict(pair.split(" = ") for pair in record.split(", "))
    frame = pd.DataFrame(
        {name: [float(value.replace("null", "nan"))] for name, value in values.items()}
    )
    assert outcome in ("broken", "obeyed")
    assert list(parse_rule(text).violations(frame)) == [outcome == "broken"]
