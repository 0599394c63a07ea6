"""What changed since the period before, in words: what is told, and what cannot be."""

from collections.abc import Iterator, Sequence

from hallmark.schemas.documents.audit_changes import Changed, ComparedTable
from hallmark.tasks.rendering.wording import listed, number, percent

_NAMED = 12  # columns in a sentence


def changes_in_words(changed: Changed) -> Iterator[str]:
    """Sentences about what changed, what may have changed unseen, and what is not compared."""
    if changed.why_not:
        yield f"Nothing is compared with an earlier period: {changed.why_not}."
        return
    since = f"the period {changed.earlier_period} (release {changed.release})"
    if changed.changed:
        yield (
            f"Since {since}, these columns changed beyond the noise: "
            f"{listed(changed.changed, _NAMED)}. With {percent(changed.confidence)} confidence, "
            "all that is said to have changed, risen or fallen did, as the two tables were counted."
        )
    else:
        yield f"Since {since}, no change of a column was told apart from the noise."
    if changed.nothing_seen:
        yield _unseen(changed.nothing_seen, changed)
    if changed.untold:
        names = [one.column for one in changed.untold]
        yield f"Not compared at all: {listed(names, _NAMED)}; whether they changed is not known."
    apart = [one.column for one in changed.tables if one.not_compared]
    if apart:
        yield (
            f"Of {listed(apart, _NAMED)}, some cells are not compared, since the two releases do "
            "not count the same there."
        )


def _unseen(tables: Sequence[ComparedTable], changed: Changed) -> str:
    """What a finding that nothing was seen leaves open."""
    least, most = (points(pick(one.seen_from for one in tables)) for pick in (min, max))
    where = (
        f"{most} or more of all records"
        if least == most
        else f"{least} to {most} of all records, which depends on the column,"
    )
    names = [one.column for one in tables]
    return (
        f"Nothing was seen in {listed(names, _NAMED)}. That does not mean that nothing changed: "
        f"only a change of a cell's share by {where} would have been seen with at least "
        f"{percent(changed.confidence)} probability, and smaller ones may be there."
    )


def points(share: float) -> str:
    """A change of a share, rounded up, as in `2.5 points`."""
    return f"{number(100 * share, 3, up=True)} points"
