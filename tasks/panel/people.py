"""Records made for a period, linked to those of the period before; and the files that say how."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hallmark.mechanisms.contract import SyntheticMeasure
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.linking import NEW, link
from hallmark.schemas.documents.manifest import PANEL_FILE, PERSONS_FILE
from hallmark.schemas.documents.panel import PanelContinued, PanelFile
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.workspace import whole
from hallmark.tasks.panel.past import PERSON, past_kept

PANEL = "people_of_the_period_before"
"""In the history: the fields of `PanelFile`."""
BEFORE = "before"
_LINKS = "panel-links.npy"


def linked(
    synthetic: SyntheticMeasure,
    spec: ReleaseSpec,
    rules: Rules,
    folder: Path,
    rng: np.random.Generator,
) -> SyntheticMeasure:
    """The records, each with what it says of the period before from the record that it continues.

    In a rehearsal, which has no period before, records stay what they are.

    Args:
        folder: of the workspace, where the records of the period before are kept, and where it is
            left which of them each record continues.
    Raises:
        PastRefused: the period before has values that this one's columns do not.
    """
    if spec.series is None or not spec.series.lagged or (kept := past_kept(folder)) is None:
        return synthetic
    past = kept.coded(spec)
    found = link(np.asarray(synthetic.codes, dtype=np.int32), rules, past, rng)
    with whole(folder / _LINKS) as draft, draft.open("wb") as handle:
        np.save(handle, found.before)
    continuing = int((found.before != NEW).sum())
    told = PanelFile(
        continues=PanelContinued(**asdict(kept.continued)),
        continuing=continuing,
        new=len(found.before) - continuing,
        left=len(kept.persons) - continuing,
        moved=found.moved,
        differs=found.differs,
    )
    history = {**synthetic.history, PANEL: told.model_dump(mode="json")}
    return replace(synthetic, codes=found.codes, history=history)


def with_values_before(
    frame: pd.DataFrame, spec: ReleaseSpec, folder: Path, start: int
) -> pd.DataFrame:
    """Records in which columns about the period before hold what the continued records hold.

    A value of its own would be another one of the same cell.

    Args:
        frame: values of records from the `start`-th on.
    """
    if spec.series is None or not spec.series.lagged or (kept := past_kept(folder)) is None:
        return frame
    before = _links(folder)[start : start + len(frame)]
    held = {}
    for name, lag in spec.series.lagged.items():
        values = kept.values[lag.held].iloc[np.maximum(before, 0)].reset_index(drop=True)
        held[name] = values.mask(before == NEW).astype(frame[name].dtype)
    return frame.assign(**held)


def write_people(spec: ReleaseSpec, folder: Path, history: Any, rows: int, out: Path) -> None:
    """Write, for a release of a panel, whose records its records continue; nothing for others.

    Args:
        folder: of the workspace.
        history: of the records.
        rows: records.
        out: where the files are written.
    """
    if spec.series is None or not people_files(spec):
        return
    kept, before = past_kept(folder), np.full(rows, NEW)
    if PANEL in history:
        before = _links(folder)
    own = pd.Series(np.arange(1, rows + 1)).map(lambda row: f"{spec.series.period}-{row}")
    persons = own
    if kept is not None:
        theirs = kept.persons.iloc[np.maximum(before, 0)].reset_index(drop=True)
        persons = own.where(before == NEW, theirs)
    places = pd.Series(before + 1, dtype="Int64").mask(before == NEW)
    pd.DataFrame({PERSON: persons, BEFORE: places}).to_csv(out / PERSONS_FILE, index=False)
    told = PanelFile.model_validate(history.get(PANEL, {"new": rows}))
    (out / PANEL_FILE).write_text(told.model_dump_json(indent=2) + "\n")


def people_files(spec: ReleaseSpec) -> tuple[str, ...]:
    """Files that say which records of periods are one person's; none without a panel."""
    is_panel = spec.series is not None and spec.series.panel is not None
    return (PANEL_FILE, PERSONS_FILE) if is_panel else ()


def persons_of(folder: Path) -> pd.DataFrame:
    """Of every record of a release, in order, the `person`, and the number of the record that it
    continues, `before`, from 1 on; null for new people.

    Raises:
        OSError, ValueError: there is no such file, or it is another one.
    """
    table = pd.read_csv(
        folder / PERSONS_FILE, dtype={PERSON: "str", BEFORE: "Int64"}, keep_default_na=True
    )
    if list(table.columns) != [PERSON, BEFORE]:
        raise ValueError(f"{PERSONS_FILE} has other columns than {PERSON} and {BEFORE}")
    return table


def _links(folder: Path) -> NDArray[np.int64]:
    found: NDArray[np.int64] = np.load(folder / _LINKS, allow_pickle=False)
    return found
