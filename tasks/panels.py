"""Histories of the synthetic people of a panel, from the releases of its periods."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from hallmark.mechanisms.privacy.presence import Period, name_of, period
from hallmark.schemas.documents.manifest import MANIFEST_FILE, PANEL_FILE, PERSONS_FILE, SPEC_FILE
from hallmark.schemas.documents.panel import PanelFile
from hallmark.schemas.loading import load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.signing import digest
from hallmark.tasks.output.released import typed_values
from hallmark.tasks.panel import persons_of
from hallmark.tasks.verification.as_signed import as_signed
from hallmark.tasks.verification.in_use import told_superseded


class NoPanel(SafeError):
    """Folders are not the releases of consecutive periods of one panel."""


def panel(folders: Sequence[Path]) -> pd.DataFrame:
    """All records of the releases, each with its `person` and `period`.

    Records of a person stand together in the order of the periods. Columns about the period before
    are left out: where that period is among the releases, its record says the same. The frame's
    `attrs["notes"]` say which releases were superseded.

    Args:
        folders: releases of consecutive periods of a panel, in any order, one for each period.
    Raises:
        NoPanel: a folder is no release of a panel, two are about one period, a period is missing,
            or one goes on from another release than the one that is given.
        NotAsSigned: the files of a folder are not those that were signed.
        NotInUse: one was withdrawn, or a notice beside it is not the agency's.
    """
    notes = [note for folder in folders for note in told_superseded(folder)]
    opened = dict(sorted(_opened(folder) for folder in folders))
    if len(opened) < len(folders):
        raise NoPanel("two of the releases are about the same period; name the one that went on")
    frames: list[pd.DataFrame] = []
    last: tuple[Period, Path] | None = None
    for number, folder in opened.items():
        spec = load_spec(folder / SPEC_FILE, is_published=True)
        if last is not None:
            _refuse_gap(*last, number, folder)
        frames.append(_records(folder, spec, number))
        last = number, folder
    together = pd.concat(frames, ignore_index=True)
    first = pd.Series(together.index).groupby(together["person"]).transform("first")
    made = together.iloc[first.argsort(kind="stable")].reset_index(drop=True)
    made.attrs["notes"] = tuple(notes)
    return made


def _opened(folder: Path) -> tuple[Period, Path]:
    if not (folder / PERSONS_FILE).is_file():
        raise NoPanel(
            f"{folder} is not a release of a panel: it has no {PERSONS_FILE}, which series.panel "
            "in its spec asks for (docs/series.md)"
        )
    as_signed(folder)
    series = load_spec(folder / SPEC_FILE, is_published=True).series
    if series is None:
        raise NoPanel(f"{folder} states no period (series.period in its spec)")
    return period(series.period), folder


def _refuse_gap(last: Period, before: Path, number: Period, folder: Path) -> None:
    if (number.length, number.number) != (last.length, last.number + 1):
        raise NoPanel(
            f"{folder} is not about the period after that of {before}, {name_of(last)}; name the "
            "releases of all periods between"
        )
    told = PanelFile.model_validate_json((folder / PANEL_FILE).read_bytes()).continues
    if told is None:
        raise NoPanel(f"a new panel begins with {folder}; name it and later releases alone")
    if told.manifest != digest(before / MANIFEST_FILE):
        raise NoPanel(
            f"the people of {folder} go on from release {told.release}, and not from {before} as "
            "it is; name the release that they go on from"
        )


def _records(folder: Path, spec: ReleaseSpec, number: Period) -> pd.DataFrame:
    values = typed_values(spec, folder / spec.data_files[spec.output.formats[0]])
    lagged = [] if spec.series is None else list(spec.series.lagged)
    values = values.drop(columns=lagged)
    values.insert(0, "person", persons_of(folder)["person"])
    values.insert(1, "period", name_of(number))
    return values
