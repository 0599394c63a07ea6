"""Withdrawals of published releases that somebody ordered at the desk, which has no key to sign.

A run that has the agency's key gives the notice. What it signs is the order's: it is given nothing
but the order's random number, which only the desk makes, so whoever can start runs on the server
can neither withdraw a release nor choose the words. Given twice, it is one notice.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from hallmark.schemas.section import Section
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.notes import note_about
from hallmark.tasks.installation.operator import Order, numbered, order_of
from hallmark.tasks.installation.signing import SigningError
from hallmark.tasks.installation.workspace import Workspace, whole
from hallmark.tasks.notices import NoticeRefused, checked_reason, withdraw_published
from hallmark.tasks.runs import status
from hallmark.tasks.verification.documents import Check, Unsound, read_manifest
from hallmark.tasks.verification.notices import notice_checks, own_keys

_ORDERED = "withdrawal-ordered.json"


class OrderedWithdrawal(Section):
    """Word that somebody ordered a published release to be withdrawn.

    Attributes:
        failed: why the run that was to do it could not; empty where none has failed.
    """

    release: str
    order: Order
    failed: str = ""


@contextmanager
def ordering_withdrawal(release: str, reason: str, by: str) -> Iterator[str]:
    """Write somebody's order to withdraw a release, whose number the run must name.

    The block starts the run. If it raises, no withdrawal is ordered.

    Raises:
        NoticeRefused: the reason is too short or too long.
    """
    reason = checked_reason(reason)
    order = Order(release=release, what="withdraw", by=by, at=datetime.now(UTC), reason=reason)
    workspace = Workspace.of(release)
    _keep(workspace, OrderedWithdrawal(release=release, order=order))
    try:
        yield numbered(order)
    except BaseException:
        (workspace.path / _ORDERED).unlink(missing_ok=True)
        raise


def withdraw_as_ordered(release: str, number: str) -> Path:
    """Withdraw a release as an order says; returns the notice's file.

    Raises:
        OrderRefused: there is no such order, or it is about another release, or something else.
        AlreadyRunning: another run of the release is under way.
        SafeError, SigningError, OSError: as of `notices.withdraw_published`; the page of the
            release says why.
    """
    order, workspace = order_of(number, release, "withdraw"), Workspace.of(release)
    try:
        with workspace.held():  # so that of two orders one writes the notice, and its page
            file = withdraw_published(_published_folder(release), reason=order.reason)
    except (SafeError, SigningError, OSError) as error:
        _keep(workspace, OrderedWithdrawal(release=release, order=order, failed=str(error)))
        raise
    (workspace.path / _ORDERED).unlink(missing_ok=True)
    return file


def ordered_withdrawal(release: str) -> OrderedWithdrawal | None:
    """The order to withdraw a release that was not carried out; None where there is none."""
    return note_about(OrderedWithdrawal, release, _ORDERED)


def said_of(folder: Path) -> list[Check]:
    """What notices beside the folder of an own release say; also of those that do not count."""
    with suppress(Unsound):
        manifest = read_manifest(folder)
        known = own_keys(manifest.public_key_fingerprint)
        return list(notice_checks(folder, manifest, [folder.parent], known))
    return []


def _published_folder(release: str) -> Path:
    """The folder in which a release was published.

    Raises:
        NoticeRefused: it was not.
    """
    run = status(release)
    if run is None or run.published is None or run.folder is None:
        raise NoticeRefused(f"{release} was not published, so there is nothing to withdraw")
    return Path(run.folder)


def _keep(workspace: Workspace, note: OrderedWithdrawal) -> None:
    with whole(workspace.path / _ORDERED) as draft:
        draft.touch(mode=0o600)
        draft.write_text(note.model_dump_json())
