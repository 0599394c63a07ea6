"""Whether synthetic people become what people became.

    python -m benchmarks.panel --epsilon 1 3    # write `benchmarks/series_data.py` first

Three panels of real or simulated people: wage statements of ten years (pseudopeople, the first of
each person and year), the National Longitudinal Survey of Young Women in fifteen (nlswork), and the
German Health Care Usage data of five (rwm5yr). Every year has the epsilon, at delta 1e-5, and is
released by privpgd (simulated: answers must not be published); from the second on also of columns
about the year before, and linked to the records of that year.

Printed are means over the years from the third on. Of tables of who became what (a column in two
years running, those who were not there before included), the mean total variation from the private
ones: of records as they were made, of those that were linked, and of records linked at random. The
same for what people were two years before, with columns about one year before and about two, and
for those who are linked at random. Of all pairs of this year's columns, the root mean square error
of records in parts of that without a panel: what it costs. The share of the first year's people
who are there in the last.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import simulated
from benchmarks.data import folder
from benchmarks.series import domain, shares, squared
from hallmark.mechanisms.arrays import Codes, Floats
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.linking import NEW, Past, link
from hallmark.mechanisms.registry import MECHANISMS


@dataclass(frozen=True)
class Panel:
    """People in consecutive periods.

    Attributes:
        columns: names with numbers of codes.
        tables: of each period, a frame of codes indexed by person.
        became: columns of which it is measured who became what.
        follows: columns that grow by so much.
    """

    columns: Mapping[str, int]
    tables: Sequence[pd.DataFrame]
    became: Sequence[str]
    follows: Mapping[str, int]


def wages() -> Panel:
    """Ten years of wages, employers and forms; nothing follows."""
    read = pd.read_csv(folder() / "wages.csv", dtype={"tax_form": str})
    edges = [1e3, 3e3, 6e3, 1e4, 1.5e4, 2e4, 2.5e4, 3e4, 4e4, 5e4, 6e4, 8e4, 1e5, 1.5e5]
    largest = read["employer_id"].value_counts().index[:11]
    codes = {
        "wages": np.searchsorted(edges, read["wages"]),
        "employer": largest.get_indexer(read["employer_id"]) + 1,
        "form": pd.Categorical(read["tax_form"]).codes,
    }
    return _panel(codes, read["simulant_id"], read["tax_year"], ("wages", "employer"), {})


def women() -> Panel:
    """Fifteen years of work, marriage and place; race and year of birth follow."""
    read = pd.read_csv(folder() / "nlswork.csv")
    codes = {
        "race": read["race"] - 1,
        "born": (read["birth_yr"] - read["birth_yr"].min()) // 3,
        "married": read["msp"].fillna(2),
        "south": read["south"].fillna(2),
        "industry": read["ind_code"].fillna(0),
        "hours": np.where(read["hours"].isna(), 5, np.digitize(read["hours"], [20, 35, 40, 41])),
        "wage": np.digitize(read["ln_wage"], np.arange(0.8, 2.8, 0.25)),
    }
    became = ("married", "hours", "wage")
    return _panel(codes, read["idcode"], read["year"], became, {"race": 0, "born": 0})


def patients() -> Panel:
    """Five years of visits to doctors, work and income; sex stays, age grows."""
    read = pd.read_csv(folder() / "rwm5yr.csv")
    codes = {
        "female": read["female"],
        "age": read["age"] - read["age"].min(),
        "visits": np.digitize(read["docvis"], [1, 2, 4, 7, 13]),
        "outwork": read["outwork"],
        "married": read["married"],
        "kids": read["kids"],
        "income": np.digitize(read["hhninc"], np.arange(1, 7, 0.75)),
    }
    became = ("outwork", "visits", "income")
    return _panel(codes, read["id"], read["year"], became, {"female": 0, "age": 1})


def _panel(
    codes: Mapping[str, Any],
    person: "pd.Series[Any]",
    year: "pd.Series[Any]",
    became: Sequence[str],
    follows: Mapping[str, int],
) -> Panel:
    whole = pd.DataFrame({name: np.asarray(of).astype(int) for name, of in codes.items()})
    whole["person"], whole["year"] = person.to_numpy(), year.to_numpy()
    whole = whole.drop_duplicates(["person", "year"]).set_index("person")
    tables = [whole[whole["year"] == one].drop(columns="year") for one in sorted(set(year))]
    return Panel({name: int(whole[name].max()) + 1 for name in codes}, tables, became, follows)


def with_past(panel: Panel, number: int, back: int) -> pd.DataFrame:
    """The table of a period with what people were before; who was not there has the last code."""
    table = panel.tables[number].copy()
    for ago in range(1, back + 1):
        for name in panel.became:
            null = panel.columns[name]
            before = panel.tables[number - ago][name] if number >= ago else pd.Series(dtype=int)
            table[f"{name}_{ago}"] = before.reindex(table.index).fillna(null).astype(int)
    return table


@dataclass(frozen=True, eq=False)
class Made:
    """A period's records: as they were made, linked, and linked at random; and whom they continue
    then."""

    records: pd.DataFrame
    linked: pd.DataFrame
    before: Codes
    shuffled: pd.DataFrame
    before_shuffled: Codes


def made(panel: Panel, epsilon: Fraction, back: int, seed: int) -> list[Made]:
    """The records of all periods."""
    mechanism, periods = MECHANISMS["privpgd"], list[Made]()
    own = list(panel.columns)
    for number in range(len(panel.tables)):
        table = with_past(panel, number, back if number else 0)
        sizes = [*panel.columns.values()]
        sizes += [panel.columns[n] + 1 for _ in range(back if number else 0) for n in panel.became]
        codes = table.to_numpy().astype(np.int32)
        request = simulated.asked(domain(sizes, list(table.columns)), codes, epsilon)
        rng = np.random.default_rng([seed, number])
        _, raw = simulated.released(mechanism, mechanism.plan(request), codes, rng)
        records = pd.DataFrame(np.asarray(raw.codes).astype(np.int64), columns=table.columns)
        new = np.full(len(records), NEW)
        if not number:
            periods.append(Made(records, records, new, records, new))
            continue
        past = _past(panel, table.columns, periods[-1].linked, back)
        found = link(records.to_numpy(), Rules(tuple(sizes)), past, rng)
        linked = pd.DataFrame(found.codes, columns=table.columns)
        assert (linked[own] == records[own]).all(axis=None)
        at_random = _at_random(records, past, rng)
        shuffled = records.copy()
        for position, lag in enumerate(past.lagged):
            said = past.says[np.maximum(at_random, 0), position]
            shuffled.iloc[:, lag] = np.where(at_random == NEW, sizes[lag] - 1, said)
        periods.append(Made(records, linked, found.before, shuffled, at_random))
    return periods


def _past(panel: Panel, columns: Any, last: pd.DataFrame, back: int) -> Past:
    names = list(columns)
    lags = [(name, ago) for ago in range(1, back + 1) for name in panel.became]
    says = []
    for name, ago in lags:
        held = name if ago == 1 else f"{name}_{ago - 1}"
        nobody = np.full(len(last), panel.columns[name])
        says.append(last[held].to_numpy() if held in last else nobody)
    follows = [
        np.where(last[n] + by < panel.columns[n], last[n] + by, NEW)
        for n, by in panel.follows.items()
    ]
    return Past(
        lagged=tuple(names.index(f"{name}_{ago}") for name, ago in lags),
        of=tuple(names.index(name) for name, _ in lags),
        says=np.column_stack(says).astype(np.int32),
        following=tuple(names.index(name) for name in panel.follows),
        follows=np.column_stack([*follows, np.empty((len(last), 0))]).astype(np.int32),
    )


def _at_random(records: pd.DataFrame, past: Past, rng: np.random.Generator) -> Codes:
    """Any earlier record that a record can follow, for as many as say that they go on."""
    frame = records.iloc[:, list(past.following)].copy()
    frame["record"] = np.arange(len(records))
    first = past.lagged[0]
    goes_on = records.iloc[:, first] != records.iloc[:, first].max()
    frame = frame[goes_on].sample(frac=1, random_state=rng)
    earlier = pd.DataFrame(past.follows, columns=frame.columns[:-1])
    earlier["place"] = np.arange(len(earlier))
    earlier = earlier.sample(frac=1, random_state=rng)
    by = list(frame.columns[:-1])
    if not by:
        frame["all"], earlier["all"], by = 0, 0, ["all"]
    frame["rank"], earlier["rank"] = (one.groupby(by).cumcount() for one in (frame, earlier))
    pairs = frame.merge(earlier, on=[*by, "rank"])
    before = np.full(len(records), NEW)
    before[pairs["record"]] = pairs["place"]
    return before


def became(panel: Panel, table: pd.DataFrame, ago: int) -> list[Floats]:
    """Tables of what people were some periods before by what they are."""
    found = []
    for name in panel.became:
        size = panel.columns[name]
        codes = table[[f"{name}_{ago}", name]].to_numpy()
        found.append(shares((size + 1, size), codes, (0, 1)))
    return found


def two_back(panel: Panel, last: Made, table: pd.DataFrame, before: Codes) -> pd.DataFrame:
    """Records with what those that they continue say of the period before theirs."""
    told = table[list(panel.columns)].copy()
    for name in panel.became:
        nobody = np.full(len(last.linked), panel.columns[name])
        said = last.linked.get(f"{name}_1", pd.Series(nobody)).to_numpy()[np.maximum(before, 0)]
        told[f"{name}_2"] = np.where(before == NEW, panel.columns[name], said)
    return told


def staying(periods: Sequence[Made]) -> float:
    """The share of the first period's people who are there in all periods."""
    people = np.arange(len(periods[-1].before))
    for one in reversed(periods[1:]):
        people = one.before[people]
        people = people[people != NEW]
    return len(people) / len(periods[0].linked)


