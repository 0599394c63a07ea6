"""Specs that are begun for a file somebody uploaded, as `hallmark init` begins them."""

import re
from contextlib import suppress

from hallmark.flows.desk import drafts
from hallmark.schemas.section import IDENTIFIER
from hallmark.schemas.skeleton import skeleton_from_names
from hallmark.schemas.source_text import with_keys
from hallmark.schemas.table_sections import format_by_name
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.planning.places import tables_folder
from hallmark.tasks.planning.skeletons import skeleton
from hallmark.tasks.planning.uploads import Place
from hallmark.tasks.sources.look import look


def refuse_taken(name: str) -> None:
    """Refuse a name that a spec has, or none can have.

    Raises:
        SafeError: it is one.
    """
    if drafts.file_of(name).exists():
        raise SafeError(f"there is a spec {name!r} already; open it, or choose another name")


def begun(place: Place, name: str) -> str:
    """The text of a spec for a file, which says how it is written if somebody confirmed that.

    Raises:
        SkeletonError: none can be made of it.
        SafeError: its columns cannot be read.
    """
    return re.sub(r"(?m)^release: .*$", f"release: {name}", _skeleton(place), count=1)


def proposed_name(place: Place) -> str:
    """A name for a release of a file, from the file's own; empty where that gives none."""
    stem = place.name.lower().partition(".")[0]
    name = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")
    if re.fullmatch(IDENTIFIER, name) is not None:
        with suppress(SafeError):
            refuse_taken(name)
            return name
    return ""


def _skeleton(place: Place) -> str:
    known = place.upload
    form = (None if known is None else known.form) or {}
    if not place.is_table or (not form and format_by_name(place.name) in ("csv", "parquet")):
        return skeleton(place.file, tables_folder())
    seen = look(place.file, form)  # which may break on it, as this process must not
    if not seen.columns:
        raise SafeError(f"the columns of {place.name} cannot be read: {seen.refusal}")
    return with_keys(skeleton_from_names(seen.columns, path=place.name, source=place.source), form)
