"""The releases of a series' earlier periods, found to learn from them and to tell what changed.

They are found in the folder of releases by their names. Which were found is kept in the workspace,
so that a run which is resumed makes the same records although another has been published since.
Nothing here sees private data, and what is asked of them does not depend on it: a file that
somebody put there could make records worse, not less private.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.earlier import Earlier, EarlierPeriod, EarlierTable
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.marginals.foretelling import MOST_PERIODS
from hallmark.mechanisms.privacy.presence import period
from hallmark.schemas.documents.manifest import MEASUREMENTS_FILE, SPEC_FILE
from hallmark.schemas.loading import load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.series import siblings
from hallmark.tasks.changes.periods import misfit, new_cells, recoding_between
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.signing import key_for
from hallmark.tasks.installation.workspace import home, whole
from hallmark.tasks.job import Job
from hallmark.tasks.output.measurements import MeasurementFile, read_measurements
from hallmark.tasks.planning.coding import TableCodec, cell_labels
from hallmark.tasks.planning.prepare import learning
from hallmark.tasks.planning.prepared import EarlierRelease, PreparedRelease
from hallmark.tasks.questions.release import OpenRelease
from hallmark.tasks.verification.documents import Unsound, read_manifest
from hallmark.tasks.verification.in_use import NotInUse, Withdrawn, superseded
from hallmark.tasks.verification.notices import KnownKeys, own_keys

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
    """The job with the release about the period before, and what earlier periods measured, where
    its spec asks for that.

    Raises:
        EarlierRefused: the release of an earlier period cannot be read, or has changed since an
            earlier run of this one; or its codes are not those that `series.recode` has.
        MeasurementsUnreadable: its noisy tables are not in this version's format.
    """
    prepared = job.prepared
    series = prepared.spec.series
    if series is None:
        return job
    learns = series.learn and isinstance(prepared, PreparedRelease)
    form = siblings(prepared.spec.release, series.period)
    kept = job.workspace.path / _KEPT
    if kept.exists():
        found = list(_as_kept(job.out, form, json.loads(kept.read_text())))
    else:
        known = own_keys(key_for(prepared.spec, home()).fingerprint)
        folders = last_revisions(job.out, form, series.period, MEASUREMENTS_FILE, known)
        found = [_opened(one, form) for one in folders[-MOST_PERIODS if learns else -1 :]]
        _refuse_misfit(prepared.spec, found, folders)
        with whole(kept) as draft:
            draft.write_text(json.dumps({one.folder.name: one.measurements for one in found}))
    if found:
        job = replace(job, previous=found[-1].folder)
        # What the report could not read is refused before anything is asked.
        _ = OpenRelease.of(found[-1].folder).measurements
    if not learns:
        return job
    assert isinstance(prepared, PreparedRelease), "it learns"
    read = [measured_in(one.folder, one.number, prepared.spec) for one in found]
    earlier = Earlier(period(series.period).number, tuple(one.period for one in read))
    releases = tuple(
        EarlierRelease(one.folder.name, one.measurements, its.unlike, its.recoded)
        for one, its in zip(found, read, strict=True)
    )
    return replace(job, prepared=learning(prepared, earlier, releases))


def last_revisions(
    out: Path, form: re.Pattern[str], current: str, holding: str, known: KnownKeys
) -> list[Path]:
    """Folders of releases about earlier periods, of each the last revision, in order; none of a
    period whose last revision was withdrawn.

    Args:
        form: of their names (`schemas.series.siblings`).
        holding: a file that they have.
        known: keys of the agency, whose notices count.
    Raises:
        EarlierRefused: beside one lies a notice that is not the agency's.
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
    last = (folder for _, (_, folder) in sorted(revisions.items()))
    return [folder for folder in last if not _is_withdrawn(folder, known)]


def _is_withdrawn(folder: Path, known: KnownKeys) -> bool:
    try:
        superseded(folder, known)
    except Withdrawn:
        return True
    except NotInUse as error:
        raise EarlierRefused(
            f"series: {error}. No budget is lost: run again with --resume"
        ) from None
    return False


