"""The forecast of the time: what it grows with, what it adds up to, and where there is none."""

from pathlib import Path
from typing import Any

import pytest

from hallmark.mechanisms import batches
from hallmark.tasks.forecast.summary import plan_summary
from hallmark.tasks.forecast.time import TimeForecast, time_forecast
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.rendering.wording import duration
from tests import example


def forecast(folder: Path, rows: int = 3000, **changes: Any) -> TimeForecast:
    data = {**example.spec(folder / "table.csv")["data"], "expected_rows": rows}
    privacy = {**example.spec(folder / "table.csv")["privacy"], "large_delta": "for the test"}
    prepared = prepare(
        example.write(
            folder, 5, **{"data": data, **changes, "privacy": privacy | changes.get("privacy", {})}
        )
    )
    found = time_forecast(prepared, prepared.plan.forecast())
    assert found is not None
    return found


def test_reading_grows_with_the_rows_and_making_with_the_records(tmp_path: Path) -> None:
    few = forecast(tmp_path, 10**7, output={"rows": 1000})
    many = forecast(tmp_path, 10**8, output={"rows": 1000})
    more = forecast(tmp_path, 10**8, output={"rows": 100_000})
    for stage in ("read", "review"):
        assert many.shared[stage] == pytest.approx(10 * few.shared[stage])
        assert more.shared[stage] == many.shared[stage]
    assert more.shared["make"] > 10 * many.shared["make"]
    assert more.shared["write"] == pytest.approx(100 * many.shared["write"])
    assert more.alone["fit"] == many.alone["fit"] >= few.alone["fit"]


def test_replicates_take_time_each(tmp_path: Path) -> None:
    few, many = (
        forecast(tmp_path, output={"replicates": {"number": number}}) for number in (20, 60)
    )
    assert "replicate" not in forecast(tmp_path).shared
    assert many.shared["replicate"] == pytest.approx(3 * few.shared["replicate"])
    assert few.shared["replicate"] > 20 * 0.1 * few.alone["fit"]


def test_a_fit_takes_the_longer_the_less_noise_there_is(tmp_path: Path) -> None:
    pairs = {"name": "privpgd", "selection": "all"}
    every = (forecast(tmp_path, rows, mechanism=pairs) for rows in (10**3, 10**4, 10**5, 10**6))
    fits = [one.alone["fit"] for one in every]
    assert fits == sorted(fits)
    assert fits[-1] < 20 * fits[0]


@pytest.mark.slow
def test_rounds_of_a_selection_take_time(tmp_path: Path) -> None:
    def told(generator: str, **selection: Any) -> TimeForecast:
        mechanism = {"name": "privpgd", "selection": selection, "generator": generator}
        return forecast(tmp_path, mechanism=mechanism)

    for generator in ("noise-aware", "graphical-model"):
        few = told(generator, method="mwem", rounds=2)
        many = told(generator, method="mwem", rounds=4)
        assert few.alone["fit"] < many.alone["fit"]
        assert few.shared["measure"] < many.shared["measure"]
        capped = told(generator, method="aim", rounds_cap=2)
        assert capped.shared["measure"] < told(generator, method="aim").shared["measure"]


def test_workers_share_what_is_done_in_parts_and_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = forecast(tmp_path, 10**8)
    assert told.on(1) == pytest.approx(told.total)
    assert told.on(8) == pytest.approx(sum(told.shared.values()) / 8 + sum(told.alone.values()))
    tied = [{"rule": "region determines since", "source": "tests"}]
    assert "make" in forecast(tmp_path, constraints=tied).alone  # in one piece
    monkeypatch.setattr(batches, "ENTRIES", 1000)
    assert "make" in forecast(tmp_path).shared


def test_a_share_for_the_certificate_is_simulated_beside_the_rest(tmp_path: Path) -> None:
    share = forecast(tmp_path, certificate={"confidence": 0.95, "share": "1/4"})
    assert share.alone["certify"] > forecast(tmp_path).alone["certify"]


def test_a_plan_tells_the_time_or_that_nothing_tells(tmp_path: Path) -> None:
    told = plan_summary(prepare(example.write(tmp_path, 5)))["forecast"]["time"]
    assert TimeForecast(**told).total > 10
    other = example.write(tmp_path, 5, mechanism={"name": "private-gsd"})
    assert plan_summary(prepare(other))["forecast"]["time"] is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(40, "40 s"), (99.4, "99 s"), (720, "12 min"), (12_600, "3.5 h"), (40_000, "11 h")],
)
def test_lengths_of_time_are_told_to_two_digits(seconds: float, words: str) -> None:
    assert duration(seconds) == words
