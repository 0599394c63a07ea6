"""Questions in a universe's cells against records that were recoded into them."""

from fractions import Fraction

import numpy as np

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.linear_queries import kinds
from hallmark.mechanisms.linear_queries.asking import UniverseCurator
from hallmark.mechanisms.linear_queries.merging import merged_universe
from hallmark.mechanisms.linear_queries.questions import FixedQuestion
from hallmark.mechanisms.linear_queries.workload import Workload
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.queries import HistogramQuery, LaplaceNoise
from tests.mechanisms.marginals.selection.runs import REPLACE, curator_of

DOMAIN = Domain.coded({"unseen": 4, "a": 9, "also unseen": 2, "b": 5})
WORKLOAD = Workload.of(
    DOMAIN,
    [
        kinds.conjunction(DOMAIN, {1: range(2, 6), 3: [0, 4]}, "some"),
        kinds.conjunction(DOMAIN, {1: range(4, 9)}, "upper"),
    ],
)
UNIVERSE, COLUMNS = merged_universe(DOMAIN.shape, WORKLOAD.queries)
CODES = np.random.default_rng(0).integers(0, DOMAIN.shape, (300, 4))
PRECISE = LaplaceNoise(Fraction(1, 1000))  # noise is 0 but for a chance below e^-1000


def test_merged_cells_and_moved_columns_are_counted_as_recoded_records(tmp_path) -> None:
    assert COLUMNS == (1, 3)
    assert UNIVERSE.size < 45
    recoded = np.stack(
        [cells[CODES[:, c]] for c, cells in zip(COLUMNS, UNIVERSE.levels, strict=True)], axis=1
    )
    budget = Budget(epsilon=Fraction(100_000))
    curator = UniverseCurator(
        curator_of(f"sqlite:///{tmp_path / 'l.db'}", CODES, REPLACE, budget), UNIVERSE, COLUMNS
    )
    assert curator.total() == 300
    maps = UNIVERSE.queries.maps
    answers = curator.histograms("tables", [HistogramQuery(cells, PRECISE) for cells in maps])
    expected = count_codes(recoded, maps)
    for got, true in zip(answers, expected, strict=True):
        np.testing.assert_array_equal(got, true)
    exact = WORKLOAD.queries.answers(count_codes(CODES, WORKLOAD.queries.maps))
    np.testing.assert_array_equal(UNIVERSE.queries.answers(expected), exact)

    # Only the second query's answer is off: it is chosen, with a chance of another below e^-1000.
    off = FixedQuestion(1024 * (exact - np.array([0, 50])))
    event = ExponentialMechanism(epsilon=Fraction(1000))
    assert curator.choices("choice", UNIVERSE.queries, off, [event]) == [1]
