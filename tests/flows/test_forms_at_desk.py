"""A steward without YAML: a table is brought, its spec completed by forms alone, and planned."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from hallmark.tasks.people import directory, sessions
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.places import specs_folder
from tests import example
from tests.flows.cli.test_app import STUDY
from tests.flows.people import TEST
from tests.flows.services import SECONDS
from tests.flows.test_desk_pages import SIZES, Serving

pytestmark = pytest.mark.service
expect.set_options(timeout=1000 * SECONDS)

ABOUT = {
    "title": "Incomes", "population.account": "test-people", "population.description": "adults",
    "data.expected_rows": "3000", "data.record": "one person", "privacy.neighbours": "replace_one",
    "privacy.unit": "record", "privacy.epsilon": "1", "privacy.delta": "1e-5",
}  # fmt: skip
BOUNDS = {
    "outside": "refuse", "bound_source.kind": "public", "bound_source.reference": "the codebook",
}  # fmt: skip
COLUMNS: dict[str, tuple[str, dict[str, str]]] = {
    "age": ("numeric", {"integer": "true", "minimum": "0", "maximum": "99", "cells": "cell_width",
                        "cells.value": "10", **BOUNDS}),
    "income": ("numeric", {"minimum": "0", "maximum": "400", "cells.value": "8", **BOUNDS,
                           "outside": "clamp", "nulls": "true"}),
    "region": ("nominal", {"categories": "01 = north\n02 = south\n07 = east", **BOUNDS}),
    "employed": ("boolean", {"values": "1", "values.false": "0", "outside": "refuse"}),
    "since": ("date", {"minimum": "2000-01-01", "maximum": "2009-12-31", "cells.value": "10",
                       **BOUNDS}),
}  # fmt: skip
ONWARD = "Save, and on to the next"


@dataclass
class Somebody:
    """A steward at a browser, whose every field that is filled in and every click counts."""

    page: Page
    url: str
    actions: int = 0

    def fills(self, fields: dict[str, str]) -> None:
        for name, value in fields.items():
            field = self.page.locator(f'[name="{name}"]')
            if field.evaluate("one => one.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)
            self.actions += 1

    def chooses(self, kind: str) -> None:
        """The type of a column, upon which its form is another."""
        pressed = self.page.get_by_role("button", name=kind, exact=True)
        pressed.click()
        expect(pressed).to_have_attribute("aria-pressed", "true")
        self.actions += 1

    def presses(self, name: str, role: str = "button") -> None:
        with self.page.expect_navigation():
            self.page.get_by_role(role, name=name, exact=True).click()  # type: ignore[arg-type]
        self.actions += 1


@pytest.fixture
def somebody(home: Path, chrome: Browser) -> Iterator[Somebody]:
    example.open_account()
    person = directory.add("stella", "Stella Steward", [Role.STEWARD], by=TEST)
    secret = sessions.begin(person, TEST)
    with Serving() as url:
        context = chrome.new_context(viewport={"width": 1280, "height": 900})
        context.add_cookies([{"name": "hallmark-desk", "value": secret, "url": url}])
        page = context.new_page()
        page.set_default_timeout(1000 * SECONDS)
        yield Somebody(page, url)
        context.close()


def test_a_spec_is_completed_without_yaml_and_planned(somebody: Somebody, tmp_path: Path) -> None:
    page = somebody.page
    faults: list[str] = []
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    example.write(tmp_path)
    page.goto(f"{somebody.url}/specs")
    page.set_input_files("#table", tmp_path / "table.csv")
    somebody.presses("Upload")
    page.fill("#name", "incomes")
    somebody.presses("Begin")
    expect(page.get_by_text("0 of 6 columns complete")).to_be_visible()
    begun = (specs_folder() / "incomes.yaml").read_text()
    somebody.actions = 0

    somebody.presses("Title", role="link")
    expect(page.locator("#in-title")).to_be_visible()
    somebody.fills(ABOUT)
    somebody.presses("Save")
    assert_accessible(page, tmp_path, "about")
    somebody.presses("columns", role="link")
    assert_accessible(page, tmp_path, "columns")
    somebody.presses("The next column that is not complete", role="link")
    for name, (kind, answers) in COLUMNS.items():
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Column {name}")
        somebody.chooses(kind)
        somebody.fills(answers)
        assert_accessible(page, tmp_path, name)
        somebody.presses(ONWARD)
    expect(page.get_by_role("heading", level=1)).to_have_text("Column person")
    somebody.presses("Leave the column out")
    expect(page.get_by_text("Nothing is left to be answered, 5 of 5")).to_be_visible()
    somebody.presses("text and plan", role="link")
    assert_accessible(page, tmp_path, "spec")
    page.get_by_role("button", name="Show the plan").click()
    expect(page.get_by_role("heading", name="At other epsilons")).to_be_visible()
    print(f"{somebody.actions} actions for {len(COLUMNS)} columns and the release")
    assert somebody.actions <= 70
    text = (specs_folder() / "incomes.yaml").read_text()
    assert "FILL_IN" not in re.sub(r"#.*", "", text)
    assert set(re.findall(r"# .*", begun)) == set(re.findall(r"# .*", text))
    assert faults == []


def test_a_column_is_answered_with_the_keyboard_and_a_refusal_keeps_what_was_typed(
    somebody: Somebody,
) -> None:
    page = somebody.page
    (specs_folder() / "keys.yaml").write_text("release: keys\ncolumns:\n  sex: {}\n  age: {}\n")
    page.goto(f"{somebody.url}/specs/keys/columns?column=sex")
    page.get_by_role("button", name="nominal", exact=True).focus()
    page.keyboard.press("Enter")
    page.locator("#in-categories").focus()
    page.keyboard.type("F = female\nF = twice")
    reached = []
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.name || document.activeElement.tagName")
        )
    assert reached[:6] == [
        "categories.file", "outside", "other", "bound_source.kind", "bound_source.reference",
        "nulls",
    ]  # fmt: skip
    page.get_by_role("button", name=ONWARD).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("line 2 repeats the code 'F'")
    expect(page.locator("#in-categories")).to_have_value("F = female\nF = twice")
    page.locator("#in-categories").fill("F = female\nM = male")
    (specs_folder() / "keys.yaml").write_text("release: keys\ncolumns: {sex: {}, age: {}}\n")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("the spec was changed meanwhile")
    expect(page.locator("#in-categories")).to_have_value("F = female\nM = male")


def assert_accessible(page: Page, folder: Path, name: str) -> None:
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_load_state("networkidle")
        found = Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], (name, size)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, size)
        page.screenshot(path=folder / f"{name}-{size}.png", full_page=True)
    page.set_viewport_size(dict(zip(("width", "height"), SIZES["screen"], strict=True)))  # type: ignore[arg-type]


def test_a_dictionary_answers_for_the_columns_and_a_recode_is_said_by_a_form(
    somebody: Somebody, tmp_path: Path
) -> None:
    page = somebody.page
    example.write(tmp_path)
    (tmp_path / "study.xml").write_text(STUDY)
    page.goto(f"{somebody.url}/specs")
    page.set_input_files("#table", tmp_path / "table.csv")
    somebody.presses("Upload")
    page.goto(f"{somebody.url}/specs")
    page.set_input_files("#table", tmp_path / "study.xml")
    page.get_by_label("It is public").check()
    somebody.presses("Upload")
    page.goto(f"{somebody.url}/specs")
    assert_accessible(page, tmp_path, "specs")
    page.locator("#of").select_option("table.csv")
    somebody.fills({"name": "incomes", "dictionary": "public/study.xml"})
    somebody.presses("Begin")
    page.goto(f"{somebody.url}/specs/incomes/columns?column=region")
    expect(page.locator('[name="categories"]')).to_have_value("01 = north")
    expect(page.locator('[name="bound_source.reference"]')).to_have_value(
        "DDI codebook study.xml, variable region"
    )
    page.get_by_text("More that can be said").click()
    somebody.fills({"recode.codes": "1 = 01\n2 = 01", "outside": "refuse"})
    assert_accessible(page, tmp_path, "recode")
    somebody.presses("Save")
    expect(page.locator('[name="recode.codes"]')).to_have_value("1 = 01\n2 = 01")
    text = (specs_folder() / "incomes.yaml").read_text()
    assert '    recode:\n      codes:\n        1: "01"\n        2: "01"\n' in text
    assert "# type, codes: DDI codebook study.xml, variable region\n" in text
