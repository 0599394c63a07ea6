"""The noisy tables of a series' earlier releases, read to help make the records of the next.

They are found in the folder of releases by their names. Which were found is kept in the workspace,
so that a run which is resumed makes the same records although another has been published since.
Nothing here sees private data, and what is asked of them does not depend on it: a file that
somebody put there could make records worse, not less private.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
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
    kept = job.workspace.path / _KEPT
    found = list(_found(job.out, prepared.spec.release, series.period))[-MOST_PERIODS:]
    if kept.exists():
        found = list(_as_kept(json.loads(kept.read_text()), found))
    else:
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


def _found(out: Path, release: str, current: str) -> Iterator[_Found]:
    """Published releases about earlier periods, of each the last revision, in order.

    Raises:
        EarlierRefused: the measurements of one are not those that its manifest lists.
    """
    form, now = siblings(release, current), period(current)
    revisions: dict[int, tuple[int, Path]] = {}
    for folder in out.iterdir() if out.is_dir() else ():
        match = form.fullmatch(folder.name)
        if match is None or not (folder / MEASUREMENTS_FILE).is_file():
            continue
        number, revision = period(match["period"]).number, int(match["revision"] or 0)
        if number < now.number and revision >= revisions.get(number, (0, folder))[0]:
            revisions[number] = (revision, folder)
    for number, (_, folder) in sorted(revisions.items()):
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
        yield _Found(number, folder, listed)


def _as_kept(kept: Mapping[str, str], found: Sequence[_Found]) -> Iterator[_Found]:
    """Those of the releases that an earlier run found.

    Raises:
        EarlierRefused: one is missing, or has changed.
    """
    there = {one.folder.name: one for one in found}
    for name, measurements in kept.items():
        if name not in there or there[name].measurements != measurements:
            raise EarlierRefused(
                f"series.learn: release {name} helped an earlier run of this release, and "
                f"{'has changed' if name in there else 'is no longer there'}; put it back as it "
                "was published. No budget is lost: run again with --resume"
            )
        yield there[name]


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
    period_of = EarlierPeriod(number, tuple(_tables(file, codec)), _total(file))
    return period_of, _unlike(file, codec)


def _unlike(file: MeasurementFile, codec: TableCodec) -> tuple[str, ...]:
    """Columns whose codes do not mean what they meant then, or that there were not."""
    return tuple(
        one.name for one in codec.codecs if file.codes.get(one.name) != list(cell_labels(one))
    )


def _tables(file: MeasurementFile, codec: TableCodec) -> Iterator[EarlierTable]:
    """Tables of all combinations of groups of codes, of columns whose codes mean the same."""
    unlike = {codec.names.index(name) for name in _unlike(file, codec)}
    for table in file.tables:
        if not unlike & set(table.columns) and (grid := _grid(table)) is not None:
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
