"""This installation's register of keys, which is added to and tightened, and never rewritten."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from hallmark.schemas.documents.agency_keys import (
    AgencyKeys,
    PersonsKey,
    RegisteredKey,
    Revocation,
    RevocationReason,
)
from hallmark.schemas.documents.approver_keys import approver_key
from hallmark.schemas.given_files import MOST_DOCUMENT, bytes_of
from hallmark.schemas.section import Section
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import home, home_place, whole

KEYS_FILE = "agency-keys.json"
S = TypeVar("S", bound=Section)
_LEAST_CHARACTERS = 8  # of a fingerprint that names a key


class RegisterRefused(SafeError):
    """The register cannot be read, or does not take what it is asked to; it stays as it is."""


def register_file() -> Path:
    """The path of this installation's register, which may not exist."""
    return home_place() / KEYS_FILE  # not made by whoever only reads


def key_register(path: Path | None = None) -> AgencyKeys:
    """The register in a file, else in the home folder; empty where the home has none.

    Raises:
        RegisterRefused: the file holds something else. Nothing is signed or decided then: what is
            revoked could not be known.
    """
    file = path or register_file()
    if path is None and not file.exists():
        return AgencyKeys()
    try:
        return AgencyKeys.model_validate_json(bytes_of(file, MOST_DOCUMENT))
    except OSError as error:
        raise RegisterRefused(f"{file}: cannot be read ({error.strerror}); fix that") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole file"
        raise RegisterRefused(
            f"{file}: is no register of keys: {where}: {first['msg']}; restore it from the "
            "published copy"
        ) from None


def add(key: str, *, person: str | None, since: datetime) -> RegisteredKey:
    """Enter a key: of a person who decides, or one that signs releases where nobody is named.

    Raises:
        RegisterRefused: it is listed already, or is no such key.
    """

    def added(register: AgencyKeys) -> AgencyKeys:
        entry = {"key": key, "since": since}
        part, new = (
            ("signing", RegisteredKey.model_validate(entry))
            if person is None
            else ("approvers", PersonsKey.model_validate(entry | {"person": person}))
        )
        if any(one.identity == new.identity for one in register.entries):
            raise RegisterRefused(
                f"the key {new.fingerprint[:16]}… is in the register; a key that ended does not "
                "begin again: make a new one"
            )
        return _with(register, **{part: (*getattr(register, part), new)})

    _change(added)
    identity = approver_key(key).identity
    return next(one for one in key_register().entries if one.identity == identity)


def retire(name: str, *, until: datetime) -> RegisteredKey:
    """Enter until when a key is valid, which may be moved to an earlier time and never a later one.

    Args:
        name: the beginning of its fingerprint.
    Raises:
        RegisterRefused: it ends earlier already, or no key or several have that name.
    """

    def retired(entry: RegisteredKey) -> RegisteredKey:
        if entry.until is not None and until > entry.until:
            raise RegisterRefused(f"the key already ends on {entry.until:%Y-%m-%d %H:%M %Z}")
        return _with(entry, until=until)

    return _changed_entry(name, retired)


def revoke(name: str, *, at: datetime, reason: RevocationReason) -> RegisteredKey:
    """Enter that a key is revoked from a time on, which may be moved to an earlier time.

    Args:
        name: the beginning of its fingerprint.
    Raises:
        RegisterRefused: it is revoked from an earlier time on, or was compromised and would be so
            no longer; the time lies ahead; or no key or several have that name.
    """
    if at > datetime.now(UTC):
        raise RegisterRefused(f"{at:%Y-%m-%d %H:%M %Z} lies ahead; to end a key then, retire it")

    def revoked(entry: RegisteredKey) -> RegisteredKey:
        was = entry.revoked
        if was is not None and at > was.at:
            raise RegisterRefused(f"the key is revoked from {was.at:%Y-%m-%d %H:%M %Z} on already")
        if was is not None and was.reason == "compromised" != reason:
            raise RegisterRefused("the key was compromised, and that cannot be taken back")
        return _with(entry, revoked=Revocation(at=at, reason=reason))

    return _changed_entry(name, revoked)


def _changed_entry(name: str, change: Callable[[RegisteredKey], RegisteredKey]) -> RegisteredKey:
    changed: list[RegisteredKey] = []

    def with_entry(register: AgencyKeys) -> AgencyKeys:
        found = [one for one in register.entries if one.fingerprint.startswith(name)]
        if len(name) < _LEAST_CHARACTERS or len(found) != 1:
            raise RegisterRefused(
                f"{len(found)} keys have a fingerprint that begins with {name!r}; name one by at "
                f"least {_LEAST_CHARACTERS} characters, as hallmark key list shows them"
            )
        changed[:] = [change(found[0])]

        def replaced(entries: tuple[RegisteredKey, ...]) -> tuple[RegisteredKey, ...]:
            return tuple(changed[0] if one == found[0] else one for one in entries)

        return _with(
            register, signing=replaced(register.signing), approvers=replaced(register.approvers)
        )

    _change(with_entry)
    return changed[0]


def _change(change: Callable[[AgencyKeys], AgencyKeys]) -> None:
    with _held():
        try:
            register = change(key_register())
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise RegisterRefused(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        with whole(register_file()) as draft:
            draft.write_text(register.model_dump_json(indent=2, exclude_none=True) + "\n")


def _with(section: S, **changes: object) -> S:
    """The section with changes, which are checked as if they had been read."""
    return type(section).model_validate(dict(section) | changes)


@contextmanager
def _held() -> Iterator[None]:
    """One writer at a time."""
    lock = os.open(home() / f".{KEYS_FILE}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
