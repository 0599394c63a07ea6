"""A spec as forms beside its text: questions, what forms write, and what they refuse."""

import html
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hallmark.flows.desk import desk, drafts
from hallmark.mechanisms.catalogue import CATALOGUE
from hallmark.schemas.loading import load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.skeleton import skeleton_from_header
from hallmark.schemas.spec_answers import answers_about, shown_in
from hallmark.schemas.yaml_document import read_text
from hallmark.tasks.people.actions import actions, exported
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.places import public_folder, specs_folder, tables_folder
from tests.flows.people import as_somebody
from tests.flows.test_desk_tables import Person

CANARY = "canary-40417"
HEADER = ("born", "age", "sex", "grade", "region", "pays", 'odd "=": name/#1', "row")
ABOUT = {
    "title": "A survey: of all",
    "population.account": "people",
    "population.description": "all\r\nadults",
    "data.expected_rows": "1000",
    "data.record": "one person",
    "data.null_markers": 'NA\n""',
    "privacy.neighbours": "replace_one",
    "privacy.unit": "record",
    "privacy.epsilon": "1/2",
    "privacy.delta": "1e-6",
}
SOURCE = {"bound_source.kind": "law", "bound_source.reference": "§ 1: the act"}
COLUMNS: dict[str, dict[str, str]] = {
    "born": {
        "type": "date", "minimum": "1930-01-01", "maximum": "2019-12-31", "cells": "cells",
        "cells.value": "20", "format": "%d/%m/%Y", "outside": "clamp", **SOURCE,
    },
    "age": {
        "type": "numeric", "integer": "true", "minimum": "0", "maximum": "120", "unit": "years",
        "cells": "edges", "cells.value": "0, 18; 65 120", "detail": "16", "outside": "refuse",
        "nulls": "true", "null_markers": "-9\n-1", "description": 'years "completed"', **SOURCE,
    },
    "sex": {
        "type": "nominal", "categories": "F = female\nM = male", "outside": "catch_all",
        "other": "M", "recode.codes": "1 = M\n2 = F\n3 = F", **SOURCE,
    },
    "grade": {"type": "ordinal", "categories": "01\nno\n1.0", "outside": "refuse", **SOURCE},
    "region": {
        "type": "nominal", "categories.file": "public/codes.csv", "groups.file": "public/codes.csv",
        "groups.column": "part", "outside": "refuse", "recode.first": "1", "recode.of": "3",
        **SOURCE,
    },
    "pays": {
        "type": "boolean", "values": "oui\nyes", "values.false": "no", "outside": "catch_all",
        "other": "false",
    },
    'odd "=": name/#1': {
        "type": "nominal", "categories": 'a = x\n"b = c" = y\n" d" = z\nnull',
        "groups": 'one = a, "b = c"\ntwo = " d", null', "outside": "refuse", **SOURCE,
        "recode.codes.file": "public/codes.csv", "recode.codes.column": "old",
    },
}  # fmt: skip


@pytest.fixture
def steward(home: Path) -> Person:
    table = tables_folder() / "survey.csv"
    header = ",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in HEADER)
    table.write_text(f"{header}\n{','.join([CANARY] * len(HEADER))}\n")
    (public_folder() / "codes.csv").write_text(
        "code,label,part,old\nN,north,up,a\nS,south,down,null\nE,e,up,a\n"
    )
    begun = skeleton_from_header(table, source="survey.csv")
    begun = begun.replace("release: FILL_IN", "release: survey", 1)
    (specs_folder() / "survey.yaml").write_text(begun)
    return Person("stella", Role.STEWARD)


def text() -> str:
    return (specs_folder() / "survey.yaml").read_text()


def form(path: str, page: str) -> dict[str, str]:
    """What the first form of a page that goes to a path would send, nothing typed."""
    body = re.search(rf'<form[^>]* action="{path}">.*?</form>', page, re.DOTALL)
    assert body is not None, path
    found = dict(re.findall(r'<input[^>]* name="([^"]+)"[^>]*? value="([^"]*)"', body[0]))
    found |= re.findall(
        r'<textarea[^>]* name="([^"]+)"[^>]*>\n(.*?)</textarea>', body[0], re.DOTALL
    )
    for name, options in re.findall(r'<select[^>]* name="([^"]+)".*?>(.*?)</select>', body[0]):
        chosen = re.search(r'value="([^"]*)" selected', options)
        found[name] = chosen[1] if chosen else ""
    return {name: html.unescape(value) for name, value in found.items()}


