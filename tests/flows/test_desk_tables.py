"""Files at the desk: who sees what is in them, how they change, and what is refused."""

import html
import io
from pathlib import Path
from typing import Any

import pytest
from httpx import Response
from ruamel.yaml import YAML
from starlette.testclient import TestClient

from hallmark.flows import engine
from hallmark.flows.desk import desk
from hallmark.flows.validation import validation
from hallmark.tasks.check import check, standing
from hallmark.tasks.installation.operator import OrderRefused, ordering
from hallmark.tasks.installation.operator import ordered as operators_order
from hallmark.tasks.people import directory
from hallmark.tasks.people.actions import actions, exported
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.looks import looks_at_table_of
from hallmark.tasks.planning.places import ordered_spec, public_folder, specs_folder, tables_folder
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.recurring import scheduling
from hallmark.tasks.planning.uploads import Place
from tests import example, messy
from tests.flows.cli.test_app import STUDY
from tests.flows.people import TEST, as_somebody, log_in

SECRET = "canary-73193"
PAGE = "/tables/private/enquete.csv"


class Person:
    """Somebody who works at the desk with a browser."""

    def __init__(self, login: str, *roles: Role) -> None:
        directory.person(login) or directory.add(login, f"The {login}", roles, by=TEST)
        self.browser = TestClient(desk, headers={"Accept": "text/html"})
        self.csrf = log_in(self.browser, login)

    def post(self, path: str, **form: object) -> Response:
        files = {"table": form.pop("table")} if "table" in form else None
        headers = {"X-CSRF": self.csrf}
        return self.browser.post(path, data=form, files=files, headers=headers)  # type: ignore[arg-type]

    def get(self, path: str) -> Response:
        return self.browser.get(path)


@pytest.fixture
def steward(home: Path) -> Person:
    return Person("stella", Role.STEWARD)


def uploaded(by: Person, name: str, content: bytes, **form: object) -> Response:
    answer = by.post("/tables", table=(name, io.BytesIO(content)), **form)
    assert answer.status_code == 200, answer.text
    return answer


def few(tmp_path: Path, rows: int = 40) -> bytes:
    """The messy table, with a value in it that must be seen nowhere else."""
    content = messy.write(tmp_path / "messy", rows).read_bytes()
    return content.replace("célibataire".encode("latin-1"), SECRET.encode(), 1)


def typed(**changes: object) -> dict[str, object]:
    form = {**messy.FORM, "null_markers": "NA\n-\n", "empty": "true", "thousands": ""}
    return {**form, **changes}


def write_spec(name: str = "enquete", source: str = "enquete.csv", **changes: object) -> Path:
    file = specs_folder() / f"{name}.yaml"
    with file.open("w") as handle:
        YAML().dump(messy.spec(source, release=name, **changes), handle)
    return file


def test_whoever_uploads_a_messy_table_confirms_how_it_is_written(steward: Person, tmp_path: Path):
    page = uploaded(steward, "enquete.csv", few(tmp_path))
    assert page.url.path == PAGE
    assert "This is guessed from the beginning of the file" in page.text
    for shown in ("déménagé", SECRET, "04109", '<i class="missing">missing</i>', "windows-1252"):
        assert shown in page.text, shown
    assert "none is taken from values" in page.text
    for guess in ('value=";" selected', 'value="," selected', 'value="%d/%m/%Y"'):
        assert guess in page.text, guess
    write_spec(data={"source": "enquete.csv", "expected_rows": 20_000, "record": "one person"})
    page = steward.post(f"{PAGE}/form", **typed(), spec="enquete")
    assert "You confirmed this." in page.text
    text = (specs_folder() / "enquete.yaml").read_text()
    for said in ('delimiter: ";"', 'encoding: "latin-1"', 'decimal_mark: ","',
                 'date_format: "%d/%m/%Y"', 'null_markers: ["NA", "-", ""]'):  # fmt: skip
        assert said in text, said
    assert SECRET not in text
    assert standing(prepare(specs_folder() / "enquete.yaml", tables_folder()).spec,
                    tables_folder()).state == "unchecked"  # fmt: skip


