"""Where a report answers what others ask of a release: each line names entries of the record.

An entry is known from the run, or people must state it; the line says which, and where they do. No
line is answered by anything else: what is not in the record is not answered.

Source.  NIST SP 800-226 (2025), the components of its pyramid; Article 29 Working Party, Opinion
         05/2014 (WP 216), the three risks; ISO/IEC 27559:2022, clauses 6 to 9, by their titles.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from hallmark.schemas.documents.approvals import CrosswalkName
from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.labels import Shown


@dataclass(frozen=True)
class Line:
    """What is asked, and the entries of the record that answer it, by dotted paths."""

    asked: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """An entry of the record: its title, and whether it is there and who knows it."""

    title: str
    state: str


NAMES: Mapping[CrosswalkName, str] = {
    "nist-sp-800-226": "NIST SP 800-226: components of the pyramid",
    "opinion-05-2014": "Anonymisation: the risks of Opinion 05/2014",
    "iso-iec-27559": "ISO/IEC 27559:2022",
}
"""The frameworks below by the names by which gates ask for them."""

FRAMEWORKS: dict[str, tuple[Line, ...]] = {
    "NIST SP 800-226: components of the pyramid": (
        Line("epsilon and delta", ("guarantee.claim", "guarantee.bracket", "guarantee.curve")),
        Line("unit of privacy", ("guarantee.formal", "protected.truncation", "guarantee.groups")),
        Line("composition over releases", ("account.cap", "account.composition", "account.split")),
        Line("algorithms", ("mechanism.paper", "mechanism.noise", "mechanism.events")),
        Line("implementation", ("mechanism.noise_source", "mechanism.numerics", "mechanism.seeds")),
        Line("utility", ("utility.certificate", "utility.acceptance", "utility.intervals")),
        Line("bias", ("utility.bias", "utility.further_biases")),
        Line("trust model", ("trust.model", "trust.actors")),
        Line("threats and side channels", ("guarantee.not_promised", "trust.weaknesses")),
        Line("security and access control", ("trust.access", "trust.network", "trust.key_custody")),
        Line("data collection exposure", ("protected.collection", "trust.retention")),
    ),
    "Anonymisation: the risks of Opinion 05/2014": (
        Line("singling out", ("guarantee.claim", "guarantee.curve", "guarantee.unprotected")),
        Line("linkability", ("guarantee.curve", "account.composition", "guarantee.groups")),
        Line("inference", ("guarantee.curve", "guarantee.not_promised")),
    ),
    "ISO/IEC 27559:2022": (
        Line("6.2 threat modelling", ("trust.model", "trust.actors", "trust.weaknesses")),
        Line("6.3 transparency and impact", ("identity.purpose", "identity.contact",
                                             "identity.legal_basis", "utility.further_biases")),
        Line("7.2 data features", ("protected.columns", "protected.population",
                                   "protected.exclusions")),
        Line("7.3 attack modelling", ("guarantee.curve", "trust.empirical_audit")),
        Line("8.2 assessing identifiability", ("guarantee.claim", "guarantee.curve")),
        Line("8.3 mitigation", ("mechanism.noise", "post_processing.steps")),
        Line("9.2 before data are made available", ("identity.authorised_by", "approvals",
                                                    "account.authorised_by")),
        Line("9.3 after data are made available", ("identity.corrections", "identity.supersedes",
                                                   "trust.retention")),
        Line("9.4 mitigation in case of incident", ("identity.contact", "trust.vulnerabilities")),
    ),
}  # fmt: skip


def crosswalk(record: AuditRecord) -> Iterator[tuple[str, list[tuple[str, list[Entry]]]]]:
    """Each framework with its lines, each with the entries that answer it."""
    missing = record.not_recorded()
    for name, lines in FRAMEWORKS.items():
        yield name, [(line.asked, [_entry(missing, path) for path in line.paths]) for line in lines]


def unanswered(record: AuditRecord, names: Iterable[CrosswalkName]) -> Iterator[str]:
    """The entries that some lines of these cross-walks need and the record lacks, each once, with
    the way to fill it."""
    missing = record.not_recorded()
    told: set[str] = set()
    for name in names:
        for line in FRAMEWORKS[NAMES[name]]:
            for path in line.paths:
                if path in told or not any(
                    one == path or one.startswith(f"{path}.") for one in missing
                ):
                    continue
                told.add(path)
                shown = label(path)
                place = f", and is stated in {shown.stated_in}" if shown.stated_in else ""
                yield f"{shown.title}: {NAMES[name]} asks for it ({line.asked}){place}"


def _entry(not_recorded: Iterable[str], path: str) -> Entry:
    shown = label(path)
    missing = [one for one in not_recorded if one == path or one.startswith(f"{path}.")]
    if not missing:
        state = "stated by people" if shown.stated_in else "recorded"
    elif missing == [path]:
        state = f"not recorded; stated in {shown.stated_in}" if shown.stated_in else "not recorded"
    else:
        state = "recorded in part"
    return Entry(shown.title, state)


def label(path: str) -> Shown:
    """The label of an entry.

    Raises:
        KeyError: there is no such entry, or it has no label.
    """
    model: Any = AuditRecord
    *parents, last = path.split(".")
    for name in parents:
        model = model.model_fields[name].annotation
        assert issubclass(model, BaseModel), f"{path}: {name} is no section"
    found = [one for one in model.model_fields[last].metadata if isinstance(one, Shown)]
    if not found:
        raise KeyError(path)
    return found[0]