def answered(steward: Person, column: str, *, onward: bool = False, **typed: str) -> Any:
    """Fill in the form of a column as a browser does, and save it."""
    path = "/specs/survey/columns"
    page = steward.browser.get(path, params={"column": column})
    if "type" in typed:
        page = as_type(steward, form(path, page.text), typed["type"])
    sent = form(path, page.text) | typed
    return steward.post(f"{path}?onward=true" if onward else path, **sent)


def as_type(steward: Person, sent: dict[str, str], to: str) -> Any:
    """The form of a column as of another type, with what was typed."""
    answer = steward.post("/specs/survey/columns/type", **sent, to=to)
    assert answer.status_code == 200, answer.text
    return answer


def told_about(steward: Person, **typed: str) -> Any:
    page = steward.get("/specs/survey/about").text
    return steward.post("/specs/survey/about", **(form("/specs/survey/about", page) | typed))


def loaded() -> ReleaseSpec:
    return load_spec(specs_folder() / "survey.yaml", tables_folder())


def test_a_spec_is_completed_by_forms_alone(steward: Person):
    page = steward.get("/specs/survey").text
    assert "questions left, 0 of 8 columns complete" in page
    assert html.escape("who these people are") in page
    begun = text()
    assert told_about(steward, **ABOUT).status_code == 200
    steward.post("/specs/survey/columns/ignore", column="row", seen=drafts.digest(text()))
    answer = None
    for column, typed in COLUMNS.items():
        answer = answered(steward, column, onward=True, **typed)
        assert answer.status_code == 200, answer.text
    assert answer is not None
    assert answer.url.path == "/specs/survey"
    assert "Nothing is left to be answered, 7 of 7 columns complete" in answer.text
    spec = loaded()
    assert spec.population.description == "all\nadults"
    assert spec.data.null_markers == ("NA", "")
    assert spec.data.ignore == ("row",)
    assert spec.columns["age"].given_edges == (0, 18, 65, 120)  # type: ignore[union-attr]
    assert spec.columns["age"].null_markers == ("-9", "-1")
    assert spec.columns["grade"].codes == ("01", "no", "1.0")  # type: ignore[union-attr]
    assert spec.columns["region"].levels == 3
    assert spec.columns["region"].recode.of_code("N12") == "N"  # type: ignore[union-attr]
    assert spec.columns["sex"].recode.of_code("2") == "F"  # type: ignore[union-attr]
    assert spec.columns['odd "=": name/#1'].recode.of_code("S") == "null"  # type: ignore[union-attr]
    assert spec.columns['odd "=": name/#1'].codes == ("a", "b = c", " d", "null")  # type: ignore[union-attr]
    assert spec.columns["pays"].values == {"oui": True, "yes": True, "no": False}  # type: ignore[union-attr]
    comments = set(re.findall(r"# .*", begun))
    assert comments - set(re.findall(r"# .*", text())) <= {
        "# numeric, ordinal, nominal, boolean or date"
    }
    assert CANARY not in page + answer.text + text() + "".join(exported())


@pytest.mark.parametrize("column", COLUMNS)
def test_a_form_that_is_saved_as_it_is_shown_changes_nothing(column: str, steward: Person):
    answered(steward, column, **COLUMNS[column])
    before = text()
    section = read_text(before)[0].content["columns"][column]
    shown = shown_in(answers_about(COLUMNS[column]["type"]), section)
    for name, typed in COLUMNS[column].items():
        if name not in ("cells.value", "groups", "categories"):
            assert shown[name] == typed, name
    answered(steward, column)
    assert text() == before
    told_about(steward)
    assert text() == before


def test_a_form_touches_its_own_keys_alone(steward: Person):
    (specs_folder() / "survey.yaml").write_text(
        "hallmark: 1 # one\ndata: {source: survey.csv,  ignore: ['row']} # t\ncolumns:\n"
        "  # the ages\n  age:   # of all\n    type: 'numeric'\n    minimum: 0.50  # years\n"
        "    thousands: ','\n\n  sex: {type: nominal, categories: {no: 'x'}}\n# end"
    )
    before = text()
    answered(steward, "age", minimum="1", outside="clamp")
    assert text() == before.replace("0.50  # years\n", "1  # years\n    outside: clamp\n")
    answered(steward, "sex", categories="no = x\n01 = w")
    assert text().endswith("sex: {type: nominal, categories: {no: 'x', \"01\": w}}\n# end")


