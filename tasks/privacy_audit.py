"""Attack a mechanism's own transcripts, to hold what is claimed of its noise against what it does.

Two tables are made up from the spec that differ in the records of some privacy units, as far as
records can. A coin says which of them the mechanism gets; it asks the real curator, which draws and
charges as in a release, in a ledger of its own. The attacker knows both tables, the questions, and
the noise that is stated, and guesses by the likelihood of the noisy tables. No private byte is
read, and nothing is charged to anybody.

Claim.   With the stated confidence, an attack is right at least `least` often. If that is more than
         `allowed`, the mechanism draws less noise than it states, or the accountant is wrong.
Source.  Jagielski, Ullman, Oprea (2020), arXiv:2006.07709 (auditing by distinguishing); Clopper and
         Pearson (1934). That the likelihood ratio is the best attack: Neyman and Pearson (1933).
Limits.  A lower bound: what an attack does not reach may still be reachable. Choices of what to
         measure are part of no attack here, so mechanisms that choose (`aim`, `mst`, `mwem`) are
         attacked by their noisy tables alone, and from a budget that bounds their choices too.
Oracle.  tests/tasks/test_privacy_audit.py: noise of half the stated size is found out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.special import betaincinv

from hallmark.mechanisms.arrays import AnyCodes, Floats
from hallmark.mechanisms.inference.transcript import Answered, Transcribing, Transcript
from hallmark.mechanisms.privacy.adjacency import Neighbours
from hallmark.mechanisms.privacy.cells import ArrayCounter, count_codes
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.mechanisms.privacy.queries import GaussianNoise, HistogramQuery
from hallmark.mechanisms.privacy.trade_off import trade_off
from hallmark.schemas.documents.audit_attacks import AttackAudit, TriedAttack
from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.tasks.installation.code import code_digest
from hallmark.tasks.installation.workspace import home, private_folder
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.record.attacked import keep_audit
from hallmark.tasks.report import software

CONFIDENCE = 0.999  # of all lower bounds together
UNITS = (1, 4)  # privacy units that the two tables differ in: one, and a household
_OTHERS = 50  # records that both tables have
_CANDIDATES = 512  # records among which the two are sought that differ most


@dataclass(frozen=True)
class Attack:
    """What an attack on tables that differ in some privacy units came to.

    Attributes:
        runs: guesses.
        right: of them.
        least: lower bound on how often it is right, with confidence `CONFIDENCE` for all attacks.
        allowed: how often it may be right at most, by the accountant.
    """

    units: int
    runs: int
    right: int
    least: float
    allowed: float

    @property
    def broken(self) -> bool:
        """Whether the claim does not hold."""
        return self.least > self.allowed

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"broken": self.broken}


def audit_privacy(prepared: Prepared, runs: int, units: Sequence[int] = UNITS) -> Iterator[Attack]:
    """Attack the spec's mechanism with so many runs for each number of units."""
    plan = prepared.plan
    allowed = trade_off(plan.events, plan.budget)
    for number in units:
        right = _right_guesses(prepared, number, runs)
        doubt = (1 - CONFIDENCE) / len(units)
        least = float(betaincinv(right, runs - right + 1, doubt)) if right else 0.0
        yield Attack(number, runs, right, least, allowed.best_guess(number))


def record_audit(prepared: Prepared, attacks: Sequence[Attack]) -> AttackAudit:
    """What the attacks came to with the code that drew the noise, kept for the spec's report."""
    code = software()
    audit = AttackAudit(
        hallmark=code.hallmark,
        commit="" if code.commit == NOT_RECORDED else code.commit,
        code=code_digest(),
        ran=datetime.now(UTC).date(),
        confidence=CONFIDENCE,
        attacks=tuple(TriedAttack(**asdict(one)) for one in attacks),
    )
    keep_audit(prepared.binding, audit)
    return audit


def _right_guesses(prepared: Prepared, units: int, runs: int) -> int:
    rng = np.random.default_rng(units)
    one, other = _tables(prepared, units, rng)
    evidence, right = _Evidence(one, other), 0
    with TemporaryDirectory(dir=private_folder(home() / "tmp")) as folder:
        ledger = Ledger(f"sqlite:///{folder}/ledger.db")
        for number in range(runs):
            is_other = bool(rng.integers(2))
            told = _transcript(prepared, ledger, f"attack-{number}", other if is_other else one)
            right += (evidence.of_other(told) > 0) == is_other
    return right


def _tables(prepared: Prepared, units: int, rng: np.random.Generator) -> tuple[AnyCodes, AnyCodes]:
    """Two tables that differ in so many units, whose records have as little in common as any."""
    adjacency, cells = prepared.plan.adjacency, [a.cells for a in prepared.codec.domain.attributes]
    first_and_last = np.array([[0] * len(cells), [k - 1 for k in cells]])
    drawn = np.column_stack([rng.integers(k, size=_OTHERS + _CANDIDATES) for k in cells])
    codes = np.concatenate([first_and_last, drawn]).astype(np.int32)
    codes = prepared.plan.domain.rules.repair(codes, rng)
    candidates, others = codes[:-_OTHERS], codes[-_OTHERS:]
    apart = (candidates[:, None, :] != candidates[None, :, :]).sum(axis=2)
    a, b = np.unravel_index(int(apart.argmax()), apart.shape)
    times = units * adjacency.records
    mine = np.repeat(candidates[[a]], times, axis=0)
    if adjacency.neighbours is Neighbours.ADD_REMOVE:
        return others, np.concatenate([mine, others])
    return (
        np.concatenate([np.repeat(candidates[[b]], times, axis=0), others]),
        np.concatenate([mine, others]),
    )


def _transcript(prepared: Prepared, ledger: Ledger, name: str, codes: AnyCodes) -> Transcript:
    """All that a release of this table would be made of."""
    plan = prepared.plan
    ledger.open_account(
        name, cap=plan.budget, adjacency=plan.adjacency, by="audit", reason="made-up records"
    )
    ledger.reserve(name, name, plan.budget, adjacency=plan.adjacency, binding="audit")
    curator = Transcribing(
        Curator(
            counter=ArrayCounter(codes),
            ledger=ledger,
            release=name,
            adjacency=plan.adjacency,
            budget=plan.budget,
        )
    )
    prepared.ask(curator)
    return curator.transcript


class _Evidence:
    """How much more likely noisy tables are of the one table than of the other."""

    def __init__(self, one: AnyCodes, other: AnyCodes) -> None:
        self._tables = one, other
        self._exact: dict[str, tuple[Floats, Floats]] = {}

    def of_other(self, told: Transcript) -> float:
        """Log of the likelihood ratio: positive where the other table is the more likely."""
        return sum(
            self._of_answer(entry.query, entry.answer.astype(np.float64))
            for entry in told.entries
            if isinstance(entry, Answered)
        )

    def _of_answer(self, query: HistogramQuery, answer: Floats) -> float:
        if query.digest not in self._exact:
            counts = (count_codes(codes, [query.cells])[0] for codes in self._tables)
            one, other = (query.transform(table).astype(np.float64) for table in counts)
            self._exact[query.digest] = one, other
        one, other = (np.abs(answer - exact) for exact in self._exact[query.digest])
        if isinstance(query.noise, GaussianNoise):
            return float((one**2 - other**2).sum()) / (2 * float(query.noise.sigma2))
        return float((one - other).sum()) / float(query.noise.scale)
