"""Whether each key of a release was valid when it signed, by the agency's register of keys.

When that was, a time stamp by an authority proves: of the signature of the release, and so of every
decision in it. Without one there are only the times that the release and its decisions claim, which
whoever holds a key may choose. That is enough to tell a key that was retired in good order, and not
one that was compromised: such a key may have signed with any date.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hallmark.schemas.documents.agency_keys import AgencyKeys, RegisteredKey
from hallmark.schemas.documents.approvals import known_as
from hallmark.schemas.documents.approver_keys import NoKey
from hallmark.schemas.documents.decisions import (
    ApprovalsFile,
    FirstApprovalsFile,
    Link,
    Opening,
    Passage,
    SignedDecision,
)
from hallmark.schemas.documents.manifest import SIGNATURE_FILE, TIME_STAMP_FILE, Manifest
from hallmark.tasks.installation.time_stamp import TimeStampRefused, stamped_at
from hallmark.tasks.verification.approvals import read_approvals
from hallmark.tasks.verification.documents import Check, Unsound, plain_bytes


@dataclass(frozen=True)
class KeysAtHand:
    """What somebody who verifies has from the agency, and from whom they trust with time.

    Attributes:
        authorities: certificates (PEM) of time-stamping authorities; without them, a time stamp
            proves nothing.
    """

    register: AgencyKeys
    authorities: Path | None = None


def key_checks(folder: Path, manifest: Manifest, keys: KeysAtHand) -> Iterator[Check]:
    """Whether the time stamp, if there is one, can be relied on, and whether the signing key and
    the key of each counted decision were valid when they signed."""
    proven = None
    if (folder / TIME_STAMP_FILE).exists():
        proven, check = time_stamp(folder, keys.authorities)
        yield check
    entry = keys.register.signing_key(manifest.public_key_fingerprint)
    yield Check("signing key", *_validity(entry, claimed=manifest.created, proven=proven))
    for signed in _counted(folder):
        who = signed.decision.person
        name = f"key of {who} ({signed.decision.gate})"
        try:
            known = keys.register.approvers_key(signed.key)
        except NoKey as error:
            yield Check(name, False, f"it {error}")
            continue
        if known is not None and known_as(known.person) != known_as(who):
            yield Check(name, False, f"the register lists it as the key of {known.person}")
            continue
        yield Check(name, *_validity(known, claimed=signed.decision.decided, proven=proven))


def time_stamp(folder: Path, authorities: Path | None) -> tuple[datetime | None, Check]:
    """When the signature existed, if the time stamp in the folder proves it; and whether it is a
    time stamp of this signature at all."""
    name = "time stamp"
    try:
        stamp = plain_bytes(folder / TIME_STAMP_FILE)
        at = stamped_at(stamp, plain_bytes(folder / SIGNATURE_FILE), authorities)
    except (Unsound, TimeStampRefused) as error:
        return None, Check(name, False, str(error))
    if authorities is None:
        return None, Check(
            name,
            True,
            f"of {_told(at)}, by an authority that was not checked, so it proves nothing; name "
            "authorities that you trust with --tsa-ca, beside --keys",
        )
    return at, Check(
        name, True, f"the signature existed at {_told(at)}, as a trusted authority says"
    )


def _counted(folder: Path) -> Iterator[SignedDecision]:
    """The decisions on which the gates of a release were passed."""
    match read_approvals(folder):
        case FirstApprovalsFile() as file:
            yield from file.decisions
        case ApprovalsFile() as file:
            yield from _counted_of(file.said)


def _counted_of(links: Sequence[Link]) -> Iterator[SignedDecision]:
    """The same, of statements; those about the plan of a series, which an opening carries, too."""
    names = {name for said in links if isinstance(said, Passage) for name in said.counted}
    for said in links:
        if isinstance(said, SignedDecision) and said.digest() in names:
            yield said
        elif isinstance(said, Opening) and said.series is not None:
            yield from _counted_of(said.series.said)


def _validity(
    entry: RegisteredKey | None, *, claimed: datetime, proven: datetime | None
) -> tuple[bool, str]:
    """Whether a key was valid when it signed, and why.

    Args:
        claimed: when it signed, as whoever signed says.
        proven: a time by which it had signed, if there is one.
    """
    if entry is None:
        return False, "the register does not list it: it is not known to be the agency's"
    signed = f"signed at {_told(claimed)}, as is claimed"
    if claimed < entry.since:
        return False, f"{signed}, and valid only from {_told(entry.since)} on"
    ends = [] if entry.until is None else [(entry.until, "retired")]
    if entry.revoked is not None:
        ends.append((entry.revoked.at, f"revoked ({entry.revoked.reason})"))
        is_before = proven is not None and proven < entry.revoked.at
        if entry.revoked.reason == "compromised" and not is_before:
            return False, (
                f"revoked from {_told(entry.revoked.at)} on, as it was compromised, and no trusted "
                f"time stamp shows that it signed before: that it {signed}, proves nothing"
            )
    if not ends:
        return True, f"valid since {_told(entry.since)}"
    end, how = min(ends)
    ended = f"{how} from {_told(end)} on"
    if proven is not None and proven < end:
        return True, f"{ended}, and valid when it signed, before {_told(proven)}, by the time stamp"
    if claimed < end:
        return True, (
            f"{ended}, and valid when it signed, if that was at {_told(claimed)}: this time is "
            "only claimed, and no time stamp proves it"
        )
    return False, f"{ended}, and {signed}"


def _told(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M %Z}"
