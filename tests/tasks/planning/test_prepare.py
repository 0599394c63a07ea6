"""From a spec to a plan: public, the same every time, and refused in words where it cannot be."""

import pickle
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hallmark.mechanisms.catalogue import CATALOGUE
from hallmark.mechanisms.domain.rules.contradictions import names_of
from hallmark.mechanisms.marginals.binning.mechanism import Binned
from hallmark.mechanisms.marginals.mechanism import Marginals
from hallmark.mechanisms.privacy.accountant import fits
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.schemas.binning import Binning
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.spec_checks import SoundSections, problems_between
from hallmark.schemas.spec_sections import MechanismChoice
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.prepare import at_epsilon, prepare
from hallmark.tasks.planning.prepared import stage_rng
from hallmark.tasks.planning.private_tables import note
from hallmark.tasks.planning.requested import PlanRefused, adjacency, budget, mechanism_of
from tests import example


def spec(folder: Path, **changes: Any) -> Path:
    return example.write(folder, 5, **changes)


def test_the_plan_has_the_budget_and_adjacency_of_the_spec(tmp_path: Path) -> None:
    prepared = prepare(spec(tmp_path))
    assert prepared.plan.budget == budget(prepared.spec)
    assert (prepared.plan.budget.epsilon, prepared.plan.budget.delta) == (1, Fraction(1, 10**5))
    assert prepared.plan.adjacency == Adjacency(neighbours=Neighbours.REPLACE_ONE)


def test_another_epsilon_is_planned_as_if_the_spec_said_so(tmp_path: Path) -> None:
    one = prepare(spec(tmp_path / "one"))
    other = at_epsilon(one, Fraction(3))
    privacy = {**example.spec(tmp_path / "table.csv")["privacy"], "epsilon": "3"}
    said = prepare(spec(tmp_path / "other", privacy=privacy))
    assert other.plan.events == said.plan.events != one.plan.events
    assert other.plan.domain is one.plan.domain  # whose rules are searched for contradictions once
    assert names_of(other.plan.domain.rules) == names_of(said.plan.domain.rules) != ()


def test_a_person_is_read_though_it_is_no_column_and_bounds_the_records(tmp_path: Path) -> None:
    unit = {"person": "person", "max_records": 4}
    data = {**example.spec(tmp_path / "table.csv")["data"], "ignore": []}
    chosen = {"neighbours": "add_remove", "unit": unit, "epsilon": "1", "delta": "1e-5"}
    prepared = prepare(spec(tmp_path, data=data, privacy=chosen))
    assert prepared.source.columns[-1] == prepared.person == "person"
    assert "person" not in prepared.spec.columns
    assert adjacency(prepared.spec).records == prepared.plan.adjacency.records == 4


def test_it_survives_the_way_to_another_machine(tmp_path: Path) -> None:
    prepared = prepare(spec(tmp_path))
    copy = pickle.loads(pickle.dumps(prepared))
    assert copy.spec == prepared.spec
    assert copy.plan.events == prepared.plan.events


def test_generators_differ_between_purposes_and_releases_and_repeat_otherwise() -> None:
    draws = [
        stage_rng(release, purpose).integers(2**60)
        for release in ("one", "one", "other")
        for purpose in ("generate", "decode")
    ]
    assert draws[:2] == draws[2:4]
    assert len(set(draws)) == 4


def test_a_share_is_measured_for_the_certificate_and_costs_its_part(tmp_path: Path) -> None:
    prepared = prepare(spec(tmp_path, certificate={"share": "1/4"}))
    assert prepared.plan.parameters["certificate"]["epsilon"] == "1/4"
    assert prepared.plan.budget == Budget(epsilon=Fraction(1), delta=Fraction(1, 10**5))
    assert fits(prepared.plan.events, prepared.plan.budget)


@pytest.mark.parametrize("share", [pytest.param(None, marks=pytest.mark.slow), "1/5"])
def test_private_bins_leave_the_mechanism_its_part_of_the_budget(
    share: str | None, tmp_path: Path
) -> None:
    binning = {"share": "1/10", "columns": {"income": 4}}
    certificate = {} if share is None else {"certificate": {"share": share}}
    prepared = prepare(spec(tmp_path, binning=binning, **certificate))
    left = Fraction(9, 10) * (1 if share is None else Fraction(4, 5))
    assert prepared.plan.parameters["epsilon_of_the_mechanism"] == str(left)
    assert prepared.plan.budget == Budget(epsilon=Fraction(1), delta=Fraction(1, 10**5))
    assert fits(prepared.plan.events, prepared.plan.budget)
    copy = pickle.loads(pickle.dumps(prepared))
    assert copy.plan.events == prepared.plan.events


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_spec_has_bins_for_just_the_mechanisms_that_can_have_them(name: str) -> None:
    sections = SoundSections(
        mechanism=MechanismChoice.model_construct(name=name),
        binning=Binning(share=Fraction(1, 10), columns={"income": 4}),
        unsound_columns=frozenset({"income"}),
    )
    refused = [what for path, what in problems_between(sections) if path == ("binning",)]
    assert bool(refused) is not isinstance(MECHANISMS.get(name), Marginals)
    assert all(f"but {name} does not" in what for what in refused)


def test_a_spec_with_bins_gets_the_mechanism_that_makes_them(tmp_path: Path) -> None:
    binning = {"share": "1/10", "columns": {"income": 4}}
    mechanism = mechanism_of(load_spec(spec(tmp_path, binning=binning)))
    assert mechanism == Binned(MECHANISMS["privpgd"], share=Fraction(1, 10), bins={"income": 4})


