"""Who the people of an installation are: their names, roles, passwords and one-time codes.

Somebody is added by an administrator, who gets a link for them to choose a password and to set up
one-time codes (TOTP, RFC 6238), so nobody knows anybody else's password. A provider of identities
(OpenID Connect) may vouch for people instead; they have neither here. Nobody is ever removed:
whoever left stays known by what they did, and can no longer log in.

Source: NIST SP 800-63B (passwords, replay of one-time codes); RFC 9106 (Argon2id).
"""

import hmac
import json
import re
import secrets
import sqlite3
import time
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from threading import BoundedSemaphore

import pyotp
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from hallmark.schemas.visible import visible
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.people.actions import Actor, record
from hallmark.tasks.people.database import reading, writing
from hallmark.tasks.people.rights import BY_COMMAND_ALONE, Right, Role, rights_of

INVITED_FOR = 72 * 3600.0  # seconds for which a link can be used
LEAST_PASSWORD = 12  # characters
MOST_PASSWORD = 1000  # characters; hashing longer ones would cost us more than the sender
STEP = 30  # seconds for which a one-time code is shown

_LOGIN = r"[a-z0-9][a-z0-9._@+-]{0,62}[a-z0-9]"
_HASHING = BoundedSemaphore(2)  # each takes 64 MiB, and anybody may ask for one
_DRIFT = (-1, 0, 1)  # steps that a telephone's clock may be off


class PersonRefused(SafeError):
    """Something about a person that cannot be done; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody, as everybody who may manage people sees them.

    Attributes:
        login: the unique short name, in lowercase letters.
        departed: when they left; None for somebody who may log in.
        ready: whether they can log in: they have a password and codes, or a provider vouches.
        subject: who they are for the provider of identities, once they came from there.
    """

    login: str
    name: str
    roles: tuple[Role, ...]
    departed: str | None
    ready: bool
    subject: str | None

    @property
    def rights(self) -> frozenset[Right]:
        """All that they may do."""
        return rights_of(self.roles) if self.departed is None else frozenset()


def digest_of(secret: str) -> str:
    """What is kept of a random secret of at least 128 bits, which needs no slow hash."""
    return sha256(secret.encode()).hexdigest()


def people() -> list[Person]:
    """Everybody, by login."""
    with reading() as connection:
        return [_person(row) for row in connection.execute("SELECT * FROM people ORDER BY login")]


def person(login: str) -> Person | None:
    """Somebody, also if they left."""
    with reading() as connection:
        row = connection.execute("SELECT * FROM people WHERE login = ?", (login,)).fetchone()
        return None if row is None else _person(row)


def add(login: str, name: str, roles: Collection[Role], *, by: Actor) -> Person:
    """Add somebody, who cannot log in before they accepted an invitation.

    Raises:
        PersonRefused: the login is taken or cannot be one, or there is no name or role.
    """
    if re.fullmatch(_LOGIN, login) is None:
        raise PersonRefused(
            f"{login!r} cannot be a login; use 2 to 64 lowercase letters, digits and . _ @ + -"
        )
    if not 2 <= len(name.strip()) <= 200 or visible(name) != name:
        raise PersonRefused("give the person's full name, in 2 to 200 visible characters")
    if not roles:
        raise PersonRefused(f"give at least one role: {', '.join(Role)}")
    with writing() as connection:
        if connection.execute("SELECT 1 FROM people WHERE login = ?", (login,)).fetchone():
            raise PersonRefused(f"{login!r} is taken; nobody else ever gets the login of somebody")
        connection.execute(
            "INSERT INTO people (login, name, roles) VALUES (?, ?, ?)",
            (login, name.strip(), _roles_text(roles)),
        )
        record(by, "person-added", login, within=connection, roles=_roles_text(roles))
        return _known(connection, login)


def set_roles(login: str, roles: Collection[Role], *, by: Actor) -> None:
    """Give somebody other roles, from their next request on.

    Their access tokens lose for good the roles that they lose, and end without any. Whoever no
    longer manages people knows links that let others in: those end, too.

    Raises:
        PersonRefused: there is no such person, no role is left, or no administrator would be.
    """
    if not roles:
        raise PersonRefused(f"give at least one role: {', '.join(Role)}; or let the person leave")
    with writing() as connection:
        before = _known(connection, login)
        connection.execute(
            "UPDATE people SET roles = ? WHERE login = ?", (_roles_text(roles), login)
        )
        _keep_roles_of_tokens(connection, login, roles)
        if Right.MANAGE in before.rights:
            _refuse_nobody_left(connection)
        if Right.MANAGE not in rights_of(roles):
            connection.execute("DELETE FROM invitations WHERE maker = ?", (login,))
        if BY_COMMAND_ALONE & set(roles):  # whoever made a link knows it
            connection.execute("DELETE FROM invitations WHERE login = ?", (login,))
        record(
            by,
            "roles-changed",
            login,
            within=connection,
            before=_roles_text(before.roles),
            after=_roles_text(roles),
        )


