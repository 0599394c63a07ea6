"""How long the desk's pages take with many releases, people and runs at a time.

    python -m benchmarks.desk                     # 200 releases, 20 people, five runs, 60 seconds
    python -m benchmarks.desk --runs 0 --seconds 20
    python -m benchmarks.desk --each 20           # every page of the desk, by one person alone

A new installation in a temporary folder: as many releases as asked for, all from one account, a
tenth of which wait at a gate; a desk in a process of its own; people who each ask for a page every
three seconds, as fast readers do, with access tokens; and runs of the demonstration release beside
them, begun again as they end, with the priority of runs in server mode. Printed by page: median,
95th percentile and longest time in milliseconds, from the request to the last byte, by the clock of
whoever asked.

With `--each`, one person who may do everything asks for every page, so many times one after the
other, with a browser's session, while the runs are made: median by the clock of whoever asked, and
the time of a processor that the desk itself took, which says how long it takes where nothing else
runs.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from socket import create_server

import httpx
import numpy as np
import psutil

import hallmark.schemas.examples
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import cost
from hallmark.mechanisms.privacy.events import DiscreteGaussian
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.skeleton import skeleton_from_header
from hallmark.tasks.gates.approvals import open_gate
from hallmark.tasks.gates.waiting import NOTE
from hallmark.tasks.installation.priority import yield_to_others
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.people import directory, sessions
from hallmark.tasks.people.actions import Actor
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.places import public_folder, specs_folder, tables_folder
from hallmark.tasks.runs import RunStatus

ACCOUNT = "rand-hie-participants"
EXAMPLE = Path(hallmark.schemas.examples.__path__[0]) / "rand-hie.yaml"
RECORD = Adjacency(neighbours=Neighbours.REPLACE_ONE)
BUDGET = Budget(epsilon=Fraction(1, 100), delta=Fraction(1, 10**9))
COLUMNS = [f"column_{number}" for number in range(12)]
PAGES = (
    "/", "/?find=survey&state=waiting", "/releases/release-1", "/releases/release-10",
    "/releases/draft-1", "/calendar", "/accounts", f"/accounts/{ACCOUNT}", "/keys", "/log",
    "/people", "/me", "/agency", "/specs", "/specs/draft-1", "/specs/draft-1/questions",
    "/specs/draft-1/about", "/specs/draft-1/columns", "/specs/draft-1/columns?column=column_1",
    "/specs/draft-1/rules", "/tables/private/people.csv", "/tables/public/codes.csv", "/docs",
    "/docs/spec-reference", "/docs/desk",
)  # fmt: skip
"""Every page of the desk, of a release that is published and of one that waits."""
THINKING = 3.0  # seconds between two pages of one person
BY = Actor("benchmark", "command line")


def main() -> None:
    """Make the installation, let people ask, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=200)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5, help="releases that are made meanwhile")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--each", type=int, default=0, help="times that every page is asked for")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HALLMARK_HOME"] = str(Path(folder) / "home")
        fill(asked.releases)
        tokens = [token(number) for number in range(asked.people)]
        cookie = write_specs()
        with desk(Path(folder)) as (url, process), running(asked.runs, Path(folder)):
            if asked.each:
                ask_for_each(url, cookie, psutil.Process(process), asked.each)
                return
            times = let_people_ask(url, tokens, asked.releases, asked.seconds)
    print(f"{asked.releases} releases, {asked.people} people, {asked.runs} runs at a time")
    print(f"{'page':<12}{'asked':>7}{'median':>9}{'95 %':>9}{'longest':>9}  ms")
    for page, found in times.items():
        median, high, most = np.quantile(found, [0.5, 0.95, 1.0]) * 1000
        print(f"{page:<12}{len(found):>7}{median:>9.0f}{high:>9.0f}{most:>9.0f}")


def fill(releases: int) -> None:
    """Releases of an installation: most are published, every tenth waits at a gate.

    All drew from one account, and its entries are those of releases that somebody approves.
    """
    book, now = open_ledger(ledger_url()), datetime.now(UTC)
    cap = Budget(epsilon=Fraction(1000), delta=Fraction(1, 10))
    book.open_account(
        ACCOUNT,
        cap=cap,
        adjacency=RECORD,
        composition="zcdp",
        by="benchmark",
        reason="benchmark",
    )
    for number in range(releases):
        name, waits = f"release-{number}", number % 10 == 0
        workspace = Workspace.of(name)
        status = RunStatus(
            release=name,
            account=ACCOUNT,
            expected_rows=1000,
            started=now,
            ended=now,
            how="waiting" if waits else "published",
            title=f"Health survey, part {number}",
            published=None if waits else now,
            folder=None if waits else str(workspace.staging),
        )
        (workspace.path / "run.json").write_text(status.model_dump_json())
        (workspace.staging / "manifest.json").write_text("{}")
        charge(book, name, number)
        seen = {"spec": f"{number:064x}"}
        open_gate(book, name, "disclosure", required=("reviewer",), seen=seen)
        if not waits:
            book.state(name, "publish", {})
            continue
        note = Waiting(
            release=name,
            title=status.title,
            gate="disclosure",
            since=now,
            required=("reviewer",),
            seen=seen,
            spec="spec.yaml",
            folder=".",
            out=".",
        )
        (workspace.path / NOTE).write_text(note.model_dump_json())


