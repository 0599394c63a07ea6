"""The example specs: sound, few cells a column, and true of the public data they are about."""

from functools import cache
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

from hallmark.schemas.loading import load_profile, load_spec
from hallmark.schemas.release_spec import ReleaseSpec

EXAMPLES = Path(__file__).parents[2] / "schemas/examples"
NIST = EXAMPLES / "data/national2019.csv.gz"
MOST_CELLS = {
    "rand-hie": 32,
    "public-totals": 30,
    "nist-acs-2019": 2500,  # pieces of incomes
    "pmm-ages": 1000,
    "superregular-places": 20,
    "psmm": 251,
    "adaptive-support": 100,
    "sparse-lipschitz": 251,
    "pmm-h": 1000,
    "aim": 64,
    "workload": 64,
    "public-prior": 64,
    "privpgd-paper": 64,
    "quantile-bins": 400,
    "linear-queries": 64,
    "dpfw": 64,
    "certify": 32,
    "mwem-queries": 21,
    "dual-query": 21,
    "dqrs": 21,
    "fem": 21,
    "sep-fem": 21,
    "dpam": 21,
}
TOP_CODED = ("PINCP",)  # clamped on purpose
OF_PEERS = ("mwem-queries", "dual-query", "dqrs", "fem", "sep-fem", "dpam")  # for linear queries
OF_RAND = ("rand-hie", "public-totals", "certify", *OF_PEERS)
OF_NIST = [name for name in MOST_CELLS if name not in OF_RAND]


@cache
def example(name: str) -> ReleaseSpec:
    return load_spec(EXAMPLES / f"{name}.yaml")


@cache
def rand_hie() -> pd.DataFrame:
    from statsmodels.datasets import randhie  # slow to import, so only where it is needed

    return as_text(StringIO(randhie.load_pandas().data.to_csv(index=False)))


@cache
def nist() -> pd.DataFrame:
    return as_text(NIST)


def as_text(file: Path | StringIO) -> pd.DataFrame:
    return pd.read_csv(file, dtype=str, keep_default_na=False)


def checked(spec: ReleaseSpec, table: pd.DataFrame) -> pd.DataFrame:
    """The table in original units, after asserting that every value lies in its public domain."""
    assert set(table.columns) == {*spec.columns, *spec.lookups, *spec.data.ignore}
    columns = {}
    for name, column in spec.columns.items():
        values = table[name].mask(table[name].isin(spec.data.null_markers))
        assert column.nulls or values.notna().all(), f"{name} has nulls"
        if column.type == "numeric":
            values = values.astype(float)
            given = values.dropna()
            inside = given.between(float(column.minimum), float(column.maximum))
            assert inside.all() or name in TOP_CODED, name
            assert not column.integer or (given % 1 == 0).all(), name
        else:
            assert values.dropna().isin(column.codes).all(), name
        columns[name] = values
    for name, lookup in spec.lookups.items():
        assert (table[name] == table[lookup.of].map(lookup.values)).all(), name
    return pd.DataFrame(columns)


@pytest.mark.parametrize("name", MOST_CELLS)
def test_an_example_is_sound_and_has_few_cells(name):
    spec = example(name)
    assert max(column.levels for column in spec.columns.values()) <= MOST_CELLS[name]


@pytest.mark.parametrize("name", MOST_CELLS)
def test_an_example_reads_what_make_release_writes_or_what_lies_beside_it(name):
    root = EXAMPLES.parents[1]
    assert "hallmark.flows.demo build/rand-hie.csv" in (root / "Makefile").read_text()
    source = (EXAMPLES / example(name).data.source).resolve()
    assert source in (root / "build/rand-hie.csv", NIST)


def test_every_example_is_tested():
    assert {file.stem for file in EXAMPLES.glob("*.yaml")} == set(MOST_CELLS)


@pytest.mark.parametrize("name", OF_RAND)
def test_the_rand_examples_hold_of_the_data_and_say_what_a_record_is(name):
    spec = example(name)
    table = checked(spec, rand_hie())
    assert len(table) == spec.data.expected_rows
    assert not any(rule.violations(table).any() for rule in spec.rules)
    assert "person-year" in spec.data.record


def test_the_demonstration_states_all_that_a_spec_can():
    assert [key for key, said in example("rand-hie").about if said is None] == []


def test_its_profile_states_all_that_an_agency_can():
    stated = load_profile(EXAMPLES / "profile/demonstration.yaml").agency
    assert [key for key, said in stated if said in (None, ())] == []
    assert [key for key, said in stated.environment if said is None] == []


@pytest.mark.parametrize("name", OF_NIST)
def test_the_nist_examples_hold_of_the_data(name):
    spec = example(name)
    table = checked(spec, nist())
    assert not any(rule.violations(table).any() for rule in spec.rules)


def test_a_rule_that_is_not_public_would_be_noticed(tmp_path):
    text = (EXAMPLES / "nist-acs-2019.yaml").read_text(encoding="utf-8")
    file = tmp_path / "spec.yaml"
    file.write_text(text.replace("AGEP < 3 <=>", "AGEP < 4 <=>"), encoding="utf-8")
    spec = load_spec(file, EXAMPLES)
    table = checked(spec, nist())
    assert [rule.text for rule in spec.rules if rule.violations(table).any()] == [
        "AGEP < 4 <=> EDU is null"
    ]
