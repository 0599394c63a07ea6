"""Specs that are begun for a file somebody uploaded, as `hallmark init` begins them."""

import re
from contextlib import suppress

from hallmark.flows.desk import drafts
from hallmark.schemas.section import IDENTIFIER
from hallmark.schemas.skeleton import skeleton_from_dictionary, skeleton_from_names
from hallmark.schemas.source_text import with_keys
from hallmark.schemas.table_sections import format_by_name
from hallmark.tasks.dictionaries.apart import read_apart
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


def begun(table: Place | None, name: str, dictionary: Place | None = None) -> str:
    """The text of a spec for a table, which says how it is written if somebody confirmed that, with
    what a dictionary says of its columns.

    Raises:
        DictionaryError: it is none.
        SkeletonError: no skeleton can be made of them.
        SafeError: the columns of the table cannot be read, or neither was chosen.
    """
    text = _skeleton(table, dictionary)
    return re.sub(r"(?m)^release: .*$", f"release: {name}", text, count=1)


def proposed_name(place: Place) -> str:
    """A name for a release of a file, from the file's own; empty where that gives none."""
    stem = place.name.lower().partition(".")[0]
    name = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")
    if re.fullmatch(IDENTIFIER, name) is not None:
        with suppress(SafeError):
            refuse_taken(name)
            return name
    return ""


def _skeleton(table: Place | None, dictionary: Place | None) -> str:
    given = None if dictionary is None else read_apart(dictionary.file)
    if table is not None and not table.is_table:
        if given is not None:
            raise SafeError("both files are dictionaries; choose a table, or one of them alone")
        given, table = read_apart(table.file), None
    if table is None:
        if given is None:
            raise SafeError(
                "upload a spec, or choose one of the tables or a dictionary; nothing was begun"
            )
        return skeleton_from_dictionary(given)
    known = table.upload
    form = (None if known is None else known.form) or {}
    if not form and format_by_name(table.name) in ("csv", "parquet"):
        return skeleton(table.file, tables_folder(), given)
    seen = look(table.file, form)  # which may break on it, as this process must not
    if not seen.columns:
        raise SafeError(f"the columns of {table.name} cannot be read: {seen.refusal}")
    text = skeleton_from_names(seen.columns, path=table.name, source=table.source, dictionary=given)
    return with_keys(text, form)
