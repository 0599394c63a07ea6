"""What a source and its independently readable parts are. Every field may be shown."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from hallmark.schemas.columns.number_marks import NumberMarks
from hallmark.schemas.columns.recoding import Recode
from hallmark.schemas.encoding import UTF_8
from hallmark.schemas.table_sections import FileFormat
from hallmark.tasks.installation.errors import PrivateFact

_OF_PANDAS = {"", "__index_level_0__"}  # how it names the index of a frame, in CSV and in Parquet
BATCH_ROWS = 250_000
LabelledFormat = Literal["sav", "dta", "sas7bdat", "xpt"]
MOST_COLUMNS = 2**15  # of a file; a spec has some hundred
PART_ROWS = 4 * BATCH_ROWS  # about as many a worker reads as one part


class SourceError(PrivateFact):
    """The private table cannot be read as the spec says; the message is safe to show."""


@dataclass(frozen=True, kw_only=True)
class DatabaseTable:
    """A table or a query in the PostgreSQL database at a source's location."""

    table: str | None = None  # schema.table
    query: str | None = None  # a single SELECT
    partition_column: str | None = None  # of whole numbers
    credentials: str | None = None  # name of a Prefect Secret block
    expected_rows: int  # public estimate
    snapshot: str | None = None  # that the process which runs the flow holds open


class Recoded(NamedTuple):
    """A column whose codes become others as they are read."""

    name: str
    rule: Recode
    uncovered: str  # what a code becomes that the rule does not cover, which is no category


@dataclass(frozen=True, kw_only=True)
class Source:
    """How to read a table."""

    location: str  # local path or fsspec URL of a file or a folder, or URL of a database
    format: FileFormat | None = None  # None: by the suffix
    sheet: str | None = None  # of a workbook; None: its only one
    delimiter: str = ","
    encoding: str = UTF_8  # of CSV
    null_markers: tuple[str, ...]
    columns: tuple[str, ...]  # read, in this order
    own_markers: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of columns, in place of the others
    marks: tuple[tuple[str, NumberMarks], ...] = ()  # of columns whose numbers CSV writes otherwise
    numbers: tuple[tuple[str, tuple[tuple[int, str], ...]], ...] = ()  # of categories, by column
    recodes: tuple[Recoded, ...] = field(default=(), repr=False)  # may be of 100,000 codes
    optional: tuple[str, ...] = ()  # read, after the others, where they are there
    ignored: tuple[str, ...] = ()  # known to be there, never read
    others_ignored: bool = False  # whether columns beyond these may be there, never read
    options: tuple[tuple[str, str | bool], ...] = ()  # of the file system, none of them secret
    database: DatabaseTable | None = None  # None: files
    batch_rows: int = BATCH_ROWS  # read at once, at most


@dataclass(frozen=True, kw_only=True)
class FilePart:
    """A file, or row groups of a Parquet file."""

    source: Source
    path: str
    format: FileFormat
    row_groups: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Rows whose key lies in [low, high); None is no bound, and rows without a key come first."""

    key: str | None  # the partition column; None: the row's place in the table
    low: int | None
    high: int | None


@dataclass(frozen=True, kw_only=True)
class DatabasePart:
    """A stretch of the rows of a table or a query; all of them where there is none."""

    source: Source
    # Dask logs the arguments of a task that failed, and the bounds are values of private rows.
    stretch: Stretch | None = field(default=None, repr=False)


Part: TypeAlias = FilePart | DatabasePart


def told_of(place: str, message: str) -> str:
    """The message of a `SourceError` on a file that is not the spec's own source, but at `place`.

    The spec says how it is read, but not where it is, so that the file must suit it.
    """
    message = message.replace("set data.format to csv or parquet", "let it end in .csv or .parquet")
    message = re.sub(r"; (say|fix) data\.sheet\b.*", ", as the spec says", message)
    message = re.sub(r"; check data\.format", "; name it by what it is", message)
    message = re.sub(r"; say data\.encoding\b.*", ", as data.encoding of the spec says", message)
    message = re.sub(r"; (say|fix) data\.delimiter\b.*", ", as the spec says", message)
    return re.sub(r"\bdata\.source", place, message)


def known_name(name: str, source: Source) -> str:
    """The name without spaces around it, unless the spec has them too."""
    known = (*source.columns, *source.optional, *source.ignored)
    return name if name in known else name.strip()


def with_optional(source: Source, names: Sequence[str]) -> Source:
    """The source whose columns are those that must be there, and the optional ones that are."""
    found = [name for name in source.optional if name in names]
    return replace(source, columns=(*source.columns, *found), optional=()) if found else source


def column_problems(source: Source, names: Sequence[str], *, shown: bool = False) -> str:
    """What is wrong with the columns that are there, in words; empty where nothing is.

    Args:
        shown: whether messages may show the names of unknown columns.
    """
    missing = [name for name in source.columns if name not in names]
    read = (*source.columns, *source.optional)
    repeated = [name for name in read if names.count(name) > 1]
    known = {*read, *source.ignored}
    unknown = [] if source.others_ignored else [name for name in names if name not in known]
    problems = []
    # Told only where the rest is as it should be: in a file without a header line an empty name
    # would be a person's missing value.
    if not missing and unknown and not {*unknown} - _OF_PANDAS:
        listed = ", ".join(f'"{name}"' for name in dict.fromkeys(unknown))
        problems.append(
            "it has a column that holds the index of a pandas frame; write the table without it "
            f"(index=False), or say data.ignore: [{listed}]"
        )
        unknown = []
    if missing:
        problems.append(f"it lacks the columns {', '.join(missing)}")
    if repeated:
        problems.append(f"it has the columns {', '.join(repeated)} more than once")
    if unknown and shown:
        problems.append(
            f"it has the columns {', '.join(unknown)}, which the spec does not name (list them "
            "under columns, or under data.ignore)"
        )
    elif unknown:
        problems.append(
            f"it has {len(unknown)} columns that the spec does not name (list them under columns, "
            "or under data.ignore; their names are not shown, since without a header line they "
            "would be a record)"
        )
    return "; ".join(problems)
