"""Back up an installation in one file, and put it back on a new machine.

A backup is a tar archive for its owner alone: the ledger as rows (`privacy.ledger.copies`), the
anchors file, the register of keys, the people of the desk with the log of what they did and the key
that signs it, the specs that they wrote, ordered and scheduled, the orchestrator's history where it
is a file in the home, and, where asked for, the workspaces of releases without their coded records,
pages of private values and details of failures.
`backup.json` comes first and has the digest of every other file. Other keys are not in it: they
belong elsewhere.

Order.   Anchors are read before the ledger, so the copy of the ledger has all that they vouch for.
Draws.   Accounts that were put back wait until somebody answers for what was drawn since the backup
         (`tasks.lost_charges`): a ledger that has forgotten draws would answer with fresh noise.
Twice.   Putting a backup back leaves what is there already and goes on with what is not.
"""

import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import AwareDatetime, ValidationError

from hallmark.mechanisms.privacy.ledger.copies import Row
from hallmark.schemas.documents.ledger_anchor import LedgerHead
from hallmark.schemas.documents.manifest import Sha256
from hallmark.schemas.given_files import opened
from hallmark.schemas.section import Section
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.key_register import KEYS_FILE, register_file
from hallmark.tasks.installation.signing import digest
from hallmark.tasks.installation.workspace import (
    FAILURES,
    VALUES,
    VALUES_PAGE,
    WORK,
    copy_database,
    home,
    ledger_url,
    private_folder,
    whole,
)
from hallmark.tasks.ledger.anchors import anchors_file, open_ledger
from hallmark.tasks.ledger.rollback import mark_put_back
from hallmark.tasks.people.actions import KEY_FILE, log_key_file
from hallmark.tasks.people.database import people_file

_CONTENTS, _LEDGER, _ANCHORS, _HISTORY = (
    "backup.json",
    "ledger.jsonl",
    "ledger-anchors.jsonl",
    "orchestrator.db",
)
_PEOPLE = "people.db"
_DOCUMENTS = ("specs", "ordered", "orders", "calendar", "recurring")
"""Folders of the home with what people of the desk wrote, and what runs read of it."""
_NOT_KEPT = ("codes", "lock", VALUES_PAGE, VALUES, FAILURES, "scratch")
"""Of a workspace: private values as they are. The last is of earlier versions."""


class BackupRefused(SafeError):
    """A backup that cannot be written or put back; what is there stays as it is."""


class Contents(Section):
    """What a backup holds.

    Attributes:
        heads: of all accounts.
        files: digests of all other files of the archive.
    """

    format: Literal["hallmark-backup/1"] = "hallmark-backup/1"
    at: AwareDatetime
    heads: tuple[LedgerHead, ...]
    files: Mapping[str, Sha256]


@dataclass(frozen=True)
class PutBack:
    """What became of the parts of a backup: the names of those that were there already."""

    contents: Contents
    kept: tuple[str, ...]


