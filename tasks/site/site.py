"""A whole site from folders of releases: all of them verified, copied and shown, or none."""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hallmark.schemas.documents.notice import notice_file
from hallmark.tasks.installation.signing import digest
from hallmark.tasks.site.folder import SiteRefused, refuse_foreign, whole_site
from hallmark.tasks.site.pages import Entry, catalogue_page, release_page
from hallmark.tasks.site.published import Published, release_folders, superseded
from hallmark.tasks.verification import signature_of

PAGE = "index.html"
FILES = "files"
"""The folder beside a release's page, with the release's own files."""

_LONGEST = 1_000  # characters of a notice


@dataclass(frozen=True, kw_only=True)
class Site:
    """What was made.

    Attributes:
        page: the catalogue.
        releases: their names.
        withdrawn: of which no file is offered.
    """

    page: Path
    releases: tuple[str, ...]
    withdrawn: tuple[str, ...]


def make_site(
    places: Sequence[Path],
    out: Path,
    *,
    key: Path | None = None,
    withdrawn: Mapping[str, str] | None = None,
) -> Site:
    """Make the site of all published releases in some places, in one step.

    Args:
        places: release folders, or folders that hold some.
        out: the site's folder; one that was made before is replaced.
        key: the agency's public key (PEM), to check who signed.
        withdrawn: notices by the names of releases that are withdrawn: they stay listed, with the
            notice and without their files.
    Raises:
        NotPublished: a folder is no published release, or fails its verification.
        SiteRefused: the site cannot be written there, or does not suit the releases.
    """
    refuse_foreign(out)
    folders = list(release_folders(places))
    _refuse_within(out, folders)
    notices = dict(withdrawn or {})
    releases = [Published.of(folder, key, notices) for folder in folders]
    _refuse_names([one.release for one in releases], notices)
    replaced = superseded(releases)
    names = [one.release for one in releases]
    entries = [
        Entry(release=one, superseded_by=by, leads_there=by in names)
        for one in releases
        for by in (replaced.get(one.release, ""),)
    ]
    with whole_site(out) as draft:
        for entry in entries:
            folder = draft / entry.release.release
            folder.mkdir()
            if not entry.release.withdrawn:
                _copy(entry.release, folder / FILES)
            for notice in entry.release.notices:
                name = notice_file(notice.release, notice.kind)
                shutil.copyfile(entry.release.folder.parent / name, folder / name)
            (folder / PAGE).write_text(release_page(entry), encoding="utf-8")
        (draft / PAGE).write_text(catalogue_page(entries), encoding="utf-8")
    return Site(
        page=out / PAGE,
        releases=tuple(one.release for one in releases),
        withdrawn=tuple(one.release for one in releases if one.withdrawn),
    )


def _copy(release: Published, to: Path) -> None:
    """Copy what was published of a release, and nothing else that lies in its folder.

    Raises:
        SiteRefused: a file was changed since it was verified.
    """
    to.mkdir()
    manifest = release.documents.manifest
    for name in release.files:
        shutil.copyfile(release.folder / name, to / name)
    changed = [name for name, one in manifest.files.items() if digest(to / name) != one.sha256]
    if changed or not signature_of(to).ok:
        raise SiteRefused(
            f"{release.folder} changed while the site was made, so nothing was written; start again"
        )


def _refuse_within(out: Path, folders: Sequence[Path]) -> None:
    """Refuse a place within a release, whose verification a further file would break."""
    at = out.resolve()
    for folder in folders:
        if at.is_relative_to(folder.resolve()):
            raise SiteRefused(f"{out} lies in the release folder {folder}; give another --out")


def _refuse_names(names: Sequence[str], notices: Mapping[str, str]) -> None:
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise SiteRefused(f"release {twice[0]} is given twice; leave one of its folders out")
    for name, notice in notices.items():
        if name not in names:
            raise SiteRefused(
                f"{name!r} is to be shown as withdrawn, but is none of the releases: "
                f"{', '.join(names)}"
            )
        if not 3 <= len(notice) <= _LONGEST:
            raise SiteRefused(
                f"the notice of {name} has {len(notice):,} characters; say in 3 to {_LONGEST:,} "
                "why it was withdrawn"
            )
