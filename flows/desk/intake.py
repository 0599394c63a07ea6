"""How much may be sent to each route of the desk, and where a file may be.

It is checked twice: by the length that a request states, before a byte of it is read, and by what
comes. A form with files (multipart) is taken only where a route is made for one: its files are put
on the disk while it is read, before anybody looks at them, and so before its secret is checked.
"""

import tempfile
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from starlette.datastructures import FormData, Headers
from starlette.types import Message, Receive, Scope

from hallmark.tasks.installation.disk import UPLOAD, DiskFull, allowed, refuse_full, size_in_words
from hallmark.tasks.installation.errors import SafeError

Route = tuple[str, str]
"""Method and path, as in `routes.NEEDED`."""


async def _sent(request: Request) -> FormData:
    return await request.form()


Sent = Annotated[FormData, Depends(_sent)]
"""A form whose fields depend on what it is about."""

FORM = 64 * 1024
"""Bytes of a form: a comment of 5,000 characters, each of twelve bytes, fits."""
TEXT = 1024 * 1024
"""Bytes of a spec, or of anything else in JSON; a form's parser takes no longer field either."""

_TABLES = {("POST", "/tables"), ("POST", "/tables/{kind}/{name}/replace")}
_WITH_FILES = {("POST", "/specs"), *_TABLES}
_TEXTS = {
    ("POST", "/decisions"),
    ("POST", "/specs"),
    ("POST", "/specs/{name}"),
    ("POST", "/specs/{name}/about"),
    ("POST", "/specs/{name}/columns"),
    ("POST", "/specs/{name}/columns/type"),
    ("POST", "/specs/{name}/mechanism"),
    ("POST", "/specs/{name}/mechanism/name"),
    ("POST", "/specs/{name}/questions"),
    ("POST", "/specs/check"),
    ("POST", "/specs/plan"),
    ("POST", "/specs/alternative"),
    ("POST", "/specs/frontier"),
}
_COPIES = 2  # of a table on the disk, while it is taken out of its form


@dataclass(frozen=True)
class _Intake:
    """What a route takes: bytes of a body, forms with files, and what may fill a disk."""

    most: int
    with_files: bool = False
    fills_disk: bool = False

    def refuse(self, number: int, *, copies: int = 0) -> None:
        """Refuse a body of so many bytes.

        Args:
            copies: how often they are still to be written to the disk.
        Raises:
            HTTPException: 413, or 507 where too little of the disk would be left.
        """
        if number > self.most:
            mend = f" ({UPLOAD}); larger tables belong into the folder HALLMARK_DATA"
            says = f"this is too large: at most {size_in_words(self.most)} are taken here"
            raise HTTPException(413, says + mend * self.fills_disk)
        if self.fills_disk:
            try:
                refuse_full(tempfile.gettempdir(), copies * number)
            except DiskFull as full:
                raise HTTPException(507, str(full)) from None


def taken(route: Route | None, scope: Scope, receive: Receive) -> Receive:
    """A `receive` that ends a request, whatever its headers say, as soon as it is too long.

    Starlette then removes the files that it began to write, as where the sender is cut off.

    Raises:
        HTTPException: the headers say that it is not to be taken: 413 for too many bytes, 415 for a
            form with files, 507 for a full disk. 503 where a setting is wrong.
    """
    try:
        intake, headers, number = _intake_of(route), Headers(scope=scope), 0
        is_multipart = "multipart" in headers.get("Content-Type", "").lower()
        if is_multipart and not intake.with_files and scope["method"] == "POST":
            says = "no files are taken here; send the form as application/x-www-form-urlencoded"
            raise HTTPException(415, says)
        stated = headers.get("Content-Length", "0")
        intake.refuse(int(stated) if stated.isdecimal() else 0, copies=_COPIES)
    except SafeError as error:
        raise HTTPException(503, str(error)) from None

    async def counting() -> Message:
        nonlocal number
        message = await receive()
        if message["type"] == "http.request":
            number += len(message.get("body", b""))
            intake.refuse(number)
        return message

    return counting


def _intake_of(route: Route | None) -> _Intake:
    if route in _TABLES:
        return _Intake(allowed(UPLOAD) + FORM, with_files=True, fills_disk=True)
    return _Intake(TEXT if route in _TEXTS else FORM, with_files=route in _WITH_FILES)
