"""Domains of bins: cells, places, rules and totals, against all records of small domains."""

import numpy as np
import pytest

from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.domain.rules import Determination, Rules
from hallmark.mechanisms.domain.totals import PublicTotals
from hallmark.mechanisms.domain.totals.totals import PublicTotal
from hallmark.mechanisms.marginals.binning.bins import Bins, coarse_domain, equal_runs
from hallmark.mechanisms.marginals.binning.within import refined
from tests.builders.columns import line, nominal
from tests.mechanisms.domain.rules.small_rules import random_rules, records, truly_valid

SKEWED = Attribute(
    name="x",
    kind=Kind.NUMERIC,
    positions=np.array([0.05, 0.2, 0.5, 0.85]),
    widths=np.array([0.1, 0.2, 0.4, 0.3]),
    has_null=True,
)
SPLIT = Bins.runs(0, (0, 1), 4, True)


def domain_of(rules: Rules) -> Domain:
    """Columns of the rules' shape, the last cell of nullable ones being their null cell."""
    attributes = []
    for column, cells in enumerate(rules.shape):
        null = column in rules.nullable
        attributes.append(line(f"c{column}", cells - null, has_null=null))
    return Domain(tuple(attributes), rules=rules)


def random_bins(rng: np.random.Generator, domain: Domain) -> list[Bins]:
    every = []
    for column, attribute in enumerate(domain.attributes):
        if attribute.levels > 1 and rng.random() < 0.6:
            cuts = np.flatnonzero(rng.random(attribute.levels - 1) < 0.5) + 1
            starts = (0, *cuts.tolist())
            every.append(Bins.runs(column, starts, attribute.levels, attribute.has_null))
    return every


def on_bins(codes: np.ndarray, every: list[Bins]) -> np.ndarray:
    coarse = codes.copy()
    for bins in every:
        coarse[:, bins.column] = bins.table[codes[:, bins.column]]
    return coarse


def test_a_bin_reaches_from_its_first_cell_to_its_last_and_nulls_stay_apart() -> None:
    (attribute,) = coarse_domain(Domain((SKEWED,)), [SPLIT]).attributes
    assert attribute.positions.tolist() == pytest.approx([0.05, 0.55])
    assert attribute.widths.tolist() == pytest.approx([0.1, 0.9])
    assert attribute.cells == 3
    assert SPLIT.table.tolist() == [0, 1, 1, 1, 2]
    assert SPLIT.starts == (0, 1)
    assert SPLIT.sizes.tolist() == [1, 3, 1]


def test_runs_before_any_choice_are_equally_long() -> None:
    domain = Domain((nominal("c", 2), line("x", 10)))
    assert equal_runs(domain, 1, 4) == Bins.runs(1, (0, 2, 5, 7), 10, False)


def test_other_columns_stay_as_they_are() -> None:
    domain = Domain((SKEWED, nominal("c", 3)))
    coarse = coarse_domain(domain, [SPLIT])
    assert coarse.attributes[1] is domain.attributes[1]
    assert coarse.shape == (3, 3)


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_bins_of_records_that_obey_obey(seed: int, parts: bool) -> None:
    rng = np.random.default_rng(seed)
    domain = domain_of(random_rules(rng, parts=parts))
    every = random_bins(rng, domain)
    rules = coarse_domain(domain, every).rules
    valid = records(domain.shape)[truly_valid(domain.rules)]
    assert rules.valid(on_bins(valid, every)).all()
    assert [table.columns for table in rules.tables] == [t.columns for t in domain.rules.tables]


@pytest.mark.parametrize("seed", range(60))
def test_a_single_rule_allows_no_bins_that_it_need_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rules = random_rules(rng)
    rules = Rules(rules.shape, rules.tables[:1])
    domain = domain_of(rules)
    every = random_bins(rng, domain)
    coarse = coarse_domain(domain, every)
    needed = {tuple(r) for r in on_bins(records(rules.shape)[truly_valid(rules)], every).tolist()}
    all_bins = records(coarse.shape)
    allowed = {tuple(r) for r in all_bins[coarse.rules.valid(all_bins)].tolist()}
    assert allowed == needed


def test_a_function_of_a_binned_column_is_left_to_the_release() -> None:
    domain = Domain((line("x", 6), line("y", 6), nominal("c", 2)))
    of_x, of_c = Determination("x determines c", 0, 2), Determination("c determines y", 2, 1)
    domain = Domain(domain.attributes, rules=Rules(domain.shape, determinations=(of_x, of_c)))
    coarse = coarse_domain(domain, [equal_runs(domain, 0, 2), equal_runs(domain, 1, 2)])
    assert coarse.rules.determinations == (of_c,)


def test_totals_of_other_columns_are_kept() -> None:
    def total(column: int, cells: int) -> PublicTotal:
        counts = np.ones(cells, dtype=np.int64)
        counts[0] += 8 - cells
        titles = tuple(map(str, range(cells)))
        return PublicTotal(f"t{column}", (column,), np.arange(cells), counts, titles)

    attributes = (line("x", 6), nominal("c", 2))
    totals = PublicTotals((6, 2), (total(0, 6), total(1, 2)))
    domain = Domain(attributes, totals=totals)
    coarse = coarse_domain(domain, [equal_runs(domain, 0, 2)])
    assert [kept.name for kept in coarse.totals.totals] == ["t1"]
    assert coarse.totals.shape == (2, 2)


# Back to cells


def test_cells_lie_in_their_bins_in_the_proportions_of_the_shares() -> None:
    rng = np.random.default_rng(1)
    bins = Bins.runs(0, (0, 2, 5), 6, True)
    shares = np.array([0.1, 0.3, 0.0, 0.2, 0.2, 0.2])
    codes = rng.permutation(np.repeat([0, 1, 2, 3], [40, 30, 7, 5]))
    cells = refined(codes, bins, shares, rng)
    assert (bins.table[cells] == codes).all()
    assert np.bincount(cells, minlength=7).tolist() == [10, 30, 0, 15, 15, 7, 5]


def test_counts_are_rounded_up_or_down_and_right_on_average() -> None:
    bins, shares = Bins.runs(0, (0,), 3, False), np.array([0.5, 0.3, 0.2])
    rng = np.random.default_rng(2)
    draws = 4000
    made = [refined(np.zeros(7, dtype=int), bins, shares, rng) for _ in range(draws)]
    counts = np.array([np.bincount(cells, minlength=3) for cells in made])
    assert (np.abs(counts - 7 * shares) < 1).all()
    # Each count takes two neighbouring values: five standard errors, missed with less than 1e-6.
    assert np.abs(counts.mean(axis=0) - 7 * shares).max() < 5 * 0.5 / np.sqrt(draws)


def test_which_record_gets_which_cell_is_drawn() -> None:
    bins = Bins.runs(0, (0,), 2, False)
    cells = refined(np.zeros(40, dtype=int), bins, np.array([0.5, 0.5]), np.random.default_rng(4))
    assert (np.diff(cells) != 0).sum() > 5  # 20 ones in a row have a chance below 1e-6
