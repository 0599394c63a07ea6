"""What was scheduled at the desk: versions that belong together, and who scheduled each."""

import json
from pathlib import Path

import pytest

from hallmark.schemas.loading import load_calendar
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.planning.places import specs_folder, tables_folder
from hallmark.tasks.planning.recurring import (
    is_template,
    recurring_calendar,
    recurring_calendars,
    scheduled_by,
    scheduling,
    sources_folder,
    templates,
)

ENTRY = {"period": "month", "cron": "0 2 1 * *", "budget": {"epsilon": "1/2", "delta": "1e-6"}}


def scheduled(text: str, by: str) -> Path:
    with scheduling("visits", text, ENTRY, by) as calendar:
        return calendar


def spec_of(calendar: Path) -> str:
    return (calendar.parent / load_calendar(calendar).releases["visits"].spec).read_text()


def test_a_calendar_names_the_spec_and_the_person_of_one_version(home: Path):
    calendar = scheduled("first", "ada")
    assert recurring_calendars() == [calendar] == [recurring_calendar("visits")]
    assert (spec_of(calendar), scheduled_by(calendar, "visits")) == ("first", "ada")
    before = calendar.read_text()
    scheduled("second", "bo")
    assert (spec_of(calendar), scheduled_by(calendar, "visits")) == ("second", "bo")
    calendar.write_text(before)  # as a run sees it that has just begun to read
    assert (spec_of(calendar), scheduled_by(calendar, "visits")) == ("first", "ada")


def test_a_schedule_that_the_server_does_not_take_is_none(home: Path):
    with pytest.raises(RuntimeError), scheduling("visits", "first", ENTRY, "ada"):
        raise RuntimeError
    assert recurring_calendars() == []
    calendar = scheduled("second", "ada")
    with pytest.raises(RuntimeError), scheduling("visits", "third", ENTRY, "bo"):
        raise RuntimeError
    assert (spec_of(calendar), scheduled_by(calendar, "visits")) == ("second", "ada")


def test_what_is_wrong_is_said_without_the_places_of_the_installation(home: Path):
    calendar = scheduled("first", "ada")
    wrong = ENTRY | {"timezone": "Berlin", "budget": {"epsilon": "-1"}}
    with pytest.raises(SafeError) as refused, scheduling("visits", "second", wrong, "bo"):
        pass
    assert sorted(str(refused.value).splitlines()) == [
        "budget.epsilon: is -1; give a number above 0",
        "timezone: is 'Berlin', which is not a time zone; give one such as UTC",
    ]
    assert spec_of(calendar) == "first"


def test_other_calendars_are_nobody_s_and_their_sources_start_at_their_spec(
    home: Path, tmp_path: Path
):
    other = tmp_path / "agency" / "calendar.yaml"
    other.parent.mkdir()
    entries = {"visits": {"spec": "specs/visits.yaml", **ENTRY}}
    other.write_text(json.dumps({"hallmark_calendar": 1, "releases": entries}))
    template = other.parent / "specs" / "visits.yaml"
    assert scheduled_by(other, "visits") is None
    assert sources_folder(other, template) == template.parent
    calendar = scheduled("first", "ada")
    assert sources_folder(calendar, calendar.parent / "any.yaml") == tables_folder()


def test_a_template_names_its_period(home: Path):
    for name, text in (("visits", "release: visits-{period}\n"), ("once", "release: once\n")):
        (specs_folder() / f"{name}.yaml").write_text(text)
    assert templates() == ["visits"]
    assert not is_template(specs_folder() / "removed-meanwhile.yaml")