def back_up(file: Path, *, work: bool) -> Contents:
    """Write a backup of this installation.

    Args:
        work: workspaces, too, which hold private values.
    Raises:
        BackupRefused: there is such a file.
        LedgerError: the ledger does not answer, or an account does not verify.
        OSError: it cannot be written.
    """
    if file.exists():
        raise BackupRefused(f"{file}: exists, and no backup is overwritten; name another file")
    with tempfile.TemporaryDirectory(dir=private_folder(home() / "tmp")) as draft:
        folder = Path(draft)
        for place in (anchors_file(), register_file(), log_key_file()):
            with suppress(FileNotFoundError):
                shutil.copyfile(place, folder / place.name)
        ledger = open_ledger(ledger_url())
        ledger.copied(lambda rows: _write_rows(rows, folder / _LEDGER))
        heads = tuple(
            LedgerHead(account=row["name"], entries=row["seq"], hash=row["hash"])
            for row in _rows(folder / _LEDGER)
            if row["table"] == "ledger_accounts"
        )
        for head in heads:
            ledger.verify(head.account)
        for database, name in ((_history_file(), _HISTORY), (people_file(), _PEOPLE)):
            if database.exists():
                copy_database(database, folder / name)
        _copy_documents(folder)
        if work:
            _copy_workspaces(folder / WORK)
        found = {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        contents = Contents(
            at=datetime.now(UTC),
            heads=heads,
            files={name: digest(path) for name, path in found.items()},
        )
        _pack(file, contents, found)
    return contents


def put_back(file: Path) -> PutBack:
    """Put a backup back into this installation, whose ledger is empty.

    Raises:
        BackupRefused: it is no backup, or was changed; or the home has other anchors, which tell of
            entries that the backup's ledger lacks or contradicts.
        LedgerError: the ledger holds accounts, or the copy does not verify.
    """
    with tempfile.TemporaryDirectory(dir=private_folder(home() / "tmp")) as draft:
        folder = Path(draft)
        contents = _unpack(file, folder)
        _refuse_other_anchors(file, folder / _ANCHORS)
        kept = [] if _put_ledger_back(contents, folder / _LEDGER) else [_LEDGER]
        for name, place in (
            (_ANCHORS, anchors_file()),
            (KEYS_FILE, register_file()),
            (_HISTORY, _history_file()),
            (_PEOPLE, people_file()),
            (KEY_FILE, log_key_file()),
            *((name, home() / name) for name in contents.files if _is_document(name)),
        ):
            if name in contents.files and not _placed(folder / name, place):
                kept.append(name)
        for release in sorted((folder / WORK).glob("*")):
            place = private_folder(home() / WORK) / release.name
            if place.exists():
                kept.append(f"{WORK}/{release.name}")
            else:
                release.replace(place)
    return PutBack(contents, tuple(kept))


def _history_file() -> Path:
    """Where the orchestrator keeps its history, unless that is a database elsewhere."""
    return home() / "prefect" / "prefect.db"


def _copy_documents(target: Path) -> None:
    """Copy what people of the desk wrote; they may be at work meanwhile."""
    for path in sorted(path for name in _DOCUMENTS for path in (home() / name).rglob("*")):
        name = path.relative_to(home())
        if path.is_file() and not path.is_symlink() and _is_document(name.as_posix()):
            private_folder(target / name.parent)
            with suppress(FileNotFoundError):
                shutil.copyfile(path, target / name)


def _copy_workspaces(target: Path) -> None:
    """Copy what is kept of all workspaces; a run may be writing, or removing, meanwhile."""
    work = home() / WORK
    for path in sorted(work.rglob("*")):
        inside = path.relative_to(work).parts
        if len(inside) < 2 or inside[1] in _NOT_KEPT or path.is_symlink() or not path.is_file():
            continue
        private_folder(target.joinpath(*inside[:-1]))
        with suppress(FileNotFoundError):
            shutil.copyfile(path, target.joinpath(*inside))


def _write_rows(rows: Iterator[Row], file: Path) -> None:
    with file.open("x") as lines:
        for row in rows:
            lines.write(json.dumps(row) + "\n")


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open() as lines:
        yield from map(json.loads, lines)


def _pack(file: Path, contents: Contents, found: Mapping[str, Path]) -> None:
    """Write the archive whole or not at all, for its owner alone."""
    told = contents.model_dump_json(indent=2).encode()
    with whole(file) as draft:
        opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with (
                os.fdopen(opened, "wb") as written,
                tarfile.open(fileobj=written, mode="w") as archive,
            ):
                first = tarfile.TarInfo(_CONTENTS)
                first.size, first.mode = len(told), 0o600
                archive.addfile(first, io.BytesIO(told))
                for name, path in found.items():
                    archive.add(path, name, filter=_for_its_owner)
                written.flush()
                os.fsync(opened)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


def _for_its_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The file without other people's rights, and without the name of its owner."""
    member.mode, member.uid, member.gid, member.uname, member.gname = 0o600, 0, 0, "", ""
    return member


def _unpack(file: Path, folder: Path) -> Contents:
    """The files of an archive, in `folder`, each with its digest checked."""
    try:
        with opened(file) as given, tarfile.open(fileobj=given) as archive:
            members = {member.name: member for member in archive}
            told = archive.extractfile(_CONTENTS)
            assert told is not None, "a plain file"
            contents = Contents.model_validate_json(told.read())
            if set(members) != {_CONTENTS, *contents.files} or _LEDGER not in contents.files:
                raise BackupRefused(f"{file}: has other files than its {_CONTENTS} names")
            for name, expected in contents.files.items():
                _extract(archive, members[name], folder)
                if digest(folder / name) != expected:
                    raise BackupRefused(f"{file}: {name} was changed since it was written")
    except (tarfile.TarError, KeyError, AssertionError, ValidationError):
        raise BackupRefused(
            f"{file}: is no backup of Hallmark, or was cut short; name a file that `hallmark "
            "backup` wrote"
        ) from None
    return contents


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """A plain file at the place that its name says, in `folder` and for its owner alone."""
    parts = PurePosixPath(member.name).parts
    known = member.name in (_LEDGER, _ANCHORS, KEYS_FILE, _HISTORY, _PEOPLE, KEY_FILE)
    known = known or _is_document(member.name) or (parts[0] == WORK and len(parts) > 2)
    if not member.isreg() or not known or ".." in parts:
        raise BackupRefused(f"{member.name!r} in the archive is no file of a backup")
    place = folder.joinpath(*parts)
    private_folder(place.parent)
    content = archive.extractfile(member)
    assert content is not None, "a plain file"
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
        shutil.copyfileobj(content, written)


def _is_document(name: str) -> bool:
    path = PurePosixPath(name)
    is_hidden = path.name.startswith(".")  # a draft that is being written
    return path.parts[0] in _DOCUMENTS and path.suffix in (".yaml", ".json") and not is_hidden


def _refuse_other_anchors(file: Path, anchors: Path) -> None:
    """Refuse a backup whose anchors are not the first lines of those that are here."""
    with suppress(FileNotFoundError):
        here = anchors_file().read_bytes()
        if not here.startswith(anchors.read_bytes() if anchors.exists() else b""):
            raise BackupRefused(
                f"{anchors_file()}: tells of another ledger than {file}; find out which is yours, "
                "and move the other away"
            )


def _put_ledger_back(contents: Contents, file: Path) -> bool:
    """Fill the empty ledger; false where it holds the very same accounts already."""
    ledger = open_ledger(ledger_url())
    here = {state.name: (state.entries, state.head) for state in ledger.accounts()}
    if here and here == {head.account: (head.entries, head.hash) for head in contents.heads}:
        return False
    if not here:  # before there is anything to draw on
        mark_put_back((head.account for head in contents.heads), contents.at)
    ledger.put_back(lambda: _rows(file))
    return True


def _placed(source: Path, place: Path) -> bool:
    """Move a file to its place; false where there is one."""
    if place.exists():
        return False
    private_folder(place.parent)
    source.replace(place)
    return True
