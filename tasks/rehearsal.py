"""Rehearse a release: the same run on made-up or public records, with a ledger of its own.

A rehearsal shows how long a release takes, how much memory, and what its report will look like,
before any budget is spent. It runs as a process of its own, in a home of its own, so that nothing
of it can be taken for the real thing; its result is a file that an approval of the plan is bound
to. It never opens the private table.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field, ValidationError

from mechanisms.privacy.ledger import Ledger
from schemas.manifest import MANIFEST_FILE, Sha256
from schemas.section import Section
from tasks.code import code_digest
from tasks.errors import SafeError
from tasks.prepare import Prepared, adjacency, budget, refuse_without_records
from tasks.rule_tables import rule_cells
from tasks.rule_values import decode
from tasks.signing import digest
from tasks.workspace import home, private_folder, whole
from tasks.writing import write_csv

ACCOUNT = "rehearsal"
_RESULT = "rehearsal.json"
_LAST_LINES = 20  # of what a failed run said


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


def rehearse(prepared: Prepared, data: Path | None = None) -> Rehearsal:
    """Run the release on made-up records, or on a public table with the same columns.

    Made-up records are as many as the spec expects; every cell of a column is as likely, and they
    obey the edit rules.

    Raises:
        PlanRefused: the spec makes no records that could be rehearsed.
        RehearsalFailed: the run failed; the message says how it ended.
    """
    refuse_without_records(prepared)
    place = private_folder(_place(prepared))
    shutil.rmtree(place)  # an earlier rehearsal's ledger would answer in place of this run
    private_folder(place)
    rows = prepared.spec.data.expected_rows
    source = data.resolve() if data else _made_up(prepared, rows, place)
    spec = place / "rehearsal.yaml"
    spec.write_text(json.dumps(_spec(prepared, source), indent=1))
    ledger = f"sqlite:///{private_folder(place / 'home') / 'ledger.db'}"
    Ledger(ledger).open_account(
        ACCOUNT,
        cap=budget(prepared.spec),
        adjacency=adjacency(prepared.spec),
        by="rehearsal",
        reason="made-up or public records: nobody's privacy is spent",
    )
    began = time.monotonic()
    folder = _run(prepared, spec, place, ledger)
    result = Rehearsal(
        release=prepared.spec.release,
        spec=prepared.spec.digest(),
        code=code_digest(),
        records=str(data) if data else "made up from the spec",
        rows=rows,
        seconds=round(time.monotonic() - began, 1),
        folder=str(folder),
        manifest=digest(folder / MANIFEST_FILE),
    )
    with whole(place / _RESULT) as draft:
        draft.write_text(result.model_dump_json(indent=1))
    return result


def last_rehearsal(prepared: Prepared) -> Rehearsal | None:
    """The rehearsal of this very spec with this very code; None where there was none."""
    try:
        result = Rehearsal.model_validate_json((_place(prepared) / _RESULT).read_bytes())
    except (OSError, ValidationError):
        return None
    current = (prepared.spec.digest(), code_digest())
    return result if (result.spec, result.code) == current else None


def rehearsed(prepared: Prepared) -> str | None:
    """SHA-256 of the result of that rehearsal, which an approval names."""
    result = last_rehearsal(prepared)
    return None if result is None else sha256(result.model_dump_json().encode()).hexdigest()


def _place(prepared: Prepared) -> Path:
    return home() / "rehearsals" / prepared.spec.release


def _made_up(prepared: Prepared, rows: int, place: Path) -> Path:
    """A file of made-up records that the spec's private table could hold."""
    codec, rng = prepared.codec, np.random.default_rng(0)
    codes = np.column_stack(
        [rng.integers(attribute.cells, size=rows) for attribute in codec.domain.attributes]
    ).astype(np.int32)
    codes = prepared.plan.domain.rules.repair(codes, rng)
    frame = decode(codec, codes, prepared.spec.rules, rule_cells(prepared.spec, codec), rng)
    if prepared.person is not None:
        frame[prepared.person] = pd.Series(np.arange(rows) // prepared.spec.privacy.max_records)
    path = place / "made-up.csv"
    write_csv(frame, prepared.spec, path)
    return path


def _spec(prepared: Prepared, source: Path) -> dict[str, Any]:
    """The spec with its records exchanged, on an account of its own, and without gates."""
    content = prepared.spec.content()
    kept = {"null_markers", "expected_rows", "record"}
    if source.suffix not in (".parquet", ".pq"):
        kept |= {"delimiter", "encoding"}
    made_up = {key: value for key, value in content["data"].items() if key in kept}
    content["data"] = made_up | {"source": str(source)}
    content["population"] = {"account": ACCOUNT}
    for section in ("approvals", "embargo"):
        content.pop(section, None)
    content["output"].pop("table", None)
    return content


def _run(prepared: Prepared, spec: Path, place: Path, ledger: str) -> Path:
    settings = {"HALLMARK_HOME": str(place / "home"), "HALLMARK_LEDGER": ledger}
    program = [sys.executable, "-m", "flows", "release", str(spec), "--out", str(place / "out")]
    done = subprocess.run(
        [*program, "--folder", str(prepared.folder)],
        env={**os.environ, **settings},
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
    return place / "out" / prepared.spec.release
