"""All questions about a spec on one page: one line a column, and what is answered once for all."""

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hallmark.flows.desk import drafts
from hallmark.schemas.loading import load_spec
from hallmark.schemas.skeleton import skeleton_from_header
from hallmark.schemas.source_text import with_keys
from hallmark.schemas.yaml_document import read_text
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.places import specs_folder, tables_folder
from tests import example, messy
from tests.flows.test_desk_answers import form
from tests.flows.test_desk_tables import Person

PATH = "/specs/enquete/questions"
LINES = {
    "née": "01/01/1930 to 31/12/2019",
    "déménagé": "01/01/2010 to 31/12/2019 or missing",
    "code_postal": "01067, 04109, 09111, 20095, 80331",
    "sexe": "1 = homme, 2 = femme",
    "état": "célibataire, marié, veuf",
    "enfants": "0 to 8",
    "revenu": "0,0 to 20000,0 or missing",
    "loyer": "0.0 to 1500.0",
    "surface": "0,0 to 200,0",
    "pièces": "0 to 9",
    "emploi": "oui, non or missing",
    "heures": "0.0 to 60.0 or missing",
}
"""What a steward types about each column of the messy table."""
ABOUT = {
    "title": "A messy table", "population.account": "test-people",
    "population.description": "adults", "data.expected_rows": "20000",
    "data.record": "one person", "privacy.epsilon": "1", "privacy.delta": "1e-5",
    "every.public": "made up for the tests", "every.outside": "refuse",
}  # fmt: skip


@pytest.fixture
def steward(home: Path) -> Person:
    table = messy.write(tables_folder(), 40)
    example.open_account()
    begun = with_keys(skeleton_from_header(table, source="enquete.csv"), messy.FORM)
    text = begun.replace("release: FILL_IN", "release: enquete", 1)
    (specs_folder() / "enquete.yaml").write_text(text)
    person = Person("stella", Role.STEWARD)
    person.browser.follow_redirects = False
    return person


def asked(steward: Person) -> dict[str, str]:
    """What the page would send, nothing typed."""
    found = form(PATH, steward.get(PATH).text)
    return {name: said for name, said in found.items() if not name.startswith("out.")}


def lines(said: dict[str, str]) -> dict[str, str]:
    """What is said of columns, by the fields of their rows."""
    names = list(read_text((specs_folder() / "enquete.yaml").read_text())[0].content["columns"])
    return {f"line.{names.index(name)}": line for name, line in said.items()}


def content() -> dict[str, Any]:
    found: dict[str, Any] = read_text((specs_folder() / "enquete.yaml").read_text())[0].content
    return found


def test_a_spec_is_completed_on_one_page(steward: Person, tmp_path: Path):
    sent = asked(steward)
    answer = steward.post(PATH, **sent | ABOUT | lines(LINES))
    assert answer.status_code == 303, answer.text
    assert answer.headers["Location"] == "/specs/enquete?plan=now"
    spec = load_spec(specs_folder() / "enquete.yaml", tables_folder())
    with (tmp_path / "meant.yaml").open("w") as file:
        YAML().dump(messy.spec("enquete.csv"), file)
    meant = load_spec(tmp_path / "meant.yaml", tables_folder())
    for name, column in spec.columns.items():
        assert column.model_dump(exclude={"cells"}) == meant.columns[name].model_dump(
            exclude={"cells"}
        )
    cells = {name: getattr(column, "cells", None) for name, column in spec.columns.items()}
    assert (cells["enfants"], cells["pièces"], cells["revenu"], cells["née"]) == (9, 10, 20, 20)
    assert (spec.privacy.neighbours, spec.privacy.unit) == ("replace_one", "record")


def test_what_is_saved_is_shown_and_saving_it_again_changes_nothing(steward: Person):
    sent = asked(steward)
    steward.post(PATH, **sent | ABOUT | lines(LINES))
    text = (specs_folder() / "enquete.yaml").read_text()
    again = asked(steward)
    shown = [value for name, value in again.items() if name.startswith("line.")]
    assert shown[:2] == ["1930-01-01 to 2019-12-31", "2010-01-01 to 2019-12-31 or missing"]
    assert again["every.public"] == "made up for the tests"
    assert again["every.outside"] == "refuse"
    assert steward.post(PATH, **again).status_code == 303
    assert (specs_folder() / "enquete.yaml").read_text() == text


