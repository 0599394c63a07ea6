"""Profile, signing key, ledger and clock; releases waiting too long, interrupted or lost."""

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.loading import SpecError
from hallmark.tasks.doctor import Finding, ok, warn, wrong
from hallmark.tasks.gates.waiting import waiting_releases
from hallmark.tasks.installation.key_register import RegisterRefused
from hallmark.tasks.installation.places import PathRefused, releases_home
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.server_mode import RELEASES
from hallmark.tasks.installation.signing import (
    KEY_FILE_VARIABLE,
    KEY_VARIABLES,
    SigningError,
    refuse_ended,
    signing_key,
)
from hallmark.tasks.installation.workspace import (
    Workspace,
    home,
    ledger_url,
    no_ledger_yet,
    workspaces_place,
)
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.ledger.clock import APART, set_back, written
from hallmark.tasks.ledger.rollback import anchored_accounts, unanswered_since, why_refused
from hallmark.tasks.publish import PublishRefused, refuse_unwritable
from hallmark.tasks.runs import is_held, statuses


def profile_read() -> Iterator[Finding]:
    """Whether the profile is valid, and lists approvers for every waiting release."""
    try:
        known = profile()
    except SpecError as error:
        yield wrong("profile", str(error), "fix the profile, or name another in HALLMARK_PROFILE")
        return
    held = {role for person in known.approvers for role in person.roles}
    lacking = {
        waiting.release: sorted(set(waiting.required) - held)
        for waiting in waiting_releases()
        if set(waiting.required) - held
    }
    for release, roles in lacking.items():
        yield wrong(
            "profile",
            f"release {release} is waiting for {', '.join(roles)}, but no approver has that role",
            "list one under approvers in the profile: hallmark approver-key --help",
        )
    if not lacking:
        yield ok("profile", f"valid; people who may approve: {len(known.approvers)}")


