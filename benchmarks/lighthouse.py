"""What Lighthouse says of the desk's pages, on a telephone and on a screen.

    npm install --prefix build/lighthouse lighthouse@13.5.0
    python -m benchmarks.lighthouse build/lighthouse/node_modules/.bin/lighthouse

A new installation in a temporary folder, filled as for `benchmarks.desk`, with two releases of the
demonstration table beside: one is published, one waits for its disclosure. Every page is opened by
Chromium as somebody who may do everything and has logged in. Printed by page: scores out of 100
for performance, accessibility and best practices, in Lighthouse's two settings; below them every
check that a page did not pass. Performance is that of a slow telephone on a slow network, and of a
screen at a desk, as Lighthouse simulates them from what it saw: on a busy machine it is lower, so
of several times (`--times`) the one with the middle performance counts.
"""

import argparse
import base64
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.desk import ACCOUNT, BY, EXAMPLE, desk, fill
from hallmark.tasks.people import directory, sessions
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.places import specs_folder

CATEGORIES = ("performance", "accessibility", "best-practices")
SETTINGS = {"telephone": [], "screen": ["--preset=desktop"]}
ATTEMPTS = 3
CHROME = "--headless=new --no-sandbox --disable-gpu"
PAGES = {
    "log-in": "/log-in",
    "releases": "/",
    "published": "/releases/published",
    "waiting": "/releases/waiting",
    "spec": "/specs/own",
    "specs": "/specs",
    "accounts": "/accounts",
    "account": f"/accounts/{ACCOUNT}",
    "people": "/people",
    "log": "/log",
    "keys": "/keys",
    "calendar": "/calendar",
    "me": "/me",
}

Result = dict[str, Any]


def main() -> None:
    """Make the installation, open its pages, and print the scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lighthouse", help="the program, or how it is started")
    parser.add_argument("--releases", type=int, default=200)
    parser.add_argument("--pages", nargs="*", choices=PAGES, default=list(PAGES))
    parser.add_argument("--times", type=int, default=1, help="how often each page is opened")
    parser.add_argument("--keep", type=Path, help="a folder for all that Lighthouse says")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["HALLMARK_HOME"] = str(folder / "home")
        fill(asked.releases)
        make_releases(folder)
        cookie = folder / "cookie.json"
        cookie.write_text(json.dumps({"Cookie": f"hallmark-desk={session()}"}))
        kept = asked.keep or folder / "kept"
        kept.mkdir(parents=True, exist_ok=True)
        with desk(folder) as (url, _):
            results = {
                (page, setting): middle(
                    examine(
                        shlex.split(asked.lighthouse),
                        f"{url}{PAGES[page]}",
                        kept / f"{page}-{setting}-{time}.json",
                        *SETTINGS[setting],
                        *([] if page == "log-in" else ["--extra-headers", str(cookie)]),
                    )
                    for time in range(asked.times)
                )
                for page in asked.pages
                for setting in SETTINGS
            }
    report(results)


def make_releases(folder: Path) -> None:
    """A published release of the demonstration table, one that waits at a gate, and a draft."""
    key = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    listed = {"name": "Bo", "roles": ["reviewer"], "key": base64.b64encode(key).decode()}
    (folder / "home" / "profile.yaml").write_text(json.dumps({"approvers": [listed]}))
    table = folder / "table.csv"
    for command in (
        ["hallmark.flows.demo", str(table)],
        ["hallmark", "release", str(spec(folder, "published", table))],
        ["hallmark", "release", str(spec(folder, "waiting", table, gated=True))],
    ):
        done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True)
        if done.returncode not in (0, 7):  # 7: it waits
            sys.exit(done.stderr.decode())
    spec(specs_folder(), "own", table)


def spec(folder: Path, name: str, table: Path, *, gated: bool = False) -> Path:
    """The spec of a release of the demonstration table."""
    text = EXAMPLE.read_text().replace("../../build/rand-hie.csv", str(table))
    text = text.replace("release: rand-hie-2026", f"release: {name}")
    path = folder / f"{name}.yaml"
    path.write_text(text + ("approvals: {disclosure: [reviewer]}\n" if gated else ""))
    return path


def session() -> str:
    """What the browser of somebody sends who may do everything and has logged in."""
    return sessions.begin(directory.add("ada", "Ada Example", list(Role), by=BY), BY)


def examine(program: list[str], url: str, said: Path, *options: str) -> Result:
    """What Lighthouse says of a page."""
    command = [*program, url, "--quiet", "--output=json", f"--output-path={said}"]
    command += [f"--chrome-flags={CHROME}", f"--only-categories={','.join(CATEGORIES)}", *options]
    for left in reversed(range(ATTEMPTS)):  # now and then it sees nothing of a page, and says so
        if subprocess.run(command, check=left == 0).returncode == 0:
            break
    result: Result = json.loads(said.read_text())
    if result["finalDisplayedUrl"] != url:
        sys.exit(f"{url} led to {result['finalDisplayedUrl']}")
    return result


def middle(results: Iterable[Result]) -> Result:
    """Of several times the one with the median performance."""
    ordered = sorted(results, key=lambda result: result["categories"]["performance"]["score"])
    return ordered[len(ordered) // 2]


def report(results: dict[tuple[str, str], Result]) -> None:
    """Print the scores by page, and what did not pass, with the pages that it was found on."""
    (version,) = {result["lighthouseVersion"] for result in results.values()}
    print(f"Lighthouse {version}: " + ", ".join(CATEGORIES))
    print(f"{'page':<12}" + "".join(f"{setting:>16}" for setting in SETTINGS))
    for page in dict.fromkeys(page for page, _ in results):
        scores = (_scores(results[page, setting]) for setting in SETTINGS)
        print(f"{page:<12}" + "".join(f"{score:>16}" for score in scores))
    found = defaultdict(list)
    for (page, setting), result in results.items():
        for fault in _faults(result):
            found[fault].append(f"{page} ({setting})")
    for fault, places in found.items():
        print(f"\n{fault}\n    {', '.join(places)}")


def _scores(result: Result) -> str:
    return " ".join(f"{100 * result['categories'][one]['score']:.0f}" for one in CATEGORIES)


def _faults(result: Result) -> Iterator[str]:
    for category in CATEGORIES:
        for one in result["categories"][category]["auditRefs"]:
            audit = result["audits"][one["id"]]
            if audit["score"] is not None and audit["score"] < 0.9:
                yield f"{audit['id']}: {audit['title']}"


if __name__ == "__main__":
    main()
