"""Guesses: who says wrong passwords waits ever longer, and nobody else waits for that."""

from hallmark.tasks.installation.guesses import FORGOTTEN, FREE, LONGEST, MOST, Guesses


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def guessing(seconds: float) -> int:
    """How many passwords a guesser gets heard in so many seconds who never waits without need."""
    clock, heard = Clock(), 0
    guesses = Guesses(clock)
    while clock.now <= seconds:
        if wait := guesses.wait("mallory"):
            clock.now += wait
            continue
        guesses.wrong("mallory")
        heard += 1
    return heard


def test_a_guesser_is_heard_a_few_times_at_once_and_then_ever_more_slowly():
    assert guessing(0) == FREE
    assert guessing(60) == FREE + 5  # after 1, 3, 7, 15, 31 seconds; 63 is too late
    assert guessing(86_400) < 310


def test_waiting_until_all_is_forgotten_brings_no_more():
    assert FREE / FORGOTTEN < 2 / LONGEST


def test_what_is_said_while_waiting_does_not_lengthen_it():
    clock = Clock()
    guesses = Guesses(clock)
    for _ in range(FREE):
        guesses.wrong("mallory")
    waits = []
    for clock.now in (0.0, 0.25, 0.5, 1.0):
        waits.append(guesses.wait("mallory"))
    assert waits == [1.0, 0.75, 0.5, 0.0]


def test_everybody_waits_for_guesses_of_their_own_alone():
    guesses = Guesses(Clock())
    for _ in range(3 * FREE):
        guesses.wrong("mallory")
    assert guesses.wait("mallory") > 0
    assert guesses.wait("ada") == 0


def test_wrong_passwords_are_forgotten():
    clock = Clock()
    guesses = Guesses(clock)
    for _ in range(FREE):
        guesses.wrong("ada")
    clock.now = FORGOTTEN + 1
    guesses.wrong("ada")
    assert guesses.wait("ada") == 0


def test_only_the_latest_guessers_take_memory():
    guesses = Guesses(Clock())
    for number in range(MOST + 100):
        guesses.wrong(number)
    assert len(guesses._tried) == MOST
