"""Reserving budget: once a release, told where it cannot be, and given back only if unused."""

from pathlib import Path

import pytest

from hallmark.mechanisms.privacy.events import DiscreteGaussian
from hallmark.mechanisms.privacy.ledger.ledger import BudgetRefused, Ledger, LedgerError
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.reserve import AlreadyStarted, cancel_if_unused, reserve
from tests import example


@pytest.fixture
def prepared(home: Path, tmp_path: Path) -> Prepared:
    return prepare(example.write(tmp_path, 5))


def go(prepared: Prepared, resume: bool = False) -> None:
    reserve.fn(prepared, ledger_url(), prepared.folder / "out", resume=resume)


def draw(prepared: Prepared) -> None:
    event = DiscreteGaussian(l2_squared=2, sigma2=1000, unit_moves=2)  # type: ignore[arg-type]  # a whole number is rational
    Ledger(ledger_url()).record("test-release", "c", "r", [event], b"noise", lambda standing: None)


def test_the_whole_budget_is_set_aside(prepared: Prepared) -> None:
    example.open_account()
    go(prepared)
    state = Ledger(ledger_url()).account("test-people")
    assert state.reserved == (prepared.plan.budget.epsilon, prepared.plan.budget.delta)
    assert state.spent == (0, 0)


def test_a_second_start_is_refused_unless_it_resumes(prepared: Prepared) -> None:
    example.open_account()
    go(prepared)
    with pytest.raises(AlreadyStarted, match="its budget is reserved"):
        go(prepared)
    go(prepared, resume=True)
    assert Ledger(ledger_url()).account("test-people").reserved[0] == 1


def test_a_missing_account_is_told_with_the_command_that_opens_it(prepared: Prepared) -> None:
    with pytest.raises(LedgerError, match="hallmark ledger open test-people --epsilon CAP"):
        go(prepared)


def test_what_is_left_must_cover_it(prepared: Prepared, tmp_path: Path) -> None:
    example.open_account()
    for index in range(2):
        go(prepare(example.write(tmp_path / str(index), 5, release=f"other-{index}")))
    with pytest.raises(BudgetRefused):
        go(prepared)


def test_a_public_table_that_was_changed_is_refused_on_resuming(home: Path, tmp_path: Path) -> None:
    whole = example.spec(tmp_path / "table.csv")
    columns = {name: whole["columns"][name] for name in ("age", "income", "region")}
    public = tmp_path / "public.csv"

    def with_public(seed: int) -> Prepared:
        example.table(40, seed).to_csv(public, index=False, na_rep="NA")
        return prepare(
            example.write(
                tmp_path,
                5,
                mechanism={"name": "sparse-lipschitz", "cells": 5},
                privacy=example.PURE,
                columns=columns,
                data={**whole["data"], "ignore": ["employed", "since", "person"]},
                constraints=[],
                public_data={
                    "source": str(public), "null_markers": ["NA"], "reference": "an older one",
                },
            )
        )  # fmt: skip

    example.open_account()
    go(with_public(seed=8))
    go(with_public(seed=8), resume=True)
    with pytest.raises(LedgerError, match="another plan"):
        go(with_public(seed=9), resume=True)


def test_an_unused_reservation_is_given_back_and_may_be_made_again(prepared: Prepared) -> None:
    example.open_account()
    go(prepared)
    assert cancel_if_unused(prepared.spec.release, ledger_url(), "tests")
    assert Ledger(ledger_url()).account("test-people").reserved == (0, 0)
    assert not cancel_if_unused(prepared.spec.release, ledger_url(), "tests")
    go(prepared)


def test_a_drawn_reservation_is_never_given_back(prepared: Prepared) -> None:
    example.open_account()
    go(prepared)
    draw(prepared)
    assert not cancel_if_unused(prepared.spec.release, ledger_url(), "tests")
    assert Ledger(ledger_url()).account("test-people").spent[0] == 1


def test_nothing_is_given_back_where_nothing_was_reserved(prepared: Prepared) -> None:
    assert not cancel_if_unused(prepared.spec.release, ledger_url(), "tests")
