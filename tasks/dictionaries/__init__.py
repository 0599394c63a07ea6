"""Data dictionaries that people have, read as what they say of columns: JSON, sheets, and DDI.

A dictionary may be somebody else's file, and hostile: sizes are limited, no entity is expanded and
no document type is read, and messages name a place in it. It is public; no private table is opened
here.
"""

from pathlib import Path

from hallmark.schemas.given_dictionary import DictionaryError, GivenDictionary, from_json
from hallmark.tasks.dictionaries.ddi import from_ddi
from hallmark.tasks.dictionaries.sheets import from_csv, from_workbook

READERS = {
    ".json": from_json,
    ".xml": from_ddi,
    ".csv": from_csv,
    ".xlsx": from_workbook,
    ".xlsm": from_workbook,
}
"""By the end of its name, what reads a dictionary."""


def read_dictionary(path: Path) -> GivenDictionary:
    """What a data dictionary says.

    Raises:
        DictionaryError: it is none, or too large; the message says where.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise DictionaryError(
            f"{path}: is not named like a data dictionary; give a DDI codebook (.xml), a sheet "
            "(.xlsx or .csv) or JSON (.json)"
        )
    return reader(path)