def off(found: Sequence[Floats], truth: Sequence[Floats]) -> float:
    """Mean total variation."""
    return float(np.mean([np.abs(a - b).sum() / 2 for a, b in zip(found, truth, strict=True)]))


def compare(name: str, panel: Panel, epsilon: Fraction, seed: int) -> None:
    """One line of the table."""
    one, two = (made(panel, epsilon, back, seed) for back in (1, 2))
    rows = []
    sizes, pairs = tuple(panel.columns.values()), list(combinations(range(len(panel.columns)), 2))
    for number in range(2, len(panel.tables)):
        truth = became(panel, with_past(panel, number, 2), 1)
        truth_2 = became(panel, with_past(panel, number, 2), 2)
        own = [shares(sizes, panel.tables[number].to_numpy(), pair) for pair in pairs]
        codes = panel.tables[number].to_numpy().astype(np.int32)
        request = simulated.asked(domain(sizes, list(panel.columns)), codes, epsilon)
        rng = np.random.default_rng([seed, number])
        mechanism = MECHANISMS["privpgd"]
        _, plain = simulated.released(mechanism, mechanism.plan(request), codes, rng)
        errors = [
            squared([shares(sizes, np.asarray(c)[:, : len(sizes)], p) for p in pairs], own) ** 0.5
            for c in (one[number].linked, plain.codes)
        ]
        earlier = (
            two_back(panel, one[number - 1], one[number].linked, one[number].before),
            two_back(panel, two[number - 1], two[number].linked, two[number].before),
            two_back(panel, one[number - 1], one[number].shuffled, one[number].before_shuffled),
        )
        rows.append(
            [
                off(became(panel, one[number].records, 1), truth),
                off(became(panel, one[number].linked, 1), truth),
                off(became(panel, one[number].shuffled, 1), truth),
                *(off(became(panel, table, 2), truth_2) for table in earlier),
                errors[0] / errors[1],
            ]
        )
    found = np.mean(rows, axis=0)
    stayed = panel.tables[0].index
    for table in panel.tables[1:]:
        stayed = stayed.intersection(table.index)
    print(
        f"{name:9} {float(epsilon):4} {found[0]:6.3f} {found[1]:6.3f} {found[2]:6.3f}  "
        f"{found[3]:6.3f} {found[4]:6.3f} {found[5]:6.3f} {found[6]:6.2f} "
        f"{len(stayed) / len(panel.tables[0]):6.3f} {staying(one):6.3f} {staying(two):6.3f}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--epsilon", nargs="+", type=Fraction, default=[Fraction(1), Fraction(3)])
    asked = parser.parse_args()
    print("panel      eps   made linked random  two: one   two random  pairs  stay: true, one, two")
    for name, table in (("wages", wages), ("women", women), ("patients", patients)):
        for epsilon in asked.epsilon:
            compare(name, table(), epsilon, seed=20_261_129)


if __name__ == "__main__":
    main()
