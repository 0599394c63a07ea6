"""What changed since people last decided: against the last opening of the gate, and against the
last published release of the series.

Whoever decides sees which lines of the spec differ, not only that something does.
"""

import difflib
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.documents.manifest import SPEC_FILE
from hallmark.tasks.gates.gate_history import History, changed
from hallmark.tasks.gates.waiting import shown_folder
from hallmark.tasks.runs import RunStatus, statuses

_CONTEXT = 2  # lines around each that differs


@dataclass(frozen=True)
class Comparison:
    """What differs from something that people saw before.

    Attributes:
        with_what: what it is compared with, in words.
        names: what was seen and is another now; None where single lines are compared.
        lines: of the spec that differ and those around them, with -, + or a space before each.
    """

    with_what: str
    names: tuple[str, ...] | None = None
    lines: tuple[str, ...] = ()


def compared(waiting: Waiting, history: History) -> list[Comparison]:
    """With what the same gate was opened for before, and with the last release of the series."""
    found = []
    here = [one.opening for one in history.rounds if one.opening.gate == waiting.gate]
    if len(here) > 1:
        names = tuple(changed(here[-2].seen, here[-1].seen))
        found.append(Comparison(f"what was shown from {here[-2].opened:%Y-%m-%d %H:%M} UTC", names))
    before = _last_of_series(waiting.release)
    if before is not None and before.folder is not None:
        with suppress(OSError):  # a folder may be moved at any time
            old = (Path(before.folder) / SPEC_FILE).read_text(encoding="utf-8").splitlines()
            new = (shown_folder(waiting) / SPEC_FILE).read_text(encoding="utf-8").splitlines()
            lines = tuple(_differing(old, new))
            found.append(
                Comparison(f"the spec of {before.release}, last in the series", None, lines)
            )
    return found


def _last_of_series(release: str) -> RunStatus | None:
    """The release that was published last of those whose names differ in numbers alone."""
    others = statuses(lambda name: name != release and _series(name) == _series(release))
    series = [one for one in others if one.published is not None and not one.lost]
    return max(series, key=lambda one: str(one.published), default=None)


def _series(release: str) -> str:
    return re.sub(r"\d+", "#", release)


def _differing(old: list[str], new: list[str]) -> Iterable[str]:
    for line in difflib.unified_diff(old, new, n=_CONTEXT, lineterm=""):
        if not line.startswith(("---", "+++")):
            yield "…" if line.startswith("@@") else line
