"""`README.md`: what a data user must know of a release before anything else."""

import shlex
from collections.abc import Iterator
from functools import cache

from jinja2 import Template

from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.data_dictionary import DataDictionary, DictionaryColumn
from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.schemas.documents.manifest import (
    ANSWERS_FILE,
    CERTIFICATE_FILE,
    DICTIONARY_FILE,
    LABEL_FILE,
    MANIFEST_FILE,
    MEASUREMENTS_FILE,
    PEOPLE_FILE,
    REPORT_FILE,
    SPEC_FILE,
)
from hallmark.schemas.documents.privacy_claim import Amount
from hallmark.schemas.visible import visible
from hallmark.tasks.rendering import wording
from hallmark.tasks.rendering.changes import changes_in_words
from hallmark.tasks.rendering.loading import loading_scripts
from hallmark.tasks.rendering.markdown import code, plain
from hallmark.tasks.rendering.plots import in_its_unit
from hallmark.tasks.rendering.survey import survey_scripts
from hallmark.tasks.rendering.templating import templates

_MOST_BOUNDS = 40  # rows; the certificate has all


def render_readme(record: AuditRecord, dictionary: DataDictionary) -> str:
    """The page in Markdown; equal records and dictionaries give equal texts."""
    certificate = record.utility.certificate
    bounds = sorted(certificate.bounds, key=lambda bound: -bound.value)
    return _template().render(
        title=plain(record.identity.title),
        record=record,
        identity=record.identity,
        claim=record.guarantee.claim,
        utility=record.utility,
        certificate=certificate,
        certified=certificate.file,
        dictionary=dictionary,
        labelled=[name for name in dictionary.files if name.endswith((".dta", ".sav"))],
        scripts=loading_scripts(dictionary),
        surveys=survey_scripts(dictionary),
        learnt=record.utility.learnt,
        changed=record.utility.changed,
        bounds=bounds[:_MOST_BOUNDS],
        left_out=max(0, len(bounds) - _MOST_BOUNDS),
        amount=wording.amount(Amount.model_validate(record.guarantee.claim)),
        files=list(files_in_words(record, dictionary)),
        missing=NOT_RECORDED,
    )


_OF_PEOPLE = (
    "how the people of this release go on from the period before; for programs",
    "whose record each is, one row per record and in the same order: records of all periods with "
    "the same person are one person's, and `before` is the number of the record in the period "
    "before",
)


def files_in_words(record: AuditRecord, dictionary: DataDictionary) -> Iterator[tuple[str, str]]:
    """Names of the files that are neither scripts nor this page, each with what is in it."""
    for name in dictionary.files:
        yield name, "the records"
    if record.utility.answers is not None:
        yield ANSWERS_FILE, "the answers to the queries, each with a bound on its error"
    if record.utility.learnt is not None:
        yield (
            MEASUREMENTS_FILE,
            "the noisy tables, from which `hallmark query` answers questions, with intervals",
        )
    if dictionary.replicates is not None:
        for name in dictionary.replicates.files:
            yield name, "replicate weights, one row per record and in the same order"
    for name, said in zip(dictionary.people, _OF_PEOPLE, strict=False):
        yield name, said
    yield DICTIONARY_FILE, "every column: domain, labels, error bound; for programs"
    yield CERTIFICATE_FILE, "the bounds with their terms and assumptions; for programs"
    yield REPORT_FILE, "how the release was made, and what it promises; for reviewers"
    yield LABEL_FILE, "what is promised, on one card"
    yield PEOPLE_FILE, "what the release means for a person in the data"
    yield SPEC_FILE, "the spec: what was asked for"
    yield MANIFEST_FILE, "all files with their digests; signed"


def _said(text: str) -> str:
    """What a person stated, or that nobody did; as a sentence starts."""
    return (
        "Not stated by the curator." if text == NOT_RECORDED else plain(text[:1].upper() + text[1:])
    )


def _what(column: DictionaryColumn) -> str:
    """What a column holds, and in which unit."""
    unit = "" if column.type == "date" else plain(column.unit)
    return (
        f"{plain(column.description)} ({unit})"
        if unit and column.description
        else (plain(column.description) or unit)
    )


@cache
def _template() -> Template:
    environment = templates(autoescape=False)  # `plain` and `code` escape
    environment.globals.update(
        code=code,
        plain=plain,
        said=_said,
        what=_what,
        percent=wording.percent,
        changes_in_words=changes_in_words,
        in_its_unit=in_its_unit,
        number=wording.number,
        quoted=lambda text: visible(shlex.quote(text)),
    )
    return environment.get_template("readme.md.j2")
