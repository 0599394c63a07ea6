"""`hallmark key`: the agency's register of keys with their dates; and `hallmark time-stamp`."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hallmark.flows.cli.anchors import RootsOption, stamp_of
from hallmark.flows.cli.options import JsonOption, ReleaseFolder
from hallmark.flows.screen import say, say_json
from hallmark.schemas.documents.approver_keys import approver_key, plain_text

if TYPE_CHECKING:
    from hallmark.schemas.documents.agency_keys import RegisteredKey

key_app = typer.Typer(
    help="The agency's register of keys: which sign releases and decisions, and from when to when.",
    no_args_is_help=True,
)


class Reason(StrEnum):
    """Why a key is revoked, as the register says it."""

    COMPROMISED = "compromised"
    LOST = "lost"
    LEFT = "left"
    SUPERSEDED = "superseded"


FingerprintArgument = Annotated[
    str,
    typer.Argument(help="The beginning of its fingerprint, 8 characters or more.", metavar="KEY"),
]


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no time; write it like 2026-12-01 or 2026-12-01T09:00+01:00"
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _when(option: str, says: str) -> typer.models.OptionInfo:
    said = f"{says}; default: now. Without a zone it is UTC."
    return typer.Option(option, help=said, metavar="TIME", parser=_time)


@key_app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List all keys with their dates; with --json as the document that the agency publishes."""
    from hallmark.tasks.installation.key_register import key_register

    register = key_register()
    if as_json:
        say_json(register.model_dump(mode="json", exclude_none=True))
        return
    for signing in register.signing:
        say(f"{signing.fingerprint}  signs releases, {_dates(signing)}")
    for one in register.approvers:
        say(f"{one.fingerprint}  {one.person}: {approver_key(one.key).kind}, {_dates(one)}")
    if not [*register.entries]:
        say("The register is empty. Enter the agency's public key: hallmark key add agency.pub")


@key_app.command()
def add(
    key: Annotated[
        str,
        typer.Argument(
            help="A public key: a file in PEM, or the text that the profile lists.", metavar="KEY"
        ),
    ],
    person: Annotated[
        str | None,
        typer.Option(
            "--person", help="Whose key for decisions it is; without it, it signs releases."
        ),
    ] = None,
    since: Annotated[datetime | None, _when("--since", "From when on it is valid")] = None,
) -> None:
    """Enter a key in the register."""
    from hallmark.tasks.installation import key_register
    from hallmark.tasks.installation.signing_command import public_key_in

    is_file = Path(key).is_file()
    text = plain_text(public_key_in(Path(key)).public_bytes_raw()) if is_file else key
    try:
        approver_key(text)
    except ValueError as error:
        raise typer.BadParameter(f"{key!r} names no file, and {error}") from None
    entry = key_register.add(text, person=person, since=since or _now())
    holder = "signs releases" if person is None else f"of {person}"
    _tell(f"Entered the key {holder}", entry)


@key_app.command()
def retire(
    key: FingerprintArgument,
    until: Annotated[datetime | None, _when("--until", "Until when it is valid")] = None,
) -> None:
    """Enter until when a key is valid; what it signed before stays valid."""
    from hallmark.tasks.installation import key_register

    _tell("Retired the key", key_register.retire(key, until=until or _now()))


@key_app.command()
def revoke(
    key: FingerprintArgument,
    reason: Annotated[
        Reason,
        typer.Option(
            "--reason",
            help="compromised: somebody else may have it, so that only a time stamp proves that "
            "it signed before; lost: nobody can use it any more; left: its person is gone; "
            "superseded: another took its place.",
        ),
    ],
    at: Annotated[
        datetime | None, _when("--at", "From when on nothing that it signs counts")
    ] = None,
) -> None:
    """Enter that a key counts no longer, from a time on that may lie in the past."""
    from hallmark.tasks.installation import key_register

    _tell("Revoked the key", key_register.revoke(key, at=at or _now(), reason=reason.value))


def time_stamp(
    folder: ReleaseFolder,
    tsa: Annotated[
        str,
        typer.Option("--tsa", help="URL of a time-stamping authority (RFC 3161).", metavar="URL"),
    ],
    tsa_ca: RootsOption = None,
) -> None:
    """Have an authority prove that a release was signed by now; adds manifest.tsr to its folder."""
    from hallmark.schemas.documents.manifest import SIGNATURE_FILE, TIME_STAMP_FILE
    from hallmark.tasks.verification import signature_of

    signature = signature_of(folder)
    if not signature.ok:
        raise typer.BadParameter(f"{folder} is no signed release: {signature.detail}")
    file = folder / TIME_STAMP_FILE
    if file.exists():
        raise typer.BadParameter(f"{file} exists; the older a time stamp, the more it proves")
    file.write_bytes(stamp_of((folder / SIGNATURE_FILE).read_bytes(), tsa, tsa_ca))
    say(f"Wrote {file}. Whoever trusts the authority can check keys by it:")
    say(f"hallmark verify {folder} --keys REGISTER --tsa-ca CERTIFICATES")


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _tell(what: str, entry: "RegisteredKey") -> None:
    from hallmark.tasks.installation.key_register import register_file

    say(f"{what} {entry.fingerprint}: {_dates(entry)}.")
    say(f"Publish the register again: {register_file()}")


def _dates(entry: "RegisteredKey") -> str:
    said = [f"since {entry.since:%Y-%m-%d %H:%M %Z}"]
    if entry.until is not None:
        said.append(f"until {entry.until:%Y-%m-%d %H:%M %Z}")
    if entry.revoked is not None:
        at, reason = entry.revoked.at, entry.revoked.reason
        said.append(f"revoked from {at:%Y-%m-%d %H:%M %Z} on ({reason})")
    return ", ".join(said)
