"""Rehearse a release: the same run on made-up or public records, with a ledger of its own.

A rehearsal shows how long a release takes, how much memory, and what its report will look like,
before any budget is spent. It runs as a process of its own, in a home of its own, so that nothing
of it can be taken for the real thing: name, title and data files say what it is, no key of the
agency's signs it, and `verify` refuses it. Its result is a file that an approval of the plan is
bound to. The private table has no part in it; it is read only to see that a table which the spec
declares for rehearsals is no copy of it.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.manifest import MANIFEST_FILE, Sha256
from hallmark.schemas.release_spec import REHEARSAL_NAME, REHEARSAL_TITLE, ReleaseSpec
from hallmark.schemas.section import MOST_CHARACTERS, Section
from hallmark.tasks.gates.rehearsal_table import (
    RehearsalRefused,
    RehearsalTable,
    rehearsal_table,
)
from hallmark.tasks.installation.code import IMAGE_VARIABLE, code_digest
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.operator import OPERATOR_VARIABLE
from hallmark.tasks.installation.signing import digest
from hallmark.tasks.installation.workspace import (
    AlreadyRunning,
    home,
    private_folder,
    rehearsal_home,
    whole,
)
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.requested import adjacency, budget

ACCOUNT = "rehearsal"
_RESULT = "rehearsal.json"
_LAST_LINES = 20  # of what a failed run said
_KEPT = (OPERATOR_VARIABLE, IMAGE_VARIABLE)  # of our settings: who runs it, and what


class RehearsalFailed(SafeError):
    """The run on made-up records failed; the real one would too."""


class Rehearsal(Section):
    """What a rehearsal showed. Public: no private record had a part in it."""

    release: str
    spec: Sha256  # of the real release
    code: Sha256
    records: str  # which records it ran on
    rows: Annotated[int, Field(ge=1)]
    seconds: float
    folder: str  # the rehearsed release, with its audit report
    manifest: Sha256  # of the rehearsed release

    def digest(self) -> Sha256:
        """SHA-256 of the result, which an approval names."""
        return sha256(self.model_dump_json().encode()).hexdigest()


def rehearse(prepared: Prepared) -> Rehearsal:
    """Run the release on made-up records, or on the table that the spec declares for rehearsals.

    Raises:
        PlanRefused: the spec makes no records that could be rehearsed.
        RehearsalRefused: the declared table may not be rehearsed on.
        RehearsalFailed: the run failed; the message says how it ended.
        AlreadyRunning: another rehearsal of the release is under way.
    """
    prepared.releasing()
    with _alone(prepared):
        return _rehearsed(prepared)


def _rehearsed(prepared: Prepared) -> Rehearsal:
    place = private_folder(_place(prepared.spec.release))
    shutil.rmtree(place)  # an earlier rehearsal's ledger would answer in place of this run
    private_folder(place)
    table = rehearsal_table(prepared, place)
    spec = place / "rehearsal.yaml"
    content = rehearsal_spec(prepared.spec, table)
    spec.write_text(json.dumps(content, indent=1))
    ledger = Ledger(f"sqlite:///{rehearsal_home(place / 'home') / 'ledger.db'}")
    ledger.open_account(
        ACCOUNT,
        cap=budget(prepared.spec),
        adjacency=adjacency(prepared.spec),
        by="rehearsal",
        reason="made-up or public records: nobody's privacy is spent",
    )
    began = time.monotonic()
    folder = _run(prepared, spec, place) / content["release"]
    seconds = round(time.monotonic() - began, 1)
    try:
        table.refuse_changes()
    except RehearsalRefused:
        shutil.rmtree(place)
        raise
    result = Rehearsal(
        release=prepared.spec.release,
        spec=prepared.spec.digest(),
        code=code_digest(),
        records=table.records,
        rows=table.rows,
        seconds=seconds,
        folder=str(folder),
        manifest=digest(folder / MANIFEST_FILE),
    )
    with whole(place / _RESULT) as draft:
        draft.write_text(result.model_dump_json(indent=1))
    return result


def last_rehearsal(release: str, spec: Sha256) -> Rehearsal | None:
    """The rehearsal of a release under a spec of this digest, with this very code; None where there
    was none."""
    try:
        result = Rehearsal.model_validate_json((_place(release) / _RESULT).read_bytes())
    except (OSError, ValidationError):
        return None
    return result if (result.spec, result.code) == (spec, code_digest()) else None


@contextmanager
def _alone(prepared: Prepared) -> Iterator[None]:
    """Hold the rehearsals of a release for this one, which takes the place of an earlier one."""
    release = prepared.spec.release
    with (private_folder(home() / "rehearsals") / f".{release}.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(
                f"another rehearsal of {release!r} is under way; wait until it ends"
            ) from None
        yield


def _place(release: str) -> Path:
    return home() / "rehearsals" / release


def rehearsal_spec(spec: ReleaseSpec, table: RehearsalTable) -> dict[str, Any]:
    """The spec with its records exchanged for a table, on an account of its own, without gates.

    Its name and title say that it is a rehearsal, and so does all that is made of it.
    """
    content = spec.content()
    kept = {key: content["data"][key] for key in ("expected_rows", "record")}
    for section in ("approvals", "embargo", "rehearsal"):
        content.pop(section, None)
    content["output"].pop("table", None)
    for column in content["columns"].values() if table.as_released else ():
        column.pop("recode", None)
    return content | {
        "release": f"{REHEARSAL_NAME}{spec.release}"[:MOST_CHARACTERS].rstrip("-"),
        "rehearsal_of": spec.release,
        "title": f"{REHEARSAL_TITLE}{spec.title}",
        "data": kept | table.data,
        "population": {"account": ACCOUNT},
    }


def environment(place: Path) -> dict[str, str]:
    """The environment of the rehearsal's process: a separate home, without our settings.

    Without our server, its runs raise no alert and leave no artifact; without our profile, ledger
    and key, nothing of it is the agency's.
    """
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("HALLMARK_", "PREFECT_"))}
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return ours | kept | {"HALLMARK_HOME": str(place / "home")}


def _run(prepared: Prepared, spec: Path, place: Path) -> Path:
    """Run the release of `spec`; returns the folder in which it is published."""
    out = place / "out"
    program = [sys.executable, "-m", "hallmark", "release", str(spec), "--out", str(out)]
    done = subprocess.run(
        [*program, "--folder", str(prepared.folder)],
        env=environment(place),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        raise RehearsalFailed(
            f"the rehearsal of {prepared.spec.release!r} ended with exit code {done.returncode}, "
            f"as the release itself would; it said:\n{said}"
        )
    return out
