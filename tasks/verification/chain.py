"""Verify a series: each of its releases, and that they are one series without a gap or a swap.

What this shows beyond the single releases: each release learned from the very releases that lie
here, every revision is announced by a signed notice, no period is published before its embargo
ends, and what the releases cost fits what the account says that their periods have taken. What it
cannot show: that a release that is not here was never made.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from hallmark.mechanisms.privacy.accountant import rho
from hallmark.mechanisms.privacy.costs import zcdp_epsilon
from hallmark.mechanisms.privacy.events import events_from_json
from hallmark.mechanisms.privacy.presence import Period, Presence, name_of, period
from hallmark.schemas.documents.audit_privacy import SeriesCharges
from hallmark.schemas.documents.manifest import MEASUREMENTS_FILE
from hallmark.schemas.documents.notice import Notice
from hallmark.schemas.series import revision_of, siblings
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.output.measurements import read_measurements
from hallmark.tasks.verification.documents import (
    Check,
    Documents,
    Unsound,
    read_documents,
    read_manifest,
)
from hallmark.tasks.verification.key_dates import KeysAtHand
from hallmark.tasks.verification.notices import KnownKeys, notices_of
from hallmark.tasks.verification.verify import Verification, verify_release

_ROUNDED_UP = Fraction(1, 1000)  # of what an account comes to, as records state it, relative


class NoSeries(SafeError):
    """Folders whose releases are not of one series, so that nothing can be said of their order."""


@dataclass(frozen=True)
class _Release:
    """A release of a series, whose documents can be read.

    Attributes:
        place: of its period among all periods.
        notices: that count.
    """

    folder: Path
    told: Documents
    place: Period
    notices: tuple[Notice, ...]

    @property
    def name(self) -> str:
        return self.told.manifest.release_id

    @property
    def period(self) -> str:
        return name_of(self.place)

    @property
    def revision(self) -> int:
        return revision_of(self.name)

    @property
    def order(self) -> tuple[int, int]:
        return self.place.number, self.revision

    @property
    def measurements(self) -> str | None:
        """SHA-256 of the noisy tables, if they are published."""
        entry = self.told.manifest.files.get(MEASUREMENTS_FILE)
        return None if entry is None else entry.sha256


@dataclass(frozen=True)
class SeriesVerification:
    """All checks of a series.

    Attributes:
        releases: by the names of their folders, in the order of their periods.
        checks: of what they are together.
    """

    releases: Mapping[str, Verification]
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every check of every release, and of all together, holds."""
        return all(one.ok for one in self.releases.values()) and all(c.ok for c in self.checks)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "ok": self.ok,
            "releases": {name: one.to_json() for name, one in self.releases.items()},
            "checks": [asdict(check) for check in self.checks],
        }


def verify_series(
    folders: Sequence[Path],
    public_key: Path | None = None,
    keys: KeysAtHand | None = None,
    notices: Sequence[Path] = (),
) -> SeriesVerification:
    """Check the releases of a series, and that they fit together.

    Args:
        folders: of all its releases, superseded ones too, in any order.
        public_key, keys: as of `verify_release`.
        notices: folders and files of notices, beside the folders that hold the releases.
    Raises:
        NoSeries: there are fewer than two releases, or they are not of one series.
    """
    if len({folder.resolve() for folder in folders}) < 2:
        raise NoSeries("a series has at least two releases; name their folders")
    found: dict[str, Verification] = {}
    releases: list[_Release] = []
    known = KnownKeys.given(public_key, None if keys is None else keys.register)
    for folder in folders:
        places = [folder.absolute().parent, *notices]
        found[folder.name] = verify_release(folder, public_key, None, keys, places)
        try:
            releases.append(_opened(folder, places, known))
        except Unsound:
            continue  # which its own checks tell
    releases.sort(key=lambda one: one.order)
    _refuse_others(releases)
    ordered = {one.folder.name: found[one.folder.name] for one in releases}
    checks = (
        _check("series", _one_series(releases, keys), _periods_in_words(releases)),
        _check("earlier releases", _links(releases), _links_in_words(releases)),
        _check("revisions", _revisions(releases), _revisions_in_words(releases)),
        _check("embargoes", _embargoes(releases), "all have ended, where there were any"),
        _charges(releases),
        _codes(releases),
    )
    return SeriesVerification({**ordered, **found}, checks)


def _opened(folder: Path, places: Sequence[Path], known: KnownKeys) -> _Release:
    """A release; its notices are none where one does not count, which its own checks tell.

    Raises:
        Unsound: a document cannot be read.
        NoSeries: it is about no period.
    """
    told = read_documents(folder, read_manifest(folder))
    if told.spec.series is None:
        raise NoSeries(f"{folder}: the release is about no period of a series; leave it out")
    try:
        said = notices_of(folder, places, known)
    except Unsound:
        said = []
    return _Release(folder, told, period(told.spec.series.period), tuple(said))


