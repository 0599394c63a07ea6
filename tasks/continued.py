"""The release of the period before, whose people a release of a panel goes on with.

It is found in the folder of releases by its name, as the last revision that was published there.
Its records are kept in the workspace, so that a run which is resumed goes on with the same ones
although a revision has been published since. Nothing here sees private data.
"""

import pandas as pd

from hallmark.mechanisms.privacy.presence import Period, name_of, period
from hallmark.schemas.documents.manifest import MANIFEST_FILE, PERSONS_FILE, SPEC_FILE
from hallmark.schemas.loading import load_spec
from hallmark.schemas.series import siblings
from hallmark.tasks.earlier import last_revisions
from hallmark.tasks.installation.signing import digest, key_for
from hallmark.tasks.installation.workspace import home
from hallmark.tasks.job import Job
from hallmark.tasks.output.released import released_values
from hallmark.tasks.panel import Continued, keep_past, past_kept, persons_of
from hallmark.tasks.panel.past import KeptPast, PastRefused
from hallmark.tasks.planning.coding import codec_of
from hallmark.tasks.verification.as_signed import as_signed
from hallmark.tasks.verification.notices import own_keys


def keep_continued(job: Job) -> None:
    """Keep what a panel goes on from in the workspace, where the spec has one and nothing is kept.

    Raises:
        EarlierRefused: beside an earlier release lies a notice that is not the agency's.
        PastRefused: the period before has no release of the panel, or another account paid for it.
        NotAsSigned: its files are not those that were signed.
    """
    spec = job.prepared.spec
    series = spec.series
    if series is None or series.panel is None or not series.lagged or spec.rehearsal_of is not None:
        return
    if past_kept(job.workspace.path) is not None:
        return
    now = period(series.period)
    last = name_of(Period(now.length, now.number - 1))
    form = siblings(spec.release, series.period)
    known = own_keys(key_for(spec, home()).fingerprint)
    found = [
        folder
        for folder in last_revisions(job.out, form, series.period, PERSONS_FILE, known)
        if (match := form.fullmatch(folder.name)) is not None and match["period"] == last
    ]
    if not found:
        raise PastRefused(
            f"series.panel: there is no release of {last} with {PERSONS_FILE} in {job.out}, whose "
            "people could go on; release that period first, or begin a new panel with "
            f"series.panel.begins: {series.period!r}. No budget is lost: run again with --resume"
        )
    (folder,) = found
    as_signed(folder)
    before = load_spec(folder / SPEC_FILE, is_published=True)
    account = before.population.account
    if account != spec.population.account:
        raise PastRefused(
            f"population.account: is {spec.population.account}, but release {folder.name} was paid "
            f"for by {account}, whose people this release would tell more of; a panel has one "
            f"account. Name {account}, or begin a new panel with series.panel.begins: "
            f"{series.period!r}, which tells of no earlier period"
        )
    columns = [*(lag.held for lag in series.lagged.values()), *series.panel.steps]
    values = released_values(before, folder / before.data_files[before.output.formats[0]])
    if before.series is not None and not before.series.lagged:
        nobody = pd.Series([None] * len(values), dtype="str")  # where the panel begins
        for lag in series.lagged.values():
            if lag.back > 1:
                values[lag.held] = codec_of(lag.held, spec.columns[lag.held]).read(nobody)[0]
    of = {lag.held: lag.of for lag in series.lagged.values()}
    for name in values.columns.intersection(columns):
        if (codes := series.recode.get(of.get(name, name))) is not None:
            values[name] = values[name].map(codes.renamed, na_action="ignore")
    if missing := [name for name in columns if name not in values]:
        raise PastRefused(
            f"series.panel: release {folder.name} has no {', '.join(missing)}; leave what it lacks "
            f"out, or begin a new panel with series.panel.begins: {series.period!r}. No budget is "
            "lost: run again with --resume"
        )
    persons: pd.Series = persons_of(folder)["person"]
    continued = Continued(folder.name, digest(folder / MANIFEST_FILE))
    kept = KeptPast(continued, values[columns], persons)
    kept.coded(spec)
    keep_past(job.workspace.path, kept)
