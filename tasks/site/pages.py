"""The pages of a site as texts: everything that others wrote is escaped, and equal releases give
equal bytes."""

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.schemas.documents.manifest import (
    ANSWERS_FILE,
    APPROVALS_FILE,
    LABEL_FILE,
    MANIFEST_FILE,
    MEASUREMENTS_FILE,
    PEOPLE_FILE,
    PUBLIC_KEY_FILE,
    README_FILE,
    RECORD_FILE,
    REGISTRY_FILE,
    REPORT_FILE,
    SERIES_PLAN_FILE,
    SIGNATURE_FILE,
    TIME_STAMP_FILE,
)
from hallmark.schemas.documents.notice import notice_file
from hallmark.schemas.given_files import MOST_DOCUMENT, bytes_of
from hallmark.schemas.question import listed
from hallmark.schemas.visible import visible
from hallmark.tasks.installation.signing import digest
from hallmark.tasks.questions.answers import MEANING, finite
from hallmark.tasks.questions.release import OpenRelease
from hallmark.tasks.rendering import loading, plain, survey, wording
from hallmark.tasks.rendering.readme import files_in_words
from hallmark.tasks.rendering.templating import source, templates
from hallmark.tasks.site.citation import bibtex, citation
from hallmark.tasks.site.columns import shown_columns
from hallmark.tasks.site.published import Published
from hallmark.tasks.site.tables import (
    CONFIDENCE,
    LARGE,
    MOST_CELLS,
    NO_TABLES,
    Tables,
    cells_of,
    question_of,
    tables_of,
)
from hallmark.tasks.verification import Check

_PACKAGE = "hallmark.tasks.site"
_BASES = tuple(MEANING)

_COMMANDS = {
    "command": "hallmark query RELEASE QUOTED",
    "python": 'import hallmark\n\nrelease = hallmark.open("RELEASE")\nrelease.query(TEXT)',
    "r": """read.csv(check.names = FALSE, text = system2("hallmark", stdout = TRUE,
  c("query", "RELEASE", shQuote(TEXT), "--csv")))""",
}
"""How a question is asked elsewhere: QUOTED stands for it on a command line, TEXT in a program."""

_CHECKED = {
    "manifest": "The list of files is in the one form that Hallmark writes.",
    "signature": "The list of files is signed.",
    "time stamp": "A time stamp is of this signature.",
    "files": "Every file is as signed, and no other is there.",
    "documents": "Spec, certificate, dictionary and audit record can be read.",
    "claims": "All documents claim the same.",
    "privacy events": "The noise that was recorded costs no more privacy than is claimed.",
    "approvals": "Whoever had to approve the release did.",
    "series plan": "The plan of the series is the one that was approved, and covers the release.",
    MEASUREMENTS_FILE: "The noisy tables are of this release, and their noise is in the record.",
    "replicate weights": "The replicate weights are as the dictionary describes them.",
    "records": "All data files hold the same records.",
    "report": "Report, pages and scripts are made from the record.",
    "certified file": "The certified file is the one that the certificate is about.",
}
"""What each check of `verify_release` asks, in words."""

_FURTHER = {
    RECORD_FILE: "the audit report, for programs",
    README_FILE: "the page that the folder opens with",
    REGISTRY_FILE: "the release as an entry of the public registry of deployments",
    APPROVALS_FILE: "who approved the release, with each decision signed",
    SERIES_PLAN_FILE: "the plan of all periods of the series, which was approved once",
    loading.PYTHON: "loads the records in Python: from load import load; data = load()",
    loading.R: 'loads the records in R: source("load.R", chdir = TRUE)',
    loading.STATA: "loads the records in Stata: do load.do",
    survey.PYTHON: "standard errors in Python: from survey import with_error",
    survey.R: 'survey designs in R: source("survey.R", chdir = TRUE)',
    survey.STATA: "survey design in Stata: do survey.do",
    survey.SAS: "survey design in SAS",
    SIGNATURE_FILE: "the signature of the manifest",
    PUBLIC_KEY_FILE: "the key that signed; compare it with the agency's own",
    TIME_STAMP_FILE: "a time stamp of the signature",
}
"""What is in the files that the README does not list."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A release as the catalogue lists it.

    Attributes:
        superseded_by: the name of the release that replaces it; empty if none does.
        leads_there: whether that one has a page on the site.
    """

    release: Published
    superseded_by: str
    leads_there: bool = True

    @property
    def words(self) -> str:
        """By which it is found, in lower case."""
        record, names = self.release.documents.record, self.release.documents.dictionary.columns
        said = (record.identity.title, record.identity.release_id, _stated(record.identity.curator))
        return " ".join([*said, *(one.name for one in names)]).lower()


