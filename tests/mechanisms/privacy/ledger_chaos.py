"""Processes that use one ledger at once, and are killed: run as a script by test_ledger_chaos.py.

`crowd` starts many workers at the same moment on a database that none of them has opened yet. Each
opens the ledger and the account, reserves its release and makes some calls; two workers share a
release, as when a task is executed again while its first execution still runs. What a worker was
answered it writes to a file before it goes on: that is what the world has seen. Workers are killed
at random; afterwards each release runs once more, unharmed, as an operator would resume it.

`die` makes a call for each point at which it may be killed, each in a process that is killed there.

Workers are forked from this process, which has no threads and no open connection. What every ledger
imports when it is opened is imported once, before.
"""

import argparse
import json
import os
import random
import secrets
import signal
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import alembic.command  # noqa: F401  # what a ledger imports when it is opened
from alembic.runtime.migration import MigrationContext  # noqa: F401
from sqlalchemy import create_engine
from sqlalchemy.engine.interfaces import DBAPIConnection

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.ledger.ledger import BudgetRefused, Ledger

ACCOUNT = "people"
CAP = Budget(epsilon=Fraction(1), delta=Fraction(1, 1000))
POINTS = ("check", "before", "after")  # under the lock, and on either side of the commit
RECORD = Adjacency(neighbours=Neighbours.ADD_REMOVE)
EVENT = ExponentialMechanism(epsilon=Fraction(1, 100))
PAUSE = 0.02  # seconds between two looks at the workers, on average


def request_of(release: str, call: str) -> str:
    return f"what is {call} of {release}?"


def work(arguments: argparse.Namespace, release: str, answers: int) -> None:
    """Reserve and draw like a curator; a naive one answers with its own draw, not the logged."""
    ledger, naive = Ledger(arguments.url), arguments.naive
    ledger.open_account(ACCOUNT, cap=CAP, adjacency=RECORD, by="steward", reason="chaos")
    share = Budget(epsilon=CAP.epsilon / arguments.fit, delta=CAP.delta / arguments.fit)
    try:
        ledger.reserve(ACCOUNT, release, share, adjacency=RECORD, binding="plan")
    except BudgetRefused:
        return
    for number in range(arguments.calls):
        call = f"call-{number}"
        request = request_of(release, call)
        outcome = ledger.lookup(release, call, request)
        if outcome is None:
            drawn = secrets.token_bytes(8)
            if naive:
                time.sleep(PAUSE)  # so that others see no outcome either, and draw as well
            logged = ledger.record(release, call, request, [EVENT], drawn, lambda _standing: None)
            outcome = drawn if naive else logged
        line = json.dumps([release, call, outcome.hex()]) + "\n"
        os.write(answers, line.encode())  # one short write to a file opened for appending is whole


def forked(run: Callable[[], None]) -> int:
    """A child that does this and ends."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            run()
            status = 0
        finally:
            os._exit(status)
    return pid


def wave(arguments: argparse.Namespace, processes: int, kills: int) -> tuple[list[int], int]:
    """Exit statuses of all workers (minus the signal, for those that were killed), and how many
    of them were killed after the first answer had been given.

    Each kill waits for a random number of answers, so that on a fast and on a slow machine alike
    some workers are killed early and most in the middle of their draws.
    """
    answers = os.open(arguments.answers, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    gate, opener = os.pipe()

    def wait_and_work(release: str) -> None:
        os.close(opener)
        os.read(gate, 1)  # ends when the parent closes the other side: all start at once
        work(arguments, release, answers)

    living = [
        forked(partial(wait_and_work, f"release-{number % arguments.releases}"))
        for number in range(processes)
    ]
    os.close(opener)
    os.close(gate)
    statuses, midway = [], 0
    chance = random.Random(arguments.seed)
    most = arguments.calls * arguments.fit * 2 // 3  # answers before the last kill
    due = sorted(chance.randrange(most) for _ in range(kills))
    while living:
        for pid in list(living):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                living.remove(pid)
                statuses.append(os.waitstatus_to_exitcode(status))
        answered = Path(arguments.answers).read_bytes().count(b"\n")
        if living and due and answered >= due[0]:
            os.kill(chance.choice(living), signal.SIGKILL)
            del due[0]
            midway += answered > 0
        time.sleep(chance.expovariate(1 / PAUSE))
    os.close(answers)
    return statuses, midway


def crowd(arguments: argparse.Namespace) -> None:
    first, midway = wave(arguments, arguments.processes, arguments.kills)
    again, _ = wave(arguments, arguments.releases if arguments.kills else 0, kills=0)
    print(json.dumps({"first": first, "midway": midway, "again": again}))


def die(arguments: argparse.Namespace) -> None:
    """Make a call of release "r" that is named for the point, and be killed there."""
    statuses = [
        os.waitstatus_to_exitcode(os.waitpid(forked(partial(die_at, arguments.url, point)), 0)[1])
        for point in POINTS
    ]
    print(json.dumps(statuses))


def die_at(url: str, point: str) -> None:
    ledger = Ledger(url)
    dialect = ledger._database._writer.dialect
    commit = dialect.do_commit

    def kill() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def deadly(connection: DBAPIConnection) -> None:
        if point == "after":
            commit(connection)
        kill()

    def check(_standing: object) -> None:
        if point == "check":
            kill()

    if point != "check":
        dialect.do_commit = deadly  # type: ignore[method-assign]  # the points around the commit
    ledger.record("r", point, "q", [EVENT], b"drawn before the kill", check)


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    crowded = commands.add_parser("crowd")
    crowded.add_argument("url")
    crowded.add_argument("answers")
    crowded.add_argument("--processes", type=int, required=True)
    crowded.add_argument("--releases", type=int, required=True)
    crowded.add_argument("--fit", type=int, default=1, help="releases that exhaust the cap")
    crowded.add_argument("--calls", type=int, required=True)
    crowded.add_argument("--kills", type=int, default=0)
    crowded.add_argument("--seed", type=int, default=1)
    crowded.add_argument("--naive", action="store_true")
    crowded.set_defaults(run=crowd)
    dying = commands.add_parser("die")
    dying.add_argument("url")
    dying.set_defaults(run=die)
    arguments = parser.parse_args()
    create_engine(arguments.url)  # imports the driver
    arguments.run(arguments)


if __name__ == "__main__":
    main()
