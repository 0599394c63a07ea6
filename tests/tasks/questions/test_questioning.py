"""Questions about columns with detail: alone on their own cells, with others on shared ones.

Tables without noise, as a release measures them, must give the statistics of the table itself.
"""

from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.queries import GaussianNoise
from hallmark.schemas.question import QuestionError
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.questions.correlations import correlations
from hallmark.tasks.questions.questioning import Questioning, SharedCells
from tests import example
from tests.tasks.questions.test_answers import (
    AGE,
    INCOME,
    REGION,
    coded,
    measured,
)


def spec() -> ReleaseSpec:
    content = deepcopy(example.spec("table.csv"))
    content["columns"]["income"] |= {"detail": 5}
    content["columns"]["age"] |= {"detail": 16}
    return ReleaseSpec.model_validate(content)


SPEC = spec()
SHARED = SharedCells.of(SPEC)
CODEC = TableCodec.of(SPEC.columns)
NOISE = Fraction(1, 100)


CODES = coded(CODEC, example.table(600))
ON_SHARED = SHARED.records(CODES)


def estimator() -> Estimator:
    """All pairs on shared cells, and columns with detail by themselves."""
    shape = SHARED.codec.domain.shape
    recoding = {column: (column, bins.table) for column, bins in SHARED.bins.items()}
    pairs = [marginal(pair, shape) for pair in combinations(range(5), 2)]
    own = [marginal((column,), CODEC.domain.shape) for column in SHARED.bins]
    maps = [
        cells.after({c: recoding[c] for c in cells.columns if c in recoding}) for cells in pairs
    ]
    return Estimator(tuple(measured(cells, CODES, NOISE) for cells in (*maps, *own)), 600)


ASKING = Questioning(SPEC, estimator(), CODES)


def estimates(question: str) -> list[float]:
    found = ASKING.answer(ASKING.bound(question), confidence=0.95)
    assert all(one.low is not None for one in found.answers)
    return [one.estimate for one in found.answers]


def test_shared_cells_are_those_without_detail() -> None:
    assert SHARED.bins.keys() == {AGE, INCOME}
    plain = TableCodec.of(ReleaseSpec.model_validate(example.spec("table.csv")).columns)
    assert SHARED.codec.domain.shape == plain.domain.shape
    assert CODEC.domain.shape[INCOME] > SHARED.codec.domain.shape[INCOME]
    of = SHARED.bins[INCOME].table
    edges = [one.named("income").column.edges for one in (CODEC, SHARED.codec)]  # type: ignore[union-attr]
    places = np.searchsorted(edges[1], edges[0][:-1], side="right") - 1
    assert of[:-1].tolist() == places.tolist()


def test_of_a_column_alone_the_own_cells_answer() -> None:
    ages = np.array(CODEC.named("age").column.edges)[:-1][CODES[:, AGE]]  # type: ignore[union-attr]
    assert estimates("share of age < 23") == pytest.approx([(ages < 23).mean()])
    assert estimates("count where age = 30") == pytest.approx([(ages == 30).sum()])
    assert estimates("mean of age") == pytest.approx([ages.mean()])


def test_with_another_column_shared_cells_answer() -> None:
    middle = ON_SHARED[:, AGE] * 10 + 4.5
    regions = ON_SHARED[:, REGION]
    expected = [middle[regions == code].mean() for code in range(3)]
    assert estimates("mean of age by region") == pytest.approx(expected)
    with pytest.raises(QuestionError, match="cuts a cell of age in two"):
        ASKING.bound("share of age < 23 by region")


def test_own_cells_and_shared_ones_sharpen_each_other() -> None:
    """The sum over a shared cell is told by its pieces, and by all pairs of the column."""
    (alone,) = ASKING.answer(ASKING.bound("count where age < 30"), confidence=0.95).answers
    own = [one for one in estimator().tables if one.columns == (AGE,)]
    only = Questioning(SPEC, Estimator(tuple(own), 600))
    (less,) = only.answer(only.bound("count where age < 30"), confidence=0.95).answers
    assert alone.deviation is not None
    assert less.deviation is not None
    assert alone.deviation < less.deviation


def test_correlations_are_told_on_shared_cells() -> None:
    found = correlations(
        SHARED.codec, ["age", "income"], SHARED.estimator(estimator()), ON_SHARED, 0.95
    )
    (one,) = found
    known = ON_SHARED[:, INCOME] < 8
    expected = np.corrcoef(ON_SHARED[known, AGE], ON_SHARED[known, INCOME])[0, 1]
    assert one.estimate == pytest.approx(expected, abs=1e-6)
    assert one.of_records == pytest.approx(expected)


def test_without_detail_nothing_changes() -> None:
    plain = ReleaseSpec.model_validate(example.spec("table.csv"))
    shared = SharedCells.of(plain)
    assert not shared.bins
    assert shared.records(CODES) is CODES
    known = estimator()
    assert shared.estimator(known) is known