def test_a_program_may_send_the_fields_that_it_changes(steward: Person):
    answered(steward, "age", **COLUMNS["age"])
    before = text()
    steward.post("/specs/survey/columns", column="age", type="numeric", unit="months")
    assert text() == before.replace("unit: years", "unit: months")


def test_changing_the_type_keeps_what_fits(steward: Person):
    answered(steward, "sex", **COLUMNS["sex"] | {"groups": "x = F\ny = M"})
    assert "groups:" in text()
    saved = form("/specs/survey/columns", steward.get("/specs/survey/columns?column=sex").text)
    assert "F = female" in as_type(steward, saved, "ordinal").text
    answered(steward, "sex", type="ordinal")
    content = read_text(text())[0].content["columns"]["sex"]
    assert "groups" not in content
    assert content["categories"] == {"F": "female", "M": "male"}
    assert content["other"] == "M"
    answered(steward, "sex", type="numeric")
    content = read_text(text())[0].content["columns"]["sex"]
    assert set(content) == {"type", "description", "bound_source"}  # no clamp was catch_all


def test_what_was_typed_is_there_after_the_type_was_changed_to_and_fro(steward: Person):
    path, before = "/specs/survey/columns", text()
    sent = form(path, steward.get(f"{path}?column=age").text)
    sent = form(path, as_type(steward, sent, "numeric").text)
    typed = {"minimum": "3", "cells": "edges", "cells.value": "3 <4>", "outside": "clamp",
             "bound_source.reference": "the book", "nulls": "true"}  # fmt: skip
    sent = form(path, as_type(steward, sent | typed, "nominal").text)
    assert sent["type"] == "nominal"
    assert (sent["bound_source.reference"], sent["nulls"]) == ("the book", "true")
    assert sent["outside"] == ""  # of categories nothing is clamped
    sent = form(path, as_type(steward, sent, "numeric").text)
    assert {name: sent[name] for name in typed} == typed | {"outside": ""}
    assert text() == before
    refused = steward.post(f"{path}/type", **sent, to="maps")
    assert refused.status_code == 409
    assert "have no form" in refused.text


def test_what_was_changed_meanwhile_is_not_overwritten(steward: Person):
    page = steward.get("/specs/survey/about").text
    sent = form("/specs/survey/about", page) | {"title": "Mine"}
    other = Person("sam", Role.STEWARD)
    told_about(other, title="Theirs")
    before = text()
    for path, more in (
        ("/specs/survey/about", sent),
        ("/specs/survey/columns", {"column": "age", "type": "numeric", "seen": sent["seen"]}),
        ("/specs/survey/columns/ignore", {"column": "age", "seen": sent["seen"]}),
        ("/specs/survey", {"text": "release: mine", "seen": sent["seen"]}),
    ):
        answer = steward.post(path, **more)
        assert answer.status_code == 409, path
        assert "the spec was changed meanwhile" in answer.text
        assert text() == before
    assert actions()[0].action == "not-done"
    assert told_about(steward, title="Mine").status_code == 200
    assert read_text(text())[0].content["title"] == "Mine"


@pytest.mark.parametrize(
    ("column", "typed", "says"),
    [
        ("sex", {"type": "nominal", "categories": "a\na = b"}, "line 2 repeats the code"),
        ("sex", {"type": "nominal", "categories": '"a'}, "a quote that is not closed"),
        ("sex", {"type": "nominal", "groups": "a"}, "line 1 has no codes"),
        ("age", {"type": "numeric", "unit": "\x1b[2J"}, "Unit: line 1 contains the control char"),
        ("age", {"type": "numeric", "unit": "x" * 2_001}, "at most 2,000 characters"),
        ("age", {"type": "maps"}, "columns of type 'maps' have no form"),
        ("none", {"type": "numeric"}, "has no column"),
    ],
)
def test_what_cannot_be_written_is_refused_and_changes_nothing(
    column: str, typed: dict[str, str], says: str, steward: Person
):
    before = text()
    sent = {"column": column, **typed}
    answer = steward.post("/specs/survey/columns", **sent)
    assert answer.status_code == 409
    assert says in html.unescape(answer.text)
    assert text() == before


def test_a_text_that_is_not_yaml_is_refused_with_its_line(steward: Person):
    (specs_folder() / "survey.yaml").write_text("release: survey\ncolumns:\n\tage: {}\n")
    for answer in (
        steward.get("/specs/survey/about"),
        steward.get("/specs/survey/columns"),
        steward.post("/specs/survey/about", title="x"),
        steward.post("/specs/survey/columns", column="age", type="numeric"),
    ):
        assert answer.status_code == 409
        assert "line 3: the line is indented with a tab" in answer.text
    page = steward.get("/specs/survey")
    assert page.status_code == 200
    assert "cannot be read as YAML" in page.text


