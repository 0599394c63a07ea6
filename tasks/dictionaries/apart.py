"""Read a data dictionary that was uploaded, in a process of its own (`tasks.sources.apart`)."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hallmark.schemas.given_dictionary import DictionaryError, GivenColumn, GivenDictionary
from hallmark.tasks.sources.apart import asked_apart


def read_apart(file: Path) -> GivenDictionary:
    """What a data dictionary says.

    Raises:
        DictionaryError: it is none, or too large, or broke its reader; the message names the file
            without its folder.
    """
    found = asked_apart(_read, __package__, {"path": str(file.absolute())})
    if found is None:
        raise DictionaryError(
            f"{file.name}: took too much memory or time, or is so damaged that its reader broke; "
            "save it again, or as CSV, and upload it again"
        )
    if "refusal" in found:
        raise DictionaryError(found["refusal"])
    columns = {name: GivenColumn(**told) for name, told in found["columns"].items()}
    return GivenDictionary(file=found["file"], columns=columns, missing=found["missing"])


def _read(asked: Mapping[str, Any]) -> Any:
    from hallmark.tasks.dictionaries import read_dictionary

    path = Path(asked["path"])
    try:
        return asdict(read_dictionary(path))
    except DictionaryError as error:
        return {"refusal": str(error).replace(str(path), path.name)}
