"""What people say about a release while they work on it; it is not published."""

from dataclasses import dataclass
from datetime import UTC, datetime

from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.people.actions import Actor, record
from hallmark.tasks.people.database import reading, writing

_LONGEST = 4000  # characters


@dataclass(frozen=True)
class Comment:
    """One comment."""

    login: str
    name: str
    at: str
    text: str


def comment(release: str, text: str, *, by: Actor) -> None:
    """Add a comment.

    Raises:
        SafeError: it is empty or too long.
    """
    said = text.strip()
    if not 1 <= len(said) <= _LONGEST:
        raise SafeError(f"write 1 to {_LONGEST:,} characters; nothing was added")
    with writing() as connection:
        connection.execute(
            "INSERT INTO comments (release, login, at, text) VALUES (?, ?, ?, ?)",
            (release, by.login, datetime.now(UTC).isoformat(timespec="seconds"), said),
        )
        record(by, "commented", release, within=connection)


def comments(release: str) -> list[Comment]:
    """All comments on a release, the oldest first."""
    with reading() as connection:
        rows = connection.execute(
            "SELECT comments.*, people.name FROM comments LEFT JOIN people USING (login)"
            " WHERE release = ? ORDER BY number",
            (release,),
        )
        return [
            Comment(row["login"], row["name"] or row["login"], row["at"], row["text"])
            for row in rows
        ]
