"""Records of any mechanism obey the rules, and the history says how many were moved."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms import batches
from hallmark.mechanisms.compute import SERIAL
from hallmark.mechanisms.contract import Measurements, SyntheticMeasure
from hallmark.tasks.generate import (
    MOVED,
    TOTALLED,
    SyntheticFile,
    TotalsUnreachable,
    generate,
    obedient,
    totalled,
)
from hallmark.tasks.generate_batches import drawn
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from tests import example

RULES = [
    {"rule": "age < 15 <=> income is null", "source": "tests"},
    {"rule": "age < 50 => employed = false", "source": "tests"},
]

TOTALS = [
    {
        "columns": ["region"],
        "counts": {"01": 300, "02": 150, "07": 50},
        "reference": "made up for the tests",
    },
    {"where": "age < 50 and region = '02'", "count": 90, "reference": "made up for the tests"},
]


def prepared(folder: Path, **changes: Any) -> Prepared:
    return prepare(example.write(folder, 5, **({"constraints": RULES} | changes)))


def random_records(of: Prepared, rows: int = 500) -> SyntheticMeasure:
    rng = np.random.default_rng(1)
    shape = of.codec.domain.shape
    codes = np.column_stack([rng.integers(0, size, rows) for size in shape]).astype(np.int32)
    return SyntheticMeasure(codes=codes, history={"rounds": 3})


def test_records_that_break_a_rule_are_moved_and_counted(tmp_path: Path) -> None:
    of = prepared(tmp_path)
    rules = of.plan.domain.rules
    before = random_records(of)
    after = obedient(before, rules, of.rng("rules"))
    moved = (after.codes != before.codes).any(axis=1)
    assert 0 < moved.sum() == after.history[MOVED] < 500
    assert after.history["rounds"] == 3
    assert np.array_equal(moved, ~rules.valid(before.codes))
    assert rules.valid(after.codes).all()
    assert obedient(after, rules, of.rng("rules")).history[MOVED] == 0


def test_without_rules_nothing_is_touched_or_said(tmp_path: Path) -> None:
    of = prepared(tmp_path, constraints=[])
    before = random_records(of)
    assert obedient(before, of.plan.domain.rules, of.rng("rules")) is before


def test_the_same_release_moves_the_same_records_to_the_same_places(tmp_path: Path) -> None:
    of = prepared(tmp_path)
    one, two = (
        obedient(random_records(of), of.plan.domain.rules, of.rng("rules")) for _ in range(2)
    )
    assert np.array_equal(one.codes, two.codes)


def test_the_stage_writes_obedient_records_and_their_history(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = prepared(tmp_path)
    made = random_records(of)
    monkeypatch.setattr(type(of.mechanism), "generate", lambda *_, **__: made)
    monkeypatch.setattr("hallmark.tasks.generate.reporter", lambda stage: lambda share, doing: None)
    workspace = Workspace.of("test-release")
    file = generate.fn(of, Measurements(tables={}, total=500), workspace)
    assert isinstance(file, SyntheticFile)
    assert of.plan.domain.rules.valid(file.load().codes).all()
    assert json.loads(file.path.with_suffix(".json").read_text())[MOVED] > 0


def test_what_a_generator_keeps_for_the_certificate_comes_back_and_stays_out_of_the_history(
    home: Path, tmp_path: Path
) -> None:
    of = prepared(tmp_path, public_totals=TOTALS)
    answers, domain = np.random.default_rng(0).normal(size=1000), of.plan.domain
    made = replace(random_records(of), kept={"answers": answers})
    made = obedient(made, domain.rules, of.rng("rules"))
    made = totalled(made, domain.totals, domain.rules, of.rng("totals"))
    file = SyntheticFile(Workspace.of("test-release").path / "synthetic.npy")
    file.save(made)
    loaded = file.load()
    np.testing.assert_array_equal(loaded.kept["answers"], answers)
    np.testing.assert_array_equal(loaded.codes, made.codes)
    assert loaded.history == made.history
    assert "answers" not in loaded.history


def test_without_totals_nothing_is_touched_or_said(tmp_path: Path) -> None:
    of = prepared(tmp_path)
    before, domain = random_records(of), of.plan.domain
    assert totalled(before, domain.totals, domain.rules, of.rng("totals")) is before


def test_records_are_moved_until_totals_hold_and_are_counted(tmp_path: Path) -> None:
    of = prepared(tmp_path, public_totals=TOTALS)
    domain = of.plan.domain
    before = obedient(random_records(of), domain.rules, of.rng("rules"))
    after = totalled(before, domain.totals, domain.rules, of.rng("totals"))
    moved = (after.codes != before.codes).any(axis=1).sum()
    assert 0 < moved == after.history[TOTALLED] < 300
    assert domain.totals.held(after.codes)
    assert domain.rules.valid(after.codes).all()
    again = totalled(after, domain.totals, domain.rules, of.rng("totals"))
    assert again.history[TOTALLED] == 0


def test_what_determines_what_holds_beside_totals(tmp_path: Path) -> None:
    rules = [*RULES, {"rule": "region determines since", "source": "tests"}]
    total = {"where": "age < 50", "count": 300, "reference": "made up for the tests"}
    of = prepared(tmp_path, constraints=rules, public_totals=[total], output={"rows": 500})
    domain = of.plan.domain
    before = obedient(random_records(of), domain.rules, of.rng("rules"))
    after = totalled(before, domain.totals, domain.rules, of.rng("totals"))
    assert domain.totals.held(after.codes)
    pairs = np.unique(after.codes[:, [2, 4]], axis=0)
    assert len(pairs) == len(np.unique(pairs[:, 0]))


def test_totals_that_a_measured_function_makes_impossible_are_told_without_loss(
    tmp_path: Path,
) -> None:
    rules = [
        {"rule": "region determines employed", "source": "tests"},
        {"rule": "employed = true => age >= 50", "source": "tests"},
        {"rule": "employed = false => age < 50", "source": "tests"},
        {"rule": "region != '02' => age < 90", "source": "tests"},
    ]
    total = {"where": "age < 50", "count": 250, "reference": "made up for the tests"}
    of = prepared(tmp_path, constraints=rules, public_totals=[total], output={"rows": 500})
    domain = of.plan.domain
    codes = np.zeros((500, 5), dtype=np.int32)  # all are young, wherever they live
    codes[:, 2] = np.arange(500) % 3
    codes[:, 1] = domain.attributes[1].levels - 1
    before = obedient(SyntheticMeasure(codes=codes), domain.rules, of.rng("rules"))
    with pytest.raises(TotalsUnreachable, match="No budget is lost"):
        totalled(before, domain.totals, domain.rules, of.rng("totals"))


class Drawing:
    """A fit that draws random records, and counts how often it did."""

    rows = 1000

    def __init__(self, of: Prepared) -> None:
        self.shape, self.draws = of.codec.domain.shape, 0

    def batch(self, rows: int, rng: np.random.Generator) -> SyntheticMeasure:
        self.draws += 1
        codes = np.column_stack([rng.integers(0, size, rows) for size in self.shape])
        return SyntheticMeasure(codes=codes.astype(np.int32), history={"rounds": 3})


NOTHING = Measurements(tables={}, total=1000)


def made(of: Prepared, fit: Drawing, measurements: Measurements = NOTHING) -> SyntheticMeasure:
    """All batches that a fit draws."""
    workspace = Workspace.of("test-release")
    return drawn(of.spec, of.plan.domain, fit, measurements, workspace, SERIAL).load()


def test_batches_are_the_same_again_whoever_draws_them_and_obey_the_rules(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "ENTRIES", 5 * 150)  # records of five columns
    of = prepared(tmp_path)
    assert len(of.batches) == 20  # of the 3000 records that are expected
    one, two = Drawing(of), Drawing(of)
    first = made(of, one)
    codes = np.array(first.codes)
    assert codes.shape == (1000, 5)
    assert one.draws == 7
    assert first.history["batches"] == 7
    assert 0 < first.history[MOVED] < 1000
    assert of.plan.domain.rules.valid(codes.astype(np.int32)).all()
    assert len(np.unique(codes, axis=0)) > 300  # batches differ
    assert np.array_equal(made(of, two).codes, codes)


def test_a_resumed_run_goes_on_with_the_batches_that_are_there(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "ENTRIES", 5 * 150)
    of = prepared(tmp_path)
    whole_table = np.array(made(of, Drawing(of)).codes)

    class Dying(Drawing):
        def batch(self, rows: int, rng: np.random.Generator) -> SyntheticMeasure:
            if self.draws == 4:
                raise MemoryError
            return super().batch(rows, rng)

    with pytest.raises(MemoryError):
        made(of, Dying(of))
    resumed = Drawing(of)
    again = made(of, resumed)
    assert resumed.draws == 3
    assert np.array_equal(again.codes, whole_table)

    with pytest.raises(MemoryError):
        made(of, Dying(of))
    other = Drawing(of)  # of other measurements nothing is kept
    told = {"all": (np.arange(3),)}
    made(of, other, Measurements(tables=told, total=1000))
    assert other.draws == 7


def test_what_ties_all_records_together_is_made_in_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made_in_batches(**changes: Any) -> bool:
        return len(prepared(tmp_path, **changes).batches) > 1

    monkeypatch.setattr(batches, "ENTRIES", 10)
    tied = [*RULES, {"rule": "region determines since", "source": "tests"}]
    assert made_in_batches()
    assert not made_in_batches(constraints=tied)
    assert not made_in_batches(public_totals=TOTALS)
    assert not made_in_batches(mechanism={"name": "pmm"}, privacy=example.PURE)
    assert made_in_batches(mechanism={"name": "mst"})
    share = {"confidence": 0.95, "share": "1/4"}
    assert made_in_batches(certificate=share)
