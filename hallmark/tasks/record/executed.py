"""What a run did, as far as it is public: the sources of an audit record."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hallmark.mechanisms.contract import Certificate, SyntheticMeasure
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.privacy.ledger.ledger import AccountState, Entry
from hallmark.schemas.documents.audit_report import Signature
from hallmark.schemas.documents.decisions import Outcome
from hallmark.schemas.documents.ledger_anchor import Anchor
from hallmark.schemas.documents.manifest import Software
from hallmark.schemas.profile import Profile
from hallmark.tasks.installation.stages import RunTimes
from hallmark.tasks.output.finalise import FinalFile
from hallmark.tasks.spec.prepare import Prepared
from hallmark.tasks.validate import Rule


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