def test_a_spec_that_is_begun_says_how_its_file_is_written(steward: Person, tmp_path: Path):
    uploaded(steward, "enquete.csv", few(tmp_path))
    steward.post(f"{PAGE}/form", **typed())
    answer = steward.browser.post(
        "/specs", data={"name": "enquete", "table": "enquete.csv", "csrf": steward.csrf}
    )
    assert answer.url.path == "/specs/enquete"
    text = (specs_folder() / "enquete.yaml").read_text()
    assert 'encoding: "latin-1"' in text
    assert "déménagé:" in text
    assert SECRET not in text


DICTIONARY = (
    "name,label,min,max,type,codes\nagé,Âge,0,120,integer,\nsexe,Sex,,,,1=homme;2=femme\n"
    "loyer,Rent,0,1500,float,\n"
)


def begun(steward: Person, name: str, **chosen: str) -> Response:
    return steward.browser.post("/specs", data={"name": name, "csrf": steward.csrf, **chosen})


def test_a_spec_begins_with_what_a_dictionary_says(steward: Person, tmp_path: Path):
    uploaded(steward, "enquete.csv", few(tmp_path))
    steward.post(f"{PAGE}/form", **typed())
    uploaded(steward, "dictionnaire.csv", DICTIONARY.encode("latin-1"), public="true")
    assert "<option>public/dictionnaire.csv</option>" in steward.get("/specs").text
    chosen = {"table": "enquete.csv", "dictionary": "public/dictionnaire.csv"}
    answer = begun(steward, "enquete", **chosen)
    assert answer.url.path == "/specs/enquete"
    text = (specs_folder() / "enquete.yaml").read_text()
    columns = YAML(typ="safe").load(text)["columns"]
    assert columns["loyer"]["maximum"] == 1500
    assert columns["sexe"]["categories"] == {"1": "homme", "2": "femme"}
    where = "data dictionary dictionnaire.csv, row 4"
    assert columns["loyer"]["bound_source"]["reference"] == where
    assert 'encoding: "latin-1"' in text
    assert SECRET not in text
    page = steward.get("/specs/enquete/columns?column=loyer").text
    assert html.escape(where) in page
    assert "public or law, unless" not in page  # comments are the text's alone


def test_a_dictionary_alone_begins_a_spec_and_a_hostile_one_does_not(steward: Person):
    uploaded(steward, "study.xml", STUDY.encode(), public="true")
    assert begun(steward, "a", dictionary="public/study.xml").url.path == "/specs/a"
    assert begun(steward, "b", table="public/study.xml").url.path == "/specs/b"
    for name in "ab":
        assert "      '01': north\n" in (specs_folder() / f"{name}.yaml").read_text()
    entity = '<!DOCTYPE codeBook [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    uploaded(steward, "bad.xml", (entity + STUDY).encode(), public="true")
    answer = begun(steward, "c", dictionary="public/bad.xml")
    assert answer.status_code == 409
    assert "bad.xml: declares a document type or entities" in answer.text
    assert str(public_folder()) not in answer.text
    assert not (specs_folder() / "c.yaml").exists()
    for form in (
        {"table": "public/study.xml", "dictionary": "public/study.xml"},
        {"dictionary": "public/none.xml"},
        {},
    ):
        assert begun(steward, "c", **form).status_code == 409


def test_a_private_file_is_no_dictionary(steward: Person):
    uploaded(steward, "names.csv", f"name,label\n{SECRET},1\n".encode())
    tables, _, dictionaries = steward.get("/specs").text.partition('id="dictionary"')
    assert "<option>names.csv</option>" in tables
    assert "names.csv" not in dictionaries
    answer = begun(steward, "c", dictionary="names.csv")
    assert answer.status_code == 409
    assert SECRET not in answer.text


