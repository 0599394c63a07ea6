"""The public facts about a run: the sources of an audit record."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hallmark.mechanisms.contract import Certificate, SyntheticMeasure
from hallmark.mechanisms.inference.transcript import Transcript
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.privacy.ledger.ledger import AccountState, Entry
from hallmark.schemas.documents.audit_attacks import AttackAudit
from hallmark.schemas.documents.audit_report import Signature
from hallmark.schemas.documents.decisions import Outcome
from hallmark.schemas.documents.ledger_anchor import Anchor
from hallmark.schemas.documents.manifest import Software
from hallmark.schemas.profile import Profile
from hallmark.tasks.expectations import Rule
from hallmark.tasks.installation.stages import RunTimes
from hallmark.tasks.output.finalise import FinalFile
from hallmark.tasks.planning.prepared import Prepared


@dataclass(frozen=True, kw_only=True)
class Executed:
    """A run that has made its data files, and the statements of the people responsible for it.

    It contains no private quantity, so none can get into a record.
    """

    prepared: Prepared
    rules: Sequence[Rule]
    total: int | None  # number of private records, if that is public
    transcript: Transcript | None  # the part that is published
    events: tuple[Event, ...]  # as charged
    account: AccountState  # after the charge
    entries: Sequence[Entry]  # of the account
    losses: Sequence[Anchor]  # lost entries that somebody took responsibility for
    decisions: Sequence[Outcome]  # all decisions about the plan, with their outcomes
    tables_shown: int  # openings of the plan's gate that reveal a change of the private table
    synthetic: SyntheticMeasure
    certificate: Certificate
    final: FinalFile
    software: Software
    signature: Signature
    profile: Profile
    run: str | None  # id of the flow run
    deployment: str | None
    operator: str
    container: str | None  # digest of the running image
    times: RunTimes | None
    created: datetime
    previous: Path | None = None  # folder of the release about the period before, in a series
    attacks: AttackAudit | None = None  # on this mechanism, if any were run
