"""`hallmark ledger verify`, `anchor`: check that no entries of the ledger are lost."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hallmark.flows.screen import say, say_json
from hallmark.tasks.installation.workspace import ledger_url

if TYPE_CHECKING:  # imported where they are used, to keep --help quick
    from hallmark.schemas.documents.ledger_anchor import SignedAnchor
    from hallmark.tasks.installation.signing import SigningKey
    from hallmark.tasks.ledger.rollback import Told

AccountArgument = Annotated[str, typer.Argument(help="Name of the account.", metavar="ACCOUNT")]
RootsOption = Annotated[
    Path | None,
    typer.Option(
        "--tsa-ca", help="Certificates (PEM) of the time-stamping authorities that you trust."
    ),
]


def verify(
    account: AccountArgument,
    anchor: Annotated[
        list[Path] | None,
        typer.Option(
            "--anchor",
            help="A release folder or a file of anchors to compare with, too; repeatable.",
            metavar="FILE|FOLDER",
        ),
    ] = None,
    tsa_ca: RootsOption = None,
) -> None:
    """Walk the account's hash chain, recompute its balance, and compare it with its anchors."""
    from hallmark.tasks.ledger.anchors import open_ledger
    from hallmark.tasks.ledger.clock import set_back
    from hallmark.tasks.ledger.rollback import Recorded

    book, recorded = open_ledger(ledger_url()), Recorded.of(account)
    if book.has_account(account) or not recorded.anchors:
        book.verify(account)
        say(f"{account}: the chain is intact, and the balance follows from its entries.")
    hashes = book.hashes(account)
    seen = [*_described(recorded.anchors, len(hashes), tsa_ca)]
    told: list[Told] = []
    for path in anchor or ():
        others, said = _elsewhere(path, account, len(hashes), tsa_ca)
        told += others
        seen += said
    replace(recorded, elsewhere=tuple(told)).refuse_lacking(hashes)
    for line in seen or [_nothing_known(account)]:
        say(line)
    for line in set_back(book.entries(account) if hashes else []):
        say(f"A clock was wrong: {line}.")


def anchor(
    account: AccountArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to add the anchor to; default: the screen."),
    ] = None,
    tsa: Annotated[
        str | None,
        typer.Option("--tsa", help="URL of a time-stamping authority (RFC 3161).", metavar="URL"),
    ] = None,
    tsa_ca: RootsOption = None,
) -> None:
    """Record the account's head, to be kept out of reach of anybody who can write to the ledger."""
    from hallmark.tasks.ledger.anchors import (
        anchor_of,
        anchors_file,
        installation_key,
        open_ledger,
        signed,
        write,
    )
    from hallmark.tasks.ledger.rollback import refuse_rolled_back

    if tsa_ca is not None and tsa is None:
        raise typer.BadParameter("--tsa-ca is for time stamps; name an authority with --tsa")
    book = open_ledger(ledger_url())
    refuse_rolled_back(book, account)
    book.verify(account)
    made = anchor_of(book.entries(account)[-1].head)
    stamp = stamp_of(made.canonical_bytes(), tsa, tsa_ca) if tsa else b""
    line = signed(made, installation_key(), time_stamp=stamp)
    write(line, anchors_file())
    if out is None:
        say_json(line.model_dump(mode="json"), indent=None)
    else:
        write(line, out)
        say(
            f"Added entry {made.head.entries} of {account} to {out}. Keep a copy out of reach of "
            "anybody who can write to the ledger; compare it with: hallmark ledger verify "
            f"{account} --anchor {out}"
        )


