"""The audit record: it says what was run, charged and released, and nothing that was not."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from mechanisms.privacy.events import events_from_json
from mechanisms.privacy.ledger import Ledger
from schemas.audit_report import AuditRecord
from schemas.manifest import RECORD_FILE
from tasks.record import cell_labels, domain_in_words, privacy_claim
from tests.tasks.released import ROWS, Released, released


@pytest.fixture(scope="module")
def run(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Released]:
    with released(tmp_path_factory.mktemp("record")) as done:
        yield done


@pytest.fixture(scope="module")
def record(run: Released) -> AuditRecord:
    return AuditRecord.model_validate_json((run.folder / RECORD_FILE).read_bytes())


def test_its_events_are_those_of_the_ledger(run: Released, record: AuditRecord) -> None:
    told = events_from_json(dict(event) for event in record.mechanism.events)
    assert told == Ledger(run.ledger).events("test-release") != ()


def test_its_account_adds_up(record: AuditRecord) -> None:
    account = record.account
    for part in ("epsilon", "delta"):
        told = [getattr(a, part) for a in (account.previously_spent, account.this_release)]
        assert sum(told) + getattr(account.remaining, part) == getattr(account.cap, part)
    assert account.this_release.epsilon == Fraction(1)
    assert [entry.entry for entry in account.entries] == ["reserve", "charge"]


def test_the_proven_epsilon_is_at_most_the_claim(record: AuditRecord) -> None:
    low, high = record.guarantee.bracket
    assert 0 < low <= high <= record.guarantee.claim.epsilon == 1


def test_its_synthetic_shares_are_those_of_the_published_file(
    run: Released, record: AuditRecord
) -> None:
    data = pd.read_csv(run.folder / "data.csv", dtype={"region": str})
    (region,) = [m for m in record.utility.marginals if m.column == "region"]
    counts = [int((data["region"] == code).sum()) for code in ("01", "02", "07")]
    assert np.allclose(region.synthetic, np.array(counts) / ROWS)
    assert region.cells == ("north", "south", "east")


def test_cells_and_domains_are_told_in_words(run: Released) -> None:
    codecs = {codec.name: codec for codec in run.prepared.codec.codecs}
    assert cell_labels(codecs["age"])[:2] == ("0 to 9", "10 to 19")
    assert cell_labels(codecs["income"])[-2:] == ("350 to 400", "null")
    assert cell_labels(codecs["since"])[0].startswith("2000-01-01 to 2001-")
    assert domain_in_words(codecs["age"].column) == "0 to 99 years"
    assert domain_in_words(codecs["since"].column) == "2000-01-01 to 2009-12-31"
    assert domain_in_words(codecs["region"].column) == "3 categories"


def test_the_labels_of_a_column_are_as_many_as_its_cells(run: Released) -> None:
    for codec in run.prepared.codec.codecs:
        assert len(cell_labels(codec)) == codec.attribute.cells


def test_the_claim_is_that_of_the_spec(run: Released) -> None:
    claim = privacy_claim(run.prepared)
    assert (claim.epsilon, claim.delta) == (1, Fraction(1, 10**5))
    assert (claim.unit, claim.unit_in_words, claim.records_per_unit) == ("record", "one person", 1)


def test_it_holds_no_count_of_failing_rows(run: Released) -> None:
    assert "failing" not in (run.folder / RECORD_FILE).read_text()
    assert "failing" in run.workspace.findings.read_text()
