"""Forecasts of needs against what simulated releases of public data realise, and what they cost."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.transcript import Transcribing
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.needs import Need, parse_need
from hallmark.schemas.question import QuestionError
from hallmark.tasks.forecast.least_epsilon import least_epsilon
from hallmark.tasks.forecast.needs import NeedForecast, need_forecasts
from hallmark.tasks.forecast.solution import Solution, solved
from hallmark.tasks.forecast.summary import plan_summary
from hallmark.tasks.planning.prepare import at_epsilon, prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.questions.questioning import Questioning
from hallmark.tasks.record.kept import kept_needs
from tests import example

ROWS = 3000
REGIONS = {"01": 1800, "02": 900, "07": 300}
TOTAL = {"columns": ["region"], "counts": REGIONS, "reference": "made up for the tests"}
BY_REGION = ("age", "region", "employed")


def prepared(folder: Path, epsilon: str = "4", **changes: Any) -> Prepared:
    """One noise for all marginals of few columns, which is the quickest to plan."""
    own = example.some_columns(*BY_REGION)
    own["data"]["source"] = str(folder / "table.csv")
    given = {
        "mechanism": {"name": "private-gsd"},
        "privacy": example.PURE | {"epsilon": epsilon, "delta": "1e-5"},
    }
    return prepare(example.write(folder, 30, **(own | given | changes)))


def public_codes(shape: tuple[int, ...]) -> AnyCodes:
    """Records of `REGIONS`, young, of whom one in five is employed; by region, age, employed."""
    rng = np.random.default_rng(3)
    region = np.repeat(np.arange(3), list(REGIONS.values()))
    age = np.minimum(rng.geometric(0.3, ROWS) - 1, shape[0] - 1)
    employed = (rng.random(ROWS) < 0.2).astype(int)
    return np.column_stack([age, region, employed])


def realised(of: Prepared, need: Need, codes: AnyCodes, seed: int) -> float:
    """The half width of the smallest group's interval in a simulated release."""
    curator = SimulatedCurator(
        codes=codes, adjacency=of.plan.adjacency, rng=np.random.default_rng(seed)
    )
    transcribing = Transcribing(curator)
    of.ask(transcribing)
    asking = Questioning(of.spec, Estimator.of(transcribing.transcript))
    found = asking.answer(asking.bound(need.question), confidence=float(need.confidence)).answers
    low, high = found[-1].low, found[-1].high
    assert low is not None
    assert high is not None
    return (high - low) / 2


def need(question: str, within: float | str, **more: Any) -> Need:
    return Need.model_validate(
        {"question": question, "within": within, "stated_by": "the tests", **more}
    )


def forecast(of: Prepared, wanted: Need) -> NeedForecast:
    (found,) = need_forecasts(of, [wanted])
    return found


@pytest.mark.parametrize("mechanism", ["private-gsd", "privpgd"])
def test_sure_intervals_are_as_wide_as_forecast(mechanism: str, tmp_path: Path) -> None:
    of = prepared(tmp_path, mechanism={"name": mechanism}, public_totals=[TOTAL])
    codes = public_codes(of.codec.domain.shape)
    small = codes[codes[:, 1] == 2]
    middles = np.arange(4.5, 100, 10)
    for wanted in (
        need("count by region", 10, confidence="0.9"),
        need("share of employed = true by region", 0.5, about=float(small[:, 2].mean())),
        need("mean of age by region", 50, about=float(middles[small[:, 0]].mean())),
    ):
        found = forecast(of, wanted)
        wide = [realised(of, wanted, codes, seed) for seed in range(5)]
        assert found.half_width == pytest.approx(np.median(wide), rel=0.1)
        if wanted.about is not None:
            assert found.group.startswith("region")
            assert found.records == pytest.approx(REGIONS["07"])
            assert found.sizes == "public"
        assert found.at_most is not None
        assert max(wide) <= found.at_most * (1 + 1e-9)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_whatever_the_answer_is_no_interval_is_wider_than_the_worst(
    share: float, tmp_path: Path
) -> None:
    of = prepared(tmp_path, public_totals=[TOTAL])
    codes = public_codes(of.codec.domain.shape)
    codes[:, 2] = np.random.default_rng(1).random(ROWS) < share
    wanted = need("share of employed = true by region", 1 / 2)
    found = forecast(of, wanted)
    wide = max(realised(of, wanted, codes, seed) for seed in range(5))
    assert found.at_most is not None
    assert wide <= found.at_most


