"""Measured errors of linear queries: a run, the journal, fits, and the page."""

import json
from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import query_errors
from benchmarks.data import FOLDER
from benchmarks.query_errors_data import OF_ACS, table, workload
from benchmarks.query_errors_fits import LAWS, MIRROR_DESCENT, by_queries, by_records, least_squares
from benchmarks.query_errors_report import write_report
from benchmarks.query_errors_runs import Case, journal, key, run
from benchmarks.query_errors_tables import missing
from hallmark.mechanisms.domain.domain import Domain

KEPT = query_errors.FOLDER / query_errors.JOURNAL


def case(**given: Any) -> Case:
    terms = {
        "data": "acs-binary", "columns": 4, "records": 1000, "epsilon": Fraction(1),
        "queries": "2-way", "method": "dpfw", "parameters": {"rounds": 20},
    }  # fmt: skip
    return Case(**{**terms, **given})


def test_a_run_tells_errors_below_its_certificate_and_what_it_cost() -> None:
    line = run(case(gap=True), "abc")
    assert line["status"] == "done"
    assert (line["cells"], line["count"], line["n"]) == (16, 24, 1000)
    assert 0 < line["mean_error"] < line["largest_error"] < line["certified"]
    assert line["covered"]
    assert line["largest_error"] < line["uniform_largest_error"]
    assert 0 < line["facts"]["gap"] < 2
    assert line["peak_mib"] > line["base_mib"] > 10
    assert set(line["seconds"]) == {"data", "plan", "measure", "generate", "certify"}
    assert key(json.loads(json.dumps(line))) == key(case().terms)
    again = run(case(gap=True), "abc")
    assert again["largest_error"] == line["largest_error"]


def test_a_run_that_is_too_slow_or_refused_says_so() -> None:
    late = run(case(columns=14, parameters={"rounds": 4000}, seconds=0.5), "abc")
    assert late["status"] == "did not finish"
    assert late["cpu_s"] >= 0.5
    assert "certify" not in late["seconds"]
    refused = run(case(parameters={"rounds": 0}), "abc")
    assert refused["status"] == "failed"
    assert "mechanism.rounds: 0" in refused["detail"]


def test_what_is_in_the_journal_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Case] = []

    def noted(one: Case, commit: str) -> dict[str, Any]:
        ran.append(one)
        return {**one.terms, "status": "done"}

    monkeypatch.setattr(query_errors, "run", noted)
    monkeypatch.setitem(query_errors.PARTS, "size", lambda: iter([case(seed=1), case(seed=2)]))
    path = tmp_path / "errors.jsonl"
    path.write_text(json.dumps({**case(seed=1).terms, "status": "done"}) + "\n")
    query_errors.run_all(["size"], path, None, 5.0)
    assert [(one.seed, one.seconds) for one in ran] == [(2, 5.0)]
    assert len(journal(path)) == 2


def test_missing_records_end_the_program_and_are_no_failed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setitem(query_errors.PARTS, "size", lambda: iter([case(data="binary")]))
    with pytest.raises(SystemExit, match=r"missing: .*adult\.data"):
        query_errors.run_all(["size"], tmp_path / "errors.jsonl", None, 5.0)
    assert journal(tmp_path / "errors.jsonl") == {}


def test_tables_are_samples_and_workloads_what_they_are_called() -> None:
    sampled = table("acs-binary", 5, 300, seed=1)
    assert sampled.codes.shape == (300, 5)
    assert sampled.domain.names == tuple(OF_ACS)[:5]
    assert set(np.unique(sampled.codes)) == {0, 1}
    assert not np.array_equal(sampled.codes, table("acs-binary", 5, 300, seed=2).codes)


def test_random_conjunctions_are_all_different() -> None:
    domain = Domain.coded(dict.fromkeys("abcde", 2))
    every = 10 * 4 + 10 * 8 + 5 * 16
    asked = workload(f"{every} random", domain, 3)
    assert asked.size == every
    assert len({asked.label(query) for query in range(every)}) == every
    assert workload("3-way", domain, 3).size == 10 * 8


def test_slopes_of_an_exact_law_are_found_and_noise_widens_them() -> None:
    points = [[log(n), log(e)] for n in (100, 1000, 10_000) for e in (0.2, 1.0, 2.5)]
    values = [3 - 0.4 * n - 0.7 * e for n, e in points]
    n, epsilon = least_squares(points, values) or ()
    assert (n.value, epsilon.value) == (pytest.approx(-0.4), pytest.approx(-0.7))
    assert n.error < 1e-9
    noisy = np.array(values) + np.random.default_rng(1).normal(scale=0.3, size=len(values))
    n, _ = least_squares(points, noisy.tolist()) or ()
    assert 0.01 < n.error < 0.2
    assert abs(n.value + 0.4) < 4 * n.error
    # As many runs as coefficients, or all at one epsilon, determine nothing.
    assert least_squares(points[:3], values[:3]) is None
    assert least_squares(points[::3], values[::3]) is None
    assert least_squares([], []) is None


def test_a_law_is_fitted_to_its_own_runs() -> None:
    lines = [
        {
            "method": method, "parameters": {}, "n": n, "epsilon": e, "count": 8,
            "largest_error": exp(-power * log(n * e)), "facts": {"gaussian_width": n / 10},
        }
        for method, power in (("dpam", 0.5), ("fem", 0.1))
        for n in (100, 1000)
        for e in (0.2, 1.0)
    ]  # fmt: skip
    n, epsilon = by_records(MIRROR_DESCENT, lines) or ()
    assert (n.value, epsilon.value) == (pytest.approx(-0.5), pytest.approx(-0.5))
    at_one = [line for line in lines if line["epsilon"] == 1.0] * 2
    (size,) = by_queries(MIRROR_DESCENT, at_one) or ()
    assert size.value == pytest.approx(-0.5)  # the width was made to grow with n


def test_what_was_not_run_is_told_by_part() -> None:
    runs = [case(seed=seed).terms for seed in range(3)] + [case(method="fem").terms]
    assert missing({"one": runs, "two": runs[:1]}, runs) == "Everything was run."
    told = missing({"one": runs, "two": runs[:1]}, runs[:2])
    assert told == "- *one*: 2 of 4 (`dpfw` 1, `fem` 1)."


@pytest.mark.slow
def test_the_page_is_that_of_the_journal(tmp_path: Path) -> None:
    write_report(journal(KEPT), query_errors.asked(), tmp_path)
    assert (tmp_path / "README.md").read_text() == (KEPT.parent / "README.md").read_text()
    assert {law.title for law in LAWS} <= {
        row.split(" | ")[0].strip("| ") for row in (tmp_path / "README.md").read_text().splitlines()
    }
    for picture in ("errors.png", "rates.png"):
        assert (tmp_path / picture).stat().st_size > 10_000
