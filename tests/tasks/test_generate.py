"""Records of any mechanism obey the rules, and the history says how many were moved."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mechanisms.contract import Measurements, SyntheticMeasure
from tasks.generate import MOVED, SyntheticFile, generate, obedient
from tasks.prepare import Prepared, prepare
from tasks.workspace import Workspace
from tests import example

RULES = [
    {"rule": "age < 15 <=> income is null", "source": "tests"},
    {"rule": "age < 50 => employed = false", "source": "tests"},
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
    monkeypatch.setattr("tasks.generate.reporter", lambda stage: lambda share, doing: None)
    workspace = Workspace.of("test-release")
    file = generate.fn(of, Measurements(tables=(), total=500), workspace)
    assert isinstance(file, SyntheticFile)
    assert of.plan.domain.rules.valid(file.load().codes).all()
    assert json.loads(file.path.with_suffix(".json").read_text())[MOVED] > 0
