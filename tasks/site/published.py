"""Published releases as a site takes them in: found, verified, or refused."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.schemas.documents.manifest import (
    MANIFEST_FILE,
    SIGNATURE_FILES,
    TIME_STAMP_FILE,
)
from hallmark.schemas.documents.notice import Notice
from hallmark.schemas.visible import visible
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.verification import Check, verify_release
from hallmark.tasks.verification.documents import (
    Documents,
    Unsound,
    read_documents,
    read_manifest,
)
from hallmark.tasks.verification.notices import KnownKeys, notices_of


class NotPublished(SafeError):
    """A folder is no published release, or is not what was signed."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A release whose folder was verified.

    Attributes:
        checks: all that was checked, and all of it holds.
        withdrawn: why it was withdrawn after its publication; empty if it was not.
        notices: signed ones that lie beside its folder.
    """

    folder: Path
    documents: Documents
    checks: tuple[Check, ...]
    withdrawn: str = ""
    notices: tuple[Notice, ...] = ()

    @classmethod
    def of(cls, folder: Path, key: Path | None, withdrawn: dict[str, str]) -> "Published":
        """The release in a folder.

        Args:
            key: the agency's public key (PEM), if whoever makes the site gives it.
            withdrawn: notices by release, beside those that are signed.
        Raises:
            NotPublished: it is staged or rehearsed, or fails its verification, or a notice beside
                it is not the agency's.
        """
        found = verify_release(folder, key)
        if not found.ok:
            faults = "; ".join(f"{one.name}: {one.detail}" for one in found.checks if not one.ok)
            raise NotPublished(
                f"{folder} is refused, since `hallmark verify` finds: {visible(faults)}. Nothing "
                "was written; publish it again from its workspace, or leave it out"
            )
        documents = read_documents(folder, read_manifest(folder))
        try:
            notices = notices_of(folder, known=KnownKeys.given(key, None))
        except Unsound as error:
            raise NotPublished(f"{folder} is refused: {visible(str(error))}") from None
        said = next((one.reason for one in notices if one.kind == "withdrawn"), "")
        return cls(
            folder=folder,
            documents=documents,
            checks=found.checks,
            withdrawn=withdrawn.get(documents.manifest.release_id, said),
            notices=tuple(notices),
        )

    @property
    def release(self) -> str:
        """The name of the release."""
        return self.documents.manifest.release_id

    @property
    def replaces(self) -> str:
        """What the spec says that it supersedes, often the name of a release; empty if nothing."""
        told = self.documents.record.identity.supersedes
        return "" if told == NOT_RECORDED else told.strip()

    @property
    def superseded_by(self) -> str:
        """The release that took its place, as a signed notice says; empty if none says so."""
        return next((one.by.release for one in self.notices if one.by is not None), "")

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files that were published: signed ones, and those that vouch for them."""
        signed = sorted(self.documents.manifest.files)
        stamps = [TIME_STAMP_FILE] if (self.folder / TIME_STAMP_FILE).exists() else []
        return (*signed, *SIGNATURE_FILES, *stamps)


def release_folders(places: Iterable[Path]) -> Iterator[Path]:
    """Folders of releases: these themselves, or those within them.

    Raises:
        NotPublished: one is not a published release, and holds none.
    """
    for place in places:
        if (place / MANIFEST_FILE).exists():
            yield place
            continue
        within = sorted(path.parent for path in place.glob(f"*/{MANIFEST_FILE}"))
        if not within:
            raise NotPublished(
                f"{place} has no {MANIFEST_FILE}, and no folder in it has one: it is no published "
                "release (one that waits for an approval or an embargo is not published yet), and "
                "holds none"
            )
        yield from within


def superseded(releases: Sequence[Published]) -> dict[str, str]:
    """By the name of each release that another one of these replaces, as that one or a signed
    notice says: that other one's name."""
    names = [one.release for one in releases]
    said = {
        one.replaces: one.release
        for one in releases
        if one.replaces in names and one.replaces != one.release
    }
    return said | {one.release: one.superseded_by for one in releases if one.superseded_by}
