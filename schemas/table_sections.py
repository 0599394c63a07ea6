"""The sections of a release spec that say where a table is, and how to read it."""

from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, WithJsonSchema, field_validator

from hallmark.schemas.columns.column_base import Code
from hallmark.schemas.columns.interval_columns import gives_days
from hallmark.schemas.columns.number_marks import DECIMAL_MARKS, THOUSANDS
from hallmark.schemas.database import (
    BlockName,
    ColumnName,
    Query,
    TableName,
    check_url,
    is_database,
)
from hallmark.schemas.encoding import UTF_8, Encoding
from hallmark.schemas.section import Problem, Section

MOST_ROWS = 10**12  # of a table; more is a typing error

FileFormat = Literal["csv", "parquet", "xlsx", "sav", "dta", "sas7bdat", "xpt"]
"""A format that tables are read from."""

FORMAT_NAMES: dict[FileFormat, str] = {
    "csv": "CSV",
    "parquet": "Parquet",
    "xlsx": "Excel",
    "sav": "SPSS",
    "dta": "Stata",
    "sas7bdat": "SAS",
    "xpt": "SAS transport",
}
"""What people call the formats."""

FORMATS_BY_SUFFIX: dict[str, FileFormat] = {
    **{form: form for form in get_args(FileFormat)},
    "pq": "parquet",
    "xlsm": "xlsx",
    "zsav": "sav",
}
"""The format that the last suffix of a file's name says, in lower case and without its dot."""


class StorageOptions(Section):
    """How to reach an object store; keys and tokens come from the store's environment variables."""

    endpoint_url: str | None = None
    """the address of a self-hosted object store, such as http://minio:9000"""
    anon: bool | None = None
    """true to read a public store without signing in"""
    project: str | None = None
    """the project of a Google Cloud store"""
    account_name: str | None = None
    """the account of an Azure store"""

    @field_validator("endpoint_url")
    @classmethod
    def _check_endpoint(cls, url: str | None) -> str | None:
        if url is not None and ("@" in url or "?" in url):
            raise ValueError("contains a user or query, which may be secret; give host and port")
        return url


class TableFile(Section):
    """A table in a file or a folder of parts: where it is, and how to read it."""

    source: str = Field(min_length=1)
    """a file (CSV, Parquet, Excel, SPSS, Stata or SAS) or a folder of CSV or Parquet parts:
    relative to the spec, absolute, or an fsspec URL"""
    storage_options: StorageOptions | None = None
    """public options of the object store: endpoint_url, anon, project, account_name"""
    format: FileFormat | None = None
    """csv, parquet, xlsx (Excel), sav (SPSS), dta (Stata), sas7bdat or xpt (SAS), if the suffix
    does not say which"""
    sheet: str | None = Field(default=None, min_length=1)
    """the sheet of an Excel workbook that holds the table; needed if there are several"""
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    """the character between two values of a CSV file"""
    encoding: Encoding | None = None
    """the character encoding of a CSV file, such as latin-1, windows-1252 or utf-16; defaults to
    UTF-8"""
    null_markers: tuple[Code, ...] = ("",)
    """texts that stand for a missing value, such as [N, ""], in columns that have no null_markers
    themselves"""

    @field_validator("source")
    @classmethod
    def _check_source(cls, source: str) -> str:
        protocol, separator, rest = source.partition("://")
        if "::" in source or (separator and not protocol.isalnum()):
            raise ValueError("chains several file systems; give one path or URL")
        if separator and ("@" in rest.partition("/")[0] or "?" in rest):
            raise ValueError(
                "contains a user or query, which may be secret, but the spec is published; give "
                "credentials through the file system's environment variables instead"
            )
        return source

    @property
    def file_format(self) -> FileFormat | None:
        """The format as stated, or else by the suffix; None for a folder, whose parts decide."""
        return self.format or format_by_name(self.source)

    @property
    def characters(self) -> str:
        """The character encoding of a CSV file; UTF-8 unless stated."""
        return self.encoding or UTF_8

    @property
    def options(self) -> tuple[tuple[str, str | bool], ...]:
        """Options of the file system, by name."""
        given = self.storage_options
        return () if given is None else tuple(given.model_dump(exclude_none=True).items())

    def located(self, folder: Path) -> str:
        """The source as a URL or a path, for a spec in `folder`."""
        return self.source if "://" in self.source else str(folder / self.source)


def format_by_name(source: str) -> FileFormat | None:
    """The format that the end of a file's name says; None where it says none."""
    match [suffix.lower().lstrip(".") for suffix in PurePosixPath(source).suffixes]:
        case [*_, "csv", "gz"]:
            return "csv"
        case [*_, last]:
            return FORMATS_BY_SUFFIX.get(last)
    return None


