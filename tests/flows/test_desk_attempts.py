"""Guesses spread over many logins and addresses: how many are heard, and who is kept out."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from hallmark.flows.desk.attempts import BY_ADDRESS, OVER_ALL, Attempts
from hallmark.tasks.installation.guesses import LONGEST, network_of

HOUR = 3600.0


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def attempts(clock: Clock) -> Attempts:
    return Attempts(clock)


def heard(
    attempts: Attempts, clock: Clock, until: float, address: Callable[[int], str]
) -> Iterator[float]:
    """The times at which somebody is heard who tries a new login each second, from addresses."""
    for number in count():
        if clock.now >= until:
            return
        if not attempts.begin(f"login-{number}", address(number), known=False):
            yield clock.now
        clock.now += 1.0


def test_guesses_at_many_logins_are_few_from_one_address(attempts: Attempts, clock: Clock):
    found = list(heard(attempts, clock, HOUR, lambda _: "192.0.2.1"))
    assert sum(at < BY_ADDRESS.every for at in found) == BY_ADDRESS.at_once
    assert len(found) <= BY_ADDRESS.at_once + HOUR / BY_ADDRESS.every


def test_guesses_at_many_logins_are_few_from_many_addresses(attempts: Attempts, clock: Clock):
    found = list(heard(attempts, clock, HOUR, lambda number: f"192.0.2.{number}"))
    assert len(found) <= OVER_ALL.at_once + HOUR / OVER_ALL.every
    assert len(found) >= OVER_ALL.at_once + HOUR / OVER_ALL.every - 2


def test_guesses_at_one_moment_all_count(attempts: Attempts):
    answers = [attempts.begin(f"login-{i}", f"10.0.0.{i}", known=False) for i in range(40)]
    assert [wait > 0 for wait in answers] == [False] * OVER_ALL.at_once + [True] * 10


def test_a_known_browser_is_heard_whatever_others_guess(attempts: Attempts):
    for number in range(1000):
        attempts.begin(f"login-{number}", f"192.0.2.{number % 100}", known=False)
    assert attempts.begin("ada", "192.0.2.1", known=False) > 0
    assert attempts.begin("ada", "192.0.2.1", known=True) == 0


def test_one_attacker_keeps_nobody_out_who_comes_from_elsewhere(attempts: Attempts, clock: Clock):
    for _ in heard(attempts, clock, HOUR, lambda _: "192.0.2.1"):
        assert attempts.begin("ada", "198.51.100.1", known=False) == 0
        attempts.right("ada", "198.51.100.1", known=False)
    clock.now += 1
    assert attempts.begin("ada", "198.51.100.1", known=False) == 0


def test_once_the_guessing_ends_everybody_is_heard_soon(attempts: Attempts, clock: Clock):
    for _ in heard(attempts, clock, 10 * HOUR, lambda number: f"192.0.2.{number % 3}"):
        pass
    for address in ("192.0.2.1", "198.51.100.1"):
        assert attempts.begin("ada", address, known=False) <= BY_ADDRESS.every < LONGEST
    clock.now += BY_ADDRESS.every
    assert attempts.begin("ada", "192.0.2.1", known=False) == 0


def test_whoever_logs_in_is_not_counted_and_wipes_nothing_out(attempts: Attempts, clock: Clock):
    for number in range(100):  # a busy morning, from behind one address
        assert attempts.begin(f"somebody-{number}", "192.0.2.1", known=False) == 0
        attempts.right(f"somebody-{number}", "192.0.2.1", known=False)
    for number in range(BY_ADDRESS.at_once - 1):
        assert attempts.begin(f"login-{number}", "192.0.2.1", known=False) == 0
    assert attempts.begin("mallory", "192.0.2.1", known=False) == 0
    attempts.right("mallory", "192.0.2.1", known=False)  # with a login of their own
    assert attempts.begin("ada", "192.0.2.1", known=False) == 0
    assert attempts.begin("bob", "192.0.2.1", known=False) == BY_ADDRESS.every


def test_addresses_that_one_guesser_can_use_are_one():
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff") != network_of("2001:db8:1::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") == "192.0.2.1"
    assert network_of("local") == "local"
