"""`hallmark people`: who may use the desk, and the log of what they did there."""

import getpass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hallmark.flows.cli.options import JsonOption
from hallmark.flows.screen import say, say_json, table
from hallmark.schemas.given_files import opened
from hallmark.tasks.installation.server_mode import desk_address
from hallmark.tasks.people.rights import Role

if TYPE_CHECKING:
    from hallmark.tasks.people.actions import Actor

people_app = typer.Typer(
    help="Who may use the desk, in which roles, and what they did.", no_args_is_help=True
)

LoginArgument = Annotated[str, typer.Argument(help="Login of the person.", metavar="LOGIN")]
RoleOption = Annotated[list[Role], typer.Option("--role", help="A role; give it several times.")]


@people_app.command("add")
def add(
    login: LoginArgument,
    name: Annotated[str, typer.Option("--name", help="Full name.")],
    role: RoleOption,
    by_provider: Annotated[
        bool,
        typer.Option(
            "--by-provider",
            help="They log in by the provider of identities, under this login; no link is made.",
        ),
    ] = False,
) -> None:
    """Add somebody, and print a link with which they choose a password."""
    from hallmark.tasks.people import directory

    directory.add(login, name, role, by=_actor())
    say(f"Added {login}: {', '.join(role)}.")
    if not by_provider:
        _tell_link(login)


@people_app.command("invite")
def invite(login: LoginArgument) -> None:
    """Print a new link for somebody who lost password or telephone."""
    _tell_link(login)


@people_app.command("roles")
def roles(login: LoginArgument, role: RoleOption) -> None:
    """Give somebody these roles, and no others."""
    from hallmark.tasks.people import directory

    directory.set_roles(login, role, by=_actor())
    say(f"{login} is now: {', '.join(role)}.")


@people_app.command("leave")
def leave(login: LoginArgument) -> None:
    """Let somebody in no more; what they did stays known."""
    from hallmark.tasks.people import directory

    directory.leave(login, by=_actor())
    say(f"{login} can no longer log in; their sessions and tokens have ended.")


@people_app.command("list")
def list_people(as_json: JsonOption = False) -> None:
    """List everybody with their roles."""
    from dataclasses import asdict

    from hallmark.tasks.people.directory import people

    found = people()
    if as_json:
        say_json([asdict(one) for one in found])
        return
    if not found:
        say("Nobody is known yet; add an administrator with: hallmark people add --help")
        return
    table(
        ("login", "name", "roles", "state"),
        (
            (
                one.login,
                one.name,
                ", ".join(one.roles),
                f"left {one.departed[:10]}"
                if one.departed
                else "can log in"
                if one.ready
                else "invited",
            )
            for one in found
        ),
    )


@people_app.command("token")
def token(
    login: LoginArgument,
    name: Annotated[str, typer.Option("--name", help="What it is for.")],
    role: RoleOption,
    days: Annotated[int, typer.Option(help="After how many days it ends.", min=1)] = 90,
) -> None:
    """Print an access token with which a program acts for somebody."""
    from hallmark.tasks.people.directory import PersonRefused, person
    from hallmark.tasks.people.sessions import make_token

    owner = person(login)
    if owner is None or owner.departed:
        raise PersonRefused(f"nobody has the login {login!r} (or they left)")
    say(make_token(owner, name, role, days, by=_actor()))


@people_app.command("log")
def export_log(
    out: Annotated[Path, typer.Argument(help="Where to write it; must not exist.", metavar="FILE")],
) -> None:
    """Export the signed log of all actions at the desk."""
    from hallmark.tasks.installation.secret_files import write_secret
    from hallmark.tasks.people.actions import check, exported, record

    if out.exists():
        raise typer.BadParameter(f"{out} exists; give another file, nothing was written")
    record(_actor(), "log-exported")
    lines = list(exported())
    number = check(lines)
    write_secret(out, "".join(f"{line}\n" for line in lines).encode())
    say(f"Wrote {out}: {number} entries, all as they were signed.")


@people_app.command("check-log")
def check_log(
    file: Annotated[
        Path, typer.Argument(help="An exported log.", metavar="FILE", exists=True, dir_okay=False)
    ],
    key: Annotated[
        str | None, typer.Option("--key", help="The log's public key, known from elsewhere.")
    ] = None,
) -> None:
    """Check that an exported log is as it was signed, from its first entry to its last."""
    from hallmark.tasks.people.actions import check

    with TextIOWrapper(opened(file), encoding="utf-8") as lines:
        number = check(lines, key)
    say(f"{file}: {number} entries, all as they were signed.")


def _actor() -> "Actor":
    from hallmark.tasks.people.actions import Actor

    return Actor(getpass.getuser(), "command line")


def _tell_link(login: str) -> None:
    from hallmark.tasks.people.directory import invite

    secret = invite(login, by=_actor())
    at = desk_address() or "  <address of the desk>"
    say(f"Send {login} this link, which works once, for three days:")
    say(f"{at}/invitation/{secret}")