def test_an_incomplete_form_is_saved_and_says_what_is_missing(steward: Person):
    answer = answered(steward, "age", onward=True, type="numeric", minimum="7", maximum="5")
    assert answer.url.params["column"] == "age"
    assert "Minimum" in answer.text
    assert "is 5, which is not above the minimum 7" not in answer.text  # others come first
    assert answer.text.count("to be answered") >= 2
    assert read_text(text())[0].content["columns"]["age"]["minimum"] == "7"
    answer = answered(steward, "age", **COLUMNS["age"] | {"maximum": "-1"})
    assert "is -1, which is not above the minimum 0; give minimum &lt; maximum" in answer.text
    assert 'id="in-maximum" name="maximum" aria-describedby="in-maximum-asked' in answer.text


def test_a_column_is_left_out_and_taken_back(steward: Person):
    for column in HEADER:
        answer = steward.post("/specs/survey/columns/ignore", column=column)
        assert answer.status_code == 200, answer.text
    assert read_text(text())[0].content["data"]["ignore"] == list(HEADER)
    assert "columns" not in read_text(text())[0].content
    assert "0 of 0 columns complete" in answer.text
    answer = steward.post("/specs/survey/columns/ignore", column="age", back="true")
    assert answer.url.params["column"] == "age"
    assert list(read_text(text())[0].content["columns"]) == ["age"]
    assert "age" not in read_text(text())[0].content["data"]["ignore"]


def test_a_spec_of_every_period_stays_one(steward: Person):
    period = (
        "release: survey-{period}\ntitle: Of {period}  # each\ncolumns: {age: {type: boolean}}\n"
    )
    (specs_folder() / "survey.yaml").write_text(period)
    page = steward.get("/specs/survey/about").text
    assert 'value="Of {period}"' in page
    told_about(steward, description="Of {period}, too")
    assert text() == period.replace("# each\n", '# each\ndescription: "Of {period}, too"\n')


def test_who_somebody_is_becomes_no_column(steward: Person):
    told_about(
        steward,
        **ABOUT | {
            "privacy.unit": "person",
            "privacy.unit.person": "row",
            "privacy.unit.max_records": "3",
        },
    )  # fmt: skip
    content = read_text(text())[0].content
    assert content["privacy"]["unit"] == {"person": "row", "max_records": "3"}
    assert "row" not in content["columns"]


def test_rules_come_and_go_by_a_form(steward: Person):
    told_about(steward, **ABOUT)
    for column, answers in COLUMNS.items():
        answered(steward, column, **answers)
    steward.post("/specs/survey/columns/ignore", column="row")
    path = "/specs/survey/rules"
    before, sent = text(), form(path, steward.get(path).text)
    child = sent | {
        "if.column": "age", "if.is": "<", "if.value": "15",
        "then.column": 'odd "=": name/#1', "then.is": "!=", "then.value": "b = c",
        "source": "the book: p. 3", "if_broken": "report",
    }  # fmt: skip
    assert steward.post(path, **child).status_code == 200
    assert loaded().rules[0].text == 'age < 15 => `odd "=": name/#1` != "b = c"'
    wrong = sent | {"then.column": "sex", "then.is": "<", "then.value": "F", "source": "it"}
    answer = steward.post(path, **wrong)
    assert answer.status_code == 409
    assert "was changed meanwhile" in answer.text
    answer = steward.post(path, **wrong | {"seen": drafts.digest(text())})
    assert "sex is nominal and has no order" in answer.text
    assert "1 question left" in answer.text
    assert steward.post(f"{path}/remove", number="1").status_code == 200
    assert len(loaded().rules) == 1
    assert steward.post(f"{path}/remove", number="1").status_code == 409
    assert steward.post(path, **wrong | {"then.value": "", "seen": ""}).status_code == 409
    steward.post(f"{path}/remove", number="0")
    assert text() == before


def test_names_and_codes_are_text_on_every_page(steward: Person):
    odd = '</textarea><script>"alert"(1)</script>'
    (specs_folder() / "survey.yaml").write_text(
        f"release: survey\ncolumns:\n  '{odd}':\n    type: nominal\n    categories: ['{odd}']\n"
        f"    description: '{odd}'\ndata: {{ignore: ['{odd}2']}}\n"
    )
    for path in (
        "/specs/survey",
        "/specs/survey/about",
        "/specs/survey/columns",
        "/specs/survey/rules",
    ):
        page = steward.get(path)
        assert page.status_code == 200
        assert "<script>" not in page.text
        assert html.escape(odd) in page.text.replace("&#39;", "&#x27;").replace("&#34;", "&quot;")
    page = steward.browser.get("/specs/survey/columns", params={"column": odd})
    assert page.status_code == 200
    assert "<script>" not in page.text