def test_the_outlook_depends_on_what_is_public(tmp_path: Path) -> None:
    of = prepared(tmp_path)
    share = "share of employed = true by region"
    told = forecast(of, need(share, "5 points"))
    assert told.outlook == "depends"
    assert told.sizes == "even"
    assert told.least_records is not None
    for factor, outlook in ((1.01, "met"), (0.98, "missed")):  # groups of just so many records
        stated = {"smallest_group": f"{factor * told.least_records / ROWS:.6f}", "about": 0.5}
        found = forecast(of, need(share, "5 points", **stated))
        assert found.sizes == "stated"
        assert (found.outlook == "missed") is (outlook == "missed")
    totals = prepared(tmp_path / "totals", public_totals=[TOTAL])
    wide = forecast(totals, need(share, "5 points"))
    assert wide.records == pytest.approx(REGIONS["07"])
    assert wide.half_width is not None
    assert wide.at_most is not None
    between = (wide.half_width + wide.at_most) / 2
    unstated = forecast(totals, need(share, round(between, 4)))
    assert unstated.outlook == "depends"  # no total counts the employed
    assert unstated.words.startswith("depends on answers of which nothing is public")
    assert forecast(totals, need(share, round(between, 4), about=0.5)).outlook == "expected"
    assert forecast(totals, need(share, round(wide.at_most + 1e-3, 4))).outlook == "met"


def test_without_a_stated_answer_a_need_is_missed_only_if_no_answer_meets_it(
    tmp_path: Path,
) -> None:
    of = prepared(tmp_path, public_totals=[TOTAL])
    share = "share of employed = true by region"
    half = forecast(of, need(share, 0.9, about=0)).half_width  # the interval ends at 0
    assert half is not None
    assert forecast(of, need(share, round(1.02 * half, 5))).outlook == "depends"
    assert forecast(of, need(share, round(0.9 * half, 5))).outlook == "missed"


def test_differences_and_ratios_are_promised_by_what_is_stated_of_them(tmp_path: Path) -> None:
    of = prepared(tmp_path, public_totals=[TOTAL])
    codes = public_codes(of.codec.domain.shape)
    east, south = (f"share of employed = true where region = '{code}'" for code in ("07", "02"))
    apart = need(f"{east} minus {south}", 0.5)
    found = forecast(of, apart)
    assert found.outlook == "met"
    assert found.at_most is not None
    for share in (0.02, 0.5, 0.98):
        codes[:, 2] = np.random.default_rng(1).random(ROWS) < share
        assert max(realised(of, apart, codes, seed) for seed in range(5)) <= found.at_most
    narrower = need(apart.question, round(0.99 * found.at_most, 4))
    assert forecast(of, narrower).outlook == "depends"
    ratio = "count where region = '07' over count where region = '02' and employed = true"
    employed = int(codes[codes[:, 1] == 1][:, 2].sum())
    wide = np.median([realised(of, need(ratio, 1), codes, seed) for seed in range(9)])
    for about, is_close in ((300 / employed, True), (2 * 300 / employed, False)):
        stated = {"about": round(about, 4), "smallest_group": f"{employed / ROWS:.4f}"}
        told = forecast(of, need(ratio, 1, **stated))
        assert (told.outlook, told.at_most) == ("expected", None)
        assert told.half_width is not None
        assert bool(abs(told.half_width / wide - 1) < 0.1) is is_close
    assert forecast(of, need(ratio, 1, smallest_group="0.2")).outlook == "depends"
    assert forecast(of, need("median of age by region", 80)).outlook == "depends"