def _refuse_others(releases: Sequence[_Release]) -> None:
    if not releases:
        return
    first = releases[0]
    form = siblings(first.name, first.period)
    for one in releases:
        if form.fullmatch(one.name) is None or one.place.length != first.place.length:
            raise NoSeries(
                f"{one.folder}: release {one.name} is of another series than {first.name}; verify "
                "them apart"
            )
    names = Counter(one.name for one in releases)
    if twice := [name for name, number in names.items() if number > 1]:
        raise NoSeries(f"release {twice[0]} is given twice; leave one of its folders out")


def _check(name: str, faults: Iterable[str], sound: str) -> Check:
    told = list(faults)
    return Check(name, not told, "; ".join(told) or sound)


def _one_series(releases: Sequence[_Release], keys: KeysAtHand | None) -> Iterator[str]:
    """What is not the same in all releases, although it is the series'."""
    signers = dict.fromkeys(one.told.manifest.public_key_fingerprint for one in releases)
    if len(signers) > 1 and keys is None:
        yield (
            f"they are signed with {len(signers)} keys; whether all are the agency's, its register "
            "of keys tells (--keys)"
        )
    for what, values in (
        ("account", [one.told.spec.population.account for one in releases]),
        ("neighbouring relation", [one.told.manifest.privacy.neighbours for one in releases]),
        ("privacy unit", [one.told.manifest.privacy.unit for one in releases]),
    ):
        names = list(dict.fromkeys(map(str, values)))
        if len(names) > 1:
            yield f"the {what} is not the same in all releases: {', '.join(names)}"


def _periods_in_words(releases: Sequence[_Release]) -> str:
    """Which periods there are, which are missing, late, revised or withdrawn."""
    if not releases:
        return "none can be read"
    there = {one.place.number for one in releases}
    length = releases[0].place.length
    first, last = min(there), max(there)
    missing = [name_of(Period(length, n)) for n in range(first, last + 1) if n not in there]
    original = [one for one in releases if not one.revision]
    late = [
        one.period
        for one in original
        if any(
            other.place.number > one.place.number
            and other.told.manifest.created < one.told.manifest.created
            for other in original
        )
    ]
    revised = [one.period for one in releases if one.revision]
    withdrawn = [one.name for one in releases if _withdrawn(one)]
    told = [
        f"{len(there)} {length}s, {name_of(Period(length, first))} to "
        f"{name_of(Period(length, last))}"
    ]
    for what, names in (
        ("missing", missing),
        ("late", late),
        ("revised", list(dict.fromkeys(revised))),
        ("withdrawn", withdrawn),
    ):
        if names:
            told.append(f"{what}: {', '.join(names)}")
    return "; ".join(told)


def _withdrawn(one: _Release) -> bool:
    return any(notice.kind == "withdrawn" for notice in one.notices)


def _links(releases: Sequence[_Release]) -> Iterator[str]:
    """References to earlier releases that are not of the releases that lie here."""
    here = {one.name: one for one in releases}
    for one in releases:
        for earlier in one.told.record.post_processing.earlier:
            found = here.get(earlier.release)
            if found is None:
                continue
            if found.place.number >= one.place.number:
                yield f"{one.name} says that it learned from {found.name}, which is not earlier"
            elif found.measurements != earlier.measurements:
                yield (
                    f"{one.name} learned from another {found.name} than lies here: its noisy "
                    "tables are not those that it names"
                )
            elif found.told.manifest.created > one.told.manifest.created:
                yield f"{one.name} says that it learned from {found.name}, which was made later"


def _links_in_words(releases: Sequence[_Release]) -> str:
    here = {one.name for one in releases}
    named = [earlier for one in releases for earlier in one.told.record.post_processing.earlier]
    absent = sorted({earlier.release for earlier in named} - here)
    untold = [
        one.name
        for one in releases
        if one.told.spec.series is not None
        and one.told.spec.series.learn
        and one.told.record.account.series is None  # of a version that named none by digest
    ]
    told = [f"all {len(named)} references are to the releases that lie here"]
    if absent:
        told = [
            f"{sum(one.release in here for one in named)} references are to the releases that lie "
            f"here; not here: {', '.join(absent)}"
        ]
    if untold:
        told.append(f"of an earlier version, without digests: {', '.join(untold)}")
    return "; ".join(told)


def _revisions(releases: Sequence[_Release]) -> Iterator[str]:
    """Revisions that no notice announces, and notices that announce none."""
    by_period: dict[int, list[_Release]] = defaultdict(list)
    for one in releases:
        by_period[one.place.number].append(one)
    for same in by_period.values():
        for before, after in pairwise(same):
            named = [notice.by for notice in before.notices if notice.by is not None]
            if not named:
                yield (
                    f"{after.name} revises {before.name}, and no signed notice says so; get "
                    f"{before.name}.superseded.json from the agency"
                )
            elif named[0].release != after.name:
                yield (
                    f"{before.name} was superseded by {named[0].release}, as its notice says, and "
                    f"{after.name} lies here"
                )
    for one in releases:
        for notice in one.notices:
            if (
                notice.by is not None
                and siblings(one.name, one.period).fullmatch(notice.by.release)
                and notice.by.release not in {other.name for other in releases}
            ):
                yield (
                    f"{one.name} was superseded by {notice.by.release}, which is not among these "
                    "releases"
                )


