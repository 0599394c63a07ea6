"""`hallmark waiting`, `approve`, `reject`, `override`, `reopen`, `approver-key`: the gates."""

import getpass
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hallmark.flows.cli.options import JsonOption, taking
from hallmark.flows.screen import say, say_json
from hallmark.schemas.visible import visible

if TYPE_CHECKING:
    from hallmark.schemas.documents.approvals import Waiting
    from hallmark.tasks.gates.approvals import Standing
    from hallmark.tasks.installation.signing import Signer

ReleaseArgument = Annotated[str, typer.Argument(help="Name of the release.", metavar="RELEASE")]
NameOption = Annotated[
    str, typer.Option("--name", help="Who you are, as the profile lists you.", prompt="Your name")
]
ReasonOption = Annotated[
    str, typer.Option("--reason", help="Why, for the record.", prompt="Your reason")
]
RoleOption = Annotated[str, typer.Option("--role", help="The role in which you decide.")]


def waiting(
    as_json: JsonOption = False,
) -> None:
    """List the releases that are waiting for an approval or for the end of an embargo."""
    from hallmark.flows.cli.terminal import print_waiting
    from hallmark.tasks.gates.gate_history import History
    from hallmark.tasks.gates.waiting import standing_of, waiting_releases
    from hallmark.tasks.installation.profile import profile
    from hallmark.tasks.installation.workspace import ledger_url
    from hallmark.tasks.ledger.anchors import open_ledger

    found = waiting_releases()
    if as_json:
        say_json([one.model_dump(mode="json") for one in found])
        return
    records = open_ledger(ledger_url()).records([one.release for one in found])
    known = profile()

    def there(waits: "Waiting") -> "Standing | None":
        if waits.gate == "embargo":
            return None
        history = History.of(waits.release, records[waits.release].statements)
        return standing_of(waits, history, known)

    print_waiting([(one, there(one)) for one in found])


