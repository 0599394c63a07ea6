"""The audit record: labels, gaps, and claims that contradict themselves."""

from fractions import Fraction
from typing import Annotated, Any, get_args

import pytest
from pydantic import ValidationError

from hallmark.schemas.documents.audit_privacy import Account, Generator, Guarantee
from hallmark.schemas.documents.audit_report import AuditRecord, Identity
from hallmark.schemas.documents.audit_utility import Marginal
from hallmark.schemas.documents.certificate import CertificateFile, CertifiedBound
from hallmark.schemas.documents.internal_review import ColumnReview
from hallmark.schemas.documents.labels import (
    NOT_RECORDED,
    Gap,
    NotRecorded,
    PublicSection,
    Shown,
    Tag,
    _models,
    gaps,
    not_recorded,
    of_profile,
    of_spec,
)
from hallmark.schemas.documents.privacy_claim import Amount, PrivacyClaim
from hallmark.schemas.profile import Profile
from hallmark.schemas.release_spec import ReleaseSpec
from tests.tasks.conftest import example_record

CLAIM: dict[str, Any] = {
    "neighbours": "replace_one",
    "unit": "record",
    "unit_in_words": "one person",
    "epsilon": Fraction(1),
    "delta": Fraction(1, 100000),
}


def _amount(epsilon: str) -> Amount:
    return Amount(epsilon=Fraction(epsilon))


def test_a_public_section_refuses_a_field_without_a_label() -> None:
    with pytest.raises(TypeError, match="has no label"):

        class Unlabelled(PublicSection):
            figure: int


def test_a_public_section_refuses_an_internal_field() -> None:
    with pytest.raises(TypeError, match="is internal"):

        class Leaking(PublicSection):
            figure: Annotated[int, Shown("True count", Tag.INTERNAL)]


def test_a_public_section_refuses_to_hold_an_internal_one() -> None:
    with pytest.raises(TypeError, match="ColumnReview, which is not public"):

        class Smuggling(PublicSection):
            columns: Annotated[tuple[ColumnReview, ...], Shown("Columns")]


def test_what_is_not_recorded_is_found_wherever_it_is() -> None:
    identity = Identity.model_validate(
        {"release_id": "r", "title": "t", "created": "2026-01-01T00:00:00Z", "curator": "office"}
    )
    gaps = set(not_recorded(identity))
    assert "purpose" in gaps
    assert "curator" not in gaps
    assert list(not_recorded({"a": ({"b": NOT_RECORDED},)}, "x")) == ["x.a[0].b"]


def test_a_gap_says_what_mends_it() -> None:
    class Part(PublicSection):
        address: Annotated[str, of_profile("Address", "address")] = NOT_RECORDED

    class Whole(PublicSection):
        law: Annotated[str, of_spec("Law", "law")] = NOT_RECORDED
        earlier: Annotated[str, of_spec("Earlier", "earlier", may_lack=True)] = NOT_RECORDED
        time: Annotated[str | NotRecorded, Shown("Time", mend="wait")] = NOT_RECORDED
        part: Annotated[Part, Shown("Part")] = Part()
        parts: Annotated[tuple[Part, ...], Shown("Parts")] = (Part(address="a"), Part())

    state = "state agency.address in the profile"
    assert list(gaps(Whole())) == [
        Gap("law", "Law", "state about.law in the spec"),
        Gap("earlier", "Earlier", ""),
        Gap("time", "Time", "wait"),
        Gap("part.address", "Address", state),
        Gap("parts[1].address", "Address", state),
    ]


def _sections(section: type[PublicSection]) -> set[type[PublicSection]]:
    found = {section}
    for field in section.model_fields.values():
        for held in _models(field.annotation):
            if issubclass(held, PublicSection) and held not in found:
                found |= _sections(held)
    return found


def _is_figure(annotation: Any) -> bool:
    """Whether it is a number, or numbers; booleans and exact budgets have no unit."""
    parts = get_args(annotation)
    return annotation in (int, float) or any(
        _is_figure(part) for part in parts if part not in (bool, str, Fraction)
    )


WITHOUT_UNIT = {"epsilon", "delta", "rho", "bracket"}  # of privacy: pure numbers


def test_every_figure_of_the_record_has_a_unit_and_those_of_noisy_answers_a_sample() -> None:
    seen = 0
    for section in _sections(AuditRecord):
        labels = section.labels()
        for name, field in section.model_fields.items():
            label = labels[name]
            figure = _is_figure(field.annotation)
            if not figure or name in WITHOUT_UNIT or "JsonValue" in str(field.annotation):
                continue
            seen += 1
            where = f"{section.__name__}.{name}"
            assert label.unit or label.form == "percent" or "unit" in labels, f"{where}: no unit"
            assert label.sample or label.tag is not Tag.PAID, f"{where}: no sample"
    assert seen > 20


def test_what_only_people_know_is_labelled_with_a_place_that_exists() -> None:
    roots = {"profile": Profile, "spec": ReleaseSpec}
    places = [
        label.stated_in
        for section in _sections(AuditRecord)
        for label in section.labels().values()
        if label.stated_in
    ]
    assert len(places) > 25
    for place in places:
        path, _, root = place.partition(" in the ")
        model: Any = roots[root]
        for key in path.split("."):
            assert key in model.model_fields, place
            model = next(iter(_models(model.model_fields[key].annotation)), None)


