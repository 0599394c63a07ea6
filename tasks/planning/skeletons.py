"""The skeleton of a spec for a table or a data dictionary, whatever kind of file it is."""

import os
from pathlib import Path

import pyarrow as pa

from hallmark.schemas.given_dictionary import DictionaryError, GivenDictionary
from hallmark.schemas.given_files import opened
from hallmark.schemas.skeleton import (
    SkeletonError,
    skeleton_from_columns,
    skeleton_from_dictionary,
    skeleton_from_header,
    skeleton_from_names,
)
from hallmark.schemas.table_sections import format_by_name
from hallmark.tasks.dictionaries import read_dictionary
from hallmark.tasks.installation.signing import digest
from hallmark.tasks.planning.likeness import Likeness
from hallmark.tasks.planning.private_tables import private_like
from hallmark.tasks.sources import Source, SourceError
from hallmark.tasks.sources.files import column_names
from hallmark.tasks.sources.parquet_bounds import footer
from hallmark.tasks.sources.texts import Unbounded

DICTIONARIES = (".json", ".xml")
"""Ends of names that no table has: such a file is a dictionary."""


def dictionary_of(path: Path, table: Path | None = None) -> GivenDictionary:
    """What a data dictionary says, which is no private table.

    Args:
        table: whose columns it describes.
    Raises:
        DictionaryError: it is no dictionary, or it is that table, or a private one.
    """
    found = read_dictionary(path)
    like = Likeness(frozenset({digest(path)}))
    if (table is not None and path.samefile(table)) or private_like(like) is not None:
        raise DictionaryError(f"{path}: is a private table; give the dictionary of its columns")
    return found


def skeleton(source: Path, spec_folder: Path, dictionary: GivenDictionary | None = None) -> str:
    """YAML text of a spec; of a table only the column names are read.

    Args:
        source: a file that tables are read from, or a data dictionary in JSON or DDI.
        spec_folder: where relative sources of the spec start.
        dictionary: what is said of the columns of a table.
    Raises:
        DictionaryError: the source is no sound dictionary.
        SkeletonError: no skeleton can be made from it.
    """
    located = os.path.relpath(source, spec_folder)  # a spec names its data relative to itself
    match source.suffix.lower():
        case suffix if suffix in DICTIONARIES:
            if dictionary is not None:
                raise SkeletonError(
                    f"{source}: is a data dictionary, too; give a table, or one dictionary alone"
                )
            return skeleton_from_dictionary(read_dictionary(source))
        case ".parquet" | ".pq":
            try:
                with opened(source) as file:
                    names = footer(file).schema.to_arrow_schema().names
            except (OSError, pa.ArrowException, Unbounded):
                raise SkeletonError(
                    f"{source}: cannot be read as a Parquet file; give one, or a data dictionary"
                ) from None
            return skeleton_from_columns(names, source=located, dictionary=dictionary)
        case _ if format_by_name(source.name) in (None, "csv"):
            return skeleton_from_header(source, source=located, dictionary=dictionary)
    try:
        names = column_names(Source(location=str(source), null_markers=(), columns=()))
    except SourceError as error:
        raise SkeletonError(str(error)) from None
    return skeleton_from_names(names, path=source, source=located, dictionary=dictionary)
