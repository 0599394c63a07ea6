"""What a run did, as far as it is public: the sources of an audit record."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from mechanisms.contract import Certificate, SyntheticMeasure
from mechanisms.privacy.events import Event
from mechanisms.privacy.ledger import AccountState, Entry
from schemas.audit_report import Signature
from schemas.decisions import Outcome
from schemas.ledger_anchor import Anchor
from schemas.manifest import Software
from schemas.profile import Profile
from tasks.finalise import FinalFile
from tasks.prepare import Prepared
from tasks.stages import RunTimes
from tasks.validate import Rule


@dataclass(frozen=True, kw_only=True)
class Executed:
    """A run that has made its data files, and the statements of the people who answer for it.

    No private quantity is among these: what composes a record has none at hand.
    """

    prepared: Prepared
    rules: Sequence[Rule]
    total: int | None  # number of private records where that is public
    events: tuple[Event, ...]  # as charged
    account: AccountState  # after the charge
    entries: Sequence[Entry]  # of the account
    losses: Sequence[Anchor]  # of entries that it had, as somebody answers for them
    decisions: Sequence[Outcome]  # on the plan, all of them, and what became of each
    tables_shown: int  # openings of the plan's gate that show a change of the private table
    synthetic: SyntheticMeasure
    certificate: Certificate
    final: FinalFile
    software: Software
    signature: Signature
    profile: Profile
    run: str | None  # id of the flow run
    deployment: str | None
    operator: str
    container: str | None  # digest of the image that runs
    times: RunTimes | None
    created: datetime