class DataSource(TableFile):
    """The private table: a file, a folder of parts, or a table or query of a database."""

    source: str = Field(min_length=1)
    """a file (CSV, Parquet, Excel, SPSS, Stata or SAS) or a folder of CSV or Parquet parts
    (relative to the spec, absolute, or an fsspec URL), or a PostgreSQL database such as
    postgresql://host:5432/census"""
    decimal_mark: Annotated[str, WithJsonSchema({"enum": list(DECIMAL_MARKS)})] | None = None
    """the decimal mark of a CSV file, . or , in numeric columns that have no decimal_mark
    themselves"""
    thousands: Annotated[str, WithJsonSchema({"enum": list(THOUSANDS)})] | None = None
    """the thousands separator of a CSV file, such as " " or . in numeric columns that have no
    thousands themselves"""
    date_format: str | None = None
    """how days are written, in strftime codes such as %d/%m/%Y, in date columns that have no format
    themselves"""
    table: TableName | None = None
    """the table of the database, as schema.table"""
    query: Query | None = None
    """instead of a table, a single SELECT that returns the columns"""
    partition_column: ColumnName | None = None
    """a column of whole numbers, ideally with an index, by which the rows are divided among the
    workers; needed for a large query, whereas a table is divided by its pages"""
    credentials: BlockName | None = None
    """the name of the Prefect Secret block that holds user and password; defaults to credentials
    from the environment"""
    expected_rows: int = Field(ge=1, le=MOST_ROWS)
    """a public estimate of the number of rows, used for planning only"""
    record: str = Field(min_length=1)
    """what one row stands for, in words, such as one person"""
    ignore: tuple[str, ...] = ()
    """columns of the file that are dropped and never read"""

    @property
    def in_database(self) -> bool:
        """Whether the table is in a database rather than in files."""
        return is_database(self.source)

    def _problems(self) -> Iterator[Problem]:
        if self.decimal_mark not in (None, *DECIMAL_MARKS):
            yield Problem(("decimal_mark",), f"is {self.decimal_mark!r}; give . or ,")
        if self.thousands not in (None, *THOUSANDS):
            yield Problem(
                ("thousands",), f"is {self.thousands!r}; give one of . , ' ’ _ or a space in quotes"
            )
        elif self.thousands is not None and self.thousands == (self.decimal_mark or "."):
            yield Problem(
                ("thousands",), f"is {self.thousands!r}, and so is the decimal mark; change one"
            )
        if self.date_format is not None and not gives_days(self.date_format):
            yield Problem(
                ("date_format",),
                f"{self.date_format!r} does not give year, month and day; "
                "write it in strftime codes, such as %Y-%m-%d or %d/%m/%Y",
            )
        yield from self._database_problems()

    def _database_problems(self) -> Iterator[Problem]:
        if not self.in_database:
            for key in ("table", "query", "partition_column", "credentials"):
                if getattr(self, key) is not None:
                    yield Problem(
                        (key,),
                        "is for databases, but data.source is a file; remove it, or give a "
                        "data.source like postgresql://host:5432/database",
                    )
            return
        try:
            check_url(self.source)
        except ValueError as error:
            yield Problem(("source",), str(error))
        if (self.table is None) == (self.query is None):
            both = self.table is not None
            yield Problem(
                ("query",) if both else ("source",),
                "is given together with data.table; keep one of the two"
                if both
                else "is a database; add data.table, such as public.persons, or data.query",
            )
        for key in (*_OF_FILES, "storage_options"):
            if key in self.model_fields_set:
                yield Problem((key,), "is for files, but data.source is a database; remove it")


_OF_FILES = ("format", "sheet", "delimiter", "encoding", "decimal_mark", "thousands")

_COLUMN_KEYS = {
    "numeric": {"decimal_mark": "decimal_mark", "thousands": "thousands"},
    "date": {"date_format": "format"},
}
"""By type of column, which of its keys have a default in the section `data`, by the name there."""

_IS_SOUND: dict[str, Callable[[Any], bool]] = {  # what is not is reported in `data` alone
    "decimal_mark": lambda value: value in DECIMAL_MARKS,
    "thousands": lambda value: value in THOUSANDS,
    "date_format": lambda value: isinstance(value, str) and gives_days(value),
}


def with_defaults_of_file(content: Any) -> Any:
    """The content of a spec in which columns say what `data` says for all of them.

    What is no spec yet is left as it is: the sections say what is wrong with it.
    """
    if not isinstance(content, dict):
        return content
    data, columns = content.get("data"), content.get("columns")
    if not isinstance(data, dict) or not isinstance(columns, dict):
        return content
    return content | {"columns": {name: _filled(one, data) for name, one in columns.items()}}


def _filled(column: Any, data: dict[str, Any]) -> Any:
    if not isinstance(column, dict) or not isinstance(column.get("type"), str):
        return column
    keys = _COLUMN_KEYS.get(column["type"], {})
    given = {key: data[name] for name, key in keys.items() if _IS_SOUND[name](data.get(name))}
    if given.get("thousands") == column.get("decimal_mark", given.get("decimal_mark", ".")):
        del given["thousands"]  # the column's own mark comes first
    return given | column


class UnprotectedTable(TableFile):
    """A table in files, of which nothing is protected."""

    @field_validator("source")
    @classmethod
    def _check_file(cls, source: str) -> str:
        if is_database(source):
            raise ValueError("is a database; write the public table to a file, and name the file")
        return source


class PublicData(UnprotectedTable):
    """A public table with the released columns, which a mechanism may use freely.

    Columns of the file that are not released are not read. Nothing in it is protected.
    """

    reference: str = Field(min_length=1)
    """where the table is published, so that a reviewer can check that it is public"""
    rows: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    """how many rows to read, from the first; defaults to all"""


class RehearsalData(UnprotectedTable):
    """A table with the columns of the private table, to rehearse the release on.

    Nothing in it is protected: rehearsals are charged to nobody.
    """

    kind: Literal["public", "made-up"]
    """public for a published table, or made-up for a table that describes no real people"""
    reference: str = Field(min_length=1)
    """where the table is published, or how it was made"""
