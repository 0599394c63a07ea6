"""Render a record as one self-contained, printable HTML page.

The page is made from the record alone: only Hallmark's own templates are read, nothing is fetched,
nothing runs in the reader's browser, and equal records give equal bytes. The title and tag of a
field come from its label, so a template cannot show a figure under another name.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from hallmark.schemas.documents.audit_privacy import GroupFactor
from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.audit_utility import Check
from hallmark.schemas.documents.internal_review import InternalReview
from hallmark.schemas.documents.internal_validation import InternalValidation
from hallmark.schemas.documents.labels import NOT_RECORDED, LabelledSection, Shown, Tag
from hallmark.schemas.documents.manifest import RECORD_FILE, REPORT_FILE
from hallmark.schemas.documents.privacy_claim import Amount
from hallmark.tasks.rendering import attacks, changes, crosswalk, heat, plain, plots, wording
from hallmark.tasks.rendering.templating import source, templates

_WORST_PAIRS = 10  # shown

TAG_MEANINGS = {
    Tag.PUBLIC: "known without looking at the private data",
    Tag.PAID: "computed from noisy answers; covered by the privacy budget",
    Tag.UNPROTECTED: "an exact statement about the private data, outside the guarantee",
}


@dataclass(frozen=True)
class Fact:
    """One line of a section's table of facts."""

    title: str
    value: Markup
    label: Shown


@dataclass(frozen=True)
class Table:
    """Rows of sections of the same type, with the labels of the columns."""

    title: str
    columns: tuple[Shown, ...]
    rows: tuple[tuple[Markup, ...], ...]
    label: Shown


def render_audit_report(record: AuditRecord) -> str:
    """The public audit report.

    Raises:
        TypeError: `record` is not an audit record; internal figures have no public page.
    """
    _refuse_other_than(AuditRecord, record)
    certificate = record.utility.certificate
    largest_first = sorted(certificate.bounds, key=lambda bound: -bound.value)
    return _page(
        "audit-report",
        record=record,
        claim=record.guarantee.claim,
        certificate=certificate,
        worst=largest_first[0],
        samples=samples(record),
        worst_pairs=[bound for bound in largest_first if len(bound.columns) == 2][:_WORST_PAIRS],
        checks=_checks(record),
        alerts=_alerts(record),
        missing=record.not_recorded(),
        blocking=record.blocking(),
        tags=TAG_MEANINGS,
        topics=plain.for_people(record),
        guarantee=_with_groups(record),
    )


def render_for_people(record: AuditRecord) -> str:
    """The page for people in the data.

    Raises:
        TypeError: `record` is not an audit record; internal figures have no public page.
    """
    _refuse_other_than(AuditRecord, record)
    return _page(
        "for-people",
        record=record,
        claim=record.guarantee.claim,
        topics=plain.for_people(record),
        report_file=REPORT_FILE,
        record_file=RECORD_FILE,
    )


def render_internal_review(review: InternalReview) -> str:
    """The internal review report, which compares with the private data and stays in the workspace.

    Raises:
        TypeError: `review` is not an internal review.
    """
    _refuse_other_than(InternalReview, review)
    return _page(
        "internal-review",
        review=review,
        columns=sorted(review.columns, key=lambda column: -column.actual),
        joint=sorted(review.joint, key=lambda both: -both.upper),
        samples={},
    )


def render_validation(found: InternalValidation) -> str:
    """The page with values that break the spec, which stays in the workspace.

    Raises:
        TypeError: `found` is not an internal validation.
    """
    _refuse_other_than(InternalValidation, found)
    return _page("validation", found=found)


def _refuse_other_than(kind: type, document: object) -> None:
    if not isinstance(document, kind):
        raise TypeError(f"this page shows an {kind.__name__}, not {type(document).__name__}")


def _page(name: str, **shown: Any) -> str:
    return _environment().get_template(f"{name}.html.j2").render(shown)


def samples(record: AuditRecord) -> dict[str, str]:
    """Words for the number of records behind the figures of each sample."""
    given = record.utility.certificate.file
    whose = "synthetic rows" if given is None else "rows of the certified file"
    synthetic = f"n = {record.utility.rows:,} {whose}"
    measured = record.utility.measured_records
    if measured == NOT_RECORDED:
        measured = "a number of private records that is not recorded"
    return {"synthetic": synthetic, "measured": measured, "both": f"{synthetic}; {measured}"}


def facts(section: LabelledSection, *, nested: bool = True) -> list[Fact]:
    """The single values of a section and its nested sections, with their labels."""
    lines = []
    for name, label in section.labels().items():
        value = getattr(section, name)
        if isinstance(value, LabelledSection) and not isinstance(value, Amount):
            lines += facts(value) if nested else []
        elif value is not None and value != "" and not _is_table(value):
            lines.append(Fact(label.title, show(value, label), label))
    return lines