def test_counts_are_promised_whatever_they_are(tmp_path: Path) -> None:
    of = prepared(tmp_path)
    (counts,) = need_forecasts(of, [need("count by age, region", 1)])
    assert counts.half_width is not None
    assert counts.outlook == "missed"
    assert forecast(of, need("count by age, region", counts.half_width + 0.01)).outlook == "met"
    assert counts.half_width == counts.at_most
    assert counts.records is None


def test_what_is_not_sure_to_be_measured_is_not_promised(tmp_path: Path) -> None:
    three = forecast(prepared(tmp_path), need("count by age, region, employed", 1e6))
    assert three.outlook == "no promise"
    assert three.reason.startswith("the noisy tables of private-gsd do not tell it")
    for name in ("mst", "aim"):
        of = prepared(tmp_path / name, mechanism={"name": name})
        pair = forecast(of, need("count by region, employed", 1e6))
        assert pair.outlook == "no promise"
        assert pair.reason.startswith(f"{name} chooses on private answers")


def solution_is_least(of: Prepared, needs: list[Need]) -> Solution:
    found = solved(of, needs)
    sure = [
        one
        for one in needs
        if one.question
        in {told.question for epsilon, told in found.frontier if epsilon is not None}
    ]
    assert found.epsilon is not None
    assert all(one.satisfied for one in need_forecasts(at_epsilon(of, found.epsilon), sure))
    less = at_epsilon(of, found.epsilon * Fraction(97, 100))
    missed = [one.question for one in need_forecasts(less, sure) if not one.satisfied]
    assert found.asked_by in missed
    epsilons = [epsilon for epsilon, _ in found.frontier if epsilon is not None]
    assert epsilons == sorted(epsilons)
    assert epsilons[-1] == found.epsilon
    return found


def test_the_solution_meets_all_needs_and_three_percent_less_does_not(tmp_path: Path) -> None:
    of = prepare(example.write(tmp_path, 30, **example.only(tmp_path, "age", "region")))
    needs = [
        need("count by region", 40),
        need("mean of age", 1, about=25),
        need("median of age", 10),
    ]
    assert len(solution_is_least(of, needs).frontier) == len(needs)


@pytest.mark.slow
def test_the_solution_of_pairs_is_the_least(tmp_path: Path) -> None:
    of = prepared(tmp_path, epsilon="1", public_totals=[TOTAL])
    needs = [
        need("count by region", 40),
        need("share of employed = true by region", "6 points"),
        need("mean of age by region", 30, about=25),
        need("count by age, region, employed", 10),
    ]
    never, told = solution_is_least(of, needs).frontier[-1]
    assert never is None
    assert told.question == needs[-1].question


def test_the_search_ends_where_widths_jump_or_nothing_is_known() -> None:
    tried = []

    def stepped(epsilon: Fraction) -> float:
        tried.append(epsilon)
        return 0.99 if epsilon >= Fraction(731, 100) else 1.001

    found = least_epsilon(stepped, Fraction(1, 2), delta=Fraction(0))
    assert found is not None
    assert Fraction(731, 100) <= found <= Fraction(731, 100) * Fraction(102, 100)
    assert len(tried) < 25
    assert least_epsilon(lambda _: float("inf"), Fraction(1), delta=Fraction(0)) is None
    anything = least_epsilon(lambda _: 0.0, Fraction(1), delta=Fraction(0))
    assert anything is not None
    assert anything <= Fraction(102, 100_000)


