"""Two specs of a series: the map that makes their codes the same, and how else they differ."""

from collections.abc import Iterator, Mapping, Set

import numpy as np

from hallmark.mechanisms.arrays import Counts
from hallmark.schemas.columns.category_columns import CategoryColumn
from hallmark.schemas.columns.columns import Column
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.series import siblings
from hallmark.tasks.changes.common_cells import common_cells
from hallmark.tasks.changes.recoding import Recoding


def recoding_between(before: ReleaseSpec, after: ReleaseSpec) -> Recoding:
    """The later spec's public map (`series.recode`) of the codes of an earlier one of its series.

    Columns that have the later codes already are not in it, nor codes that the earlier spec lacks.
    """
    if after.series is None or period_of(before, after) is None:
        return {}
    found = {}
    for name, codes in after.series.recode.items():
        old = before.columns.get(name)
        if not isinstance(old, CategoryColumn) or same_codes(old, after.columns[name]):
            continue
        if (kept := codes.only(old.codes)) is not None:
            found[name] = kept
    return found


def period_of(before: ReleaseSpec, after: ReleaseSpec) -> str | None:
    """The period of a release by its name, as another of its series has its own; None if it is of
    no such series. Its spec need not say so: it may be older than series are."""
    if after.series is None:
        return None
    match = siblings(after.release, after.series.period).fullmatch(before.release)
    return None if match is None else match["period"]


def same_codes(before: Column, after: Column) -> bool:
    """Whether both have the same codes with the same labels in the same order."""
    return (
        isinstance(before, CategoryColumn)
        and isinstance(after, CategoryColumn)
        and list(before.categories.items()) == list(after.categories.items())
    )


def misfit(spec: ReleaseSpec, earlier: Mapping[str, ReleaseSpec], told: Set[str]) -> str | None:
    """Why a spec's public map does not fit the codes of earlier releases of its series; None if it
    does. Releases that have the spec's own codes need no map.

    Args:
        earlier: all earlier releases, by their names.
        told: the names of those that are to tell something.
    """
    assert spec.series is not None, "it has a map"
    for name, codes in spec.series.recode.items():
        new = spec.columns[name]
        assert isinstance(new, CategoryColumn), "the spec is sound"
        coded = {
            release: column
            for release, one in earlier.items()
            if isinstance(column := one.columns.get(name), CategoryColumn)
        }
        for release in sorted(told & coded.keys()):
            old = coded[release]
            lost = [code for code in old.codes if codes.renamed(code) not in new.codes]
            if lost and not same_codes(old, new):
                return (
                    f"series.recode.{name}: says nothing of {lost[0]!r}, which {release} has and "
                    "this period has not; say which code it became"
                )
        known = {code for column in coded.values() for code in column.codes}
        if coded and (unknown := codes.unknown_old(known)):
            return (
                f"series.recode.{name}: has {unknown[0]!r} on the left, which is none of the codes "
                f"of {', '.join(sorted(coded))}; give earlier codes on the left, and this period's "
                "on the right"
            )
    return None


def new_cells(
    name: str, before: ReleaseSpec, after: ReleaseSpec, recoding: Recoding
) -> Counts | None:
    """The later release's cell for every cell of a column in the earlier one; None unless all cells
    of either are cells of the other."""
    cells = common_cells(name, before.columns[name], after.columns[name], recoding[name])
    if cells.alone or cells.after is not None:
        return None
    own = before.columns[name]
    return np.arange(own.levels + own.nulls) if cells.before is None else cells.before


def about_the_tables(before: ReleaseSpec, after: ReleaseSpec) -> Iterator[str]:
    """What a reader of changes must know of two tables, whatever is asked of them."""
    yield (
        "intervals are about the two private tables as they were counted; that tables are samples, "
        "or hold some of the same persons, is in none of them"
    )
    counted = [of.privacy.max_records for of in (before, after)]
    if counted[0] != counted[1]:
        yield (
            f"of a person, at most {counted[0]} records count in the earlier table and "
            f"{counted[1]} in the later one, which alone may change every answer"
        )
