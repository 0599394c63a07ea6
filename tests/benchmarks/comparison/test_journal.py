"""Results on disk: kept, replaced by later ones, and what need not be run again."""

from pathlib import Path

import pytest

from benchmarks.comparison.journal import append, read, settled
from tests.builders.comparison_results import result


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    first, second = result(), result(method="mbi-mst", seed=2, parameters={"b": [1], "a": None})
    for one in (first, second):
        append(one, tmp_path)
    assert read(tmp_path) == {first.key: first, second.key: second}
    assert {path.name for path in tmp_path.iterdir()} == {"privpgd.jsonl", "mbi-mst.jsonl"}


def test_the_last_result_of_a_run_counts_and_the_others_stay(tmp_path: Path) -> None:
    append(result(status="failed", metrics={}), tmp_path)
    append(result(), tmp_path)
    assert list(read(tmp_path).values()) == [result()]
    assert len((tmp_path / "privpgd.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"data": "acs_nat"},
        {"method": "mst"},
        {"parameters": {"sweeps": 3}},
        {"relation": "replace_one"},
        {"epsilon": "0.2"},
        {"delta": "1e-6"},
        {"seed": 2},
    ],
)
def test_runs_that_differ_have_different_keys(change: dict) -> None:
    assert result(**change).key != result().key


def test_the_order_of_parameters_does_not_matter() -> None:
    assert result(parameters={"a": 1, "b": 2}).key == result(parameters={"b": 2, "a": 1}).key


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    append(result(), tmp_path)
    with (tmp_path / "privpgd.jsonl").open("a") as file:
        file.write('{"data": "adult"}\n')
    with pytest.raises(ValueError, match=r"privpgd\.jsonl, line 2: not a result"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (None, False),
        (result(), True),
        (result(status="failed"), False),
        (result(status="reported"), False),
        (result(status="did not finish", seconds_cap=900), True),
        (result(status="did not finish", seconds_cap=600), False),
        (result(status="out of memory", memory_cap_mib=8192), True),
        (result(status="out of memory", memory_cap_mib=4096), False),
    ],
)
def test_runs_are_settled_when_done_or_beyond_caps_as_high(known, expected: bool) -> None:
    assert settled(known, seconds=900, memory_mib=8192) is expected