def leave(login: str, *, by: Actor) -> None:
    """Let somebody in no more: their sessions, tokens and invitations end now.

    So do the links that they made for others, which they may have kept.

    Raises:
        PersonRefused: there is no such person, or no administrator would be left.
    """
    with writing() as connection:
        before = _known(connection, login)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        connection.execute(
            "UPDATE people SET departed = ?, password = NULL, seed = NULL, subject = NULL"
            " WHERE login = ?",
            (now, login),
        )
        for table in ("sessions", "tokens", "invitations"):
            connection.execute(f"DELETE FROM {table} WHERE login = ?", (login,))
        connection.execute("DELETE FROM invitations WHERE maker = ?", (login,))
        if Right.MANAGE in before.rights:
            _refuse_nobody_left(connection)
        record(by, "person-left", login, within=connection)


def invite(login: str, *, by: Actor) -> str:
    """A secret with which somebody chooses a password and sets up codes, once, within three days.

    An earlier one no longer works. Until it is used, an earlier password does: whoever forgot
    theirs, or lost their telephone, is invited anew.

    Raises:
        PersonRefused: there is no such person.
    """
    secret = secrets.token_urlsafe(32)
    with writing() as connection:
        _known(connection, login)
        connection.execute(
            "INSERT OR REPLACE INTO invitations (digest, login, seed, expires, maker)"
            " VALUES (?, ?, ?, ?, ?)",
            (digest_of(secret), login, pyotp.random_base32(), time.time() + INVITED_FOR, by.login),
        )
        record(by, "invited", login, within=connection)
    return secret


@dataclass(frozen=True)
class Invitation:
    """An invitation that can be accepted, with the seed of the codes to set up."""

    person: Person
    seed: str

    @property
    def address(self) -> str:
        """What an app for one-time codes reads, as a picture or as text."""
        return pyotp.TOTP(self.seed).provisioning_uri(
            name=self.person.login, issuer_name="Hallmark"
        )


def invitation(secret: str) -> Invitation | None:
    """The invitation of a link; None where it was used, or is too old."""
    with reading() as connection:
        row = connection.execute(
            "SELECT people.*, invitations.seed AS offered FROM invitations"
            " JOIN people USING (login) WHERE digest = ? AND expires > ?",
            (digest_of(secret), time.time()),
        ).fetchone()
        return None if row is None else Invitation(_person(row), row["offered"])


def accept(secret: str, password: str, code: str) -> Person:
    """Choose a password and set up codes; whoever was logged in as this person is logged out.

    Raises:
        PersonRefused: there is no such invitation, the password is too short or too easily
            guessed, or the code is not that of the seed.
    """
    offered = invitation(secret)
    if offered is None:
        raise PersonRefused("this link was used, or is older than three days; ask for another")
    _refuse_weak(password, offered.person)
    step = _step_of(offered.seed, code, after=0)
    if step is None:
        raise PersonRefused(
            "the code is not the one that this seed gives now; check that the clock of your "
            "telephone is right, and give the code that it shows"
        )
    with _HASHING:
        hashed = _hasher().hash(password)
    who = offered.person.login
    with writing() as connection:
        used = connection.execute("DELETE FROM invitations WHERE digest = ?", (digest_of(secret),))
        if used.rowcount == 0:
            raise PersonRefused("this link was used at this very moment; ask for another")
        connection.execute(
            "UPDATE people SET password = ?, seed = ?, last_step = ? WHERE login = ?",
            (hashed, offered.seed, step, who),
        )
        connection.execute("DELETE FROM sessions WHERE login = ?", (who,))
        record(Actor(who, "invitation"), "invitation-accepted", who, within=connection)
        return _known(connection, who)


def authenticated(login: str, password: str, code: str) -> Person | None:
    """Somebody who knows their password and shows a code that was not used yet; else None.

    Wrong logins take as long as wrong passwords. Slowing guesses down is the caller's part.
    """
    with reading() as connection:
        row = connection.execute("SELECT * FROM people WHERE login = ?", (login,)).fetchone()
    hashed = None if row is None or row["departed"] else row["password"]
    right = _is_right(hashed or _nobodys_hash(), password[:MOST_PASSWORD])
    if hashed is None or not right:
        return None
    with writing() as connection:
        last = connection.execute(
            "SELECT seed, last_step FROM people WHERE login = ? AND password = ?", (login, hashed)
        ).fetchone()
        step = None if last is None else _step_of(last["seed"], code, after=last["last_step"])
        if step is None:
            return None
        connection.execute("UPDATE people SET last_step = ? WHERE login = ?", (step, login))
        return _person(row)