def test_what_only_the_text_can_say_stays_as_it_is(steward: Person):
    (specs_folder() / "survey.yaml").write_text(
        "columns:\n  age:\n    type: numeric\n    cells: 3\n    edges: [0, 1]\n    unit: [a]\n"
        "  sex:\n    type: nominal\n    groups: [{file: f.csv, column: c}, {g: [a]}]\n"
        "  at: {type: maps}\n"
    )
    before = text()
    for column in ("age", "sex"):
        page = steward.browser.get("/specs/survey/columns", params={"column": column}).text
        assert "is written in a way that only the text can say" in page
        answered(steward, column)
        assert text() == before
    page = steward.browser.get("/specs/survey/columns", params={"column": "at"}).text
    assert "A column of type maps is written in" in page


def test_places_are_described_by_a_form(steward: Person):
    path = "/specs/survey/columns"
    sent = form(path, steward.get(f"{path}?column=region").text)
    shown = as_type(steward, sent, "places").text
    assert 'aria-pressed="true">places<' in shown
    answered(
        steward, "region", type="places", categories="01 = Leipzig\n02 = Dresden",
        coordinates="01 = 51.34, 12.37\n02 = 91, 13.74", outside="refuse", **SOURCE,
    )  # fmt: skip
    page = html.unescape(steward.get(f"{path}?column=region").text)
    assert "is [91, 13.74]; give latitude (-90 to 90)" in page
    assert 'id="in-coordinates-asked"' in page
    answered(steward, "region", coordinates="01 = 51.34, 12.37\n02 = 51.05, 13.74")
    assert '    coordinates:\n      "01": [51.34, 12.37]\n' in text()
    page = html.unescape(steward.get(f"{path}?column=region").text)
    assert "in-coordinates-asked" not in page
    assert "02 = 51.05, 13.74" in page


def test_a_mechanism_is_chosen_with_its_parameters_and_told_at_its_fields(steward: Person):
    path, before = "/specs/survey/mechanism", text()
    page = steward.get(path).text
    for name, entry in CATALOGUE.items():
        assert (f'value="{name}"' in page) == entry.makes_records
        assert not entry.makes_records or entry.sentence.replace("`", "") in html.unescape(page)
    sent = form(path, page)
    shown = steward.post(f"{path}/name", **(sent | {"to": "pmm"})).text
    sent = form(path, shown)
    assert (sent["chosen"], sent["mechanism.depth"]) == ("pmm", "")
    shown = steward.post(f"{path}/name", **(sent | {"mechanism.depth": "-3", "to": "psmm"})).text
    shown = steward.post(f"{path}/name", **(form(path, shown) | {"to": "pmm"})).text
    sent = form(path, shown)
    assert sent["mechanism.depth"] == "-3"  # what was typed is still there
    assert text() == before
    assert steward.post(path, **sent).status_code == 200
    assert "  name: pmm\n  depth: -3\n" in text()
    page = html.unescape(steward.get(path).text)
    assert "is -3; give auto, or a whole number of at least 0" in page
    assert 'id="in-mechanism-depth-asked"' in page
    assert "/specs/survey/mechanism#in-mechanism-depth" in steward.get("/specs/survey").text
    for wrong in ("certify", "odd", ""):
        assert steward.post(path, chosen=wrong).status_code in (409, 422)
        assert steward.post(f"{path}/name", to=wrong).status_code in (409, 422)
    assert "depth: -3" in text()


def test_forms_are_for_people_who_write_specs(steward: Person):
    for role in Role:
        somebody = TestClient(desk, headers=as_somebody(role, login=f"a-{role}"))
        writes = role in (Role.STEWARD, Role.OPERATOR)
        for path in ("about", "columns", "columns?column=age", "mechanism"):
            status = somebody.get(f"/specs/survey/{path}").status_code
            assert status == (200 if writes else 403), (role, path)
    assert steward.browser.post("/specs/survey/about", data={"title": "x"}).status_code == 403
    assert steward.get("/specs/none/about").status_code == 404
    assert steward.get("/specs/survey/columns?column=none").status_code == 404
