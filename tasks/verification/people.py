"""Whether the files of a panel say of every record whom it continues, as its values do."""

from collections.abc import Iterator
from pathlib import Path

from hallmark.schemas.documents.manifest import PANEL_FILE, PERSONS_FILE
from hallmark.schemas.documents.panel import PanelFile
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.output.released import released_values
from hallmark.tasks.panel import persons_of
from hallmark.tasks.verification.documents import Unsound, sound


def people_faults(folder: Path, spec: ReleaseSpec, rows: int) -> Iterator[str]:
    """Where they do not.

    Args:
        rows: of the release.
    """
    assert spec.series is not None, "it is a release of a panel"
    try:
        told = sound(folder / PANEL_FILE, PanelFile.model_validate_json)
        people = persons_of(folder)
    except (Unsound, OSError, ValueError) as error:
        yield f"they cannot be read ({error})"
        return
    person, before = people["person"], people["before"]
    continuing = before.notna()
    if len(people) != rows:
        yield f"{PERSONS_FILE} has {len(people)} rows, and there are {rows} records"
        return
    if person.isna().any() or person.duplicated().any():
        yield "not every record has a person of its own"
    if before.dropna().duplicated().any() or (before.dropna() < 1).any():
        yield "an earlier record is continued twice, or is none"
    if (told.continuing, told.new) != (int(continuing.sum()), int((~continuing).sum())):
        yield f"{PANEL_FILE} counts others than {PERSONS_FILE} names"
    if told.continues is None and continuing.any():
        yield f"{PANEL_FILE} does not name the release that is continued"
    own = person == [f"{spec.series.period}-{row}" for row in range(1, rows + 1)]
    if (own == continuing).any():
        yield "people are not named by the period and record in which they were new"
    for name in list(spec.series.lagged)[:1] if spec.rehearsal_of is None else ():
        data = folder / spec.data_files[spec.output.formats[0]]
        if (released_values(spec, data)[name].notna() != continuing).any():
            yield f"{name} is not null for new people alone"