def catalogue_page(entries: Sequence[Entry]) -> str:
    """The page that lists all releases, the latest first."""
    curators = {_stated(one.release.documents.record.identity.curator) for one in entries}
    latest_first = sorted(
        entries,
        key=lambda one: (one.release.documents.record.identity.created, one.release.release),
        reverse=True,
    )
    return _page(
        "catalogue", entries=latest_first, curator=curators.pop() if len(curators) == 1 else ""
    )


def release_page(entry: Entry) -> str:
    """The page of one release; without questions and downloads, if it was withdrawn."""
    one = entry.release
    told = one.documents
    opened = OpenRelease.of(one.folder)
    tables = NO_TABLES if one.withdrawn else tables_of(opened)
    sha256 = digest(one.folder / MANIFEST_FILE)
    return _page(
        "release",
        entry=entry,
        one=one,
        record=told.record,
        identity=told.record.identity,
        claim=told.record.guarantee.claim,
        utility=told.record.utility,
        certificate=told.certificate,
        description=told.spec.description,
        facts=list(_facts(one)),
        columns=shown_columns(told, tables),
        tables=tables,
        most_cells=MOST_CELLS,
        large=LARGE,
        confidence=CONFIDENCE,
        data=_data(one.release, opened, tables),
        can_ask=MEASUREMENTS_FILE in one.files or told.dictionary.replicates is not None,
        commands=_commands(one.release, tables),
        groups=_groups(one),
        topics=[
            replace(topic, answer=tuple(map(visible, topic.answer)))
            for topic in plain.for_people(told.record)
        ],
        checks=[(_checked(check), check.detail) for check in one.checks],
        citation=citation(told.record, sha256),
        bibtex=bibtex(told.record, sha256),
        sha256=sha256,
        fingerprint=told.manifest.public_key_fingerprint,
        label=_label(one),
        report=REPORT_FILE,
        people=PEOPLE_FILE,
        missing=NOT_RECORDED,
    )


def _facts(one: Published) -> Iterator[tuple[str, str]]:
    """What is stated of a release, each with its name; what nobody stated is left out."""
    record = one.documents.record
    identity, protected = record.identity, record.protected
    for name, text in (
        ("Original table", protected.dataset),
        ("Population", protected.population),
        ("Time of the data", protected.snapshot),
        ("How they were collected", protected.collection),
        ("Left out", protected.exclusions),
        ("Intended use", identity.purpose),
        ("Published by", identity.curator),
        ("Contact", identity.contact),
        ("To have a mistake corrected", identity.corrections),
        ("Legal basis", identity.legal_basis),
        ("One-shot or periodic", identity.schedule),
        ("Supersedes", identity.supersedes),
    ):
        if text != NOT_RECORDED:
            yield name, text


def _label(one: Published) -> str:
    """The privacy label as the address of a picture that needs no file; empty where there is none,
    as in releases of earlier versions."""
    if LABEL_FILE not in one.files:
        return ""
    picture = base64.b64encode(bytes_of(one.folder / LABEL_FILE, MOST_DOCUMENT)).decode()
    return f"data:image/svg+xml;base64,{picture}"


