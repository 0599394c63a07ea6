"""Verdicts of plans: what a release will be good for, and what its budget would buy nothing of."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hallmark.tasks.forecast.verdict import Verdict, about_nothing, in_words, sweep, verdicts
from hallmark.tasks.planning.prepare import at_epsilon, prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.requested import PlanRefused
from tests import example


def planned(folder: Path, **changes: Any) -> Prepared:
    return prepare(example.write(folder, 5, **changes))


def certified(folder: Path, epsilon: str, **columns: Any) -> Prepared:
    """The certificate of a file, on columns of the example."""
    whole = example.spec(folder)
    kept = {name: whole["columns"][name] for name in ("age", "region", "employed")} | columns
    left_out = [name for name in (*whole["columns"], "person") if name not in kept]
    return planned(
        folder,
        mechanism={"name": "certify"},
        certificate={"marginals": 2},
        constraints=[],
        columns=kept,
        data={**whole["data"], "ignore": left_out},
        privacy={**example.PURE, "epsilon": epsilon},
        output={},
    )


def told(prepared: Prepared) -> list[Verdict]:
    return verdicts(prepared, prepared.plan.forecast())


def test_a_certificate_is_judged_by_column_and_by_pair(tmp_path: Path) -> None:
    found = {one.columns: one for one in told(certified(tmp_path, "1"))}
    assert list(found) == [
        ("age",), ("region",), ("employed",),
        ("age", "region"), ("age", "employed"), ("region", "employed"),
    ]  # fmt: skip
    assert found["age",].in_unit == pytest.approx(99 * found["age",].bound)
    assert found["region",].use == "good"
    assert found["age", "region"].bound > found["region", "employed"].bound


def test_bounds_that_will_say_nothing_are_warned_of_before_anything_is_spent(
    tmp_path: Path,
) -> None:
    assert list(about_nothing(told(certified(tmp_path / "much", "1")))) == []
    (warning,) = about_nothing(told(certified(tmp_path / "little", "1/40")))
    assert "age x region" in warning
    assert "region x employed" not in warning
    assert warning.startswith("certificate: 1 of 6 bounds will say nothing")


def test_a_share_for_the_certificate_shows_what_is_paid_for(tmp_path: Path) -> None:
    mechanism = {"mechanism": {"name": "pmm"}, "constraints": [], "privacy": example.PURE}
    whole = example.spec(tmp_path)
    columns = {name: whole["columns"][name] for name in ("age", "employed")}
    data = {**whole["data"], "ignore": ["income", "region", "since", "person"]}
    spec = mechanism | {"columns": columns, "data": data}
    plain = planned(tmp_path / "plain", **spec)
    granted = planned(tmp_path / "granted", **spec, certificate={"share": "0.2", "marginals": 2})
    assert ("age", "employed") not in {one.columns for one in told(plain)}
    assert ("age", "employed") in {one.columns for one in told(granted)}


def test_a_bound_as_large_as_the_spread_is_useless(tmp_path: Path) -> None:
    # Narrow cells where records are expected: most fares are small, so 76 is much.
    narrow = {
        "type": "numeric", "minimum": 0, "maximum": 400, "edges": [0, 5, 10, 15, 20, 30, 60, 400],
        "unit": "pounds", "nulls": True, "outside": "clamp", "bound_source": example.SOURCE,
    }  # fmt: skip
    columns = example.spec(tmp_path)["columns"] | {"income": narrow}
    found = told(planned(tmp_path, columns=columns))
    (fare,) = (one for one in found if one.columns == ("income",))
    assert fare.use == "useless"
    assert fare.spread < fare.bound < 1
    assert in_words(found).endswith(f"useless for income (± {round(fare.in_unit or 0)} pounds)")


def test_published_totals_tell_the_spread(tmp_path: Path) -> None:
    counts = {"01": 2900, "02": 50, "07": 50}
    total = {"columns": ["region"], "counts": counts, "reference": "made up for the tests"}
    plain = {one.columns: one for one in told(planned(tmp_path / "plain"))}
    assert plain["region",].spread == pytest.approx(2 / 3)
    known = {one.columns: one for one in told(planned(tmp_path / "known", public_totals=[total]))}
    assert known["region",].spread == pytest.approx(100 / 3000)
    assert known["region",].use == "exact"


def test_a_sweep_tells_what_each_epsilon_would_bring(tmp_path: Path) -> None:
    prepared = certified(tmp_path, "1")
    low, same, high = sweep(prepared, [Fraction(1, 5), Fraction(1), Fraction(5)])
    assert (low.expected_error or 0) > (same.expected_error or 0) > (high.expected_error or 1)
    assert same.told == tuple(told(prepared))
    assert prepared.spec.privacy.epsilon == 1


def test_an_epsilon_that_no_spec_may_have_is_refused_by_itself(tmp_path: Path) -> None:
    prepared = certified(tmp_path, "1")
    with pytest.raises(PlanRefused, match=r"privacy\.epsilon is too large; give at most 500"):
        at_epsilon(prepared, Fraction(501))
    wrong, right = sweep(prepared, [Fraction(501), Fraction(1)])
    assert "privacy.epsilon" in wrong.refusal
    assert right.refusal == ""