def signing(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Whether releases are signed with the agency's own key, which nobody else can read."""
    if not any(environment.get(name) for name in KEY_VARIABLES):
        yield warn(
            "signing key",
            "none is set; releases are signed with a demonstration key, which does not prove who "
            "published them",
            f"make one with: openssl genpkey -algorithm ed25519 -out key.pem; chmod 600 key.pem; "
            f"and name it in {KEY_FILE_VARIABLE}; or sign with an HSM (docs/keys.md)",
        )
        return
    try:
        key = signing_key(home(), environment)
        key.probe()
        refuse_ended(key)
    except (SigningError, RegisterRefused) as error:
        yield wrong("signing key", str(error))
        return
    if key.warning:
        yield warn("signing key", key.warning, f"chmod 600 {environment.get(KEY_FILE_VARIABLE)}")
    else:
        yield ok("signing key", f"fingerprint {key.fingerprint[:16]}…, from the {key.origin}")


def ledger() -> Iterator[Finding]:
    """Whether the ledger answers, the chain of every account is intact, and all anchored entries
    exist. Opening migrates it."""
    told = anchored_accounts()
    if no_ledger_yet() and not told:
        yield ok("ledger", "none yet; the first account creates it: hallmark ledger open --help")
        return
    try:
        book = open_ledger(ledger_url())
        accounts = told | {state.name for state in book.accounts()}
    except LedgerError as error:
        yield wrong("ledger", str(error))
        return
    broken = False
    for account in sorted(accounts):
        if (refused := why_refused(book, account, whole_chain=True)) is not None:
            broken = True
            yield wrong(
                "ledger",
                refused,
                "release nothing on this account until you have"
                if unanswered_since(account)
                else "release nothing on this account; restore the ledger from a backup, and find "
                "out who wrote to it",
            )
    if not broken:
        yield ok(
            "ledger",
            f"it answers; the chains of all {len(accounts)} accounts are intact, and have all "
            "anchored entries",
        )


def clock() -> Iterator[Finding]:
    """Whether this machine's clock agrees with the one that wrote the ledger."""
    now = datetime.now(UTC)
    if no_ledger_yet():
        yield ok("clock", f"{now:%Y-%m-%d %H:%M} UTC")
        return
    book = open_ledger(ledger_url())
    chains = [book.entries(account.name) for account in book.accounts()]
    mend = "set the clock, preferably by NTP: timedatectl set-ntp true"
    latest = max((written(entry) for chain in chains for entry in chain), default=now)
    backward = [line for chain in chains for line in set_back(chain)]
    if latest > now + APART:
        yield wrong(
            "clock",
            f"it is {now:%Y-%m-%d %H:%M} here, but an entry of the ledger is from "
            f"{latest:%Y-%m-%d %H:%M} UTC",
            mend,
        )
    elif backward:
        yield warn(
            "clock",
            f"{now:%Y-%m-%d %H:%M} UTC, but the clock that wrote the ledger was wrong once: "
            f"{backward[-1]}",
            f"embargoes and the dates of keys went by that clock; {mend}",
        )
    else:
        yield ok("clock", f"{now:%Y-%m-%d %H:%M} UTC, later than all entries of the ledger")


def waiting(days: int) -> Iterator[Finding]:
    """Releases that have been waiting for longer than this number of days."""
    since = datetime.now(UTC) - timedelta(days=days)
    found = waiting_releases()
    late = [one for one in found if one.gate != "embargo" and one.since < since]
    for one in late:
        yield warn(
            "waiting",
            f"release {one.release} has been waiting at the {one.gate} gate since "
            f"{one.since:%Y-%m-%d}",
            f"remind {', '.join(one.required) or 'its approvers'}; hallmark waiting shows what is "
            "missing",
        )
    if not late:
        yield ok("waiting", f"none of {len(found)} waiting releases has waited over {days} days")


def interrupted() -> Iterator[Finding]:
    """Releases whose run was killed: what it left behind, and how to continue."""
    broken = 0
    running = {status.release: status for status in statuses() if status.how == "running"}
    for folder in sorted(workspaces_place().glob("*")):
        codes = (folder / "codes").exists()
        if not (codes or folder.name in running) or is_held(Workspace(folder)):
            continue
        broken += 1
        left = "; its coded private records are still there" if codes else ""
        yield warn(
            "interrupted",
            f"the run of release {folder.name} was killed{left}",
            f"continue it: hallmark release SPEC --resume; or drop it: hallmark ledger cancel "
            f"{folder.name} --reason WHY (if nothing was drawn), then rm -r {folder}",
        )
    if not broken:
        yield ok("interrupted", "no run was killed")


def publishing(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Whether runs have a folder to publish in, which must be configured on a server."""
    try:
        there = releases_home()
        if there is not None:
            refuse_unwritable(there)
    except (PathRefused, PublishRefused) as error:
        yield wrong("publishing", f"{RELEASES}: {error}", "fix it, here and for the worker")
        return
    if there is not None:
        yield ok("publishing", f"runs that name no folder publish in {there}")
    elif environment.get("PREFECT_API_URL"):
        yield warn(
            "publishing",
            f"{RELEASES} is not set: runs of the dashboard that name no folder are refused",
            f"set {RELEASES} to an absolute path, here and for the worker, and restart the worker",
        )
    else:
        yield ok("publishing", "in the folder that the command names")


def published() -> Iterator[Finding]:
    """Whether every published release's folder is still where it was published."""
    found = [status for status in statuses() if status.published is not None]
    for status in (gone := [status for status in found if status.lost]):
        yield wrong(
            "published",
            f"release {status.release} was published in {status.folder} on "
            f"{status.published:%Y-%m-%d}, but is not there",
            "put the folder back, or a link to its new place; if it is lost, make it again from "
            "the drawn noise, at no cost: hallmark release SPEC --resume",
        )
    if not gone:
        yield ok("published", f"all {len(found)} releases are where they were published")
