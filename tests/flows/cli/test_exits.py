"""Exit codes: every name in the table is an error class, and the most special one decides."""

from importlib import import_module

import pytest

from hallmark.flows.cli.exits import CODES, ExitCode, exit_code_of
from hallmark.mechanisms.privacy.ledger.ledger import BudgetRefused
from hallmark.tasks.sources import SourceError


@pytest.mark.parametrize("name", CODES)
def test_every_name_is_an_error_class_that_ends_in_its_code(name: str) -> None:
    module, _, kind = name.rpartition(".")
    error = getattr(import_module(module), kind)
    assert issubclass(error, Exception)
    assert exit_code_of(error.__new__(error)) is CODES[name]


def test_a_special_error_ends_in_the_code_of_its_kind() -> None:
    assert exit_code_of(BudgetRefused("x")) is ExitCode.BUDGET
    assert exit_code_of(SourceError("x")) is ExitCode.DATA
    assert exit_code_of(FileNotFoundError("x")) is ExitCode.FAILED


def test_an_error_of_ours_has_none() -> None:
    assert exit_code_of(AssertionError("x")) is None
