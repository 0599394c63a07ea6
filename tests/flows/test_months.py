"""The example of a monthly series: its tables, its calendar, and what its account makes of it."""

import gzip
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hallmark.flows import months
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.planning.instances import instance
from tests.flows.conftest import Hallmark

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "schemas/examples/series"
TABLE = ROOT / "schemas/examples/data/national2019.csv.gz"
OPEN = ("ledger", "open", "monthly-people", "--epsilon", "2", "--delta", "1e-5", "--reason", "test")


def test_everybody_is_in_one_month_and_always_in_the_same(tmp_path: Path) -> None:
    for folder in (tmp_path / "one", tmp_path / "other"):
        months.main(TABLE, folder)
    files = sorted((tmp_path / "one").iterdir())
    assert [one.name for one in files] == [f"people-2019-{m:02d}.csv" for m in range(1, 13)]
    header, *people = gzip.decompress(TABLE.read_bytes()).decode().splitlines()
    parts = [file.read_text().splitlines() for file in files]
    assert all(part[0] == header for part in parts)
    assert sorted(row for part in parts for row in part[1:]) == sorted(people)
    assert all(abs(len(part) - 2300) < 200 for part in parts)  # the expected_rows of its spec
    for file in files:
        assert (tmp_path / "other" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.usefixtures("home")
def test_the_calendar_of_the_example_is_about_the_month_before() -> None:
    moment = datetime(2019, 5, 3, 2, tzinfo=UTC)
    due = instance(EXAMPLE / "calendar.yaml", "people", moment).prepared
    assert (due.spec.release, due.period) == ("people-2019-04", "2019-04")
    assert due.spec.data.source.endswith("build/series/people-2019-04.csv")
    assert due.spec.series is not None
    assert due.spec.series.learn


def test_the_calendar_shows_what_a_period_has_of_its_series(hallmark: Hallmark) -> None:
    shown = hallmark("calendar", "show", EXAMPLE / "calendar.yaml")
    assert shown.code == 0, shown
    assert "planned" not in shown.out  # nobody opened the account yet
    hallmark(*OPEN, "--series", "month", "--most", "1")
    month = re.findall(r"people-(\d{4}-\d\d)", shown.out)[0]
    plan = ("--from", month, "--periods", "2", "--kept", "0.5", "--reason", "test")
    assert hallmark("ledger", "plan", "monthly-people", *plan).code == 0
    shown = hallmark("calendar", "show", EXAMPLE / "calendar.yaml")
    planned = Ledger(ledger_url()).account("monthly-people").planned[month]
    words = " ".join(shown.out.replace("│", " ").split())
    assert f"{month}: planned ρ {float(planned):.6g}"[:20] in words


def test_the_calendar_refuses_periods_of_another_length(hallmark: Hallmark) -> None:
    hallmark(*OPEN, "--series", "year")
    shown = hallmark("calendar", "show", EXAMPLE / "calendar.yaml")
    assert shown.code == 4
    assert "account 'monthly-people' keeps a series of years: " in shown.error
