"""Values that break rules of the spec, for the steward alone: in the restricted workspace.

No message, log or artifact holds one. Workers write what they meet into files there, one for each
part, and what they return holds none of it. The files are merged into a page, and deleted. Memory
is bounded: of a rule that more different values break than are kept, the rarest are dropped, and
the page says so.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from hallmark.schemas.documents.internal_validation import (
    BrokenRule,
    InternalValidation,
    OffendingValue,
)
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.workspace import VALUES, Workspace, private_folder, whole

KEPT = 1000  # different values of a rule that are counted at least
SHOWN = 20  # of them on the page
_LONGEST = 200  # characters of a value


@dataclass
class Frequent:
    """The most frequent of the values that were seen.

    While there are no more than `KEPT` different ones, every count is exact.
    """

    counts: Counter[str] = field(default_factory=Counter)
    exact: bool = True

    def see(self, values: Sequence[str], rows: Sequence[int]) -> None:
        """Count in some values, each in so many rows."""
        found: Counter[str] = Counter()
        for value, times in zip(values, rows, strict=True):
            found[value[:_LONGEST]] += times
        self.add(found)

    def add(self, counts: Counter[str], *, exact: bool = True) -> None:
        """Count in what was counted elsewhere."""
        self.counts.update(counts)
        self.exact = self.exact and exact
        if len(self.counts) > 2 * KEPT:
            self._drop()

    def top(self) -> tuple[OffendingValue, ...]:
        """The values to be shown, the most frequent first."""
        found = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
        return tuple(OffendingValue(value=value, rows=rows) for value, rows in found)

    def _drop(self) -> None:
        self.counts = Counter(dict(self.counts.most_common(KEPT)))
        self.exact = False


Offending = dict[str, Frequent]
"""What breaks each rule, by a name of the rule."""


def write_piece(offending: Offending, path: Path) -> None:
    """Write what was seen in a part; a worker that does it again writes the same."""
    content = {rule: [seen.counts, seen.exact] for rule, seen in offending.items()}
    with whole(path) as draft:
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(content))


def merged(folder: Path) -> Offending:
    """What was seen in all parts, whose files lie in the folder."""
    total: Offending = {}
    for piece in sorted(folder.glob("[!.]*.json")):
        for rule, (counts, exact) in json.loads(piece.read_text()).items():
            total.setdefault(rule, Frequent()).add(Counter(counts), exact=exact)
    return total


@contextmanager
def pieces(workspace: Workspace) -> Iterator[Path]:
    """A folder for the files of the parts; it is gone afterwards, whatever happens."""
    everyone = workspace.path / VALUES
    shutil.rmtree(everyone, ignore_errors=True)  # of a run that was killed
    # A folder of this attempt's own: workers of an earlier one may write still.
    folder = private_folder(private_folder(everyone) / uuid4().hex)
    try:
        yield folder
    finally:
        shutil.rmtree(everyone, ignore_errors=True)


def write_page(broken: Sequence[BrokenRule], spec: ReleaseSpec, workspace: Workspace) -> None:
    """Write the page of broken rules, for its owner alone; none where there is none."""
    from hallmark.tasks.rendering.html import render_validation  # only where something is wrong

    workspace.offending.unlink(missing_ok=True)
    if not broken:
        return
    page = render_validation(
        InternalValidation(
            release_id=spec.release,
            title=spec.title,
            created=datetime.now(UTC),
            broken=tuple(sorted(broken, key=lambda rule: not rule.refuses)),
        )
    )
    with whole(workspace.offending) as draft:
        draft.touch(mode=0o600)
        draft.write_text(page, encoding="utf-8")