def test_a_commit_may_lack_where_the_image_is_known() -> None:
    record = example_record()
    software = record.provenance.software.model_copy(update={"commit": NOT_RECORDED})
    unknown = record.provenance.model_copy(update={"software": software})
    known = unknown.model_copy(update={"container": "sha256:1"})
    for provenance, blocks in ((unknown, True), (known, False)):
        changed = record.model_copy(update={"provenance": provenance})
        paths = [gap.path for gap in changed.blocking()]
        assert ("provenance.software.commit" in paths) is blocks


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        AuditRecord.model_validate({"true_counts": [1, 2, 3]})


def test_a_claim_below_the_proven_epsilon_is_refused() -> None:
    shared = {"variant": "approximate", "accountant": "PLD", "claim": CLAIM}
    Guarantee.model_validate({**shared, "bracket": (0.9, 1.0)})
    with pytest.raises(ValidationError, match="must not be claimed"):
        Guarantee.model_validate({**shared, "bracket": (0.9, 1.0000001)})
    # What is proved exactly is rounded in the bracket: the float 0.05 is above 1/20.
    for epsilon in ("1/20", "1/10", "1/5", "1/3"):
        proved = float(Fraction(epsilon))
        claim = {**CLAIM, "epsilon": epsilon}
        Guarantee.model_validate({**shared, "claim": claim, "bracket": (proved, proved)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": "0"}, "epsilon must be positive"),
        ({"delta": "1"}, "delta must lie in"),
        ({"records_per_unit": 2}, "records_per_unit must be 1"),
        ({"epsilon": "inf"}, "must be a number"),
        ({"unit_in_words": ""}, "at least 1 character"),
    ],
)
def test_a_claim_that_is_no_guarantee_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PrivacyClaim.model_validate({**CLAIM, **change})


def test_the_claim_stays_exact_through_json() -> None:
    claim = PrivacyClaim.model_validate({**CLAIM, "epsilon": "1/3"})
    assert PrivacyClaim.model_validate_json(claim.model_dump_json()).epsilon == Fraction(1, 3)


def test_a_group_multiplies_epsilon_and_chains_delta() -> None:
    claim = PrivacyClaim.model_validate({**CLAIM, "epsilon": "1/2", "delta": "1/1000"})
    chained = 0.0
    for _ in range(3):  # delta of k units: exp(epsilon) times that of k - 1, and one delta more
        chained = chained * 2.718281828459045**0.5 + 0.001
    epsilon, delta = claim.for_group(3)
    assert epsilon == Fraction(3, 2)
    assert chained <= delta <= chained * (1 + 1e-6)
    assert claim.for_group(5000)[1] == 1.0


def test_a_pure_claim_stays_pure_for_groups() -> None:
    claim = PrivacyClaim.model_validate({**CLAIM, "delta": 0})
    assert claim.for_group(4) == (Fraction(4), 0.0)


def test_an_account_cannot_overstate_what_remains() -> None:
    shared = {"name": "a", "cap": _amount("4"), "previously_spent": _amount("1/2")}
    Account(**shared, this_release=_amount("1"), remaining=_amount("5/2"))
    with pytest.raises(ValidationError, match="cannot remain"):
        Account(**shared, this_release=_amount("1"), remaining=_amount("3"))


def test_a_bound_below_its_terms_is_refused() -> None:
    bound = {"target": "AGE", "metric": "W1", "terms": {"noise": 0.02, "grid": 0.01}}
    assert CertifiedBound.model_validate({**bound, "value": 0.03}).value == 0.03
    with pytest.raises(ValidationError, match="less than the sum of its terms"):
        CertifiedBound.model_validate({**bound, "value": 0.029})


def test_a_certificate_summarises_its_largest_bound() -> None:
    certificate = CertificateFile.model_validate(
        {
            "confidence": 0.9,
            "method": "simulation",
            "bounds": [
                {"target": "A", "metric": "W1", "value": 0.1, "terms": {}},
                {"target": "B", "metric": "W1", "value": 1.0, "terms": {}, "vacuous": True},
            ],
        }
    )
    summary = certificate.summary()
    assert (summary.largest_target, summary.largest, summary.vacuous) == ("B", 1.0, 1)


def test_marginals_need_an_entry_for_each_cell() -> None:
    fields: dict[str, Any] = {"column": "SEX", "kind": "nominal", "cells": ("m", "f")}
    Marginal.model_validate({**fields, "synthetic": (0.5, 0.5)})
    with pytest.raises(ValidationError, match="1 entries for 2 cells"):
        Marginal.model_validate({**fields, "synthetic": (1.0,)})
    with pytest.raises(ValidationError, match="need their error band"):
        Marginal.model_validate({**fields, "synthetic": (0.5, 0.5), "measured": (0.5, 0.5)})


def test_nan_is_refused() -> None:
    with pytest.raises(ValidationError, match="finite number"):
        Marginal.model_validate(
            {"column": "A", "kind": "nominal", "cells": ("x",), "synthetic": (float("nan"),)}
        )


def test_a_history_is_sorted_into_series_and_facts() -> None:
    generator = Generator.from_history({"loss": [3, 2.0, 1], "rounds": 3, "note": "done"})
    assert [curve.name for curve in generator.curves] == ["loss"]
    assert generator.facts == {"rounds": 3, "note": "done"}


def test_the_actual_loss_is_held_against_the_certified_one() -> None:
    fields: dict[str, Any] = {
        "column": "A",
        "cells": ("x",),
        "private": (1.0,),
        "synthetic": (1.0,),
    }
    assert ColumnReview(**fields, actual=0.2, certified=0.3).held is True
    assert ColumnReview(**fields, actual=0.4, certified=0.3).held is False
    assert ColumnReview(**fields, actual=0.4).held is None
