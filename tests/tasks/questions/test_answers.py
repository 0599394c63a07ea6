"""Answers against statistics of the coded table itself, which noiseless tables must give exactly.

Every column's cells get a value that stands for them (the middle of numbers), in plain pandas.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.privacy.cells import CellMap, count_codes, marginal
from hallmark.mechanisms.privacy.queries import GaussianNoise
from hallmark.mechanisms.privacy.transforms import HISTOGRAM
from hallmark.schemas.question import QuestionError, parse_question
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.questions.answers import Answering, RecordWeights
from hallmark.tasks.questions.facts import Facts
from tests import example

SPEC = ReleaseSpec.model_validate(example.spec("table.csv"))
CODEC = TableCodec.of(SPEC.columns)
SHAPE = tuple(one.attribute.cells for one in CODEC.codecs)
TABLE = example.table(500)
AGE, INCOME, REGION, EMPLOYED, SINCE = range(5)


def coded(codec: TableCodec, table: pd.DataFrame) -> np.ndarray:
    text = table.assign(since=table["since"].dt.strftime("%Y-%m-%d"))
    text = text.astype({"age": "str", "employed": "str"})
    columns = [one.encode(one.read(text[one.name])[0]) for one in codec.codecs]
    return np.stack(columns, axis=1)


CODES = coded(CODEC, TABLE)


def seen(codes=CODES) -> pd.DataFrame:
    """The table as it was counted, in plain numbers and texts."""
    age = codes[:, AGE] * 10 + 4.5
    income = np.where(codes[:, INCOME] == 8, np.nan, codes[:, INCOME] * 50 + 25.0)
    region = np.array(["01", "02", "07"])[codes[:, REGION]]
    return pd.DataFrame(
        {"age": age, "income": income, "region": region, "code": codes[:, EMPLOYED]}
    )


def measured(cells: CellMap, codes: np.ndarray, noise: Fraction) -> MeasuredTable:
    """A table of these codes as if its noise had been 0."""
    return MeasuredTable(
        cells=cells,
        sums=HISTOGRAM.sums(cells.size),
        noise=GaussianNoise(noise),
        answers=count_codes(codes, [cells])[0],
    )


def answering(cliques, *, noise=4, answers=CODES, total=None, records=None) -> Answering:
    maps = [marginal(clique, SHAPE) for clique in cliques]
    tables = tuple(measured(cells, answers, Fraction(noise)) for cells in maps)
    return Answering(CODEC, Estimator(tables, total), records)


PAIRS = answering([(a, b) for a in range(5) for b in range(a)])


def ask(question, of=PAIRS, **options):
    bound = parse_question(question).bound_to(SPEC.columns)
    return of.answer(bound, **{"confidence": 0.95, **options})


def estimates(question, of=PAIRS):
    return [one.estimate for one in ask(question, of).answers]


def test_counts_shares_sums_and_means_are_those_of_the_coded_table():
    frame = seen()
    young = frame["age"] < 40
    assert estimates("count") == pytest.approx([len(frame)])
    assert estimates("count where age < 40") == pytest.approx([young.sum()])
    assert estimates('share of region = "02" where age < 40') == pytest.approx(
        [(frame["region"][young] == "02").mean()]
    )
    assert estimates("sum of income where age >= 20") == pytest.approx(
        [frame["income"][frame["age"] > 20].sum()]
    )
    assert estimates("mean of income by region") == pytest.approx(
        frame.groupby("region")["income"].mean().to_list()
    )


def test_cross_tables_have_every_cell_with_its_labels():
    found = ask("count by region, employed")
    assert [one.group[0] for one in found.answers][::2] == ["north", "south", "east"]
    counts = seen().groupby(["region", "code"]).size()
    told = [one.estimate for one in found.answers]
    assert sorted(told) == pytest.approx(sorted(counts.to_list()), abs=1e-6)


def test_differences_and_ratios_compare_two_statistics():
    frame = seen()
    north, south = (frame["income"][frame["region"] == code].mean() for code in ("01", "02"))
    question = 'mean of income where region = "01" {} mean of income where region = "02"'
    assert estimates(question.format("minus")) == pytest.approx([north - south])
    assert estimates(question.format("over")) == pytest.approx([north / south])
    sizes = frame["region"].value_counts()
    counts = 'count where region = "01" over count where region = "02"'
    assert estimates(counts) == pytest.approx([sizes["01"] / sizes["02"]])


FEW = answering([(a, b) for a in range(5) for b in range(a)], noise=Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("question", "ends"),
    [
        ('mean of age where region = "01"', lambda low, high: (low["01"], high["01"])),
        (
            'mean of age where region = "01" minus mean of age where region = "02"',
            lambda low, high: (low["01"] - high["02"], high["01"] - low["02"]),
        ),
        (
            'mean of age where region = "01" over mean of age where region = "02"',
            lambda low, high: (low["01"] / high["02"], high["01"] / low["02"]),
        ),
    ],
    ids=["mean", "minus", "over"],
)
def test_an_interval_of_raw_values_goes_from_the_least_of_each_cell_to_the_greatest(question, ends):
    frame = seen()
    least, greatest = (
        (frame["age"] + shift).groupby(frame["region"]).mean() for shift in (-4.5, 4.5)
    )
    (found,) = ask(question, FEW).answers
    assert (found.raw_low, found.raw_high) == pytest.approx(ends(least, greatest), rel=1e-3)
    assert found.raw_low < found.low < found.high < found.raw_high


def test_raw_values_lie_in_their_interval_wherever_they_are_in_their_cells():
    raw = TABLE["income"].groupby(seen()["region"])
    for noise in (Fraction(1, 10**6), Fraction(400)):
        told = answering([(INCOME, REGION)], noise=noise)
        for statistic, truth in (("sum", raw.sum()), ("mean", raw.mean())):
            found = ask(f"{statistic} of income by region", told).answers
            for one, value in zip(found, truth, strict=True):
                assert one.raw_low <= value <= one.raw_high


def test_an_answer_has_no_interval_of_raw_values_where_cells_do_not_hide_them():
    assert ask("count by region").answers[0].raw_low is None
    assert ask("share of age < 40").answers[0].raw_low is None
    assert ask("median of age").answers[0].raw_low is None  # it has whole cells already
    notes = " ".join(ask("mean of age by region").notes)
    assert "wherever they lie in their cells" in notes


def test_a_quotient_of_numbers_that_may_be_negative_has_no_interval_of_raw_values():
    columns = example.spec("table.csv")["columns"]
    columns["age"] |= {"minimum": -50, "maximum": 49}
    signed = ReleaseSpec.model_validate(example.spec("table.csv") | {"columns": columns})
    told = replace(FEW, codec=TableCodec.of(signed.columns))
    question = 'mean of age where region = "01" {} mean of age where region = "02"'
    found = {
        operator: told.answer(
            parse_question(question.format(operator)).bound_to(signed.columns), confidence=0.95
        )
        for operator in ("minus", "over")
    }
    assert found["minus"].answers[0].raw_low is not None
    assert found["over"].answers[0].raw_low is None
    assert "is not in the interval" in " ".join(found["over"].notes)


def test_a_quantile_lies_in_its_cell_and_its_interval_has_whole_cells():
    (found,) = ask("median of age").answers
    median = seen()["age"].median()
    assert abs(found.estimate - median) <= 5
    assert found.low % 10 == 0
    assert found.high % 10 == 9
    assert found.low <= median <= found.high
    assert found.deviation is None


def test_intervals_say_what_they_rest_on():
    assert ask("count by region").answers[0].basis == "exact"
    first_order = 'mean of age where region = "01" minus mean of age where region = "02"'
    assert ask(first_order).answers[0].basis == "first order"


def ruled():
    """The spec with a rule and a total, both of which are true of the coded table."""
    old = seen()["age"] >= 50
    return ReleaseSpec.model_validate(
        example.spec(
            "table.csv",
            constraints=[{"rule": "age < 10 => income is null", "source": "tests"}],
            public_totals=[
                {"where": "age >= 50", "count": int(old.sum()), "reference": "tests"},
                {"where": "age < 50", "count": int((~old).sum()), "reference": "tests"},
            ],
            output={"rows": len(CODES)},
        )
    )


def test_rules_and_totals_narrow_intervals_where_they_are_taken_for_true():
    facts = Facts.of(ruled(), CODEC)
    free = answering([(a, b) for a in range(5) for b in range(a)], noise=900)
    held = replace(free, facts=facts)
    for question in ("count where income is null", "count where age < 20 by region"):
        without, given = ask(question, free), ask(question, held)
        assert {one.basis for one in without.answers} == {"exact"}
        assert {one.basis for one in given.answers} == {"given"}
        assert any("is not checked" in note for note in given.notes)
        for one, other in zip(without.answers, given.answers, strict=True):
            assert other.deviation < one.deviation
            assert other.estimate == pytest.approx(one.estimate, abs=1e-6)  # answers are noiseless
    (known,) = ask("count where age >= 50", held).answers
    assert known.low == known.high == pytest.approx((seen()["age"] >= 50).sum())
    (impossible,) = ask("count where age < 10 and income >= 100", held).answers
    assert impossible.estimate == pytest.approx(0, abs=1e-6)


def test_records_with_replicate_weights_have_an_interval():
    again = np.tile([0.5, 1.1, 1.4], (len(CODES), 1))  # every count changes by as much
    weights = RecordWeights(np.ones(len(CODES)), lambda: again)
    with_weights = replace(answering([(AGE, REGION)], records=CODES), weights=weights)
    (found,) = ask("count where income is null", with_weights).answers
    count = seen()["income"].isna().sum()
    assert found.basis == "replicates"
    assert found.estimate == count
    assert found.deviation == pytest.approx(count * np.sqrt((0.25 + 0.01 + 0.16) / 3))
    (share,) = ask("share of income is null", with_weights).answers  # which does not change
    assert (share.basis, share.low) == ("records", None)


def test_what_the_tables_do_not_tell_is_answered_by_the_records_without_interval():
    with_records = answering([(AGE, REGION)], records=CODES)
    found = ask("mean of income by region", with_records)
    assert [one.estimate for one in found.answers] == pytest.approx(
        seen().groupby("region")["income"].mean().to_list()
    )
    assert {(one.basis, one.low, one.high) for one in found.answers} == {("records", None, None)}
    assert any("income x region" in note for note in found.notes)
    share = 'share of income is null minus share of region = "01"'
    frame = seen()
    assert estimates(share, with_records) == pytest.approx(
        [frame["income"].isna().mean() - (frame["region"] == "01").mean()]
    )
    assert estimates('count where income >= 50 over count where region = "01"', with_records) == [
        pytest.approx((frame["income"] > 50).sum() / (frame["region"] == "01").sum())
    ]
    median = estimates("median of income by region", with_records)
    assert all(value % 50 == 25 for value in median)


def test_without_records_it_is_refused_with_what_would_have_to_be_measured():
    with pytest.raises(QuestionError, match="nothing was measured of income x region"):
        ask("mean of income by region", answering([(AGE, REGION)]))


def test_impossible_values_are_left_out_of_intervals():
    wide = answering([(AGE, REGION), (REGION, EMPLOYED)], noise=10**5)
    for one in ask("count by region", wide).answers:
        assert one.low >= 0
    for one in ask('share of region = "01"', wide).answers:
        assert 0 <= one.low <= one.high <= 1
    for one in ask("mean of age", wide).answers:
        assert 0 <= one.low <= one.high <= 99


def test_an_estimate_that_no_table_has_is_explained():
    shifted = np.full(SHAPE[REGION], 100)
    table = measured(marginal((REGION,), SHAPE), CODES, Fraction(10**5))
    negative = replace(table, answers=table.answers - 10 * shifted)
    (*_, found) = ask("count by region", Answering(CODEC, Estimator((negative,), None))).answers
    assert found.is_impossible
    assert found.low == 0 > found.estimate
    notes = ask("count by region", Answering(CODEC, Estimator((negative,), None))).notes
    assert any(note.startswith("an estimate outside its interval") for note in notes)
    assert not any(note.startswith("an estimate outside") for note in ask("count by region").notes)


def test_noise_that_hides_whether_there_are_records_leaves_a_ratio_unknown():
    wide = answering([(AGE, REGION)], noise=10**8)
    found = ask("mean of age by region", wide)
    assert all(np.isnan(one.estimate) for one in found.answers)
    assert any(note.startswith("unknown") for note in found.notes)


def test_a_public_total_makes_the_number_of_records_certain():
    found = ask("count", answering([(AGE, REGION)], total=500)).answers[0]
    assert (found.low, found.estimate, found.high) == pytest.approx((500, 500, 500))


def test_intervals_that_hold_together_are_wider_the_more_there_are():
    widths = []
    for together in (None, 3, 300):
        one = ask("count by region", together=together).answers[0]
        widths.append(one.high - one.low)
    assert widths[1] > 1.1 * widths[0]
    assert widths[2] > 1.1 * widths[1]


def test_too_many_groups_are_refused(monkeypatch):
    monkeypatch.setattr("hallmark.tasks.questions.answers.MOST_GROUPS", 20)
    with pytest.raises(QuestionError, match="`by` makes 30 groups"):
        ask("count by age, region")


def test_a_function_of_too_many_columns_is_refused(monkeypatch):
    monkeypatch.setattr("hallmark.tasks.questions.functions.MOST_COMBINATIONS", 20)
    with pytest.raises(QuestionError, match="30 combinations of cells"):
        ask('share of region = "01" where age < 40')


def test_a_ratio_of_means_over_one_that_may_be_0_is_unknown():
    wide = answering([(AGE, REGION), (INCOME, REGION)], noise=2000)
    of_means = 'mean of age where region = "01" over mean of income where region = "07"'
    assert np.isnan(ask(of_means, wide).answers[0].estimate)


def test_where_the_records_contradict_the_noisy_tables_they_are_marked():
    distorted = CODES.copy()
    distorted[:, REGION] = np.where(CODES[:, AGE] < 5, 0, CODES[:, REGION])
    right, wrong = (Answering(CODEC, PAIRS.estimator, codes) for codes in (CODES, distorted))
    for question in ("count by region", "mean of age by region", "median of age by region"):
        found = ask(question, right)
        assert not any(one.records_mislead for one in found.answers)
        assert not any(note.startswith("*") for note in found.notes)
    found = ask("count by region", wrong)
    assert [one.of_records for one in found.answers] == np.bincount(distorted[:, REGION]).tolist()
    assert [one.estimate for one in found.answers] == estimates("count by region")
    assert [one.records_mislead for one in found.answers] == [True, True, True]
    assert any(note.startswith("*") and "(3 of 3)" in note for note in found.notes)


def test_a_group_without_records_has_no_answer_of_them():
    emptied = CODES[CODES[:, REGION] > 0]
    told = Answering(CODEC, PAIRS.estimator, emptied)
    for question in ("mean of age by region", "median of age by region"):
        answers = ask(question, told).answers
        assert [np.isnan(one.of_records) for one in answers] == [True, False, False]
        assert not answers[0].records_mislead
    first = ask("count by region", told).answers[0]
    assert (first.of_records, first.records_mislead) == (0, True)
