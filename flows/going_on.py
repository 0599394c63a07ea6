"""Continue waiting releases: at once after the last decision, others by a regular sweep.

A release continues by being run again, which checks its gates again, so starting one too early or
twice changes nothing.
"""

from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256

from prefect import flow, get_run_logger

from hallmark.flows.engine import CERTIFY, RELEASE, EngineMissing, has_server, start
from hallmark.schemas.documents.approvals import Waiting
from hallmark.tasks.gates.waiting import may_go_on, waiting_releases
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger.anchors import open_ledger


@flow(name="go-on")
def go_on_where_possible() -> list[str]:
    """Start a run of every release whose gate can be passed or whose embargo has ended."""
    book, known = open_ledger(ledger_url()), profile()
    started = []
    for waiting in waiting_releases():
        if may_go_on(waiting, book, known):
            if (run := go_on(waiting)) is None:
                continue
            get_run_logger().info("release %s continues: run %s", waiting.release, run)
            started.append(waiting.release)
    return started


def go_on(waiting: Waiting) -> str | None:
    """Start a run of the release on the server; returns its name.

    None if there is no server, or it does not answer: what was decided stands all the same, and the
    regular sweep starts the run later.

    Two calls within an hour for the same stop at the same gate start one run; a later call starts
    another, since the first run may have failed early.
    """
    if not has_server():
        return None
    stop = f"{waiting.model_dump_json()} {datetime.now(UTC):%Y-%m-%dT%H}"
    with suppress(EngineMissing):
        return start(
            RELEASE if waiting.file is None else CERTIFY,
            {
                "spec": waiting.spec,
                "out": waiting.out,
                "resume": True,
                "folder": waiting.folder,
                "order": waiting.order,
            }
            | ({} if waiting.file is None else {"file": waiting.file}),
            release=waiting.release,
            key=sha256(stop.encode()).hexdigest(),
        )
    return None