def charge(book: Ledger, release: str, number: int) -> None:
    """Reserve for a release, and charge what noise on thirteen tables costs, of no round size."""
    events = [
        DiscreteGaussian(
            l2_squared=2, sigma2=Fraction(10**7 + 10**5 * table + number, 10), unit_moves=2, times=6
        )
        for table in range(13)
    ]
    reserved = cost(events)
    book.reserve(ACCOUNT, release, BUDGET, adjacency=RECORD, binding="benchmark", cost=reserved)
    book.record(release, "marginals", "benchmark", events, b"", lambda _: None)


def token(number: int) -> str:
    """The access token of another person who may see everything."""
    roles = [Role.REVIEWER, Role.AUDITOR, Role.OPERATOR]
    person = directory.add(f"person-{number}", f"Person {number}", roles, by=BY)
    return sessions.make_token(person, "benchmark", roles, 1, by=BY)


def write_specs() -> str:
    """A table, a public file, and specs of the table; the session of somebody with all roles."""
    (tables_folder() / "people.csv").write_text(f"{','.join(COLUMNS)}\n")
    (public_folder() / "codes.csv").write_text("code,label\n1,one\n")
    begun = skeleton_from_header(tables_folder() / "people.csv", source="people.csv")
    for number in range(20):
        text = begun.replace("release: FILL_IN", f"release: draft-{number}", 1)
        (specs_folder() / f"draft-{number}.yaml").write_text(text)
    person = directory.add("everybody", "Every Body", list(Role), by=BY)
    return sessions.begin(person, BY)


@contextmanager
def desk(folder: Path) -> Iterator[tuple[str, int]]:
    """The desk in a process of its own; its address and the process."""
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "hallmark.flows.desk:desk", "--port", str(port)]
    with (folder / "desk.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--log-level", "error"], stdout=log, stderr=log, start_new_session=True
        )
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                httpx.get(f"{url}/health", timeout=5)
                break
            except httpx.HTTPError:
                time.sleep(0.2)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait()


@contextmanager
def running(number: int, folder: Path) -> Iterator[None]:
    """As many runs of the demonstration release at a time, each begun anew as it ends."""
    ended = threading.Event()
    if number:
        table = folder / "table.csv"
        demo = [sys.executable, "-m", "hallmark.flows.demo", str(table)]
        subprocess.run(demo, check=True, stdout=subprocess.DEVNULL)

    def repeat(which: int) -> None:
        for turn in range(1000):
            text = EXAMPLE.read_text().replace("epsilon: 1\n", "epsilon: 1/100\n")
            lines = [
                f"release: run-{which}-{turn}" if line.startswith("release:") else line
                for line in text.replace("../../build/rand-hie.csv", str(table)).splitlines()
            ]
            spec = folder / f"run-{which}-{turn}.yaml"
            spec.write_text("\n".join(lines) + "\n")
            command = [sys.executable, "-m", "hallmark", "release", str(spec)]
            with (folder / f"run-{which}.log").open("ab") as log:
                process = subprocess.Popen(
                    [*command, "--out", str(folder / "out")],
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            yield_to_others(process.pid)
            while process.poll() is None:
                if ended.wait(0.2):
                    os.killpg(process.pid, signal.SIGTERM)  # also the run's own server
                    process.wait()
                    return

    threads = [threading.Thread(target=repeat, args=(which,)) for which in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def ask_for_each(url: str, cookie: str, process: psutil.Process, times: int) -> None:
    """Ask for every page alone, and print its median and the desk's own time, milliseconds."""
    print(f"{'page':<44}{'median':>9}{'95 %':>9}{'processor':>11}  ms")
    kept = {"hallmark-desk": cookie}
    with httpx.Client(base_url=url, cookies=kept, headers={"Accept": "text/html"}) as browser:
        for page in PAGES:
            browser.get(page, timeout=60).raise_for_status()
            before, found = sum(process.cpu_times()[:2]), []
            for _ in range(times):
                began = time.perf_counter()
                browser.get(page, timeout=60).raise_for_status()
                found.append(time.perf_counter() - began)
            own = (sum(process.cpu_times()[:2]) - before) / times
            median, high = np.quantile(found, [0.5, 0.95])
            print(f"{page:<44}{1000 * median:>9.0f}{1000 * high:>9.0f}{1000 * own:>11.0f}")


def let_people_ask(
    url: str, tokens: list[str], releases: int, seconds: float
) -> dict[str, list[float]]:
    """The times of pages, by page, while everybody reads for so many seconds."""
    times: dict[str, list[float]] = defaultdict(list)
    end = time.monotonic() + seconds

    def read(number: int, own: str) -> None:
        rng = np.random.default_rng(number)
        headers = {"Authorization": f"Bearer {own}", "Accept": "text/html"}
        # The server closes idle connections after five seconds; browsers try again, this does not.
        kept = httpx.Limits(keepalive_expiry=2)
        with httpx.Client(base_url=url, headers=headers, timeout=60, limits=kept) as browser:
            time.sleep(rng.uniform(0, THINKING))
            while time.monotonic() < end:
                pages = {
                    "releases": "/",
                    "release": f"/releases/release-{rng.integers(releases)}",
                    "accounts": "/accounts",
                    "account": f"/accounts/{ACCOUNT}",
                    "log": "/log",
                    "keys": "/keys",
                }
                page = str(rng.choice(list(pages), p=[0.4, 0.3, 0.1, 0.05, 0.1, 0.05]))
                began = time.perf_counter()
                browser.get(pages[page]).raise_for_status()
                times[page].append(time.perf_counter() - began)
                time.sleep(rng.uniform(0, 2 * THINKING))

    threads = [
        threading.Thread(target=read, args=(number, own)) for number, own in enumerate(tokens)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return dict(times)


if __name__ == "__main__":
    main()
