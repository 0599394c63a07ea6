"""All runs of a release, as the log tells: what each did, when, and how it ended.

The log knows every run that may draw, whoever started it and where, and each time that one was
resumed; of rehearsals and checks of a table the orchestrator alone knows. It forgets the oldest
(`tasks.installation.log`).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hallmark.tasks.installation.log import KEPT, log_file

MOST_RUNS = 50  # of a release that are told
_AT_ONCE = 1_000  # lines of a run that are read


@dataclass(frozen=True)
class LogLine:
    """One event of a run.

    Attributes:
        words: what happened. A stage is part of it, so it is for people who write specs or run
            releases.
    """

    at: datetime
    words: str


@dataclass(frozen=True)
class LoggedRun:
    """One run of a release.

    Attributes:
        flow_run: its number, which the orchestrator knows too.
        flow: that was run, as `kind_of` has words for.
        how: how it ended; empty while it is under way, or where its process was killed.
        seconds: that it took, where it ended.
    """

    flow_run: str
    flow: str
    began: datetime
    how: str
    seconds: int | None
    lines: tuple[LogLine, ...]


def logged_runs(release: str) -> list[LoggedRun]:
    """The latest runs of a release, the newest first."""
    texts = list(_texts())
    events: dict[str, list[Mapping[str, Any]]] = {}
    for event in _events(texts, "release", release):
        events.setdefault(event.get("flow_run", ""), []).append(event)
    latest = [number for number in reversed(events) if number][:MOST_RUNS]
    # Which release a run is about is not known when it starts.
    begun = {
        number: next(_events(texts, "flow_run", number, event="run-started"), None)
        for number in latest
    }
    return [_run(number, begun[number], events[number]) for number in latest]


def kind_of(flow: str) -> str:
    """What a run of a flow is, in words."""
    return _KINDS.get(flow, "a run")


def last_run(release: str) -> LoggedRun | None:
    """The last run of a release, as far as the newest file of the log tells; None where not."""
    text = _content(log_file())
    events = list(_events([text], "release", release))
    number = events[-1].get("flow_run", "") if events else ""
    if not number:
        return None
    begun = next(_events([text], "flow_run", number, event="run-started"), None)
    return _run(number, begun, [one for one in events if one.get("flow_run") == number])


def _texts() -> Iterator[bytes]:
    """The files of the log, the oldest first."""
    newest = log_file()
    for number in range(KEPT - 1, -1, -1):
        yield _content(newest.with_name(f"{newest.name}.{number}") if number else newest)


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def _events(
    texts: list[bytes], name: str, value: str, event: str | None = None
) -> Iterator[Mapping[str, Any]]:
    """The lines in which a field has a value; without parsing the others."""
    sought = json.dumps({name: value})[1:-1].encode()
    for text in texts:
        at = text.find(sought)
        while at >= 0:
            end = text.find(b"\n", at)
            if end < 0:
                break  # it is being written
            said = json.loads(text[text.rfind(b"\n", 0, at) + 1 : end])
            if said.get(name) == value and event in (None, said["event"]):
                yield said
            at = text.find(sought, end)


def _run(
    number: str, begun: Mapping[str, Any] | None, events: list[Mapping[str, Any]]
) -> LoggedRun:
    ended = next((one for one in events if one["event"] == "run-ended"), None)
    return LoggedRun(
        flow_run=number,
        flow="" if begun is None else str(begun.get("flow", "")),
        began=_time(begun or events[0]),
        how="" if ended is None else _HOW[ended["how"]],
        seconds=None if ended is None else ended["seconds"],
        lines=tuple(
            LogLine(_time(one), words) for one in events[-_AT_ONCE:] if (words := _words(one))
        ),
    )


def _time(event: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(event["time"])


_KINDS = {
    "release": "a release",
    "release-form": "a release, by a form",
    "calendar-release": "a release of the calendar",
    "certify": "a certificate",
    "rehearsal": "a rehearsal",
    "validation": "a check of the table",
    "withdrawal": "a withdrawal",
}
_HOW = {
    "published": "published",
    "waiting": "waits",
    "left-alone": "nothing left to do",
    "failed": "failed",
    "stopped": "stopped",
}


def _words(event: Mapping[str, Any]) -> str:
    match event["event"]:
        case "stage-begun":
            return f"{event['stage']} began"
        case "stage-ended":
            return f"{event['stage']} ended after {event['seconds']} s"
        case "reserved":
            return (
                f"reserved ε {event['epsilon']}, δ {event['delta']} of account {event['account']}"
            )
        case "charged-twice":
            return f"the table is charged to other accounts too: {', '.join(event['accounts'])}"
        case "gate-waiting":
            return f"came to the {event['gate']} gate, which needs: {', '.join(event['required'])}"
        case "gate-passed":
            return f"passed the {event['gate']} gate"
        case "gate-rejected":
            return f"was rejected at the {event['gate']} gate"
        case "published":
            return f"published in {event['folder']}"
        case "failed":
            return f"failed: {event.get('message') or event.get('error') or 'see its page'}"
        case "run-ended":
            return f"the run ended: {_HOW[event['how']]}"
    return ""
