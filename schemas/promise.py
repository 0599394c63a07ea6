"""What a release guarantees, and what it reveals outside the guarantee, both read off the spec.

A release exists only if the private table passed the rules that refuse a release. That it passed
is an exact fact about the table, which no noise covers. So the guarantee is about pairs of tables
that both pass, and everybody who repeats it must say so.
"""

from collections.abc import Iterator
from typing import Literal

from hallmark.schemas.columns.columns import DateColumn, NumericColumn
from hallmark.schemas.documents.privacy_claim import PrivacyClaim, UnprotectedFact
from hallmark.schemas.release_spec import ReleaseSpec

_BECAUSE = "a release exists only because it held; how many rows came close is not revealed"


def promised(spec: ReleaseSpec) -> PrivacyClaim:
    """The claim of a release under this spec, in exact numbers and in words."""
    privacy, record = spec.privacy, spec.data.record
    is_person = privacy.person is not None
    return PrivacyClaim(
        neighbours=privacy.neighbours,
        unit="person" if is_person else "record",
        unit_in_words=(
            f"one person, with at most {privacy.max_records} records ({record} each)"
            if is_person
            else record
        ),
        records_per_unit=privacy.max_records,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        unprotected=tuple(fact.fact for fact in unprotected(spec)),
    )


def unprotected(spec: ReleaseSpec) -> tuple[UnprotectedFact, ...]:
    """Facts outside the guarantee that a release under this spec reveals or was made from."""
    return (*_rules(spec), *_number_of_records(spec), *_constants(spec), *_private_choices(spec))


def _rules(spec: ReleaseSpec) -> Iterator[UnprotectedFact]:
    columns = spec.columns
    typed = [n for n, c in columns.items() if isinstance(c, NumericColumn | DateColumn)]
    inside = [n for n, c in columns.items() if c.outside == "refuse"]
    full = [n for n, c in columns.items() if not c.nulls]
    if typed:
        fact = f"every value of {_named(typed, spec, 'every')} can be read as its type says"
        yield UnprotectedFact(fact=f"{fact}, a number or a date", why=_BECAUSE)
    if inside:
        fact = f"no value in {_named(inside, spec, 'any')} lies outside its public domain"
        yield UnprotectedFact(fact=f"{fact} (outside: refuse)", why=_BECAUSE)
    if full:
        fact = f"no value is missing in {_named(full, spec, 'any')} (nulls: false)"
        yield UnprotectedFact(fact=fact, why=_BECAUSE)
    for name, lookup in spec.lookups.items():
        if name not in spec.data.ignore:
            fact = (
                f"no value of {name}, if the private table has any, differs from the one looked up"
            )
            yield UnprotectedFact(fact=f"{fact} from {lookup.of}", why=_BECAUSE)
    if spec.privacy.person is not None:
        yield UnprotectedFact(fact="every record names a person", why=_BECAUSE)


def _number_of_records(spec: ReleaseSpec) -> Iterator[UnprotectedFact]:
    if spec.privacy.neighbours == "replace_one" and spec.privacy.person is None:
        yield UnprotectedFact(
            fact="the number of records in the private table is public",
            why="it is the same for all neighbouring tables under replace_one",
        )


def _constants(spec: ReleaseSpec) -> Iterator[UnprotectedFact]:
    for total in spec.public_totals:
        yield UnprotectedFact(
            fact=f"public total, {total.title}: the released file has the stated counts",
            why=f"they are public constants, not read from the private data: {total.reference}",
        )


def _private_choices(spec: ReleaseSpec) -> Iterator[UnprotectedFact]:
    for name, column in spec.columns.items():
        source = column.bound_source
        if source is not None and source.kind == "private_estimate":
            yield UnprotectedFact(
                fact=f"the bounds of {name} were estimated from the private data",
                why="without a charge, so the guarantee does not cover them; accepted by "
                f"{source.accepted_by}",
            )
    tuning = spec.about.tuning
    if tuning is not None and tuning.on == "private":
        yield UnprotectedFact(
            fact="parameters of the release were tuned on private data",
            why=f"as stated, {tuning.details}; this release's account covers none of it by itself",
        )


def _named(columns: list[str], spec: ReleaseSpec, of_all: Literal["every", "any"]) -> str:
    return f"{of_all} column" if len(columns) == len(spec.columns) > 1 else ", ".join(columns)
