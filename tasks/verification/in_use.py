"""Published releases that may be used: one rule for whoever reads them, by the notices beside them.

A release that was withdrawn is refused. One that was superseded is read, and what took its place is
told. Notices count as for `hallmark verify`, and one that does not count is refused, too: it lies
where the agency's own notices lie, so nobody knows what became of the release.
"""

from collections.abc import Iterator
from pathlib import Path

from hallmark.schemas.documents.agency_keys import AgencyKeys
from hallmark.schemas.documents.manifest import MANIFEST_FILE, Manifest
from hallmark.schemas.documents.notice import Notice
from hallmark.schemas.visible import visible
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.key_register import key_register
from hallmark.tasks.verification.documents import Unsound, read_manifest
from hallmark.tasks.verification.notices import NO_KEYS, KnownKeys, notices_of


class NotInUse(SafeError):
    """A release must not be used, or what became of it is not known."""


class Withdrawn(NotInUse):
    """A release was withdrawn."""


def superseded(folder: Path, known: KnownKeys | None = None) -> Notice | None:
    """The notice that another release took the place of one; None if none did.

    Args:
        folder: of a release; without a manifest it was not published, and has no notices.
        known: keys of the agency; where they are not given, those that `keys_at_hand` finds.
    Raises:
        Withdrawn: it was withdrawn.
        NotInUse: a notice beside its folder does not count.
    """
    if not (folder / MANIFEST_FILE).is_file():
        return None
    try:
        if known is None:
            known = keys_at_hand(read_manifest(folder), key_register())
        found = notices_of(folder, [folder.absolute().parent], known)
    except Unsound as error:
        raise NotInUse(f"{folder}: {visible(str(error))}") from None
    for notice in found:
        if notice.kind == "withdrawn":
            raise Withdrawn(f"{folder} must not be used: it was {visible(notice.words)}")
    return next(iter(found), None)


def keys_at_hand(manifest: Manifest, register: AgencyKeys) -> KnownKeys:
    """The register, where it is that of whoever signed; else the release's own key alone counts."""
    listed = register.signing_key(manifest.public_key_fingerprint) is not None
    return KnownKeys(register=register) if listed else NO_KEYS


def told_superseded(folder: Path, known: KnownKeys | None = None) -> tuple[str, ...]:
    """What a reader must know of a release's place; nothing where no other took it.

    Args and Raises: as of `superseded`.
    """
    notice = superseded(folder, known)
    return () if notice is None else (f"{notice.release} was {visible(notice.words)}",)


def successors(folder: Path) -> Iterator[tuple[Notice, Path]]:
    """Each notice that a release was superseded, then that its successor was, and so on, with the
    folder of what took its place, which lies beside it.

    Raises:
        NotInUse: one was withdrawn, or is not there; a notice does not count; or none is the last.
    """
    passed = {folder.absolute()}
    while (notice := superseded(folder)) is not None:
        assert notice.by is not None, "it is superseded"
        folder = folder.absolute().parent / notice.by.release
        if not (folder / MANIFEST_FILE).is_file():
            raise NotInUse(
                f"{notice.release} was {visible(notice.words)}; put that release beside it"
            )
        if folder in passed:
            raise NotInUse(f"{notice.release}: notices say in a circle what took its place")
        passed.add(folder)
        yield notice, folder
