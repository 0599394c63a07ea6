"""Compiled loops: numba takes them when they are called, also by each other."""

import subprocess
import sys

import numpy as np
import pytest

from hallmark.mechanisms.compiled import compiled


@compiled(inline="always")
def doubled(number):
    return 2 * number


@compiled()
def total(numbers):
    found = 0.0
    for number in numbers:
        found += doubled(number)
    return found


def test_a_loop_is_compiled_when_it_is_called_and_calls_others():
    assert total(np.arange(4.0)) == 12
    assert len(total.nopython_signatures) == 1
    assert total.__name__ == "total"


def test_importing_loops_does_not_import_numba():
    code = "import sys, hallmark.mechanisms.privacy.tally as loops; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_neither_it_nor_numba_has_is_an_error():
    with pytest.raises(AttributeError, match="nothing_such"):
        total.nothing_such  # noqa: B018
    assert not hasattr(total, "__array__")