def table(section: LabelledSection, name: str) -> Table:
    """The rows in the section's field `name`, without columns that are empty in all rows."""
    label = section.labels()[name]
    rows = getattr(section, name)
    labels = type(rows[0]).labels()
    used = [n for n in labels if any(getattr(row, n) not in ("", None) for row in rows)]
    return Table(
        title=label.title,
        columns=tuple(labels[n] for n in used),
        rows=tuple(tuple(show(getattr(row, n), labels[n]) for n in used) for row in rows),
        label=label,
    )


def show(value: Any, label: Shown) -> Markup:
    """A value in the form that its label states, escaped."""
    if isinstance(value, str) and value == NOT_RECORDED:
        return Markup('<span class="missing">not recorded</span>')
    if isinstance(value, bool):
        return Markup('<span class="{}">{}</span>').format(
            "yes" if value else "no", "yes" if value else "no"
        )
    match value:
        case Amount():
            return escape(wording.amount(value))
        case Fraction():
            return escape(wording.exact(value))
        case datetime():
            return escape(wording.moment(value))
        case int():
            return escape(f"{value:,}")
        case float() if label.form == "percent":
            return escape(wording.percent(value))
        case float():
            return escape(wording.number(value))
        case Mapping():
            items = [(key, _plain(item)) for key, item in value.items()]
            return _join("dl", [Markup("<dt>{}</dt><dd>{}</dd>").format(k, v) for k, v in items])
        case (float(low), float(high)):
            below = wording.number(-low, up=True).lstrip("-")  # rounded away from what it promises
            return escape(f"{below} to {wording.number(high, up=True)}")
        case tuple() | list():
            return _join("ul", [Markup("<li>{}</li>").format(_plain(item)) for item in value])
    if label.form == "code":
        return Markup("<code>{}</code>").format(value)
    return escape(value)


def _join(element: str, parts: list[Markup]) -> Markup:
    if not parts:
        return Markup('<span class="dim">none</span>')
    return Markup("<{0}>{1}</{0}>").format(Markup(element), Markup("").join(parts))


def _plain(value: Any) -> str:
    match value:
        case bool() | None:
            return json.dumps(value)
        case float():
            return wording.number(value)
        case Fraction():
            return wording.number(float(value), 6)
        case tuple() if all(isinstance(item, float) for item in value):
            return " / ".join(wording.number(item) for item in value)
        case str():
            return value
    return json.dumps(value, ensure_ascii=False)


def _is_table(value: Any) -> bool:
    """Whether a value is empty, or shown as a separate table or plot."""
    return isinstance(value, tuple | list) and (not value or not isinstance(value[0], str | float))


def _alerts(record: AuditRecord) -> list[str]:
    """Sentences about what a reviewer must not overlook."""
    alerts = plain.exceptions_in_words(record)
    if record.signature.warning:
        alerts.append(record.signature.warning)
    vacuous = [bound.target for bound in record.utility.certificate.bounds if bound.vacuous]
    if vacuous:
        alerts.append(
            f"The certificate says nothing about {', '.join(vacuous)}: the bound there would hold "
            "for any data."
        )
    checks = (*_checks(record), *record.utility.acceptance)
    failed = [check.rule for check in checks if not check.held]
    if failed:
        alerts.append(f"Failed checks: {'; '.join(failed)}.")
    if record.provenance.software.dirty is True:
        alerts.append("The code that ran had uncommitted changes; the commit does not identify it.")
    return alerts


def _checks(record: AuditRecord) -> tuple[Check, ...]:
    """All checks of the final file."""
    after = record.post_processing
    return (*after.constraints, *after.totals, *after.final_checks)


def _with_groups(record: AuditRecord) -> LabelledSection:
    """The guarantee with factors for groups, which records of format 1 lack."""
    guarantee = record.guarantee
    if guarantee.groups:
        return guarantee
    factors = [(k, *guarantee.claim.for_group(k)) for k in (1, 2, 4, 8)]
    groups = tuple(GroupFactor(units=k, epsilon=e, delta=d) for k, e, d in factors)
    return guarantee.model_copy(update={"groups": groups})


def pretty(value: Any) -> str:
    """A plain value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


_CALLED = (
    facts, pretty, table,
    attacks.attacks_plot, attacks.chances, attacks.tried_plot, changes.changes_in_words,
    crosswalk.crosswalk,
    heat.matrix_plot, heat.pair_plot,
    plain.terms_in_words,
    plots.answers_plot, plots.bars_left_out, plots.budget_plot, plots.by_loss,
    plots.cells_in_words, plots.certificate_plot, plots.curve_plot, plots.in_its_unit,
    plots.learnt_plot, plots.marginal_plot, plots.review_plot, plots.term_class,
    plots.term_names, plots.wholes,
    wording.amount, wording.exact, wording.moment, wording.neighbours_in_words, wording.number,
    wording.percent,
)  # fmt: skip
"""The functions that templates call, each by its own name."""


@cache
def _environment() -> Environment:
    environment = templates(autoescape=True)
    environment.globals |= {function.__name__: function for function in _CALLED}
    environment.globals["style"] = Markup(source("report.css"))  # ours, not part of any record
    return environment
