"""The ends of runs, which the dashboard shows: published, or waiting for people or a time."""

import os
from typing import Any

from prefect.artifacts import create_markdown_artifact
from prefect.states import Completed

from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.documents.series_plan import SERIES_PLAN
from hallmark.tasks.installation.server_mode import DESK_URL
from hallmark.tasks.publish import Published
from hallmark.tasks.rendering.markdown import plain, table
from hallmark.tasks.runs import came_to

Ending = Any
"""`Published | Waiting`, which Prefect unwraps from the state that a flow returns."""


def ended(outcome: Published | Waiting) -> Ending:
    """The final state of a run: a success, or a state whose name says what it is waiting for."""
    came_to(outcome)
    if isinstance(outcome, Published):
        return outcome
    create_markdown_artifact(
        key=f"waiting-{outcome.release}",
        markdown=_way_on(outcome),
        description=in_words(outcome),
    )
    return Completed(name=_NAMES[outcome.gate], message=in_words(outcome), data=outcome)


_NAMES = {"plan": "AwaitingApproval", "disclosure": "AwaitingApproval", "embargo": "Embargoed"}


def in_words(waiting: Waiting) -> str:
    """A sentence about what a run is waiting for."""
    if waiting.gate == "embargo":
        assert waiting.until is not None, "an embargo has an end"
        return f"release {waiting.release} is complete and may be published from {waiting.until}"
    what = "its plan" if waiting.gate == "plan" else "the finished release"
    required = ", ".join(waiting.required)
    differs = "".join(f"; {reason}" for reason in waiting.differs)
    if waiting.gate == "plan" and SERIES_PLAN in waiting.seen:
        what += " and that of the series"
    return f"release {waiting.release} is waiting for {required} to approve {what}{differs}"


def _way_on(waiting: Waiting) -> str:
    """Text for the dashboard: what is awaited, where to decide, and what a decision is about."""
    lines = [f"# {plain(waiting.title)}", "", f"{in_words(waiting)}.", ""]
    if waiting.gate != "embargo":
        desk = os.environ.get(DESK_URL)
        if desk:
            lines += [f"[Look at it and decide]({desk}/releases/{waiting.release})", ""]
        lines += ["On the command line: `hallmark waiting`, then `hallmark approve`.", ""]
        lines += table(("What the decision is about", "SHA-256"), waiting.seen.items())
    for gap in waiting.blocking:
        lines += ["", f"- not recorded: {plain(gap)}"]
    return "\n".join(lines) + "\n"
