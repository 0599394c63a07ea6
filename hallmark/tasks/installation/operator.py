"""Who runs a release: a person who ordered it at the desk, else whoever the environment says.

The desk knows who is logged in. It writes an order, a file in the home folder that only the
installation's own processes can write, and the run that it starts is given the order's random
number. So nobody who can merely start runs on the server can claim to be somebody else.
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

from pydantic import AwareDatetime, ValidationError

from hallmark.schemas.section import Section
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import home, private_folder, whole

OPERATOR_VARIABLE = "HALLMARK_OPERATOR"
_NUMBER = r"[0-9a-f]{32}"
_order: ContextVar[tuple[str, "Order"] | None] = ContextVar("order", default=None)


class OrderRefused(SafeError):
    """A run names an order that is not its own."""


class Order(Section):
    """Somebody's order to run a release."""

    release: str
    by: str  # login at the desk
    at: AwareDatetime


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


def give_order(release: str, by: str) -> str:
    """Write somebody's order to run a release; returns its number, which the run must name."""
    number = secrets.token_hex(16)
    order = Order(release=release, by=by, at=datetime.now(UTC))
    with whole(_file(number)) as draft:
        draft.touch(mode=0o600)
        draft.write_text(order.model_dump_json())
    return number


@contextmanager
def ordered(number: str | None, release: str) -> Iterator[None]:
    """Run on somebody's order, if there is one.

    Raises:
        OrderRefused: there is no such order, or it is about another release.
    """
    if number is None:
        yield
        return
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
    before = _order.set((number, order))
    try:
        yield
    finally:
        _order.reset(before)


def _file(number: str) -> Path:
    return private_folder(home() / "orders") / f"{number}.json"
