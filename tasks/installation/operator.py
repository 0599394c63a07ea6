"""Who runs a release: a person who ordered it at the desk, else whoever the environment says.

The desk knows who is logged in. It writes an order, a file in the home folder that only the
installation's own processes can write, and the run that it starts is given the order's random
number. So nobody who can merely start runs on the server can claim to be somebody else. Until that
run begins, the order stands: a note in the release's workspace says so, whatever becomes of the
server's queue.
"""

import getpass
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, ValidationError

from hallmark.schemas.section import Section
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.notes import note_about, notes
from hallmark.tasks.installation.workspace import Workspace, home, private_folder, whole

OPERATOR_VARIABLE = "HALLMARK_OPERATOR"
_STANDING = "ordered.json"
_NUMBER = r"[0-9a-f]{32}"
_order: ContextVar[tuple[str, "Order"] | None] = ContextVar("order", default=None)


class OrderRefused(SafeError):
    """A run names an order that is not its own."""


What = Literal["run", "check", "withdraw"]
"""What is ordered: whoever may order the one need not be allowed the other."""


class Order(Section):
    """Somebody's order to run a release, to check its table, or to withdraw it."""

    release: str
    what: What = "run"
    by: str  # login at the desk
    at: AwareDatetime
    begins: AwareDatetime | None = None  # when its run is to begin; None: at once
    reason: str = ""  # of a withdrawal, as it is published


def operator() -> str:
    """Whose order the run under way carries out; without one `HALLMARK_OPERATOR`, else the account
    on this machine, neither of which is authenticated."""
    if (found := _order.get()) is not None:
        return found[1].by
    return os.environ.get(OPERATOR_VARIABLE) or getpass.getuser()


def order_number() -> str | None:
    """The number of the order that the run under way carries out."""
    found = _order.get()
    return None if found is None else found[0]


def numbered(order: Order) -> str:
    """Keep an order; returns the number by which a run names it."""
    number = secrets.token_hex(16)
    _write(order, _file(number))
    return number


@contextmanager
def ordering(release: str, by: str, begins: datetime | None = None) -> Iterator[str]:
    """Write somebody's order to run a release, whose number the run must name.

    The block starts the run. If it raises, the order does not stand.
    """
    order = Order(release=release, by=by, at=datetime.now(UTC), begins=begins)
    number = numbered(order)
    _write(order, Workspace.of(release).path / _STANDING)
    try:
        yield number
    except Exception:
        end_standing_order(release)
        raise


def standing_order(release: str) -> Order | None:
    """The last order to run a release, while no run of it has begun since."""
    return note_about(Order, release, _STANDING)


def standing_orders() -> dict[str, Order]:
    """All orders that stand, by the release that they are about."""
    return {order.release: order for order in notes(Order, _STANDING)}


def end_standing_order(release: str) -> None:
    """Note that a run has begun, or that none shall."""
    (Workspace.at(release).path / _STANDING).unlink(missing_ok=True)


@contextmanager
def ordered(number: str | None, release: str, what: What = "run") -> Iterator[None]:
    """Run on somebody's order, if there is one.

    Raises:
        OrderRefused: there is no such order, or it is about another release, or something else.
    """
    if number is None:
        yield
        return
    before = _order.set((number, order_of(number, release, what)))
    try:
        yield
    finally:
        _order.reset(before)


def order_of(number: str, release: str, what: What) -> Order:
    """The order of a number.

    Raises:
        OrderRefused: there is no such order, or it is about another release, or something else.
    """
    try:
        found = re.fullmatch(_NUMBER, number) and json.loads(_file(number).read_text())
        order = Order.model_validate(found)
    except (OSError, ValueError, ValidationError):
        raise OrderRefused(
            "order: there is no such order here; start the release at the desk, or without one"
        ) from None
    if order.release != release:
        raise OrderRefused(
            f"order: it is about release {order.release!r}, not {release!r}; order this one at the "
            "desk, or start it without an order"
        )
    if order.what != what:
        raise OrderRefused(f"order: it is one to {order.what} {release!r}, and no other")
    return order


def _write(order: Order, file: Path) -> None:
    with whole(file) as draft:
        draft.touch(mode=0o600)
        draft.write_text(order.model_dump_json())


def _file(number: str) -> Path:
    return private_folder(home() / "orders") / f"{number}.json"
