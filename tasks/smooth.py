"""A smoothed series of past tables, from the published noisy tables of all periods."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd

from hallmark.mechanisms.domain.cliques import title
from hallmark.mechanisms.marginals.smoothing import SmoothedTable, common_groups, smoothed
from hallmark.mechanisms.privacy.presence import Period, name_of, period
from hallmark.schemas.documents.manifest import MEASUREMENTS_FILE, SPEC_FILE
from hallmark.schemas.loading import load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.visible import visible
from hallmark.tasks.earlier import measured_in
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.planning.coding import TableCodec, cell_labels, group_labels
from hallmark.tasks.questions.release import refuse_confidence
from hallmark.tasks.verification.as_signed import as_signed
from hallmark.tasks.verification.in_use import NotInUse, successors


class CannotSmooth(SafeError):
    """Folders are no releases of one series."""


@dataclass(frozen=True, eq=False)
class SmoothedSeries:
    """A revised series of past tables.

    Attributes:
        frame: one row for a cell of a table in a period: `columns`, `cell`, `period`, `share` with
            `low` and `high`, and from the second period on `change` from the one before with
            `change_low` and `change_high`, and `told`: rose or fell, where intervals say so that
            hold for all cells of the table and period at once.
        broken: tables that are not what other periods made probable, by the period's name.
        left_out: columns whose codes are not the same in all periods.
        replaced: releases in whose place others were used, with their notices.
    """

    frame: pd.DataFrame
    broken: dict[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    replaced: tuple[str, ...]


def smooth(folders: Sequence[Path], *, confidence: float = 0.95) -> SmoothedSeries:
    """Smooth the tables that all releases of a series have measured.

    Args:
        folders: releases of the series, in any order, one for each period. In the place of one
            that was superseded, the release that its notice names is used.
        confidence: of every interval by itself.
    Raises:
        CannotSmooth: fewer than two releases, or two of one period; a folder is no release, states
            no period, or has no noisy tables; or no table is common to all.
        CannotAsk: the confidence is not between 0 and 1.
        NotInUse: releases were withdrawn, or notices beside them are not the agency's; names all.
        NotAsSigned: the files of a folder are not those that were signed.
    """
    refuse_confidence(confidence)
    specs: dict[Period, tuple[Path, ReleaseSpec]] = {}
    used, replaced = _in_use(folders)
    for folder in used:
        number, spec = _opened(folder)
        if number in specs:
            raise CannotSmooth(
                f"{folder} and {specs[number][0]} are about the same period; name the revised one"
            )
        specs[number] = folder, spec
    if len(specs) < 2:
        raise CannotSmooth("name the releases of at least two periods of a series")
    last = max(specs)
    spec = specs[last][1]
    codec = TableCodec.of(spec.columns)
    read = [measured_in(specs[number][0], number.number, spec) for number in sorted(specs)]
    unlike = sorted({name for one in read for name in one.unlike})
    periods = [one.period for one in read]
    shape = list(codec.domain.shape)
    labels = [cell_labels(one) for one in codec.codecs]
    tables = [(one, labels) for one in smoothed(periods, shape)]
    groups = common_groups(periods)
    if groups:
        in_groups = list(labels)
        for column, of in groups.items():
            in_groups[column] = group_labels(codec.codecs[column], of)
            shape[column] = len(in_groups[column])
        together = smoothed([one.on_bins(groups) for one in periods], shape)
        tables += [
            (one, in_groups)
            for one in together
            if len(one.columns) > 1 and not groups.keys().isdisjoint(one.columns)
        ]
    if not tables:
        raise CannotSmooth(
            "no table of the same codes, or groups of codes, was measured in all of these releases"
        )
    names = [name_of(number) for number in sorted(specs)]
    frame = pd.concat(
        [_rows(one, codec.names, of, names, confidence) for one, of in tables], ignore_index=True
    )
    broken: dict[str, list[str]] = {}
    for one, _ in tables:
        for broke in one.broken:
            when = name_of(Period(last.length, broke))
            broken.setdefault(when, []).append(title(one.columns, codec.names))
    return SmoothedSeries(
        frame=frame,
        broken={name: tuple(broken[name]) for name in sorted(broken)},
        left_out=tuple(unlike),
        replaced=replaced,
    )


def _in_use(folders: Sequence[Path]) -> tuple[list[Path], tuple[str, ...]]:
    """The folders of what is used, and what was replaced.

    Raises:
        NotInUse: as of `smooth`.
    """
    used: list[Path] = []
    replaced: dict[str, None] = {}
    refused: list[str] = []
    given = {folder.absolute() for folder in folders}
    for folder in folders:
        try:
            chain = list(successors(folder))
        except NotInUse as error:
            refused.append(str(error))
            continue
        replaced |= {f"{one.release} was {visible(one.words)}": None for one, _ in chain}
        last = chain[-1][1] if chain else folder
        if not chain or last not in given:  # else it is used already
            used.append(last)
            given.add(last)
    if refused:
        raise NotInUse("; ".join(refused))
    return used, tuple(replaced)


def _opened(folder: Path) -> tuple[Period, ReleaseSpec]:
    if not (folder / SPEC_FILE).is_file():
        raise CannotSmooth(f"{folder} is not a release folder: it has no {SPEC_FILE}")
    as_signed(folder)
    spec = load_spec(folder / SPEC_FILE, is_published=True)
    if spec.series is None:
        raise CannotSmooth(f"{folder} states no period (series.period in its spec)")
    if not (folder / MEASUREMENTS_FILE).is_file():
        raise CannotSmooth(f"{folder} has no {MEASUREMENTS_FILE}, from which it could be smoothed")
    return period(spec.series.period), spec


def _rows(
    one: SmoothedTable,
    columns: Sequence[str],
    labels: Sequence[Sequence[str]],
    periods: Sequence[str],
    confidence: float,
) -> pd.DataFrame:
    cells = [" x ".join(cell) for cell in product(*(labels[column] for column in one.columns))]
    normal, missed = NormalDist(), (1 - confidence) / 2
    wide, widest = -normal.inv_cdf(missed), -normal.inv_cdf(missed / len(cells))
    levels, moved = one.deviations * wide, one.change_deviations * wide
    frames = []
    for t, name in enumerate(periods):
        share = one.shares[t].ravel()
        frame = pd.DataFrame(
            {
                "columns": title(one.columns, columns),
                "cell": cells,
                "period": name,
                "share": share,
                "low": share - levels[t],
                "high": share + levels[t],
            }
        )
        if t:
            change = one.changes[t - 1].ravel()
            frame["change"] = change
            frame["change_low"] = change - moved[t - 1]
            frame["change_high"] = change + moved[t - 1]
            clear = np.abs(change) > one.change_deviations[t - 1] * widest
            frame["told"] = np.where(clear, np.where(change > 0, "rose", "fell"), "")
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)
