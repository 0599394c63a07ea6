"""Signals that stop a run: noted whatever becomes of what their handlers raise."""

import signal
import threading
from contextlib import suppress

import pytest

from hallmark.tasks.installation.stop_signals import stop_signals_noted
from tests.flows.conftest import lose_ctrl_c

pytestmark = pytest.mark.usefixtures("interruptible")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_is_noted_whose_exception_is_lost() -> None:
    with stop_signals_noted() as noted:
        lose_ctrl_c()
        assert noted() == [signal.SIGINT]


def test_signals_are_noted_in_their_order_and_others_are_not() -> None:
    with stop_signals_noted() as noted:
        assert noted() == []
        for number in (signal.SIGUSR1, signal.SIGTERM):
            before = signal.signal(number, lambda *_: None)
            signal.raise_signal(number)
            signal.signal(number, before)
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert noted() == noted() == [signal.SIGTERM, signal.SIGINT]


def test_whoever_notes_within_the_noting_of_somebody_else_learns_the_same() -> None:
    """As a run does, which was stopped before it began."""
    with stop_signals_noted() as outer:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with stop_signals_noted() as inner:
            assert inner() == [signal.SIGINT]
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert outer() == [signal.SIGINT, signal.SIGINT]
    assert signal.set_wakeup_fd(-1) == -1


def test_outside_the_main_thread_none_is_noted() -> None:
    found: list[list[signal.Signals]] = []

    def elsewhere() -> None:
        with stop_signals_noted() as noted:
            found.append(noted())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [[]]