def test_a_shared_answer_overwrites_no_columns_own(steward: Person):
    steward.post("/specs/enquete/columns", column="loyer", type="numeric",
                 **{"bound_source.kind": "law", "bound_source.reference": "§ 5",
                    "outside": "clamp"})  # fmt: skip
    sent = asked(steward)
    assert sent["every.law"] == "§ 5"
    steward.post(PATH, **sent | ABOUT | lines(LINES))
    columns = content()["columns"]
    assert columns["loyer"]["bound_source"] == {"kind": "law", "reference": "§ 5"}
    assert columns["loyer"]["outside"] == "clamp"
    assert columns["surface"]["bound_source"]["kind"] == "public"


def test_clamping_is_for_numbers_and_days_alone(steward: Person):
    sent = asked(steward)
    steward.post(PATH, **sent | ABOUT | lines(LINES) | {"every.outside": "clamp"})
    outside = {name: column["outside"] for name, column in content()["columns"].items()}
    assert (outside["née"], outside["loyer"], outside["sexe"]) == ("clamp", "clamp", "refuse")


def test_every_line_that_is_unclear_is_named_and_nothing_is_saved(steward: Person):
    before, sent = content(), asked(steward)
    wrong = LINES | {"enfants": "0 to many", "sexe": "1, 1"}
    answer = steward.post(PATH, **sent | ABOUT | lines(wrong))
    assert answer.status_code == 409
    assert "enfants: give two numbers or two days" in answer.text
    assert "sexe: line 2 repeats the code" in answer.text
    assert content() == before


def test_a_line_that_is_emptied_is_refused_and_a_column_is_left_out_by_its_box(steward: Person):
    sent = asked(steward)
    steward.post(PATH, **sent | ABOUT | lines(LINES))
    sent = asked(steward)
    emptied = steward.post(PATH, **sent | lines({"heures": " "}))
    assert "heures: say what may stand in it, or leave it out" in emptied.text
    box = next(iter(lines({"heures": ""}))).replace("line.", "out.")
    assert steward.post(PATH, **sent | {box: "true"}).status_code == 303
    assert content()["data"]["ignore"] == ["heures"]
    assert list(content()["columns"]) == [name for name in LINES if name != "heures"]


def test_what_an_account_does_not_say_is_asked(steward: Person):
    sent = asked(steward)
    steward.post(PATH, **sent | ABOUT | {"population.account": "nobody"} | lines(LINES))
    page = steward.get("/specs/enquete").text
    assert re.search(r"[12] questions? left", page)
    assert "FILL_IN" in str(content()["privacy"]["neighbours"])


def test_what_a_spec_says_of_neighbours_stands(steward: Person):
    steward.post("/specs/enquete/about", **{"privacy.neighbours": "add_remove"})
    sent = asked(steward)
    steward.post(PATH, **sent | ABOUT | lines(LINES))
    assert content()["privacy"]["neighbours"] == "add_remove"


def test_replicate_weights_are_left_out_by_emptying_their_field(steward: Person):
    sent = asked(steward)
    assert sent["output.replicates.number"] == "40"
    steward.post(PATH, **sent | {"output.replicates.number": ""})
    assert "output" not in content()


def test_a_spec_that_changed_meanwhile_is_not_overwritten(steward: Person):
    sent = asked(steward)
    steward.post("/specs/enquete/about", title="Theirs")
    answer = steward.post(PATH, **sent | ABOUT)
    assert answer.status_code == 409
    assert "the spec was changed meanwhile" in answer.text


def test_of_many_columns_the_next_that_are_not_complete_are_asked(steward: Person):
    text = "release: many\ncolumns:\n" + "".join(f"  c{n}: {{}}\n" for n in range(450))
    (specs_folder() / "many.yaml").write_text(text)
    page = steward.get("/specs/many/questions").text
    assert "There are 450 columns; these 400 are the next that are not complete" in page
    sent = form("/specs/many/questions", page)
    sent = {name: said for name, said in sent.items() if not name.startswith("out.")}
    assert steward.post("/specs/many/questions", **sent).status_code == 303
    assert drafts.existing("many").read_text().startswith("release: many\ncolumns:\n")
