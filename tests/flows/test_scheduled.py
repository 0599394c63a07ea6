"""Recurring releases: a release and a budget in each period, whoever starts it."""

import getpass
import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from hallmark.mechanisms.privacy.account_filter import implied_budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.mechanisms.privacy.presence import Presence
from hallmark.schemas.documents.manifest import RECORD_FILE
from hallmark.schemas.loading import SpecError
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.planning.instances import due, instance
from hallmark.tasks.planning.places import tables_folder
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.recurring import scheduling
from hallmark.tasks.runs import status
from tests import example
from tests.flows.conftest import Hallmark, press_ctrl_c


@pytest.fixture
def calendar(home: Path, tmp_path: Path) -> Path:
    """A calendar of one monthly release of epsilon 1, of which a month may take just that."""
    folder = tmp_path / "agency"
    sections = example.only(folder, "age", "region")
    spec = example.write(folder, 400, release="acs-{period}", **sections)
    (folder / "calendar.yaml").write_text(
        "hallmark_calendar: 1\nreleases:\n  acs:\n"
        f"    spec: {spec.name}\n    period: month\n"
        '    cron: "0 2 1 * *"\n    budget: {epsilon: 1, delta: 1e-5}\n'
    )
    example.open_account()
    return folder / "calendar.yaml"


def run(hallmark: Hallmark, calendar: Path, period: str) -> tuple[int, str]:
    out = calendar.parent / "out"
    done = hallmark("calendar", "run", calendar, "acs", "--period", period, "--out", out)
    return done.code, done.out + done.err


def charged() -> list[str]:
    return sorted({str(charge.release) for charge in example.charges()})


def test_each_period_has_a_release_and_noise_of_its_own_and_is_left_alone_then(
    hallmark: Hallmark, calendar: Path
):
    for period in ("2026-10", "2026-11"):
        code, said = run(hallmark, calendar, period)
        assert code == 0, said
    assert charged() == ["acs-2026-10", "acs-2026-11"]
    files = [calendar.parent / "out" / name / "data.csv" for name in charged()]
    assert files[0].read_bytes() != files[1].read_bytes()
    assert hallmark("verify", files[0].parent).code == 0

    before = Ledger(ledger_url()).entries("test-people")
    code, said = run(hallmark, calendar, "2026-11")
    assert code == 0
    assert "published before" in said
    assert Ledger(ledger_url()).entries("test-people") == before


def test_a_schedule_and_an_operator_do_no_double_run(hallmark: Hallmark, calendar: Path):
    with Workspace.of("acs-2026-11").held():  # the other's run
        code, said = run(hallmark, calendar, "2026-11")
    assert code == 0
    assert "Another run of this release is in progress" in said
    assert charged() == []


def test_a_period_never_takes_more_than_its_budget(hallmark: Hallmark, calendar: Path):
    text = calendar.read_text()
    calendar.write_text(text.replace("epsilon: 1,", "epsilon: 1/3,"))
    code, said = run(hallmark, calendar, "2026-11")
    assert code == 4
    assert "'acs 2026-11' allows epsilon 1/3" in said
    assert charged() == []


@pytest.fixture
def series(home: Path, tmp_path: Path) -> Path:
    """A calendar of a monthly series that learns; each month's table has its own file."""
    folder = tmp_path / "series"
    few = example.some_columns("age", "region")
    few["data"]["source"] = "people-{period}.csv"
    period = {"period": "{period}", "learn": True}
    spec = example.write(
        folder, 400, release="acs-{period}", series=period, mechanism={"name": "mst"}, **few
    )
    (folder / "table.csv").rename(folder / "people-2026-10.csv")
    (folder / "calendar.yaml").write_text(
        "hallmark_calendar: 1\nreleases:\n  acs:\n"
        f"    spec: {spec.name}\n    period: month\n    lag: 1\n"
        '    cron: "0 2 1 * *"\n    budget: {epsilon: 1, delta: 1e-5}\n'
    )
    cap, delta = Fraction(1, 10), Fraction(1, 10**5)
    presence = Presence(length="month", most=1)
    example.open_account(
        cap=implied_budget(cap, delta), rho_cap=cap, composition="zcdp", presence=presence
    )
    return folder / "calendar.yaml"


def test_a_month_whose_file_is_late_takes_nothing_and_is_made_once_it_is_there(
    hallmark: Hallmark, series: Path
):
    code, said = run(hallmark, series, "2026-10")
    assert code == 0, said
    code, said = run(hallmark, series, "2026-11")
    assert code == 3
    assert "data.source: nothing is at " in said
    assert "people-2026-11.csv; fix the path" in said
    state = Ledger(ledger_url()).account("test-people")
    assert not any(state.reserved)
    assert [month for month, rho in state.by_period.items() if rho] == ["2026-10"]
    example.table(400, 8).to_csv(series.parent / "people-2026-11.csv", index=False, na_rep="NA")
    code, said = run(hallmark, series, "2026-11")
    assert code == 0, said
    state = Ledger(ledger_url()).account("test-people")
    assert state.by_period["2026-11"] == state.by_period["2026-10"] > 0
    assert charged() == ["acs-2026-10", "acs-2026-11"]
    record = json.loads((series.parent / "out" / "acs-2026-11" / RECORD_FILE).read_bytes())
    steps = [one["step"] for one in record["post_processing"]["steps"]]
    assert any(step.endswith(": acs-2026-10") for step in steps)