def test_a_form_that_was_not_confirmed_is_kept_nowhere(steward: Person, tmp_path: Path):
    uploaded(steward, "enquete.csv", few(tmp_path))
    page = steward.post(f"{PAGE}/look", **typed(delimiter="|", encoding="utf-8"))
    assert "cannot be read" in page.text or "is not written in" in page.text
    known = Place("private", "enquete.csv").upload
    assert known is not None
    assert known.form is None
    page = steward.post(f"{PAGE}/look", **typed())
    assert SECRET in page.text


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"encoding": "klingon"}, "encoding: "),
        ({"delimiter": ";;"}, "delimiter: "),
        ({"decimal_mark": "x"}, "decimal_mark: is &#39;x&#39;; give . or ,"),
        ({"thousands": ","}, "thousands: is &#39;,&#39;, and so is the decimal mark"),
        ({"date_format": "%d"}, "date_format: "),
    ],
)
def test_a_form_that_is_not_sound_is_refused(
    wrong: dict[str, str], says: str, steward: Person, tmp_path: Path
):
    uploaded(steward, "enquete.csv", few(tmp_path))
    for action in ("form", "look"):
        answer = steward.post(f"{PAGE}/{action}", **typed(**wrong))
        assert answer.status_code == 409
        assert says in answer.text


def test_only_who_uploaded_a_file_sees_what_is_in_it(steward: Person, tmp_path: Path):
    uploaded(steward, "enquete.csv", few(tmp_path))
    steward.post(f"{PAGE}/form", **typed())
    program = TestClient(desk, headers=as_somebody(Role.STEWARD, login="stella"))
    others = [Person("oscar", Role.OPERATOR), Person("sam", Role.STEWARD)]
    for answer in (*(one.get(PAGE) for one in others), program.get(PAGE)):
        assert answer.status_code == 200
        assert SECRET not in answer.text
        assert "Only the person who uploaded the file sees what is in it" in answer.text
        assert "KiB" not in answer.text.split("<h2>")[0]  # which tells how many records it has
    for one in others:
        for action in ("look", "form"):
            assert one.post(f"{PAGE}/{action}", **typed()).status_code == 403
    for action in ("look", "form"):
        assert program.post(f"{PAGE}/{action}", data=typed()).status_code == 403
    assert SECRET in steward.get(PAGE).text
    assert steward.get(PAGE).headers["Cache-Control"] == "no-store"


def test_what_a_file_holds_is_in_no_log_and_no_note(steward: Person, tmp_path: Path, home: Path):
    uploaded(steward, "enquete.csv", few(tmp_path))
    steward.post(f"{PAGE}/form", **typed())
    steward.get(PAGE)
    assert SECRET not in "".join(exported())
    held = [f for f in home.rglob("*") if f.is_file() and SECRET.encode() in f.read_bytes()]
    place = Place("private", "enquete.csv")
    assert set(held) == {place.file, place.first_rows}
    steward.post(f"{PAGE}/remove")
    held = [f for f in home.rglob("*") if f.is_file() and SECRET.encode() in f.read_bytes()]
    assert held == []
    told = [one.action for one in actions() if one.action != "opened"]
    assert told[:3] == ["table-removed", "form-confirmed", "table-uploaded"]


def test_who_replaces_a_file_has_brought_it(steward: Person, tmp_path: Path):
    uploaded(steward, "enquete.csv", few(tmp_path))
    steward.post(f"{PAGE}/form", **typed())
    sam = Person("sam", Role.STEWARD)
    other = ("another.csv", io.BytesIO(b"a;b\n1;2\n"))
    answer = sam.post(f"{PAGE}/replace", table=other)
    assert answer.status_code == 200
    assert "This is guessed" in answer.text
    assert (tables_folder() / "enquete.csv").read_bytes() == b"a;b\n1;2\n"
    assert "Only the person who uploaded the file" in steward.get(PAGE).text
    wrong = steward.post(f"{PAGE}/replace", table=("t.xlsx", io.BytesIO(b"PK")))
    assert wrong.status_code == 409
    assert "so give a file of its kind, .csv" in wrong.text
    again = steward.post("/tables", table=("enquete.csv", io.BytesIO(b"a\n1\n")))
    assert again.status_code == 409
    assert "replace it on its own page" in again.text


