"""An entry of the calendar as a document that two people change.

Its text has what the entry says, one key a line, and below a line of three dashes the spec as it
was when the entry was proposed: whoever approves it sees both, and what is scheduled is what was
approved. An entry that is approved runs under the name of the person who proposed it.
"""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hallmark.flows import engine
from hallmark.flows.deployments import deploy_calendar, take_off
from hallmark.flows.desk.specs import looked_at
from hallmark.schemas.loading import SpecError, load_calendar
from hallmark.schemas.yaml_document import read_document, read_text
from hallmark.tasks.governance import PROFILE, ChangeRefused, Document
from hallmark.tasks.installation.places import out_folder
from hallmark.tasks.installation.workspace import home, private_folder
from hallmark.tasks.people.rights import Right
from hallmark.tasks.planning.recurring import recurring_calendar, scheduling
from hallmark.tasks.profile_changes import ProfileText

_KIND = "calendar/"
_SPEC = "---\n"  # stands between the entry and its spec
_PLACEHOLDER = "spec.yaml"


class ScheduleText:
    """The entry of the calendar that is called as its spec."""

    needed = Right.SCHEDULE

    def __init__(self, entry: str) -> None:
        self.entry = entry

    @property
    def name(self) -> str:
        """As proposals and the log have it, such as calendar/visits."""
        return _KIND + self.entry

    @property
    def title(self) -> str:
        """As a sentence has it, such as the entry visits of the calendar."""
        return f"the entry {self.entry} of the calendar"

    def current(self) -> str:
        """The entry with its spec as they are in force; empty where there is none."""
        calendar = recurring_calendar(self.entry)
        if not calendar.exists():
            return ""
        said = dict(read_document(calendar).content["releases"][self.entry])
        spec = calendar.parent / said.pop("spec")
        return written(said, spec.read_text(encoding="utf-8"))

    def refuse_unsound(self, text: str) -> None:
        """Refuse what the calendar cannot hold, and a spec that could not be released.

        Raises:
            SafeError: says why, and by the keys of the entry.
        """
        if text:
            self._refuse_wrong(text)
        for one in engine.calendar():
            if one.name == self.entry and Path(one.calendar) != recurring_calendar(self.entry):
                raise ChangeRefused(
                    f"the calendar {one.calendar} has an entry {self.entry!r} already; give the "
                    "spec another name, or take that entry out"
                )

    def _refuse_wrong(self, text: str) -> None:
        entry, spec = _read(text)
        entries = {self.entry: {"spec": _PLACEHOLDER, **entry}}
        with tempfile.TemporaryDirectory(dir=private_folder(home() / "tmp")) as folder:
            draft = Path(folder) / "calendar.yaml"
            draft.write_text(json.dumps({"hallmark_calendar": 1, "releases": entries}))
            try:
                load_calendar(draft)
            except SpecError as error:
                at = {tuple(map(str, one.path[2:])): one.what for one in error.found}
                lines = [f"{'.'.join(keys)}: {what}" for keys, what in at.items()]
                raise ChangeRefused("\n".join(lines), at) from None
        looked_at(self.entry, spec)

    def put(self, text: str, *, by: str) -> None:
        """Schedule the entry with the orchestrator, or take it off.

        Raises:
            SafeError: the orchestrator does not answer; the entry is as it was.
        """
        if text:
            entry, spec = _read(text)
            with scheduling(self.entry, spec, entry, by) as calendar, engine.answering():
                deploy_calendar(calendar, out_folder(None))
        else:
            calendar = recurring_calendar(self.entry)
            with engine.answering():
                take_off(calendar)
                calendar.unlink(missing_ok=True)


def written(entry: Mapping[str, Any], spec: str) -> str:
    """The text of an entry, without the name of its spec, and of that spec."""
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in entry.items()]
    return "".join(lines) + _SPEC + spec


def document(name: str) -> Document:
    """The document that two people change under a name."""
    return ProfileText() if name == PROFILE else ScheduleText(name.removeprefix(_KIND))


def is_schedule(name: str) -> bool:
    """Whether a document of this name is an entry of the calendar."""
    return name.startswith(_KIND)


def _read(text: str) -> tuple[dict[str, Any], str]:
    said, _, spec = text.partition(_SPEC)
    return read_text(said)[0].content, spec