def test_the_present_releases_of_a_calendar_are_shown(hallmark: Hallmark, calendar: Path):
    shown = hallmark("calendar", "show", calendar)
    assert shown.code == 0
    assert "acs-20" in shown.out


@pytest.mark.parametrize(
    ("entry", "period", "message"),
    [
        ("other", "2026-11", "releases has no entry 'other'; there are acs"),
        ("acs", "November", "period 'November' is not a month; write it like 2026-11"),
    ],
)
def test_wrong_words_are_refused(
    entry: str, period: str, message: str, hallmark: Hallmark, calendar: Path
):
    done = hallmark("calendar", "run", calendar, entry, "--period", period)
    assert done.code == 2
    assert message in done.error


def test_a_spec_without_its_period_is_refused(hallmark: Hallmark, calendar: Path):
    spec = calendar.parent / "spec.yaml"
    content = YAML().load(spec)
    content["release"] = "acs"
    with spec.open("w") as handle:
        YAML().dump(content, handle)
    done = hallmark("calendar", "show", calendar)
    assert done.code == 2
    assert "release: must hold {period}" in done.error


def test_an_embargo_of_the_calendar_becomes_the_release_s_own(hallmark: Hallmark, calendar: Path):
    text = calendar.read_text()
    calendar.write_text(text + "    embargo: {days: 3, at: '09:00'}\n")
    code, said = run(hallmark, calendar, "2026-11")
    assert code == 7
    assert "may be published from" in said
    instance = prepare(Path(calendar.parent.parent / "home/calendar/acs/2026-11.yaml"))
    assert instance.spec.embargo is not None
    assert instance.spec.embargo.strftime("%H:%M") == "09:00"


def test_neither_a_look_nor_a_later_run_puts_the_publication_off(
    hallmark: Hallmark, calendar: Path, home: Path
):
    calendar.write_text(calendar.read_text() + "    embargo: {days: 3, at: '09:00'}\n")
    early = datetime(2026, 11, 1, 2, tzinfo=UTC)
    kept = home / "calendar" / "acs" / "2026-11.yaml"
    first = instance(calendar, "acs", early).prepared.spec
    assert first.embargo == datetime(2026, 11, 4, 9, tzinfo=UTC)
    before = kept.read_bytes()
    later = early + timedelta(days=20)
    assert due(calendar, "acs", later).prepared.spec == first
    assert hallmark("calendar", "show", calendar).code == 0
    assert kept.read_bytes() == before
    assert instance(calendar, "acs", later, "2026-11").prepared.spec == first
    calendar.write_text(calendar.read_text().replace("days: 3", "days: 5"))
    changed = instance(calendar, "acs", later).prepared.spec.embargo
    assert changed == datetime(2026, 11, 6, 9, tzinfo=UTC)
    other = due(calendar, "acs", later, "2026-12").prepared.spec.embargo
    assert other == datetime(2026, 11, 26, 9, tzinfo=UTC)


def test_a_wrong_spec_is_named_by_its_own_file(calendar: Path):
    spec = calendar.parent / "spec.yaml"
    spec.write_text(spec.read_text().replace("name: pmm", "name: pnm"))
    with pytest.raises(SpecError, match=rf"{spec}:\d+: mechanism.name"):
        due(calendar, "acs", datetime.now(UTC))


def test_what_was_scheduled_at_the_desk_runs_on_the_tables_there(
    hallmark: Hallmark, calendar: Path, home: Path
):
    """Here on the order of whoever types the command; of whoever scheduled it in server mode."""
    spec = calendar.parent / "spec.yaml"
    content = YAML().load(spec)
    content["data"]["source"] = "of-{period}.csv"
    with spec.open("w") as handle:
        YAML().dump(content, handle)
    (calendar.parent / "table.csv").rename(tables_folder() / "of-2026-11.csv")
    entry = {"period": "month", "cron": "0 2 1 * *", "budget": {"epsilon": "1", "delta": "1e-5"}}
    with scheduling("acs", spec.read_text(), entry, "ada") as ours:
        pass
    code, said = run(hallmark, ours, "2026-11")
    assert code == 0, said
    known = status("acs-2026-11")
    assert known is not None
    assert (known.by, known.how) == (getpass.getuser(), "published")


def test_a_run_stopped_by_ctrl_c_says_how_to_go_on(
    hallmark: Hallmark, calendar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hallmark.flows.scheduled.calendar_release", press_ctrl_c)
    code, said = run(hallmark, calendar, "2026-11")
    assert (code, "run it again to continue" in said) == (130, True), said
