"""Mistakes that people make with a table and its spec, and what the desk says to each: what is
wrong, where, and what to do. docs/desk.md lists them."""

import html
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx import Response

from hallmark.tasks.check import check
from hallmark.tasks.installation.workspace import workspaces_place
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.places import specs_folder, tables_folder
from hallmark.tasks.planning.prepare import prepare
from tests import example, messy
from tests.flows.test_desk_tables import PAGE, Person, typed, uploaded, write_spec

TABLE = messy.spec("enquete.csv")
DATA, COLUMNS = TABLE["data"], TABLE["columns"]
PLACES = {
    "type": "places", "categories": ["1"], "outside": "refuse",
    "bound_source": {"kind": "public", "reference": "the atlas"},
}  # fmt: skip
PRIVACY = {"neighbours": "replace_one", "unit": "record", "epsilon": "1", "delta": "1e-5"}


class Work:
    """A steward with an uploaded table, at each of the places where a mistake shows."""

    def __init__(self, steward: Person, governor: Person) -> None:
        self.steward, self.governor = steward, governor

    def form(self, **mistake: object) -> str:
        """How the file is said to be written."""
        return _told(self.steward.post(f"{PAGE}/look", **typed(**mistake)))

    def upload(self, name: str, content: bytes = b"a\n1\n") -> str:
        return _told(self.steward.post("/tables", table=(name, io.BytesIO(content))))

    def editor(self, **sections: Any) -> str:
        """What stands beside the text while it is written."""
        answer = self._ask("/specs/check", write_spec(**sections).read_text())
        return "\n".join(f"{one['key']}: {one['message']}" for one in answer.json()["problems"])

    def text(self, before: str, after: str) -> str:
        """The same of a text in which something is written wrong."""
        text = write_spec().read_text()
        assert before in text
        answer = self._ask("/specs/check", text.replace(before, after))
        return "\n".join(f"{one['key']}: {one['message']}" for one in answer.json()["problems"])

    def plan(self, **sections: Any) -> str:
        return _told(self._ask("/specs/plan", write_spec(**sections).read_text()))

    def calendar(self, **changes: str) -> str:
        """What a governor is told who proposes that it recurs."""
        (specs_folder() / "visits.yaml").write_text("release: visits-{period}\n")
        entry = {"spec": "visits", "period": "week", "at": "02:00", "epsilon": "1"}
        return _told(self.governor.post("/calendar", **(entry | {"reason": "a try"} | changes)))

    def cluster(self, **said: str) -> str:
        """What a governor is told who proposes where releases run."""
        return _told(self.governor.post("/agency/cluster", **(said | {"reason": "faster"})))

    def check(self, **sections: Any) -> str:
        """What a check of the file finds."""
        write_spec(**sections)
        check(prepare(specs_folder() / "enquete.yaml", tables_folder()))
        return _told(self.steward.get("/specs/enquete"))

    def _ask(self, path: str, text: str) -> Response:
        headers = {"X-CSRF": self.steward.csrf}
        asked = {"text": text} | ({"name": "enquete"} if path == "/specs/check" else {})
        return self.steward.browser.post(path, json=asked, headers=headers)


def _told(answer: Response) -> str:
    """The words of a page."""
    main = answer.text.partition("<main")[2] or answer.text
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


def column(name: str, **changes: Any) -> dict[str, Any]:
    return {"columns": {**COLUMNS, name: {**COLUMNS[name], **changes}}}


def without(name: str, key: str) -> dict[str, Any]:
    left = {known: value for known, value in COLUMNS[name].items() if known != key}
    return {"columns": {**COLUMNS, name: left}}


def renamed(name: str, other: str) -> dict[str, Any]:
    return {"columns": {other if known == name else known: c for known, c in COLUMNS.items()}}


