"""The noisy tables of a series' earlier releases, read to help make the records of the next.

They are found in the folder of releases by their names. Which were found is kept in the workspace,
so that a run which is resumed makes the same records although another has been published since.
Nothing here sees private data, and what is asked of them does not depend on it: a file that
somebody put there could make records worse, not less private.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.earlier import Earlier, EarlierPeriod, EarlierTable
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.marginals.foretelling import MOST_PERIODS
from hallmark.mechanisms.privacy.presence import period
from hallmark.schemas.documents.manifest import MEASUREMENTS_FILE
from hallmark.schemas.series import siblings
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import whole
from hallmark.tasks.job import Job
from hallmark.tasks.output.measurements import MeasurementFile, read_measurements
from hallmark.tasks.planning.coding import TableCodec, cell_labels
from hallmark.tasks.planning.prepare import learning
from hallmark.tasks.planning.prepared import EarlierRelease, PreparedRelease
from hallmark.tasks.verification.documents import Unsound, read_manifest

_KEPT = "earlier.json"


class EarlierRefused(SafeError):
    """An earlier release cannot be read, or is not what it was when the run began."""


@dataclass(frozen=True)
class _Found:
    """A release about an earlier period."""

    number: int
    folder: Path
    measurements: str  # SHA-256


def with_earlier(job: Job) -> Job:
    """The job with what earlier periods measured, where its spec asks for that.

    Raises:
        EarlierRefused: the release of an earlier period cannot be read, or has changed since an
            earlier run of this one.
    """
    prepared = job.prepared
    series = prepared.spec.series
    if series is None or not series.learn or not isinstance(prepared, PreparedRelease):
        return job
    form = siblings(prepared.spec.release, series.period)
    kept = job.workspace.path / _KEPT
    if kept.exists():
        found = list(_as_kept(job.out, form, json.loads(kept.read_text())))
    else:
        folders = last_revisions(job.out, form, series.period, MEASUREMENTS_FILE)[-MOST_PERIODS:]
        found = [_opened(folder, form) for folder in folders]
        with whole(kept) as draft:
            draft.write_text(json.dumps({one.folder.name: one.measurements for one in found}))
    codec = prepared.codec
    periods, releases = [], []
    for one in found:
        measured, unlike = measured_in(one.folder, one.number, codec)
        periods.append(measured)
        releases.append(EarlierRelease(one.folder.name, one.measurements, unlike))
    earlier = Earlier(period(series.period).number, tuple(periods))
    return replace(job, prepared=learning(prepared, earlier, tuple(releases)))


def last_revisions(out: Path, form: re.Pattern[str], current: str, holding: str) -> list[Path]:
    """Folders of releases about earlier periods, of each the last revision, in order.

    Args:
        form: of their names (`schemas.series.siblings`).
        holding: a file that they have.
    """
    now = period(current)
    revisions: dict[int, tuple[int, Path]] = {}
    for folder in out.iterdir() if out.is_dir() else ():
        match = form.fullmatch(folder.name)
        if match is None or not (folder / holding).is_file():
            continue
        try:
            number, revision = period(match["period"]).number, int(match["revision"] or 0)
        except ValueError:
            continue  # such as a 30 February, which no release is about
        if number < now.number and revision >= revisions.get(number, (0, folder))[0]:
            revisions[number] = (revision, folder)
    return [folder for _, (_, folder) in sorted(revisions.items())]


def _opened(folder: Path, form: re.Pattern[str]) -> _Found:
    """The release in a folder.

    Raises:
        EarlierRefused: its measurements are not those that its manifest lists.
    """
    try:
        listed = read_manifest(folder).files[MEASUREMENTS_FILE].sha256
    except (Unsound, KeyError) as error:
        raise EarlierRefused(
            f"series.learn: {folder} is no whole release ({error}); put it back as it was "
            "published, or move it away. No budget is lost: run again with --resume"
        ) from error
    if sha256((folder / MEASUREMENTS_FILE).read_bytes()).hexdigest() != listed:
        raise EarlierRefused(
            f"series.learn: {folder / MEASUREMENTS_FILE} is not the file that the release's "
            "manifest lists; put it back as it was published. No budget is lost: run again "
            "with --resume"
        )
    match = form.fullmatch(folder.name)
    assert match is not None, "it was found by its name"
    return _Found(period(match["period"]).number, folder, listed)


def _as_kept(out: Path, form: re.Pattern[str], kept: Mapping[str, str]) -> Iterator[_Found]:
    """The releases that an earlier run found, whatever was published since.

    Raises:
        EarlierRefused: one is missing, or has changed.
    """
    for name, measurements in kept.items():
        is_there = (out / name / MEASUREMENTS_FILE).is_file()
        one = _opened(out / name, form) if is_there else None
        if one is None or one.measurements != measurements:
            raise EarlierRefused(
                f"series.learn: release {name} helped an earlier run of this release, and "
                f"{'has changed' if is_there else 'is no longer there'}; put it back as it "
                "was published. No budget is lost: run again with --resume"
            )
        yield one


def measured_in(
    folder: Path, number: int, codec: TableCodec
) -> tuple[EarlierPeriod, tuple[str, ...]]:
    """What the release in a folder measured, in the codes of another of its series; and the columns
    whose codes meant something else, which are left out.

    Args:
        number: of the period that it is about.
    Raises:
        MeasurementsUnreadable: the measurements are not in this version's format.
    """
    file = read_measurements(folder / MEASUREMENTS_FILE, codec.names)
    unlike = _unlike(file, codec)
    return EarlierPeriod(number, tuple(_tables(file, codec, unlike)), _total(file)), unlike


def _unlike(file: MeasurementFile, codec: TableCodec) -> tuple[str, ...]:
    """Columns whose codes do not mean what they meant then, or that there were not."""
    return tuple(
        one.name for one in codec.codecs if file.codes.get(one.name) != list(cell_labels(one))
    )


def _tables(
    file: MeasurementFile, codec: TableCodec, unlike: Collection[str]
) -> Iterator[EarlierTable]:
    """Tables of all combinations of groups of codes, without those of columns that are `unlike`."""
    left_out = {codec.names.index(name) for name in unlike}
    for table in file.tables:
        if not left_out & set(table.columns) and (grid := _grid(table)) is not None:
            yield grid


def _grid(table: MeasuredTable) -> EarlierTable | None:
    """A table as an array over groups of codes; None if its answers are not all such counts."""
    plain = table.margin(table.columns, whole=False)
    if plain is None:
        return None
    groups = [np.unique(of, return_inverse=True)[1] for of in plain.tables]
    shape = [int(of.max()) + 1 for of in groups]
    return EarlierTable(
        columns=plain.columns,
        groups=tuple(groups),
        counts=plain.answers.reshape(shape).astype(np.float64),
        sigma=plain.sigma,
    )


def _total(file: MeasurementFile) -> float:
    """The number of records: public, or as all tables that count each once tell it."""
    if file.total is not None:
        return float(max(1, file.total))
    told: list[Floats] = []
    for table in file.tables:
        if (grid := _grid(table)) is not None:
            told.append(np.array([grid.counts.sum(), 1 / (grid.sigma**2 * grid.counts.size)]))
    if not told:
        return 1.0
    sums, precisions = np.array(told).T
    return max(1.0, float(sums @ precisions / precisions.sum()))