def _described(lines: "Sequence[SignedAnchor]", entries: int, roots: Path | None) -> Iterator[str]:
    """Sentences about what anchors vouch for: the newest anchor, who signed, what was lost.

    Args:
        entries: number of entries that the ledger has of the account.
    """
    from hallmark.tasks.ledger.anchors import installation_key, signer

    if not lines:
        return
    newest, own = lines[-1].anchor, installation_key()
    signers = {signer(line) for line in lines}
    by = " and ".join(sorted(_signer_in_words(one, own) for one in signers))
    since = entries - newest.head.entries
    yield (
        f"The newest anchor is from {newest.at:%Y-%m-%d %H:%M} UTC ({_ago(newest.at)}) and covers "
        f"all entries up to {newest.head.entries}, {by}. "
        + (f"No anchor vouches for the {since} entries since." if since else "It is the last one.")
    )
    for line in lines:
        said = line.anchor
        if said.lost:
            yield (
                f"On {said.at:%Y-%m-%d}, {said.by} stated that the ledger lacks {len(said.lost)} "
                f"known heads: {said.reason}"
            )
    yield from _stamps(lines, roots)


def _signer_in_words(fingerprint: str | None, own: "SigningKey | None") -> str:
    if fingerprint is None:
        return "unsigned"
    ours = own is not None and own.fingerprint == fingerprint
    return f"signed by {'this installation' if ours else f'the key {fingerprint[:16]}…'}"


def _stamps(lines: "Sequence[SignedAnchor]", roots: Path | None) -> Iterator[str]:
    """A sentence about the newest time stamp among anchors, which is checked first."""
    import base64

    stamped = [line for line in lines if line.time_stamp]
    if stamped:
        from hallmark.tasks.installation.time_stamp import stamped_at

        last = stamped[-1]
        content = last.anchor.canonical_bytes()
        when = stamped_at(base64.b64decode(last.time_stamp), content, roots)
        whose = (
            "an authority that was not checked; name authorities that you trust with --tsa-ca"
            if roots is None
            else f"an authority that {roots} vouches for"
        )
        yield (
            f"Entry {last.anchor.head.entries} has a time stamp from {when:%Y-%m-%d %H:%M} UTC, by "
            f"{whose}."
        )


def _elsewhere(
    path: Path, account: str, entries: int, roots: Path | None
) -> "tuple[list[Told], list[str]]":
    """Facts about an account from a release folder or another file of anchors."""
    from hallmark.schemas.documents.manifest import MANIFEST_FILE
    from hallmark.tasks.ledger.anchors import read
    from hallmark.tasks.ledger.rollback import from_anchors, from_release

    if path.is_dir() or path.name == MANIFEST_FILE:
        from hallmark.tasks.verification import signature_of

        folder = path if path.is_dir() else path.parent
        signature = signature_of(folder)
        if not signature.ok:
            raise typer.BadParameter(f"{folder} cannot be relied on: {signature.detail}")
        told = list(from_release(folder, account))
        said = [
            f"{one.where}, {_ago(one.at)}, records {one.entries or 'some'} entries; signed "
            f"{signature.detail}"
            for one in told
        ]
    elif path.exists():
        lines = [line for line in read(path) if line.anchor.head.account == account]
        told = list(from_anchors(lines, str(path)))
        said = [f"{path}: {line}" for line in _described(lines, entries, roots)]
    else:
        raise typer.BadParameter(f"{path} does not exist", param_hint="--anchor")
    if not told:
        raise typer.BadParameter(f"{path} says nothing about account {account}")
    return told, said


def _nothing_known(account: str) -> str:
    return (
        "No anchor of the account is known here, so it would not be noticed if entries were cut "
        "off at its end. Compare with a release published on it (--anchor FOLDER), and record "
        f"its head for the next time: hallmark ledger anchor {account}"
    )


def stamp_of(content: bytes, url: str, roots: Path | None) -> bytes:
    """A fresh time stamp of `content`, by an authority that `roots` vouch for where they are given.

    Raises:
        TimeStampRefused: there is none.
    """
    from hallmark.tasks.installation.time_stamp import stamped_at, time_stamp

    stamp = time_stamp(content, url)
    if roots is not None:
        stamped_at(stamp, content, roots)
    return stamp


def _ago(then: datetime) -> str:
    """The time since then, in the largest unit that fits."""
    since = datetime.now(UTC) - then
    for unit, length in (("days", timedelta(days=1)), ("hours", timedelta(hours=1))):
        if since >= 2 * length:
            return f"{since // length} {unit} ago"
    return f"{max(0, since // timedelta(minutes=1))} minutes ago"