def change_password(who: Person, password: str, *, by: Actor) -> None:
    """Give somebody another password; whoever was logged in as this person is logged out.

    That it is the person who asks, the caller has seen (`authenticated`).

    Raises:
        PersonRefused: the password is too short or too easily guessed, or they have none.
    """
    _refuse_weak(password, who)
    with _HASHING:
        hashed = _hasher().hash(password)
    with writing() as connection:
        changed = connection.execute(
            "UPDATE people SET password = ? WHERE login = ? AND password IS NOT NULL",
            (hashed, who.login),
        )
        if changed.rowcount == 0:
            raise PersonRefused(f"{who.login} has no password here; a provider vouches for them")
        connection.execute("DELETE FROM sessions WHERE login = ?", (who.login,))
        record(by, "password-changed", who.login, within=connection)


def vouched_for(subject: str, login: str) -> Person | None:
    """Somebody whom the provider of identities vouches for; None where nobody added them.

    The first time, the login that the provider states is bound to its subject, which it never gives
    to anybody else; from then on the subject alone counts. Nobody with a password of their own is
    ever bound: an administrator may name anybody at the provider like them.
    """
    with writing() as connection:
        row = connection.execute("SELECT * FROM people WHERE subject = ?", (subject,)).fetchone()
        if row is None:
            bound = connection.execute(
                "UPDATE people SET subject = ? WHERE login = ? AND subject IS NULL"
                " AND password IS NULL AND departed IS NULL",
                (subject, login),
            )
            if bound.rowcount == 0:
                return None
            row = connection.execute("SELECT * FROM people WHERE login = ?", (login,)).fetchone()
        return None if row["departed"] else _person(row)


def _person(row: sqlite3.Row) -> Person:
    return Person(
        login=row["login"],
        name=row["name"],
        roles=tuple(Role(role) for role in json.loads(row["roles"])),
        departed=row["departed"],
        ready=row["password"] is not None or row["subject"] is not None,
        subject=row["subject"],
    )


def _known(connection: sqlite3.Connection, login: str) -> Person:
    row = connection.execute("SELECT * FROM people WHERE login = ?", (login,)).fetchone()
    if row is None or row["departed"]:
        raise PersonRefused(f"nobody has the login {login!r} (or they left)")
    return _person(row)


def _keep_roles_of_tokens(
    connection: sqlite3.Connection, login: str, roles: Collection[Role]
) -> None:
    """Take from somebody's access tokens all roles but these."""
    rows = connection.execute("SELECT id, roles FROM tokens WHERE login = ?", (login,)).fetchall()
    for row in rows:
        left = " ".join(role for role in row["roles"].split() if role in roles)
        connection.execute("UPDATE tokens SET roles = ? WHERE id = ?", (left, row["id"]))
    connection.execute("DELETE FROM tokens WHERE login = ? AND roles = ''", (login,))


def _refuse_nobody_left(connection: sqlite3.Connection) -> None:
    """Refuse a change after which nobody could manage people from the desk."""
    rows = connection.execute("SELECT * FROM people WHERE departed IS NULL")
    if not any(Right.MANAGE in _person(row).rights for row in rows):
        raise PersonRefused("nobody would be administrator any more; name another one first")


def _roles_text(roles: Collection[Role]) -> str:
    return json.dumps(sorted(set(roles)))


def _refuse_weak(password: str, somebody: Person) -> None:
    """Refuse what is guessed first; rules about kinds of characters only help guessers."""
    if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD:
        raise PersonRefused(f"choose a password of at least {LEAST_PASSWORD} characters")
    plain = password.casefold()
    names = {somebody.login, *somebody.name.casefold().split(), "hallmark", "password", "1234"}
    left = plain
    for name in sorted(names, key=len, reverse=True):
        left = left.replace(name, "") if len(name) > 2 else left
    if len(set(left)) < 5:
        raise PersonRefused("this password would be guessed early; choose another one")


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()  # Argon2id with the second recommended choice of RFC 9106


@cache
def _nobodys_hash() -> str:
    """A hash like everybody's, so that a login that nobody has takes as long to refuse."""
    return _hasher().hash(secrets.token_urlsafe(32))


def _is_right(hashed: str, password: str) -> bool:
    with _HASHING:
        try:
            return _hasher().verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False


def _step_of(seed: str, code: str, *, after: int) -> int | None:
    """The step whose code this is, if it is near to now and none since was used."""
    codes, now = pyotp.TOTP(seed), int(time.time()) // STEP
    said = code.replace(" ", "").encode()
    right = [
        now + drift
        for drift in _DRIFT
        if hmac.compare_digest(codes.at((now + drift) * STEP).encode(), said)
    ]
    return next((step for step in right if step > after), None)
