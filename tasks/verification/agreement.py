"""Whether the documents of a release say the same."""

from collections.abc import Iterator
from typing import Any

from hallmark.schemas.documents.audit_report import FORMAT
from hallmark.schemas.documents.data_dictionary import ColumnError, DictionaryColumn
from hallmark.schemas.documents.manifest import ANSWERS_FILE, MEASUREMENTS_FILE
from hallmark.schemas.documents.privacy_claim import PrivacyClaim
from hallmark.schemas.promise import promised
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.panel import people_files
from hallmark.tasks.verification.documents import Documents

_UNNUMBERED = "0.1.0"
"""What all versions before 0.2.0 called themselves, of which some wrote no noisy tables."""


def claim_faults(told: Documents) -> Iterator[str]:
    """Where two documents of the release say different things."""
    manifest, record, spec = told.manifest, told.record, told.spec
    claim, given = manifest.privacy, told.certificate.file
    given_rows = () if given is None else (given.rows,)
    same = {
        "the release's name": (
            manifest.release_id,
            record.identity.release_id,
            told.dictionary.release_id,
            spec.release,
        ),
        "the title": (manifest.title, record.identity.title, spec.title),
        "the privacy claim": (claim, record.guarantee.claim),
        "what the spec promises": (in_todays_words(claim), _promised(spec, claim)),
        "the neighbouring relation": (claim.neighbours, spec.privacy.neighbours),
        "epsilon": (claim.epsilon, spec.privacy.epsilon),
        "delta": (claim.delta, spec.privacy.delta),
        "the privacy unit": (claim.unit, "person" if spec.privacy.person else "record"),
        "records of a unit": (claim.records_per_unit, spec.privacy.max_records),
        "the account": (
            record.account.name,
            spec.population.account,
            *(() if manifest.ledger is None else (manifest.ledger.account,)),
        ),
        "the certificate": (told.certificate, record.utility.certificate),
        "whether records were given": (
            given is not None,
            not spec.mechanism.entry.makes_records,
        ),
        "the certificate's summary": (manifest.certificate, told.certificate.summary()),
        "the digest of the spec": (
            manifest.spec_digest,
            record.provenance.spec_digest,
            manifest.spec_digest if manifest.spec_digest in spec.digests() else spec.digest(),
        ),
        "the number of rows": (record.utility.rows, told.dictionary.rows, *given_rows),
        "the software": (manifest.software, record.provenance.software),
        "whether it is a rehearsal": (
            manifest.is_rehearsal,
            record.is_rehearsal,
            spec.rehearsal_of is not None,
        ),
        "the signing key": (manifest.public_key_fingerprint, record.signature.fingerprint),
    }
    for what, values in same.items():
        if any(value != values[0] for value in values):
            yield f"the documents disagree on {what}"
    yield from _formal_faults(told)
    yield from _missing(told)
    charged = record.account.this_release
    if charged.epsilon < claim.epsilon or charged.delta < claim.delta:
        yield "the account was charged less than is claimed to be spent"


def _missing(told: Documents) -> Iterator[str]:
    """What the spec or the record says that the release has, and the manifest does not list."""
    manifest, record, utility = told.manifest, told.record, told.record.utility
    measured = told.spec.output.measurements and record.provenance.software.hallmark != _UNNUMBERED
    for name, told_of in (
        (MEASUREMENTS_FILE, measured or utility.learnt is not None),
        (ANSWERS_FILE, utility.answers is not None),
    ):
        if told_of and name not in manifest.files:
            yield f"the documents tell of {name}, which the manifest does not list"
    if record.format == FORMAT and manifest.ledger is None:
        yield "the manifest names no head of the ledger, as all do whose record is in this format"


def _promised(spec: ReleaseSpec, claim: PrivacyClaim) -> PrivacyClaim:
    """The spec's claim, as far as one in the format of `claim` goes."""
    whole = promised(spec)
    if claim.unprotected is None:
        return whole.model_copy(update={"unprotected": None})
    return whole


def in_todays_words(claim: PrivacyClaim) -> PrivacyClaim:
    """The claim; earlier versions said that no value is missing "in every column"."""
    facts = claim.unprotected and tuple(
        fact.replace(" in every column (", " in any column (").replace(
            "no value in every column", "no value in any column"
        )
        for fact in claim.unprotected
    )
    return claim.model_copy(update={"unprotected": facts})


def _formal_faults(told: Documents) -> Iterator[str]:
    """Where the report says something else of neighbouring tables than follows from the claim."""
    claim, said = told.record.guarantee.claim, told.record.guarantee.formal
    # Earlier versions said of persons, too, that their tables have as many records.
    once = claim.formal.replace(" which differ in", ", with as many records, which differ in")
    if claim.unprotected is not None and said not in (claim.formal, once):
        yield "the report's formal statement is not that of the claim"


def dictionary_faults(told: Documents) -> Iterator[str]:
    """Where the dictionary says something else than the spec, the certificate or the report."""
    names = tuple(column.name for column in told.dictionary.columns)
    if names != tuple(told.spec.published):
        yield "the dictionary's columns are not the released columns of the spec"
        return
    for column in told.dictionary.columns:
        if _domain(column) != _domain_of_spec(told.spec, column.name):
            yield f"the dictionary's domain of {column.name} is not that of the spec"
        if column.recoded_by != told.spec.recoded_by(column.name):
            yield f"the dictionary does not say as the spec does how {column.name} is recoded"
        lookup = told.spec.lookups.get(column.name)
        if column.looked_up_from != ("" if lookup is None else lookup.of):
            yield f"the dictionary does not say as the spec does whether {column.name} is looked up"
        bound = told.certificate.for_column(column.name)
        promised = bound and ColumnError.of(bound, confidence=told.certificate.confidence)
        if promised != column.error:
            yield f"the dictionary's error of {column.name} is not the certificate's bound"
    asked, told_of = told.spec.output.replicates, told.dictionary.replicates
    if (asked and asked.number) != (told_of and told_of.number):
        yield "the dictionary's replicates are not those that the spec asks for"
    if told.dictionary.people != people_files(told.spec):
        yield "the dictionary's files of a panel are not those that the spec asks for"
    if told.dictionary.attenuated != told.record.utility.attenuated:
        yield "the dictionary's attenuated pairs are not those of the report"


def _domain(column: DictionaryColumn) -> tuple[Any, ...]:
    if column.interval is None:
        return (column.nullable, *(category.value for category in column.categories))
    return (column.nullable, *(_comparable(v) for v in (column.interval.low, column.interval.high)))


def _domain_of_spec(spec: ReleaseSpec, name: str) -> tuple[Any, ...]:
    column = spec.published[name]
    match column.type:
        case "numeric" | "date":
            return (column.nulls, _comparable(column.minimum), _comparable(column.maximum))
        case _:
            return (column.nulls, *column.codes)


def _comparable(end: Any) -> Any:
    return end if hasattr(end, "year") else float(end)