def _data(release: str, opened: OpenRelease, tables: Tables) -> dict[str, Any]:
    """What the script of a page needs to answer questions: numbers as `hallmark query` has them."""
    names = opened.spec.released_columns
    places = {name: place for place, name in enumerate(names)}
    notes = list(dict.fromkeys(note for one in tables.answers.values() for note in one.notes))
    return {
        "commands": {name: text.replace("RELEASE", release) for name, text in _COMMANDS.items()},
        "percent": f"{100 * CONFIDENCE:g} %",
        "columns": [{"name": visible(name), "asked": listed([name])} for name in names],
        "bases": _BASES,
        "notes": notes,
        "tables": [
            {
                "by": [places[name] for name in columns],
                "cells": [[visible(label) for label in its] for its in cells_of(one, opened)],
                "rows": [
                    [
                        finite(answer.estimate),
                        finite(answer.low),
                        finite(answer.high),
                        finite(answer.of_records),
                        _BASES.index(answer.basis),
                    ]
                    for answer in one.answers
                ],
                "notes": [notes.index(note) for note in one.notes],
            }
            for columns, one in tables.answers.items()
        ],
        "notToldElse": "The command answers from the records."
        if opened.records_file is not None
        else "The release does not tell them.",
        "notTold": [[places[name] for name in columns] for columns in tables.not_told],
    }


def _commands(release: str, tables: Tables) -> dict[str, str]:
    """How the first of the tables is asked for elsewhere, or the number of all records."""
    question = question_of(next(iter(tables.answers))) if tables.answers else "count"
    quoted = {"QUOTED": shlex.quote(question), "TEXT": json.dumps(question), "RELEASE": release}
    return {
        name: re.sub("|".join(quoted), lambda found: quoted[found[0]], text)
        for name, text in _COMMANDS.items()
    }


def _groups(one: Published) -> Mapping[str, list[tuple[str, str, int | None]]]:
    """The files of a release by what they are for, each with what is in it and its bytes."""
    told = one.documents
    data = {*told.dictionary.files, ANSWERS_FILE, MEASUREMENTS_FILE}
    if told.dictionary.replicates is not None:
        data |= {*told.dictionary.replicates.files}
    scripts = {
        *loading.loading_scripts(told.dictionary),
        *survey.survey_scripts(told.dictionary),
    }
    said = {**_FURTHER, **dict(files_in_words(told.record, told.dictionary))}
    groups: dict[str, list[tuple[str, str, int | None]]] = {
        "Data": [], "Scripts": [], "Documents": [],
    }  # fmt: skip
    for name in one.files:
        group = "Data" if name in data else "Scripts" if name in scripts else "Documents"
        groups[group].append((name, said.get(name, ""), (one.folder / name).stat().st_size))
    return {name: files for name, files in groups.items() if files}


def _checked(check: Check) -> str:
    """What a check asks, in words."""
    for start, words in (
        ("lookups in ", "Columns that are looked up have the values of the public table: "),
        ("public totals in ", "The public totals hold exactly: "),
    ):
        if check.name.startswith(start):
            return words + check.name.removeprefix(start)
    return _CHECKED.get(check.name, f"{check.name}: all values lie in their public domain.")


def _stated(text: str) -> str:
    return "" if text == NOT_RECORDED else text


def size_in_words(size: int) -> str:
    """Bytes for people, such as `951 kB`."""
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= least:
            return f"{wording.number(size / least, 3)} {unit}"
    return f"{size} bytes"


def _page(name: str, **shown: Any) -> str:
    return _environment().get_template(f"{name}.html.j2").render(shown)


def _digest_of(text: str) -> str:
    """What a policy names a style sheet or a script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _environment() -> Environment:
    environment = templates(_PACKAGE, autoescape=True)
    style = source("report.css") + source("site.css", _PACKAGE)
    script = source("site.js", _PACKAGE)
    environment.globals |= {
        "style": Markup(style),  # both are ours, and hold nothing of a release
        "script": Markup(script),
        "policy": f"default-src 'none'; style-src '{_digest_of(style)}'; "
        f"script-src '{_digest_of(script)}'; img-src data:; base-uri 'none'; form-action 'none'",
        "version": version("hallmark"),
        "certificate_in_words": wording.certificate_in_words,
        "exact": wording.exact,
        "notice_file": notice_file,
        "neighbours_in_words": wording.neighbours_in_words,
        "number": wording.number,
        "percent": wording.percent,
        "size_in_words": size_in_words,
    }
    environment.filters["visible"] = visible
    return environment