def test_needs_of_the_spec_are_in_the_plan_and_its_digest(tmp_path: Path) -> None:
    stated = {"question": "count by region", "within": 50, "stated_by": "the regional unit"}
    of = prepared(tmp_path, needs=[stated])
    (told,) = plan_summary(of)["needs"]
    assert told["stated_by"] == "the regional unit"
    assert told["words"].startswith(told["outlook"])
    without = prepared(tmp_path / "without")
    assert of.spec.digest() != without.spec.digest()
    assert "needs" not in without.spec.content()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"question": "mean of region"}, r"needs\[0\].question.*region is nominal"),
        ({"within": "1 point"}, r"needs\[0\].within.*points are of shares"),
        ({"within": -1}, r"needs\[0\].within.*above 0"),
        ({"question": "share of employed = true", "within": 1}, r"needs\[0\].within.*1 point is"),
        ({"smallest_group": 2}, r"needs\[0\].smallest_group.*at most 1"),
        ({"stated_by": ""}, r"needs\[0\].stated_by"),
    ],
)
def test_a_need_that_makes_no_sense_is_refused(
    wrong: dict[str, Any], told: str, tmp_path: Path
) -> None:
    stated = {"question": "count", "within": 50, "stated_by": "the tests"} | wrong
    with pytest.raises(SpecError, match=told):
        load_spec(example.write(tmp_path, 30, needs=[stated]))


def test_a_release_tells_from_its_tables_alone_what_it_kept(tmp_path: Path) -> None:
    share, stated = "share of employed = true by region", {"stated_by": "the tests"}
    needs: list[dict[str, Any]] = [
        {"question": share, "within": "20 points", **stated},
        {"question": share, "within": 0.001, **stated},
        {"question": share, "within": 0.008, "smallest_group": 0.25, **stated},
        {"question": "count by age, region, employed", "within": 9, **stated},
        {"question": share, "within": 0.5, "smallest_group": 0.9, **stated},
    ]
    of = prepared(tmp_path, needs=needs, public_totals=[TOTAL])
    codes = public_codes(of.codec.domain.shape)
    curator = SimulatedCurator(
        codes=codes, adjacency=of.plan.adjacency, rng=np.random.default_rng(0)
    )
    transcribing = Transcribing(curator)
    of.ask(transcribing)
    loose, tight, large, three, none = kept_needs(of.spec, of.codec, transcribing.transcript)
    assert loose.is_kept
    assert loose.half_width == pytest.approx(realised(of, of.spec.needs[0], codes, 0))
    assert loose.group == "region: east"
    assert not tight.is_kept
    assert large.is_kept
    assert large.group == "region: south"  # the smallest is too small to matter
    assert (three.is_kept, three.half_width) == (False, None)
    assert "nothing was measured" in three.reason
    assert not none.is_kept
    assert none.reason.startswith("no group is as large")


def test_a_group_that_noise_made_look_smaller_counts(tmp_path: Path) -> None:
    stated = {"question": "share of employed = true by region", "within": 0.5, "stated_by": "tests"}
    of = prepared(tmp_path, needs=[stated | {"smallest_group": REGIONS["01"] / ROWS}])
    codes = public_codes(of.codec.domain.shape)
    rng = np.random.default_rng(1)
    for _ in range(8):  # in half of them, the largest region looks smaller than it is
        told = Transcribing(SimulatedCurator(codes=codes, adjacency=of.plan.adjacency, rng=rng))
        of.ask(told)
        (kept,) = kept_needs(of.spec, of.codec, told.transcript)
        assert (kept.is_kept, kept.group) == (True, "region: north")


def test_needs_are_read_from_a_line() -> None:
    read = parse_need("share of employed = true by region within 1 point at 90 %", "the tests")
    assert read.question == "share of employed = true by region"
    assert read.half_width == Fraction(1, 100)
    assert read.confidence == Fraction(9, 10)
    assert parse_need("count within 50", "the tests").half_width == 50
    for wrong in ("count by region", "count within 5 at noon"):
        with pytest.raises(QuestionError, match=r"is not a need|is no confidence"):
            parse_need(wrong, "the tests")