LOOKUPS = {
    "density": {
        "of": "region",
        "values": {"01": "12.5", "02": "7", "07": "130"},
        "reference": "gazetteer",
    },
    "zone": {
        "of": "region",
        "values": {"01": "inner", "02": "outer", "07": "inner"},
        "reference": "gazetteer",
    },
}


def with_lookups() -> tuple[Questioning, pd.DataFrame]:
    """Questions of a table with lookups and nulls, from tables without noise; and the table."""
    content = deepcopy(example.spec("table.csv", lookups=LOOKUPS))
    content["columns"]["region"]["nulls"] = True
    asked = ReleaseSpec.model_validate(content)
    codec = TableCodec.of(asked.columns)
    table = example.table(600)
    table.loc[::7, "region"] = None
    codes = coded(codec, table)
    pairs = [marginal(pair, codec.domain.shape) for pair in combinations(range(5), 2)]
    tables = tuple(measured(cells, codes, NOISE) for cells in pairs)
    for name, lookup in LOOKUPS.items():
        table[name] = table["region"].map(lookup["values"])
    table["density"] = table["density"].astype(float)
    return Questioning(asked, Estimator(tables, 600), codes), table


def of_lookups(asking: Questioning, question: str) -> list[float]:
    found = asking.answer(asking.bound(question), confidence=0.95)
    assert {one.basis for one in found.answers} <= {"exact", "first order"}
    for one in found.answers:
        assert one.of_records == pytest.approx(one.estimate, abs=1e-6)
    return [one.estimate for one in found.answers]


def test_questions_of_a_lookup_are_answered_from_the_codes() -> None:
    asking, table = with_lookups()
    employed = table.groupby("employed")
    known = table["density"].notna()
    sparse = table[table["density"] < 10]["age"] // 10 * 10 + 4.5
    for question, expected in {
        "mean of density": [table["density"].mean()],
        "sum of density by employed": list(employed["density"].sum()),
        "mean of density by employed": list(employed["density"].mean()),
        "count where density > 10": [(table["density"] > 10).sum()],
        "share of density = 12.5 where density is not null": [
            (table["density"] == 12.5).sum() / known.sum()
        ],
        'share of zone = "inner" by employed': [
            (part["zone"] == "inner").mean() for _, part in employed
        ],
        "count where density is null": [(~known).sum()],
        'count where zone = "inner" and region != "07"': [
            ((table["zone"] == "inner") & (table["region"] != "07")).sum()
        ],
        "mean of age where density < 10": [sparse.mean()],
    }.items():
        assert of_lookups(asking, question) == pytest.approx(expected, abs=1e-6), question


def test_the_mean_of_a_lookup_lies_among_its_values() -> None:
    asking, _ = with_lookups()
    noise = GaussianNoise(Fraction(10**6))
    tables = tuple(replace(one, noise=noise) for one in asking.estimator.tables)
    unsure = replace(asking, estimator=Estimator(tables, 600))
    (one,) = unsure.answer(unsure.bound("mean of density"), confidence=0.95).answers
    assert (one.low, one.high) == (7.0, 130.0)


@pytest.mark.parametrize("question", ["count by zone", "median of density"])
def test_what_codes_do_not_tell_is_refused_with_the_column_to_name(question: str) -> None:
    asking, _ = with_lookups()
    with pytest.raises(QuestionError, match="is looked up from region"):
        asking.bound(question)


def valued() -> Questioning:
    """Ages to 0.1 years, once every value by itself and once in pieces."""
    content = deepcopy(example.spec("table.csv"))
    age = content["columns"]["age"]
    del age["integer"]
    age |= {"step": "0.1", "detail": "values"}
    spec = ReleaseSpec.model_validate(content)
    codec, pieces = TableCodec.of(spec.columns), SharedCells.pieces(spec)
    codes = coded(codec, example.table(600))
    recoding = {column: (column, bins.table) for column, bins in pieces.bins.items()}
    values = marginal((AGE,), codec.domain.shape)
    in_pieces = marginal((AGE,), pieces.codec.domain.shape).after(recoding)
    tables = tuple(measured(cells, codes, NOISE) for cells in (values, in_pieces))
    return Questioning(spec, Estimator(tables, 600), codes)


def test_of_single_values_pieces_answer() -> None:
    asking = valued()
    assert SharedCells.pieces(asking.spec).codec.domain.shape[AGE] < 200
    ages = example.table(600)["age"]
    for question, true in (("median of age", ages.median()), ("share of age < 24", None)):
        (one,) = asking.answer(asking.bound(question), confidence=0.95).answers
        expected = (ages < 24).mean() if true is None else true
        assert one.low is not None
        assert one.high is not None
        assert one.low - 1e-9 <= expected <= one.high + 1e-9
    with pytest.raises(QuestionError, match="cuts a cell of age"):
        asking.bound("share of age < 30.3")


def test_counts_of_values_become_counts_of_pieces() -> None:
    pieces = SharedCells.pieces(valued().spec)
    size = len(pieces.bins[AGE].table)
    assert pieces.histogram(np.ones(size, dtype=np.int64), AGE).sum() == size
    untouched = np.arange(3)
    assert pieces.histogram(untouched, REGION) is untouched