def test_a_file_that_is_nobodys_is_shown_to_nobody(steward: Person):
    (tables_folder() / "old.csv").write_text(f"a,b\n{SECRET},1\n")
    page = steward.get("/tables/private/old.csv")
    assert SECRET not in page.text
    assert "who that was is not known, so replace it" in page.text


def test_a_note_of_an_earlier_file_tells_nothing_of_a_later_one(steward: Person):
    """As where the desk was killed between taking a note away and writing the next."""
    uploaded(steward, "t.csv", b"a\n1\n")
    Place("private", "t.csv").note.unlink()
    (tables_folder() / "t.csv").write_text(f"a\n{SECRET}\n")
    assert SECRET not in steward.get("/tables/private/t.csv").text


def test_a_file_is_deleted_for_good(steward: Person, home: Path):
    uploaded(steward, "t.csv", b"a\n1\n")
    assert steward.post("/tables/private/t.csv/remove").url.path == "/specs"
    assert [f.name for f in home.rglob("*t.csv*")] == []
    assert steward.get("/tables/private/t.csv").status_code == 404
    assert steward.post("/tables/private/t.csv/remove").status_code == 404


def test_a_file_that_was_ticked_public_by_mistake_becomes_private(steward: Person):
    uploaded(steward, "t.csv", f"a\n{SECRET}\n".encode(), public="true")
    page = steward.post("/tables/public/t.csv/private")
    assert page.url.path == "/tables/private/t.csv"
    assert SECRET in page.text  # for whoever brought it
    assert not (public_folder() / "t.csv").exists()
    assert steward.get("/tables/public/t.csv").status_code == 404
    assert actions()[1].action == "table-made-private"
    uploaded(steward, "t.csv", b"a\n1\n", public="true")
    taken = steward.post("/tables/public/t.csv/private")
    assert taken.status_code == 409
    assert "there is a private file" in taken.text
    assert (public_folder() / "t.csv").exists()


@pytest.fixture
def ordered(steward: Person, tmp_path: Path) -> Person:
    """A run of a release was ordered that reads an uploaded table, with public codes."""
    uploaded(steward, "enquete.csv", few(tmp_path))
    uploaded(steward, "codes.csv", b"code\n1\n2\n", public="true")
    spec = messy.spec("enquete.csv")
    spec["columns"]["sexe"]["categories"] = {"file": "public/codes.csv"}
    for file in (specs_folder() / "enquete.yaml", ordered_spec("enquete")):
        with file.open("w") as handle:
            YAML().dump(spec, handle)
    with ordering("enquete", "oscar"):
        pass
    return steward


@pytest.mark.parametrize(
    ("path", "action"),
    [
        (PAGE, "replace"), (PAGE, "remove"), ("/tables/public/codes.csv", "replace"),
        ("/tables/public/codes.csv", "remove"), ("/tables/public/codes.csv", "private"),
    ],
)  # fmt: skip
def test_a_file_stays_as_long_as_a_run_depends_on_it(path: str, action: str, ordered: Person):
    before = {f: f.read_bytes() for f in tables_folder().rglob("*.csv")}
    assert "a run of it was ordered" in ordered.get(path).text
    form = {"table": ("t.csv", io.BytesIO(b"a\n1\n"))} if action == "replace" else {}
    answer = ordered.post(f"{path}/{action}", **form)
    assert answer.status_code == 409
    assert "enquete: a run of it was ordered; stop its runs first" in answer.text
    assert {f: f.read_bytes() for f in tables_folder().rglob("*.csv")} == before
    assert actions()[0].action == "not-done"
    assert "a run of it was ordered" in actions()[0].details["why"]


