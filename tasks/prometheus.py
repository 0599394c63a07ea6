"""Metrics of an installation for Prometheus: budgets, what waits, how runs went.

All is read from the ledger and the workspaces when it is asked for, so nothing has to be counted by
processes that come and go. Every number is public or noisy but for what times and memory tell; both
are rounded (docs/operations.md says what may be learnt from them). Stages are told of runs that
came to a gate or to their end: which stage a run failed in may be a fact about the private table.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from threading import Lock

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from hallmark.mechanisms.privacy.ledger.ledger import AccountState, LedgerError
from hallmark.tasks.gates.waiting import waiting_releases
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.ledger.anchors import AnchorsDamaged, open_ledger
from hallmark.tasks.ledger.rollback import anchored_accounts, why_refused
from hallmark.tasks.runs import RunStatus, is_held, statuses

CONTENT_TYPE = CONTENT_TYPE_LATEST
SECONDS = 5  # for how long an answer is given again
RECENT = timedelta(days=90)
"""Stages of older runs are left out: a series for each release ever made would never end."""


class Exposition:
    """The metrics as text, made anew at most every few seconds, whoever asks.

    Args:
        accounts: also names, balances and health of accounts.
    """

    def __init__(self, *, accounts: bool, seconds: float = SECONDS) -> None:
        self._seconds, self._lock = seconds, Lock()
        self._registry = CollectorRegistry()
        self._registry.register(Installation(accounts=accounts))
        self._made, self._text = float("-inf"), b""

    def text(self) -> bytes:
        """All metrics in the format that Prometheus scrapes."""
        with self._lock:
            if time.monotonic() - self._made > self._seconds:
                self._text, self._made = generate_latest(self._registry), time.monotonic()
            return self._text


class Installation(Collector):
    """Reads the ledger and the workspaces of this installation."""

    def __init__(self, *, accounts: bool) -> None:
        self._accounts = accounts

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All metrics, as they are now."""
        accounts: list[AccountState] = []
        refused: list[str] = []
        try:
            book = open_ledger(ledger_url())
            accounts, answers = book.accounts(), True
            refused = [name for name in _known(accounts) if why_refused(book, name)]
        except LedgerError:
            answers = False
        yield GaugeMetricFamily(
            "hallmark_ledger_up", "Whether the ledger answers and is whole", value=answers
        )
        yield GaugeMetricFamily(
            "hallmark_accounts_shown",
            "Whether the owner of the access token may see accounts",
            value=self._accounts,
        )
        if self._accounts:
            yield _refused(accounts, refused)
            yield from _budgets(accounts)
        yield from _releases(statuses())

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """No description: registering must not read the ledger."""
        return iter(())


def _known(accounts: Iterable[AccountState]) -> set[str]:
    """Accounts of the ledger, and those that it had."""
    known = {account.name for account in accounts}
    with suppress(AnchorsDamaged):
        known |= anchored_accounts()
    return known


def _refused(accounts: Iterable[AccountState], refused: Iterable[str]) -> GaugeMetricFamily:
    told = GaugeMetricFamily(
        "hallmark_account_refused",
        "Whether an account lacks entries that it had, or was put back from a backup",
        labels=["account"],
    )
    for account in sorted({account.name for account in accounts} | set(refused)):
        told.add_metric([account], account in refused)
    return told


def _budgets(accounts: Iterable[AccountState]) -> Iterator[GaugeMetricFamily]:
    epsilon = GaugeMetricFamily(
        "hallmark_budget_epsilon", "Epsilon of an account", labels=["account", "part"]
    )
    delta = GaugeMetricFamily(
        "hallmark_budget_delta", "Delta of an account", labels=["account", "part"]
    )
    for account in accounts:
        parts = {
            "cap": (account.cap.epsilon, account.cap.delta),
            "spent": account.spent,
            "reserved": account.reserved,
            "remaining": account.remaining,
        }
        if account.composed is not None:  # what they come to, where budgets are only an upper end
            epsilon.add_metric([account.name, "composed"], account.composed)
        for part, pair in parts.items():
            epsilon.add_metric([account.name, part], float(pair[0]))
            delta.add_metric([account.name, part], float(pair[1]))
    yield epsilon
    yield delta


def _releases(runs: Iterable[RunStatus]) -> Iterator[GaugeMetricFamily]:
    waits = GaugeMetricFamily(
        "hallmark_release_waiting_since_timestamp_seconds",
        "When a release began to wait at a gate",
        labels=["release", "gate"],
    )
    for waiting in waiting_releases():
        waits.add_metric([waiting.release, waiting.gate], waiting.since.timestamp())
    yield waits

    runs = list(runs)
    number = Counter(state_of(run) for run in runs)
    releases = GaugeMetricFamily(
        "hallmark_releases", "Releases by how their last run went", labels=["state"]
    )
    for state in STATES:
        releases.add_metric([state], number[state])
    yield releases

    last = GaugeMetricFamily(
        "hallmark_calendar_last_published_timestamp_seconds",
        "When a release of a calendar's entry was last published",
        labels=["entry"],
    )
    for entry in sorted({run.entry for run in runs if run.entry}):
        ours = (run for run in runs if run.entry == entry and not run.lost)
        times = [run.published for run in ours if run.published]
        last.add_metric([entry], max(time.timestamp() for time in times) if times else 0)
    yield last
    yield from _stages(
        run for run in runs if run.how in _STAGES_TOLD and datetime.now(UTC) - run.started < RECENT
    )


def _stages(runs: Iterable[RunStatus]) -> Iterator[GaugeMetricFamily]:
    labels = ["release", "stage"]
    seconds = GaugeMetricFamily(
        "hallmark_stage_seconds", "How long a stage took when it last ran", labels=labels
    )
    speed = GaugeMetricFamily(
        "hallmark_stage_rows_per_second",
        "Records that the spec expects (not those there are) by the seconds of a stage",
        labels=labels,
    )
    memory = GaugeMetricFamily(
        "hallmark_stage_peak_memory_bytes",
        "The most memory that the flow's process had taken by the end of a stage",
        labels=labels,
    )
    for run in runs:
        for stage, done in run.stages.items():
            seconds.add_metric([run.release, stage], done.seconds)
            speed.add_metric([run.release, stage], run.expected_rows / max(1, done.seconds))
            memory.add_metric([run.release, stage], done.peak_memory)
    yield seconds
    yield speed
    yield memory


_STAGES_TOLD = ("published", "waiting", "left-alone")

STATES = ("running", "interrupted", "waiting", "published", "lost", "failed", "stopped")


def state_of(run: RunStatus) -> str:
    """One of `STATES`: how a release's last run went, or that its process or folder is gone."""
    if run.published is not None:
        return "lost" if run.lost else "published"
    if run.how == "running" and not is_held(Workspace.of(run.release)):
        return "interrupted"
    return run.how