def _signer(
    key: Annotated[
        Path | None,
        typer.Option(
            "--key",
            help="Your private key, from hallmark approver-key. You are asked for its passphrase.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    sign_with: Annotated[
        str | None,
        typer.Option(
            "--sign-with",
            help="Instead of --key: a command that signs its standard input, such as of a smart "
            "card.",
            metavar="COMMAND",
        ),
    ] = None,
    public_key: Annotated[
        Path | None,
        typer.Option(
            "--public-key",
            help="With --sign-with: the public half of that key (PEM).",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> "Signer":
    """What signs a decision: a key in a file, or a command that has one."""
    from hallmark.tasks.installation.signing import private_key
    from hallmark.tasks.installation.signing_command import CommandSigner

    if (key is None) == (sign_with is None) or (sign_with is None) != (public_key is None):
        raise typer.BadParameter(
            "sign with one key: give --key FILE, or --sign-with COMMAND and --public-key FILE"
        )
    if sign_with is not None and public_key is not None:
        return CommandSigner.of(sign_with, public_key, "--sign-with")
    assert key is not None
    return private_key(key, lambda: _passphrase(key))


@taking(_signer)
def approve(
    release: ReleaseArgument, name: NameOption, role: RoleOption, reason: ReasonOption, by: "Signer"
) -> None:
    """Approve what a release is waiting for: its plan, or the finished release."""
    _decide("approve", release, name, role, reason, by)


@taking(_signer)
def reject(
    release: ReleaseArgument, name: NameOption, role: RoleOption, reason: ReasonOption, by: "Signer"
) -> None:
    """Reject a release at its gate, which stays closed until reopened; no budget is given back."""
    _decide("reject", release, name, role, reason, by)


@taking(_signer)
def override(
    release: ReleaseArgument, name: NameOption, reason: ReasonOption, by: "Signer"
) -> None:
    """Pass a gate without the missing approvals; the ledger records who did it, and why."""
    from hallmark.schemas.documents.approvals import OVERRIDE

    _decide("override", release, name, OVERRIDE, reason, by)


def reopen(release: ReleaseArgument, reason: ReasonOption) -> None:
    """Reopen the gate at which a release was rejected; everybody must decide again.

    The rejection stays in the ledger and is published with the release, as is your reason.
    """
    from hallmark.flows import quiet

    quiet.configure()
    from hallmark.tasks.gates import approvals
    from hallmark.tasks.gates.waiting import waiting_releases
    from hallmark.tasks.installation.workspace import ledger_url
    from hallmark.tasks.ledger.anchors import open_ledger

    ended = approvals.reopen(open_ledger(ledger_url()), release, reason=reason)
    say(f"Reopened the {ended.opening.gate} gate of {release}, which was rejected.")
    say(
        f"Decisions made there before: {len(ended.decisions)}. They no longer count, but stay in "
        "the ledger and are published with the release, as is your reason. Whoever opens a gate "
        "cannot approve at it."
    )
    if any(waits.release == release for waits in waiting_releases()):
        say(f"It is waiting for {', '.join(ended.opening.required)}: hallmark waiting")
    else:
        say("Run the release again with --resume: it continues to that gate, and waits.")


def approver_key(
    file: Annotated[
        Path, typer.Argument(help="Where to write the private key.", metavar="FILE", dir_okay=False)
    ],
    plain: Annotated[
        bool, typer.Option("--plain", help="No passphrase, for hardware-protected storage.")
    ] = False,
) -> None:
    """Make a key for signing decisions, and print its public half for the profile."""
    if file.exists():
        raise typer.BadParameter(f"{file} exists; give another file, nothing was written")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    from hallmark.schemas.documents.approver_keys import plain_text
    from hallmark.tasks.installation.secret_files import write_secret

    protection = NoEncryption() if plain else BestAvailableEncryption(_new_passphrase().encode())
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection)
    write_secret(file, pem)
    public = plain_text(key.public_key().public_bytes_raw())
    say(f"Wrote {file}; keep it to yourself. For the profile, under approvers:")
    say(f"  key: {public}")


def _decide(
    decision: Literal["approve", "reject", "override"],
    release: str,
    name: str,
    role: str,
    reason: str,
    signer: "Signer",
) -> None:
    from hallmark.flows import quiet

    quiet.configure()
    from hallmark.flows.going_on import go_on
    from hallmark.schemas.documents.decisions import Decision
    from hallmark.tasks.gates.approvals import decide
    from hallmark.tasks.gates.decision_keys import sign
    from hallmark.tasks.gates.gate_history import History
    from hallmark.tasks.gates.waiting import asked_now, standing_of, waiting_of
    from hallmark.tasks.installation.profile import profile
    from hallmark.tasks.installation.workspace import ledger_url
    from hallmark.tasks.ledger.anchors import open_ledger

    waits, book, known = waiting_of(release), open_ledger(ledger_url()), profile()
    said = Decision.model_validate(
        {
            **asked_now(waits, History.in_ledger(book, release)),
            "role": role,
            "person": name,
            "decision": decision,
            "reason": reason,
            "decided": datetime.now(UTC).replace(microsecond=0),
        }
    )
    decide(book, sign(said, signer), waits, known.approvers)
    there = standing_of(waits, History.in_ledger(book, release), known)
    say(f"Recorded: {name} ({role}) decided to {decision} {release} at the {waits.gate} gate.")
    if there.rejected:
        say("The release stops here. Nothing was published, and no budget was given back.")
        say(f"An operator can reopen the gate: hallmark reopen {release} --reason WHY")
    elif there.passed:
        started = go_on(waits)
        say(
            f"The release continues: run {started}."
            if started
            else f"The release can continue: hallmark release {waits.spec} --out {waits.out} "
            "--resume"
        )
    else:
        gaps = f"{len(there.blocking)} items that are not recorded (hallmark waiting lists them)"
        missing = [*there.missing, *([gaps] if there.blocking else [])]
        say(f"Still missing: {', '.join(missing)}.")


def _new_passphrase() -> str:
    if not _has_terminal():
        raise typer.BadParameter(
            "there is no terminal to ask for a passphrase; run this in a terminal, or, for "
            "hardware-protected storage, make a key without one: --plain. Nothing was written"
        )
    return str(typer.prompt("A passphrase for it", hide_input=True, confirmation_prompt=True))


def _passphrase(key: Path) -> str:
    try:
        return getpass.getpass(f"Passphrase of {visible(str(key))}: ")
    except EOFError:
        raise typer.BadParameter(
            f"there is no terminal to ask for the passphrase of {key}; decide in a terminal or at "
            "the desk. Nothing was decided"
        ) from None


def _has_terminal() -> bool:
    """Whether the session has a terminal at which somebody can be asked."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return sys.stdin.isatty()
    return True