def test_a_file_stays_as_long_as_a_release_of_it_recurs(steward: Person, tmp_path: Path):
    uploaded(steward, "visits-2026-11.csv", b"a\n1\n")
    uploaded(steward, "other.csv", b"a\n1\n")
    few_columns = example.only(tmp_path, "age")
    few_columns["data"]["source"] = "visits-{period}.csv"
    spec = example.write(tmp_path, 5, release="visits-{period}", **few_columns)
    entry = {"period": "month", "cron": "0 6 1 * *", "budget": {"epsilon": "1", "delta": "0"}}
    with scheduling("visits", spec.read_text(), entry, "oscar"):
        pass
    answer = steward.post("/tables/private/visits-2026-11.csv/remove")
    assert answer.status_code == 409
    assert "visits: it recurs; take it off the calendar first" in answer.text
    assert steward.post("/tables/private/other.csv/remove").status_code == 200


@pytest.mark.parametrize(
    "name", ["../enquete.csv", "..%2f..%2fpeople.db", "%2e%2e", ".hidden.csv", "a%00b.csv", "*"]
)
@pytest.mark.parametrize("kind", ["private", "public", "..", "work"])
def test_no_other_file_is_reached_by_a_name(kind: str, name: str, steward: Person, home: Path):
    before = sorted(home.rglob("*"))
    for action in ("", "/look", "/form", "/replace", "/remove", "/private"):
        path = f"/tables/{kind}/{name}{action}"
        table = {"table": ("t.csv", io.BytesIO(b"a\n1\n"))} if action == "/replace" else {}
        answer = steward.post(path, **table) if action else steward.get(path)
        assert answer.status_code in (404, 405), path
    assert {f for f in sorted(home.rglob("*")) if f.is_file()} == {f for f in before if f.is_file()}


@pytest.mark.parametrize(
    "name", ["../t.csv", "t.exe", "a b.csv", ".csv", "t.csv\x00.png", "x" * 130 + ".csv"]
)
def test_names_that_lead_elsewhere_are_not_taken(name: str, steward: Person):
    steward.post("/tables", table=(name, io.BytesIO(b"a\n1\n")))
    assert [f.name for f in tables_folder().iterdir() if f.is_file()] in ([], ["t.csv"])


# The check


@pytest.fixture
def checkable(steward: Person, tmp_path: Path) -> Person:
    uploaded(steward, "enquete.csv", few(tmp_path))
    write_spec()
    return steward


def checked() -> None:
    """What the worker does with an order."""
    check(prepare(specs_folder() / "enquete.yaml", tables_folder()))


def mended(tmp_path: Path) -> tuple[str, io.BytesIO]:
    return "mended.csv", io.BytesIO(messy.write(tmp_path / "mended", 40).read_bytes())


def test_a_plan_says_what_is_known_of_the_file(checkable: Person, tmp_path: Path):
    def plan() -> str:
        text = (specs_folder() / "enquete.yaml").read_text()
        return checkable.browser.post(
            "/specs/plan", json={"text": text}, headers={"X-CSRF": checkable.csrf}
        ).text

    assert "has not been checked against the spec" in plan()
    assert "Of a file that keeps to the spec, which is not known of this one" in plan()
    checked()
    assert "does not keep to the spec" in plan()
    assert "columns.état: not all rows are one of the 3 categories" in plan()
    assert SECRET not in plan()
    checkable.post(f"{PAGE}/replace", table=mended(tmp_path))
    assert "since one of them changed" in plan()
    checked()
    assert "kept to the spec when" in plan()
    assert "which is not known of this one" not in plan()
    write_spec(privacy={"neighbours": "replace_one", "unit": "record", "epsilon": "2",
                        "delta": "1e-5"})  # fmt: skip
    assert "kept to the spec when" in plan()  # which the budget has no part in
    write_spec(data={"source": "enquete.csv", **messy.FORM, "encoding": "utf-8",
                     "expected_rows": 20_000, "record": "one person"})  # fmt: skip
    assert "since one of them changed" in plan()
    checked()
    assert "is not written in utf-8" in plan()
    (tables_folder() / "enquete.csv").unlink()
    assert "There is no private file" in plan()


