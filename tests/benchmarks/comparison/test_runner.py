"""Runs from their task to their result, with a real mechanism on a small table."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.comparison import environments
from benchmarks.comparison.methods import PEERS, default_methods, method, ours
from benchmarks.comparison.ours import release
from benchmarks.comparison.runner import Run, carry_out
from benchmarks.comparison.scores import METRICS, score
from benchmarks.data import Table
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget


def small_table() -> Table:
    """Three columns that depend on each other, 2,000 records."""
    rng = np.random.default_rng(5)
    first = rng.integers(0, 4, size=2500)
    second = np.where(rng.random(2500) < 0.7, first, rng.integers(0, 4, size=2500))
    third = (second > 1) ^ (rng.random(2500) < 0.1)
    codes = np.column_stack([first, second, third]).astype(np.int64)
    return Table("small", {"a": 4, "b": 4, "c": 2}, codes[:2000], codes[2000:], 2)


def a_run(**changes) -> Run:
    run = Run(
        data="small",
        method=ours("privpgd"),
        parameters={},
        relation="add_remove",
        epsilon="2.5",
        delta="1e-5",
        seed=3,
    )
    return replace(run, **changes)


@pytest.mark.slow
def test_a_run_of_ours_is_scored_and_measured() -> None:
    table = small_table()
    result = carry_out(a_run(), table, seconds=300, memory_mib=4096)
    assert result.status == "done", result.detail
    assert set(result.metrics) == set(METRICS)
    assert result.metrics["tv"] < 0.1
    assert result.key == a_run().key
    assert result.cpu_s > 0.5
    assert result.peak_mib > 50
    assert result.facts["versions"]["numpy"] == np.__version__
    assert set(result.facts["seconds"]) == {"plan", "select and measure", "generate"}
    assert (result.total, abs(result.rows - 2000) < 200) == ("estimated", True)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PEERS))
def test_a_run_of_a_peer_is_scored_and_measured(name: str) -> None:
    peer = PEERS[name]
    if not (environments.HOME / str(peer.environment) / "installed").exists():
        pytest.skip(f"the environment of {peer.environment} was never made here")
    table = small_table()
    result = carry_out(a_run(method=peer), table, seconds=900, memory_mib=8192)
    assert result.status == "done", result.detail
    assert result.metrics["tv"] < 0.1
    assert str(peer.environment) in " ".join(result.facts["versions"])
    assert abs(result.rows - 2000) < 200
    if peer.total == "public":
        assert result.rows == 2000 or name == "dpmm-privbayes"


def test_a_run_that_fails_says_why() -> None:
    result = carry_out(a_run(parameters={"sweep": 1}), small_table(), seconds=300, memory_mib=4096)
    assert (result.status, result.metrics, result.rows) == ("failed", {}, None)
    assert "sweep" in result.detail


def test_the_same_seed_gives_the_same_records() -> None:
    table = small_table()
    budget = Budget(epsilon=Fraction(1), delta=Fraction(1, 10**5))
    adjacency = Adjacency(neighbours=Neighbours.REPLACE_ONE)
    same = [
        release(
            "privpgd",
            table.train,
            table.cells,
            budget=budget,
            adjacency=adjacency,
            parameters={"generator": {"latent": {"members": 2, "classes": 10}}},
            seed=seed,
        )[0].codes
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(same[0], same[1])
    assert not np.array_equal(same[0], same[2])


def test_a_table_beats_independent_columns() -> None:
    table = small_table()
    rng = np.random.default_rng(1)
    independent = np.column_stack([rng.permutation(column) for column in table.train.T])
    assert score(table, independent)["tv"] > 0.2
    assert score(table, table.train)["tv"] == 0


def test_a_converted_peer_is_asked_for_less() -> None:
    plain = a_run(method=PEERS["mbi-mst"])
    converted = a_run(method=PEERS["mbi-mst"], relation="replace_one")
    assert (plain.converted, plain.asked_epsilon) == (False, "2.5")
    assert converted.converted
    assert 1.3 < float(converted.asked_epsilon) < 1.7  # about 2.5 / sqrt(8 / 3)


def test_a_peer_without_a_proof_is_not_converted() -> None:
    run = a_run(method=PEERS["dpmm-privbayes"], relation="replace_one")
    with pytest.raises(ValueError, match="dpmm-privbayes cannot be converted to replace_one"):
        _ = run.asked_epsilon


def test_ours_use_the_number_of_records_as_the_relation_allows() -> None:
    line = method("privpgd")
    assert line.total_at("replace_one") == "public"
    assert line.total_at("add_remove") == "estimated"
    assert method("smartnoise-mst").total_at("add_remove") == "public"


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no method 'mts'; known are .*mbi-mst.*privpgd"):
        method("mts")


def test_all_methods_by_default_are_known() -> None:
    assert all(method(name).name == name for name in default_methods())
