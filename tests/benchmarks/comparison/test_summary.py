"""Means, best peers and ratios, on numbers that can be checked by hand."""

import pytest

from benchmarks.comparison.summary import Setting, Spread, best, ratio, rows, settings
from tests.builders.comparison_results import result

HERE = Setting(data="adult", relation="add_remove", epsilon="1")
RESULTS = [
    result(seed=1, metrics={"sw1": 0.001, "tv": 0.02}),
    result(seed=2, metrics={"sw1": 0.003, "tv": 0.04}),
    result(method="mst", metrics={"sw1": 0.009, "tv": 0.05}),
    result(method="mbi-mst", metrics={"sw1": 0.004, "tv": 0.06}),
    result(method="dpsynth-swift", status="reported", metrics={"tv": 0.05}, seed=0),
    result(method="mbi-aim", status="did not finish", metrics={}, detail="round 3: 2 %"),
    result(method="mbi-mst", epsilon="2.5"),
    result(method="mbi-mst", relation="replace_one", converted=True),
    result(data="acs_nat"),
]


def test_settings_are_sorted_by_relation_table_and_number() -> None:
    assert [(s.relation, s.data, s.epsilon) for s in settings(RESULTS)] == [
        ("add_remove", "acs_nat", "1"),
        ("add_remove", "adult", "1"),
        ("add_remove", "adult", "2.5"),
        ("replace_one", "adult", "1"),
    ]


def test_seeds_are_averaged_and_ours_come_first() -> None:
    found = rows(RESULTS, HERE)
    assert [row.label for row in found] == [
        "privpgd",
        "mst",
        "dpsynth-swift",
        "mbi-mst",
        "mbi-aim",
    ]
    first = found[0]
    assert (first.ours, first.runs, first.done) == (True, 2, 2)
    assert first.metrics["tv"].mean == pytest.approx(0.03)
    assert first.metrics["tv"].deviation == pytest.approx(0.0141421, rel=1e-5)
    assert found[1].metrics["tv"].deviation is None


def test_a_method_with_parameters_is_a_line_of_its_own() -> None:
    found = rows([*RESULTS, result(parameters={"sweeps": 3})], HERE)
    assert 'privpgd {"sweeps": 3}' in [row.label for row in found]


def test_runs_without_a_table_are_counted_and_explained() -> None:
    last = rows(RESULTS, HERE)[-1]
    assert (last.runs, last.done, last.metrics) == (1, 0, {})
    assert last.undone == "did not finish within 15 CPU min (round 3: 2 %)"


def test_other_endings_are_told() -> None:
    large = rows([result(status="out of memory", metrics={}, memory_cap_mib=8192.0)], HERE)
    failed = rows([result(status="failed", metrics={}, detail="ValueError: no")], HERE)
    assert large[0].undone == "took more than 8 GiB"
    assert failed[0].undone == "failed: ValueError: no"


def test_the_best_is_of_each_metric_and_side() -> None:
    found = rows(RESULTS, HERE)
    assert best(found, "tv", ours=False).label == "dpsynth-swift"  # type: ignore[union-attr]
    assert best(found, "sw1", ours=False).label == "mbi-mst"  # type: ignore[union-attr]
    assert best(found, "tv", ours=True).label == "privpgd"  # type: ignore[union-attr]
    assert best(found, "count", ours=True) is None


def test_ratios_compare_the_best_of_both_sides() -> None:
    found = rows(RESULTS, HERE)
    assert ratio(found, "tv") == pytest.approx(0.03 / 0.05)
    assert ratio(found, "sw1") == pytest.approx(0.002 / 0.004)
    assert ratio(found, "count") is None


def test_a_spread_reads_as_mean_and_deviation() -> None:
    assert str(Spread(0.12345, 0.00678)) == "0.1235 ± 0.0068"
    assert str(Spread(0.5, None)) == "0.5000"
