"""Who sends a request: a browser's session after log-in, or a program's access token.

Both are random secrets of 256 bits of which only digests are kept. A session ends by itself after
eight hours, or one without a request; it has a second secret, for forms, that no other site knows.
A token acts with some of its owner's roles, and never with one that its owner lost.
"""

import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass, replace

from hallmark.schemas.visible import visible
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.people.actions import Actor, record
from hallmark.tasks.people.database import reading, writing
from hallmark.tasks.people.directory import Person, digest_of, person
from hallmark.tasks.people.rights import Role

LONGEST = 8 * 3600.0  # seconds of a session
IDLE = 3600.0  # seconds without a request after which it ends
MOST_DAYS = 365  # of a token
_NOTED_EVERY = 60.0  # seconds between two notes that a session is used
_PREFIX = "hallmark_"  # by which scanners for leaked secrets know a token


class TokenRefused(SafeError):
    """A token that cannot be made or withdrawn; the message says why."""


@dataclass(frozen=True)
class Session:
    """A logged-in browser.

    Attributes:
        csrf: the secret that its forms carry.
    """

    person: Person
    csrf: str


@dataclass(frozen=True)
class Token:
    """What is known of an access token; the token itself is shown once, when it is made."""

    id: str
    login: str
    name: str
    roles: tuple[Role, ...]
    made: str
    expires: float


def begin(who: Person, by: Actor) -> str:
    """Log somebody in; returns the secret for their browser, which is always a new one."""
    secret, now = secrets.token_urlsafe(32), time.time()
    with writing() as connection:
        connection.execute("DELETE FROM sessions WHERE began < ?", (now - LONGEST,))
        connection.execute(
            "INSERT INTO sessions (digest, login, csrf, began, seen) VALUES (?, ?, ?, ?, ?)",
            (digest_of(secret), who.login, secrets.token_urlsafe(32), now, now),
        )
        record(by, "logged-in", who.login, within=connection)
    return secret


def session(secret: str, *, used: bool = True) -> Session | None:
    """The session of a browser that sends this; None where there is none any more.

    Args:
        used: whether somebody uses it, rather than a page by itself.
    """
    digest, now = digest_of(secret), time.time()
    with reading() as connection:
        row = connection.execute("SELECT * FROM sessions WHERE digest = ?", (digest,)).fetchone()
    if row is None or now - row["began"] > LONGEST or now - row["seen"] > IDLE:
        return None
    if used and now - row["seen"] > _NOTED_EVERY:
        with writing() as connection:
            connection.execute("UPDATE sessions SET seen = ? WHERE digest = ?", (now, digest))
    who = person(row["login"])
    return None if who is None or who.departed else Session(who, row["csrf"])


def end(secret: str, by: Actor) -> None:
    """Log a browser out."""
    with writing() as connection:
        connection.execute("DELETE FROM sessions WHERE digest = ?", (digest_of(secret),))
        record(by, "logged-out", by.login, within=connection)


def make_token(owner: Person, name: str, roles: Collection[Role], days: int, *, by: Actor) -> str:
    """A token with which a program acts for somebody.

    Raises:
        TokenRefused: it would have roles that its owner lacks, none at all, no name, or no end.
    """
    if extra := set(roles) - set(owner.roles):
        raise TokenRefused(f"{owner.login} is not {', '.join(sorted(extra))}; nor can a token be")
    if not roles or not 1 <= len(name.strip()) <= 60 or visible(name) != name:
        raise TokenRefused(
            "give a token a name of at most 60 visible characters, and at least one role"
        )
    if not 1 <= days <= MOST_DAYS:
        raise TokenRefused(f"give a token 1 to {MOST_DAYS} days")
    secret, number = _PREFIX + secrets.token_urlsafe(32), secrets.token_hex(4)
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with writing() as connection:
        connection.execute(
            "INSERT INTO tokens (id, digest, login, name, roles, made, expires)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                digest_of(secret),
                owner.login,
                name.strip(),
                " ".join(sorted(set(roles))),
                made,
                time.time() + days * 86400.0,
            ),
        )
        details = {"name": name.strip(), "roles": " ".join(sorted(set(roles))), "days": str(days)}
        record(by, "token-made", owner.login, within=connection, id=number, **details)
    return secret


def tokens(login: str | None = None) -> list[Token]:
    """The tokens of somebody, or of everybody."""
    with reading() as connection:
        rows = connection.execute(
            "SELECT * FROM tokens WHERE ?1 IS NULL OR login = ?1 ORDER BY made", (login,)
        )
        return [
            Token(
                id=row["id"],
                login=row["login"],
                name=row["name"],
                roles=tuple(Role(role) for role in row["roles"].split()),
                made=row["made"],
                expires=row["expires"],
            )
            for row in rows
        ]


def withdraw_token(number: str, *, by: Actor, of: str | None = None) -> None:
    """End a token now.

    Args:
        of: only if it is of this person.
    Raises:
        TokenRefused: there is no such token.
    """
    with writing() as connection:
        row = connection.execute(
            "SELECT login FROM tokens WHERE id = ?1 AND (?2 IS NULL OR login = ?2)", (number, of)
        ).fetchone()
        if row is None:
            raise TokenRefused(f"there is no token {number!r}")
        connection.execute("DELETE FROM tokens WHERE id = ?", (number,))
        record(by, "token-withdrawn", row["login"], within=connection, id=number)


def bearer(secret: str) -> tuple[Person, str] | None:
    """Whom a program with this token acts for, with the roles of both, and the token's name."""
    with reading() as connection:
        row = connection.execute(
            "SELECT * FROM tokens WHERE digest = ? AND expires > ?",
            (digest_of(secret), time.time()),
        ).fetchone()
    who = None if row is None else person(row["login"])
    if who is None or who.departed:
        return None
    allowed = {Role(role) for role in row["roles"].split()}
    return replace(who, roles=tuple(role for role in who.roles if role in allowed)), row["name"]
