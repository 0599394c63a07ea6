"""The audit record: it says what was run, charged and released, and nothing that was not."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hallmark.mechanisms.privacy.accountant import epsilon
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import events_from_json
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.mechanisms.privacy.trade_off import trade_off
from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.schemas.documents.manifest import RECORD_FILE
from hallmark.schemas.documents.privacy_claim import Amount
from hallmark.schemas.loading import load_spec
from hallmark.schemas.promise import promised
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.planning.coding import cell_labels
from hallmark.tasks.record.record import domain_in_words, truncation_in_words
from hallmark.tasks.record.record_privacy import failed_runs
from hallmark.tasks.reserve import cancel_if_unused
from tests import example
from tests.tasks.cut import ACCOUNT, opened
from tests.tasks.released import ROWS, Released, released
from tests.tasks.statements import ABOUT, write_profile

RESERVED = Budget(epsilon=Fraction(1, 4))


@pytest.fixture(scope="module")
def run(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Released]:
    base = tmp_path_factory.mktemp("record")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_PROFILE", str(write_profile(base)))
        patch.setenv("HALLMARK_IMAGE_DIGEST", "sha256:" + "0" * 64)
        patch.setenv("HALLMARK_OPERATOR", "Olga Operator")
        patch.setenv("HALLMARK_HOME", str(base / "home"))
        patch.delenv("HALLMARK_LEDGER", raising=False)
        example.open_account()
        book = open_ledger(ledger_url())
        relation = book.account(ACCOUNT).adjacency
        book.reserve(ACCOUNT, "another", RESERVED, adjacency=relation, binding="plan")
        with released(base, about=ABOUT) as done:
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
        parts = (account.this_release, account.reserved, account.remaining)
        assert sum(getattr(one, part) for one in parts) == getattr(account.cap, part)
    assert account.this_release.epsilon == Fraction(1)
    assert account.previously_spent == Amount(epsilon=Fraction(0))
    assert account.reserved == Amount.model_validate(RESERVED)  # which no page calls spent
    assert [entry.entry for entry in account.entries] == ["reserve", "charge"]
    assert account.authorised_by.startswith("tests, 20")
    assert sum(part.share for part in account.split) == pytest.approx(1)


def test_why_a_run_gave_its_budget_back_is_told_only_where_a_person_did(home: Path) -> None:
    book, budget = opened(), Budget(epsilon=Fraction(1))
    assert cancel_if_unused("test-release", ledger_url(), "the run ended with ValidationFailed")
    told = failed_runs("test-release", book.entries(ACCOUNT), 2)
    assert "earlier runs of this release that read the private table: 1; on 20" in told
    assert "its budget was given back unused. A run" in told
    adjacency = book.account(ACCOUNT).adjacency
    book.reserve(ACCOUNT, "test-release", budget, adjacency=adjacency, binding="plan")
    book.cancel("test-release", by="Ada", reason="another table")
    told = failed_runs("test-release", book.entries(ACCOUNT), 1)
    assert told.count("given back unused") == 2
    assert "given back unused (another table). A run" in told


def test_the_proven_epsilon_is_at_most_the_claim(record: AuditRecord) -> None:
    low, high = record.guarantee.bracket
    assert 0 < low <= high <= record.guarantee.claim.epsilon == 1


def test_its_curve_is_what_the_events_allow(record: AuditRecord) -> None:
    events = events_from_json(dict(event) for event in record.mechanism.events)
    claim, curve = record.guarantee.claim, record.guarantee.curve
    assert curve == trade_off(events, Budget(epsilon=claim.epsilon, delta=claim.delta)).points
    assert curve[0][0] == 0
    for at, delta in curve[1:-1]:  # the same accountant, asked the other way round
        if delta > 1e-9:
            assert epsilon(events, Fraction(delta)) == pytest.approx(at, rel=1e-3)
    assert (float(claim.epsilon), float(claim.delta)) == pytest.approx(curve[-1])


def test_its_factors_for_groups_are_those_of_the_claim(record: AuditRecord) -> None:
    claim = record.guarantee.claim
    told = [(g.units, g.epsilon, g.delta) for g in record.guarantee.groups]
    assert told == [(k, *claim.for_group(k)) for k in (1, 2, 4, 8)]


def test_where_people_said_all_nothing_blocks_the_gate(record: AuditRecord) -> None:
    assert record.blocking() == ()
    assert record.identity.legal_basis == "Statistics Act, section 12"
    assert record.identity.curator == "Statistical Office"
    assert record.account.tuning.startswith("public data: cells and steps")
    assert record.trust.actors[0].actor == "operator"


def test_the_run_itself_is_recorded(record: AuditRecord) -> None:
    told = record.provenance
    assert told.run != NOT_RECORDED
    assert told.operator == "Olga Operator"
    assert told.container.startswith("sha256:")
    assert told.attempts == 1
    assert told.started <= told.finished
    assert [stage.stage for stage in told.stages] == [
        "validate", "discretize", "select", "privatize", "generate", "certify", "finalise",
    ]  # fmt: skip
    assert all(stage.seconds == int(stage.seconds) for stage in told.stages)


def test_what_a_release_shows_by_its_existence_is_told_as_unprotected(record: AuditRecord) -> None:
    facts = [fact.fact for fact in record.guarantee.unprotected]
    for told in ("times of the run", "has at least one record", "is the same in all runs"):
        assert sum(told in fact for fact in facts) == 1
    assert not any("copy of the private table" in fact for fact in facts)  # none was declared


def test_the_private_input_has_no_published_digest(record: AuditRecord) -> None:
    assert record.provenance.input_digest.startswith("not published")


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


def test_it_says_which_records_of_a_person_all_bounds_speak_of(tmp_path: Path) -> None:
    spec = load_spec(example.write(tmp_path, 3, **example.of_persons(tmp_path, 4)))
    assert truncation_in_words(spec) == (
        "the first 4 records of a person, in the source's order; the others are not measured, and "
        "no certificate or error bound covers them"
    )
    data = spec.data.model_copy(update={"source": "postgresql://host/people"})
    rows = spec.model_copy(update={"data": data})
    assert "of a person, by a digest of each; the others" in truncation_in_words(rows)


def test_the_labels_of_a_column_are_as_many_as_its_cells(run: Released) -> None:
    for codec in run.prepared.codec.codecs:
        assert len(cell_labels(codec)) == codec.attribute.cells


def test_it_says_that_nobody_had_to_approve(record: AuditRecord) -> None:
    assert record.disclosure_gate == ()
    assert not record.is_gated


def test_the_claim_is_that_of_the_spec(run: Released) -> None:
    claim = promised(run.prepared.spec)
    assert (claim.epsilon, claim.delta) == (1, Fraction(1, 10**5))
    assert (claim.unit, claim.unit_in_words, claim.records_per_unit) == ("record", "one person", 1)


def test_it_holds_no_count_of_failing_rows(run: Released) -> None:
    assert "failing" not in (run.folder / RECORD_FILE).read_text()
    assert "failing" in run.workspace.findings.read_text()


def test_the_summary_is_an_artifact_of_the_run(run: Released, record: AuditRecord) -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

    key = ArtifactFilterKey(any_=["audit-test-release"])
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(artifact_filter=ArtifactFilter(key=key))
    (artifact,) = [a for a in found if str(a.flow_run_id) == record.provenance.run]
    assert artifact.type == "markdown"
    assert "hallmark verify test-release" in artifact.data
    assert str(run.workspace.staging / "audit-report.html") in artifact.data


def test_a_release_about_which_nobody_said_anything_is_full_of_gaps(
    example_release: Released,
) -> None:
    record = AuditRecord.model_validate_json((example_release.folder / RECORD_FILE).read_bytes())
    mends = {gap.path: gap.mend for gap in record.blocking()}
    assert mends["identity.legal_basis"] == "state about.legal_basis in the spec"
    assert mends["trust.key_custody"] == "state agency.key_custody in the profile"
    assert mends["trust.actors"] == "state agency.actors in the profile"
    # All that the run can know is there: only people's statements are missing.
    assert all(mend.startswith("state ") for mend in mends.values())
    assert set(mends) < set(record.not_recorded())
