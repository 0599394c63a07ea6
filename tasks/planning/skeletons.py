"""The skeleton of a spec for a table or a data dictionary, whatever kind of file it is."""

import os
from pathlib import Path

import pyarrow as pa

from hallmark.schemas.given_files import opened
from hallmark.schemas.skeleton import (
    SkeletonError,
    skeleton_from_columns,
    skeleton_from_dictionary,
    skeleton_from_header,
    skeleton_from_names,
)
from hallmark.schemas.table_sections import format_by_name
from hallmark.tasks.sources import Source, SourceError
from hallmark.tasks.sources.files import column_names
from hallmark.tasks.sources.parquet_bounds import footer
from hallmark.tasks.sources.texts import Unbounded


def skeleton(source: Path, spec_folder: Path) -> str:
    """YAML text of a spec; of a table only the column names are read.

    Args:
        source: a file that tables are read from, or a data dictionary in JSON.
        spec_folder: where relative sources of the spec start.
    Raises:
        SkeletonError: no skeleton can be made from it.
    """
    located = os.path.relpath(source, spec_folder)  # a spec names its data relative to itself
    match source.suffix.lower():
        case ".json":
            return skeleton_from_dictionary(source)
        case ".parquet" | ".pq":
            try:
                with opened(source) as file:
                    names = footer(file).schema.to_arrow_schema().names
            except (OSError, pa.ArrowException, Unbounded):
                raise SkeletonError(
                    f"{source}: cannot be read as a Parquet file; give one, or a data dictionary"
                ) from None
            return skeleton_from_columns(names, source=located)
        case _ if format_by_name(source.name) in (None, "csv"):
            return skeleton_from_header(source, source=located)
    try:
        names = column_names(Source(location=str(source), null_markers=(), columns=()))
    except SourceError as error:
        raise SkeletonError(str(error)) from None
    return skeleton_from_names(names, path=source, source=located)
