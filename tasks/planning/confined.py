"""What a spec that is written at the desk may name: files that are kept for it, and nothing else.

Whoever writes specs at the desk need not be trusted with this machine. A spec could otherwise name
any file of it, whose lines a plan shows as categories; machines that get to see the records; or a
server that is sent the credentials of a database. So its table lies in the folder of uploaded
tables, or in that of the agency (`HALLMARK_DATA`); everything that it declares public was uploaded
as public; where releases run is for the profile to say. Specs that need more are registered by
whoever runs the installation (`hallmark deploy --spec`).
"""

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from hallmark.schemas.yaml_document import Unreadable, read_document
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.planning.places import PUBLIC, public_folder, tables_folder

DATA = "HALLMARK_DATA"
"""Variable: the absolute folder of the agency's private tables."""


class SpecConfined(SafeError):
    """A spec names something that a spec of the desk may not."""


def refuse_beyond(spec: Path) -> None:
    """Refuse a spec, complete or not, that names more than the desk keeps for it.

    The file is read as `load_spec` reads it, so that both see the same keys.

    Raises:
        SpecConfined: it does; each line names a key.
    """
    try:
        content = read_document(spec).content
    except Unreadable:
        return  # loading it says what is wrong
    if problems := list(_beyond(content)):
        raise SpecConfined("\n".join(problems))


def _beyond(content: dict[str, Any]) -> Iterator[str]:
    if content.get("cluster") is not None:
        yield "cluster: is not for a spec of the desk to say; the profile names it"
    output = content.get("output")
    if isinstance(output, dict) and output.get("table") is not None:
        yield "output.table: is not for a spec of the desk; load the published file instead"
    data = content.get("data")
    if isinstance(data, dict):
        sources = data.get("source")
        for source in sources if isinstance(sources, list) else [sources]:
            if source is not None and not _is_private_table(source):
                yield (
                    f"data.source: must be a table that was uploaded at the desk, or lie in {DATA}"
                    "; for databases and stores have the spec registered by hallmark deploy --spec"
                )
    for section in ("public_data", "rehearsal"):
        part = content.get(section)
        if isinstance(part, dict) and part.get("source") is not None:
            yield from _unless_public(part["source"], f"{section}.source")
    for path, file in _files(content, ()):
        yield from _unless_public(file, path)


def _files(content: Any, at: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Every value of a key `file`, with its path."""
    if isinstance(content, list):
        for number, value in enumerate(content):
            yield from _files(value, (*at, str(number)))
    elif isinstance(content, dict):
        for key, value in content.items():
            if key == "file":
                yield ".".join((*at, "file")), value
            else:
                yield from _files(value, (*at, str(key)))


def _unless_public(file: Any, path: str) -> Iterator[str]:
    parts = PurePosixPath(file).parts if isinstance(file, str) else ()
    named = len(parts) == 2 and parts[0] == PUBLIC and parts[1] != ".." and "\0" not in file
    if not named or not _lies_in(tables_folder() / file, [public_folder()]):
        yield f"{path}: must be a file that was uploaded as public, such as {PUBLIC}/codes.csv"


def _is_private_table(source: Any) -> bool:
    if not isinstance(source, str) or "://" in source or "\0" in source:
        return False
    folders = [tables_folder()]
    if named := os.environ.get(DATA):
        folders.append(Path(named))
    return _lies_in(tables_folder() / source, folders)


def _lies_in(place: Path, folders: Sequence[Path]) -> bool:
    """Whether a file, or a folder with all that is in it, lies in one of the folders, wherever
    links lead."""
    found = [place, *(Path(at, one) for at, *inside in os.walk(place) for one in chain(*inside))]
    allowed = [folder.resolve() for folder in folders]
    ends = (Path(os.path.realpath(one)) for one in found)  # also of a link that leads to itself
    return all(any(folder in end.parents for folder in allowed) for end in ends)
