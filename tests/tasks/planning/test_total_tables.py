"""Totals on cells, against values drawn from the cells; what ends within a cell is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hallmark.schemas.loading import load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.planning.total_tables import TotalRefused, total_cells
from tests import example

ROWS = 600
REFERENCE = "made up for the tests"


def spec_of(folder: Path, *totals: dict[str, Any], **changes: Any) -> ReleaseSpec:
    return load_spec(write(folder, *totals, **changes))


def write(folder: Path, *totals: dict[str, Any], **changes: Any) -> Path:
    stated = [{"reference": REFERENCE, **total} for total in totals]
    return example.write(folder, 5, public_totals=stated, **({"output": {"rows": ROWS}} | changes))


def table(columns: list[str], counts: Any) -> dict[str, Any]:
    return {"columns": columns, "counts": counts}


def where(text: str, count: int = 100) -> dict[str, Any]:
    return {"where": text, "count": count}


REGION = table(["region"], {"north": 300, "02": 200, "07": 100})
AGE = table(["age"], {"0 to 9": 50, "10 to 49": 350, "50 to 99": 200})
INCOME = table(["income"], {"0 to 200": 400, "200 to 400": 100, "null": 100})
BOTH = table(
    ["region", "employed"],  # not in the order of the domain
    [
        {"region": region, "employed": employed, "count": 100}
        for region in ("01", "south", "07")
        for employed in ("true", "0")
    ],
)
SOUND = [
    REGION,
    AGE,
    INCOME,
    BOTH,
    where("age >= 50"),
    where("income is null or region in {'01', '07'}"),
    where("not (age < 20 and employed = true) and region != '02'"),
    where("income < 50 => employed = false"),
]


@pytest.mark.parametrize("total", SOUND, ids=str)
def test_groups_of_cells_count_what_the_values_in_them_count(tmp_path, total):
    spec = spec_of(tmp_path, total, constraints=[])
    codec = TableCodec.of(spec.columns)
    (made,) = total_cells(spec, codec).totals
    rng = np.random.default_rng(4)
    shape = codec.domain.shape
    codes = np.column_stack([rng.integers(0, k, ROWS) for k in shape]).astype(np.int32)
    values = codec.decode(codes, rng)
    found = made.found(codes)
    stated = spec.public_totals[0]
    if stated.is_table:
        wrong = {f"{title}: {n}, not {k}" for title, n, k in
                 zip(made.titles, found, made.counts, strict=True) if n != k}  # fmt: skip
        assert set(stated.broken(values, spec.columns, spec.data.null_markers)) == wrong
        assert wrong
    else:
        (fault,) = stated.broken(values, spec.columns, spec.data.null_markers)
        assert fault.endswith(f": {found[0]}, not 100")
        assert found.sum() == ROWS


def test_the_null_marker_of_the_file_names_nulls_too(tmp_path):
    marked = table(["income"], {"0 to 200": 400, "200 to 400": 100, "NA": 100})
    one, two = (
        total_cells(spec_of(tmp_path, t), TableCodec.of(spec_of(tmp_path, t).columns)).totals[0]
        for t in (INCOME, marked)
    )
    assert np.array_equal(one.groups, two.groups)
    assert one.groups.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2]


@pytest.mark.parametrize(
    "text", ["age >= 55", "income > 100", "since < '2000-01-02'", "age < 15 and region = '01'"]
)
def test_a_condition_that_ends_within_a_cell_is_refused(tmp_path, text):
    spec = spec_of(tmp_path, where(text))
    with pytest.raises(TotalRefused, match=r"^public_totals\[0\].where: .* tells values within"):
        total_cells(spec, TableCodec.of(spec.columns))
    with pytest.raises(PlanRefused, match=r":\d+: public_totals\[0\].where: "):
        prepare(write(tmp_path, where(text)))


def test_a_total_over_too_many_cells_is_refused(tmp_path):
    whole = example.spec(tmp_path / "table.csv")["columns"]
    columns = whole | {
        "age": {**whole["age"], "cell_width": 1},
        "income": {**whole["income"], "cells": 1000},
        "since": {**whole["since"], "cells": 300},
    }
    total = where("age < 10 or income > 100 or since is null", 1)
    columns["since"]["nulls"] = True
    with pytest.raises(
        PlanRefused, match=r":\d+: public_totals\[0\]: .*100 \(age\) x 1,001 \(income\)"
    ):
        prepare(write(tmp_path, total, columns=columns))


def test_totals_that_a_rule_makes_impossible_are_refused_with_the_rule(tmp_path):
    rules = [
        {"rule": "employed = true => age >= 20", "source": "tests"},
        {"rule": "age < 50 => region = '01'", "source": "tests"},
    ]
    message = (
        r":\d+: public_totals\[0\], constraints\[1\]: no record can be one of those it counts "
        r"under "
        r"\"age < 50 => region = '01'\": age < 20 and region = '07': 100; correct one of them$"
    )
    with pytest.raises(PlanRefused, match=message):
        prepare(write(tmp_path, where("age < 20 and region = '07'"), constraints=rules))
    with pytest.raises(
        PlanRefused, match=r":\d+: public_totals\[1\], public_totals\[2\]: no table of"
    ):
        prepare(write(tmp_path, where("age < 20", 50), AGE, where("age < 50", 40), constraints=[]))


def test_a_function_that_is_not_known_yet_is_no_column_of_a_total(tmp_path):
    rules = [{"rule": "region determines employed", "source": "tests"}]
    with pytest.raises(
        PlanRefused, match=r":\d+: public_totals\[0\], constraints\[0\]: 'region det"
    ):
        prepare(write(tmp_path, REGION, constraints=rules))


def test_totals_stand_beside_the_rules_in_the_plan_and_change_no_question(tmp_path):
    with_totals = prepare(write(tmp_path / "a", AGE, where("age < 10", 50)))
    without = prepare(write(tmp_path / "b"))
    assert with_totals.plan.domain.totals.records == ROWS
    assert with_totals.plan.events == without.plan.events
    assert with_totals.plan.noise == without.plan.noise


def test_totals_do_not_bind_the_privacy_of_a_release_but_its_identity(tmp_path):
    one, two = spec_of(tmp_path, AGE), spec_of(tmp_path)
    assert one.privacy_digest() == two.privacy_digest()
    assert one.digest() != two.digest()
    assert "public_totals" not in two.content()
    assert "public_totals[0]: age is published as stated" in "\n".join(one.warnings())


def test_a_spec_with_totals_survives_being_written_and_read(tmp_path):
    spec = spec_of(tmp_path, AGE, BOTH, INCOME, where("age < 20"))
    again = ReleaseSpec.model_validate_json(spec.canonical_json())
    assert again == spec
    assert again.digest() == spec.digest()
    assert spec.records == ROWS
    assert spec_of(tmp_path, AGE, output={}).records == ROWS
    assert spec_of(tmp_path, output={}).records is None


def test_days_are_counted_by_intervals(tmp_path):
    spec = spec_of(tmp_path, constraints=[])
    edges = np.asarray(spec.columns["since"].edges).astype("datetime64[D]")
    counts = {
        f"{edges[0]} to {edges[2] - 1}": 200,
        f"{edges[2]} to {edges[-1] - 1}": 400,
    }
    spec = spec_of(tmp_path, table(["since"], counts), constraints=[])
    (made,) = total_cells(spec, TableCodec.of(spec.columns)).totals
    assert made.groups.tolist() == [0, 0, 1, 1, 1, 1]