def _opened(folder: Path, form: re.Pattern[str]) -> _Found:
    """The release in a folder.

    Raises:
        EarlierRefused: its spec or measurements are not those that its manifest lists.
    """
    try:
        files = read_manifest(folder).files
        listed = {name: files[name].sha256 for name in (SPEC_FILE, MEASUREMENTS_FILE)}
    except (Unsound, KeyError) as error:
        raise EarlierRefused(
            f"series: {folder} is no whole release ({error}); put it back as it was "
            "published, or move it away. No budget is lost: run again with --resume"
        ) from error
    for name, digest in listed.items():
        path = folder / name
        if not path.is_file() or sha256(path.read_bytes()).hexdigest() != digest:
            raise EarlierRefused(
                f"series: {path} is not the file that the release's manifest lists; put it back "
                "as it was published. No budget is lost: run again with --resume"
            )
    match = form.fullmatch(folder.name)
    assert match is not None, "it was found by its name"
    return _Found(period(match["period"]).number, folder, listed[MEASUREMENTS_FILE])


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
                f"series: release {name} helped an earlier run of this release, and "
                f"{'has changed' if is_there else 'is no longer there'}; put it back as it "
                "was published. No budget is lost: run again with --resume"
            )
        yield one


def _refuse_misfit(spec: ReleaseSpec, found: Sequence[_Found], every: Sequence[Path]) -> None:
    """Refuse a public map that does not fit the codes of earlier releases.

    Args:
        found: the releases that are to tell something.
        every: folders of all earlier ones.
    Raises:
        EarlierRefused: it does not fit.
    """
    if spec.series is None or not spec.series.recode:
        return
    earlier = {folder.name: load_spec(folder / SPEC_FILE, is_published=True) for folder in every}
    why = misfit(spec, earlier, {one.folder.name for one in found})
    if why is not None:
        raise EarlierRefused(f"{why}. No budget is lost: run again with --resume")


@dataclass(frozen=True, eq=False)
class Measured:
    """What a release about another period of a series measured.

    Attributes:
        period: in the cells of this release.
        unlike: columns that are left out, since their codes meant something else.
        recoded: columns whose codes became those of this release by its public map.
    """

    period: EarlierPeriod
    unlike: tuple[str, ...]
    recoded: tuple[str, ...]


def measured_in(folder: Path, number: int, spec: ReleaseSpec) -> Measured:
    """What the release in a folder measured, in the codes of another of its series.

    Args:
        number: of the period that it is about.
        spec: of the other.
    Raises:
        MeasurementsUnreadable: the measurements are not in this version's format.
    """
    codec = TableCodec.of(spec.columns)
    before = load_spec(folder / SPEC_FILE, is_published=True)
    gone = tuple(name for name in before.columns if name not in codec.names)
    names = (*codec.names, *gone)
    file = read_measurements(folder / MEASUREMENTS_FILE, names)
    unlike = {o.name for o in codec.codecs if file.codes.get(o.name) != list(cell_labels(o))}
    cells: dict[int, Counts] = {}
    if unlike and spec.series is not None and spec.series.recode:
        recoding = recoding_between(before, spec)
        for name in sorted(unlike & recoding.keys() & file.codes.keys()):
            if (become := new_cells(name, before, spec, recoding)) is not None:
                cells[codec.names.index(name)] = become
    recoded = {codec.names[column] for column in cells}
    left_out = {names.index(name) for name in {*unlike, *gone} - recoded}
    tables = _tables(file, left_out)
    return Measured(
        EarlierPeriod(number, tuple(one.recoded(cells) for one in tables), _total(file)),
        tuple(name for name in codec.names if name in unlike - recoded),
        tuple(name for name in codec.names if name in recoded),
    )


def _tables(file: MeasurementFile, left_out: AbstractSet[int]) -> Iterator[EarlierTable]:
    """Tables of all combinations of groups of codes, without those of some columns."""
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