def _revisions_in_words(releases: Sequence[_Release]) -> str:
    told = [f"{one.name} {notice.words}" for one in releases for notice in one.notices]
    return "; ".join(told) or "none"


def _embargoes(releases: Sequence[_Release]) -> Iterator[str]:
    for one in releases:
        until = one.told.spec.embargo
        if until is not None and until > datetime.now(UTC):
            yield f"{one.name} may not be published before {until:%Y-%m-%d %H:%M %Z}"


def _charges(releases: Sequence[_Release]) -> Check:
    """Whether the releases cost what the account says that their periods have taken, and whether
    that comes to what it states."""
    name = "charges"
    told = {one.name: one.told.record.account.series for one in releases}
    stated = {release: series for release, series in told.items() if series is not None}
    if not stated:
        return Check(name, True, "the releases do not say what periods have taken")
    last = max(
        (one for one in releases if one.name in stated),
        key=lambda one: 0 if one.told.manifest.ledger is None else one.told.manifest.ledger.entries,
    )
    faults = [fault for one in releases for fault in _own_charges(one, told[one.name])]
    newest = stated[last.name]
    faults += _taken(releases, newest, last)
    left = sorted(set(newest.taken) - {one.period for one in releases}, key=period)
    elsewhere = f"; taken by periods that are not here: {', '.join(left)}" if left else ""
    composed = last.told.record.account.composed
    come_to = "" if composed is None else f", and come to epsilon {float(composed):g} in all"
    return _check(name, faults, f"as {last.name} has them of its account{come_to}{elsewhere}")


def _own_charges(one: _Release, stated: SeriesCharges | None) -> Iterator[str]:
    """Where a release's account is not made of what it says that the periods have taken."""
    if stated is None:
        return
    account = one.told.record.account
    if stated.period != one.period:
        yield f"{one.name} charges period {stated.period}"
    presence = Presence(length=one.place.length, pattern=stated.pattern, most=stated.most)
    try:
        taken = {period(name).number: rho for name, rho in stated.taken.items()}
    except ValueError as error:
        yield f"{one.name}: {error}"
        return
    heaviest = presence.heaviest(taken)
    proved = min(
        zcdp_epsilon(heaviest, account.cap.delta),
        float(account.previously_spent.epsilon + account.this_release.epsilon)
        + float(0 if account.reserved is None else account.reserved.epsilon),
    )
    composed = account.composed
    if composed is not None and composed * (1 + _ROUNDED_UP) < Fraction(proved):
        yield (
            f"{one.name} states epsilon {float(composed):g} for all periods, and what they have "
            f"taken comes to {proved:.4g}"
        )


def _taken(releases: Sequence[_Release], newest: SeriesCharges, last: _Release) -> Iterator[str]:
    """Periods whose releases cost more than the account says that was taken for them."""
    spent: dict[str, Fraction] = defaultdict(Fraction)
    for one in releases:
        if _entries(one) > _entries(last):
            continue  # charged after the account was looked at
        try:
            events = events_from_json(dict(event) for event in one.told.record.mechanism.events)
        except (KeyError, TypeError, ValueError):
            continue  # which its own checks tell
        spent[one.period] += rho(events)
    for name, cost in spent.items():
        if cost > newest.taken.get(name, Fraction(0)):
            yield (
                f"the releases about {name} cost rho {float(cost):.4g}, and {last.name} says that "
                f"{float(newest.taken.get(name, Fraction(0))):.4g} was taken for it"
            )


def _entries(one: _Release) -> int:
    head = one.told.manifest.ledger
    return 0 if head is None else head.entries


def _codes(releases: Sequence[_Release]) -> Check:
    """Which columns change their codes, from which period on. That is lawful, and to be told: no
    table of such a column is carried forward."""
    changes: list[str] = []
    last: dict[str, list[str]] = {}
    for one in releases:
        if one.measurements is None:
            continue
        try:
            file = read_measurements(one.folder / MEASUREMENTS_FILE, tuple(one.told.spec.columns))
        except (SafeError, OSError):
            continue  # which its own checks tell
        for column, codes in file.codes.items():
            if last.setdefault(column, list(codes)) != list(codes):
                changes.append(f"{column} from {one.period} on")
            last[column] = list(codes)
    told = f"other ones: {', '.join(changes)}" if changes else "the same in all releases"
    return Check("codes", True, told)
