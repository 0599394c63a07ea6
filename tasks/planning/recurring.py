"""Releases that recur because somebody scheduled them at the desk.

Each is a calendar of one entry in a folder of the home. Beside it, under one random name for each
time that it was scheduled, lie the spec as it was then and the order of the person who scheduled
it. The calendar names the spec, so both change in one step, and a run never reads parts of two
versions. Nobody can edit these files at the desk: people who write specs may not be allowed to run
them.
"""

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hallmark.schemas.loading import SpecError, load_calendar
from hallmark.schemas.templates import PERIOD_MARK
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.operator import Order
from hallmark.tasks.installation.workspace import private_folder, whole
from hallmark.tasks.planning.places import recurring_folder, specs_folder, tables_folder

_CALENDAR = "calendar.yaml"


def is_template(spec: Path) -> bool:
    """Whether a spec of the desk is about periods, so that it is released by a schedule only."""
    try:
        return PERIOD_MARK in spec.read_text(encoding="utf-8")
    except FileNotFoundError:  # somebody has just removed it
        return False


def templates() -> list[str]:
    """Names of the specs of the desk that can recur."""
    return sorted(spec.stem for spec in specs_folder().glob("*.yaml") if is_template(spec))


def recurring_calendar(name: str) -> Path:
    """The calendar of the spec `name`; it need not exist."""
    return recurring_folder() / name / _CALENDAR


def recurring_calendars() -> list[Path]:
    """The calendars of everything that recurs."""
    return sorted(recurring_folder().glob(f"*/{_CALENDAR}"))


def sources_folder(calendar: Path, template: Path) -> Path:
    """Where relative sources of a calendar's spec start."""
    return tables_folder() if _is_ours(calendar) else template.parent


def scheduled_by(calendar: Path, name: str) -> str | None:
    """The login of the person who scheduled an entry at the desk; None if nobody did."""
    if not _is_ours(calendar):
        return None
    spec = calendar.parent / load_calendar(calendar).releases[name].spec
    return Order.model_validate_json(spec.with_suffix(".json").read_bytes()).by


@contextmanager
def scheduling(name: str, text: str, entry: Mapping[str, Any], by: str) -> Iterator[Path]:
    """Keep a template and the schedule of its releases; gives the calendar.

    The block registers it. If it raises, the earlier calendar, if any, is there again.

    Args:
        name: of the template, and of the entry.
        text: the template.
        entry: as in a calendar, without its spec.
        by: login of the person who schedules it.
    Raises:
        SafeError: the entry is wrong; nothing has changed.
    """
    calendar, version = recurring_calendar(name), secrets.token_hex(8)
    folder = private_folder(calendar.parent)
    order = Order(release=f"{name}-{PERIOD_MARK}", by=by, at=datetime.now(UTC))
    for file, content in (
        (f"{version}.yaml", text),
        (f"{version}.json", order.model_dump_json()),
    ):
        (folder / file).write_text(content, encoding="utf-8")
    entries = {name: {"spec": f"{version}.yaml", **entry}}
    before = calendar.read_bytes() if calendar.exists() else None
    with whole(calendar) as draft:
        draft.write_text(json.dumps({"hallmark_calendar": 1, "releases": entries}, indent=2))
        _refuse_wrong(draft)
    try:
        yield calendar
    except BaseException:
        if before is None:
            calendar.unlink()
        else:
            with whole(calendar) as draft:
                draft.write_bytes(before)
        raise


def _refuse_wrong(calendar: Path) -> None:
    try:
        load_calendar(calendar)
    except SpecError as error:
        lines = [re.sub(r"^.*?:\d+: (releases\.[^.]+\.)?", "", line) for line in error.problems]
        raise SafeError("\n".join(lines)) from None


def _is_ours(calendar: Path) -> bool:
    return calendar.parent.parent == recurring_folder()
