"""What must be true of a release, whatever happened to its runs: one draw, one charge, one use."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.contract import Measurements
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.documents.certificate import CertificateFile
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.verification import verify_release
from tests.flows.house import ACCOUNT, RELEASE, House


@dataclass(frozen=True)
class Untouched:
    """A counter whose records nobody may look at; their number is public here."""

    public_rows: int

    def rows(self) -> int:
        return self.public_rows

    def count(self, maps: Sequence[CellMap]) -> list[Counts]:
        raise AssertionError("private records were counted, though the outcome is in the log")


def violations(house: House, *, calls: int = 1) -> list[str]:
    """Every way in which the ledger does not hold exactly one charge of each of `calls` draws."""
    found = []
    ledger = house.ledger
    try:
        ledger.verify(ACCOUNT)
    except LedgerError as error:
        found.append(str(error))
    charges = Counter(
        (entry.release, entry.payload["call"])
        for entry in ledger.entries(ACCOUNT)
        if entry.kind == "charge"
    )
    found += [f"{call} was charged {times} times" for call, times in charges.items() if times > 1]
    if len(charges) != calls:
        found.append(f"{len(charges)} calls were charged, not {calls}")
    if len(house.outcomes()) != calls:
        found.append(f"{len(house.outcomes())} outcomes are in the log, not {calls}")
    state, budget = ledger.account(ACCOUNT), prepare(house.folder / "spec.yaml").plan.budget
    if state.spent != (budget.epsilon, budget.delta):
        found.append(f"epsilon {state.spent[0]} is spent, not {budget.epsilon}")
    if any(state.reserved):
        found.append(f"epsilon {state.reserved[0]} is reserved still")
    return found


def logged_measurements(house: House) -> Measurements:
    """The measurements as the log has them; no private record is counted."""
    prepared = prepare(house.folder / "spec.yaml")
    rows = prepared.spec.data.expected_rows
    assert rows is not None
    curator = Curator(
        counter=Untouched(rows),
        ledger=house.ledger,
        release=RELEASE,
        adjacency=prepared.plan.adjacency,
        budget=prepared.plan.budget,
    )
    selection = prepared.mechanism.select(curator, prepared.plan)
    measured: Measurements = prepared.mechanism.measure(curator, prepared.plan, selection)
    return measured


def disagreements(house: House) -> list[str]:
    """Where the published release is not what follows from the outcome in the log."""
    found = [c.detail for c in verify_release(house.published).checks if not c.ok]
    prepared, measured = prepare(house.folder / "spec.yaml"), logged_measurements(house)
    synthetic = prepared.mechanism.generate(
        prepared.plan,
        measured,
        rows=None,
        rng=prepared.rng("generate"),
    )
    if not np.array_equal(np.load(house.workspace / "synthetic.npy"), synthetic.codes):
        found.append("the synthetic records do not follow from the logged outcome")
    certificate = prepared.mechanism.certify(
        prepared.plan,
        measured,
        synthetic,
        confidence=float(prepared.spec.certificate.confidence),
        rng=prepared.rng("certify"),
    )
    expected = json.loads(CertificateFile.model_validate(certificate).model_dump_json())
    if json.loads((house.published / "certificate.json").read_text()) != expected:
        found.append("the certificate does not follow from the logged outcome")
    return found