def test_values_that_break_rules_are_shown_to_who_brought_them(checkable: Person, tmp_path: Path):
    values = "/specs/enquete/values"
    assert checkable.get(values).status_code == 404
    checked()
    assert values in checkable.get("/specs/enquete").text
    page = checkable.get(values)
    assert SECRET in page.text
    assert "script-src" not in page.headers["Content-Security-Policy"]
    assert page.headers["Cache-Control"] == "no-store"
    assert actions()[0].details == {"file": "validation.html"}
    sam = Person("sam", Role.STEWARD, Role.OPERATOR)
    assert sam.get(values).status_code == 403
    assert values not in sam.get("/specs/enquete").text
    program = TestClient(desk, headers=as_somebody(Role.STEWARD, login="stella"))
    assert program.get(values).status_code == 403
    # Who replaces the file, or names another one, sees nothing of the first.
    sam.post(f"{PAGE}/replace", table=mended(tmp_path))
    assert sam.get(values).status_code == 404
    assert checkable.get(values).status_code == 404


def test_no_other_file_of_ones_own_leads_to_values_of_the_first(checkable: Person, tmp_path: Path):
    checked()
    sam = Person("sam", Role.STEWARD)
    uploaded(sam, "sams.csv", messy.write(tmp_path / "sam", 40).read_bytes())
    write_spec(source="sams.csv")
    assert sam.get("/specs/enquete/values").status_code == 404


def test_a_check_is_counted_as_a_look_and_limited(
    checkable: Person, monkeypatch: pytest.MonkeyPatch
):
    orders: list[dict[str, object]] = []
    monkeypatch.setattr(
        engine, "start", lambda name, given, **_: orders.append({"of": name, **given})
    )
    for number in range(5):
        assert checkable.post("/specs/enquete/validate").status_code == 200
        assert looks_at_table_of("enquete").counted == number
        checked()
    assert {one["of"] for one in orders} == {"validation/on-demand"}
    assert Path(str(orders[0]["spec"])).read_text() == (specs_folder() / "enquete.yaml").read_text()
    assert [look.is_open for look in looks_at_table_of("enquete").uncharged] == [False] * 5
    refused = checkable.post("/specs/enquete/validate")
    assert refused.status_code == 409
    assert "the profile allows 5" in refused.text
    assert len(orders) == 5


def test_a_check_runs_on_its_own_order_and_ends_alike(
    checkable: Person, prefect: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    orders: list[dict[str, Any]] = []
    monkeypatch.setattr(engine, "start", lambda _, given, **__: orders.append(given))
    for ends in ("does not keep to the spec", "kept to the spec"):
        checkable.post("/specs/enquete/validate")
        assert "which has not ended" in checkable.get("/specs/enquete").text
        assert validation(**orders[-1]) is None
        page = checkable.get("/specs/enquete").text
        assert ends in page
        assert "stella had it checked" in page
        assert "which has not ended" not in page
        checkable.post(f"{PAGE}/replace", table=mended(tmp_path))
    with (
        pytest.raises(OrderRefused, match="it is one to check 'enquete', and no other"),
        operators_order(orders[-1]["order"], "enquete"),
    ):
        raise AssertionError("an order to check a table runs no release")


def test_what_cannot_be_started_was_not_ordered(checkable: Person):
    refused = checkable.post("/specs/enquete/validate")
    assert refused.status_code == 503
    assert "without an orchestrator" in refused.text
    assert "which has not ended" not in checkable.get("/specs/enquete").text


def test_a_spec_that_is_not_complete_or_names_more_is_not_checked(checkable: Person):
    (specs_folder() / "enquete.yaml").write_text("hallmark: 1\n")
    assert "not complete" in checkable.post("/specs/enquete/validate").text
    write_spec(source="/etc/passwd")
    refused = checkable.post("/specs/enquete/validate")
    assert refused.status_code == 409
    assert "data.source: must be a table that was uploaded" in refused.text


def test_who_may_not_know_is_not_told_how_a_check_ended(checkable: Person):
    checked()
    viewer, reviewer = Person("vera", Role.VIEWER), Person("rita", Role.REVIEWER)
    for one in (viewer, reviewer):
        for path in ("/specs/enquete", "/specs/enquete/values", PAGE):
            assert one.get(path).status_code == 403
        assert "does not keep" not in one.get("/releases/enquete").text
    assert "not all rows" not in "".join(exported())