MISTAKES: dict[str, tuple[Callable[[Work], str], str]] = {
    "another encoding": (
        lambda work: work.form(encoding="utf-8"),
        "enquete.csv is not written in utf-8; say data.encoding, such as latin-1",
    ),
    "another separator": (
        lambda work: work.check(data={**DATA, "delimiter": ","}),
        "the header of enquete.csv is a single field when split at ','; say data.delimiter: ';'",
    ),
    "a decimal point where the file has commas": (
        lambda work: work.check(data={**DATA, "decimal_mark": "."}),
        "columns.revenu: not all rows are numbers or null; correct the data, state their format by "
        "decimal_mark",
    ),
    "month and day exchanged": (
        lambda work: work.check(data={**DATA, "date_format": "%m/%d/%Y"}),
        "columns.née: not all rows are dates written as %m/%d/%Y",
    ),
    "a way to write missing values left out": (
        lambda work: work.check(data={**DATA, "null_markers": ["NA", ""]}),
        "columns.heures: not all rows are numbers or null",
    ),
    "postal codes without their zeros": (
        lambda work: work.check(**column("code_postal", categories=["1067", "4109", "20095"])),
        "columns.code_postal: not all rows are one of the 3 categories; add the category",
    ),
    "a code not listed": (
        lambda work: work.check(**column("état", categories=["célibataire", "marié"])),
        "columns.état: not all rows are one of the 2 categories; add the category if it is public",
    ),
    "a bound that values pass": (
        lambda work: work.check(**column("enfants", maximum=5, cells=6)),
        "columns.enfants: not all rows lie between 0 and 5; widen the public interval",
    ),
    "a text called a number": (
        lambda work: work.check(
            columns={**COLUMNS, "état": {**COLUMNS["loyer"], "maximum": 3, "cells": 3}}
        ),
        "columns.état: not all rows are numbers or null",
    ),
    "a column's name misspelled": (
        lambda work: work.check(**renamed("loyer", "loyers")),
        "the header of enquete.csv: it lacks the columns loyers",
    ),
    "bounds exchanged": (
        lambda work: work.editor(**column("loyer", minimum=1500, maximum=0)),
        "columns.loyer.maximum: is 0, which is not above the minimum 1500; give minimum < maximum",
    ),
    "5,000 codes": (
        lambda work: work.editor(**column("code_postal", categories=list(map(str, range(5_000))))),
        "makes 5000 cells, but a column has at most 4096; recode it to fewer",
    ),
    "a key misspelled": (
        lambda work: work.editor(**column("loyer", minimun=3)),
        "columns.loyer.minimun: is not a key of the spec; did you mean minimum?",
    ),
    "no source of bounds": (
        lambda work: work.editor(**without("loyer", "bound_source")),
        "columns.loyer.bound_source: is missing; add the source of minimum and maximum",
    ),
    "a decimal comma in epsilon": (
        lambda work: work.editor(privacy={**PRIVACY, "epsilon": "1,5"}),
        "privacy.epsilon: must be a number such as 5000, 0.5, 1e-5 or 1/3, not '1,5'",
    ),
    "a rule about no column": (
        lambda work: work.editor(constraints=[{"rule": "loyers > 0", "source": "x"}]),
        "constraints[0].rule: there is no column loyers; did you mean loyer?",
    ),
    "a place still to be filled in": (
        lambda work: work.editor(title="FILL_IN"),
        "title: is still FILL_IN; write what is publicly known",
    ),
    "a tab": (
        lambda work: work.text("  account:", "\taccount:"),
        "the line is indented with a tab; indent with spaces",
    ),
    "another name of the release": (
        lambda work: work.text("release: enquete", "release: other"),
        "release: is 'other', and this spec is kept as 'enquete'; write one name",
    ),
    "more than the budget": (
        lambda work: work.plan(privacy={**PRIVACY, "epsilon": "20"}),
        "but only epsilon 2, delta 0.0001 is left of the cap",
    ),
    "an account that nobody opened": (
        lambda work: work.plan(population={"account": "nobody"}),
        "the ledger has no account 'nobody'; correct the name, or let whoever is responsible for "
        "these people's budget open it, on the page Accounts",
    ),
    "a delta that allows everything": (
        lambda work: work.plan(privacy={**PRIVACY, "delta": "0.1"}),
        "privacy.delta is 0.1, but should be well below one in 20000",
    ),
    "a rule that nothing obeys": (
        lambda work: work.plan(constraints=[{"rule": "loyer < 0", "source": "x"}]),
        "constraints[0]: 'loyer < 0': no record obeys it; correct one of them",
    ),
    "a parameter of another mechanism": (
        lambda work: work.editor(mechanism={"name": "pmm", "cells": 8}),
        "mechanism.cells: is no parameter of pmm; it knows depth, consistency",
    ),
    "a parameter out of its range": (
        lambda work: work.editor(mechanism={"name": "pmm", "depth": -1}),
        "mechanism.depth: is -1; give auto, or a whole number of at least 0",
    ),
    "longitude before latitude": (
        lambda work: work.editor(
            columns={**COLUMNS, "région": {**PLACES, "coordinates": {"1": [113.2, 22.9]}}}
        ),
        "columns.région.coordinates.1: is [113.2, 22.9]; give latitude (-90 to 90) and longitude",
    ),
    "a time zone misspelled": (
        lambda work: work.calendar(timezone="Berlin"),
        "timezone: is 'Berlin', which is not a time zone; give one such as UTC",
    ),
    "a day that a week has not": (
        lambda work: work.calendar(day="15"),
        "a week has no day 15; give 1 for Monday, up to 7 for Sunday",
    ),
    "memory without its unit": (
        lambda work: work.cluster(place="local", memory="4"),
        "cluster.local.memory: must be a size, such as 4GiB, not '4'",
    ),
    "a name that is taken": (
        lambda work: work.upload("enquete.csv"),
        "there is a file 'enquete.csv' already; replace it on its own page",
    ),
    "no table": (
        lambda work: work.upload("doc.pdf", b"%PDF-1.4"),
        "give a file with a name of letters, digits, dots and dashes that ends in .csv",
    ),
    "a workbook named as text": (
        lambda work: work.upload("renamed.csv", b"PK\x03\x04" + bytes(300)),
        "renamed.csv is an archive, such as a workbook of Excel; let its name end in .xlsx",
    ),
    "an empty file": (
        lambda work: work.upload("empty.csv", b""),
        "empty.csv is empty; a header line is needed",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Work]:
    folder = tmp_path_factory.mktemp("mistakes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(folder / "home"))
        for elsewhere in ("HALLMARK_LEDGER", "HALLMARK_PROFILE"):
            patch.delenv(elsewhere, raising=False)
        example.open_account()
        steward = Person("stella", Role.STEWARD)
        uploaded(steward, "enquete.csv", messy.write(folder, 300).read_bytes())
        steward.post(f"{PAGE}/form", **typed())
        yield Work(steward, Person("gina", Role.GOVERNOR))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_place_and_what_to_do(mistake: str, work: Work):
    made, says = MISTAKES[mistake]
    told = made(work)
    assert says in told
    assert (
        str(workspaces_place().parent) not in told
    )  # no path of the machine means anything to whoever reads it


def test_the_page_about_the_desk_lists_them():
    page = (Path(__file__).parents[2] / "docs" / "desk.md").read_text("utf-8")
    table = page.partition("| mistake |")[2].partition("\n\n")[0]
    assert [row.split("|")[1].strip() for row in table.split("\n")[2:]] == list(MISTAKES)
