"""Warnings about a sound spec: what weakens the guarantee, or reveals something about the data."""

from collections.abc import Iterator, Mapping
from math import exp

from hallmark.schemas.columns.columns import Column, DateColumn, NumericColumn
from hallmark.schemas.exact import decimal, read_exact
from hallmark.schemas.spec_checks import SoundSections
from hallmark.schemas.spec_sections import Privacy
from hallmark.schemas.table_sections import DataSource

LARGE_EPSILON = 10
"""Above this, the guarantee says little: odds may grow by a factor of 22,000."""

_SHOWN = 3  # formulas of a warning


def warnings_about(sections: SoundSections) -> Iterator[str]:
    """What in a sound spec weakens the guarantee or reveals something about the data."""
    columns, data, privacy = sections.columns, sections.data, sections.privacy
    for name, column in columns.items():
        source = column.bound_source
        if source is not None and source.kind == "private_estimate":
            yield (
                f"columns.{name}: its bounds were estimated from the private data without a "
                f"charge, which voids the guarantee for this column; accepted by "
                f"{source.accepted_by}"
            )
    typed = [n for n, column in columns.items() if isinstance(column, NumericColumn | DateColumn)]
    if typed:
        yield (
            f"numbers and dates in {', '.join(typed)}: a successful run reveals, unprotected, that "
            "every value could be read in the format that the spec states, whatever outside says"
        )
    refusing = [name for name, column in columns.items() if column.outside == "refuse"]
    if refusing:
        yield (
            f"outside: refuse in {', '.join(refusing)}: a successful run reveals, unprotected, "
            "that every value was inside the public domain; clamp or catch_all reveals nothing"
        )
    full = [name for name, column in columns.items() if not column.nulls]
    if full:
        yield (
            f"nulls: false in {', '.join(full)}: a successful run reveals, unprotected, that "
            "no value was missing; nulls: true reveals nothing"
        )
    if privacy is not None and privacy.epsilon > LARGE_EPSILON:
        yield _about_large_epsilon(privacy)
    if data is not None and privacy is not None:
        yield from _warnings_about_size(data, privacy)
    if sections.public_data is not None:
        yield (
            f"public_data: nothing in {sections.public_data.source} is protected, and the release "
            f"may repeat its records; that it is public rests on: {sections.public_data.reference}"
        )
    if sections.rehearsal is not None:
        yield (
            f"rehearsal: nothing in {sections.rehearsal.source} is protected, and rehearsals on it "
            f"charge no account; that it is {sections.rehearsal.kind} rests on: "
            f"{sections.rehearsal.reference}"
        )
    for i, total in sections.public_totals.items():
        yield (
            f"public_totals[{i}]: {total.title} is published as stated, unprotected; that it "
            f"is public rests on: {total.reference}"
        )
    if sections.output is not None and "csv" in sections.output.formats:
        released = sections.output.columns or tuple(columns)
        yield from _about_formulas({name: columns[name] for name in released if name in columns})


def _about_formulas(columns: Mapping[str, Column]) -> Iterator[str]:
    """A warning of names and codes that a spreadsheet would compute instead of showing them."""
    computed = [
        *(f"columns.{name}: its name" for name in columns if _is_formula(name)),
        *(
            f"columns.{name}: the code {code!r}"
            for name, column in columns.items()
            if not isinstance(column, NumericColumn | DateColumn)
            for code in column.codes
            if _is_formula(code)
        ),
    ]
    if computed:
        others = len(computed) - _SHOWN
        more = f", and {others} more" if others > 0 else ""
        yield (
            f"{', '.join(computed[:_SHOWN])}{more} begins with one of = + - @ or a tab: a "
            "spreadsheet that opens the released CSV may take it for a formula and run it; write "
            "it otherwise, unless the agency's own classification has it so"
        )


def _is_formula(text: str) -> bool:
    """Whether a spreadsheet may take a cell of CSV for a formula; it shows numbers as they are."""
    if len(text) < 2 or text[0] not in "=+-@\t\r":
        return False
    try:
        read_exact(text)
    except ValueError:
        return True
    return "/" in text


def _about_large_epsilon(privacy: Privacy) -> str:
    """A warning with the odds that a hypothesis at even odds may reach through the release."""
    unit = "record" if privacy.person is None else "person"
    odds = 1 + exp(privacy.epsilon)
    one_in = f"{odds:{',.0f' if odds < 1e9 else '.0e'}}"
    return (
        f"privacy.epsilon is {decimal(privacy.epsilon)}, but should be at most {LARGE_EPSILON}, "
        f"ideally 1 or less: somebody who thought a fact about one {unit} as likely as not may "
        f"be left, after the release, with a doubt of only 1 in {one_in}"
    )


def _warnings_about_size(data: DataSource, privacy: Privacy) -> Iterator[str]:
    protects = {
        ("add_remove", False): "add_remove protects the number of records",
        ("add_remove", True): "add_remove protects the numbers of persons and of records",
        # Persons may have fewer records than the maximum: replacing one changes the sum.
        ("replace_one", True): "the number of records is protected if the unit is a person",
    }.get((privacy.neighbours, privacy.person is not None))
    if protects:
        yield (
            f"data.expected_rows: {data.expected_rows} is published with the spec, but "
            f"{protects}; state a public estimate, never the exact count"
        )
    if (large := about_large_delta(data, privacy)) is not None:
        accepted = privacy.large_delta
        yield large + (
            "" if accepted is None else f"; accepted, as privacy.large_delta: {accepted}"
        )


def about_large_delta(data: DataSource, privacy: Privacy) -> str | None:
    """What a delta allows that is one in the number of records or more; None where it is less."""
    if privacy.delta * data.expected_rows < 1:
        return None
    unit, how_many = (
        ("record", "data.expected_rows")
        if privacy.person is None
        else ("person", "data.expected_rows; there may be that many persons")
    )
    return (
        f"privacy.delta is {decimal(privacy.delta)}, but should be well below one in "
        f"{data.expected_rows} ({how_many}): a mechanism that publishes a random {unit} in full "
        "would satisfy it"
    )
