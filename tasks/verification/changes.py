"""Whether a record says of the time since the period before what both releases' noisy tables say.

Only where the earlier release lies beside this one; else the record tells its name and digest.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from math import isclose
from pathlib import Path
from typing import Any

from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.schemas.documents.audit_changes import Changed
from hallmark.schemas.documents.manifest import MEASUREMENTS_FILE, SPEC_FILE
from hallmark.schemas.loading import SpecError
from hallmark.schemas.section import IDENTIFIER
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.output.measurements import read_measurements
from hallmark.tasks.record.changed import changed
from hallmark.tasks.verification.documents import Check, Documents, Unsound, plain_bytes

_SAME = 1e-6  # relative: other machines round otherwise


def change_checks(folder: Path, told: Documents) -> Iterator[Check]:
    """What is said to have changed, computed anew; no check where nothing was compared."""
    said = told.record.utility.changed
    if said is None or not said.release:
        return
    name = f"changes since {said.release}"
    if re.fullmatch(IDENTIFIER, said.release) is None:
        yield Check(name, False, "that is no name of a release")
        return
    before = folder.parent / said.release
    if not (before / SPEC_FILE).is_file() or not (before / MEASUREMENTS_FILE).is_file():
        detail = f"not computed anew: {said.release} is not beside this release"
        yield Check(name, True, detail)
        return
    faults = list(_faults(folder, before, told, said))
    sound = "as computed anew from the noisy tables of both releases"
    yield Check(name, not faults, "; ".join(faults) or sound)


def _faults(folder: Path, before: Path, told: Documents, said: Changed) -> Iterator[str]:
    try:
        if sha256(plain_bytes(before / MEASUREMENTS_FILE)).hexdigest() != said.measurements:
            yield f"{MEASUREMENTS_FILE} of {said.release}, beside this release, is another one"
            return
        file = read_measurements(folder / MEASUREMENTS_FILE, tuple(told.spec.columns))
        found = changed(told.spec, Estimator(file.tables, file.total), before)
    except (SafeError, SpecError, Unsound) as error:
        yield str(error)
        return
    if found is None or not _alike(found.model_dump(), said.model_dump()):
        yield "the record says otherwise than the noisy tables of both releases"


def _alike(one: Any, other: Any) -> bool:
    """Whether two plain values are the same but for rounding."""
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)
