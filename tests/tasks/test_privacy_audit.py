"""Attacks on transcripts: they come to what is allowed, and find noise that is not as stated."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms.privacy import curator as core
from hallmark.tasks import privacy_audit
from hallmark.tasks.installation.code import code_digest
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.privacy_audit import Attack, audit_privacy
from hallmark.tasks.record.attacked import kept_audit
from tests import example

RUNS = 80


def prepared(folder: Path, **changes: Any) -> Prepared:
    """A release of two columns, whose private table is not there."""
    path = example.write(folder, 3, **(example.some_columns("age", "region") | changes))
    (folder / "table.csv").unlink()
    return prepare(path)


def attack(of: Prepared, units: int, runs: int = RUNS) -> Attack:
    (found,) = audit_privacy(of, runs, [units])
    return found


@contextmanager
def less_noise(monkeypatch: pytest.MonkeyPatch, share: Fraction) -> Iterator[None]:
    """The core with a share of the noise that it states and charges."""
    gaussian, laplace = core.add_discrete_gaussian, core.add_discrete_laplace
    with monkeypatch.context() as patch:
        patch.setattr(
            core, "add_discrete_gaussian", lambda table, s2: gaussian(table, s2 * share**2)
        )
        patch.setattr(core, "add_discrete_laplace", lambda table, b: laplace(table, b * share))
        yield


OWN = {
    "marginals": {},
    "hierarchy": {"mechanism": {"name": "pmm"}, "privacy": example.PURE},
    "one that adds": {
        "privacy": {"neighbours": "add_remove", "unit": "record", "epsilon": "1", "delta": "1e-5"},
    },
    "persons": {
        "data": {**example.some_columns("age", "region")["data"], "source": "table.csv"},
        "privacy": {
            "neighbours": "replace_one", "unit": {"person": "person", "max_records": 3},
            "epsilon": "1", "delta": "1e-5",
        },
    },
}  # fmt: skip
OWN["persons"]["data"]["ignore"] = ["income", "employed", "since"]


@pytest.mark.parametrize("case", OWN)
def test_an_attack_is_right_as_often_as_is_allowed_and_no_more(
    case: str, home: Path, tmp_path: Path
):
    of = prepared(tmp_path, **OWN[case])
    one = attack(of, 6)
    assert not one.broken
    rate, scatter = one.right / one.runs, 4 * np.sqrt(0.25 / one.runs)
    assert rate <= one.allowed + scatter  # a false alarm in 30,000
    if case == "marginals":  # whose noise is the best attack's only obstacle
        assert rate > 0.5 + (one.allowed - 0.5) / 2


GAUSSIAN = ("privpgd-paper", "private-gsd", "mst", "mwem", "aim")
PURE = ("pmm-h", "psmm", "superregular", "sparse-lipschitz", "adaptive-support")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*GAUSSIAN, *PURE])
def test_less_noise_of_any_mechanism_is_found_out(
    name: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    privacy = {"privacy": example.PURE} if name in PURE else {}
    of = prepared(tmp_path, mechanism={"name": name}, **privacy)
    units = 1 if name in (*PURE, "aim") else 6  # of whom more is allowed than can be reached
    assert not attack(of, units).broken
    with less_noise(monkeypatch, Fraction(1, 20)):
        assert attack(of, units).broken


def test_an_audit_is_kept_for_the_report_of_its_spec_alone(home: Path, tmp_path: Path):
    of = prepared(tmp_path)
    other = prepared(tmp_path / "other", privacy=example.PURE, mechanism={"name": "pmm"})
    tried = [Attack(1, 200, 120, 0.55, 0.6), Attack(4, 200, 190, 0.9, 0.7)]
    audit = privacy_audit.record_audit(of, tried)
    assert kept_audit(of.binding) == audit
    assert kept_audit(other.binding) is None
    assert [one.broken for one in audit.attacks] == [False, True]
    assert audit.code == code_digest()


@pytest.mark.parametrize("case", ["marginals", "hierarchy"])
def test_less_noise_than_is_stated_is_found_out(
    case: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    of = prepared(tmp_path, **OWN[case])
    units = 6 if case == "marginals" else 1
    with less_noise(monkeypatch, Fraction(1, 4 if case == "marginals" else 8)):
        assert attack(of, units).broken


def test_noise_that_is_drawn_once_for_all_tables_is_found_out(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    of, gaussian = prepared(tmp_path), core.add_discrete_gaussian

    def same(table: Any, sigma2: Fraction) -> Any:
        return table + (gaussian(table[:1], sigma2) - table[:1])

    with monkeypatch.context() as patch:
        patch.setattr(core, "add_discrete_gaussian", same)
        found = attack(of, 6)
    assert found.right == found.runs or found.broken


def test_the_bound_is_that_of_clopper_and_pearson():
    from scipy.stats import binomtest

    doubt = (1 - privacy_audit.CONFIDENCE) / 2
    least = binomtest(120, 200, alternative="greater").proportion_ci(1 - doubt).low
    found = Attack(1, 200, 120, float(privacy_audit.betaincinv(120, 81, doubt)), 0.6)
    assert found.least == pytest.approx(least)
    assert not found.broken


def test_tables_differ_in_the_records_of_so_many_units_alone(home: Path, tmp_path: Path):
    for case, records, apart in (("marginals", 4, 4), ("persons", 12, 12), ("one that adds", 4, 0)):
        of = prepared(tmp_path / case.replace(" ", "-"), **OWN[case])
        one, other = privacy_audit._tables(of, 4, np.random.default_rng(1))
        assert (other[records:] == one[apart:]).all()
        assert len(other) - len(one) == records - apart
        if apart:
            assert (one[:apart] != other[:apart]).all()
