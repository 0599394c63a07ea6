"""Every fault of the list can be planted, and is caught by the tests that it names."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.planted.faults import ROOT, Fault, Noticed, copied, faults, planting, run

FAULTS = faults()
HALVED = Fault(
    id="halved", claim="", file="halves.py", find="1 * 2", put="1", tests=("tests/test_halves.py",)
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code."""
    return copied(ROOT, tmp_path_factory.mktemp("planted") / "tree")


def cannot_be_planted(fault: Fault) -> str:
    """Why a fault of the list is none; empty where it is one."""
    try:
        ast.parse(fault.planted((ROOT / fault.file).read_text("utf-8")))
    except (OSError, ValueError, SyntaxError) as error:
        return f"{fault.id}: {error}"
    return "" if fault.put != fault.find else f"{fault.id}: it changes nothing"


def is_there(test: str) -> bool:
    """Whether a file of tests, or a test in it, exists."""
    name, _, function = test.partition("::")
    path = ROOT / name
    return path.is_file() and (not function or f"\ndef {function}(" in path.read_text("utf-8"))


def test_every_fault_has_a_name_and_a_claim_of_its_own():
    for what in (Counter(f.id for f in FAULTS), Counter(f.claim for f in FAULTS)):
        assert [one for one, times in what.items() if times > 1] == []


def test_every_fault_can_be_planted():
    # Where a line was rewritten: plant the same slip in the new one, in faults.toml.
    wrong = [why for fault in FAULTS if (why := cannot_be_planted(fault))]
    assert not wrong, "\n".join(wrong)


def test_the_tests_that_have_to_fail_exist():
    gone = [f"{f.id}: {test}" for f in FAULTS for test in f.tests if not is_there(test)]
    assert not gone, "\n".join(gone)
    assert not is_there("tests/planted/test_planted.py::test_that_there_is_not")


@pytest.mark.parametrize("text", ["1 * 3", "1 * 2 + 1 * 2"])
def test_a_text_that_is_not_there_once_is_told(text: str):
    with pytest.raises(ValueError, match=r"its text occurs \d times in halves\.py"):
        HALVED.planted(text)


def test_a_fault_is_there_meanwhile_and_told_from_other_failures(tmp_path: Path):
    (tmp_path / "halves.py").write_text("NUMBER = 1 * 2\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / HALVED.tests[0]).write_text(
        "from halves import NUMBER\n\ndef test_it():\n    assert NUMBER == 2\n"
    )
    with planting(HALVED, tmp_path):
        assert run(HALVED.tests, tmp_path).caught_by == f"{HALVED.tests[0]}::test_it"
    assert run(HALVED.tests, tmp_path).passed
    assert run(("tests/test_missing.py",), tmp_path).caught_by is None


def test_code_that_cannot_be_imported_is_no_fault_that_was_caught():
    said = "ERROR tests/test_halves.py\nInterrupted: 1 error during collection"
    assert Noticed(2, said).caught_by is None


@pytest.mark.slow
def test_nothing_fails_where_nothing_is_planted(tree: Path):
    found = run(sorted({test for fault in FAULTS for test in fault.tests}), tree, stop_early=False)
    assert found.passed, found.said


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_is_caught(fault: Fault, tree: Path):
    with planting(fault, tree):
        found = run(fault.tests, tree)
    assert found.caught_by is not None, f"missed: {fault.claim}\n{found.said}"