@pytest.mark.parametrize(
    "mechanism", [{"name": "privpgd", "sweeps": -1}, {"name": "privpgd", "x": 1}]
)
def test_parameters_that_the_mechanism_does_not_take_are_refused(
    mechanism: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match=r":\d+: mechanism\.(sweeps|x): is no parameter of privpgd"):
        prepare(spec(tmp_path, mechanism=mechanism))


def test_a_delta_of_one_record_is_refused_unless_somebody_accepts_it(tmp_path: Path) -> None:
    privacy = {"neighbours": "replace_one", "unit": "record", "epsilon": "1", "delta": "1/3000"}
    with pytest.raises(PlanRefused, match=r":\d+: privacy\.delta is .* privacy\.large_delta who"):
        prepare(spec(tmp_path, privacy=privacy))
    accepted = prepare(spec(tmp_path, privacy=privacy | {"large_delta": "the board, for a test"}))
    (warning,) = (said for said in accepted.spec.warnings() if "privacy.delta" in said)
    assert warning.endswith("accepted, as privacy.large_delta: the board, for a test")
    other = prepare(spec(tmp_path, privacy=privacy | {"large_delta": "another word"}))
    assert accepted.binding == other.binding  # so that a release that was started before goes on


def rules(*texts: str) -> dict[str, Any]:
    return {"constraints": [{"rule": text, "source": "tests"} for text in texts]}


def test_the_plan_knows_the_rules_of_the_spec(tmp_path: Path) -> None:
    prepared = prepare(spec(tmp_path, **rules("age < 20 <=> income is null")))
    allowed = prepared.plan.domain.rules.allowed((0, 1))
    assert allowed.tolist() == [[(age < 2) == (income == 8) for income in range(9)]
                                for age in range(10)]  # fmt: skip
    assert not prepare(spec(tmp_path / "none", constraints=[])).plan.domain.rules


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (
            ("age < 50", "employed = true => age >= 30", "employed = true", "age < 25 or age > 60"),
            r":\d+: constraints\[0\], constraints\[1\], constraints\[2\], constraints\[3\]: "
            r"'age < 50', .* contradict each other, for no record obeys all of them; correct one",
        ),
        (
            ("age > 15", "income >= 0", "age < 16"),  # told apart within a cell
            r":\d+: constraints\[0\], constraints\[2\]: 'age > 15', 'age < 16': contradict each",
        ),
        (("region != region",), r":\d+: constraints\[0\]: 'region != region': no record obeys it;"),
        (
            ("employed = true or employed = false => income is null",),
            r":\d+: constraints\[0\]: 'employed = .*': leaves income no value but null;",
        ),
    ],
)
def test_rules_that_contradict_are_refused_with_a_minimal_set_of_them(
    texts: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    with pytest.raises(PlanRefused, match=says):
        prepare(spec(tmp_path, **rules(*texts)))


def test_a_rule_that_needs_too_large_a_table_is_refused(tmp_path: Path) -> None:
    columns = example.spec(tmp_path / "table.csv")["columns"]
    text = "income > age or since > '2001-02-03' or region = '01' or region = '07'"
    assert prepare(spec(tmp_path / "fits", columns=columns, **rules(text))).plan.domain.rules
    columns["income"] = {**columns["income"], "cells": 4000}
    columns["since"] = {**columns["since"], "cells": 3000}
    said = r":\d+: constraints\[1\]: a table of .* \(income\) x .* kinds of values is needed"
    with pytest.raises(PlanRefused, match=said):
        prepare(spec(tmp_path, columns=columns, **rules("age > 3", text)))


def test_categories_are_not_read_from_any_private_table(tmp_path: Path, home: Path) -> None:
    other = example.write(tmp_path / "other", 3)
    note(Workspace.of("other"), load_spec(other), tmp_path / "other", None)
    columns = example.spec(tmp_path)["columns"]
    columns["region"]["categories"] = {"file": "../other/table.csv"}
    spec = example.write(tmp_path / "this", 3, columns=columns, constraints=[])
    text = "code\n01\n02\n07\n"
    (tmp_path / "other/table.csv").write_text(text)
    with pytest.raises(PlanRefused, match=r"region\.categories\.file: .* is the private table of"):
        prepare(spec)
    (tmp_path / "other/table.csv").unlink()
    (tmp_path / "codes.csv").write_text(text)
    columns["region"]["categories"] = {"file": "../codes.csv"}
    taken = prepare(example.write(tmp_path / "this", 3, columns=columns)).public.tables
    assert [table.like.files for table in taken] == [{sha256(text.encode()).hexdigest()}]


def test_lookups_are_not_read_from_any_private_table(tmp_path: Path, home: Path) -> None:
    other = example.write(tmp_path / "other", 3)
    note(Workspace.of("other"), load_spec(other), tmp_path / "other", None)
    values = {"file": "../other/table.csv", "column": "density"}
    lookups = {"density": {"of": "region", "values": values, "reference": "nowhere"}}
    spec = example.write(tmp_path / "this", 3, lookups=lookups)
    (tmp_path / "other/table.csv").write_text("code,density\n01,1\n02,2\n07,3\n")
    with pytest.raises(PlanRefused, match=r"density\.values\.file: .* is the private table of"):
        prepare(spec)
